"""Families whose every layer is attention and a dense MLP."""

from __future__ import annotations

from costmodel.config.attention import Grouped, every, full, said, sliding_if_set, sliding_if_used
from costmodel.config.embedding import Norms, Outside
from costmodel.config.family import Family
from costmodel.config.mlp import Dense

_LLAMA_7B = {
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "intermediate_size": 11008,
    "vocab_size": 32000,
}
_GEMMA_3 = {
    "hidden_size": 2304,
    "num_hidden_layers": 26,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "intermediate_size": 9216,
    "vocab_size": 262208,
    "sliding_window": 4096,
    "max_position_embeddings": 131072,
}

FAMILIES = (
    Family(
        types=("llama",),
        mixers=Grouped(qkv_bias="attention_bias", o_bias="attention_bias"),
        mlps=Dense(bias="mlp_bias"),
        defaults=_LLAMA_7B,
    ),
    Family(
        types=("mistral",),
        mixers=Grouped(windows=said(sliding_if_set)),
        defaults={**_LLAMA_7B, "num_key_value_heads": 8, "intermediate_size": 14336, "sliding_window": 4096},
    ),
    Family(types=("qwen2",), mixers=Grouped(qkv_bias=True, windows=said(sliding_if_used))),
    Family(
        types=("qwen3",),
        mixers=Grouped(
            qkv_bias="attention_bias", o_bias="attention_bias", qk_norm="head", windows=said(sliding_if_used)
        ),
        defaults={"head_dim": 128},
    ),
    Family(
        types=("gemma3_text",),
        mixers=Grouped(
            qkv_bias="attention_bias", o_bias="attention_bias", qk_norm="head", windows=said(every(6))
        ),
        norms=Norms(layer=4),
        outside=Outside(tied=True),
        defaults=_GEMMA_3,
    ),
    Family(types=("phi3",), mixers=Grouped(windows=said(sliding_if_set))),
)
