"""Types that are known and declined, each with what would be counted wrong."""

from __future__ import annotations

from collections.abc import Mapping

_SPARSE = "its attention reads a chosen few of the cached keys through an index of their own, which is not modelled"
_ENCODER = "it is an encoder or has one, and there is no decode step to price"
_TWO_MIXERS = "its layers run attention and a state-space model side by side, which is not modelled"
_SHARED = "its layers share one attention block, stored once and run often, which is not modelled"

DECLINED: Mapping[str, str] = {
    "bart": _ENCODER,
    "bert": _ENCODER,
    "bitnet": "its ternary weights and the norms inside its projections are not modelled",
    "deepseek_v32": _SPARSE,
    "deepseek_v4": "each layer compresses its cache by a ratio of its own and " + _SPARSE,
    "diffllama": "its differential attention is not modelled",
    "falcon_h1": _TWO_MIXERS,
    "glm_moe_dsa": _SPARSE,
    "jetmoe": "its attention heads are routed experts, which is not modelled",
    "kimi_k3": "its language part mixes delta attention with gated latent attention and latent experts, not modelled",
    "longcat_flash": "its layers hold two attentions each and experts that do nothing, which is not modelled",
    "marian": _ENCODER,
    "mbart": _ENCODER,
    "minimax_m3": "it " + _SPARSE.removeprefix("its attention "),
    "minimax_m3_vl": "it " + _SPARSE.removeprefix("its attention "),
    "mllama": "its cross-attention layers keep the keys and values of pictures, which is not modelled",
    "mt5": _ENCODER,
    "pegasus": _ENCODER,
    "roberta": _ENCODER,
    "rwkv": "its time mixing is not modelled",
    "t5": _ENCODER,
    "whisper": _ENCODER,
    "zamba": _SHARED,
    "zamba2": _SHARED,
}
"""Type, and why it is declined: words that follow "a supported family; this one is declined because"."""
