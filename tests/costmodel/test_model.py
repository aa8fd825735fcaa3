"""Counting parameters and bytes from the sizes of the parts."""

from __future__ import annotations

from dataclasses import replace

import pytest

import costmodel as cm
from costmodel.model import Attention, Experts, LatentAttention, Layer, Matrix, Mlp, Quantization, by_mixer

MIXER = Attention(q_heads=8, kv_heads=2, head_dim=32)
PLAIN = Layer(mixer=MIXER, mlp=Mlp(width=512, gated=False), other_params=10)
SPARSE = Layer(
    mixer=MIXER,
    mlp=Experts(experts=4, top_k=2, width=64, shared_width=128, shared_gate=True),
    other_params=30,
    other_active_params=20,
)
MODEL = cm.Model(
    id="m", name="M", hidden=256, vocab=1000, layers=((PLAIN, 2), (SPARSE, 3), (PLAIN, 1)), other_params=256
)
ATTENTION = 256 * (8 * 32) * 2 + 2 * 256 * (2 * 32)  # q and o, k and v
DENSE = 2 * 256 * 512
EXPERT = 3 * 256 * 64
SHARED = 3 * 256 * 128 + 256 + 256 * 4  # its MLP, its gate, the router
HEAD = 256 * 1000


def test_parameters_are_counted_from_the_parts():
    matrices = 6 * ATTENTION + 3 * DENSE + 3 * (4 * EXPERT + SHARED) + HEAD
    assert MODEL.matrix_params == matrices
    assert MODEL.active_matrix_params == matrices - 3 * 2 * EXPERT
    assert MODEL.total_params == matrices + HEAD + 3 * 10 + 3 * 30 + 256
    assert MODEL.active_params == MODEL.total_params - 3 * 2 * EXPERT - 3 * 10
    assert MODEL.block_params == ATTENTION + DENSE


def test_a_tied_head_is_stored_once_and_still_multiplied():
    tied = MODEL.replace(tied=True)
    assert tied.total_params == MODEL.total_params - HEAD
    assert tied.matrix_params == MODEL.matrix_params
    assert tied.weight_bytes == MODEL.weight_bytes - 2 * HEAD


def test_equal_layers_are_counted_together():
    assert MODEL.num_layers == 6
    assert MODEL.distinct_layers == ((PLAIN, 3), (SPARSE, 3))
    assert by_mixer(MODEL) == {MIXER: 6}
    with_mlps = replace(MODEL, layers=(*MODEL.layers, (Layer(mlp=Mlp(width=64)), 2)))  # as hybrids have them
    assert by_mixer(with_mlps) == {MIXER: 6}


def test_caches_clip_at_windows_and_chunks():
    windowed = Attention(q_heads=8, kv_heads=2, head_dim=32, window=100)
    chunked = Attention(q_heads=8, kv_heads=2, head_dim=32, v_head_dim=16, chunk=50)
    layers = tuple((Layer(mixer=mixer), 1) for mixer in (MIXER, windowed, chunked))
    model = MODEL.replace(layers=layers)
    assert model.kv_values_per_token == 128 + 128 + 2 * (32 + 16)
    assert model.kv_bytes(1000) == 2 * (128 * 1000 + 128 * 100 + 96 * 50)
    assert model.kv_bytes(10, "fp8") == 10 * model.kv_values_per_token


def test_a_borrowed_cache_is_read_but_neither_stored_nor_written():
    borrowed = Attention(q_heads=8, kv_heads=2, head_dim=32, shares_kv=True)
    model = MODEL.replace(layers=((Layer(mixer=MIXER), 1), (Layer(mixer=borrowed), 1)))
    assert model.kv_bytes_per_token == 2 * 128
    table = cm.price(model, cm.hardware("h100-sxm"), cm.Step.decode(1, 10)).operations
    assert table["kv_bytes"].sum() == 2 * 128 * (2 * 10 + 1)


def test_an_output_gate_widens_the_query_projection():
    gated = Attention(q_heads=8, kv_heads=2, head_dim=32, output_gate=True)
    assert sum(m.params for m in gated.matrices(256)) == ATTENTION + 256 * 256


def test_a_latent_has_no_heads_in_the_cache():
    latent = LatentAttention(heads=4, kv_rank=32, rope_dim=8, nope_dim=16, v_dim=16)
    assert latent.kv_values_per_token == 40
    q, down, up, o = latent.matrices(256)
    assert (q.params, down.params, up.params, o.params) == (256 * 4 * 24, 256 * 40, 32 * 4 * 32, 4 * 16 * 256)


def test_quantized_bytes_count_scales_and_leave_the_rest_wide():
    quantized = frozenset({"qkv", "o", "gate_up", "down", "experts"})
    layers = tuple(
        (Layer(mixer=x.mixer, mlp=x.mlp, other_params=x.other_params, quantized=quantized), n) for x, n in MODEL.layers
    )
    model = MODEL.replace(layers=layers, quantization=Quantization(method="gptq", dtype="int4", bits=4.25))
    narrow = 6 * ATTENTION + 3 * DENSE + 3 * 4 * EXPERT
    assert model.weight_bytes == pytest.approx(narrow * 4.25 / 8 + (model.total_params - narrow) * 2)
    streamed = cm.price(model, cm.hardware("h100-sxm"), cm.Step.decode(100_000, 0), count="weights").bytes
    assert streamed == pytest.approx(narrow * 4.25 / 8 + (model.matrix_params - narrow) * 2)


def test_the_hash_is_that_of_the_parts():
    assert hash(MODEL) == hash(MODEL.replace())
    assert MODEL.replace() == MODEL
    assert MODEL.replace(hidden=512) != MODEL


def test_attention_keeps_a_cache_and_no_state():
    latent = LatentAttention(heads=8, q_rank=None, kv_rank=64, rope_dim=16, nope_dim=32, v_dim=32)
    assert MIXER.state_values == latent.state_values == 0
    assert MIXER.kv_values_per_token == 2 * (32 + 32)
    assert latent.kv_values_per_token == 64 + 16


def test_matrices_outside_the_layers_are_applied_to_every_token():
    narrow = replace(MODEL, extra_matrices=(Matrix("in", "project_in", inputs=64, outputs=256),))
    assert narrow.matrix_params == MODEL.matrix_params + 64 * 256
    costs = [
        cm.price(m, cm.hardware("h100-sxm"), cm.Step.decode(5, 0), count="attention").flops for m in (MODEL, narrow)
    ]
    assert costs[1] - costs[0] == pytest.approx(2 * 64 * 256 * 5)


def test_experts_of_two_kinds_have_names_of_their_own():
    wide = replace(SPARSE, mlp=Experts(experts=8, top_k=2, width=32))
    model = replace(MODEL, layers=((SPARSE, 2), (wide, 2)))
    names = cm.price(model, cm.hardware("h100-sxm"), cm.Step.decode(5, 0)).operations["name"].tolist()
    assert len(set(names)) == len(names)
    assert sum("experts" in name for name in names) >= 2
