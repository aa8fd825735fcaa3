"""The Compare page's pair without a browser: reasons right in sign and number, pictures of prices, hostile pins."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import costmodel as cm
from costmodel import compare
from live import store
from pages.compare import charts, deltas, frames, frames_batching, others, serving, words
from pages.compare.numbers import Pair, side
from pages.memory.numbers import Memory
from pages.parts import codec, components, format, resolve, state
from pages.scheduler.runs import Plan
from pages.scheduler.workloads import Workload
from tests.live.samples import made_up, processor
from tests.pages import app, drawing, opened

PAGE = "compare"
DEFAULTS = {key: state.CONTROLS[key].default for key in state.PINNED}
WORKLOAD = Workload("poisson", 20.0, 1.0, 16, 30, "lognormal", 500, "uniform", 100, 0, 0)
CONFIG = {
    "model_type": "llama", "hidden_size": 768, "num_hidden_layers": 4, "num_attention_heads": 6,
    "num_key_value_heads": 2, "intermediate_size": 1024, "vocab_size": 1000,
}  # fmt: skip


def one(name, hourly=2.0, attention_parallel="tensor", **asked):
    """A side from values of controls."""
    values = {**DEFAULTS, **asked}
    scenario, _ = resolve.scenario_of(values)
    load = {key: values[key] for key in ("batch", "prompt", "context", "count")}
    memory = Memory(scenario, values["batch"], values["context"], attention_parallel=attention_parallel)
    return side(name=name, scenario=scenario, hourly=hourly, memory=memory, **load)


def pair(a=None, b=None):
    """A against B, which is A with changes."""
    a = a or {}
    return Pair(one("A", **a), one("B", **{**a, **(b or {})}))


def preset(name, a=None, hardware="h200-sxm", model="llama-3.1-8b"):
    """A against a preset, and what is said about it."""
    values = {**DEFAULTS, **(a or {})}
    scenario, _ = resolve.scenario_of(values)
    theirs, said = others.values_of(name, others.Asked(values, scenario, hardware, model))
    return Pair(one("A", **values), one("B", **theirs)), said


PAIRS = {
    "H100 to H200": lambda: preset("hardware")[0],
    "twice the bandwidth at the ridge": lambda: preset("bandwidth", {"batch": 200})[0],
    "twice the arithmetic": lambda: preset("compute", {"batch": 1000, "count": "attention"})[0],
    "fp8 weights": lambda: preset("weights", {"model": "llama-3.1-8b", "rates": "calibrated"})[0],
    "fp8 caches": lambda: preset("kv", {"batch": 64, "count": "attention"})[0],
    "70B on one GPU that it does not fit, and on eight": lambda: preset("gpus", {"model": "llama-3.1-70b"})[0],
    "another model": lambda: preset("model", {"count": "attention"}, model="deepseek-v3")[0],
    "states, no caches": lambda: preset("model", {"count": "attention"}, model="mamba-2.8b")[0],
    "eight times the batch": lambda: preset("batch", {"batch": 128})[0],
    "memory not known": lambda: preset("hardware", hardware="b100")[0],
    "an estimate against a floor": lambda: Pair(one("A", rates="calibrated"), one("B", hardware="rtx5090")),
    "everything": lambda: pair(
        {"model": "qwen3-30b-a3b", "rates": "calibrated", "batch": 512, "context": 100_000, "count": "attention"},
        {"hardware": "mi300x", "batch": 1, "context": 100, "prompt": 100_000},
    ),
    "the same": pair,
    "sequences over the GPUs": lambda: pair(
        {"model": "llama-3.1-8b", "tensor_parallel": "2", "attention_parallel": "data"}, {"tensor_parallel": "8"}
    ),
    "room for few": lambda: pair(
        {"model": "llama-3.1-8b", "context": 131_072}, {"hardware": "h200-sxm", "context": 120_000}
    ),
}
every_pair = pytest.mark.parametrize("p", [pytest.param(make(), id=name) for name, make in PAIRS.items()])


def said(text):
    return opened.plain(components.plain(text))


def rows(p):
    return {delta.name: delta for delta in deltas.deltas(p)}


# ---- the reason ----------------------------------------------------------------------------------------------


def test_the_headline_says_how_much_and_why():
    p, _ = preset("hardware")
    assert said(words.headline(p, "On H200 SXM")) == (
        "On H200 SXM (B), a decode step takes 248 µs instead of the 356 µs of A: 1.43× faster because both wait for "
        "memory and bandwidth grew 1.43×; the compute side did not matter."
    )


@pytest.mark.parametrize(
    ("name", "a", "expected"),
    [
        ("bandwidth", {}, "both wait for memory and bandwidth grew 2.00×; the compute side did not matter"),
        (
            "bandwidth",
            {"batch": 200},
            "bandwidth grew 2.00×, which alone would make it 2.00× faster, and from 1.48× on it waits for arithmetic",
        ),
        (
            "compute",
            {},
            "both wait for memory and nothing on that side changed; that the peak grew 2.00× did not matter",
        ),
        (
            "compute",
            {"batch": 1024},
            "both wait for arithmetic and the peak grew 2.00×; the memory side did not matter",
        ),
        (
            "batch",
            {"batch": 64},
            "A waits for memory and B for arithmetic: the FLOPs grew 8.00×",
        ),
        (
            "kv",
            {"count": "attention", "batch": 256},
            "both wait for memory and the bytes fell to 0.510×; the compute side did not matter",
        ),
    ],
)
def test_the_reason_of_a_floor(name, a, expected):
    p, _ = preset(name, a)
    assert said(words.reason(p.decode)) == expected


def numbers_in(text):
    return [float(word.rstrip("×;,.").replace(",", "")) for word in text.split() if word.rstrip(";,.").endswith("×")]


@every_pair
def test_every_factor_that_a_reason_names_is_one_of_the_cost_model(p):
    check_factors(p)


def check_factors(p):
    a, b = (s.roofline.decode for s in p.sides)
    ratios = {
        "the bytes": b.bytes / a.bytes,
        "the FLOPs": b.flops / a.flops,
        "bandwidth": (b.bytes / b.memory_seconds) / (a.bytes / a.memory_seconds),
        "the peak": (b.flops / b.compute_seconds) / (a.flops / a.compute_seconds),
        "alone": a.memory_seconds / b.memory_seconds,
        "alone, arithmetic": a.compute_seconds / b.compute_seconds,
        "whole": a.seconds / b.seconds,
    }
    for number in numbers_in(words.reason(p.decode)):
        assert any(number == pytest.approx(ratio, rel=6e-3) for ratio in ratios.values())


@every_pair
def test_faster_has_the_sign_of_the_seconds(p):
    a, b = (p.decode_seconds(s) for s in p.sides)
    text = words.faster(a, b)
    expected = "as fast" if words.alike(a, b, format.seconds) else "faster" if b < a else "slower"
    assert text.endswith(expected)


def test_a_slower_side_is_said_to_be_slower_by_the_inverse():
    assert words.faster(0.5, 1.0) == "2.00× slower"
    assert words.faster(1.0, 0.5) == "2.00× faster"
    assert words.faster(1.0, 1.0002) == "as fast"
    assert words.faster(2.5, 2.51) == "1.004× slower"


@given(st.floats(1e-6, 1e3), st.one_of(st.floats(0.98, 1.02), st.floats(0.1, 10)))
def test_two_figures_that_read_the_same_are_not_said_to_differ(a, ratio):
    b = a * ratio
    for write in (format.seconds, format.significant, format.count, format.gigabytes):
        same = words.times(a, b, write) == "the same"
        assert same == (str(write(a)) == str(write(b)) or abs(b / a - 1) < 5e-4)
    assert (words.faster(a, b) == "as fast") == (words.times(a, b, format.seconds) == "the same")
    assert not words.faster(a, b).startswith("1.00×")
    assert not words.changed("it", ratio).endswith(" 1.00×")


@pytest.mark.parametrize("rate", [1.0, 20.0, 200.0])
def test_what_is_served_alike_is_not_said_to_differ(rate):
    p, _ = preset("compute", {"batch": 1024})
    both = serving.Both(*(served(s, replace(WORKLOAD, rate=rate)) for s in p.sides))
    for delta in serving.deltas(both):
        if str(delta.values[0]) == str(delta.values[1]):
            assert delta.change in {"as fast", "the same"}
        for b, a in re.findall(r"([\d.,]+\s?\w*), not ([\d.,]+\s?\w*)", delta.reason):
            assert a != b


def test_both_the_same_is_said():
    p = pair()
    assert p.same
    assert said(words.headline(p, "")) == "A and B are the same: a decode step takes both 356 µs."
    for delta in deltas.deltas(p):
        assert delta.change in {"the same", "as fast"}
        assert not numbers_in(delta.reason)


def test_estimates_are_explained_by_their_operations():
    p, _ = preset("hardware", {"model": "llama-3.1-8b", "rates": "calibrated"})
    a, b = (s.roofline.estimate for s in p.sides)
    top = compare.contributions(a, b)[0]
    headline = said(words.headline(p, "On H200 SXM"))
    assert f"takes about {components.plain(words._seconds(p.b, p))}".replace("\u00a0", " ") in headline
    assert f"{top.name} " in headline
    assert "less" in headline
    assert "The floors: 1.43× faster because both wait for memory and bandwidth grew 1.43×" in headline
    assert [p.decode_seconds(s) for s in p.sides] == [a.seconds, b.seconds]


def test_an_estimate_is_never_held_against_a_floor():
    p = PAIRS["an estimate against a floor"]()
    assert not p.both_estimate
    assert [p.decode_seconds(s) for s in p.sides] == [s.roofline.decode.seconds for s in p.sides]
    estimate = rows(p)["decode step, estimate"]
    assert estimate.values[1] == estimate.change == "–"
    assert estimate.reason == "only the datasheet speaks of B"


EPYC_S = "by the general rates of NVIDIA's GPUs, as EPYC 9654 (1 socket) was not measured."


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ({}, {"hardware": "h100-sxm"}, ""),
        ({}, {"hardware": "h200-sxm"}, "The estimate of B goes by rates of H100 SXM, as H200 SXM was not measured."),
        (
            {"hardware": "epyc-9654"},
            {"bandwidth_x": 2.0},
            f"The estimates of A and B go {EPYC_S}",
        ),
        (
            {"model": "deepseek-v3"},
            {"rates": "datasheet"},
            "The estimate of A goes in part by the general rates of NVIDIA's GPUs.",
        ),
        ({"rates": "datasheet", "hardware": "epyc-9654"}, {}, ""),
    ],
)
def test_rates_of_other_hardware_are_said_to_stand_in(a, b, expected):
    assert said(words.stand_ins(pair({"rates": "calibrated", **a}, b))) == expected


def test_the_page_says_that_general_rates_stand_in():
    at = opened.open_page(PAGE, hardware="epyc-9654", rates="calibrated")
    assert EPYC_S in app.text(at)


# ---- the table -----------------------------------------------------------------------------------------------


@every_pair
def test_the_table_has_the_numbers_of_the_cost_model(p):
    table = rows(p)
    for place, s in enumerate(p.sides):
        decode = cm.price(
            s.scenario.model, s.scenario.hardware, cm.Step.decode(s.batch, s.context), s.scenario.precision,
            count=s.count, tensor_parallel=s.gpus,
        )  # fmt: skip
        assert table["decode step, floor"].values[place] == format.seconds(decode.seconds)
        if s.scenario.hardware.memory is not None and "sequences that fit" in table:
            fit = cm.memory(
                s.scenario.model, s.scenario.hardware, context=s.context, precision=s.scenario.precision,
                tensor_parallel=s.gpus, attention_parallel=s.memory.attention_parallel,
            )  # fmt: skip
            assert table["sequences that fit"].values[place] == f"{fit.max_batch:,}"


def test_money_is_time_and_gpus_and_the_price_of_an_hour():
    p, _ = preset("gpus", {"model": "llama-3.1-8b"})
    dear = Pair(p.a, replace(p.b, hourly=4.0))
    row = rows(dear)["$ a million tokens"]
    assert "the number of GPUs grew 8.00×" in row.reason
    assert "the price of an hour grew 2.00×" in row.reason
    assert float(row.values[0]) == pytest.approx(p.a.roofline.decode.seconds * 1e6 * 2 / 3600, rel=5e-3)
    assert float(row.values[1]) == pytest.approx(p.b.roofline.decode.seconds * 1e6 * 32 / 3600, rel=5e-3)


def test_caches_are_explained_by_format_context_and_group():
    assert rows(preset("kv")[0])["cache of a sequence"].reason == "bytes a value (bf16 to fp8) fell to 0.500×"
    assert "the context grew 4.00×" in rows(pair(b={"context": 8192}))["cache of a sequence"].reason
    eight = rows(preset("gpus", {"model": "llama-3.1-8b"})[0])["cache of a sequence"]
    assert eight.reason == "values a token on each GPU fell to 0.125×"


def model(name, **asked):
    """A model with room enough, over caches that are not in whole blocks."""
    return {"model": name, "batch": 8, **asked}


OWN = {
    "a state has no values of a cache's format": (
        model("mamba-2.8b"), {"kv": "fp8"}, "state of a sequence", deltas.NOTHING,
    ),
    "a state has no length": (model("mamba-2.8b"), {"context": 8192}, "state of a sequence", deltas.NOTHING),
    "a state is divided": (
        model("mamba-2.8b"), {"tensor_parallel": "2"}, "state of a sequence",
        "bytes of a state on each GPU fell to 0.500×",
    ),
    "a hybrid": (
        model("jamba-1.5-mini", context=32768, hardware="h200-sxm"), {"kv": "fp8"}, "cache and state of a sequence",
        "the cache went from 537 MB to 268 MB, as bytes a value (bf16 to fp8) fell to 0.500×, and the state is 16.1 MB",
    ),
    "a cache against a state": (
        model("qwen3-0.6b"), {"model": "mamba-2.8b"}, "cache and state of a sequence",
        "only A has a cache, of 235 MB, and only B has a state, of 22.9 MB",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("a", "b", "name", "reason"), OWN.values(), ids=OWN)
def test_what_a_sequence_keeps_is_named_and_explained_by_what_it_is(a, b, name, reason):
    table = rows(pair(a, b))
    assert opened.plain(table[name].reason).removesuffix(" in both") == reason
    assert sum(row.endswith("of a sequence") for row in table) == 1


def test_what_does_not_fit_is_said():
    row = rows(PAIRS["70B on one GPU that it does not fit, and on eight"]())["sequences that fit"]
    assert row.values[0] == "0"
    assert row.change == "–"
    assert "the weights of A alone are" in row.reason
    unknown = rows(PAIRS["memory not known"]())["sequences that fit"]
    assert unknown.values[1] == "–"
    assert "usable memory of B100" in unknown.reason


def test_another_model_has_its_dimensions_in_the_table():
    table = rows(preset("model")[0])
    assert table["layers"].values == ["28", "32"]
    assert table["hidden size"].change == "4.00×"
    assert "14,336 wide" in table["MLP of the last layer"].values[1]
    assert "layers" not in rows(preset("hardware")[0])
    without = rows(preset("model", model="mamba-2.8b")[0])["MLP of the last layer"]
    assert without.values[1] == "no MLP"


@every_pair
def test_the_arithmetic_multiplies_out(p):
    for line in words.arithmetic(p):
        if line.name.endswith("A ÷ B"):
            factors = [float(part.split(" ")[0].replace(",", "")) for part in str(line.expression).split(" × ")]
            assert np.prod(factors) == pytest.approx(float(str(line.result).rstrip("×").replace(",", "")), rel=2e-3)


@every_pair
def test_the_arithmetic_of_memory_and_money_comes_to_what_is_shown(p):
    for line in words.arithmetic(p):
        expression = opened.plain(line.expression).replace(",", "")
        if line.name.startswith("a million tokens"):
            found = re.fullmatch(r"10⁶ × ([\d.]+) (\S+) × (\d+) GPUs? × \$([\d.]+) ÷ 3600 s", expression)
            seconds = float(found[1]) * {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}[found[2]]
            price = 1e6 * seconds * int(found[3]) * float(found[4]) / 3600
            assert price == pytest.approx(float(str(line.result).replace(",", "")[1:]), rel=2e-3)
        if line.name.startswith("sequences that fit"):
            s = p.a if line.name.endswith("A") else p.b
            fit = s.memory.fit
            assert opened.plain(format.gibibytes(fit.weight_bytes, 4)).replace(",", "") in expression
            groups = re.search(r"in whole ones(?: × (\d+) GPUs)?$", expression)[1] or 1
            exact = (fit.usable_bytes * 0.9 - fit.weight_bytes) / fit.sequence_bytes
            assert int(line.result.replace(",", "")) == max(0, int(exact)) * int(groups)


DIVIDE = {
    "ridge B*, FLOP a byte": "bandwidth",
    "FLOP a byte, caches counted": "the bytes",
}


def multiplied(delta):
    """The factors that a reason names, those of ``DIVIDE`` as divisors, multiplied."""
    found = re.findall(r"(?:and |^)(.+?) (?:grew|fell to) ([\d.,]+)×", delta.reason)
    factors = [(name, float(number.replace(",", ""))) for name, number in found]
    return float(np.prod([1 / ratio if divides(delta.name, name) else ratio for name, ratio in factors]))


def divides(row, name):
    """Whether more of what is named makes the row's figure smaller."""
    return name == DIVIDE.get(row) or (row == "sequences that fit" and name.endswith(" of a sequence"))


@every_pair
def test_the_factors_of_a_reason_multiply_to_the_whole(p):
    check_products(p)


def check_products(p):
    for name in (
        *DIVIDE,
        "sequences that fit",
        "cache of a sequence",
        "state of a sequence",
        "crossing T*, tokens",
        "$ a million tokens",
    ):
        delta = rows(p).get(name)
        if delta is None or delta.change == "–":
            continue
        whole = 1.0 if delta.change == "the same" else float(delta.change.rstrip("×").replace(",", ""))
        assert multiplied(delta) == pytest.approx(whole, rel=0.02), delta


def test_sequences_over_the_gpus_are_explained_by_their_number():
    row = rows(PAIRS["sequences over the GPUs"]())["sequences that fit"]
    assert "the GPUs that hold sequences of their own grew 4.00×" in row.reason
    assert row.values[1] == "2,160"


# ---- presets -------------------------------------------------------------------------------------------------


def test_every_option_has_a_name_and_a_change():
    assert set(others.NAMES) == set(state.OTHERS) == {*others._PRESETS, "pinned"}


@pytest.mark.parametrize("name", [name for name in state.OTHERS if name != "pinned"])
def test_a_preset_changes_what_it_says_and_what_its_controls_take(name):
    p, sentence = preset(name)
    assert not p.same
    assert sentence == ""
    values, _ = others.values_of(name, others.Asked(DEFAULTS, p.a.scenario, "h200-sxm", "llama-3.1-8b"))
    for key, value in values.items():
        assert state.CONTROLS[key].parse(state.CONTROLS[key].write(value)) == value if value != "" else True
    assert others.lead(name, p.b.scenario, p.b.batch)


def test_fp8_without_a_unit_for_it_is_storage():
    p, sentence = preset("weights", {"hardware": "a100-sxm-80", "model": "llama-3.1-8b"})
    assert "A100 SXM 80 GB has no fp8 unit" in sentence
    assert "unpacked to bf16" in sentence
    assert p.b.scenario.formats.compute == "bf16"
    assert p.decode.memory.amount > 1.8
    assert p.decode.compute.speedup == pytest.approx(1)


def test_heads_that_do_not_divide_over_eight_say_why():
    p, sentence = preset("gpus", {"model": "qwen2.5-0.5b"})
    assert p.b.gpus in {1, 2, 4}
    assert "do not divide over 8 GPUs (" in sentence
    assert "expected" in sentence
    assert sentence.endswith(("the most that does.", "B is A."))


def test_what_a_slider_cannot_hold_ends_at_its_end():
    p, sentence = preset("bandwidth", {"bandwidth_x": 3.0})
    assert p.b.scenario.bandwidth_x == 4
    assert sentence == "The bandwidth of A is × 3 already and a what-if ends at × 4, so B has × 4."
    p, sentence = preset("batch", {"batch": 1024})
    assert p.same
    assert sentence == "A has 1,024 sequences and a batch ends at 1,024, so B has 1,024."


# ---- pictures ------------------------------------------------------------------------------------------------


def pictures(p):
    for name, picture in drawings(p):
        yield getattr(charts, f"{name}_spec")(), picture.data()
    yield charts.memory_spec(), frames.memory(p)


def drawings(p):
    """The pictures of lines by name."""
    for name in ("time", "roof", "latency", "speed", "context"):
        yield name, getattr(frames, name)(p)
    for name in ("market", "bills", "intensity", "streamed"):
        yield name, getattr(frames_batching, name)(p)


def drawn(spec, data, width):
    return drawing.svg(spec, {name: table.to_pandas() for name, table in data.items()}, width=width)


@pytest.mark.parametrize("width", [850, 300])
@every_pair
def test_labels_never_meet_and_stay_inside(p, width):
    for spec, data in pictures(p):
        picture = drawn(spec, data, width)
        assert not drawing.collisions(picture), spec["description"]
        inside = [58 <= label.left <= label.right <= width + 62 for label in drawing.labels(picture)]
        assert all(inside), spec["description"]
        assert len(inside) >= 2


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    batch=st.integers(1, 1024), context=st.integers(1, 200_000), prompt=st.integers(1, 131_072),
    hardware=st.sampled_from(["h200-sxm", "l4", "b200"]), bandwidth_x=st.floats(0.25, 4),
    count=st.sampled_from(["weights", "attention"]), width=st.sampled_from([300, 520, 850]),
)  # fmt: skip
def test_labels_never_meet_wherever_the_sliders_stand(batch, context, prompt, hardware, bandwidth_x, count, width):
    load = {"batch": batch, "context": context, "prompt": prompt, "count": count}
    p = pair(load, {"hardware": hardware, "bandwidth_x": bandwidth_x})
    for spec, data in pictures(p):
        assert not drawing.collisions(drawn(spec, data, width)), spec["description"]


def curve(data, name, kind="thick"):
    table = data["curve"].to_pandas()
    return table[(table["side"] == name) & (table["kind"] == kind)]


@every_pair
def test_every_point_of_a_picture_is_a_price(p):
    data = frames.latency(p).data()
    for s in p.sides:
        points = curve(data, s.name)
        expected = p.price(s, cm.Step.decode(points["x"].to_numpy(), s.context)).seconds
        assert points["y"].to_numpy() == pytest.approx(expected)
    speed = frames.speed(p).data()
    for s in p.sides:
        points = curve(speed, s.name)
        expected = points["x"] / p.price(s, cm.Step.decode(points["x"].to_numpy(), s.context)).seconds
        assert points["y"].to_numpy() == pytest.approx(expected.to_numpy())


@every_pair
def test_what_batching_buys_is_priced_as_its_own_page_prices_it(p):
    for s in p.sides:
        load = s.batching
        price = s.hourly * s.gpus / 3600 * 1e6
        market = curve(frames_batching.market(p).data(), s.name).drop_duplicates("x")
        bills, intensity, streamed = (
            curve(getattr(frames_batching, name)(p).data(), s.name).iloc[[0, 40, -1]]
            for name in ("bills", "intensity", "streamed")
        )
        own = frames_batching.market(p).marks["AB".index(s.name)]
        assert own.y == pytest.approx(price * own.x**-1 / s.batch)
        assert market["y"].min() > 0
        for at, total in zip(bills["x"], bills["y"], strict=True):
            cost = load.floor(cm.Step.decode(at, s.context))
            assert total == pytest.approx((cost.weight_bytes + cost.kv_bytes) / at)
        for at, reached in zip(intensity["x"], intensity["y"], strict=True):
            assert reached == pytest.approx(load.floor(cm.Step.decode(at, s.context)).intensity)
        for at, nbytes in zip(streamed["x"], streamed["y"], strict=True):
            assert nbytes == pytest.approx(load.weights_alone(cm.Step.decode(at, s.context)).bytes)


@every_pair
def test_the_steps_stand_under_their_own_roof(p):
    for s, data in ((s, frames.roof(p).data()) for s in p.sides):
        marks = data["marks"].to_pandas().query(f"side=='{s.name}'")
        hw = s.scenario.hardware
        for mark in marks.itertuples():
            assert mark.y <= hw.bandwidth * mark.x * (1 + 1e-9)


@every_pair
def test_what_a_picture_shows_is_said_with_its_figures(p):
    for _, picture in drawings(p):
        text = picture.said("What it is")
        assert text.startswith("What it is. A, solid: ")
        assert " B, dashed: " in text
        assert not set("●◆○◇→") & set(text)
    assert said(frames.memory_said(p)).count("weights") + said(frames.memory_said(p)).count("not published") == 2


@st.composite
def loads(draw):
    """Values of controls of some scenario and workload."""
    ends = {"batch": 1024, "prompt": 131_072, "context": 1_048_576}
    chosen = {key: draw(st.integers(1, most)) for key, most in ends.items()}
    for key in ("hardware", "model", "weights", "kv", "compute", "tensor_parallel", "rates", "count"):
        options = [option for option in state.CONTROLS[key].options() if option != state.CUSTOM]
        chosen[key] = draw(st.sampled_from(options))
    return chosen | {key: draw(st.floats(0.25, 4)) for key in resolve.FACTORS}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(loads(), loads())
def test_any_two_scenarios_can_be_held_against_each_other(a, b):
    p = Pair(one("A", **a), one("B", **{**b, "count": a["count"]}))
    assert said(words.headline(p, "As pinned")).endswith(".")
    check_factors(p)
    check_products(p)
    for delta in deltas.deltas(p):
        assert len(delta.values) == 2
        assert "nan" not in " ".join(str(part) for part in (*delta.values, delta.change, delta.reason))
    assert words.arithmetic(p)
    for spec, data in pictures(p):
        frame = data["frame"].to_pylist()[0]
        assert frame["left"] < frame["right"], spec["description"]
        assert 0 <= frame["bottom"] < frame["top"] < np.inf, spec["description"]


# ---- served --------------------------------------------------------------------------------------------------


def served(s, workload=WORKLOAD):
    plan = Plan(s.scenario, workload, KNOBS, kv_blocks=0, block_size=16, lag=0, link=0.0)
    return serving.run(plan, lambda _: None)


KNOBS = serving.Knobs("vllm_v1", 2048, 64, 0.0, True, 0, True, False, "fcfs", False)  # noqa: FBT003


def test_the_same_requests_are_served_by_both():
    p, _ = preset("hardware", {"model": "llama-3.1-8b"})
    both = serving.Both(served(p.a), served(p.b))
    for run in both.runs:
        assert run.summary["arrived"] == serving.REQUESTS == run.summary["finished"]
        assert run.summary["engine"] == "jump"
        assert len(run.finished) == serving.REQUESTS
        assert (np.diff(run.finished) >= 0).all()
    assert both.a.last_arrival == both.b.last_arrival
    table = {delta.name: delta for delta in serving.deltas(both)}
    assert table["time a token after it"].change.endswith("faster")
    assert both.b.summary["tpot_s"] < both.a.summary["tpot_s"]
    picture = serving.picture(p, both)
    assert curve(picture.data(), "A")["y"].max() == serving.REQUESTS
    for width in (300, 850):
        assert not drawing.collisions(drawn(charts.served_spec(), picture.data(), width))


@pytest.mark.parametrize(("rate", "expected"), [(1.0, "both keep up"), (3000.0, "neither keeps up")])
def test_throughput_is_explained_by_who_keeps_up(rate, expected):
    p, _ = preset("hardware", {"model": "llama-3.1-8b"})
    workload = replace(WORKLOAD, rate=rate)
    both = serving.Both(*(served(s, workload) for s in p.sides))
    assert expected in {delta.name: delta for delta in serving.deltas(both)}["tokens a second"].reason


@pytest.mark.parametrize(
    ("model", "hardware", "prompt", "limits"),
    [
        ("gpt2", "v100-pcie-16", 1024, ["above max_model_len 1,024"]),
        ("llama-3.1-8b", "rtx4090", 60_000, ["above the "]),
        ("qwen3-0.6b", "h100-sxm", 500, []),
    ],
)
def test_requests_are_turned_away_for_the_simulator_s_own_reasons(model, hardware, prompt, limits):
    p = pair({"model": model, "hardware": hardware}, {"model": "mamba-2.8b"})
    workload = replace(WORKLOAD, prompt_tokens=prompt)
    both = serving.Both(*(served(s, workload) for s in p.sides))
    told = [delta for delta in serving.deltas(both) if delta.name == "requests turned away"]
    assert bool(told) == bool(limits)
    run = Plan(p.a.scenario, workload, KNOBS, 0, 16, 0, 0.0).simulate(workload.table(count=serving.REQUESTS))
    reasons = [str(reason) for reason in run.requests.loc[run.requests["outcome"] == "rejected", "reason"]]
    assert sum(both.a.refusals.values()) == len(reasons)
    assert all(any(reason.endswith(limit) for limit in both.a.refusals) for reason in reasons)
    for delta, limit in zip(told, limits, strict=True):
        assert delta.values == [str(len(reasons)), "0"]
        assert delta.reason.startswith("A: ")
        assert limit in delta.reason


# ---- pins ----------------------------------------------------------------------------------------------------


@st.composite
def values(draw):
    keys = draw(st.sets(st.sampled_from(["batch", "prompt", "context", "count", "weights", "kv", "hardware"])))
    made = {}
    for key in keys:
        control = state.CONTROLS[key]
        if isinstance(control, state.Number):
            made[key] = draw(st.integers(int(control.low), int(control.high)))
        else:
            made[key] = draw(st.sampled_from([o for o in control.options() if o != state.CUSTOM]))
    return made


@given(values())
def test_what_is_pinned_comes_back(made):
    text = state.pack_values({**DEFAULTS, **made})
    assert {**DEFAULTS, **state.unpack(text)} == {**DEFAULTS, **made} == {**DEFAULTS, **state.unpack_own(text)}


HOSTILE = [
    "abcd",
    "A" * 20_000,
    codec.pack("0" * 30_000_000),
    codec.pack([1, 2]),
    codec.pack({"batch": 5}),
    codec.pack({"batch": "1e9"}),
    codec.pack({"pinned": "x"}),
    codec.pack({"seed": "1"}),
    codec.pack({"model": "<script>alert(1)</script>"}),
    codec.pack({"accelerator": codec.pack(["X", -1, 1, {}])}),
    codec.pack({"model": "custom", "model_config": codec.pack([{"model_type": "nothing"}, None, ""])}),
    codec.pack({"model": "custom", "model_config": "A" * 17_000}),
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_pin_is_refused_in_one_sentence(text):
    with pytest.raises(cm.ConfigError, match="expected|unknown"):
        state.unpack(text)


@given(st.text(max_size=200))
def test_any_pin_is_read_or_refused(text):
    with pytest.raises(ValueError, match="expected"):
        state.unpack(text)


# ---- measured rates ------------------------------------------------------------------------------------------


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """A profile that is kept on this machine, as if Qwen3-0.6B had been measured on a processor."""
    monkeypatch.setenv(store.VARIABLE, str(tmp_path))
    profile = made_up(processor(), cm.model("qwen3-0.6b"), noise=0.02)
    store.keep(profile)
    return profile


@pytest.mark.parametrize("name", [name for name in state.OTHERS if name != "pinned"])
def test_every_preset_of_a_measured_machine_can_be_looked_at(measured, name):
    at = opened.open_page(PAGE, rates="live", other=name)
    text = app.text(at)
    assert "measured on Some CPU, 4 threads" in text
    assert " of A: " in text or "A and B are the same" in text


def test_a_measured_machine_against_the_same_with_twice_the_bandwidth(measured):
    at = opened.open_page(PAGE, rates="live", other="bandwidth")
    twice = measured.hardware.replace(bandwidth=2 * measured.hardware.bandwidth)
    step = cm.price(cm.model("qwen3-0.6b"), twice, cm.Step.decode(1, 2048), rates=measured.rates)
    assert f"a decode step takes about {opened.plain(format.seconds(step.seconds))} instead" in app.text(at)


def test_what_was_measured_is_pinned_and_comes_back_from_a_link(measured):
    at = opened.open_page(PAGE, rates="live", batch=2)
    opened.press(at, "Pin as B")
    at.radio(key="rates").set_value("datasheet")
    opened.ran(at)
    again = opened.open_page(PAGE, **app.link(at))
    assert "B: Qwen3-0.6B · Some CPU" in app.text(again)
    assert "only the datasheet speaks of A" in app.text(again)


def test_one_is_not_said_in_the_plural():
    several = re.compile(r"(?<![\d,.])1 (?:token|sequence|GPU|cache|request)s\b(?! a second)")
    least = {"batch": 1, "context": 1, "prompt": 1, "count": "attention"}
    p = pair({**least, "tensor_parallel": "1"})
    texts = [picture.said("") for _, picture in drawings(p)] + [frames.memory_said(p)]
    texts += [mark.said for _, picture in drawings(p) for mark in picture.marks]
    views = ({}, {"compare_view": "league"}, {"compare_view": "map", "map_x": "prompt", "map_y": "context"})
    texts += [app.text(opened.open_page(PAGE, **least, **view, map_value="token")) for view in views]
    assert not [found[0] for text in texts for found in [several.search(opened.plain(text))] if found]


# ---- the page ------------------------------------------------------------------------------------------------


def test_the_page_opens_with_a_comparison():
    at = opened.open_page(PAGE, batch=8)
    assert "On H200 SXM (B), a decode step takes 248 µs instead of the 356 µs of A: 1.43× faster" in app.text(at)
    assert len(at.get("vega_lite_chart")) == 7
    assert not opened.notices(at)


@pytest.mark.parametrize("name", [name for name in state.OTHERS if name != "pinned"])
@pytest.mark.parametrize("rates", ["datasheet", "calibrated"])
def test_every_preset_can_be_looked_at(name, rates):
    at = opened.open_page(PAGE, other=name, rates=rates, count="attention", batch=4)
    assert "a decode step takes" in app.text(at)
    assert " of A: " in app.text(at)


def test_pin_change_and_compare():
    at = opened.open_page("roofline", model="llama-3.1-8b", batch=16)
    opened.press(at, "Pin as B")
    assert "B: Llama-3.1-8B · H100 SXM · bf16 · 1 GPU" in app.text(at)
    at.selectbox(key="hardware").set_value("h200-sxm")
    opened.ran(at)
    opened.go(at, PAGE)
    text = app.text(at)
    assert "As pinned (B), a decode step takes 4.48 ms instead of the 3.13 ms of A: 1.43× slower" in text
    assert "A waits for" not in text
    assert "bandwidth fell to 0.698×" in text
    assert app.link(at)["other"] == "pinned"
    again = opened.open_page(PAGE, **app.link(at))
    assert "As pinned (B), a decode step takes 4.48 ms instead of the 3.13 ms of A: 1.43× slower" in app.text(again)


def test_a_pin_against_itself_is_the_same():
    at = opened.open_page(PAGE, batch=16, model="llama-3.1-8b")
    opened.press(at, "Pin as B")
    assert "A and B are the same: a decode step takes both 4.48 ms." in app.text(at)


def test_change_places_and_back_and_unpin():
    at = opened.open_page(PAGE, other="bandwidth", batch=8)
    opened.press(at, "Change places")
    assert opened.value(at, "bandwidth_x") == 2
    assert "As pinned (B), a decode step takes 356 µs instead of the 178 µs of A: 2.00× slower" in app.text(at)
    opened.press(at, "Change places")
    assert opened.value(at, "bandwidth_x") == 1
    assert "a decode step takes 178 µs instead of the 356 µs of A" in app.text(at)
    opened.press(at, "Unpin")
    assert opened.value(at, "pinned") == ""
    assert opened.value(at, "other") == "hardware"
    assert "Unpin" not in [button.label for button in at.button]


@pytest.mark.parametrize("text", HOSTILE[:9], ids=range(9))
def test_a_link_with_a_hostile_pin_shows_the_page_and_one_sentence_about_it(text):
    at = opened.open_page(PAGE, pinned=text, other="pinned")
    about = [sentence for sentence in opened.notices(at) if sentence.startswith("In the link, ")]
    assert len(about) == 1
    assert "The default is used instead." in about[0]
    assert "<script>" not in app.markup(at)
    assert "On H200 SXM (B)" in app.text(at)


def test_a_model_of_ones_own_can_be_pinned():
    packed = codec.pack_model(CONFIG, name="Mine <b>")
    at = opened.open_page(PAGE, model="custom", model_config=packed, batch=4)
    opened.press(at, "Pin as B")
    at.selectbox(key="model").set_value("qwen3-0.6b")
    opened.ran(at)
    assert "B: Mine <b> · H100 SXM" in app.text(at)
    assert "<b> ·" not in app.markup(at)
    again = opened.open_page(PAGE, **app.link(at))
    assert "B: Mine <b> · H100 SXM" in app.text(again)


def test_a_pin_too_long_for_a_link_stays_in_the_session_and_says_so(monkeypatch):
    monkeypatch.setattr(codec, "LONGEST_TEXT", 50)
    at = opened.open_page(PAGE, batch=8)
    at.selectbox(key="hardware").set_value("mi300x")
    opened.ran(at)
    opened.press(at, "Pin as B")
    at.selectbox(key="hardware").set_value("h100-sxm")
    opened.ran(at)
    assert "On" not in app.text(at)[:2]
    assert any("too long for a link" in sentence for sentence in opened.notices(at))
    assert "pinned" not in app.link(at)
    assert "B: Qwen3-0.6B · MI300X" in app.text(at)


def test_a_custom_accelerator_and_a_model_that_does_not_fit():
    own = codec.pack_hardware(codec.custom_hardware("Toy", bandwidth=1e11, memory=8e9, peak={"fp16": 1e13}))
    pinned = state.pack_values({**DEFAULTS, "hardware": "custom", "accelerator": own, "model": "llama-3.1-70b"})
    at = opened.open_page(PAGE, model="llama-3.1-70b", pinned=pinned, other="pinned")
    text = app.text(at)
    assert "B: Llama-3.1-70B · Toy · fp16 · 1 GPU" in text
    assert "the weights of A alone are" in text
    refusals = [sentence for sentence in opened.notices(at) if "cannot serve these requests" in sentence]
    assert [sentence.split(". ")[1] for sentence in refusals] == [
        f"Llama-3.1-70B does not fit into {machine}: choose more GPUs or narrower weights, keep less free on the "
        "Memory page, or say how many KV blocks there are, under Workload, memory and knobs."
        for machine in ("H100 SXM", "Toy")
    ]


def test_one_side_that_cannot_serve_leaves_the_other():
    at = opened.open_page(PAGE, model="llama-3.1-70b", other="gpus", rate=5)
    assert sum("A cannot serve these requests" in sentence for sentence in opened.notices(at)) == 1
    assert "B alone: first token after" in app.text(at)


def test_a_side_that_turns_all_away_says_why():
    asked = {"prompt_kind": "fixed", "prompt_length": 2000, "model": "gpt2"}
    at = opened.open_page(PAGE, other="model", other_model="mamba-2.8b", **asked)
    assert opened.notices(at) == ["A serves none of these requests: above max_model_len 1,024."]
    assert "B alone: first token after" in app.text(at)
    assert len(opened.notices(opened.open_page(PAGE, **asked))) == 2


def test_a_memory_that_is_not_published_is_said_with_what_to_do():
    at = opened.open_page(PAGE, other_hardware="mi325x", requests=300)
    (sentence,) = opened.notices(at)
    assert sentence == (
        "B cannot serve these requests. How much memory of MI325X a program can use is not published: say how many KV "
        "blocks there are, under Workload, memory and knobs, or give it on the Memory page."
    )
    assert "200 requests, independent" in app.text(at)
    assert "the Scheduler page's, under Workload, memory and knobs there; their number is not." in app.text(at)


def test_both_are_counted_as_the_page_says():
    pinned = state.pack_values({**DEFAULTS, "count": "attention", "hardware": "h200-sxm"})
    at = opened.open_page(PAGE, pinned=pinned, other="pinned")
    assert "a decode step takes 248 µs instead of the 356 µs of A: 1.43× faster" in app.text(at)
