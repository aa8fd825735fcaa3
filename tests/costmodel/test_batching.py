"""Figures of batching: each against prices of the steps it is made of, for every model on many machines."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import costmodel as cm
from costmodel import batching
from costmodel.model import Attention, Experts, Layer, Mlp, Recurrent

QWEN, LLAMA, H100 = cm.model("qwen3-0.6b"), cm.model("llama-3.1-8b"), cm.hardware("h100-sxm")
MIXTURES = [name for name in cm.model() if batching.mixture(cm.model(name))]
DENSE = [name for name in cm.model() if name not in MIXTURES]
PRICEABLE = [name for name in cm.hardware() if {"bf16", "fp16"} & set(cm.hardware(name).peak)]

MODELS = st.sampled_from(cm.model()).map(cm.model)
DENSE_MODELS = st.sampled_from(DENSE).map(cm.model)
MACHINES = st.sampled_from(PRICEABLE).map(cm.hardware)
BATCH, CONTEXT, PROMPT = st.integers(1, 1024), st.integers(1, 131_072), st.integers(1, 20_000)


def pricing(model, hw, **how):
    return partial(cm.price, model, hw, **how)


def recurrent_model():
    """Ten layers with a state of 4 MB a sequence each and no cache."""
    state = Recurrent(
        kind="mamba2", projections=(), heads=8, recurrence_values=10**6, conv_values=0, flops_per_token=1.0, source="x"
    )
    return cm.Model(id="s", name="S", hidden=4096, vocab=100, layers=((Layer(mixer=state, mlp=Mlp(width=16384)), 10),))


# ---- the flat stretch ----------------------------------------------------------------------------------------


@given(DENSE_MODELS, MACHINES, CONTEXT)
def test_counting_weights_the_flat_stretch_ends_at_the_crossing(model, hw, context):
    crossing = cm.crossing(model, hw)
    assume(crossing > 4)
    stretch = batching.flat_stretch(pricing(model, hw, count="weights"), context)
    assert stretch.start == 1
    assert stretch.end == pytest.approx(crossing, rel=1e-9)


def test_with_the_caches_counted_it_ends_where_they_take_as_long_as_the_weights():
    price = pricing(QWEN, H100)
    stretch = batching.flat_stretch(price, 2048)
    one, two = (price(cm.Step.decode(n, 2048)).bytes for n in (1, 2))
    shared = 2 * one - two  # bytes that do not grow with the batch
    assert stretch.start == 1
    assert stretch.end == pytest.approx(shared / (two - one))
    assert 3 in stretch
    assert 64 not in stretch


@given(MODELS, MACHINES, CONTEXT, st.sampled_from(["weights", "attention"]))
def test_time_grows_half_as_fast_as_the_batch_at_the_ends_of_the_flat_stretch(model, hw, context, count):
    price = pricing(model, hw, count=count)
    stretch = batching.flat_stretch(price, context)
    assume(stretch is not None)
    for end in (stretch.start, stretch.end):
        if 1 < end < math.inf:
            half, double = (price(cm.Step.decode(end * f, context)).seconds for f in (0.5, 2.0))
            assert double / half == pytest.approx(2, rel=1e-6)
    inside = price(cm.Step.decode(np.geomspace(max(stretch.start, 1), min(stretch.end, 1e6), 20), context)).seconds
    assert inside[-1] / inside[0] < min(stretch.end, 1e6) / stretch.start or stretch.start == stretch.end


def test_experts_arrive_before_the_stretch_is_flat():
    stretch = batching.flat_stretch(pricing(cm.model("qwen3-30b-a3b"), H100, count="weights"), 0)
    assert 8 < stretch.start < 32
    assert stretch.end > 295


def test_where_caches_outweigh_the_weights_from_the_first_sequence_on_nothing_is_flat():
    assert batching.flat_stretch(pricing(QWEN, H100), 100_000) is None


def test_of_the_stretches_that_an_estimate_with_steps_has_the_longest_counts():
    def stepped(step):
        batch = step.sequences
        pieces = [1.0, batch / 40, 5.0]
        seconds = np.select([batch < 40, batch < 200, batch < 600], pieces, batch / 120)
        return replace(cm.price(QWEN, H100, step), seconds=seconds)

    stretch = batching.flat_stretch(stepped, 0)
    assert stretch.start == 1
    assert 35 < stretch.end < 60


def test_a_stretch_without_end():
    free = pricing(QWEN, H100.replace(peak={"bf16": 1e23}), count="weights")
    assert batching.flat_stretch(free, 0).end == math.inf


def test_an_estimate_has_a_flat_stretch_of_its_own():
    floor, estimate = (batching.flat_stretch(pricing(QWEN, H100, rates=r), 2048) for r in ("datasheet", "calibrated"))
    assert estimate.end > 2 * floor.end  # overheads are shared too


# ---- money ---------------------------------------------------------------------------------------------------


def test_a_machine_of_3600_an_hour_costs_a_unit_a_second():
    assert batching.price_of_a_million(seconds_a_token=1e-6, hourly=3600) == pytest.approx(1)


# ---- the two bills -------------------------------------------------------------------------------------------


@given(MODELS, MACHINES, BATCH, CONTEXT)
def test_the_two_bills_are_the_bytes_of_the_step(model, hw, batch, context):
    price = pricing(model, hw)
    both = batching.bills(price, batch, context)
    assert both.total * batch == pytest.approx(price(cm.Step.decode(batch, context)).bytes, rel=1e-12)
    assert both.caches == pytest.approx(batching.bills(price, 1, context).caches, rel=1e-12)


def test_batching_pays_down_one_of_the_two_bills():
    both = batching.bills(pricing(QWEN, H100), np.array([1, 64]), np.array([2048, 2048]))
    assert both.weights[1] == pytest.approx(595_984_384 * 2 / 64 + 2048)  # and the token's own row of the embedding
    assert both.weights[0] == pytest.approx(595_984_384 * 2 + 2048)
    assert both.caches.tolist() == [2049 * 114_688] * 2


def test_bills_broadcast_over_batches_and_contexts():
    both = batching.bills(pricing(QWEN, H100), np.array([1, 2, 4]), np.array([[1], [1000]]))
    assert both.weights.shape == both.caches.shape == (2, 3)
    assert both.caches[1, 0] == both.caches[1, 2] > both.caches[0, 0]
    assert isinstance(batching.bills(pricing(QWEN, H100), 1, 1).total, float)


@given(MODELS, MACHINES, BATCH)
def test_at_the_even_context_the_bills_are_equal(model, hw, batch):
    price = pricing(model, hw)
    context = batching.even_context(price, batch)
    assume(context is not None)
    both = batching.bills(price, batch, context)
    chunked = any(isinstance(layer.mixer, Attention) and layer.mixer.chunk for layer, _ in model.layers)
    if context > 1 and not chunked:  # the reads of a chunk fall back to nothing at its end
        assert both.caches == pytest.approx(both.weights, rel=1e-6)
    assert both.caches >= both.weights * (1 - 1e-9)


@given(MODELS, MACHINES, CONTEXT)
def test_at_the_even_batch_the_bills_are_equal(model, hw, context):
    price = pricing(model, hw)
    batch = batching.even_batch(price, context)
    assume(batch is not None and batch > 1)
    both = batching.bills(price, batch, context)
    assert both.caches == pytest.approx(both.weights, rel=1e-6)


def test_a_state_that_never_grows_never_costs_as_much_as_a_large_share_of_the_weights():
    price = pricing(recurrent_model(), H100)
    assert batching.even_context(price, 1) is None
    assert batching.even_batch(price, 1) == pytest.approx(batching.even_batch(price, 100_000))


def test_a_window_may_clip_the_cache_before_it_costs_as_much():
    gpt = cm.model("gpt-oss-20b").replace(layers=((cm.model("gpt-oss-20b").layers[0][0], 24),))
    windows = [layer.mixer.window for layer, _ in gpt.layers]
    assert all(windows)
    assert batching.even_context(pricing(gpt, H100), 1) is None


def test_without_caches_there_is_nothing_to_be_even_with():
    price = pricing(QWEN, H100, count="weights")
    assert batching.even_context(price, 8) is None
    assert batching.even_batch(price, 8) is None


# ---- intensity -----------------------------------------------------------------------------------------------


@given(MODELS, MACHINES, CONTEXT)
def test_intensity_tends_to_its_asymptote(model, hw, context):
    price = pricing(model, hw)
    tends_to = batching.asymptote(price, context)
    assert price(cm.Step.decode(1e12, context)).intensity == pytest.approx(tends_to, rel=1e-3)
    if hw.peak.keys() == {"bf16"}:
        assert (cm.crossing(model, hw, context, "attention") is None) == (tends_to <= cm.ridge(hw))


def test_qwens_decode_tends_to_seven_and_the_weights_alone_to_no_end():
    assert batching.asymptote(pricing(QWEN, H100), 2048) == pytest.approx(7.1, abs=0.05)
    assert batching.asymptote(pricing(QWEN, H100, count="weights"), 2048) == math.inf


# ---- experts -------------------------------------------------------------------------------------------------


def test_a_dense_model_has_no_mixture():
    assert batching.mixture(QWEN) is None
    assert batching.mixture(cm.model("qwen3-30b-a3b")).experts == 128


@given(st.sampled_from(MIXTURES).map(cm.model), BATCH)
def test_the_experts_hit_explain_the_bytes_of_the_step(model, batch):
    """Between two batches, bytes differ by the experts that the larger one hits more."""
    mlp = batching.mixture(model)
    assume(all(layer.mlp in (mlp, None) or not isinstance(layer.mlp, Experts) for layer, _ in model.layers))
    hit = batching.experts_hit(mlp, np.array([1, batch]))
    assert hit.least[1] <= hit.expected[1] * (1 + 1e-12)
    assert hit.expected[1] <= hit.most[1] * (1 + 1e-12)
    table = cm.price(model, H100, cm.Step.decode(np.array([1, batch]), 0), count="weights").operations
    experts = table[table["name"] == "experts"]["weight_bytes"].to_numpy()
    assert experts[1] / experts[0] == pytest.approx(hit.expected[1] / hit.expected[0])
    assert hit.expected[0] == pytest.approx(mlp.top_k)


# ---- a prompt beside sequences that decode -------------------------------------------------------------------


@given(MODELS, MACHINES, PROMPT, BATCH, CONTEXT)
def test_a_step_each_waits_for_both_and_one_together_for_one(model, hw, prompt, batch, context):
    price = pricing(model, hw)
    apart, together = (way(price, prompt, batch, context) for way in (batching.apart, batching.together))
    prefill, decode = price(cm.Step.prefill(prompt)).seconds, price(cm.Step.decode(batch, context)).seconds
    mixed = price(cm.Step.mixed(prompt, 0, batch, context)).seconds
    assert apart.longest_wait == pytest.approx(prefill + decode)
    assert apart.first_token == pytest.approx(prefill)
    assert apart.behind(decode) == pytest.approx(prefill)
    assert together.longest_wait == together.first_token == pytest.approx(mixed)
    assert together.behind(decode) == pytest.approx(mixed - decode, abs=1e-12)
    assert together.longest_wait <= apart.longest_wait * (1 + 1e-12)


@given(MODELS, MACHINES, st.integers(1, 2000), BATCH, CONTEXT, st.integers(1, 700))
def test_chunks_are_priced_step_by_step(model, hw, prompt, batch, context, chunk):
    price = pricing(model, hw)
    way = batching.chunked(price, prompt, batch, context, chunk=chunk)
    assert way.prompt.sum() == prompt
    assert len(way.seconds) == math.ceil(prompt / chunk)
    assert way.decoding.all()
    for i in {0, len(way.seconds) // 2, len(way.seconds) - 1}:
        last = i == len(way.seconds) - 1
        step = cm.Step.mixed(way.prompt[i], i * chunk, batch, context + i, chunk_logits=int(last))
        assert way.seconds[i] == pytest.approx(price(step).seconds)
    assert way.longest_wait == pytest.approx(way.seconds.max())
    assert way.first_token == pytest.approx(way.seconds.sum())


def test_the_question_the_post_ends_on():
    price = pricing(QWEN, H100, count="weights")
    apart, together = (way(price, 500, 64, 2048) for way in (batching.apart, batching.together))
    assert apart.longest_wait == pytest.approx(602.6e-6 + 355.8e-6, rel=1e-3)
    assert together.longest_wait == pytest.approx(564 * 2 * 595_984_384 / 989e12, rel=1e-3)
    free = batching.chunked(price, 500, 64, 2048, chunk=231)
    assert free.longest_wait == pytest.approx(355.8e-6, rel=1e-3)
    assert free.behind(355.81e-6) < 1e-6
    assert len(free.seconds) == 3


def test_a_chunk_as_long_as_the_prompt_is_the_whole_prompt():
    price = pricing(QWEN, H100)
    one, whole = batching.chunked(price, 500, 8, 100, chunk=500), batching.together(price, 500, 8, 100)
    assert one.seconds.tolist() == whole.seconds.tolist()
    with pytest.raises(cm.ConfigError, match="chunk"):
        batching.chunked(price, 500, 8, 100, chunk=0)


def test_an_estimate_brings_its_band_to_the_wait():
    way = batching.chunked(pricing(QWEN, H100, rates="calibrated"), 500, 64, 2048, chunk=128)
    low, high = way.wait_band
    assert low < way.longest_wait < high
    floor = batching.apart(pricing(QWEN, H100), 500, 64, 2048)
    assert floor.wait_band == (floor.longest_wait, floor.longest_wait)


@given(DENSE_MODELS, MACHINES, BATCH, CONTEXT)
def test_counting_weights_the_memory_bound_chunk_is_what_the_crossing_leaves(model, hw, batch, context):
    room = cm.crossing(model, hw) - batch
    free = batching.memory_bound_chunk(pricing(model, hw, count="weights"), batch, context)
    assert free == pytest.approx(room if room > 1 else 0.0, abs=1e-6)


@given(MODELS, MACHINES, st.integers(1, 256), CONTEXT, st.integers(0, 5000))
def test_one_token_more_than_the_memory_bound_chunk_turns_the_step_compute_bound(model, hw, batch, context, cached):
    price = pricing(model, hw)
    free = batching.memory_bound_chunk(price, batch, context, cached)
    assume(2 < free < math.inf)
    inside, beyond = (
        price(cm.Step.mixed(chunk, cached, batch, context, chunk_logits=0)).bound
        for chunk in (free * (1 - 1e-9) - 1e-3, free * (1 + 1e-9) + 1e-3)
    )
    assert (inside, beyond) == ("memory", "compute")


def test_beside_long_contexts_far_more_of_a_prompt_is_computed_for_free():
    weights, attention = (
        batching.memory_bound_chunk(pricing(QWEN, H100, count=count), 64, 2048) for count in ("weights", "attention")
    )
    assert weights == pytest.approx(231.3, abs=0.1)
    assert attention > 10 * weights


def test_what_a_mixture_reads_for_the_chunk_makes_the_step_longer():
    price = pricing(cm.model("mixtral-8x7b"), cm.hardware("h200-sxm"))
    room = batching.memory_bound_chunk(price, 1, 2048)
    steps = cm.Step.mixed(np.array([1, 10, math.floor(room)]), 0, 1, 2048, chunk_logits=0)
    longer = price(steps).seconds / price(cm.Step.decode(1, 2048)).seconds
    assert math.floor(room) == 756
    assert longer.tolist() == pytest.approx([1.66, 3.48, 3.63], abs=0.01)


def test_beside_a_step_that_computes_already_nothing_is_computed_for_free():
    assert batching.memory_bound_chunk(pricing(QWEN, H100, count="weights"), 300, 10) == 0


# ---- speculative decoding ------------------------------------------------------------------------------------


@given(MODELS, MACHINES, BATCH, CONTEXT, st.integers(1, 12), st.floats(0, 0.5))
def test_verification_is_the_price_of_a_step_of_more_tokens(model, hw, batch, context, drafts, draft_cost):
    price = pricing(model, hw)
    step = cm.Step.decode(batch, context, new=drafts + 1)
    assert step.tokens == batch * (drafts + 1)
    steps = batching.verification(price, batch, context, drafts=drafts, draft_cost=draft_cost)
    plain = price(cm.Step.decode(batch, context)).seconds
    assert steps == pytest.approx(price(step).seconds / plain + drafts * draft_cost)


@given(st.integers(1, 16), st.floats(0.0, 18.0))
def test_at_the_break_even_acceptance_drafting_yields_what_it_costs(drafts, steps):
    acceptance = float(batching.break_even_acceptance(steps, drafts))
    if steps > (drafts + 1) * (1 + 1e-9):
        assert math.isnan(acceptance)
    elif steps <= 1:
        assert acceptance == 0
    else:
        assert 0 <= acceptance <= 1
        assert batching.expected_tokens(acceptance, drafts) == pytest.approx(steps, rel=1e-9)


def test_on_the_flat_stretch_any_accepted_draft_is_a_gain_and_past_it_none_is():
    price = pricing(QWEN, H100, count="weights")
    steps = batching.verification(price, np.array([1, 64, 512]), 0, drafts=3)
    assert steps.tolist() == pytest.approx([1, 1, 4])
    assert batching.break_even_acceptance(steps, 3).tolist() == [0, 0, 1]  # to the last digit: it never gains
    assert float(batching.break_even_acceptance(2 * (1 - 1e-15), 1)) == 1
    assert batching.expected_tokens(0.8, 3) == pytest.approx(2.952)
    assert batching.expected_tokens(1, 3) == 4


def test_the_balance_is_the_ridge_where_all_arithmetic_is_in_one_format():
    cost = cm.price(QWEN, H100, cm.Step.decode(8, 2048))
    assert batching.balance(cost) == pytest.approx(H100.ridge("bf16"))


def test_the_balance_lies_between_the_ridges_of_two_formats():
    cost = cm.price(LLAMA, H100, cm.Step.decode(8, 2048), cm.Precision(weights="fp8", compute="fp8"))
    assert H100.ridge("bf16") < batching.balance(cost) < H100.ridge("fp8")
