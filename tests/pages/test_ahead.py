"""What is sent ahead for a slider's stops: exactly what the page draws when it comes to them."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pyarrow as pa
import pytest

from pages.parts import ahead, state
from tests.pages import opened

PAGES = {
    "overview": ("", {}),
    "roofline": ("roofline", {"batch": 8}),
    "roofline, caches, an estimate": ("roofline", {"batch": 8, "count": "attention", "rates": "calibrated"}),
    "batching": ("batching", {"batch": 8}),
    "batching, experts": ("batching", {"batch": 8, "model": "qwen3-30b-a3b", "count": "attention"}),
    "memory": ("memory", {"batch": 8, "model": "llama-3.1-8b"}),
    "memory, nearly full": ("memory", {"batch": 64, "model": "llama-3.1-70b", "tensor_parallel": 2}),
    "model": ("model", {"model": "gpt-oss-20b"}),
    "shapes": ("shapes", {"tokens": 20, "rows": 3}),
    "shapes, no attention": ("shapes", {"model": "mamba-2.8b"}),
    "compare": ("compare", {"batch": 8}),
    "compare with what is pinned": ("compare", {"other": "bandwidth", "batch": 8, "count": "attention"}),
    "league": ("compare", {"compare_view": "league", "batch": 8}),
    "map": ("compare", {"compare_view": "map", "batch": 8}),
    "map of prompts": (
        "compare",
        {"compare_view": "map", "map_x": "prompt", "map_y": "compute_x", "map_value": "cost"},
    ),
}


@pytest.fixture
def pictures(monkeypatch):
    """What the page of the last run follows a slider with, and what is sent ahead for the sliders in ``asked``."""
    seen = SimpleNamespace(asked=(), frame={}, around={})

    def follow(*groups):
        seen.frame = {key: parts for group in groups for key, parts in group.frame().items()}
        sliders = {key: state.CONTROLS[key] for key in seen.asked}
        seen.around = {key: ahead.around(groups, slider, state.value(key)) for key, slider in sliders.items()}

    monkeypatch.setattr(ahead, "follow", follow)
    monkeypatch.setattr(ahead, "ENOUGH", float("inf"))
    return seen


def drawn(at):
    """Everything that the page's pictures are drawn from, as the browser gets it."""
    charts = [
        {one.name: pa.ipc.open_stream(one.data.data).read_all().to_pydict() for one in chart.proto.datasets}
        for chart in at.get("vega_lite_chart")
    ]
    return charts + [{"whole": json.loads(own.proto.json)} for own in at.get("bidi_component") if own.proto.json]


def told(at):
    """What the browser is told of the pictures that follow."""
    companion = next(own for own in at.get("bidi_component") if own.proto.component_name == "companion")
    return json.loads(companion.proto.json)["ahead"]


def sliders(at):
    return [slider.key for slider in (*at.slider, *at.select_slider)]


@pytest.mark.parametrize("name", PAGES)
def test_each_stop_is_sent_as_the_page_draws_it(name, pictures, monkeypatch):
    monkeypatch.setattr(ahead, "REACH", 2)
    page, query = PAGES[name]
    at = opened.open_page(page, **query)
    here, keys = pictures.frame, sliders(at)
    pictures.asked = tuple(keys)
    opened.ran(at)
    around, changing = pictures.around, 0
    pictures.asked = ()
    assert here, "nothing follows on this page"
    assert all(parts in drawn(at) for parts in here.values())
    for key in keys:
        stops = dict(around[key]["stops"])
        text = next(iter(stops)) if stops else None  # the furthest below, or where it stands at its lower end
        text = list(stops)[-1] if text == state.CONTROLS[key].shown(opened.value(at, key)) else text
        assert text is not None, key
        stood = opened.value(at, key)
        at.session_state[key] = state.CONTROLS[key].parse(text)
        opened.ran(at)
        expected = pictures.frame
        ahead_of_it = {picture: {**parts, **stops[text].get(picture, {})} for picture, parts in here.items()}
        assert {picture: ahead_of_it[picture] for picture in expected} == expected, (key, text)
        assert all(parts in drawn(at) for parts in expected.values()), (key, text)
        at.session_state[key] = stood
        changing += bool(stops[text])
    assert changing, "no slider changes a picture"


def test_stops_are_the_nearest_ones_and_in_order(pictures):
    pictures.asked = ("batch", "bandwidth_x")
    opened.open_page("roofline", batch=8)
    batch, bandwidth = pictures.around["batch"], pictures.around["bandwidth_x"]
    assert [text for text, _ in batch["stops"]] == ["3", "4", "5", "6", "7", "8", "10", "12", "14", "16", "20"]
    assert batch["ends"] == ["1", "1024"]
    assert [text for text, _ in bandwidth["stops"]][4:7] == ["0.95", "1.00", "1.05"]
    assert bandwidth["ends"] == ["0.25", "4.00"]
    pictures.asked = ("batch",)
    opened.open_page("roofline")
    assert [text for text, _ in pictures.around["batch"]["stops"]] == ["1", "2", "3", "4", "5", "6"]


def test_the_next_stops_are_sent_however_long_they_take(pictures, monkeypatch):
    monkeypatch.setattr(ahead, "ENOUGH", -1.0)
    pictures.asked = ("batch",)
    opened.open_page("roofline", batch=8)
    assert [text for text, _ in pictures.around["batch"]["stops"]] == ["7", "8", "10"]


def test_only_what_changes_is_sent(pictures):
    pictures.asked = ("memory_x", "batch")
    opened.open_page("roofline", batch=8)
    assert all(not frame for _, frame in pictures.around["memory_x"]["stops"])
    assert all("curve" not in frame["time"] for _, frame in pictures.around["batch"]["stops"])


def test_a_stop_that_cannot_be_priced_is_left_out(pictures):
    def look():
        if state.value("batch") > 8:
            raise ValueError("too many")
        return state.value("batch")

    made = ahead.Pictures(look, {"one": lambda batch: {"rows": batch}})
    opened.open_page("roofline", batch=8)
    stops = ahead.around([made], state.CONTROLS["batch"], 8)["stops"]
    assert [text for text, _ in stops] == ["3", "4", "5", "6", "7", "8"]


@pytest.mark.parametrize(
    "asked",
    [None, 7, "batch", {}, {"slider": "batch"}, {"slider": "batch", "at": "1e9"}, {"slider": "model", "at": "x"},
     {"slider": ["batch"], "at": "8"}, {"slider": "nothing", "at": None}, {"slider": "batch", "at": {"a": 1}}],
    ids=str,
)  # fmt: skip
def test_what_a_browser_asks_for_is_checked(asked):
    at = opened.open_page("roofline")
    at.session_state["_ahead_asked"] = asked
    opened.ran(at)
    said = told(at)
    assert said["frames"] is None
    assert said["slider"] is None


def test_where_nothing_follows_the_browser_asks_for_nothing():
    assert told(opened.open_page("accuracy")) is None


def test_the_mark_changes_with_all_but_the_slider_in_hand():
    def look(**query):
        at = opened.open_page("roofline", **query)
        at.session_state["_ahead_asked"] = {"slider": "batch", "at": "8"}
        opened.ran(at)
        return told(at)["look"], told(at)["at"]["batch"]

    here, at = look(batch=8)
    assert at == "8"
    assert look(batch=16) == (here, "16")
    assert look(batch=8, context=4096)[0] != here
    assert look(batch=8, hardware="h200-sxm")[0] != here
