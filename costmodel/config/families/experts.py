"""Families with a mixture of experts in some or all layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from costmodel.config.attention import (
    CHUNKED,
    FULL,
    FULL_NORM,
    HEAD_NORM,
    SLIDING,
    Grouped,
    alternating_if_used,
    chunked_with_positions,
    dividing,
    every,
    full,
    hidden_over_heads,
    said,
    sliding_from_max_window_layers,
    sliding_if_set,
    sliding_if_used_everywhere,
)
from costmodel.config.embedding import LAYER_NORM, Norms, Outside
from costmodel.config.families.dense import BIASED
from costmodel.config.family import Family
from costmodel.config.keys import Keys
from costmodel.config.mlp import (
    Dense,
    Routed,
    after_dense,
    between,
    interleaved,
    listed,
    maybe,
    shared_experts,
    sparse_steps,
    stated,
)
from costmodel.config.parts import Part, by_kind
from costmodel.errors import ConfigError

# ---- MiMo-V2-Flash ------------------------------------------------------------------------------------------


def mimo_windows(keys: Keys) -> Sequence[str]:
    """The first layer and every sixth see everything; the Hub's config lists 1 for a window, 0 for everything."""
    flags = keys.each("hybrid_layer_pattern", int, keys.layers)
    if flags is not None:
        return [SLIDING if flag else FULL for flag in flags]
    return [FULL if layer == 0 or (layer + 1) % 6 == 0 else SLIDING for layer in range(keys.layers)]


def mimo_window(keys: Keys) -> int:
    """``sliding_window_size`` counts the tokens before the token itself."""
    before = keys.whole_or_none("sliding_window_size")
    return keys.whole("sliding_window") if before is None else before + 1


_MIMO = Grouped(
    qkv_bias="attention_bias",
    window=mimo_window,
    windows=said(mimo_windows),
    v_head_dim=stated("v_head_dim"),
)
_MIMO_SLIDING = replace(
    _MIMO,
    sinks=True,
    kv_heads=lambda keys: dividing(keys, "swa_num_key_value_heads", 2 * keys.whole("num_key_value_heads")),
)


def mimo_mixers(keys: Keys) -> Sequence[Part]:
    """Layers with a window have their own number of KV heads, and sinks."""
    return by_kind(_MIMO.windows, {FULL: _MIMO.of_kind(FULL), SLIDING: _MIMO_SLIDING.of_kind(SLIDING)})(keys)


# ---- DBRX ---------------------------------------------------------------------------------------------------


def dbrx_experts(keys: Keys) -> Sequence[Part]:
    """The experts have an object of their own in the config."""
    inner = keys.inside("ffn_config")
    values = {
        "hidden_size": keys.hidden,
        "num_hidden_layers": keys.layers,
        "num_experts": inner.whole("num_experts"),
        "num_experts_per_tok": inner.whole("num_experts_per_tok"),
        "moe_intermediate_size": inner.whole("ffn_hidden_size"),
    }
    return Routed()(Keys(values, defaults={}, aliases={}))


# ---- Hunyuan ------------------------------------------------------------------------------------------------


def hunyuan_experts(keys: Keys) -> Sequence[Part]:
    """Sizes may be lists, one value a layer; the same value throughout is read, anything else declined.

    Raises
    ------
    ConfigError: when layers differ in a figure that is read once.
    """
    values = dict(keys.values)
    for name in ("moe_topk", "num_experts"):
        listed = values.get(name)
        if isinstance(listed, list):
            if len({str(value) for value in listed}) != 1:
                raise ConfigError(name, listed, "the same value for each layer")
            values[name] = listed[0]
    return Routed(width=stated(), shared=stated())(Keys(values, defaults={}, aliases={}))


_LLAMA_4 = {
    "hidden_size": 5120,
    "num_hidden_layers": 48,
    "num_attention_heads": 40,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 8192,
    "intermediate_size_mlp": 16384,
    "vocab_size": 202048,
    "num_experts": 16,
    "num_experts_per_tok": 1,
    "attention_chunk_size": 8192,
    "max_position_embeddings": 131072,
}
_QWEN3_VL_MOE = {
    "hidden_size": 2048,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "head_dim": 128,
    "intermediate_size": 5632,
    "moe_intermediate_size": 1408,
    "num_experts": 60,
    "num_experts_per_tok": 4,
    "vocab_size": 151936,
    "max_position_embeddings": 128000,
}

FAMILIES = (
    Family(
        types=("mixtral",),
        mixers=Grouped(windows=said(sliding_if_set)),
        mlps=Routed(width=stated()),
        defaults={"num_key_value_heads": 8},
    ),
    Family(
        types=("qwen2_moe",),
        mixers=Grouped(qkv_bias="qkv_bias", windows=said(alternating_if_used)),
        mlps=Routed(places=sparse_steps, shared=stated("shared_expert_intermediate_size"), shared_gate=True),
        defaults={
            "num_key_value_heads": 16,
            "qkv_bias": True,
            "sliding_window": 4096,
            "max_window_layers": 28,
            "shared_expert_intermediate_size": 5632,
        },
    ),
    Family(
        types=("qwen3_moe",),
        mixers=replace(BIASED, qk_norm=HEAD_NORM, windows=sliding_if_used_everywhere),
        mlps=Routed(places=sparse_steps),
        defaults={"num_key_value_heads": 4, "sliding_window": 4096},
    ),
    Family(
        types=("qwen3_vl_moe_text",),
        mixers=replace(BIASED, qk_norm=HEAD_NORM),
        mlps=Routed(places=sparse_steps),
        defaults=_QWEN3_VL_MOE,
    ),
    Family(
        types=("gpt_oss",),
        mixers=replace(BIASED, sinks=True, windows=said(every(2))),
        mlps=Routed(width=stated(), router_bias=True, expert_bias=True),
        defaults={"head_dim": 64, "num_key_value_heads": 8, "sliding_window": 128, "attention_bias": True},
    ),
    Family(
        types=("llama4_text",),
        mixers=replace(BIASED, windows=said(chunked_with_positions, kinds=(FULL, CHUNKED))),
        mlps=Routed(
            places=interleaved,
            width=stated(),
            shared=stated(),
            dense=Dense(width=stated("intermediate_size_mlp")),
        ),
        defaults=_LLAMA_4,
    ),
    Family(
        types=("olmoe",),
        mixers=replace(BIASED, qk_norm=FULL_NORM),
        mlps=Routed(width=stated()),
    ),
    Family(
        types=("flex_olmo",),
        mixers=replace(BIASED, qk_norm=FULL_NORM),
        mlps=Routed(width=stated()),
    ),
    Family(
        types=("phimoe",),
        mixers=replace(BIASED, windows=said(sliding_if_set)),
        mlps=Routed(width=stated()),
        norms=LAYER_NORM,
        outside=Outside(head_bias="lm_head_bias"),
        defaults={"num_key_value_heads": 8},
    ),
    Family(types=("granitemoe",), mixers=BIASED, mlps=Routed(width=stated())),
    Family(
        types=("granitemoeshared",),
        mixers=BIASED,
        mlps=Routed(width=stated(), shared=maybe("shared_intermediate_size")),
    ),
    Family(
        types=("ernie4_5_moe",),
        mixers=Grouped(qkv_bias="use_bias", o_bias="use_bias"),
        mlps=Routed(
            places=between,
            shared=shared_experts,
            shared_bias="use_bias",
            correction=True,
            dense=Dense(bias="use_bias"),
        ),
        outside=Outside(tied=True, head_bias="use_bias"),
        defaults={"num_key_value_heads": 4, "moe_layer_start_index": 1, "num_shared_experts": 2},
    ),
    Family(
        types=("minimax_m2",),
        mixers=Grouped(qk_norm=FULL_NORM),
        mlps=Routed(width=stated()),
        defaults={"num_key_value_heads": 8, "head_dim": 128},
    ),
    Family(
        types=("glm4_moe", "glm4v_moe_text"),
        mixers=Grouped(qkv_bias="attention_bias", qk_norm=HEAD_NORM, qk_norm_if="use_qk_norm"),
        mlps=Routed(places=listed(after_dense(otherwise=1)), shared=shared_experts),
        defaults={"num_key_value_heads": 8, "num_shared_experts": 1},
    ),
    Family(
        types=("deepseek",),
        mixers=BIASED,
        mlps=Routed(places=after_dense(), shared=shared_experts, fewest=1),
    ),
    Family(
        types=("dots1",),
        mixers=replace(BIASED, qk_norm=HEAD_NORM, windows=said(sliding_from_max_window_layers)),
        mlps=Routed(places=after_dense(), shared=shared_experts, fewest=1),
        defaults={"num_key_value_heads": 32, "sliding_window": 4096, "max_window_layers": 62},
    ),
    Family(
        types=("exaone_moe",),
        mixers=Grouped(qk_norm=HEAD_NORM, windows=said(every(4))),
        mlps=Routed(places=listed(after_dense(otherwise=1)), shared=shared_experts),
        defaults={"num_key_value_heads": 32, "sliding_window": 4096, "num_shared_experts": 1},
    ),
    Family(
        types=("afmoe",),
        mixers=replace(
            BIASED,
            qk_norm=HEAD_NORM,
            output_gate=True,
            gate_bias=False,
            windows=said(every(4, "global_attn_every_n_layers")),
        ),
        mlps=Routed(places=after_dense("num_dense_layers", 1), shared=shared_experts, correction=True),
        norms=Norms(layer=4),
        defaults={"head_dim": 128, "sliding_window": 1024, "num_shared_experts": 2},
    ),
    Family(
        types=("solar_open",),
        mixers=Grouped(qkv_bias="attention_bias"),
        mlps=Routed(shared=shared_experts),
        defaults={"num_key_value_heads": 8, "head_dim": 128, "num_shared_experts": 1},
    ),
    Family(
        types=("sarvam_moe",),
        mixers=Grouped(qkv_bias="attention_bias", qk_norm=HEAD_NORM, qk_norm_if="use_qk_norm"),
        mlps=Routed(places=after_dense(otherwise=1), shared=shared_experts),
        defaults={"num_key_value_heads": 4, "head_dim": 64, "use_qk_norm": True, "num_shared_experts": 1},
    ),
    Family(
        types=("mimo_v2_flash",),
        mixers=mimo_mixers,
        mlps=Routed(places=listed(after_dense(otherwise=1))),
        defaults={"num_key_value_heads": 4, "head_dim": 192, "v_head_dim": 128, "sliding_window": 129},
    ),
    Family(
        types=("dbrx",),
        mixers=Grouped(
            kv_heads=lambda keys: keys.inside("attn_config").whole("kv_n_heads", 1),
            head_dim=hidden_over_heads,
            windows=full,
        ),
        mlps=dbrx_experts,
    ),
    Family(
        types=("hunyuan_v1_moe",),
        mixers=replace(BIASED, qk_norm=HEAD_NORM),
        mlps=hunyuan_experts,
    ),
)
