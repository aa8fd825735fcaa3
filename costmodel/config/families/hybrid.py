"""Families with recurrent layers: state-space models and linear attention, alone or among attention layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from costmodel.config.attention import (
    FULL,
    FULL_NORM,
    HEAD_NORM,
    LINEAR,
    SLIDING,
    Grouped,
    every_linear,
    said,
)
from costmodel.config.embedding import Norms
from costmodel.config.families.dense import BIASED, TIED
from costmodel.config.family import Family
from costmodel.config.keys import Keys
from costmodel.config.latent import Latent
from costmodel.config.mlp import (
    Dense,
    Routed,
    after_dense,
    halved,
    listed,
    maybe,
    periodic,
    rounded_two_thirds,
    shared_experts,
    sparse_steps,
    stated,
)
from costmodel.config.parts import NOTHING, Builder, Layout, Part, Rule, by_kind, everywhere
from costmodel.config.recurrent import (
    Mamba,
    Mamba2,
    expanded,
    gated_convolution,
    gated_deltanet,
    gated_lru,
    kimi_delta,
    lightning,
)
from costmodel.errors import ConfigError

MIXED = (FULL, LINEAR)


def hybrid(layout: Layout, attention: Grouped, linear: Builder) -> Rule:
    """Attention in some layers and a recurrent mixer in the others."""
    return by_kind(layout, {FULL: attention.of_kind(FULL), SLIDING: attention.of_kind(SLIDING), LINEAR: linear})


def nothing(keys: Keys) -> Sequence[Part]:
    """No MLP in any layer."""
    return [NOTHING] * keys.layers


# ---- layouts ------------------------------------------------------------------------------------------------


def jamba_layout(keys: Keys) -> list[str]:
    """One attention layer in each period, at an offset."""
    places = periodic("attn_layer_period", "attn_layer_offset")(keys)
    return [FULL if here else LINEAR for here in places]


def bamba_layout(keys: Keys) -> list[str]:
    """The listed layers attend."""
    chosen = set(keys.each("attn_layer_indices", int) or ())
    return [FULL if layer in chosen else LINEAR for layer in range(keys.layers)]


def all_linear(keys: Keys) -> list[str]:
    """No layer attends unless ``layer_types`` says so."""
    return [LINEAR] * keys.layers


def lfm2_layout(keys: Keys) -> list[str]:
    """The listed layers attend; without a list, all."""
    listed = keys.each("full_attn_idxs", int)
    chosen = range(keys.layers) if listed is None else set(listed)
    return [FULL if layer in chosen else LINEAR for layer in range(keys.layers)]


def minimax_layout(keys: Keys) -> Sequence[str]:
    """The Hub's config lists 1 for attention and 0 for linear; the class alternates."""
    flags = keys.each("attn_type_list", int, keys.layers)
    if flags is not None:
        return [FULL if flag else LINEAR for flag in flags]
    return [LINEAR if layer % 2 else FULL for layer in range(keys.layers)]


def griffin_layout(keys: Keys) -> list[str]:
    """A pattern of blocks, repeated; the attention always has a window.

    Raises
    ------
    ConfigError: for a kind of block that is not known.
    """
    kinds = {"recurrent": LINEAR, "attention": SLIDING}
    pattern = keys.each("block_types", str) or ["recurrent", "recurrent", "attention"]
    if set(pattern) - set(kinds):
        raise ConfigError("block_types", pattern, "recurrent or attention")
    return [kinds[pattern[layer % len(pattern)]] for layer in range(keys.layers)]


def olmo_layout(keys: Keys) -> list[str]:
    """Every fourth layer attends, and the last one of a model with fewer."""
    kinds = [FULL if layer % 4 == 3 else LINEAR for layer in range(keys.layers)]  # noqa: PLR2004
    return kinds if FULL in kinds else [*kinds[:-1], FULL]


def kimi_layout(keys: Keys) -> list[str]:
    """``kda_layers`` counts from one; the class has four linear layers, then three between those that attend."""
    listed = keys.inside("linear_attn_config").each("kda_layers", int)
    if listed is None:
        return [FULL if layer and layer % 4 == 0 else LINEAR for layer in range(keys.layers)]
    linear = set(listed)
    return [LINEAR if layer + 1 in linear else FULL for layer in range(keys.layers)]


def kimi_refused(keys: Keys) -> None:
    """Later models of the type add what is not covered.

    Raises
    ------
    ConfigError: for a setting that is not read here.
    """
    for name in ("mla_use_output_gate", "attn_res_block_size"):
        if keys.raw(name):
            raise ConfigError(name, keys.raw(name), "nothing: this part of Kimi K3 is not modelled")


# ---- Nemotron-H ---------------------------------------------------------------------------------------------

_LETTERS = {"M": "mamba", "E": "moe", "*": "attention", "-": "mlp"}
_BLOCKS = {LINEAR: "mamba", FULL: "attention", "moe": "moe", "mlp": "mlp", "mamba": "mamba", "attention": "attention"}


def nemotron_blocks(keys: Keys) -> list[str]:
    """One letter a block: each block is a mixer or an MLP, never both.

    Raises
    ------
    ConfigError: for a pattern of another length, or with other letters.
    """
    pattern = keys.text("hybrid_override_pattern")
    if pattern:
        unknown = set(pattern) - set(_LETTERS)
        if unknown:
            raise ConfigError("hybrid_override_pattern", pattern, "the letters M, E, * and -")
        kinds = [_LETTERS[letter] for letter in pattern]
    else:
        names = keys.each("layers_block_type", str) or keys.each("layer_types", str) or []
        kinds = [_BLOCKS.get(name, "") for name in names]
    if "" in kinds or len(kinds) != keys.whole("num_hidden_layers", len(kinds) or None):
        raise ConfigError("hybrid_override_pattern", f"{len(kinds)} blocks", "one for each layer: M, E, * or -")
    return kinds


def nothing_here(_: Keys) -> Part:
    """The part that a block does not have."""
    return NOTHING


_NEMOTRON_MAMBA = Mamba2(
    heads="mamba_num_heads",
    head="mamba_head_dim",
    groups="n_groups",
    state="ssm_state_size",
    conv="conv_kernel",
    bias="use_bias",
    conv_bias="use_conv_bias",
)
_NEMOTRON_EXPERTS = Routed(gated=False, shared=maybe("moe_shared_expert_intermediate_size"), shared_bias="mlp_bias")
_NEMOTRON_MLP = Dense(gated=False, bias="mlp_bias")

_BAMBA_MAMBA = Mamba2(
    heads="mamba_n_heads",
    head="mamba_d_head",
    groups="mamba_n_groups",
    state="mamba_d_state",
    conv="mamba_d_conv",
    bias="mamba_proj_bias",
    conv_bias="mamba_conv_bias",
    inner=lambda keys: expanded(keys, "mamba_expand"),
)
_BAMBA = {
    "mamba_n_heads": 128,
    "mamba_d_head": "auto",
    "mamba_n_groups": 1,
    "mamba_d_state": 256,
    "mamba_d_conv": 4,
    "mamba_expand": 2,
    "mamba_conv_bias": True,
}

_DELTANET = {
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "head_dim": 256,
}
_QWEN3_5 = {
    **_DELTANET,
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "intermediate_size": 12288,
    "vocab_size": 248320,
    "max_position_embeddings": 32768,
}
_QWEN3_5_MOE = {
    **_DELTANET,
    "hidden_size": 2048,
    "num_hidden_layers": 40,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "moe_intermediate_size": 512,
    "shared_expert_intermediate_size": 512,
    "num_experts": 256,
    "num_experts_per_tok": 8,
    "vocab_size": 248320,
    "max_position_embeddings": 32768,
}
_GATED = replace(BIASED, qk_norm=HEAD_NORM, output_gate=True)
_QWEN_HYBRID = hybrid(said(every_linear(4), kinds=MIXED), _GATED, gated_deltanet)
_QWEN_EXPERTS = Routed(places=sparse_steps, shared=stated("shared_expert_intermediate_size"), shared_gate=True)


FAMILIES = (
    Family(
        types=("mamba", "falcon_mamba"),
        mixers=everywhere(Mamba()),
        mlps=nothing,
        norms=Norms(layer=1),
        outside=TIED,
        defaults={"use_conv_bias": True},
    ),
    Family(
        types=("mamba2",),
        mixers=everywhere(
            Mamba2(
                heads="num_heads",
                head="head_dim",
                groups="n_groups",
                state="state_size",
                conv="conv_kernel",
                bias="use_bias",
                conv_bias="use_conv_bias",
                inner=lambda keys: expanded(keys, "expand"),
            )
        ),
        mlps=nothing,
        norms=Norms(layer=1),
        defaults={"num_heads": 128, "head_dim": 64, "n_groups": 8, "state_size": 128, "use_conv_bias": True},
    ),
    Family(
        types=("jamba",),
        mixers=hybrid(
            jamba_layout,
            Grouped(),
            Mamba(
                state="mamba_d_state",
                conv="mamba_d_conv",
                rank="mamba_dt_rank",
                bias="mamba_proj_bias",
                conv_bias="mamba_conv_bias",
                inner=lambda keys: expanded(keys, "mamba_expand"),
                norms=True,
            ),
        ),
        mlps=Routed(places=periodic("expert_layer_period", "expert_layer_offset"), width=stated(), fewest=2),
        defaults={
            "num_key_value_heads": 8,
            "attn_layer_period": 8,
            "attn_layer_offset": 4,
            "expert_layer_period": 2,
            "expert_layer_offset": 1,
            "mamba_conv_bias": True,
        },
    ),
    Family(
        types=("bamba",),
        mixers=hybrid(said(bamba_layout, "layers_block_type", MIXED), BIASED, _BAMBA_MAMBA),
        mlps=Dense(bias="mlp_bias"),
        defaults={**_BAMBA, "num_key_value_heads": 8},
    ),
    Family(
        types=("granitemoehybrid",),
        mixers=hybrid(said(all_linear, kinds=MIXED), BIASED, _BAMBA_MAMBA),
        mlps=Routed(
            width=stated(),
            shared=stated("shared_intermediate_size"),
            dense=Dense(width=stated("shared_intermediate_size")),
            fewest=1,
        ),
        defaults={**_BAMBA, "shared_intermediate_size": 1024},
    ),
    Family(
        types=("nemotron_h",),
        mixers=by_kind(
            nemotron_blocks,
            {"mamba": _NEMOTRON_MAMBA, "attention": Grouped().of_kind(FULL), "moe": nothing_here, "mlp": nothing_here},
        ),
        mlps=by_kind(
            nemotron_blocks,
            {
                "mamba": nothing_here,
                "attention": nothing_here,
                "moe": _NEMOTRON_EXPERTS.part,
                "mlp": _NEMOTRON_MLP.part,
            },
        ),
        norms=Norms(layer=1),
        defaults={
            "num_key_value_heads": 8,
            "head_dim": 128,
            "mamba_num_heads": 128,
            "mamba_head_dim": 64,
            "n_groups": 8,
            "ssm_state_size": 128,
            "conv_kernel": 4,
            "use_conv_bias": True,
        },
        aliases={
            "n_groups": ("mamba_n_groups",),
            "conv_kernel": ("mamba_d_conv",),
            "use_conv_bias": ("mamba_conv_bias",),
        },
    ),
    Family(
        types=("qwen3_next",),
        mixers=_QWEN_HYBRID,
        mlps=_QWEN_EXPERTS,
        defaults={**_DELTANET, "num_key_value_heads": 2, "shared_expert_intermediate_size": 512},
    ),
    Family(types=("qwen3_5_text",), mixers=_QWEN_HYBRID, defaults=_QWEN3_5),
    Family(types=("qwen3_5_moe_text",), mixers=_QWEN_HYBRID, mlps=_QWEN_EXPERTS, defaults=_QWEN3_5_MOE),
    Family(
        types=("olmo_hybrid",),
        mixers=hybrid(said(olmo_layout, kinds=MIXED), replace(BIASED, qk_norm=FULL_NORM), gated_deltanet),
        defaults={"linear_conv_kernel_dim": 4},
    ),
    Family(
        types=("minimax", "minimax_text_01", "minimax_m1"),
        mixers=hybrid(said(minimax_layout, kinds=MIXED), Grouped(), lightning),
        mlps=Routed(width=stated()),
        defaults={"num_key_value_heads": 8},
    ),
    Family(
        types=("lfm2",),
        mixers=hybrid(said(lfm2_layout, kinds=MIXED), Grouped(qk_norm=HEAD_NORM), gated_convolution),
        mlps=Dense(width=rounded_two_thirds),
        outside=TIED,
        defaults={"num_key_value_heads": 8},
        aliases={"intermediate_size": ("block_ff_dim",), "tie_word_embeddings": ("tie_embedding",)},
    ),
    Family(
        types=("lfm2_moe",),
        mixers=hybrid(said(lfm2_layout, kinds=MIXED), Grouped(qk_norm=HEAD_NORM), gated_convolution),
        mlps=Routed(places=after_dense("num_dense_layers", 2)),
        outside=TIED,
        defaults={"num_key_value_heads": 8},
        aliases={"tie_word_embeddings": ("tie_embedding",)},
    ),
    Family(
        types=("recurrent_gemma",),
        mixers=hybrid(
            griffin_layout,
            Grouped(
                qkv_bias="attention_bias",
                o_bias=True,
                window=lambda keys: keys.whole("attention_window_size", 2048),
            ),
            gated_lru,
        ),
        mlps=Dense(bias=True, width=halved),
        outside=TIED,
    ),
    Family(
        types=("kimi_linear",),
        mixers=by_kind(said(kimi_layout, kinds=MIXED), {LINEAR: kimi_delta, FULL: Latent().part}),
        mlps=Routed(places=listed(after_dense(otherwise=1)), shared=shared_experts),
        refused=kimi_refused,
        defaults={
            "q_lora_rank": None,
            "kv_lora_rank": 512,
            "qk_rope_head_dim": 64,
            "qk_nope_head_dim": 128,
            "v_head_dim": 128,
            "num_shared_experts": 1,
        },
    ),
)
