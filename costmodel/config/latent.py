"""Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): one compressed latent a token is cached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from costmodel.config.keys import Keys
from costmodel.config.parts import Part, Switch, switched
from costmodel.model import LatentAttention


@dataclass(frozen=True, kw_only=True)
class Latent:
    """Rule of latent attention.

    Attributes
    ----------
    bias: biases of the down-projections and of the output. v_dim: rule of the width of a value head.
    """

    bias: Switch = "attention_bias"
    v_dim: Callable[[Keys], int] = lambda keys: keys.whole("v_head_dim")

    def __call__(self, keys: Keys) -> Sequence[Part]:
        """One part a layer."""
        return [self.part(keys)] * keys.layers

    def part(self, keys: Keys) -> Part:
        """The attention of one layer. ``q_lora_rank: null`` means a plain query projection."""
        body = LatentAttention(
            heads=keys.heads,
            q_rank=keys.whole_or_none("q_lora_rank"),
            kv_rank=keys.whole("kv_lora_rank"),
            rope_dim=keys.whole("qk_rope_head_dim"),
            nope_dim=keys.whole("qk_nope_head_dim"),
            v_dim=self.v_dim(keys),
        )
        q_rank = body.q_rank or 0
        biases = (q_rank + body.kv_rank + body.rope_dim + keys.hidden) * switched(keys, self.bias)
        return Part(body, vectors=q_rank + body.kv_rank + biases)
