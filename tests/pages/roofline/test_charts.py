"""The pictures of the Roofline page, computed by the interpreter that the browser has, against the cost model."""

import json
import random
import re
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import costmodel as cm
from pages.parts import format, theme
from pages.parts.scenario import Scenario, what_if
from pages.roofline.numbers import Roofline
from pages.roofline.roof_chart import roof_spec
from pages.roofline.roof_data import points, roof_data, roofs
from pages.roofline.time_chart import time_spec
from pages.roofline.time_data import last_token, time_data
from pages.roofline.twin import WHAT_IF, seconds
from tests.pages import drawing

FACTORS = [0.25, 0.5, 0.8, 1.0, 1.25, 2.0, 3.1, 4.0]
factors = st.sampled_from(FACTORS)
ROWS = st.lists(
    st.tuples(st.floats(1e3, 1e18), st.floats(1e3, 1e15), st.floats(1e9, 1e16), st.floats(1e8, 1e14)),
    min_size=1,
    max_size=30,
)


@lru_cache
def priceable() -> list[tuple[str, str]]:
    """Every model on every accelerator that can price it."""
    pairs = []
    for hw in cm.hardware():
        try:
            cm.price(cm.model("qwen3-0.6b"), cm.hardware(hw), cm.Step.decode(1, 1))
        except cm.ConfigError:
            continue
        pairs += [(model, hw) for model in cm.model()]
    return pairs


def drawn_at_random(rng: random.Random, count: str | None = None) -> Roofline:
    while True:
        model, hw = rng.choice([*priceable(), *[("qwen3-0.6b", "h100-sxm")] * 200])
        scenario = Scenario(cm.model(model), cm.hardware(hw), cm.Precision())
        batch = rng.choice([1, 2, 3, 5, 8, 16, 64, 200, 295, 400, 1024])
        prompt = rng.choice([1, 2, 4, 10, 50, 200, 290, 300, 500, 2000, 8192, 131072])
        context = rng.choice([1, 16, 128, 512, 2048, 8192, 131072])
        try:
            scenario.price(cm.Step.decode(1, 1))
        except cm.ConfigError:
            continue
        return Roofline(scenario, batch, prompt, context, count or rng.choice(["weights", "attention"]))


@given(ROWS, factors, factors)
@settings(max_examples=20)
def test_the_browser_prices_as_the_cost_model_does(
    rows: list[tuple[float, float, float, float]], bandwidth_x: float, compute_x: float
) -> None:
    table = pd.DataFrame(rows, columns=["flops", "bytes", "peak", "bandwidth"])
    now = {"bandwidth_x_now": bandwidth_x, "compute_x_now": compute_x}
    said = [float(text) for text in drawing.evaluate(seconds(), table, **now)]
    expected = cm.step_seconds(
        table["flops"], table["bytes"], table["peak"] * compute_x, table["bandwidth"] * bandwidth_x
    )
    assert said == pytest.approx(expected.tolist(), rel=1e-12)


def said_in(svg: str, pattern: str) -> str:
    found = re.search(pattern, svg)
    assert found, f"{pattern} is nowhere in the picture"
    return found[1]


@pytest.mark.parametrize("count", ["weights", "attention"])
@pytest.mark.parametrize("seed", range(5))
def test_what_is_dragged_shows_what_the_cost_model_says_of_such_a_machine(count: str, seed: int) -> None:
    """Crossing, decode and prefill of the picture, dragged, against ``cm`` on the hardware with those figures."""
    rng = random.Random(seed)
    r = drawn_at_random(rng, count)
    bandwidth_x, compute_x = rng.choice(FACTORS), rng.choice(FACTORS)
    svg = drawing.svg(time_spec(), time_data(r), width=850, bandwidth_x=bandwidth_x, compute_x=compute_x)
    s = r.scenario
    hw = what_if(s.hardware, bandwidth_x, compute_x, 1.0)
    for name, step in (("decode", cm.Step.decode(r.batch, r.context)), ("prefill", cm.Step.prefill(r.prompt))):
        shown = said_in(svg, rf'aria-label="{name} of [\d,]+: ([^"]+)"')
        cost = cm.price(s.model, hw, step, count=count)
        assert shown == str(format.seconds(cost.seconds))
    crossing = cm.crossing(s.model, hw, 0, count, "prefill")
    if crossing is not None and 1 < crossing < last_token(r):
        shown_t = float(said_in(svg, r'aria-label="crossing at T\* = ([\d,.]+) tokens"').replace(",", ""))
        assert shown_t == pytest.approx(crossing, rel=2e-3, abs=0.06)


@pytest.mark.parametrize("width", [850, 300])
@pytest.mark.parametrize("picture", ["time", "roof"])
@pytest.mark.parametrize("seed", range(3))
def test_labels_never_meet(picture: str, width: int, seed: int) -> None:
    """Over models, machines, batches, prompts, contexts, counts, and the corners of what a hand can drag."""
    rng = random.Random(f"{picture} {width} {seed}")
    for _ in range(4):
        r = drawn_at_random(rng)
        dragged = {name: rng.choice([None, 0.25, 1.0, 4.0]) for name in WHAT_IF}
        spec, data = (time_spec(), time_data(r)) if picture == "time" else (roof_spec(), roof_data(r))
        met = drawing.collisions(drawing.svg(spec, data, width=width, **dragged))
        where = f"{r.scenario.label}, B {r.batch}, prompt {r.prompt}, context {r.context}, {r.count}, {dragged}"
        assert not met, f"{met} ({where})"


def test_the_picture_of_the_post() -> None:
    r = Roofline(Scenario(cm.model("qwen3-0.6b"), cm.hardware("h100-sxm"), cm.Precision()), 1, 500, 2048, "weights")
    texts = {
        label.text.replace("\u00a0", " ") for label in drawing.labels(drawing.svg(time_spec(), time_data(r), width=850))
    }
    assert {"weights out of memory, 356 µs", "arithmetic, 1.2 µs a token", "T* = 295", "decode, B = 1"} <= texts
    assert {"Memory-bound", "Compute-bound", "prefill of 500: 602 µs"} <= texts


def test_a_decode_step_over_long_caches_never_crosses_and_says_so() -> None:
    r = Roofline(Scenario(cm.model("qwen3-0.6b"), cm.hardware("h100-sxm"), cm.Precision()), 64, 500, 2048, "attention")
    text = " ".join(label.text for label in drawing.labels(drawing.svg(time_spec(), time_data(r), width=850)))
    assert "never crosses, tends to 7.1 FLOP/B" in text


def test_points_lie_on_the_roof_and_every_peak_has_its_line() -> None:
    r = Roofline(Scenario(cm.model("qwen3-0.6b"), cm.hardware("h100-sxm"), cm.Precision()), 64, 500, 2048, "attention")
    found = pd.DataFrame(points(r))
    assert set(found["kind"]) == {"decode", "prefill", "step"}
    reached = found["flops"] / cm.step_seconds(found["flops"], found["bytes"], found["peak"], found["bandwidth"])
    roof = np.minimum(found["peak"], found["flops"] / found["bytes"] * found["bandwidth"])
    assert reached.tolist() == pytest.approx(roof.tolist())
    named = {unit for row in roofs(r) for unit in row["formats"].split(", ")}
    assert named == set(r.scenario.hardware.peak)
    decode = r.decode.operations.query("name == 'scores'").iloc[0]
    mine = found.query("kind == 'decode' and name == 'scores'").iloc[0]
    assert (mine["flops"], mine["bytes"]) == (decode["flops"], decode["bytes"])


@pytest.mark.parametrize("spec", [time_spec, roof_spec], ids=["time", "roof"])
def test_a_spec_is_built_once_and_holds_no_data(spec: object) -> None:
    assert callable(spec)
    assert spec() is spec()
    text = json.dumps(spec())
    assert "values" not in {key for layer in spec()["layer"] for key in layer.get("data", {})}
    assert text == json.dumps(spec())


def test_colours_in_charts_are_names() -> None:
    for spec in (time_spec(), roof_spec()):
        text = json.dumps(spec)
        assert not re.search(r"#[0-9a-fA-F]{6}", text)
        named = set(re.findall(r"scale\('fill','([^']+)'\)", text))
        assert {"memory", "compute", "ink"} <= named <= set(theme.MEANINGS)
