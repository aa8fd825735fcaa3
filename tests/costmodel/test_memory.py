"""What fits: budgets, blocks, windows, groups of GPUs."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import costmodel as cm
from costmodel.memory import resident_bytes
from costmodel.model import Attention, Layer, Mlp, Recurrent
from costmodel.precision import settle

LLAMA, H100 = cm.model("llama-3.1-8b"), cm.hardware("h100-sxm")
KNOWN = [n for n in cm.hardware() if cm.hardware(n).memory and {"bf16", "fp16"} & set(cm.hardware(n).peak)]


def test_llama_on_an_h100():
    fit = cm.memory(LLAMA, H100, context=8192, batch=56)
    pool = 0.9 * 79.65 * 2**30 - LLAMA.weight_bytes
    assert fit.kv_pool_bytes == pytest.approx(pool)
    assert fit.blocks == int(pool // (16 * 131_072))
    assert fit.kv_tokens == 16 * fit.blocks
    assert fit.max_batch == int(pool // (8192 * 131_072)) == 56
    assert fit.fits
    assert not cm.memory(LLAMA, H100, context=8192, batch=57).fits


def test_what_does_not_fit_is_an_answer():
    fit = cm.memory(cm.model("llama-3.1-70b"), H100, context=1)
    assert fit.kv_pool_bytes < 0
    assert (fit.fits, fit.max_batch, fit.blocks, fit.max_context) == (False, 0, 0, 0)


@given(st.sampled_from(cm.model()).map(cm.model), st.sampled_from(KNOWN).map(cm.hardware), st.integers(1, 100_000))
def test_what_is_said_to_fit_fits_and_one_more_does_not(model, hw, context):
    fit = cm.memory(model, hw, context=context)
    assume(0 < fit.max_batch < 2**31)
    for batch, expected in ((fit.max_batch, True), (fit.max_batch + 1, False)):
        assert cm.memory(model, hw, context=context, batch=batch).fits is expected
    assert fit.max_batch * fit.sequence_bytes <= fit.kv_pool_bytes * (1 + 1e-9)
    assert fit.max_context >= context


@given(st.sampled_from(cm.model()).map(cm.model), st.integers(1, 50_000), st.integers(1, 64))
def test_the_longest_context_is_the_longest(model, context, batch):
    hw = H100.replace(memory=4e12)
    longest = cm.memory(model, hw, context=context, batch=batch).max_context
    assume(0 < longest < math.inf)
    assert cm.memory(model, hw, context=longest, batch=batch).fits
    assert not cm.memory(model, hw, context=longest + 1, batch=batch).fits


def test_windows_are_clipped_or_given_full_pages():
    model = cm.model("gpt-oss-20b")
    windowed, full = (
        cm.memory(model, H100, context=131_072, allocation=kind).sequence_bytes for kind in ("windowed", "full")
    )
    assert full == 131_072 * model.kv_bytes_per_token
    assert windowed == (131_072 + 128) * model.kv_bytes_per_token / 2


def test_caches_are_rounded_up_to_blocks():
    assert cm.memory(LLAMA, H100, context=17, block_size=16).sequence_bytes == 32 * 131_072


def test_a_state_counts_once_a_sequence_and_never_grows():
    state = Recurrent(
        kind="mamba2", projections=(), heads=8, recurrence_values=10**6, conv_values=0, flops_per_token=1.0, source="x"
    )
    model = cm.Model(id="s", name="S", hidden=64, vocab=100, layers=((Layer(mixer=state, mlp=Mlp(width=64)), 10),))
    fit = cm.memory(model, H100, context=5)
    assert fit.state_bytes == fit.sequence_bytes == 4e7
    assert fit.max_context == math.inf


@given(
    st.sampled_from(cm.model()).map(cm.model), st.integers(1, 100_000), st.sampled_from([1, 16, 256]),
    st.sampled_from(["windowed", "full"]), st.sampled_from(["tensor", "data"]),
)  # fmt: skip
def test_a_sequence_is_its_caches_by_kind_of_layer_and_its_state(model, context, block, allocation, parallel):
    how = {"context": context, "block_size": block, "allocation": allocation, "attention_parallel": parallel}
    fit = cm.memory(model, H100, precision=cm.Precision(kv="bf16"), **how)
    assert sum(kind.bytes for kind in fit.caches) + fit.state_bytes == pytest.approx(fit.sequence_bytes)
    assert sum(kind.token_bytes for kind in fit.caches) == pytest.approx(model.kv_bytes_per_token)
    for kind in fit.caches:
        assert kind.tokens == (kind.mixer.kv_tokens(context) if allocation == "windowed" else context)
        assert 0 <= kind.places - kind.tokens < block
        assert kind.places % block == 0


def test_groups_divide_weights_and_kv_heads_down_to_one():
    formats = settle(LLAMA, H100)
    assert resident_bytes(LLAMA, formats) == LLAMA.weight_bytes
    assert resident_bytes(LLAMA, formats, 8) == pytest.approx(LLAMA.weight_bytes / 8, rel=1e-3)
    eight, sixteen = (cm.memory(LLAMA, H100, context=64, tensor_parallel=n).sequence_bytes for n in (8, 16))
    assert eight == sixteen == 64 * 131_072 / 8


def test_data_parallel_attention_keeps_whole_caches_on_each_gpu():
    tensor, data = (
        cm.memory(LLAMA, H100, context=4096, tensor_parallel=8, attention_parallel=kind) for kind in ("tensor", "data")
    )
    assert data.sequence_bytes == 8 * tensor.sequence_bytes
    assert data.weight_bytes > tensor.weight_bytes
    assert (tensor.pools, data.pools) == (1, 8)
    assert data.max_batch == 8 * (data.kv_tokens // 4096)


def test_a_known_weight_figure_and_a_reserve_are_taken_as_given():
    fit = cm.memory(LLAMA, H100, context=1, weight_bytes=10e9, reserve_bytes=5e9, utilization=0.5)
    assert fit.kv_pool_bytes == pytest.approx(0.5 * H100.memory - 15e9)


def test_float32_is_resident_at_four_bytes():
    assert cm.memory(LLAMA.replace(dtype="fp32"), H100, context=1).weight_bytes == 2 * LLAMA.weight_bytes
    asked = cm.memory(LLAMA, H100, context=1, precision=cm.Precision(weights="fp32"))
    assert asked.weight_bytes == 2 * LLAMA.weight_bytes


@pytest.mark.parametrize(
    "bad",
    [
        {"context": 0},
        {"context": math.nan},
        {"context": 1, "batch": 0},
        {"context": 1, "utilization": 1.5},
        {"context": 1, "utilization": 0},
        {"context": 1, "reserve_bytes": -1},
        {"context": 1, "block_size": 0},
        {"context": 1, "allocation": "some"},
        {"context": 1, "attention_parallel": "expert"},
        {"context": 1, "tensor_parallel": 3},
    ],
)
def test_values_out_of_range_are_refused(bad):
    with pytest.raises(cm.ConfigError):
        cm.memory(LLAMA, H100, **bad)


def test_a_chip_of_unknown_memory_is_refused_not_taken_as_empty():
    with pytest.raises(cm.ConfigError, match="MI325X"):
        cm.memory(LLAMA, cm.hardware("mi325x"), context=1)


def test_windows_wider_than_the_context_change_nothing():
    wide = Attention(q_heads=8, kv_heads=2, head_dim=32, window=10_000)
    model = cm.Model(id="w", name="W", hidden=256, vocab=100, layers=((Layer(mixer=wide, mlp=Mlp(width=64)), 2),))
    windowed, full = (
        cm.memory(model, H100, context=500, allocation=kind).sequence_bytes for kind in ("windowed", "full")
    )
    assert windowed == full
