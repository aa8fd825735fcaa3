"""What every page says of a floor: a bound of a dense model, and where experts are expected, that they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import costmodel as cm
from live import store
from pages.compare import league_charts, map_charts, map_frames
from pages.parts import format
from pages.parts.expected import SPREAD
from pages.parts.scenario import Scenario
from tests.live.samples import h100, made_up, processor
from tests.pages import drawing
from tests.pages.app import figures, open_app, text
from tests.pages.test_compare_league import league
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


@pytest.mark.parametrize(("device", "none"), [(processor(), True), (h100(), False)], ids=["no datasheet", "datasheet"])
def test_every_page_says_that_a_machine_without_a_datasheet_has_no_bounds(
    device: Any, *, none: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(store.VARIABLE, str(tmp_path))
    store.keep(made_up(device, cm.model("qwen3-0.6b")))
    for page, more in [("", {}), *PAGES, ("scheduler", {}), ("memory", {}), ("measure", {})]:
        said = text(open_app(page, **{**more, "rates": "live"}))
        assert ("no datasheet: floors are made of the best" in said) == none, (page, more)


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


@pytest.mark.parametrize("count", ["weights", "attention"])
@pytest.mark.parametrize(
    ("page", "says"),
    [
        ("batching", "(Floors|They are bounds with the caches counted)"),
        ("shapes", "(The bounds of the two are [^.]+?|[Ff]loor of the step)"),
    ],
)
@pytest.mark.parametrize("prompt", [6, 500])
@pytest.mark.parametrize("model", ["qwen3-0.6b", "mixtral-8x7b", "qwen3-30b-a3b"])
def test_a_floor_in_a_note_says_what_it_rests_on(model: str, page: str, says: str, count: str, prompt: int) -> None:
    """Also of several steps, where one of them may find fewer experts than expected."""
    asked = {"model": model, "hardware": "mi300x", "batch": 8, "count": count, "prompt": prompt, "tokens": prompt}
    said = text(open_app(page, **asked))
    expected = f"{says} {SPREAD}|expected floor of the step" if model != "qwen3-0.6b" else f"{says}(?! {SPREAD})"
    assert re.search(expected, said)
    assert (SPREAD in said or "expected floor of the step" in said) == (model != "qwen3-0.6b")


@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize("model", ["qwen3-0.6b", "mixtral-8x7b", "qwen3-30b-a3b"])
def test_the_axes_of_the_league_say_what_the_floors_along_them_are(model: str, batch: int) -> None:
    shown = league(Scenario(cm.model(model), H100, cm.Precision()), batch=batch)
    titles = [
        label for label in str(league_charts.league_spec(shown.expects_experts)).split("'") if "at least" in label
    ]
    for title, name in zip(titles, ("decode", "prefill"), strict=True):
        assert ("expected at least" in title) == any(getattr(row, f"{name}_expects") for row in shown.everyone)


@pytest.mark.parametrize("model", ["qwen3-0.6b", "mixtral-8x7b"])
def test_the_sidebar_says_of_a_floor_what_is_true_for_the_model(model: str) -> None:
    at = open_app("roofline", model=model)
    caption = at.radio(key="rates").proto.captions[0]
    assert caption == (
        "the floor: no step can be faster" if model == "qwen3-0.6b" else f"the floor: no step is faster {SPREAD}"
    )
