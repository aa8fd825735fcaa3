"""Multimodal types: the type of their language part, where that part does not name its own."""

from __future__ import annotations

from collections.abc import Mapping

WRAPPERS: Mapping[str, str] = {
    "aya_vision": "cohere2",
    "deepseek_vl": "llama",
    "deepseek_vl_v2": "deepseek_v2",
    "gemma3": "gemma3_text",
    "gemma3n": "gemma3n_text",
    "gemma4": "gemma4_text",
    "glm4v": "glm4v_text",
    "glm4v_moe": "glm4v_moe_text",
    "idefics2": "mistral",
    "idefics3": "llama",
    "internvl": "qwen2",
    "internvl_chat": "llama",
    "kimi_k25": "kimi_k2",
    "kimi_vl": "deepseek_v3",
    "lfm2_vl": "lfm2",
    "llama4": "llama4_text",
    "llava": "llama",
    "llava_next": "llama",
    "llava_next_video": "llama",
    "llava_onevision": "qwen2",
    "mistral3": "mistral",
    "paligemma": "gemma",
    "qwen2_5_vl": "qwen2_5_vl_text",
    "qwen2_audio": "qwen2",
    "qwen2_vl": "qwen2_vl_text",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
    "qwen3_vl": "qwen3_vl_text",
    "qwen3_vl_moe": "qwen3_vl_moe_text",
    "smolvlm": "llama",
    "video_llava": "llama",
    "vipllava": "llama",
    "voxtral": "llama",
}
"""Type of the whole, and the type of its language part."""
