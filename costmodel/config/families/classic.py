"""Families of GPT-2's time: learned or no positions, LayerNorm, MLPs of two matrices, often biases everywhere."""

from __future__ import annotations

from typing import Any

from costmodel.config.attention import (
    BIASED_HEAD_NORM,
    FULL,
    FULL_NORM,
    SLIDING,
    Grouped,
    as_queries,
    full,
    hidden_over_heads,
    sliding_if_set,
)
from costmodel.config.embedding import LAYER_NORM, Norms, Outside, learned, projected
from costmodel.config.family import Family
from costmodel.config.keys import Keys
from costmodel.config.mlp import Dense, four_times, stated
from costmodel.errors import ConfigError

# ---- Falcon -------------------------------------------------------------------------------------------------


def falcon_kv_heads(keys: Keys) -> int:
    """``new_decoder_architecture`` comes before ``multi_query``: both may be set."""
    if keys.flag("new_decoder_architecture"):
        return keys.whole("num_kv_heads", keys.heads)
    return 1 if keys.flag("multi_query", otherwise=True) else keys.heads


def falcon_norms(keys: Keys) -> Norms:
    """One or two norms a layer: two unless attention and MLP run in parallel behind one."""
    if keys.flag("new_decoder_architecture"):
        return Norms(layer=keys.whole("num_ln_in_parallel_attn", 2, high=2), bias=True)
    return Norms(layer=1 if keys.flag("parallel_attn", otherwise=True) else 2, bias=True)


# ---- MPT ----------------------------------------------------------------------------------------------------


def mpt_kv_heads(keys: Keys) -> int:
    """The attention has an object of its own in the config."""
    attention = keys.inside("attn_config")
    kind = attention.text("attn_type", "multihead_attention")
    if kind == "multiquery_attention":
        return 1
    return attention.whole("kv_n_heads", keys.heads) if kind == "grouped_query_attention" else keys.heads


def mpt_width(keys: Keys) -> int:
    """``expansion_ratio`` times the hidden size."""
    return int(keys.number("expansion_ratio", 4) * keys.hidden)


def mpt_refused(keys: Keys) -> None:
    """MPT without ALiBi, or with normalised queries, is not what any checkpoint has.

    Raises
    ------
    ConfigError: for positions or normalised queries that are not read here.
    """
    attention = keys.inside("attn_config")
    if not attention.flag("alibi", otherwise=True):
        raise ConfigError("attn_config.alibi", found=False, expected="true: MPT with other positions is not modelled")
    if attention.flag("qk_ln"):
        raise ConfigError("attn_config.qk_ln", found=True, expected="false: normalised queries are not modelled")


# ---- OPT ----------------------------------------------------------------------------------------------------


def opt_norms(keys: Keys) -> Norms:
    """No last norm where the norms stand behind (OPT-350m), or where it was removed."""
    last = keys.flag("do_layer_norm_before", otherwise=True) and not keys.flag("_remove_final_layer_norm")
    return Norms(outside=int(last), bias=True)


# ---- GPT-Neo ------------------------------------------------------------------------------------------------


def neo_windows(keys: Keys) -> list[str]:
    """``attention_types``: pairs of a list of kinds and how often it is repeated.

    Raises
    ------
    ConfigError: for a kind of attention that is not known.
    """
    kinds = {"global": FULL, "local": SLIDING}
    listed = keys.each("attention_layers", str, keys.layers) or _neo_repeated(keys)
    if set(listed) - set(kinds):
        raise ConfigError("attention_types", min(set(listed) - set(kinds)), "global or local")
    return [kinds[kind] for kind in listed]


def _neo_repeated(keys: Keys) -> list[str]:
    groups = [_neo_group(group) for group in keys.each("attention_types", list) or ()]
    count = sum(len(names) * times for names, times in groups)
    if count != keys.layers:
        raise ConfigError("attention_types", f"{count:,} kinds", f"one for each of the {keys.layers:,} layers")
    return [kind for names, times in groups for _ in range(times) for kind in names]


def _neo_group(group: list[Any]) -> tuple[list[str], int]:
    names, times = group if len(group) == 2 else (None, None)  # noqa: PLR2004
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ConfigError("attention_types", group, "pairs of a list of kinds and a number")
    if isinstance(times, bool) or not isinstance(times, int) or times < 1:
        raise ConfigError("attention_types", times, "a number of repetitions, 1 or more")
    return names, times


# ---- StableLM -----------------------------------------------------------------------------------------------


def stablelm_norms(keys: Keys) -> Norms:
    """One norm a layer where attention and MLP run in parallel."""
    return Norms(layer=1 if keys.flag("use_parallel_residual") else 2, bias=True)


_GPT2 = Outside(tied=True, positions=learned())

FAMILIES = (
    Family(
        types=("gpt2", "gpt-sw3"),
        mixers=Grouped(qkv_bias=True, o_bias=True, kv_heads=as_queries, windows=full, head_dim=hidden_over_heads),
        mlps=Dense(gated=False, bias=True, width=four_times),
        norms=LAYER_NORM,
        outside=_GPT2,
        defaults={"max_position_embeddings": 1024},
    ),
    Family(
        types=("gpt_bigcode",),
        mixers=Grouped(
            qkv_bias=True,
            o_bias=True,
            kv_heads=lambda keys: 1 if keys.flag("multi_query", otherwise=True) else keys.heads,
            head_dim=hidden_over_heads,
        ),
        mlps=Dense(gated=False, bias=True, width=four_times),
        norms=LAYER_NORM,
        outside=_GPT2,
        defaults={"max_position_embeddings": 1024},
    ),
    Family(
        types=("openai-gpt",),
        mixers=Grouped(qkv_bias=True, o_bias=True, kv_heads=as_queries, head_dim=hidden_over_heads),
        mlps=Dense(gated=False, bias=True, width=lambda keys: 4 * keys.hidden),
        norms=Norms(outside=0, bias=True),
        outside=_GPT2,
        defaults={"max_position_embeddings": 512},
    ),
    Family(
        types=("gpt_neo",),
        mixers=Grouped(
            o_bias=True,
            kv_heads=as_queries,
            head_dim=hidden_over_heads,
            windows=neo_windows,
            window=lambda keys: keys.whole("window_size", 256),
        ),
        mlps=Dense(gated=False, bias=True, width=four_times),
        norms=LAYER_NORM,
        outside=_GPT2,
        defaults={"max_position_embeddings": 2048, "attention_types": [[["global", "local"], 12]]},
        aliases={"num_attention_heads": ("num_heads",)},
    ),
    Family(
        types=("gptj", "codegen"),
        mixers=Grouped(kv_heads=as_queries, head_dim=hidden_over_heads),
        mlps=Dense(gated=False, bias=True, width=four_times),
        norms=Norms(layer=1, bias=True),
        outside=Outside(head_bias=True),
    ),
    Family(
        types=("gpt_neox",),
        mixers=Grouped(
            qkv_bias="attention_bias", o_bias="attention_bias", kv_heads=as_queries, head_dim=hidden_over_heads
        ),
        mlps=Dense(gated=False, bias=True),
        norms=LAYER_NORM,
        defaults={"attention_bias": True},
    ),
    Family(
        types=("opt",),
        mixers=Grouped(qkv_bias="enable_bias", o_bias="enable_bias", kv_heads=as_queries, head_dim=hidden_over_heads),
        mlps=Dense(gated=False, bias="enable_bias", width=stated("ffn_dim")),
        norms=opt_norms,
        outside=projected("word_embed_proj_dim"),
        defaults={"enable_bias": True},
    ),
    Family(
        types=("biogpt",),
        mixers=Grouped(qkv_bias=True, o_bias=True, kv_heads=as_queries, head_dim=hidden_over_heads),
        mlps=Dense(gated=False, bias=True),
        norms=LAYER_NORM,
        outside=Outside(tied=True, positions=learned(2)),
        defaults={"max_position_embeddings": 1024},
    ),
    Family(
        types=("xglm",),
        mixers=Grouped(qkv_bias=True, o_bias=True, kv_heads=as_queries, head_dim=hidden_over_heads),
        mlps=Dense(gated=False, bias=True, width=stated("ffn_dim")),
        norms=LAYER_NORM,
        outside=Outside(tied=True),
        aliases={"num_attention_heads": ("attention_heads",)},
    ),
    Family(
        types=("bloom",),
        mixers=Grouped(qkv_bias=True, o_bias=True, kv_heads=as_queries, head_dim=hidden_over_heads),
        mlps=Dense(gated=False, bias=True, width=lambda keys: 4 * keys.hidden),
        norms=Norms(outside=2, bias=True),
        outside=Outside(tied=True),
    ),
    Family(
        types=("falcon", "RefinedWebModel", "RefinedWeb"),
        mixers=Grouped(qkv_bias="bias", o_bias="bias", kv_heads=falcon_kv_heads, head_dim=hidden_over_heads),
        mlps=Dense(gated=False, bias="bias", width=four_times),
        norms=falcon_norms,
        outside=Outside(tied=True),
    ),
    Family(
        types=("mpt",),
        mixers=Grouped(kv_heads=mpt_kv_heads, head_dim=hidden_over_heads),
        mlps=Dense(gated=False, width=mpt_width),
        outside=Outside(tied=True),
        refused=mpt_refused,
    ),
    Family(
        types=("phi",),
        mixers=Grouped(qkv_bias=True, o_bias=True, qk_norm=BIASED_HEAD_NORM, qk_norm_if="qk_layernorm"),
        mlps=Dense(gated=False, bias=True),
        norms=Norms(layer=1, bias=True),
        outside=Outside(head_bias=True),
    ),
    Family(
        types=("persimmon",),
        mixers=Grouped(
            qkv_bias=True, o_bias=True, kv_heads=as_queries, qk_norm=BIASED_HEAD_NORM, qk_norm_if="qk_layernorm"
        ),
        mlps=Dense(gated=False, bias=True),
        norms=LAYER_NORM,
        defaults={"qk_layernorm": True},
    ),
    Family(
        types=("stablelm",),
        mixers=Grouped(qkv_bias="use_qkv_bias", qk_norm=FULL_NORM, qk_norm_if="qk_layernorm"),
        norms=stablelm_norms,
        defaults={"num_key_value_heads": 32},
    ),
    Family(
        types=("starcoder2",),
        mixers=Grouped(qkv_bias="use_bias", o_bias="use_bias", windows=sliding_if_set),
        mlps=Dense(gated=False, bias="use_bias"),
        norms=LAYER_NORM,
        outside=Outside(tied=True),
        defaults={"num_key_value_heads": 2, "use_bias": True},
    ),
)
