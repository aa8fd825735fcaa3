"""Datasets of charts: what Arrow tables come out of columns, rows and parts."""

import numpy as np
import pytest

from pages.parts import datasets


def test_plain_values_are_repeated_to_the_length_of_the_columns():
    table = datasets.table({"x": np.array([1.0, 2.0]), "name": "a", "on": True})
    assert table.to_pydict() == {"x": [1.0, 2.0], "name": ["a", "a"], "on": [True, True]}


def test_a_row_is_a_table_of_one():
    assert datasets.row(x=1, text="one").to_pylist() == [{"x": 1, "text": "one"}]


def test_rows_are_below_each_other():
    assert datasets.rows([{"x": 1}, {"x": 2}]).to_pydict() == {"x": [1, 2]}


def test_nothing_has_columns_and_no_rows():
    table = datasets.nothing("x", "y")
    assert (table.column_names, table.num_rows) == (["x", "y"], 0)


def test_parts_are_stacked_and_lack_what_they_lack():
    table = datasets.stacked(
        {"x": np.array([1.0]), "name": "a"}, {"x": np.array([2.0, 3.0]), "high": np.array([4.0, 5.0])}
    )
    assert table.to_pydict() == {"x": [1.0, 2.0, 3.0], "name": ["a", None, None], "high": [None, 4.0, 5.0]}


def test_an_empty_part_adds_nothing():
    empty = np.array([])
    table = datasets.stacked({"x": empty, "name": "a"}, {"x": np.array([1.0]), "name": "b"})
    assert table.to_pydict() == {"x": [1.0], "name": ["b"]}


def test_what_is_not_a_number_is_missing():
    assert datasets.table({"x": np.array([1.0, np.nan])}).to_pydict() == {"x": [1.0, None]}


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ("mm", [("m", 0, 0), ("m", 0, 1)]),
        ("mc", [("m", 0, 0), ("m", 0, 1), ("c", 1, 1)]),
        ("mcm", [("m", 0, 0), ("m", 0, 1), ("c", 1, 1), ("c", 1, 2), ("m", 2, 2)]),
    ],
)
def test_each_run_of_a_bound_reaches_to_the_next(bounds, expected):
    names = {"m": "memory", "c": "compute"}
    runs = datasets.segments([names[b] for b in bounds], at=range(len(bounds)))
    found = zip(runs["meaning"].tolist(), runs["segment"].tolist(), runs["at"].tolist(), strict=True)
    assert list(found) == [(names[meaning], segment, at) for meaning, segment, at in expected]
