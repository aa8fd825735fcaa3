"""The price of a step: the worked figures, what must hold for every model on every machine, and refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import costmodel as cm
from costmodel.model import Attention, Experts, LatentAttention, Layer, Mlp, Recurrent
from costmodel.operations import expected_experts, plan
from costmodel.precision import settle

QWEN, LLAMA, H100 = cm.model("qwen3-0.6b"), cm.model("llama-3.1-8b"), cm.hardware("h100-sxm")
CHUNKED = {
    name
    for name in cm.model()
    if any(isinstance(layer.mixer, Attention) and layer.mixer.chunk for layer, _ in cm.model(name).layers)
}
PRICEABLE = [name for name in cm.hardware() if {"bf16", "fp16"} & set(cm.hardware(name).peak)]

MODELS = st.sampled_from(cm.model()).map(cm.model)
MACHINES = st.sampled_from(PRICEABLE).map(cm.hardware)
COUNT = st.sampled_from(["weights", "attention"])
BATCH, CONTEXT, PROMPT = st.integers(1, 2000), st.integers(0, 200_000), st.integers(1, 200_000)


# ---- the figures of the post and of the design ---------------------------------------------------------------


def test_the_posts_decode_step_of_one():
    cost = cm.price(QWEN, H100, cm.Step.decode(batch=1, context=0), count="weights")
    assert QWEN.block_params == pytest.approx(15.73e6, rel=1e-3)
    assert QWEN.matrix_params == 595_984_384
    assert cost.bytes == pytest.approx(1.19e9, rel=2e-3)
    assert cost.flops == pytest.approx(1.19e9, rel=2e-3)
    assert cost.seconds == pytest.approx(356e-6, rel=1e-3)
    assert cost.compute_seconds == pytest.approx(1.2e-6, rel=5e-3)
    assert cost.idle == pytest.approx(0.997, abs=5e-4)
    assert cost.intensity == pytest.approx(1)
    assert cost.bound == "memory"
    assert cm.crossing(QWEN, H100) == pytest.approx(295, abs=0.5)


@pytest.mark.parametrize(
    ("model", "step", "expected"),
    [
        (QWEN, cm.Step.decode(batch=1, context=2048), {"bytes": 1.427e9, "seconds": 425.9e-6}),
        (QWEN, cm.Step.decode(batch=64, context=2048), {"bytes": 16.22e9, "seconds": 4843e-6}),
        (QWEN, cm.Step.prefill(2048), {"flops": 2.2855e12, "seconds": 2.311e-3}),
        (LLAMA, cm.Step.decode(batch=1, context=2048), {"seconds": 4.560e-3}),
        (LLAMA, cm.Step.decode(batch=64, context=2048), {"seconds": 9.609e-3}),
        (LLAMA, cm.Step.prefill(2048), {"flops": 29.69e12, "seconds": 30.02e-3}),
    ],
)
def test_the_checks_of_the_design(model, step, expected):
    cost = cm.price(model, H100, step)
    for name, value in expected.items():
        assert getattr(cost, name) == pytest.approx(value, rel=1e-3), name


def test_the_untied_head_is_resident_twice_but_streamed_once():
    assert LLAMA.weight_bytes == pytest.approx(16.06e9, rel=1e-3)
    assert cm.price(LLAMA, H100, cm.Step.decode(1, 0), count="weights").bytes == pytest.approx(15.01e9, rel=1e-3)


def test_decode_of_qwen_tends_to_seven_flops_a_byte_and_never_crosses():
    cost = cm.price(QWEN, H100, cm.Step.decode(batch=1_000_000, context=2048))
    assert cost.intensity == pytest.approx(7.1, abs=0.05)
    assert cm.crossing(QWEN, H100, context=2048, count="attention") is None


# ---- properties over every model on every machine ------------------------------------------------------------


@given(MODELS, MACHINES, st.lists(st.integers(1, 3000), min_size=2, max_size=5))
def test_a_chunked_prefill_computes_what_the_whole_one_does(model, hw, chunks):
    ends = np.cumsum(chunks).tolist()
    steps = [
        cm.Step.prefill(chunk, cached=end - chunk, logits=end == ends[-1])
        for chunk, end in zip(chunks, ends, strict=True)
    ]
    whole = cm.Step.prefill(ends[-1])
    for view in ({}, {"window": 700}, {"chunk": 512}):
        assert sum(step.pairs(**view) for step in steps) == whole.pairs(**view)
    if any(isinstance(layer.mixer, LatentAttention) for layer, _ in model.layers):
        return  # rebuilding keys from latents is paid again by each chunk
    total = sum(cm.price(model, hw, step).flops for step in steps)
    assert total == pytest.approx(cm.price(model, hw, whole).flops, rel=1e-12)


@given(MODELS, MACHINES, COUNT, BATCH, CONTEXT, PROMPT, st.integers(1, 5000))
def test_a_cost_never_falls_when_a_step_grows(model, hw, count, batch, context, prompt, more):
    context_grows = 0 if model.id in CHUNKED else more  # a chunk that begins anew forgets what came before
    pairs = [
        (cm.Step.decode(batch, context), cm.Step.decode(batch + more, context)),
        (cm.Step.decode(batch, context), cm.Step.decode(batch, context + context_grows)),
        (cm.Step.prefill(prompt), cm.Step.prefill(prompt + more)),
    ]
    for small, large in pairs:
        less, greater = cm.price(model, hw, small, count=count), cm.price(model, hw, large, count=count)
        for name in ("bytes", "flops", "seconds"):
            assert getattr(less, name) <= getattr(greater, name) * (1 + 1e-12)


@given(MODELS, MACHINES, BATCH, CONTEXT)
def test_half_the_bandwidth_never_speeds_a_step(model, hw, batch, context):
    step = cm.Step.decode(batch, context)
    slower = hw.replace(bandwidth=hw.bandwidth / 2)
    assert cm.price(model, slower, step).seconds >= cm.price(model, hw, step).seconds


@given(MODELS, MACHINES, BATCH, st.integers(1, 100_000))
def test_bytes_of_a_decode_step_are_weights_caches_and_new_tokens(model, hw, batch, context):
    cost = cm.price(model, hw, cm.Step.decode(batch, context), cm.Precision(kv="fp16"))
    weights = cm.price(model, hw, cm.Step.decode(batch, context), count="weights").bytes
    mixers = [(layer.mixer, count) for layer, count in model.layers if layer.mixer]
    read = write = state = 0.0
    for mixer, layers in mixers:
        if isinstance(mixer, Recurrent):
            state += 2 * layers * mixer.state_bytes
            continue
        window, chunk = getattr(mixer, "window", None), getattr(mixer, "chunk", None)
        seen = context % chunk if chunk else min(context, window - 1) if window else context
        stored = 2 * mixer.kv_values_per_token
        shared = isinstance(mixer, Attention) and mixer.shares_kv
        token = 2 * mixer.kv_heads * (mixer.head_dim + mixer.v_dim) if shared else stored
        read += layers * token * seen
        write += layers * stored
    rows = (2 if model.position_params else 1) * 2 * (model.embed_dim or model.hidden)
    assert cost.bytes == pytest.approx(weights + batch * (read + write + state + rows), rel=1e-12)


@given(st.integers(1, 512), st.integers(1, 64), st.integers(1, 100_000))
def test_expected_experts_lie_between_top_k_and_all_that_could_be_hit(experts, top_k, tokens):
    top_k = min(top_k, experts)
    hit, one_more = expected_experts(tokens, experts, top_k), expected_experts(tokens + 1, experts, top_k)
    assert top_k * (1 - 1e-9) <= hit <= min(experts, top_k * tokens) * (1 + 1e-9)
    assert hit <= one_more


def test_expected_experts_agree_with_drawing_them():
    rng = np.random.default_rng(0)
    drawn = [len({e for _ in range(20) for e in rng.choice(128, 8, replace=False)}) for _ in range(400)]
    assert expected_experts(20, 128, 8) == pytest.approx(np.mean(drawn), rel=0.01)


@given(MODELS, MACHINES, COUNT, st.lists(st.tuples(BATCH, CONTEXT), min_size=1, max_size=6))
def test_a_sweep_equals_its_points_one_by_one(model, hw, count, points):
    batch, context = (np.array(column) for column in zip(*points, strict=True))
    sweep = cm.price(model, hw, cm.Step.decode(batch, context), count=count)
    for i, (b, c) in enumerate(points):
        one = cm.price(model, hw, cm.Step.decode(b, c), count=count)
        for name in ("seconds", "memory_seconds", "compute_seconds", "bytes", "flops"):
            assert getattr(sweep, name)[i] == pytest.approx(getattr(one, name), rel=1e-12)
        assert sweep.bound[i] == one.bound


@given(MODELS, MACHINES, COUNT, BATCH, CONTEXT, st.integers(1, 4000))
def test_the_operations_add_up_to_the_step(model, hw, count, batch, context, chunk):
    cost = cm.price(model, hw, cm.Step.mixed(chunk=chunk, batch=batch, context=context), count=count)
    table = cost.operations
    assert table["bytes"].sum() == pytest.approx(cost.bytes, rel=1e-12)
    assert table["flops"].sum() == pytest.approx(cost.flops, rel=1e-12)
    assert table["share"].sum() == pytest.approx(1)
    assert table["seconds"].sum() >= cost.seconds * (1 - 1e-12)
    assert table["name"].is_unique
    for form in ("weight_bytes", "kv_bytes", "activation_bytes"):
        assert table[form].sum() == pytest.approx(getattr(cost, form), rel=1e-12)
    assert table.to_dict("records") == cost.rows


@given(MODELS, MACHINES, COUNT, st.sampled_from(["decode", "prefill"]), st.integers(0, 20_000))
def test_the_crossing_is_where_the_bound_turns(model, hw, count, phase, context):
    crossing = cm.crossing(model, hw, context=context, count=count, phase=phase)

    def bound(tokens: float) -> str:
        step = cm.Step.decode(tokens, context) if phase == "decode" else cm.Step.prefill(tokens, context)
        return cm.price(model, hw, step, count=count).bound

    if crossing is None:
        assert bound(1e9) == "memory"
    elif crossing > 1.001:
        assert bound(crossing * (1 - 1e-6)) == "memory"
        assert bound(crossing * (1 + 1e-6)) == "compute"


@given(MODELS, MACHINES, BATCH, CONTEXT)
def test_a_floor_has_no_band(model, hw, batch, context):
    cost = cm.price(model, hw, cm.Step.decode(batch, context))
    assert cost.low == cost.high == cost.seconds == max(cost.memory_seconds, cost.compute_seconds)
    assert cost.source == "datasheet"
    assert cost.provenance


# ---- what the table says -------------------------------------------------------------------------------------


def test_operations_of_a_dense_step():
    table = cm.price(QWEN, H100, cm.Step.decode(batch=1, context=2048)).operations.set_index("name")
    assert list(table.index) == [
        "embedding",
        "q, k, v projections",
        "scores",
        "weighted sum",
        "o projection",
        "gate, up",
        "down",
        "norms, rope, activation, residual",
        "LM head",
    ]
    assert table.loc["scores", "kv_bytes"] == 28 * 2 * 8 * 128 * (2048 + 1)  # every cached key read, one written
    assert table.loc["scores", "flops"] == 28 * 2 * 16 * 128 * 2049
    assert table.loc["gate, up", "weight_bytes"] == 28 * 2 * 2 * 1024 * 3072
    assert table.loc["LM head", "count"] == 1
    assert table.loc["norms, rope, activation, residual", "activation_bytes"] > 0
    assert table.loc["norms, rope, activation, residual", "bytes"] == 0  # listed, but no part of the floor
    assert (table["bound"] == "memory").all()


def test_a_sweep_has_a_row_for_each_point_and_operation():
    table = cm.price(QWEN, H100, cm.Step.decode(np.arange(1, 4), 100)).operations
    assert table.groupby("point").size().tolist() == [9, 9, 9]
    rows = cm.price(QWEN, H100, cm.Step.decode(np.arange(1, 4), 100)).rows
    assert rows == table.to_dict("records")


def test_only_the_positions_that_need_logits_go_through_the_head():
    def head(step: cm.Step) -> float:
        return cm.price(QWEN, H100, step).operations.set_index("name").loc["LM head", "flops"]

    one = 2 * 1024 * 151_936
    assert head(cm.Step.prefill(500)) == one
    assert head(cm.Step.prefill(500, logits=0)) == 0
    assert head(cm.Step.decode(8, 100, new=4)) == 32 * one


def test_an_unfinished_chunk_does_not_even_read_the_head():
    done, unfinished = (cm.price(QWEN, H100, cm.Step.prefill(500, logits=n)) for n in (1, 0))
    assert done.bytes - unfinished.bytes == 2 * 1024 * 151_936


def test_windows_clip_what_is_read():
    model = cm.model("gpt-oss-20b")
    table = cm.price(model, H100, cm.Step.decode(1, 10_000)).operations.set_index("name")
    assert table.loc["scores, window 128", "kv_bytes"] == 12 * 2 * 8 * 64 * (127 + 1)
    assert table.loc["scores", "kv_bytes"] == 12 * 2 * 8 * 64 * (10_000 + 1)


def test_experts_are_streamed_as_they_are_hit():
    model = cm.model("qwen3-30b-a3b")
    for batch in (1, 16, 4096):
        table = cm.price(model, H100, cm.Step.decode(batch, 0)).operations.set_index("name")
        one_expert = 3 * 2048 * 768 * 2
        hit = 128 * (1 - (1 - 8 / 128) ** batch)
        assert table.loc["experts", "weight_bytes"] == pytest.approx(48 * hit * one_expert)
        assert table.loc["experts", "flops"] == 48 * batch * 8 * one_expert  # 2 FLOPs a 2-byte weight


LATENT = LatentAttention(heads=128, kv_rank=512, rope_dim=64, nope_dim=128, v_dim=128, q_rank=1536)
DEEP = cm.Model(
    id="latent", name="Latent", hidden=7168, vocab=1000, layers=((Layer(mixer=LATENT, mlp=Mlp(width=18432)), 61),)
)


def test_latent_attention_takes_the_cheaper_way():
    absorbed, expanded = 2 * 128 * (2 * 512 + 64), 2 * 128 * (192 + 128)
    decode = cm.price(DEEP, H100, cm.Step.decode(1, 4096)).operations.set_index("name").loc["latent attention"]
    assert decode["flops"] == 61 * absorbed * 4097
    assert decode["kv_bytes"] == 61 * 576 * 2 * 4097
    prefill = cm.price(DEEP, H100, cm.Step.prefill(4096)).operations.set_index("name").loc["latent attention"]
    assert prefill["flops"] == 61 * expanded * (4096 * 4097 / 2)
    assert DEEP.kv_bytes_per_token == 70_272


def test_a_recurrent_state_is_read_and_written_once_a_sequence():
    mixer = Recurrent(
        kind="mamba2", projections=(), heads=8, recurrence_values=1000, conv_values=10, flops_per_token=5.0, source="x"
    )
    model = cm.Model(id="s", name="S", hidden=64, vocab=100, layers=((Layer(mixer=mixer, mlp=Mlp(width=128)), 3),))
    row = cm.price(model, H100, cm.Step.decode(4, 5000)).operations.set_index("name").loc["mamba2 state"]
    assert row["kv_bytes"] == 3 * 4 * 2 * (4 * 1000 + 2 * 10)
    assert row["flops"] == 3 * 4 * 5.0
    assert model.kv_bytes_per_token == 0


def test_layers_of_different_width_get_rows_of_their_own():
    attention = Attention(q_heads=4, kv_heads=4, head_dim=16)
    layers = tuple((Layer(mixer=attention, mlp=Mlp(width=width)), 1) for width in (128, 256))
    table = cm.price(
        cm.Model(id="w", name="W", hidden=64, vocab=100, layers=layers), H100, cm.Step.decode(1, 0)
    ).operations
    assert {"gate, up, 64 to 256", "gate, up, 64 to 512"} <= set(table["name"])


# ---- formats -------------------------------------------------------------------------------------------------


def weight_stream(precision: cm.Precision | None, model: cm.Model = LLAMA) -> float:
    return cm.price(model, H100, cm.Step.decode(1, 0), precision, count="weights").bytes


def test_weight_only_int4_shrinks_the_stream_and_computes_in_bf16():
    blocks, head = LLAMA.matrix_params - 4096 * 128_256, 4096 * 128_256
    assert weight_stream(cm.Precision(weights="int4")) == pytest.approx(blocks * 4.16 / 8 + head * 2)
    step = cm.Step.prefill(4096)
    bf16, int4 = (cm.price(LLAMA, H100, step, p) for p in (None, cm.Precision(weights="int4")))
    assert int4.compute_seconds == bf16.compute_seconds


def test_fp8_weights_may_be_multiplied_in_fp8():
    step = cm.Step.prefill(4096)
    stored, computed = (
        cm.price(LLAMA, H100, step, cm.Precision(weights="fp8", compute=compute)) for compute in (None, "fp8")
    )
    assert stored.bytes == computed.bytes
    blocks = 2 * (LLAMA.matrix_params - 4096 * 128_256) * 4096
    saved = blocks / H100.peak["bf16"] - blocks / H100.peak["fp8"]  # head and attention stay in bf16
    assert stored.compute_seconds - computed.compute_seconds == pytest.approx(saved)


def test_a_narrow_cache_halves_the_second_bill():
    step = cm.Step.decode(64, 2048)
    wide, narrow = (cm.price(LLAMA, H100, step, cm.Precision(kv=kv)) for kv in ("bf16", "fp8"))
    assert wide.operations["kv_bytes"].sum() == 2 * narrow.operations["kv_bytes"].sum()


def test_float32_is_priced_as_bf16_with_a_warning():
    model = QWEN.replace(dtype="fp32")
    cost = cm.price(model, H100, cm.Step.decode(1, 0))
    assert cost.seconds == cm.price(QWEN, H100, cm.Step.decode(1, 0)).seconds
    assert "float32" in cost.warnings[0]
    assert model.weight_bytes == 2 * QWEN.weight_bytes
    asked = cm.price(model, H100, cm.Step.decode(1, 0), cm.Precision(weights="fp32"), count="weights")
    assert asked.bytes == 4 * model.matrix_params


def test_a_chip_without_bf16_computes_in_fp16():
    t4 = cm.hardware("t4")
    assert settle(QWEN, t4).wide == "fp16"
    assert cm.price(QWEN, t4, cm.Step.prefill(4096)).seconds > 0
    with pytest.raises(cm.ConfigError, match="T4"):
        cm.price(QWEN, t4, cm.Step.decode(1, 1), cm.Precision(compute="bf16"))
    with pytest.raises(cm.ConfigError, match="M5 Max"):
        cm.price(QWEN, cm.hardware("m5-max"), cm.Step.decode(1, 1))


@pytest.mark.parametrize(
    "bad", [{"weights": "fp7"}, {"kv": "mxfp4"}, {"compute": "int4"}, {"compute": "nf4"}, {"kv": 8}]
)
def test_formats_that_cannot_be_are_refused(bad):
    with pytest.raises(cm.ConfigError):
        cm.Precision(**bad)


# ---- tensor parallel -----------------------------------------------------------------------------------------


def test_tensor_parallel_divides_weights_and_caches():
    step = cm.Step.decode(16, 2048)
    one, eight = (cm.price(LLAMA, H100, step, tensor_parallel=n) for n in (1, 8))
    assert eight.operations["weight_bytes"].sum() == pytest.approx(one.operations["weight_bytes"].sum() / 8, rel=1e-3)
    assert eight.operations["kv_bytes"].sum() == one.operations["kv_bytes"].sum() / 8


def test_kv_heads_are_replicated_beyond_their_number():
    step = cm.Step.decode(16, 2048)
    eight, sixteen = (cm.price(LLAMA, H100, step, tensor_parallel=n).operations.set_index("name") for n in (8, 16))
    assert sixteen.loc["scores", "kv_bytes"] == eight.loc["scores", "kv_bytes"]
    assert sixteen.loc["scores", "flops"] == eight.loc["scores", "flops"] / 2
    queries, keys = 4096 * 4096 / 16, 2 * 4096 * 128
    assert sixteen.loc["q, k, v projections", "weight_bytes"] == 32 * 2 * (queries + keys)


def test_a_latent_is_on_every_gpu_whole():
    one, eight = (
        cm.price(DEEP, H100, cm.Step.decode(4, 1000), tensor_parallel=n).operations["kv_bytes"].sum() for n in (1, 8)
    )
    assert one == eight


@pytest.mark.parametrize("n", [0, -1, 3, 5, 64, 2.0, True, "8", None, 10**9])
def test_groups_that_cannot_divide_the_heads_are_refused(n):
    with pytest.raises(cm.ConfigError, match="tensor_parallel"):
        cm.price(LLAMA, H100, cm.Step.decode(1, 1), tensor_parallel=n)


def test_six_kv_heads_on_four_gpus_are_refused():
    mixer = Attention(q_heads=24, kv_heads=6, head_dim=64)
    model = cm.Model(id="x", name="X", hidden=512, vocab=100, layers=((Layer(mixer=mixer, mlp=Mlp(width=512)), 1),))
    with pytest.raises(cm.ConfigError, match="6 KV heads"):
        plan(model, settle(model, H100), 4, "attention")


# ---- refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        ({"count": "all"}, "count"),
        ({"rates": "guess"}, "rates"),
        ({"rates": "calibrated", "count": "weights"}, "count"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments, key):
    with pytest.raises(cm.ConfigError, match=key):
        cm.price(QWEN, H100, cm.Step.decode(1, 1), **arguments)


def test_a_crossing_needs_a_known_phase():
    with pytest.raises(cm.ConfigError, match="phase"):
        cm.crossing(QWEN, H100, phase="warm-up")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Attention(q_heads=0, kv_heads=1, head_dim=64),
        lambda: Attention(q_heads=7, kv_heads=2, head_dim=64),
        lambda: Attention(q_heads=8, kv_heads=2, head_dim=64, window=4, chunk=4),
        lambda: Attention(q_heads=8, kv_heads=2, head_dim=64.0),
        lambda: Experts(experts=4, top_k=5, width=10),
        lambda: Experts(experts=4, top_k=2, width=10, shared_width=-1),
        lambda: QWEN.replace(hidden=-1),
        lambda: QWEN.replace(dtype="int4"),
        lambda: QWEN.replace(layers=()),
        lambda: QWEN.replace(layers=((QWEN.layers[0][0], 10**12),)),
        lambda: QWEN.replace(kv_dtype="fp9"),
    ],
)
def test_sizes_that_make_no_model_are_refused(make):
    with pytest.raises(cm.ConfigError):
        make()


def test_everything_at_the_datasheets_rates_takes_longer_than_the_floor():
    step = cm.Step.decode(batch=8, context=1024)
    floor, summed = (cm.price(QWEN, H100, step, count=count) for count in ("attention", "everything"))
    assert summed.seconds > floor.seconds
    assert summed.bytes > floor.bytes
    assert math.isclose(summed.operations["seconds"].sum(), summed.seconds)


# ---- estimates -------------------------------------------------------------------------------------------------


@given(MODELS, st.sampled_from(["h100-sxm", "a100-sxm-80", "b200", "rtx4090", "mi300x", "t4"]), BATCH, CONTEXT)
def test_an_estimate_is_slower_than_the_floor_and_inside_its_band(model, machine, batch, context):
    hw, step = cm.hardware(machine), cm.Step.mixed(chunk=64, batch=batch, context=context)
    floor, estimate = cm.price(model, hw, step), cm.price(model, hw, step, rates="calibrated")
    assert estimate.seconds > floor.seconds
    assert estimate.low <= estimate.seconds <= estimate.high
    assert estimate.source == "calibrated"
    assert estimate.operations["seconds"].sum() == pytest.approx(estimate.seconds, rel=1e-12)


@given(MODELS, st.lists(st.tuples(BATCH, CONTEXT, st.integers(1, 3000)), min_size=1, max_size=4))
def test_an_estimated_sweep_equals_its_points_one_by_one(model, points):
    batch, context, chunk = (np.array(column) for column in zip(*points, strict=True))
    sweep = cm.price(model, H100, cm.Step.mixed(chunk, 0, batch, context), rates="calibrated")
    for i, (b, c, k) in enumerate(points):
        one = cm.price(model, H100, cm.Step.mixed(k, 0, b, c), rates="calibrated")
        assert sweep.seconds[i] == pytest.approx(one.seconds, rel=1e-12)


def test_an_estimate_says_what_each_rate_rests_on():
    lines = cm.price(QWEN, H100, cm.Step.decode(1, 1), rates="calibrated").provenance
    assert any("Qwen3-0.6B" in line for line in lines)
    assert any("aiconfigurator" in line for line in lines[2:])


def test_a_group_pays_for_its_all_reduces_and_the_host_for_its_step():
    step = cm.Step.decode(8, 1024)
    group = cm.price(LLAMA, H100, step, rates="calibrated", tensor_parallel=8)
    reduced = group.operations.set_index("name").loc["all-reduce over 8"]
    assert reduced["count"] == 2 * 32
    assert reduced["seconds"] > 0
    assert cm.price(LLAMA, H100, step, tensor_parallel=8).seconds < group.seconds
    with_host = cm.price(LLAMA, H100, step, rates="calibrated", tensor_parallel=8, host="vllm")
    assert with_host.seconds > group.seconds


def test_rates_of_another_device_are_refused_but_serve_its_what_ifs():
    rates, step = cm.calibrated(H100), cm.Step.decode(1, 100)
    with pytest.raises(cm.ConfigError, match="H100 SXM"):
        cm.price(QWEN, cm.hardware("b200"), step, rates=rates)
    faster = cm.price(QWEN, H100.replace(bandwidth=2 * H100.bandwidth), step, rates=rates)
    assert faster.seconds < cm.price(QWEN, H100, step, rates=rates).seconds
    assert any("what-if" in line for line in faster.provenance)


def test_a_step_rests_on_the_fits_of_what_takes_time_in_it() -> None:
    def lines(step: cm.Step) -> str:
        return "\n".join(cm.price(QWEN, H100, step, rates="calibrated").provenance)

    assert "attention prefill" not in lines(cm.Step.decode(4, 2048))
    assert "attention decode" not in lines(cm.Step.prefill(500))
    mixed = lines(cm.Step.mixed(512, 0, 4, 2048))
    assert "attention prefill" in mixed
    assert "attention decode" in mixed


@pytest.mark.parametrize("model", ["qwen3-0.6b", "jamba-1.5-mini", "mamba-2.8b"])
def test_states_are_read_and_written_once_a_sequence_beside_the_caches(model):
    model = cm.model(model)
    cost = cm.price(model, cm.hardware("h200-sxm"), cm.Step.decode([1, 8], 2048))
    batch = np.array([1, 8])
    assert cost.state_bytes == pytest.approx(2 * batch * model.state_bytes)
    assert cost.kv_bytes - cost.state_bytes == pytest.approx(batch * 2049 * model.kv_bytes_per_token)


def test_whose_measurements_took_part():
    step = cm.Step.decode(8, 2048)
    fitted = {
        name: cm.price(cm.model("qwen3-0.6b"), cm.hardware(name), step, rates="calibrated").fitted_on
        for name in ("h100-sxm", "b200", "epyc-9654")
    }
    assert fitted == {"h100-sxm": ("h100-sxm",), "b200": ("general", "b200"), "epyc-9654": ("general",)}
    assert cm.price(cm.model("qwen3-0.6b"), cm.hardware("h100-sxm"), step).fitted_on == ()


MIXTURE = cm.model("qwen3-30b-a3b")


@pytest.mark.parametrize("count", ["weights", "attention"])
@pytest.mark.parametrize("name", ["qwen3-30b-a3b", "mixtral-8x7b", "deepseek-v3", "jamba-1.5-mini"])
def test_the_least_that_a_mixture_can_take_reads_the_experts_of_one_token(name, count):
    model, step = cm.model(name), cm.Step.decode([1, 2, 8, 64, 4096], 100)
    cost = cm.price(model, H100, step, count=count)
    one = cm.price(model, H100, cm.Step.decode(1, 100), count=count)
    # beyond the experts of one token, all that more tokens bring is their own: caches, states and embedding rows
    own = (cost.kv_bytes - one.kv_bytes) + (step.tokens - 1) * _embedding_row(model) * (count != "weights")
    least = np.maximum((one.bytes + own) / H100.bandwidth, cost.compute_seconds)
    np.testing.assert_allclose(cost.least_seconds, least, rtol=1e-9)
    assert (cost.expects_experts == (least < cost.seconds * (1 - 1e-9))).all()
    assert cost.expects_experts.tolist()[:4] == [False, True, True, True]


def _embedding_row(model):
    """Bytes of one row of the embedding as an operation of the bill."""
    rows = cm.price(model, H100, cm.Step.decode(1, 100), count="attention").rows
    return next(row["weight_bytes"] for row in rows if row["name"] == "embedding")


def test_a_floor_says_whether_it_rests_on_the_expected_experts():
    eight = cm.price(MIXTURE, H100, cm.Step.decode(8, 2048))
    assert eight.expects_experts is True
    assert f"{eight.seconds * 1e3:.2f}, {eight.least_seconds * 1e3:.2f}" == "8.20, 2.30"
    # a long prompt waits for its arithmetic, however few experts it is sent to
    assert cm.price(MIXTURE, H100, cm.Step.prefill(8192)).expects_experts is False


@pytest.mark.parametrize("step", [cm.Step.decode(64, 2048), cm.Step.prefill(500), cm.Step.mixed(512, 0, 4, 2048)])
def test_a_dense_floor_rests_on_no_expectation(step):
    cost = cm.price(QWEN, H100, step)
    assert cost.least_seconds == cost.seconds
    assert cost.expects_experts is False
