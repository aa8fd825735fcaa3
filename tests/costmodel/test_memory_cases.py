"""Questions of memory from public bug reports, logs and worked examples, each at its stated tolerance.

The figures are the cases' own; the source of each is named in its test. Pools that a log gives are set as the memory
of the accelerator, so that what is tested is what the tool makes of them.
"""

from __future__ import annotations

from typing import Any

import pytest

import costmodel as cm
from costmodel.config import read_config
from costmodel.memory import activation_bytes
from costmodel.model import Attention, Layer, Mlp

GIB, MIB = 2**30, 2**20


def chip(name: str, gib: float) -> cm.Hardware:
    """An accelerator with so many GiB to use."""
    return cm.hardware(name).replace(memory=gib * GIB)


def pool(gib: float) -> dict[str, Any]:
    """Arguments that leave exactly ``gib`` for caches on an H200."""
    return {"hw": chip("h200-sxm", gib), "utilization": 1.0, "weight_bytes": 0.0}


def qwen2(**sizes: Any) -> cm.Model:
    return read_config({"model_type": "qwen2", "torch_dtype": "bfloat16", "tie_word_embeddings": False, **sizes})


QWEN_HYBRID = cm.model("qwen3.5-27b")  # Qwen3.8-27B has the same layers: 16 of 64 attend, 4 KV heads of 256
FP8_KV = cm.Precision(kv="fp8")


# ---- a context that starts, and a longer one that starts again ------------------------------------------------

LOGGED = {
    20_000: (17.06, 31_232, 1.56, True),
    29_000: (17.98, 23_648, 0.82, False),
    35_000: (15.05, 47_690, None, True),
}


@pytest.mark.parametrize("length", LOGGED)
def test_KV01_llama_8b_on_a_3090_from_the_logged_peak(length: int) -> None:  # noqa: N802
    """vLLM issue 10517: peak torch memory and 0.35 GiB beside it, weights 14.9888 GiB of them, utilization 0.9."""
    peak, tokens, concurrency, starts = LOGGED[length]
    fit = cm.memory(
        cm.model("llama-3.1-8b"),
        chip("rtx3090", 23.58),
        context=length,
        weight_bytes=14.9888 * GIB,
        reserve_bytes=(peak - 14.9888 + 0.35) * GIB,
    )
    assert fit.kv_tokens == pytest.approx(tokens, rel=0.01)
    assert fit.fits is starts
    assert (fit.max_context >= length) is starts
    if concurrency:
        assert fit.kv_tokens / length == pytest.approx(concurrency, abs=0.01)


@pytest.mark.parametrize(
    ("length", "batched", "starts"), [(20_000, 20_000, True), (29_000, 29_000, False), (35_000, 512, True)]
)
def test_KV01_fit_is_not_monotonic_because_activations_follow_the_largest_pass(  # noqa: N802
    length: int,
    batched: int,
    starts: bool,  # noqa: FBT001
) -> None:
    """The same verdicts with the tool's own activations: below 32K the whole context passes at once, then 512."""
    model = cm.model("llama-3.1-8b")
    reserve = activation_bytes(model, batched) + 0.35 * GIB
    fit = cm.memory(model, chip("rtx3090", 23.58), context=length, weight_bytes=14.9888 * GIB, reserve_bytes=reserve)
    assert fit.fits is starts
    assert fit.kv_tokens == pytest.approx(LOGGED[length][1], rel=0.01)


# ---- bytes a token --------------------------------------------------------------------------------------------


def test_KV03_a_quantized_qwen_keeps_its_cache_in_16_bits() -> None:  # noqa: N802
    """vLLM issue 22291: the user's 2 * 3584 * 28 * 8 is 28 times too much; measured slopes are 0.160 and 0.170.

    The slopes are read off nvidia-smi, whose GB are GiB.
    """
    sizes = {"hidden_size": 3584, "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4}
    model = qwen2(
        **sizes,
        intermediate_size=18944,
        vocab_size=152064,
        quantization_config={"quant_method": "gptq", "bits": 8, "group_size": 128},
    )
    assert model.kv_bytes_per_token == 57_344
    request = model.kv_bytes(3072)
    assert request / 1e9 == pytest.approx(0.176, rel=0.002)
    assert request / GIB == pytest.approx(0.164, rel=0.002)
    for slope in (0.160, 0.170):
        assert request / GIB == pytest.approx(slope, rel=0.08)
    assert 2 * 3584 * 28 * 8 / model.kv_bytes_per_token == 28


def test_KV04_an_fp8_cache_is_counted_at_one_byte() -> None:  # noqa: N802
    """vLLM issue 25350: three lines of a log, all with 1-byte keys and values of Qwen3-30B-A3B."""
    model = cm.model("qwen3-30b-a3b")
    assert model.kv_bytes(1, "fp8") == 49_152
    fit = cm.memory(model, **pool(10.55), context=100_000, precision=FP8_KV)
    assert fit.kv_tokens == pytest.approx(230_528, rel=0.003)
    assert fit.kv_tokens / 100_000 == pytest.approx(2.31, rel=0.003)
    need = cm.memory(model, **pool(5.59), context=221_000, precision=FP8_KV)
    assert need.sequence_bytes / GIB == pytest.approx(10.12, rel=0.003)
    assert need.max_context == pytest.approx(122_080, rel=0.003)
    assert not need.fits


def test_KV06_a_preallocated_fp32_cache() -> None:  # noqa: N802
    """realizar issue 187: Qwen2.5-1.5B, 28 layers, 2 KV heads of 128; 224 MiB is what the issue calls 224 MB."""
    model = qwen2(
        hidden_size=1536,
        num_hidden_layers=28,
        num_attention_heads=12,
        num_key_value_heads=2,
        intermediate_size=8960,
        vocab_size=151936,
    )
    assert model.kv_bytes(4096, "fp32") == 224 * MIB
    assert model.kv_bytes(512, "fp32") == 28 * MIB
    assert model.kv_bytes(4096, "fp16") == 112 * MIB
    assert model.kv_bytes(4096, "fp32") / 1e6 == pytest.approx(234.9, abs=0.05)


# ---- hybrids --------------------------------------------------------------------------------------------------


def test_KV07_a_hybrid_pays_a_token_in_16_of_64_layers() -> None:  # noqa: N802
    """talos-argocd-proxmox pull request 1995: two 3090s, 4.99 GiB of pool a card, 302,921 tokens logged."""
    assert QWEN_HYBRID.kv_bytes(1, "fp8") == 32_768
    assert QWEN_HYBRID.kv_bytes(302_921, "fp8") / GIB == pytest.approx(9.24, abs=0.01)
    one = cm.memory(QWEN_HYBRID, **pool(4.99), context=131_072, precision=FP8_KV, tensor_parallel=2)
    assert one.kv_tokens == pytest.approx(302_921, rel=0.08)  # state pages
    assert one.kv_tokens / 131_072 == pytest.approx(2.31, rel=0.08)
    whole = cm.memory(QWEN_HYBRID, **pool(4.99), context=262_144, precision=FP8_KV, tensor_parallel=2)
    assert whole.fits
    assert whole.kv_tokens / 262_144 == pytest.approx(1.16, rel=0.08)


@pytest.mark.parametrize(("weights", "utilization"), [("fp8", 0.9), ("nvfp4", 0.9), ("bf16", 0.95)])
def test_KV18_states_and_not_tokens_bound_a_hybrids_concurrency(weights: str, utilization: float) -> None:  # noqa: N802
    """vLLM recipes pull request 831: none of the three starts with 1,024 sequences on an RTX PRO 6000.

    The engine's own limits (939, 1011, 556 blocks) depend on how it pages states and are out of reach.
    """
    fit = cm.memory(
        QWEN_HYBRID,
        cm.hardware("rtxpro6000bw"),
        context=16,
        batch=1024,
        utilization=utilization,
        precision=cm.Precision(weights=weights),
    )
    assert not fit.fits
    assert fit.max_batch >= 1
    assert fit.state_bytes > 100 * (fit.sequence_bytes - fit.state_bytes)  # the state is what each sequence costs


# ---- whole heads on each rank -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("gib", "longest"), [(48.66, 205_728), (55.65, 235_296)])
def test_KV09_data_parallel_attention_holds_all_heads_on_each_rank(gib: float, longest: int) -> None:  # noqa: N802
    """vLLM recipes pull request 12: Qwen3-Coder-480B, attention on 8 ranks each for itself, experts divided."""
    model = read_config(
        {
            "model_type": "qwen3_moe",
            "hidden_size": 6144,
            "num_hidden_layers": 62,
            "num_attention_heads": 96,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "moe_intermediate_size": 2560,
            "num_experts": 160,
            "num_experts_per_tok": 8,
            "vocab_size": 151936,
        }
    )
    fit = cm.memory(model, **pool(gib), context=262_144, attention_parallel="data", tensor_parallel=8)
    assert fit.sequence_bytes == 253_952 * 262_144
    assert fit.sequence_bytes / GIB == pytest.approx(62.0, rel=0.0002)
    assert fit.max_context == pytest.approx(longest, rel=0.0002)
    assert not fit.fits


def test_KV09_the_two_utilizations_tell_which_card_it_is() -> None:  # noqa: N802
    """6.99 GiB for 0.05 of the memory: the card with 139.8 GiB, not the one with 96 GB."""
    model = cm.model("qwen3-0.6b")
    low, high = (cm.memory(model, chip("h20", 139.8), context=1, utilization=u).kv_pool_bytes for u in (0.90, 0.95))
    assert (high - low) / GIB == pytest.approx(55.65 - 48.66, rel=0.001)


def test_KV19_one_kv_head_is_copied_to_every_chip_unless_sequences_are_divided() -> None:  # noqa: N802
    """Pope et al., arXiv 2211.05102, table 1: PaLM 540B on 64 TPU v4, 30 % of the memory for caches."""
    many, one = (
        cm.Model(
            id=name,
            name=name,
            hidden=18432,
            vocab=256_000,
            layers=((Layer(mixer=Attention(q_heads=64, kv_heads=heads, head_dim=dim), mlp=Mlp(width=73728)), 118),),
        )
        for name, heads, dim in (("multi-head", 64, 128), ("multi-query", 1, 256))
    )
    assert (many.kv_bytes_per_token, one.kv_bytes_per_token) == (3_866_624, 120_832)
    longest = {
        (many, "tensor"): {128: 1320, 512: 330},
        (one, "tensor"): {128: 660, 512: 165},
        (one, "data"): {128: 43_000, 512: 10_700},
    }
    for (model, parallel), expected in longest.items():
        for batch, context in expected.items():
            fit = cm.memory(
                model,
                cm.hardware("tpu-v4"),
                context=100,
                batch=batch,
                utilization=0.3,
                weight_bytes=0.0,
                block_size=1,
                attention_parallel=parallel,
                tensor_parallel=64,
            )
            assert fit.max_context == pytest.approx(context, rel=0.02), (model.name, parallel, batch)


# ---- weights that are not what their name says ------------------------------------------------------------------


@pytest.mark.parametrize("kv_heads", [8, 16])
def test_KV10_an_fp8_checkpoint_that_keeps_attention_in_16_bits(kv_heads: int) -> None:  # noqa: N802
    """vLLM issue 6746: Llama-3.1-405B-FP8 of July 2024 takes 57.752 GiB of weights on each of 8 H100, not 50.6 GB.

    The first upload stored K and V for 16 heads; 8 or 16 are both within the tolerance.
    """
    wide = [f"model.layers.{n}.self_attn.{p}_proj" for n in range(126) for p in "qkvo"]
    outer = [f"model.layers.{n}.mlp.{p}_proj" for n in (0, 125) for p in ("gate", "up", "down")]
    model = read_config(
        {
            "model_type": "llama",
            "hidden_size": 16384,
            "intermediate_size": 53248,
            "num_attention_heads": 128,
            "num_hidden_layers": 126,
            "num_key_value_heads": kv_heads,
            "vocab_size": 128256,
            "tie_word_embeddings": False,
            "torch_dtype": "bfloat16",
            "quantization_config": {"quant_method": "fbgemm_fp8", "modules_to_not_convert": ["lm_head", *outer, *wide]},
        }
    )
    assert model.weight_bytes == pytest.approx(496.1e9, rel=0.025)
    fit = cm.memory(model, cm.hardware("h100-sxm"), context=1, tensor_parallel=8)
    assert fit.weight_bytes == pytest.approx(57.752 * GIB, rel=0.025)
    assert fit.weight_bytes < fit.budget_bytes
    assert cm.model("llama-3.1-405b").total_params == pytest.approx(
        405.9e9, rel=0.001
    )  # the naive reading, a byte each


@pytest.mark.parametrize(("utilization", "available"), [(0.90, -2.14), (0.95, 1.71)])
def test_KV11_gpt_oss_120b_does_not_start_with_its_whole_context(utilization: float, available: float) -> None:  # noqa: N802
    """vLLM issues 23278 and 27508: one H100 with 79.1 GiB, weights 65.97 GiB. A negative pool is told, not clipped."""
    model, hw = cm.model("gpt-oss-120b"), chip("h100-sxm", 79.1)
    reserve = utilization * 79.1 - 65.97 - available
    fit = cm.memory(
        model,
        hw,
        context=131_072,
        utilization=utilization,
        weight_bytes=65.97 * GIB,
        reserve_bytes=reserve * GIB,
    )
    assert fit.kv_pool_bytes / GIB == pytest.approx(available)
    assert not fit.fits
    if available < 0:
        assert reserve == pytest.approx(7.4, abs=1.5)
        assert (fit.max_batch, fit.blocks) == (0, 0)
    assert model.kv_bytes(131_072) / GIB == pytest.approx(4.5, rel=0.05)
    full = cm.memory(model, hw, context=131_072, allocation="full")
    assert full.sequence_bytes / GIB == pytest.approx(9.0, rel=0.05)


# ---- latent attention -------------------------------------------------------------------------------------------


def test_KV13_a_latent_is_small_only_if_the_engine_stores_it() -> None:  # noqa: N802
    """vLLM pull request 4650: DeepSeek-V2 on 8 H100 reports 2,368 tokens, where the latent would give 33,686."""
    model = read_config(
        {
            "model_type": "deepseek_v2",
            "hidden_size": 5120,
            "num_hidden_layers": 60,
            "num_attention_heads": 128,
            "intermediate_size": 12288,
            "moe_intermediate_size": 1536,
            "n_routed_experts": 160,
            "n_shared_experts": 2,
            "num_experts_per_tok": 6,
            "first_k_dense_replace": 1,
            "q_lora_rank": 1536,
            "vocab_size": 102400,
        }
    )
    stored, latent = (
        cm.memory(model, **pool(2.17), context=16_000, block_size=1, tensor_parallel=8, latent_cache=kind)
        for kind in ("heads", "latent")
    )
    assert latent.sequence_bytes / 16_000 == 69_120
    assert stored.sequence_bytes / 16_000 == pytest.approx(983_040, rel=0.25)
    assert stored.sequence_bytes / latent.sequence_bytes == pytest.approx(14.2, rel=0.25)
    assert stored.kv_tokens == pytest.approx(2368, rel=0.25)
    assert latent.kv_tokens == pytest.approx(33_686, rel=0.01)
    assert latent.fits
    assert not stored.fits


def test_RF11_deepseek_v3_holds_88_sequences_a_gpu() -> None:  # noqa: N802
    """Published statistics of DeepSeek-V3/R1: 705 sequences on 8 GPUs with 4,989 cached tokens each."""
    kv = cm.model("deepseek-v3").kv_bytes(4989)
    assert 88 * kv / 1e9 == pytest.approx(30.9, rel=0.1)
    assert 88 * kv / cm.hardware("h800").bandwidth == pytest.approx(9.2e-3, rel=0.1)


def test_RF08_latent_attention_is_at_the_ridge_and_grouped_attention_far_below() -> None:  # noqa: N802
    """FlashMLA's authors: 2 h s (dk + dv) FLOP over 2 s dk bytes, 242 for 128 heads; a GQA group reads once for all."""
    expected = {"deepseek-v3": 242, "qwen3-30b-a3b": 8, "llama-2-7b": 1}
    for name, intensity in expected.items():
        step = cm.Step.decode(batch=16, context=100_000)
        table = cm.price(cm.model(name), cm.hardware("h800"), step).operations
        rows = table[table["kv_bytes"] > 0]
        assert rows["flops"].sum() / rows["kv_bytes"].sum() == pytest.approx(intensity, rel=0.06)


# ---- preallocated for the longest context -----------------------------------------------------------------------


def test_KV15_the_longest_context_and_not_the_prompt_sets_a_preallocated_cache() -> None:  # noqa: N802
    """exllamav2 issue 677: Llama-3.1-70B at 2.4 bits a weight on 46 GB, out of memory with four words."""
    model = cm.model("llama-3.1-70b")
    assert model.kv_bytes_per_token == 327_680
    assert model.kv_bytes(131_072) == 40 * GIB
    weights = 2.4 / 8 * model.total_params
    assert 21e9 <= weights <= 22.5e9
    hw = chip("l40s", 44.5)
    asked = {"utilization": 1.0, "weight_bytes": 20.5 * GIB, "reserve_bytes": 1.5 * GIB}
    fit = cm.memory(model, hw, context=131_072, **asked)
    assert not fit.fits
    assert 60_000 * 0.85 <= fit.max_context <= 68_000 * 1.15


def test_KV17_two_long_outputs_fill_the_cache() -> None:  # noqa: N802
    """vLLM issue 14412: QwQ-32B in fp8 on an L40 with 44.4 GiB at 0.95; activations and graphs take 2 to 4 GiB."""
    fp8 = {"num_bits": 8, "type": "float", "strategy": "channel"}
    model = qwen2(
        hidden_size=5120,
        num_hidden_layers=64,
        num_attention_heads=40,
        num_key_value_heads=8,
        intermediate_size=27648,
        vocab_size=152064,
        quantization_config={
            "quant_method": "compressed-tensors",
            "ignore": ["lm_head"],
            "config_groups": {"group_0": {"weights": fp8}},
        },
    )
    assert model.kv_bytes_per_token == 262_144
    asked = {"utilization": 0.95, "reserve_bytes": 3 * GIB, "precision": cm.Precision(kv="bf16")}
    hw = chip("l40", 44.4)
    full = cm.memory(model, hw, context=32_000, batch=2, **asked)
    assert full.sequence_bytes / GIB == pytest.approx(7.81, abs=0.005)
    assert 6 * 0.8 <= full.kv_pool_bytes / GIB <= 9 * 1.2
    assert 24_500 * 0.8 <= full.kv_tokens <= 37_000 * 1.2
    assert 0.8 * 0.8 <= full.kv_tokens / 32_000 <= 1.15 * 1.2
    assert not full.fits
    assert cm.memory(model, hw, context=14_000, batch=2, **asked).fits
    assert not cm.memory(model, hw, context=18_000, batch=2, **asked).fits


def test_TOR12_a_cache_of_131072_tokens_takes_longer_to_read_than_the_weights() -> None:  # noqa: N802
    """Llama-3.1-8B on an H200: the floor of a token is 3.13 ms, reading a full cache would add 3.6 ms."""
    model, h200 = cm.model("llama-3.1-8b"), cm.hardware("h200-sxm")
    floor = cm.price(model, h200, cm.Step.decode(batch=1, context=1), count="weights")
    assert floor.seconds == pytest.approx(3.13e-3, rel=0.02)
    assert model.kv_bytes(131_072) / h200.bandwidth == pytest.approx(3.6e-3, rel=0.02)


# ---- worked examples --------------------------------------------------------------------------------------------

LLAMA_13B = {
    "model_type": "llama",
    "hidden_size": 5120,
    "intermediate_size": 13824,
    "num_attention_heads": 40,
    "num_hidden_layers": 40,
    "vocab_size": 32000,
    "tie_word_embeddings": False,
    "torch_dtype": "float16",
}


@pytest.mark.parametrize(
    ("kv_heads", "milliseconds", "largest"),
    [
        (40, {1: 4.98, 8: 12.13, 16: 20.3, 32: 36.65, 64: 69.33, 240: 249.09}, 16),
        (8, {1: 4.17, 64: 17.04, 240: 52.99}, 64),
    ],
)
def test_RF09_batches_of_a_13b_on_eight_tpu(kv_heads: int, milliseconds: dict[int, float], largest: int) -> None:  # noqa: N802
    """The JAX scaling book's example: 26 GB of weights (taken as such), 8,192 tokens, 8 x 0.82 TB/s, 16 GiB each."""
    model = read_config({**LLAMA_13B, "num_key_value_heads": kv_heads})
    cache = model.kv_bytes(8192)
    assert cache / 1e9 * 40 / kv_heads == pytest.approx(6.71, rel=0.01)
    v5e = cm.hardware("tpu-v5e").replace(bandwidth=0.82e12, memory=16 * GIB)
    for batch, expected in milliseconds.items():
        assert (26e9 + batch * cache) / (8 * v5e.bandwidth) * 1e3 == pytest.approx(expected, rel=0.01)
        if kv_heads == 40:  # with 8 KV heads K and V shrink, which the example leaves out
            step = cm.Step.decode(batch=batch, context=8192)
            assert cm.price(model, v5e, step, tensor_parallel=8).seconds * 1e3 == pytest.approx(expected, rel=0.01)
        fit = cm.memory(
            model, v5e, context=8192, batch=batch, utilization=1.0, weight_bytes=26e9 / 8, tensor_parallel=8
        )
        assert fit.fits is (batch <= largest)


def test_RF15_tokens_that_fit_on_an_a10() -> None:  # noqa: N802
    """A published guide: Llama-2-7B taken as 14 GB on 24 GB."""
    model, a10 = cm.model("llama-2-7b"), cm.hardware("a10").replace(memory=24e9)
    fit = cm.memory(model, a10, context=4096, utilization=1.0, weight_bytes=14e9, block_size=1)
    assert model.kv_bytes_per_token == 524_288
    assert fit.kv_tokens == pytest.approx(19_073, rel=0.02)
    assert fit.max_batch == 4


def test_RF19_the_cache_never_weighs_as_much_as_the_weights_on_two_a100() -> None:  # noqa: N802
    """A published formula for Llama-2-70B: 140 GB of weights, 320 KB a token, 160 GB of memory."""
    model = cm.model("llama-2-70b")
    assert model.kv_bytes_per_token / 1e3 == pytest.approx(327.68)
    equal = 140e9 / model.kv_bytes_per_token
    assert equal == pytest.approx(427_000, rel=0.03)
    a100 = cm.hardware("a100-sxm-80").replace(memory=80e9)
    fit = cm.memory(model, a100, context=1000, utilization=1.0, weight_bytes=70e9, block_size=1, tensor_parallel=2)
    assert fit.kv_tokens == pytest.approx(61_000, rel=0.03)
    assert fit.kv_tokens < equal
    step = cm.price(model, a100, cm.Step.decode(batch=1, context=1), tensor_parallel=2)
    assert step.seconds == pytest.approx(34.3e-3, rel=0.03)
