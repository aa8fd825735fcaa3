"""The map as a user meets it: cells are prices of the cost model, and its line is solved, not read off them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import costmodel as cm
from pages.compare import map_charts, map_frames
from pages.compare import map_words as words
from pages.compare.map_numbers import Map
from pages.parts import state
from pages.parts.components import plain as plain_text
from pages.parts.format import seconds
from pages.parts.scenario import Scenario, what_if
from tests.pages import drawing
from tests.pages.app import figures, link, text
from tests.pages.opened import notices, open_page, plain, press, ran

QWEN, H100 = cm.model("qwen3-0.6b"), cm.hardware("h100-sxm")
PAIRS = list(itertools.permutations(state.MAP_AXES, 2))
MODELS = ["qwen3-0.6b", "qwen3-30b-a3b", "deepseek-v3", "gpt-oss-20b", "gemma-3-27b"]


def plane(x: str = "batch", y: str = "bandwidth_x", scenario: Scenario | None = None, **asked: object) -> Map:
    return Map(**{  # type: ignore[arg-type]  # fields by name
        "scenario": scenario or Scenario(QWEN, H100, cm.Precision()), "batch": 64, "context": 2048, "prompt": 500,
        "count": "attention", "hourly": 2.0, "x": x, "y": y, "shown": "seconds", **asked,
    })  # fmt: skip


def bound_count(drawn: Map) -> str:
    """The count whose floors no step beats: of a prompt the post's is none, with its LM head on every position."""
    return "attention" if "prompt" in (drawn.x, drawn.y) else drawn.count


def price_at(drawn: Map, x: float, y: float) -> cm.Cost:
    """The price of one point of the map, by itself."""
    at = {**drawn.here, drawn.x: x, drawn.y: y}
    axes, s = (drawn.x, drawn.y), drawn.scenario
    if "prompt" in axes:
        step = cm.Step.prefill(
            at["prompt"],
            cached=at["context"] if "context" in axes else 0,
            batch=at["batch"] if "batch" in axes else 1,
        )
    else:
        step = cm.Step.decode(at["batch"], at["context"])
    hw = what_if(s.hardware.root, at["bandwidth_x"], at["compute_x"], 1.0)
    return cm.price(s.model, hw, step, s.precision, count=bound_count(drawn), tensor_parallel=int(at["gpus"]))


# ---- its numbers ---------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(PAIRS), st.sampled_from(MODELS), st.sampled_from(["weights", "attention"]), st.data())
def test_a_cell_is_the_price_of_its_middle(pair, name, count, data):
    hw = what_if(H100, *data.draw(st.sampled_from([(1.0, 1.0), (0.5, 1.0), (2.0, 3.0)])), 1.0)
    factors = {"bandwidth_x": hw.bandwidth / H100.bandwidth, "compute_x": hw.peak["bf16"] / H100.peak["bf16"]}
    drawn = plane(*pair, Scenario(cm.model(name), hw, cm.Precision(), **factors), count=count)
    if words.refusal(drawn):
        return
    i, j = (data.draw(st.integers(0, size - 1)) for size in drawn.cells.seconds.shape)
    cost = price_at(drawn, float(drawn.xs[j]), float(drawn.ys[i]))
    for field in ("seconds", "memory_seconds", "compute_seconds", "bytes", "flops"):
        assert getattr(drawn.cells, field)[i, j] == pytest.approx(getattr(cost, field), rel=1e-12)
    own = price_at(drawn, drawn.here[drawn.x], drawn.here[drawn.y])
    assert drawn.own_value == pytest.approx(own.seconds, rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(PAIRS), st.sampled_from(MODELS), st.sampled_from(["weights", "attention"]))
def test_on_the_line_both_sides_take_equally_long(pair, name, count):
    drawn = plane(*pair, Scenario(cm.model(name), H100, cm.Precision()), count=count)
    if words.refusal(drawn):
        return
    sides = np.unique(drawn.cells.compute_bound)
    assert bool(len(drawn.frontier)) == (sides.size > 1)
    if "gpus" in pair:
        return  # its pieces run across a band; the place along the other axis is tested below
    for x, y in drawn.frontier.reshape(-1, 2)[::7]:
        cost = price_at(drawn, float(x), float(y))
        assert cost.memory_seconds == pytest.approx(cost.compute_seconds, rel=1e-8)


def test_the_line_over_bands_of_gpus_is_where_each_group_turns():
    drawn = plane("gpus", "prompt")
    assert len(drawn.frontier) == len(drawn.sizes)
    for ((left, low), (right, high)), size in zip(drawn.frontier, drawn.sizes, strict=True):
        assert low == high
        assert (left, right) == pytest.approx((size / 2**0.5, size * 2**0.5))
        cost = cm.price(QWEN, H100, cm.Step.prefill(low), tensor_parallel=size)
        assert cost.memory_seconds == pytest.approx(cost.compute_seconds, rel=1e-8)


def test_the_posts_count_turns_at_t_star_whatever_the_context():
    drawn = plane("batch", "context", count="weights")
    assert drawn.turns_at("batch") == pytest.approx(cm.crossing(QWEN, H100), rel=1e-9)
    assert drawn.turns_at("context") is None
    np.testing.assert_allclose(drawn.frontier[..., 0], cm.crossing(QWEN, H100), rtol=1e-9)
    assert "In that count a context costs nothing" in plain_text(words.below_picture(drawn))


def test_with_the_caches_counted_it_never_crosses_here_and_says_so():
    drawn = plane("batch", "context")
    assert cm.crossing(QWEN, H100, context=2048, count="attention") is None
    assert drawn.frontier.size == 0
    assert "It never crosses here: every step on this map waits for memory." in plain_text(words.headline(drawn))
    assert "Memory and arithmetic never take equally long here." in words.alt(drawn)
    assert "it never crosses here" in plain_text(words.below_picture(drawn))


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ("seconds", lambda cost: cost.seconds),
        ("token", lambda cost: cost.seconds / 64),
        ("cost", lambda cost: cost.seconds / 64 / 3600 * 3 * 1e6),
        ("bound", lambda cost: cost.memory_seconds / cost.compute_seconds),
        ("intensity", lambda cost: cost.intensity),
    ],
)
def test_the_colour_can_be_for_any_of_its_values(shown, expected):
    drawn = plane("bandwidth_x", "compute_x", shown=shown, hourly=3.0)
    cost = price_at(drawn, 1.0, 1.0)
    assert drawn.own_value == pytest.approx(expected(cost))
    assert drawn.values.shape == drawn.cells.seconds.shape
    assert drawn.opacity.min() >= 0.1
    assert drawn.opacity.max() <= 0.8


def test_a_million_tokens_cost_what_all_gpus_of_the_group_cost():
    drawn = plane("gpus", "batch", shown="cost")
    for j, size in enumerate(drawn.sizes):
        cost = cm.price(QWEN, H100, cm.Step.decode(1, 2048), tensor_parallel=size)
        assert drawn.values[0, j] == pytest.approx(cost.seconds / 3600 * 2 * size * 1e6)


def test_the_map_reaches_to_where_the_page_is():
    drawn = plane("context", "prompt", context=1_048_576, prompt=3)
    assert drawn.xs[-1] == 1_048_576
    assert drawn.ys[0] == 3


@pytest.mark.parametrize("shown", state.MAP_VALUES)
@pytest.mark.parametrize("gpus", [1, 8])
def test_the_arithmetic_leads_to_the_value_of_the_page(shown, gpus):
    drawn = plane("batch", "gpus", Scenario(QWEN, H100, cm.Precision(), tensor_parallel=gpus), shown=shown)
    lines = {line.name: plain(plain_text(line.result)) for line in words.arithmetic(drawn)}
    cost = cm.price(QWEN, H100, cm.Step.decode(64, 2048), tensor_parallel=gpus)
    assert lines["the step, at least"] == plain(seconds(cost.seconds))
    assert ("a token" in lines) == (shown in {"token", "cost"})
    if shown == "token":
        assert lines["a token"] == plain(words.written(drawn, drawn.own_value)) == plain(seconds(cost.seconds / 64))
    if shown == "cost":
        assert lines["a million of them"] == f"${cost.seconds / 64 / 3600 * 2 * gpus * 1e6:.3g}"
    assert lines["equal along sequences together, B"] == "nowhere on this map"


# ---- the picture ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [300, 440, 640, 900])
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_no_label_meets_another(pair, width):
    drawn = plane(*pair, shown="bound" if pair[0] == "batch" else "cost", batch=200)
    data = {name: frame.to_pandas() for name, frame in map_frames.picture(drawn).items()}
    spec = map_charts.map_spec(*pair, drawn.shown)
    svg = drawing.svg(spec, {**data, "message": data["frame"]}, width=width)
    assert drawing.collisions(svg) == []
    labels = [plain(label.text) for label in drawing.labels(svg)]
    assert any(label.startswith("here: ") for label in labels)
    assert any("-bound" in label for label in labels)
    assert len(labels) >= 5


@pytest.mark.parametrize(("width", "count", "share"), [(300, "weights", 0.257), (860, "attention", 0.021)])
def test_a_side_that_no_written_value_lies_on_is_named_too(width, count, share):
    slow = Scenario(cm.model("gemma-3-27b"), cm.hardware("mi300x"), cm.Precision())
    drawn = plane("batch", "context", slow, count=count)
    assert drawn.compute_share == pytest.approx(share, abs=1e-3)
    data = {name: frame.to_pandas() for name, frame in map_frames.picture(drawn).items()}
    spec = map_charts.map_spec("batch", "context", "seconds")
    svg = drawing.svg(spec, {**data, "message": data["frame"]}, width=width)
    assert {"memory-bound", "compute-bound"} <= {label.text for label in drawing.labels(svg)}
    assert drawing.collisions(svg) == []


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_there_are_few_enough_marks_for_svg(pair):
    data = map_frames.picture(plane(*pair))
    assert 100 < data["cells"].num_rows < 1500
    assert sum(frame.num_rows for frame in data.values()) < 2000
    cells = data["cells"].to_pandas()
    assert (cells.x0 < cells.x).all()
    assert (cells.x < cells.x1).all()
    assert (cells.y0 < cells.y).all()
    assert (cells.y < cells.y1).all()


def test_a_cell_says_a_sentence():
    drawn = plane("batch", "context")
    cells = map_frames.picture(drawn)["cells"].to_pandas()
    said = drawing.evaluate(map_charts._sentence("batch", "context", "seconds"), cells.iloc[[0, -1]])
    first, last = (price_at(drawn, cells.x.iloc[i], cells.y.iloc[i]) for i in (0, -1))
    assert plain(said[0]) == (
        f"1 sequence, a context of 128 tokens: a step takes at least {plain(seconds(first.seconds))}, "
        "and waits for memory."
    )
    assert plain(seconds(last.seconds)) in plain(said[1])
    one = cells.iloc[[0]].assign(x=1.0, y=1.0)
    (said,) = drawing.evaluate(map_charts._sentence("prompt", "context", "seconds"), one)
    assert plain(said).startswith("a prompt of 1 token, a context of 1 token: ")


@pytest.mark.parametrize("shown", state.MAP_VALUES)
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_every_map_has_words(pair, shown):
    drawn = plane(*pair, shown=shown)
    said = plain(words.alt(drawn))
    assert plain(words.written(drawn, drawn.own_value)) in said
    assert plain_text(words.headline(drawn)).count(".") >= 2
    assert "nan" not in said + plain_text(words.headline(drawn))
    if pair[0] > pair[1]:
        return
    rows = map_frames.picture(drawn)["cells"].to_pandas().iloc[[0]]
    assert plain(drawing.evaluate(map_charts._sentence(*pair, shown), rows)[0]).endswith(("memory.", "arithmetic."))


# ---- the page ------------------------------------------------------------------------------------------------


def test_the_page_opens_with_its_own_step():
    at = open_page("compare", compare_view="map", batch=64)
    drawn = plane(count="weights")
    assert "With 64 sequences and bandwidth × 1, a step takes at least 356 µs, and waits for memory." in text(at)
    assert figures(at)["memory takes"] == "356 µs"
    assert figures(at)["sides equal at B"] == "295"
    assert figures(at)["sides equal at bandwidth"] == "nowhere"
    assert f"On {plain(f'{100 * drawn.compute_share:.1f} %')} of this map" in text(at)


def test_the_same_axis_twice_is_refused_in_one_sentence():
    at = open_page("compare", compare_view="map", map_x="context", map_y="context")
    assert notices(at) == ["Both axes are the same (context). Choose another for one of them."]
    assert not at.get("vega_lite_chart")
    at.selectbox(key="map_y").set_value("batch")
    ran(at)
    assert not notices(at)
    assert len(at.get("vega_lite_chart")) == 1


def test_groups_that_a_model_cannot_have_are_no_axis():
    at = open_page("compare", compare_view="map", model="falcon-7b", map_x="gpus")
    assert notices(at) == [
        "The heads of Falcon-7B divide over no number of GPUs but one. Choose another axis than the GPUs."
    ]
    assert not at.get("vega_lite_chart")


def test_controls_are_those_that_the_map_is_made_of():
    at = open_page("compare", compare_view="map", map_x="prompt", map_y="compute_x", map_value="cost")
    sliders = {slider.key for slider in (*at.select_slider, *at.slider)} & {"batch", "context", "prompt", "hourly"}
    assert sliders == {"prompt", "hourly"}
    at.slider(key="hourly").set_value(5.0)
    ran(at)
    cost = cm.price(QWEN, H100, cm.Step.prefill(500))
    assert f"${cost.seconds / 500 / 3600 * 5 * 1e6:.3g}" in text(at)


def test_a_map_of_prompts_shows_bounds_and_offers_no_other_count():
    at = open_page("compare", compare_view="map", map_x="batch", map_y="prompt")
    assert "With 1 sequence and a prompt of 500 tokens, a step takes at least 474 µs, and waits for its" in text(at)
    assert "the LM head on the last position of each prompt alone" in text(at)
    assert "Count the caches" not in [toggle.label for toggle in (*at.toggle, *at.checkbox)]
    assert "Count the caches" in [toggle.label for toggle in open_page("compare", compare_view="map").toggle]


def test_a_link_brings_the_map_back():
    query = {"compare_view": "map", "map_x": "prompt", "map_y": "context", "map_value": "intensity"}
    at = open_page("compare", **query)
    assert query.items() <= link(at).items()
    again = open_page("compare", **link(at))
    assert text(again) == text(at)


@pytest.mark.parametrize("key", ["map_x", "map_y", "map_value"])
def test_a_bad_value_in_a_link_is_said_and_the_default_used(key):
    at = open_page("compare", compare_view="map", **{key: "<b>nonsense</b>"})
    assert notices(at)[0].startswith(f"In the link, {key}: found '<b>nonsense</b>', expected one of ")
    assert at.get("vega_lite_chart")


def test_questions_draw_other_maps():
    at = open_page("compare", compare_view="map")
    press(at, "Show prompt against context")
    assert link(at)["map_x"] == "prompt"
    assert link(at)["map_value"] == "intensity"
    assert "a step does" in text(at)
    press(at, "Show batch against context, caches counted")
    assert "It never crosses here" in text(at)


@pytest.mark.parametrize(
    "query",
    [
        {"bandwidth_x": 2.5, "compute_x": 0.5, "map_x": "bandwidth_x", "map_y": "compute_x"},
        {"tensor_parallel": 8, "map_x": "gpus", "map_y": "context", "model": "llama-3.1-70b", "count": "attention"},
        {"hardware": "t4", "map_x": "prompt", "map_y": "batch", "model": "qwen3-30b-a3b"},
        {"hardware": "rubin-r200", "rates": "calibrated"},
        {"batch": 1024, "context": 1048576, "map_x": "batch", "map_y": "context", "map_value": "bound"},
    ],
)
def test_it_opens_whatever_the_sidebar_says(query):
    at = open_page("compare", compare_view="map", **query)
    assert "this map" in text(at)
    assert len(at.get("vega_lite_chart")) == 1


@pytest.mark.parametrize(
    ("model", "counted"),
    [
        ("qwen3-0.6b", "weights, squares and caches,"),
        ("jamba-1.5-mini", "weights, squares, caches and states,"),
        ("mamba-2.8b", "weights and states,"),
    ],
)
def test_what_a_prompt_is_counted_with_is_called_what_it_is(model, counted):
    drawn = plane("prompt", "bandwidth_x", Scenario(cm.model(model), cm.hardware("h100-sxm"), cm.Precision()))
    assert f"Floors of {counted}" in plain(words.below_picture(drawn))
