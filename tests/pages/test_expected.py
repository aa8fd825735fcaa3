"""What every page says of a floor: a bound of a dense model, and where experts are expected, that they are."""

from __future__ import annotations

import re
from typing import Any

import pytest

import costmodel as cm
from pages.compare import map_charts, map_frames
from pages.parts import format
from pages.parts.expected import SPREAD
from pages.parts.scenario import Scenario
from tests.pages import drawing
from tests.pages.app import figures, open_app, text
from tests.pages.test_compare_map import plane

MIXTURE, H100 = cm.model("qwen3-30b-a3b"), cm.hardware("h100-sxm")
EIGHT = cm.price(MIXTURE, H100, cm.Step.decode(8, 2048))
BOUND = re.compile(r"cannot finish sooner|can be faster, counted|cannot take less|(?<!expected) at least \d")
PAGES: list[tuple[str, dict[str, Any]]] = [
    ("roofline", {}),
    ("batching", {"rates": "calibrated"}),
    ("shapes", {"lengths": ".".join(["15"] * 8), "chunk": 64, "run_prompt": 100, "run_tokens": 2}),
    ("compare", {"compare_view": "map"}),
    ("compare", {"compare_view": "map", "map_value": "token"}),
    ("compare", {"compare_view": "league"}),
]


@pytest.mark.parametrize(("page", "more"), PAGES)
def test_no_page_calls_a_floor_a_bound_that_rests_on_expected_experts(page: str, more: dict[str, Any]) -> None:
    said = text(open_app(page, model="qwen3-30b-a3b", batch=8, count="attention", **more))
    assert not BOUND.search(said)
    assert SPREAD in said


@pytest.mark.parametrize(("page", "more"), PAGES)
def test_a_dense_floor_stays_a_bound(page: str, more: dict[str, Any]) -> None:
    said = text(open_app(page, model="qwen3-0.6b", batch=8, count="attention", **more))
    assert BOUND.search(said)
    assert SPREAD not in said


def test_one_token_reads_its_own_experts_and_no_fewer() -> None:
    assert "cannot finish sooner than" in text(open_app("roofline", model="qwen3-30b-a3b", batch=1, count="attention"))


def test_the_expected_floor_is_the_number_that_is_said() -> None:
    takes = str(format.seconds(EIGHT.seconds)).replace(format.NBSP, " ")
    query = {"model": "qwen3-30b-a3b", "batch": 8, "context": 2048, "count": "attention"}
    roofline = text(open_app("roofline", **query))
    assert f"takes {takes} or more {SPREAD}. " in roofline
    league = open_app("compare", compare_view="league", **query)
    assert f"a decode step of 8 sequences takes {takes} or more {SPREAD}, place" in text(league)
    assert figures(league)["decode step, expected at least"] == takes
    assert "tokens/s, expected at most" in figures(league)


@pytest.mark.parametrize("shown", ["seconds", "token", "cost"])
def test_a_cell_of_the_map_says_whether_experts_are_expected(shown: str) -> None:
    drawn = plane("batch", "context", Scenario(MIXTURE, H100, cm.Precision()), shown=shown)
    cells = map_frames.picture(drawn)["cells"].to_pandas()
    one, many = drawing.evaluate(map_charts._sentence("batch", "context", shown), cells.iloc[[0, -1]])
    assert " at least " in one
    assert SPREAD not in one
    assert " at least " not in many
    assert f" or more {SPREAD}, and waits for memory." in many
