"""The Batching page without a browser: its numbers against ``cm.price``, its pictures, its words, its controls."""

from __future__ import annotations

import json
import math
import random
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import costmodel as cm
from costmodel import batching
from costmodel.model import Recurrent
from pages.batching import charts, charts_steps, frames, frames_steps, words, words_steps
from pages.batching.numbers import Arrival, Batching, Drafting
from pages.memory.numbers import Memory
from pages.parts import components, format, state
from pages.parts.datasets import row
from pages.parts.scenario import Scenario, what_if
from tests.pages import app, drawing, opened

PAGE = "batching"


def load(
    model="qwen3-0.6b",
    hardware="h100-sxm",
    *,
    batch=64,
    context=2048,
    count="weights",
    rates="datasheet",
    gpus=1,
    attention="tensor",
    **precision,
):
    hw = cm.hardware(hardware) if isinstance(hardware, str) else hardware
    scenario = Scenario(
        cm.model(model), hw, cm.Precision(**precision), tensor_parallel=gpus, rates=rates,
        source=rates,
    )  # fmt: skip
    memory = Memory(scenario, batch, context, attention_parallel=attention)
    return Batching(scenario, batch=batch, context=context, count=count, hourly=2.0, memory=memory)


def price(b, step, count=None, rates=None):
    """The cost model asked directly, as the page's scenario has it."""
    s = b.scenario
    return cm.price(
        s.model, s.hardware, step, s.precision, rates=rates or s.rates, count=count, tensor_parallel=s.tensor_parallel
    )


LOADS = {
    "as the post counts": load,
    "with caches": lambda: load(count="attention"),
    "alone over a long context": lambda: load(batch=1, context=100_000, count="attention"),
    "experts": lambda: load("qwen3-30b-a3b", batch=48, count="attention"),
    "experts, windows, GPUs, estimate": lambda: load("gpt-oss-120b", rates="calibrated", gpus=8, batch=200),
    "latents, estimate": lambda: load("deepseek-v3", "h200-sxm", rates="calibrated", batch=16),
    "states": lambda: load("mamba-2.8b", count="attention"),
    "does not fit": lambda: load("llama-3.1-70b", batch=3),
    "memory not known": lambda: load(hardware="b100"),
    "no bf16": lambda: load("llama-3.2-1b", "t4", batch=8, count="attention"),
    "compute-bound": lambda: load("llama-3.1-8b", batch=600, context=16),
    "a mixture alone": lambda: load("mixtral-8x7b", "h200-sxm", batch=1),
    "more than T*": lambda: load("gemma-3-27b", gpus=8, batch=1024),
    "two peaks": lambda: load("deepseek-v3", context=8192, count="attention", kv="fp8", compute="fp8"),
    "states and caches": lambda: load("qwen3-next-80b-a3b", batch=7, count="attention"),
    "whole caches on each GPU": lambda: load("qwen3-235b-a22b", "h200-sxm", gpus=8, attention="data", context=4096),
}
every_load = pytest.mark.parametrize("b", [pytest.param(make(), id=name) for name, make in LOADS.items()])


def own_count(b):
    return None if b.estimates else b.count


# ---- numbers -------------------------------------------------------------------------------------------------


@every_load
def test_the_figures_of_the_page_are_those_of_the_cost_model(b):
    step, alone = (price(b, cm.Step.decode(n, b.context), own_count(b)) for n in (b.batch, 1))
    gpus = b.scenario.tensor_parallel
    assert b.latency == pytest.approx(step.seconds)
    assert b.cost == pytest.approx(step.seconds / b.batch)
    assert b.slower == pytest.approx(step.seconds / alone.seconds)
    assert b.cheaper == pytest.approx(alone.seconds * b.batch / step.seconds)
    assert b.million == pytest.approx(2.0 * gpus / 3600 * step.seconds / b.batch * 1e6)
    assert b.bills.total * b.batch == pytest.approx(
        price(b, cm.Step.decode(b.batch, b.context), "attention", "datasheet").bytes
    )
    counted = price(b, cm.Step.decode(b.batch, b.context), "attention", "datasheet")
    assert b.intensity == pytest.approx(counted.flops / counted.bytes)
    assert b.ridge == cm.ridge(b.scenario.hardware, b.scenario.formats.compute)


@every_load
def test_memory_ends_where_the_cost_model_says(b):
    s = b.scenario
    if s.hardware.memory is None:
        assert b.most is None
        return
    attention = b.memory.attention_parallel
    fit = cm.memory(
        s.model, s.hardware, context=b.context, tensor_parallel=s.tensor_parallel, attention_parallel=attention
    )
    assert b.most == fit.max_batch


def test_the_page_agrees_with_the_memory_page_on_how_the_engine_allocates():
    tight = load()
    allocated = Memory(tight.scenario, 64, 2048, utilization=0.5, reserve_bytes=4e9)
    b = Batching(tight.scenario, 64, 2048, "weights", 2.0, allocated)
    assert b.most == allocated.fit.max_batch < tight.most


def test_the_what_if_of_the_sidebar_moves_the_numbers():
    b = load(count="attention")
    hw = b.scenario.hardware
    faster = Scenario(b.scenario.model, hw.replace(bandwidth=2 * hw.bandwidth), cm.Precision(), bandwidth_x=2.0)
    twice = Batching(faster, 64, 2048, "attention", 2.0, Memory(faster, 64, 2048))
    assert twice.latency == pytest.approx(b.latency / 2)


# ---- pictures: every point is a price ------------------------------------------------------------------------


def columns(table, **where):
    """Columns of the rows that have these values, as arrays."""
    kept = [r for r in table.to_pylist() if all(r[name] == value for name, value in where.items())]
    return {name: np.array([r[name] for r in kept]) for name in table.column_names}


@every_load
def test_latency_and_cost_against_the_batch(b):
    data = frames.tradeoff(b)
    latency, cost = (columns(data["curve"], curve=name) for name in ("latency", "cost"))
    swept = price(b, cm.Step.decode(latency["batch"], b.context), own_count(b))
    assert latency["seconds"] == pytest.approx(swept.seconds)
    assert latency["low"] == pytest.approx(swept.low)
    assert latency["high"] == pytest.approx(swept.high)
    swept = price(b, cm.Step.decode(cost["batch"], b.context), own_count(b))
    assert cost["seconds"] == pytest.approx(swept.seconds / cost["batch"])
    mark = data["marks"].to_pylist()[0]
    assert mark["latency"] == pytest.approx(price(b, cm.Step.decode(b.batch, b.context), own_count(b)).seconds)
    assert mark["cost"] == pytest.approx(mark["latency"] / b.batch)


@every_load
def test_a_curve_is_coloured_by_what_the_step_waits_for(b):
    latency = columns(frames.tradeoff(b)["curve"], curve="latency")
    for segment in np.unique(latency["segment"]):
        rows = latency["segment"] == segment
        bounds = price(b, cm.Step.decode(latency["batch"][rows], b.context), own_count(b)).bound
        assert set(bounds[:-1]) <= set(latency["meaning"][rows])


@every_load
def test_the_curve_beside_is_the_other_count_or_the_floor(b):
    beside = columns(frames.tradeoff(b)["curve"], curve="beside")
    count = "attention" if b.estimates or b.count == "weights" else "weights"
    floor = price(b, cm.Step.decode(beside["batch"], b.context), count, "datasheet")
    assert beside["seconds"] == pytest.approx(floor.seconds)


def test_the_flat_stretch_of_the_post_ends_at_295():
    flat = frames.tradeoff(load())["flat"].to_pylist()[0]
    assert flat["end"] == pytest.approx(295.3, abs=0.1)
    assert flat["seconds"] == pytest.approx(355.8e-6, rel=1e-3)


def test_where_nothing_is_flat_nothing_is_shaded():
    assert frames.tradeoff(load(context=131_072, count="attention"))["flat"].num_rows == 0


@every_load
def test_speed_and_price(b):
    for dataset in ("curve", "dots"):
        offers = columns(frames.market(b)[dataset])
        own = offers["curve"] != "floor" if dataset == "curve" else np.ones(len(offers["batch"]), dtype=bool)
        batches = offers["batch"][own].astype(float)
        seconds = price(b, cm.Step.decode(batches, b.context), own_count(b)).seconds
        assert offers["speed"][own] == pytest.approx(1 / seconds)
        per_token = seconds / batches * 2.0 * b.scenario.tensor_parallel / 3600
        assert offers["price"][own] == pytest.approx(per_token * 1e6)


def test_the_curve_of_speed_and_price_is_dashed_beyond_memory():
    b = load()
    data = frames.market(b)["curve"]
    assert max(columns(data, curve="within")["batch"]) == min(columns(data, curve="beyond")["batch"]) == b.most


@every_load
def test_the_two_bills_add_up_to_the_bytes_of_the_step(b):
    by_batch, by_context = columns(frames.bills_by_batch(b)["curve"]), columns(frames.bills_by_context(b)["curve"])
    swept = price(b, cm.Step.decode(by_batch["at"], b.context), "attention", "datasheet")
    assert by_batch["total"] == pytest.approx(swept.bytes / by_batch["at"])
    swept = price(b, cm.Step.decode(b.batch, by_context["at"]), "attention", "datasheet")
    assert by_context["total"] == pytest.approx(swept.bytes / b.batch)
    for curve in (by_batch, by_context):
        assert curve["total"] == pytest.approx(curve["weights"] + curve["caches"])


@every_load
def test_where_the_bills_are_even_they_are_equal(b):
    for data, bills in (
        (frames.bills_by_batch(b), lambda at: batching.bills(b.floor, at, b.context)),
        (frames.bills_by_context(b), lambda at: batching.bills(b.floor, b.batch, at)),
    ):
        for even in data["even"].to_pylist():
            both = bills(even["at"])
            assert both.weights == pytest.approx(both.caches, rel=1e-6)
            assert even["half"] == pytest.approx(both.weights, rel=1e-6)


@every_load
def test_intensity_for_several_contexts(b):
    data = frames.intensity(b)
    assert b.context in b.contexts
    for context in b.contexts:
        curve = columns(data["curve"], own=True) if context == b.context else None
        if curve is not None:
            swept = price(b, cm.Step.decode(curve["batch"], context), "attention", "datasheet")
            assert curve["intensity"] == pytest.approx(swept.flops / swept.bytes)
    s = b.scenario
    for end in data["ends"].to_pylist():
        context = float(end["text"].split(" cached")[0].replace(",", ""))
        crossing = cm.crossing(s.model, s.hardware, context, "attention", "decode", s.precision, s.tensor_parallel)
        assert ("never crosses" in end["text"]) == (crossing is None)
        if crossing is not None and crossing < b.right:
            assert end["at"] == pytest.approx(crossing)


def test_experts_and_their_bytes():
    b = load("qwen3-30b-a3b", batch=48)
    data = frames.experts(b)
    curve, frame = columns(data["curve"]), data["frame"].to_pylist()[0]
    weights = price(b, cm.Step.decode(curve["batch"], b.context), "weights").bytes
    assert curve["bytes"] == pytest.approx(weights)
    hit = batching.experts_hit(b.experts, curve["batch"])
    assert curve["expected"] == pytest.approx(hit.expected)
    assert np.all(
        (curve["least"] <= curve["expected"] * (1 + 1e-12)) & (curve["expected"] <= curve["most"] * (1 + 1e-12))
    )
    axis = np.interp(curve["expected"], [frame["bottom"], frame["top"]], [frame["bytes_bottom"], frame["bytes_top"]])
    assert axis == pytest.approx(weights, rel=1e-6)  # the right axis says the bytes of the same line


@every_load
def test_three_ways_of_sharing_steps(b):
    a = Arrival(b, prompt=500, chunk=128)
    step = {
        "prefill": price(b, cm.Step.prefill(500), own_count(b)).seconds,
        "decode": b.latency,
        "mixed": price(b, cm.Step.mixed(500, 0, b.batch, b.context), own_count(b)).seconds,
    }
    waits = {name: way.longest_wait for name, way in a.ways.items()}
    assert waits["apart"] == pytest.approx(step["prefill"] + step["decode"])
    assert waits["together"] == pytest.approx(step["mixed"])
    last = price(b, cm.Step.mixed(116, 384, b.batch, b.context + 3), own_count(b)).seconds
    assert a.ways["chunked"].seconds[-1] == pytest.approx(last)
    drawn = frames_steps.ways(a)
    for lane, wait in enumerate(waits.values()):
        bracket = drawn["waits"].to_pylist()[lane]
        assert bracket["end"] - bracket["start"] == pytest.approx(wait)
        bars = columns(drawn["bars"], lane=lane)
        assert bars["prompt"].sum() == 500
        assert bars["start"][1:] == pytest.approx(bars["end"][:-1])


def test_a_long_prompt_in_small_chunks_is_drawn_as_one_bar():
    drawn = frames_steps.ways(Arrival(load(), prompt=131_072, chunk=1))
    assert drawn["bars"].num_rows < 100
    assert columns(drawn["bars"], lane=2)["prompt"].sum() == 131_072


@every_load
def test_the_chunk_that_is_computed_for_free(b):
    a = Arrival(b, prompt=500, chunk=128)
    data = frames_steps.chunk(a)
    for curve, count in (("floor", "attention"), ("weights", "weights")):
        rows = columns(data["curve"], curve=curve)
        steps = cm.Step.mixed(rows["chunk"], 0, b.batch, b.context, chunk_logits=0)
        assert rows["seconds"] == pytest.approx(price(b, steps, count, "datasheet").seconds)
    for room, count in ((a.room, "attention"), (a.room_of_weights, "weights")):
        if 1 < room < 1e6:
            inside, beyond = (
                price(b, cm.Step.mixed(room * f, 0, b.batch, b.context, chunk_logits=0), count, "datasheet").bound
                for f in (0.999, 1.001)
            )
            assert (inside, beyond) == ("memory", "compute")
    if b.estimates:
        estimate = columns(data["curve"], curve="estimate")
        steps = cm.Step.mixed(estimate["chunk"], 0, b.batch, b.context, chunk_logits=0)
        assert estimate["seconds"] == pytest.approx(price(b, steps).seconds)


@every_load
def test_break_even_acceptance(b):
    d = Drafting(b, drafts=3, draft_cost=0.1)
    curve = columns(frames_steps.drafts(d)["curve"], curve="own")
    plain, verify = (price(b, cm.Step.decode(curve["batch"], b.context, k), own_count(b)).seconds for k in (1, 4))
    costs = verify / plain + 0.3
    for cost, acceptance in zip(costs, curve["acceptance"], strict=True):
        if acceptance is None:
            assert cost > 4
        else:
            yields = sum(acceptance**i for i in range(4))
            assert yields == pytest.approx(cost) if acceptance > 0 else cost <= 1
    assert d.tokens == 4 * b.batch
    assert d.verify.seconds == pytest.approx(price(b, cm.Step.decode(b.batch, b.context, 4), own_count(b)).seconds)


# ---- pictures: labels keep apart, at every setting -----------------------------------------------------------


def pictures(b, a, d):
    yield charts.tradeoff_spec(), frames.tradeoff(b)
    yield charts.market_spec(), frames.market(b)
    yield charts.bills_by_batch_spec(), frames.bills_by_batch(b)
    yield charts.bills_by_context_spec(), frames.bills_by_context(b)
    yield charts.intensity_spec(), frames.intensity(b)
    if b.experts is not None:
        yield charts.experts_spec(), frames.experts(b)
    yield charts_steps.ways_spec(), frames_steps.ways(a)
    yield charts_steps.chunk_spec(), frames_steps.chunk(a)
    yield charts_steps.drafts_spec(), frames_steps.drafts(d)


def drawn(spec, data, width):
    said = {**data, "message": row(message="what it shows")}
    return drawing.svg(spec, {name: table.to_pandas() for name, table in said.items()}, width=width)


@pytest.mark.parametrize("width", [850, 300])
@every_load
def test_labels_never_meet(b, width):
    rng = random.Random(b.batch)
    a = Arrival(b, prompt=rng.choice([1, 500, 20_000]), chunk=rng.choice([1, 128, 4096]))
    d = Drafting(b, drafts=rng.choice([1, 3, 15]), draft_cost=rng.choice([0.0, 0.3]))
    for spec, data in pictures(b, a, d):
        picture = drawn(spec, data, width)
        assert not drawing.collisions(picture), spec["description"]
        assert drawing.labels(picture)


@pytest.mark.parametrize("batch", [1, 2, 10, 30, 100, 295, 322, 1024])
def test_labels_of_the_first_picture_never_meet_as_the_slider_moves(batch):
    for count in ("weights", "attention"):
        b = load(batch=batch, count=count)
        for width in (850, 300):
            assert not drawing.collisions(drawn(charts.tradeoff_spec(), frames.tradeoff(b), width))


# ---- words ---------------------------------------------------------------------------------------------------


def said(text):
    return opened.plain(components.plain(text))


def test_the_headline_says_what_company_brings():
    assert said(words.headline(load())) == (
        "64 sequences share each step. Each waits 356 µs for its token, no longer than alone, and a token costs "
        "5.56 µs of the machine, 64.0× less than alone."
    )
    assert said(words.headline(load(batch=1))) == (
        "Alone, a sequence waits 356 µs for each token and pays for the whole step. Up to 295 can share it before each "
        "further one is one to wait for."
    )
    assert "11.4× as long as alone" in said(words.headline(load(batch=64, count="attention")))
    assert "little is shared" in said(words.headline(load(batch=1, context=131_072, count="attention")))
    assert "bring experts of their own" in said(words.headline(load("qwen3-30b-a3b", batch=1)))


def test_an_estimate_is_called_one_and_has_a_band():
    b = load(rates="calibrated")
    low, high = (words.seconds(value) for value in (b.step.low, b.step.high))
    assert "waits about " in said(words.headline(b))
    assert f"an estimate: about {words.seconds(b.latency)}, between {low} and {high}".replace("\u00a0", " ") in said(
        words.below_picture(b)
    )
    assert "Estimates." in said(words_steps.ways_note(Arrival(b, 500, 128)))


def test_what_does_not_fit_is_one_sentence_about_what_to_change():
    assert said(words.trouble(load("llama-3.1-70b", batch=1))).startswith(
        "Llama-3.1-70B does not fit into H100 SXM: its weights take 131 GiB, and 71.7 GiB may be used. Choose more GPUs"
    )
    assert said(words.trouble(load(batch=500))).startswith(
        "500 sequences of 2,048 tokens do not fit into H100 SXM: memory ends at 322. Choose fewer"
    )
    assert words.trouble(load()) == ""


def test_what_is_not_known_is_said():
    b = load(hardware="b100")
    assert words.trouble(b) == ""
    assert "How many fit is not known" in said(words.below_picture(b))
    assert frames.wall(b).num_rows == 0
    assert all(line.name != "memory ends" for line in words.arithmetic(b))


def test_a_model_without_a_growing_cache_is_never_even_in_context():
    b = load("mamba-2.8b", count="attention", batch=1)
    assert b.even_context is None
    assert "never pays as much" in said(words.bills_note(b))
    assert "Even: never" in said(words.bills_by_context_alt(b))


def test_a_cache_that_outweighs_its_share_from_the_start():
    b = load("mamba-2.8b", count="attention", batch=1024)
    assert b.even_context == 1
    assert "at any context" in said(words.bills_note(b)) or "always" in said(words.bills_note(b))


@every_load
def test_the_worked_numbers_are_the_pages_own(b):
    assert str(words.gigabytes(b.bills.weights)) in words.bills_sum(b)
    assert words.significant(b.intensity) in words.intensity_sum(b)
    assert str(format.per_second(b.batch / b.latency)) in words.market_sum(b)
    a = Arrival(b, prompt=500, chunk=128)
    for way in a.ways.values():
        assert str(words.seconds(way.longest_wait)) in words_steps.ways_sum(a)


@every_load
def test_a_step_is_said_to_be_compute_bound_from_where_both_sides_are_even(b):
    """That is the ridge where all arithmetic is in one format, and the crossing has the intensity that is said."""
    sides = b.counted_step.memory_seconds / b.counted_step.compute_seconds
    assert b.balance == pytest.approx(b.intensity * sides)
    assert b.two_peaks == (b.scenario.formats.compute != b.scenario.formats.wide)
    assert said(format.count(b.balance if b.two_peaks else b.ridge)) in said(words.intensity(b)).split(". ")[-1]
    crosses = said(words.intensity_lines(b)[-1].result)
    crossing = b.crossing(b.context)
    if crossing is None:
        assert crosses == "never"
    else:
        there = price(b, cm.Step.decode(crossing, b.context), "attention", "datasheet")
        assert there.memory_seconds == pytest.approx(there.compute_seconds)
        assert crosses == f"B = {format.count(crossing)}, at {format.significant(there.intensity)} FLOP a byte"


def test_with_two_peaks_the_ridge_is_not_where_a_step_turns():
    b = load("deepseek-v3", context=8192, kv="fp8", compute="fp8")
    assert "from the ridge of 591 on; some of it is in bf16" in said(words.intensity(b))
    assert said(words.intensity_lines(b)[-1].result) == "B = 2,159, at 355 FLOP a byte"
    own = frames.intensity(b)["own"].to_pylist()[0]
    assert own["ridge_text"] == "ridge in fp8, 591 FLOP a byte: some of the arithmetic is in bf16"


@every_load
def test_where_memory_ends_evaluates_to_the_sequences_that_fit(b):
    if b.fit is None:
        return
    (line,) = (line for line in words.arithmetic(b) if line.name == "memory ends")
    gpus = int(re.search(r", × (\d+) GPUs|$", said(line.expression))[1] or 1)
    whole = int(max(0.0, b.fit.kv_pool_bytes) / b.fit.sequence_bytes)
    assert said(line.result) == f"B = {gpus * whole:,}"
    assert ("whole caches of its own sequences" in said(words.below_picture(b))) == (gpus > 1)
    assert ("the heads divided over them" in said(words.bills(b))) == (gpus > 1)


@every_load
def test_what_a_sequence_brings_of_its_own_is_called_what_it_is(b):
    layers = [layer.mixer for layer, _ in b.scenario.model.distinct_layers]
    states = any(isinstance(mixer, Recurrent) for mixer in layers)
    caches = any(mixer.kv_values_per_token for mixer in layers if mixer)
    texts = [*words.bills_lines(b), words.bills(b), words.bills_sum(b), words.bills_note(b), words.history(b).text]
    told = " ".join(said([t.name, " ", t.expression] if isinstance(t, components.Line) else t) for t in texts)
    assert bool(re.search(r"\bstates?\b", told)) == states
    assert bool(re.search(r"\bcaches?\b", told)) == caches
    assert set(columns(frames.bills_by_batch(b)["curve"])["kept"]) == {f"its own {b.kept}"}
    if states:
        state = 2 * b.scenario.model.state_bytes / b.scenario.tensor_parallel
        per_token = b.floor(cm.Step.decode(1, b.context)).kv_bytes
        assert state == pytest.approx(per_token) if not caches else state < per_token
        assert f"2 × {said(format.gigabytes(state / 2))} of state, read and written" in told


@every_load
def test_the_weights_of_a_mixture_are_not_said_to_be_read_once_for_all(b):
    told = " ".join(said(line.expression) for line in words.arithmetic(b)) + said(words.bills(b))
    assert ("read once" in told) == (b.experts is None)
    assert ("of weights, with the experts of" in told) == (b.experts is not None and not b.estimates)


ALL_ONE = {"batch": 1, "context": 1, "prompt": 1, "prefill_chunk": 1, "drafts": 1}


@pytest.mark.parametrize(
    "query", [{}, {"count": "attention"}, {"model": "mixtral-8x7b", "tensor_parallel": 8, "rates": "calibrated"}]
)
def test_one_is_not_several(query):
    at = opened.open_page(PAGE, **ALL_ONE, **query)
    drawn = [opened.alt(at, number) for number in range(len(at.get("vega_lite_chart")))]
    several = re.findall(
        r"(?<!\+ )\b1 (?:cached )?(?:tokens|ones|steps|sequences|experts|GPUs)\b", app.text(at) + str(drawn)
    )
    assert not several


def test_one_sequence_does_not_fit():
    long = load("llama-3.1-8b", batch=1, context=1_000_000)
    assert said(words.trouble(long)).startswith("1 sequence of 1,000,000 tokens does not fit into H100 SXM: ")


def test_one_sequence_agrees_with_nobody():
    assert (
        said(words.experts_lines(load("mixtral-8x7b", "h200-sxm", batch=1))[0].expression) == "those of its one token"
    )


@pytest.mark.parametrize("name", cm.model())
@pytest.mark.parametrize("count", ["weights", "attention"])
def test_the_flat_stretch_ends_where_its_reason_says(name, count):
    b = load(name, count=count)
    (line,) = (line for line in words.arithmetic(b) if line.name == "flat up to")
    end, twice, half = price(b, cm.Step.decode(np.array([1, 2, 0.5]) * b.stretch.end, b.context), count).seconds, 1, 2
    step = price(b, cm.Step.decode(b.stretch.end, b.context), count)
    holds = {
        "arithmetic takes as long": lambda: step.compute_seconds == pytest.approx(step.memory_seconds, rel=5e-3),
        "are as many as": lambda: step.kv_bytes == pytest.approx(step.weight_bytes, rel=5e-3),
        "twice as long as half": lambda: end[twice] == pytest.approx(2 * end[half]),
    }
    (claimed,) = (claim for claim in holds if claim in said(line.expression))
    assert holds[claimed]()


NOTHING_FLAT = {
    "arithmetic alone": (
        load("qwen3-8b", what_if(cm.hardware("epyc-9654"), 4, 0.25, 1), batch=1, context=128, weights="int4"),
        "already alone a sequence waits for the arithmetic, and each further one brings as much",
    ),
    "experts and caches": (
        load("minimax-m2.5", "m3-ultra", gpus=2, context=32_768, count="attention"),
        "the second sequence brings 3.40 GB of experts beside 4.16 GB of its own cache, where the first has 9.75 GB",
    ),
    "caches": (
        load(batch=1, context=131_072, count="attention"),
        "already for the second sequence the caches cost more than the weights",
    ),
}


@pytest.mark.parametrize(("b", "cause"), NOTHING_FLAT.values(), ids=NOTHING_FLAT)
def test_where_nothing_is_flat_the_cause_holds(b, cause):
    assert b.stretch is None
    one, two = (price(b, cm.Step.decode(number, b.context), b.count) for number in (1, 2))
    assert f"Nothing is flat here: {cause}" in said(words.below_picture(b))
    assert ("alone a sequence" in cause) == (one.bound == "compute")
    assert ("the caches cost more" in cause) == (two.bound == "memory" and two.kv_bytes >= two.weight_bytes)
    assert ("cached token" in said(words.headline(replace(b, batch=1)))) == (b.count == "attention")


def test_a_crossing_below_one_sequence_is_not_written_as_one():
    b, _ = NOTHING_FLAT["arithmetic alone"]
    assert said(words.intensity_lines(b)[-1].result) == "from the first sequence on"
    assert "128 cached: compute-bound from the first sequence on" in words.intensity_alt(b)


@pytest.mark.parametrize("b", [*(make() for make in LOADS.values()), load("gpt2", batch=1024, context=100)])
def test_the_share_of_the_weights_evaluates(b):
    """The numerator is what is divided: in small models the embedding's rows show beside the matrices."""
    read = b.bills.weights * b.batch
    assert str(format.gigabytes(read)) in words.bills_sum(b)
    assert said(format.gigabytes(read)) in said(words.bills_lines(b)[0].expression)


@every_load
def test_every_line_of_arithmetic_has_a_result(b):
    a, d = Arrival(b, 500, 128), Drafting(b, 3, 0.05)
    lines = [*words.arithmetic(b), *words.market_lines(b), *words.bills_lines(b), *words.intensity_lines(b)]
    lines += [*words_steps.ways_lines(a), *words_steps.free_lines(a), *words_steps.drafting_lines(d)]
    lines += words.experts_lines(b) if b.experts is not None else []
    for line in lines:
        assert said(line.expression)
        assert said(line.result)
        assert "nan" not in said(line.result)


@every_load
def test_what_the_chunk_that_is_computed_for_free_makes_longer(b):
    """Sentence and lines say the largest chunk in whole tokens, and the floor of the step with it and without."""
    a = Arrival(b, prompt=500, chunk=128)
    text, lines = said(words_steps.free_sum(a)), {line.name: line for line in words_steps.free_lines(a)}
    for room, count, name in (
        (a.room_of_weights, "weights", "counting weights"),
        (a.room, "attention", "with the caches"),
    ):
        most = "any number of tokens" if math.isinf(room) else said(format.tokens(math.floor(room)))
        assert most in text
        assert said(lines[name].result) == most
        if math.isfinite(room):
            chunks = np.array([max(1, math.floor(room)), math.floor(room) + 1])
            bounds = price(b, cm.Step.mixed(chunks, 0, b.batch, b.context, chunk_logits=0), count, "datasheet").bound
            assert bounds.tolist() == (["memory"] if room >= 1 else ["compute"]) + ["compute"]
    if 1 <= a.room < math.inf:
        steps = (cm.Step.decode(b.batch, b.context), cm.Step.mixed(math.floor(a.room), 0, b.batch, b.context, 0))
        without, longer = (price(b, step, "attention", "datasheet").seconds for step in steps)
        assert (
            f"in a step of {words.seconds(longer)} instead of {words.seconds(without)}".replace("\u00a0", " ") in text
        )
        assert said(lines["so much longer"].result) == format.times(longer / without)


@every_load
def test_what_is_left_of_the_crossing_evaluates_to_whole_tokens(b):
    a = Arrival(b, prompt=500, chunk=128)
    line = words_steps.free_lines(a)[0]
    crossing, batch, whole = re.fullmatch(r"T\* − B = ([\d,.]+) − ([\d,]+), (.+)", said(line.expression)).groups()
    left = float(crossing.replace(",", "")) - int(batch.replace(",", ""))
    assert whole == ("in whole ones" if left >= 1 else "less than one")
    assert said(line.result) == said(format.tokens(max(0, math.floor(left))))


def test_a_mixture_is_not_said_to_carry_a_prompt_or_drafts_for_free():
    b = load("mixtral-8x7b", "h200-sxm", batch=1)
    a, d = Arrival(b, 500, 128), Drafting(b, drafts=3, draft_cost=0.0)
    assert "756 tokens with the caches, in a step of 19.5 ms instead of 5.37 ms" in said(words_steps.free_sum(a))
    assert "experts that they are sent to" in said(words_steps.free_rule(a))
    assert "25.5 GB" in said(words_steps.free_lines(a)[-1].expression)
    assert "each brings experts of its own" in said(words_steps.drafting(d))
    assert "nobody" not in words_steps.largest_chunk(a).text


def test_where_one_token_is_too_many_the_question_is_what_it_costs():
    a = Arrival(load("llama-3.1-8b", batch=600, context=16), 500, 128)
    assert a.room == 0
    assert "no arithmetic to give away" in words_steps.largest_chunk(a).text


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (1.0, "no more than a plain step"),
        (1.00002, "hardly more than a plain step"),
        (1.5, "1.50 plain steps"),
    ],
)
def test_what_drafting_costs(steps, expected):
    assert words_steps._plain_steps(steps) == expected


@pytest.mark.parametrize(("batch", "drafts", "draft_cost"), [(1024, 3, 0.5), (512, 3, 0.0), (300, 1, 0.0)])
def test_when_drafting_never_pays_the_page_says_so(batch, drafts, draft_cost):
    """Also where all accepted would make up for what it costs, and no more."""
    d = Drafting(load(batch=batch), drafts=drafts, draft_cost=draft_cost)
    assert not d.needed < 1
    assert said(words_steps.drafting_sum(d)).endswith("at most: it never pays here")
    assert said(words_steps.drafting_lines(d)[-1].result) == f"{drafts + 1}: never more than it costs"
    own = frames_steps.drafts(d)["own"].to_pylist()[0]
    assert own["acceptance"] == 1.0
    assert own["text"].endswith("it never pays")


def test_a_break_even_that_hardly_differs_from_nothing_is_one():
    d = Drafting(load("gemma-3-27b", gpus=8, batch=1024, context=1_048_576, count="attention"), 3, 0.0)
    assert said(words_steps.drafting_sum(d)) == (
        "drafting costs hardly more than a plain step: it breaks even with 0.002 % of the drafts accepted, and pays "
        "with more"
    )


@pytest.mark.parametrize(
    ("prompt", "count", "said_of_it"),
    [(500, "weights", "no bounds"), (100, "weights", "Floors."), (500, "attention", "Floors.")],
)
def test_a_prompt_is_called_a_floor_where_it_is_one(prompt, count, said_of_it):
    b = load(count=count)
    a = Arrival(b, prompt, chunk=128)
    ways = (batching.apart, batching.together, partial(batching.chunked, chunk=128))
    bounds = [way(b.floor, prompt, b.batch, b.context).seconds for way in ways]
    holds = all(np.all(way.seconds <= bound) for way, bound in zip(a.ways.values(), bounds, strict=True))
    assert holds == (said_of_it == "Floors.")
    assert said_of_it in said(words_steps.ways_note(a))


# ---- the page ------------------------------------------------------------------------------------------------


def test_the_page_opens_with_the_posts_numbers():
    at = opened.open_page(PAGE)
    text = app.text(at)
    for number in ("356 µs", "Up to 295 can share it", "2,810 tokens/s", "$0.198"):
        assert number in text
    assert len(at.get("vega_lite_chart")) == 8
    assert app.figures(at)["a million tokens"] == "$0.198"


def test_the_sections_come_in_order_and_end_with_questions():
    text = app.text(opened.open_page(PAGE, model="qwen3-30b-a3b"))
    order = [words.MARKET, words.BILLS, words.INTENSITY, words.EXPERTS, words_steps.WAYS, words_steps.FREE]
    order += [words_steps.DRAFTS, "Try it"]
    places = [text.index(title) for title in order]
    assert places == sorted(places)


def test_a_dense_model_has_no_section_of_experts():
    assert words.EXPERTS not in app.text(opened.open_page(PAGE))


def test_a_link_restores_the_page():
    at = opened.open_page(
        PAGE, batch=48, context=777, count="attention", hourly=3.5, drafts=5, prefill_chunk=300, prompt=900
    )
    expected = load(batch=48, context=777, count="attention")
    assert opened.plain(words.seconds(expected.latency)) in app.text(at)
    assert "900 tokens and 48 sequences" in app.text(at)
    assert "guesses 5 tokens ahead" in app.text(at)
    assert opened.plain(format.dollars(expected.million * 1.75)) in app.text(at)


def test_moving_the_slider_moves_the_marks_and_leaves_the_spec_alone():
    at = opened.open_page(PAGE, batch=16)
    specs = [chart.proto.spec for chart in at.get("vega_lite_chart")]
    at.select_slider(key="batch").set_value(64)
    opened.ran(at)
    assert [chart.proto.spec for chart in at.get("vega_lite_chart")] == specs  # the browser keeps its views
    assert all(not chart.proto.alt for chart in at.get("vega_lite_chart"))  # an alt text would be part of the spec
    mark = opened.dataset(at, 0, "marks").to_pylist()[0]
    assert mark["batch"] == 64
    assert mark["latency"] == pytest.approx(load(batch=64).latency)


def test_each_chart_says_its_message_with_its_figures():
    at = opened.open_page(PAGE, batch=64)
    for number, chart in enumerate(at.get("vega_lite_chart")):
        assert json.loads(chart.proto.spec)["description"]
        message = opened.alt(at, number)
        assert any(character.isdigit() for character in message)
        assert message.endswith(".")
    message = opened.alt(at)
    assert "at B = 64 a token takes 356 µs and costs 5.56 µs; the latency is flat up to 295 sequences" in message


def test_the_estimate_takes_over_where_the_sidebar_says_so():
    at = opened.open_page(PAGE, batch=64, rates="calibrated")
    b = load(batch=64, rates="calibrated")
    assert f"about {opened.plain(words.seconds(b.latency))}" in app.text(at)
    assert "an estimate" in app.text(at)
    assert not at.toggle  # an estimate always counts the caches
    band = columns(opened.dataset(at, 0, "curve"), curve="latency")
    assert np.all(band["low"] < band["seconds"])


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("model", ["qwen3-0.6b", "qwen3-30b-a3b"])
def test_the_answer_of_a_question_sets_the_controls(model, number):
    at = opened.open_page(PAGE, model=model, batch=8)
    b = load(model, batch=8)
    asked = [words.company(b), words.history(b), words_steps.largest_chunk(Arrival(b, 500, 128))][number]
    opened.press(at, opened.plain(asked.answer))
    for key, value in asked.controls.items():
        assert opened.value(at, key) == value


def test_answers_stay_within_the_sliders():
    for make in LOADS.values():
        b = make()
        for question in (words.company(b), words.history(b), words_steps.largest_chunk(Arrival(b, 500, 128))):
            for key, value in question.controls.items():
                control = state.CONTROLS[key]
                assert control.parse(control.write(value)) == value


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"model": "llama-3.1-70b"}, "Llama-3.1-70B does not fit into H100 SXM"),
        ({"batch": 500}, "500 sequences of 2,048 tokens do not fit into H100 SXM"),
        ({"hardware": "b100"}, "How many fit is not known"),
        ({"hardware": "t4", "model": "llama-3.2-1b"}, "fp16"),
        (
            {"model": "mamba-2.8b", "batch": 1},
            "never pays as much for its state as for its share of the weights: it does not grow",
        ),
        ({"tensor_parallel": 64}, "The heads of Qwen3-0.6B do not divide over 64 GPUs, so one is used instead."),
        ({"batch": "many"}, "batch"),
        ({"context": 0}, "context"),
    ],
)
def test_edges_are_one_sentence_and_no_traceback(query, sentence):
    at = opened.open_page(PAGE, **query)
    everything = app.text(at) + " ".join(opened.notices(at))
    assert sentence in everything
