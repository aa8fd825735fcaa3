"""Datasets for charts, as Arrow tables: what Streamlit sends to the browser without a detour through pandas.

A page draws ten pictures a run from some forty small datasets; a pandas frame of one row takes about fifty times as
long to make as an Arrow table, and as long again to convert.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa

Dataset = Any  # a pyarrow.Table, which comes without types
Columns = Mapping[str, Any]
N = TypeVar("N")


def table(columns: Columns) -> Dataset:
    """Columns of equal length; plain values are repeated."""
    length = max((len(values) for values in columns.values() if _is_column(values)), default=1)
    return pa.table({name: _column(values, length) for name, values in columns.items()})


def row(**columns: Any) -> Dataset:
    """A dataset of one row."""
    return pa.table({name: [value] for name, value in columns.items()})


def rows(records: Sequence[Columns]) -> Dataset:
    """Rows with the same columns, at least one."""
    return pa.table({name: [record[name] for record in records] for name in records[0]})


def of_frames(frames: Mapping[str, pd.DataFrame]) -> dict[str, Dataset]:
    """The same datasets, converted once where they are drawn more than once."""
    return {name: pa.Table.from_pandas(frame, preserve_index=False) for name, frame in frames.items()}


@lru_cache(maxsize=256)
def once(make: Callable[[N], Mapping[str, pd.DataFrame]], numbers: N) -> dict[str, Dataset]:
    """What ``make`` gives for these numbers, made and converted once for all sessions."""
    return of_frames(make(numbers))


def nothing(*columns: str) -> Dataset:
    """A dataset without rows: its marks are not drawn."""
    return pa.table({name: pa.array([], pa.float64()) for name in columns})


def stacked(*parts: Columns) -> Dataset:
    """Several sets of rows below each other; columns that a part lacks are empty in its rows."""
    return pa.concat_tables([table(part) for part in parts], promote_options="default")


def segments(bound: Any, **columns: Any) -> dict[str, Any]:
    """Points of a curve in runs of one bound, each run reaching to the first point of the next.

    Columns: those given, ``meaning`` (the bound) and ``segment`` (the number of the run).

    >>> segments(["memory", "memory", "compute"], x=[1, 2, 3])["x"].tolist()
    [1, 2, 3, 3]
    """
    bounds = np.asarray(bound)
    run = np.concatenate([[0], np.cumsum(bounds[1:] != bounds[:-1])])
    turns = np.flatnonzero(np.diff(run)) + 1  # first points of the runs after the first
    points = np.concatenate([np.arange(bounds.size), turns])
    runs = np.concatenate([run, run[turns] - 1])
    order = np.lexsort((points, runs))
    meanings = bounds[np.concatenate([[0], turns])]
    picked = {name: np.asarray(values)[points[order]] for name, values in columns.items()}
    return {**picked, "meaning": meanings[runs[order]], "segment": runs[order]}


def _is_column(values: Any) -> bool:
    return isinstance(values, (np.ndarray, list, tuple)) and np.ndim(values) > 0


def _column(values: Any, length: int) -> pa.Array:
    if _is_column(values):
        return pa.array(values, from_pandas=True)  # what is not a number is missing: a line breaks there
    return pa.repeat(pa.scalar(values), length)
