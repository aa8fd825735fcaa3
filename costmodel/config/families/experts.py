"""Families with a mixture of experts in some or all layers."""

from __future__ import annotations

from costmodel.config.attention import Grouped, every, said, sliding_if_set, sliding_if_used_everywhere
from costmodel.config.family import Family
from costmodel.config.mlp import Routed, sparse_steps, stated

FAMILIES = (
    Family(
        types=("mixtral",),
        mixers=Grouped(windows=said(sliding_if_set)),
        mlps=Routed(width=stated("intermediate_size")),
        defaults={"num_key_value_heads": 8},
    ),
    Family(
        types=("qwen3_moe",),
        mixers=Grouped(
            qkv_bias="attention_bias", o_bias="attention_bias", qk_norm="head", windows=sliding_if_used_everywhere
        ),
        mlps=Routed(places=sparse_steps),
        defaults={"num_key_value_heads": 4},
    ),
    Family(
        types=("gpt_oss",),
        mixers=Grouped(qkv_bias="attention_bias", o_bias="attention_bias", sinks=True, windows=said(every(2))),
        mlps=Routed(width=stated("intermediate_size"), router_bias=True, expert_bias=True),
        defaults={"head_dim": 64, "num_key_value_heads": 8, "sliding_window": 128, "attention_bias": True},
    ),
)
