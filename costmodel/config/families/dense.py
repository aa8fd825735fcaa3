"""Families whose every layer is attention and a dense MLP, in the shape that Llama made common."""

from __future__ import annotations

from dataclasses import replace

from costmodel.config.attention import (
    FULL_NORM,
    HEAD_NORM,
    Grouped,
    every,
    full,
    hidden_over_heads,
    said,
    sliding_if_set,
    sliding_if_used,
    sliding_without_positions,
)
from costmodel.config.embedding import LAYER_NORM, Norms, Outside
from costmodel.config.family import Family
from costmodel.config.mlp import Dense, halved

TIED = Outside(tied=True)
BIASED = Grouped(qkv_bias="attention_bias", o_bias="attention_bias")
"""Attention whose biases the key ``attention_bias`` decides."""

LLAMA_7B = {
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "intermediate_size": 11008,
    "vocab_size": 32000,
    "max_position_embeddings": 2048,
}
MISTRAL_7B = {
    **LLAMA_7B,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "sliding_window": 4096,
    "max_position_embeddings": 131072,
}
QWEN2_7B = {
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "intermediate_size": 22016,
    "vocab_size": 151936,
    "sliding_window": 4096,
    "max_window_layers": 28,
    "max_position_embeddings": 32768,
}
QWEN2_VL_72B = {
    **QWEN2_7B,
    "hidden_size": 8192,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "intermediate_size": 29568,
    "vocab_size": 152064,
    "max_window_layers": 80,
}
QWEN3_VL = {**QWEN2_7B, "head_dim": 128, "max_position_embeddings": 128000}
GEMMA_7B = {
    "hidden_size": 3072,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "head_dim": 256,
    "intermediate_size": 24576,
    "vocab_size": 256000,
    "max_position_embeddings": 8192,
}
GEMMA_2_2B = {
    **GEMMA_7B,
    "hidden_size": 2304,
    "num_hidden_layers": 26,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "intermediate_size": 9216,
    "sliding_window": 4096,
}
GEMMA_3_4B = {**GEMMA_2_2B, "vocab_size": 262208, "max_position_embeddings": 131072}
COHERE = {
    "hidden_size": 8192,
    "num_hidden_layers": 40,
    "num_attention_heads": 64,
    "intermediate_size": 22528,
    "vocab_size": 256000,
    "sliding_window": 4096,
    "max_position_embeddings": 8192,
}


FAMILIES = (
    Family(
        types=("llama", "aquila", "Yi", "xverse", "iquestcoder"),
        mixers=BIASED,
        mlps=Dense(bias="mlp_bias"),
        defaults=LLAMA_7B,
    ),
    Family(types=("mistral",), mixers=Grouped(windows=said(sliding_if_set)), defaults=MISTRAL_7B),
    Family(types=("ministral",), mixers=Grouped(windows=said(sliding_if_set)), defaults=MISTRAL_7B),
    Family(
        types=("ministral3",),
        mixers=Grouped(windows=said(sliding_if_set)),
        defaults={**MISTRAL_7B, "num_hidden_layers": 34, "head_dim": 128, "vocab_size": 131072, "sliding_window": None},
    ),
    Family(types=("qwen2", "mimo"), mixers=Grouped(qkv_bias=True, windows=said(sliding_if_used)), defaults=QWEN2_7B),
    Family(
        types=("qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text"),
        mixers=Grouped(qkv_bias=True, windows=said(sliding_if_used)),
        defaults=QWEN2_VL_72B,
    ),
    Family(
        types=("qwen",),
        mixers=Grouped(qkv_bias=True),
        mlps=Dense(width=halved),
    ),
    Family(
        types=("qwen3",),
        mixers=replace(BIASED, qk_norm=HEAD_NORM, windows=said(sliding_if_used)),
        defaults={**QWEN2_7B, "head_dim": 128},
    ),
    Family(types=("qwen3_vl_text",), mixers=replace(BIASED, qk_norm=HEAD_NORM), defaults=QWEN3_VL),
    Family(types=("minicpm",), mixers=BIASED, outside=TIED),
    Family(types=("gemma",), mixers=BIASED, outside=TIED, defaults=GEMMA_7B),
    Family(
        types=("gemma2",),
        mixers=replace(BIASED, windows=said(every(2))),
        norms=Norms(layer=4),
        outside=TIED,
        defaults=GEMMA_2_2B,
    ),
    Family(
        types=("gemma3_text",),
        mixers=replace(BIASED, qk_norm=HEAD_NORM, windows=said(every(6))),
        norms=Norms(layer=4),
        outside=TIED,
        defaults=GEMMA_3_4B,
    ),
    Family(
        types=("vaultgemma",),
        mixers=replace(BIASED, windows=said(every(2))),
        outside=TIED,
        defaults=GEMMA_2_2B,
    ),
    Family(types=("phi3",), mixers=Grouped(windows=said(sliding_if_set))),
    Family(
        types=("cohere",),
        mixers=replace(BIASED, qk_norm=FULL_NORM, qk_norm_if="use_qk_norm", head_dim=hidden_over_heads),
        norms=Norms(layer=1),
        outside=TIED,
        defaults=COHERE,
    ),
    Family(
        types=("cohere2",),
        mixers=replace(BIASED, windows=said(every(4))),
        norms=Norms(layer=1),
        outside=TIED,
        defaults=COHERE,
    ),
    Family(types=("granite",), mixers=BIASED, mlps=Dense(bias="mlp_bias")),
    Family(types=("helium",), mixers=Grouped(qkv_bias="attention_bias"), mlps=Dense(bias="mlp_bias")),
    Family(types=("olmo",), mixers=BIASED, norms=Norms(layer=0, outside=0)),
    Family(types=("olmo2",), mixers=replace(BIASED, qk_norm=FULL_NORM)),
    Family(
        types=("olmo3",),
        mixers=replace(BIASED, qk_norm=FULL_NORM, windows=said(every(4))),
        defaults={"sliding_window": 4096},
    ),
    Family(
        types=("smollm3",),
        mixers=replace(BIASED, windows=said(sliding_without_positions)),
        mlps=Dense(bias="mlp_bias"),
        outside=TIED,
        defaults={"num_key_value_heads": 4},
    ),
    Family(
        types=("glm",),
        mixers=Grouped(qkv_bias="attention_bias"),
        defaults={"num_key_value_heads": 2, "head_dim": 128, "attention_bias": True},
    ),
    Family(
        types=("glm4",),
        mixers=Grouped(qkv_bias="attention_bias"),
        norms=Norms(layer=4),
        defaults={"num_key_value_heads": 2, "head_dim": 128, "attention_bias": True},
    ),
    Family(
        types=("glm4v_text",),
        mixers=Grouped(qkv_bias=True),
        norms=Norms(layer=4),
        defaults={"num_key_value_heads": 2},
    ),
    Family(types=("exaone",), mixers=BIASED, mlps=Dense(bias="mlp_bias")),
    Family(
        types=("exaone4",),
        mixers=Grouped(qk_norm=HEAD_NORM, windows=said(every(4))),
        defaults={"sliding_window": 4096},
    ),
    Family(
        types=("seed_oss",),
        mixers=Grouped(qkv_bias="attention_bias", o_bias="attention_out_bias"),
        mlps=Dense(bias="mlp_bias"),
        defaults={"head_dim": 128, "num_key_value_heads": 8, "attention_bias": True},
    ),
    Family(types=("hunyuan_v1_dense",), mixers=replace(BIASED, qk_norm=HEAD_NORM)),
    Family(
        types=("cwm",),
        mixers=Grouped(windows=said(every(4, first=True))),
        mlps=Dense(bias="mlp_bias"),
        defaults={"head_dim": 128, "num_key_value_heads": 8, "sliding_window": 8192},
    ),
    Family(
        types=("ernie4_5",),
        mixers=Grouped(qkv_bias="use_bias", o_bias="use_bias"),
        mlps=Dense(bias="use_bias"),
        outside=TIED,
        defaults={"head_dim": 128, "num_key_value_heads": 2},
    ),
    Family(
        types=("internlm3",),
        mixers=BIASED,
        mlps=Dense(bias="mlp_bias"),
        defaults={"head_dim": 128, "num_key_value_heads": 2},
        aliases={"attention_bias": ("qkv_bias",), "mlp_bias": ("bias",)},
    ),
    Family(types=("internlm2",), mixers=Grouped(qkv_bias="bias", o_bias="bias")),
    Family(types=("baichuan",), mixers=Grouped()),
    Family(
        types=("nemotron",),
        mixers=BIASED,
        mlps=Dense(gated=False, bias="mlp_bias"),
        norms=LAYER_NORM,
    ),
    Family(types=("arcee",), mixers=BIASED, mlps=Dense(gated=False, bias="mlp_bias")),
    Family(types=("apertus",), mixers=replace(BIASED, qk_norm=HEAD_NORM), mlps=Dense(gated=False, vectors=2)),
    Family(
        types=("jais2",),
        mixers=BIASED,
        mlps=Dense(gated=False, bias="mlp_bias"),
        norms=LAYER_NORM,
        defaults={"attention_bias": True, "mlp_bias": True},
    ),
    Family(types=("nanochat",), mixers=BIASED, mlps=Dense(gated=False), norms=Norms(layer=0, outside=0)),
    Family(
        types=("chatglm",),
        mixers=Grouped(
            qkv_bias="add_qkv_bias",
            o_bias="add_bias_linear",
            kv_heads=lambda keys: (
                keys.whole("multi_query_group_num") if keys.flag("multi_query_attention") else keys.heads
            ),
            windows=full,
        ),
        mlps=Dense(bias="add_bias_linear"),
    ),
)
