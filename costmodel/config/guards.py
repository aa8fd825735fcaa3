"""Guards: keys that change the arithmetic of a model whatever its family, and the families that cover them.

A config may carry the name of a known family and a mechanism of another. It is declined rather than read half.
"""

from __future__ import annotations

from collections.abc import Mapping

from costmodel.config.keys import Keys
from costmodel.errors import ConfigError

_LATENT = frozenset(
    {"deepseek_v2", "deepseek_v3", "kimi_k2", "kimi_linear", "glm4_moe_lite", "sarvam_mla", "minicpm3", "youtu"}
)
_GEMMA = frozenset({"gemma3n_text", "gemma4_text"})
_NONE: frozenset[str] = frozenset()

GUARDS: Mapping[str, tuple[str, frozenset[str]]] = {
    "compress_ratios": ("compressed caches are not modelled", _NONE),
    "cross_attention_layers": ("layers that attend to pictures are not modelled", _NONE),
    "index_topk": ("sparse attention through an index is not modelled", _NONE),
    "kv_lora_rank": ("this family has no latent attention", _LATENT),
    "moe_latent_size": ("experts on a projection of the hidden size are not modelled", _NONE),
    "num_kv_shared_layers": ("this family has no layers that share a cache", _GEMMA),
    "routed_expert_hidden_size": ("experts on a projection of the hidden size are not modelled", _NONE),
    "sparse_attention_config": ("sparse attention is not modelled", _NONE),
    "use_cla": ("caches that neighbouring layers share are not modelled", _NONE),
}
"""Key, why it is declined, and the families that cover it."""

_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")


def guard(kind: str, keys: Keys, *, dense: bool) -> None:
    """Decline a config that asks for what its family's rules do not cover.

    Raises
    ------
    ConfigError: it names the key and says why.
    """
    for name, (why, families) in GUARDS.items():
        if keys.values.get(name) and kind not in families:
            raise ConfigError(name, keys.values[name], f"nothing: {why}")
    for name in _EXPERTS if dense else ():
        value = keys.values.get(name)
        if isinstance(value, int) and value > 1:
            raise ConfigError(name, value, f"nothing: the family {kind} is read as one without experts")
