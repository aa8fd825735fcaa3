"""Families with multi-head latent attention."""

from __future__ import annotations

from costmodel.config.embedding import Outside
from costmodel.config.family import Family
from costmodel.config.latent import Latent
from costmodel.config.mlp import Dense, Routed, after_dense, listed, shared_experts

_DEEPSEEK_V2 = {
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "intermediate_size": 11008,
    "moe_intermediate_size": 1407,
    "num_experts": 64,
    "num_shared_experts": 2,
    "vocab_size": 102400,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "max_position_embeddings": 2048,
}
_DEEPSEEK_V3 = {
    "hidden_size": 7168,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "num_experts": 256,
    "num_experts_per_tok": 8,
    "num_shared_experts": 1,
    "vocab_size": 129280,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "max_position_embeddings": 4096,
}

FAMILIES = (
    Family(
        types=("deepseek_v2",),
        mixers=Latent(),
        mlps=Routed(
            places=after_dense(),
            dense=Dense(bias="mlp_bias"),
            shared=shared_experts,
            shared_bias="mlp_bias",
            fewest=1,
        ),
        defaults=_DEEPSEEK_V2,
    ),
    Family(
        types=("deepseek_v3", "kimi_k2"),
        mixers=Latent(),
        mlps=Routed(places=after_dense(otherwise=3), shared=shared_experts, fewest=1),
        defaults=_DEEPSEEK_V3,
    ),
    Family(
        types=("glm4_moe_lite",),
        mixers=Latent(),
        mlps=Routed(places=listed(after_dense(otherwise=1)), shared=shared_experts),
        defaults={
            "num_shared_experts": 1,
            "q_lora_rank": 768,
            "kv_lora_rank": 512,
            "qk_rope_head_dim": 64,
            "qk_nope_head_dim": 192,
            "v_head_dim": 256,
        },
    ),
    Family(
        types=("sarvam_mla",),
        mixers=Latent(),
        mlps=Routed(places=after_dense(otherwise=1), shared=shared_experts),
        defaults={
            "num_shared_experts": 1,
            "q_lora_rank": None,
            "kv_lora_rank": 512,
            "qk_rope_head_dim": 64,
            "qk_nope_head_dim": 128,
            "v_head_dim": 128,
        },
    ),
    Family(
        types=("minicpm3",),
        mixers=Latent(v_dim=lambda keys: keys.whole("v_head_dim", keys.hidden // keys.heads)),
        mlps=Dense(bias="mlp_bias"),
        outside=Outside(tied=True),
        defaults={
            "q_lora_rank": 768,
            "kv_lora_rank": 256,
            "qk_rope_head_dim": 32,
            "qk_nope_head_dim": 64,
        },
    ),
    Family(
        types=("youtu",),
        mixers=Latent(),
        outside=Outside(tied=True),
        defaults={
            "q_lora_rank": 1536,
            "kv_lora_rank": 512,
            "qk_rope_head_dim": 64,
            "qk_nope_head_dim": 128,
            "v_head_dim": 128,
        },
    ),
)
