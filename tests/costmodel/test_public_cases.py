"""Questions of speed from public measurements and worked examples, each at its stated tolerance.

The figures are the cases' own; the source of each is named in its test. What a source measured may be slower than the
floor, never faster; what an efficiency explains is checked with one efficiency. RF08, RF09, RF11, RF15 and RF19 have
their halves about memory in ``test_memory_cases``.

Out of reach, and why:

- RF05 reads Qwen3.6-35B-A3B in IQ3_XXS, a format of 3.06 bits that the table of formats does not have; only what it
  says of the engine (every expert expanded to 16 bits) is checked.
- RF06's first user names no hardware; of the second one's model only the sibling of 30B is in the catalogue.
- RF11 is an account of money, prices and hit rates; a step's cost is no part of it.
- RF17's shipped rates of int4 on an A100 are of other kernels than the case's (TensorRT-LLM's, which unpack without
  loss in large steps): the form is checked with the case's own two efficiencies instead.
- RF12 and RF20 measure collectives over 64 chips, of which only the floor is checked.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np
import pytest

import costmodel as cm
from costmodel.accuracy import judge, read_steps
from costmodel.config import read_config
from costmodel.operations import expected_experts
from costmodel.rates import Fit, Rates

A100 = cm.hardware("a100-sxm-80")
LLAMA_8B = cm.model("llama-3.1-8b")  # Llama-3-8B has the same sizes
FP16 = cm.Precision(weights="fp16", kv="fp16", compute="fp16")
GIB = 2**30


def floor(model: str | cm.Model, hw: cm.Hardware, step: cm.Step, **options: Any) -> cm.Cost:
    return cm.price(cm.model(model) if isinstance(model, str) else model, hw, step, **options)


def estimate(model: str, hw: cm.Hardware, step: cm.Step, **options: Any) -> cm.Cost:
    return floor(model, hw, step, rates="calibrated", **options)


# ---- decode at batch 1: bounds and shares of bandwidth ---------------------------------------------------------------

GPT_FAST = {
    ("llama-2-7b", "bf16"): 104.9,
    ("llama-2-7b", "int8"): 155.58,
    ("llama-2-7b", "int4"): 196.8,
    ("llama-3.1-8b", "bf16"): 93.89,
    ("llama-3.1-8b", "int8"): 137.64,
}
ALONE = cm.Step.decode(batch=1, context=105)  # 5 prompt tokens, then about 200


@pytest.mark.parametrize(("model", "weights"), GPT_FAST)
def test_DEC01_gpt_fast_on_an_a100_is_below_the_bound_and_near_the_estimate(model: str, weights: str) -> None:  # noqa: N802
    """README of gpt-fast: tokens/s at batch 1, A100-80GB at 330 W."""
    measured = GPT_FAST[model, weights]
    precision = cm.Precision(weights=weights)
    bound = floor(model, A100, ALONE, precision=precision)
    assert measured < 1 / bound.seconds
    assert 1 / estimate(model, A100, ALONE, precision=precision).seconds == pytest.approx(measured, rel=0.15)
    if weights == "bf16":
        assert 0.75 / bound.seconds == pytest.approx(measured, rel=0.15)


def test_DEC01_bytes_a_token_and_why_int4_is_not_four_times_bf16() -> None:  # noqa: N802
    """15.03 GB a token, at most 135.7 tokens/s; the share of bandwidth falls from 0.69 to 0.52 and 0.42."""
    bound = floor("llama-3.1-8b", A100, ALONE)
    assert bound.bytes / 1e9 == pytest.approx(15.03, rel=0.005)
    assert 1 / bound.seconds == pytest.approx(135.7, rel=0.005)
    narrower = [cm.Precision(weights=weights) for weights in ("bf16", "int8", "int4")]
    bounds = [floor("llama-2-7b", A100, ALONE, precision=precision).seconds for precision in narrower]
    expected = [estimate("llama-2-7b", A100, ALONE, precision=precision).seconds for precision in narrower]
    shares = np.array(bounds) / expected
    assert shares[0] > shares[1] > shares[2]
    assert expected[0] / expected[2] == pytest.approx(1.88, rel=0.1)
    assert bounds[0] / bounds[2] > 3.5


def test_DEC03_llama_405b_over_eight_gpus_reaches_two_fifths_of_the_bandwidth() -> None:  # noqa: N802
    """README of gpt-fast: int8 over 8 A100, 15.6 tokens/s; 52.3 GB a token and GPU; it fits."""
    options = {"precision": cm.Precision(weights="int8"), "tensor_parallel": 8}
    bound = floor("llama-3.1-405b", A100, ALONE, **options)
    assert bound.bytes / 1e9 == pytest.approx(52.3, rel=0.05)
    assert 15.6 * bound.seconds == pytest.approx(0.40, abs=0.02)
    # The estimate says 23: its all-reduces are those of serving engines at full power, not of 2023's PyTorch at 330 W.
    assert bound.seconds < estimate("llama-3.1-405b", A100, ALONE, **options).seconds < 1 / 15.6
    assert cm.memory(cm.model("llama-3.1-405b"), A100, context=205, batch=1, **options).fits


LLAMA_BENCH = {  # tokens/s, share of the bandwidth
    "rtx3090": (46.51, 0.75),
    "rtx4090": (54.34, 0.81),
    "a40": (33.95, 0.74),
    "l40s": (43.42, 0.76),
    "a100-sxm-80": (53.18, 0.39),
    "h100-pcie": (67.79, 0.51),
    "m1-max": (18.43, 0.70),
    "m2-ultra": (36.25, 0.68),
    "m3-max": (22.39, 0.84),
}


@pytest.mark.parametrize("device", LLAMA_BENCH)
def test_DEC05_one_efficiency_serves_consumer_cards_and_not_an_engine_that_cannot_feed_an_a100(device: str) -> None:  # noqa: N802
    """llama-bench, Llama-3-8B F16, mean context 512: the bound holds for all nine."""
    measured, share = LLAMA_BENCH[device]
    hw = cm.hardware(device)
    if device == "h100-pcie":
        hw = hw.replace(bandwidth=2000e9)  # the datasheet that the source used; NVIDIA's later one has 2,039
    bound = 1 / floor(LLAMA_8B, hw, cm.Step.decode(1, 512), precision=FP16).seconds
    assert measured < bound
    assert measured / bound == pytest.approx(share, abs=0.01)
    if device in {"a100-sxm-80", "h100-pcie"}:
        assert 1.45 <= 0.75 * bound / measured <= 1.95
    else:
        assert 0.75 * bound == pytest.approx(measured, rel=0.2)


ADDED = {  # ms that 3,840 more cached tokens add: ideal, and measured without flash attention
    "m2-ultra": (0.63, 5.49),
    "rtx4090": (0.50, 1.42),
    "a100-sxm-80": (0.25, 1.10),
}


@pytest.mark.parametrize("device", ADDED)
def test_DEC07_what_longer_contexts_add_and_one_efficiency_of_attention(device: str) -> None:  # noqa: N802
    """llama-bench tg512 and tg8192: mean contexts 256 and 4,096, 503 MB of further cache."""
    ideal, added = ADDED[device]
    hw = cm.hardware(device)
    pair = floor(LLAMA_8B, hw, cm.Step.decode(1, np.array([256, 4096])), precision=FP16)
    assert np.diff(pair.bytes)[0] == pytest.approx(503.3e6, rel=1e-3)
    bound_added = np.diff(pair.seconds)[0] * 1e3
    assert bound_added == pytest.approx(ideal, abs=0.005)
    assert bound_added < added
    fitted = Rates(hw, {("attention_decode", "bf16"): Fit(eb=ideal / added)})
    layers = np.diff(32 * fitted.attention_decode(1, np.array([256, 4096]), 32, 8, 128, "fp16"))[0] * 1e3
    others = [added, 5.79] if device == "m2-ultra" else [added]  # there, the same with weights in Q4
    assert all(layers == pytest.approx(other, rel=0.25) for other in others)


def test_DEC08_rows_of_a_run_that_failed_are_told_apart() -> None:  # noqa: N802
    """llama-bench on an M1 MacBook Air (68 GB/s, 7 of 8 cores of 2.6 TFLOPS): two rows cannot be."""
    air = cm.Hardware(
        id="m1-air",
        name="M1 MacBook Air",
        bandwidth=68e9,
        peak={"fp16": 7 / 8 * 2.6e12, "bf16": 7 / 8 * 2.6e12},
        memory=5726e6,
    )
    rates = {256: 10.20, 512: 9.72, 1024: 7.26, 2048: 11.77, 4096: 1133.0}
    lines = [f"llama-3.1-8b,m1-max,,{context},{1 / rate!r},int4" for context, rate in rates.items()]
    lines.append(f"llama-3.1-8b,m1-max,8192,,{8192 / 1849!r},int4")
    rows = read_steps("\n".join(["model,hardware,new,context,seconds,precision", *lines]))
    judged = judge(replace(row, hardware=air) for row in rows)
    assert list(judged.beats_floor) == [False, False, False, False, True, True]
    ceiling = air.bandwidth / (4.58 * GIB)
    assert ceiling == pytest.approx(13.8, abs=0.05)
    assert all(rate < ceiling for context, rate in rates.items() if context < 4096)
    asked = {"weight_bytes": 4.58 * GIB, "utilization": 1.0}
    assert not cm.memory(LLAMA_8B, air, context=8192, batch=1, **asked).fits
    assert cm.memory(LLAMA_8B, air, context=4096, batch=1, **asked).fits


PREFILLS = {  # tokens/s, share of the peak
    "m1-max": (517.3, 0.68),
    "m2-ultra": (1175.4, 0.60),
    "rtx4090": (9382, 0.79),
    "h100-pcie": (10815.5, 0.20),
}


@pytest.mark.parametrize("device", PREFILLS)
def test_DEC09_a_prompt_of_512_by_its_share_of_the_dense_peak(device: str) -> None:  # noqa: N802
    """llama-bench pp512, Llama-3-8B F16: 20 % after the share, and the bound is never beaten."""
    measured, share = PREFILLS[device]
    bound = floor(LLAMA_8B, cm.hardware(device), cm.Step.prefill(512), precision=FP16)
    assert bound.bound == "compute"
    assert 512 / measured > bound.seconds
    assert share * 512 / bound.seconds == pytest.approx(measured, rel=0.05)


def test_DEC09_a_4090_has_half_its_peak_with_fp32_accumulation() -> None:  # noqa: N802
    """165 with fp32 accumulation or 330 with fp16: 0.79 or 0.40 of the peak."""
    card = cm.hardware("rtx4090")
    fast = card.replace(peak={"fp16": 2 * card.peak["fp16"]})
    shares = [9382 / 512 * floor(LLAMA_8B, hw, cm.Step.prefill(512), precision=FP16).seconds for hw in (card, fast)]
    assert shares == pytest.approx([0.79, 0.40], abs=0.015)


def test_DEC10_27_ms_a_token_are_near_the_floor_of_an_a10() -> None:  # noqa: N802
    """lmdeploy issue 210: Llama-2-7B fp16, 20 prompt tokens and 267 new ones; HF takes 34 ms."""
    step = cm.Step.decode(1, 20 + 267 // 2)
    bound = floor("llama-2-7b", cm.hardware("a10"), step)
    assert 22e-3 <= bound.seconds <= 22.5e-3
    assert bound.seconds / 27e-3 == pytest.approx(0.82, abs=0.01)
    assert bound.seconds / 34e-3 == pytest.approx(0.65, abs=0.01)
    assert estimate("llama-2-7b", cm.hardware("a10"), step).seconds == pytest.approx(27e-3, rel=0.1)


# ---- decode with more in flight --------------------------------------------------------------------------------------


def test_DEC11_deepseek_on_eight_h200_by_the_experts_it_touches() -> None:  # noqa: N802
    """InferenceX issue 870: TPOT at 8 to 64 in flight, fp8 over 8 GPUs, 1,024 in and out, SGLang."""
    batch, tpot = np.array([8, 16, 32, 64]), np.array([12.8, 17.2, 25.6, 34.6]) * 1e-3
    assert expected_experts(batch, 256, 8) == pytest.approx([57.4, 102.0, 163.3, 222.4], rel=1e-3)
    h200, step = cm.hardware("h200-sxm"), cm.Step.decode(batch, 1024 + 512)
    bound = floor("deepseek-v3", h200, step, tensor_parallel=8)
    assert (bound.seconds < tpot).all()
    assert bound.seconds * 1e3 == pytest.approx([4.4, 7.6, 12.0, 16.7], rel=0.06)  # the case's to two digits, 5 % of it
    assert bound.seconds / 0.45 == pytest.approx(tpot, rel=0.30)
    fp8 = cm.Precision(compute="fp8_block")
    assert estimate("deepseek-v3", h200, step, tensor_parallel=8, precision=fp8).seconds == pytest.approx(
        tpot, rel=0.17
    )


def test_DEC13_no_cache_runs_out_at_64_sequences_of_gpt_oss_on_eight_h100() -> None:  # noqa: N802
    """InferenceX issue 828 blames the caches for a jump at 64 x 9,216 tokens: they take 21.7 GB of 500."""
    model, h100 = cm.model("gpt-oss-120b"), cm.hardware("h100-sxm")
    assert 64 * model.kv_bytes(9216) / 1e9 == pytest.approx(21.7, rel=0.05)
    assert 64 * 9216 * model.kv_bytes_per_token / 1e9 == pytest.approx(43.5, rel=0.05)
    fit = cm.memory(model, h100, context=9216, batch=64, tensor_parallel=8)
    assert fit.fits
    assert fit.max_batch > 10 * 64


@pytest.mark.parametrize(("weights", "resident", "streamed"), [("fp32", 1.25, 1.33), ("bf16", 2.5, 2.66)])
def test_DEC16_a_cpu_of_40_gb_a_second(weights: str, resident: float, streamed: float) -> None:  # noqa: N802
    """vLLM issue 7379: bandwidth as STREAM measures it over all bytes, or over those without the embedding."""
    cpu = cm.Hardware(id="cpu", name="CPU", bandwidth=40e9, peak={"fp32": 1e12, "bf16": 1e12})
    precision = cm.Precision(weights=weights, compute=weights)
    read = floor(LLAMA_8B, cpu, cm.Step.decode(1, 1), count="weights", precision=precision)
    size = {"fp32": 4, "bf16": 2}[weights]
    assert cpu.bandwidth / (LLAMA_8B.total_params * size) == pytest.approx(resident, rel=0.05)
    assert 1 / read.seconds == pytest.approx(streamed, rel=0.01)


def test_DEC16_the_same_cpu_in_int4() -> None:  # noqa: N802
    """8.5 to 10 tokens/s."""
    cpu = cm.Hardware(id="cpu", name="CPU", bandwidth=40e9, peak={"bf16": 1e12})
    read = floor(LLAMA_8B, cpu, cm.Step.decode(1, 1), count="weights", precision=cm.Precision(weights="int4"))
    assert 8.5 <= 1 / read.seconds <= 10


def test_DEC17_a_throughput_needs_a_batch() -> None:  # noqa: N802
    """TensorRT-LLM issue 2648: Llama-3-8B on an A100 cannot make 6,552 tokens/s with fewer than 49 sequences."""
    step = floor(LLAMA_8B, A100, cm.Step.decode(1, 1), count="weights").seconds
    assert step == pytest.approx(7.36e-3, rel=0.01)
    assert [ceil(rate * step) for rate in (2000, 5500, 6552.6)] == [15, 41, 49]


# ---- peaks, ridges and impossible inputs -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("device", "peak"),
    [("h100-sxm", 989.5), ("h200-sxm", 989.5), ("h100-nvl", 835.5), ("h100-pcie", 756.5), ("a100-sxm-80", 312)],
)
def test_RF01_peaks_are_dense(device: str, peak: float) -> None:  # noqa: N802
    """Four repositories with a headline that counts 2:4 sparsity: fms-fsdp, Megatron-LM, nanoGPT, LLM_Sizing_Guide."""
    assert cm.hardware(device).peak["bf16"] / 1e12 == pytest.approx(peak, rel=0.01)


def test_RF01_shares_of_the_right_peak_and_none_above_it() -> None:  # noqa: N802
    """480 and 420 TFLOP/s reached; nanoGPT's 1.04 of an A100 was 0.33 of an H100."""
    peak = cm.hardware("h100-sxm").peak["bf16"]
    assert [480e12 / peak, 420e12 / peak, 1.04 * 312e12 / peak] == pytest.approx([0.485, 0.4245, 0.33], rel=0.01)
    for name in ("ef", "eb"):
        with pytest.raises(cm.ConfigError, match=name):
            Fit(**{name: 1.04})
    assert cm.ridge(cm.hardware("h100-sxm")) == pytest.approx(295, rel=0.01)


# ---- mixtures of experts ---------------------------------------------------------------------------------------------

MOE = cm.model("qwen3-30b-a3b")
M3_ULTRA = cm.hardware("m3-ultra")
INT4 = cm.Precision(weights="int4")


def test_RF03_experts_that_a_batch_touches_and_what_that_does_to_scaling() -> None:  # noqa: N802
    """mlxcel issue 1616: 4 sequences gain 1.55 on the MoE, as its bytes say (for another reason, it turned out)."""
    batch = np.array([1, 2, 4, 8, 16, 32])
    assert expected_experts(batch, 128, 8) == pytest.approx([8, 15.5, 29.1, 51.6, 82.4, 111.8], rel=0.01)
    read = floor(MOE, M3_ULTRA, cm.Step.decode(np.array([1, 4]), 1), count="weights").bytes
    assert read[1] / read[0] == pytest.approx(2.58, rel=0.03)
    assert 4 * read[0] / read[1] == pytest.approx(1.55, rel=0.10)
    dense = floor(LLAMA_8B, M3_ULTRA, cm.Step.decode(np.array([1, 4]), 576), precision=INT4).seconds
    assert 4 * dense[0] / dense[1] >= 3.25


def test_RF05_83_gb_a_token_is_every_expert_in_16_bits() -> None:  # noqa: N802
    """tinygrad issue 17316: 260.11 ms at 320 GB/s; useful are 1 to 2 GB."""
    read = 0.26011 * 320e9
    everything = MOE.total_params * 35e9 / 30.5e9 * 2
    assert 1 / 1.3 <= read / everything <= 1.3
    useful = MOE.active_matrix_params * 3.06 / 8  # 3 B are active of 35 B too
    assert 1e9 <= useful <= 2e9
    assert read / useful > 40


def test_RF06_a_measurement_lies_between_all_parameters_and_the_active_ones() -> None:  # noqa: N802
    """llmfit issues 449 and 474: 77.6 tokens/s on 512 GB/s; dividing by all parameters gave 34.7."""
    card = M3_ULTRA.replace(bandwidth=512e9)
    bound = 1 / floor(MOE, card, cm.Step.decode(1, 100), precision=INT4).seconds
    all_experts = 512e9 / (MOE.total_params * 4.16 / 8)
    assert all_experts == pytest.approx(34.7, rel=0.1)
    assert all_experts < 77.6 < bound
    assert 0.17 <= 77.6 / bound <= 0.4


def test_RF08_latent_attention_over_eight_gpus_is_memory_bound_again() -> None:  # noqa: N802
    """FlashMLA's authors: 16 heads a GPU leave 30 to 32 FLOP a byte; the whole has 242, the sustained ridge 258."""
    h800 = cm.hardware("h800")
    for gpus, low, high in ((1, 242 * 0.94, 256 * 1.06), (8, 30 * 0.94, 32 * 1.06)):
        table = floor("deepseek-v3", h800, cm.Step.decode(4, 100_000), tensor_parallel=gpus).operations
        rows = table[table.kv_bytes > 0]
        assert low <= rows.flops.sum() / rows.kv_bytes.sum() <= high
    assert 865e12 / h800.bandwidth == pytest.approx(258, rel=0.01)


def test_RF13_scaling_beats_a_ratio_but_nothing_beats_the_bytes() -> None:  # noqa: N802
    """macprovider pull 1623: an M3 Ultra makes 106 to 322 tokens/s, 1.57 times with 2 where the union allows 1.28."""
    batch, measured = np.array([1, 2, 4, 8]), np.array([106, 166.5, 235.9, 322.3])
    cost = floor(MOE, M3_ULTRA, cm.Step.decode(batch, 1024 + 64), precision=INT4)
    assert (measured < batch / cost.seconds).all()
    ratio = batch * cost.seconds[0] / cost.seconds
    assert (measured[1:] / measured[0] > ratio[1:]).all()


# ---- worked examples -------------------------------------------------------------------------------------------------

PALM = read_config(
    {
        "model_type": "llama",  # SwiGLU and one KV head; parallel blocks change no byte
        "hidden_size": 18432,
        "intermediate_size": 73728,
        "num_hidden_layers": 118,
        "num_attention_heads": 48,
        "num_key_value_heads": 1,
        "head_dim": 256,
        "vocab_size": 256_000,
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
    }
)
CHIPS = 64
TPU_V4 = cm.hardware("tpu-v4").replace(bandwidth=1.2e12)


def test_RF12_palm_over_64_chips_takes_four_times_its_floor() -> None:  # noqa: N802
    """Pope et al., arXiv 2211.05102: 29 ms a token with int8 weights; the floor is 7 ms."""
    assert PALM.total_params == pytest.approx(540e9, rel=0.005)
    alone = floor(PALM, TPU_V4, cm.Step.decode(1, 1), count="weights", precision=cm.Precision(weights="int8"))
    # int8 keeps the LM head in 16 bits here; the paper's 540 GB have it in 8
    per_chip = (alone.bytes - 256_000 * 18432) / CHIPS / TPU_V4.bandwidth
    assert per_chip == pytest.approx(7.03e-3, rel=0.01)
    assert per_chip / 29e-3 == pytest.approx(0.24, abs=0.005)


@pytest.mark.parametrize(
    ("tokens", "seconds", "share"),
    [(2048, 0.29, 0.43), (64 * 64, 1.82, 0.14), (512 * 2048, 85.2, 0.76), (512 * 64, 6.0, 0.33)],
)
def test_RF20_shares_of_the_peak_from_four_published_times(tokens: int, seconds: float, share: float) -> None:  # noqa: N802
    """Pope et al., table 2: prefill of 1 and of 512 prompts, decode of 64 and of 512 sequences."""
    arithmetic = floor(PALM, TPU_V4, cm.Step.prefill(tokens), count="weights").compute_seconds / CHIPS
    assert arithmetic / seconds == pytest.approx(share, abs=0.02)


def test_RF20_int8_weights_save_what_they_weigh() -> None:  # noqa: N802
    """The floor of batch 64 falls by 7 ms; 36.9 ms became 28.5."""
    step = cm.Step.decode(64, 2048)
    weights = [
        floor(PALM, TPU_V4, step, count="weights", precision=cm.Precision(weights=name)).memory_seconds / CHIPS * 1e3
        for name in ("bf16", "int8")
    ]
    assert weights == pytest.approx([14.1, 7.0], rel=0.03)
    assert weights[0] - weights[1] < 36.9 - 28.5


@pytest.mark.parametrize(
    ("bandwidth", "peak", "token_ms", "prefill_ms"),
    [(300e9, 65e12, 46.7, 75), (600e9, 125e12, 23.3, 39), (2039e9, 312e12, 6.87, 16)],
)
def test_RF15_a_guide_that_takes_seven_billion(  # noqa: N802
    bandwidth: float, peak: float, token_ms: float, prefill_ms: float
) -> None:
    """Baseten's guide: T4 (at its 300 GB/s), A10 and A100; a prompt of 350."""
    token = cm.step_seconds(2 * 7e9, 2 * 7e9, peak, bandwidth)
    prompt = cm.step_seconds(350 * 2 * 7e9, 2 * 7e9, peak, bandwidth)
    assert token * 1e3 == pytest.approx(token_ms, rel=0.02)
    assert prompt * 1e3 == pytest.approx(prefill_ms, rel=0.02)
    published = {23.3: 3.54, 6.87: 1.05}
    if token_ms in published:
        assert prompt + 150 * token == pytest.approx(published[token_ms], rel=0.02)


def test_RF15_the_intensity_of_decoding_is_one() -> None:  # noqa: N802
    """Not 62, which is that of unfused attention over a whole prompt."""
    assert cm.ridge(cm.hardware("a10"), "fp16") == pytest.approx(208.3, rel=0.02)
    assert floor("llama-2-7b", cm.hardware("a10"), cm.Step.decode(1, 1), count="weights").intensity == pytest.approx(1)


INT4_SPEEDUP = {1: 3.12, 16: 3.19, 32: 2.28, 64: 1.47, 128: 1.01, 256: 0.74, 1024: 0.66, 2048: 0.60}
BLOCK = ((12288, 4096), (4096, 4096), (22016, 4096), (4096, 11008))  # outputs and inputs of a 7B's matrices


def _speedup(rates: Rates, rows: Any) -> Any:
    wide = sum(rates.matmul(rows, n, k, "bf16") for n, k in BLOCK)
    return wide / sum(rates.matmul(rows, n, k, "bf16", "int4") for n, k in BLOCK)


def test_RF17_two_efficiencies_give_the_whole_curve_of_int4() -> None:  # noqa: N802
    """vLLM pull 2497: int4 reaches 1,158.6 GB/s and 141 TFLOP/s; those of 16 bits follow from the ends of the curve."""
    eb, ef = 1158.6e9 / A100.bandwidth, 141e12 / A100.peak["bf16"]
    wide = Fit(eb=eb * 16 / 4.16 / INT4_SPEEDUP[1], ef=ef / INT4_SPEEDUP[2048])
    rates = Rates(A100, {("matmul", "bf16"): wide, ("matmul", "int4@bf16"): Fit(eb=eb, ef=ef)})
    rows = np.array(list(INT4_SPEEDUP))
    assert _speedup(rates, rows) == pytest.approx(list(INT4_SPEEDUP.values()), rel=0.2)
    every = np.arange(1, 1000)
    assert 64 <= every[_speedup(rates, every) < 1][0] <= 256


@pytest.mark.parametrize("rates", [Rates.datasheet(A100), cm.calibrated(A100)], ids=["floor", "estimate"])
def test_RF17_int4_never_gains_four_times_and_nothing_in_large_steps(rates: Rates) -> None:  # noqa: N802
    """What holds for any kernel: at most 16 / 4.16, and no faster roof of arithmetic than 16 bits have."""
    gains = _speedup(rates, np.array(list(INT4_SPEEDUP)))
    assert gains.max() <= 16 / 4.16
    assert gains[-1] == pytest.approx(1, abs=0.02)


def test_RF19_llama_2_70b_on_two_a100() -> None:  # noqa: N802
    """Cursor's post: 140 GFLOP and 140 GB a token, caches as large as the weights at 427,000 tokens."""
    step = floor("llama-2-70b", A100, cm.Step.decode(1, 1), tensor_parallel=2, count="weights")
    assert 2 * step.flops == pytest.approx(140e9, rel=0.03)
    assert 2 * step.bytes == pytest.approx(140e9, rel=0.03)
    assert 2 * step.bytes / cm.model("llama-2-70b").kv_bytes_per_token == pytest.approx(427_000, rel=0.03)
    assert step.seconds == pytest.approx(34.3e-3, rel=0.03)


def test_RF21_bandwidth_reached_and_whether_input_is_cheaper_than_output() -> None:  # noqa: N802
    """Databricks' definition: 7 B in 16 bits at 14 ms a token is half of 2 TB/s; 512 input tokens take 23 ms."""
    nbytes, bandwidth, peak = 2 * 7e9, 2e12, 312e12
    token = cm.step_seconds(2 * 7e9, nbytes, peak, bandwidth)
    assert token / 14e-3 == pytest.approx(0.5, rel=0.03)
    assert cm.step_seconds(512 * 2 * 7e9, nbytes, peak, bandwidth) == pytest.approx(23e-3, rel=0.03)
    assert 8 * token == pytest.approx(56e-3, rel=0.03)


@pytest.mark.parametrize(("device", "input_is_cheaper"), [("a100-sxm-80", True), ("m1-max", False)])
def test_RF21_input_is_cheaper_where_prefill_is_fast(device: str, input_is_cheaper: bool) -> None:  # noqa: FBT001, N802
    """The rule turns round on an M1 Max."""
    hw = cm.hardware(device)
    prompt, token = cm.Step.prefill(512), cm.Step.decode(1, 512)
    seconds = [floor("llama-2-7b", hw, step).seconds for step in (prompt, token)]
    assert (seconds[0] < 8 * seconds[1]) is input_is_cheaper
