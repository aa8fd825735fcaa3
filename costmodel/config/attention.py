"""Attention: how many heads of which width, and which layers see everything, a window or a chunk.

Source of the rules: the model classes of Hugging Face transformers that read these keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from costmodel.config.keys import Keys
from costmodel.config.parts import Builder, Part, Switch, by_kind, switched
from costmodel.errors import ConfigError
from costmodel.model import Attention

FULL, SLIDING, CHUNKED, LINEAR = "full_attention", "sliding_attention", "chunked_attention", "linear_attention"

_OLD_NAMES = {"attention": FULL, "mamba": LINEAR, "recurrent": LINEAR, "conv": LINEAR}
_CHUNK = "attention_chunk_size"

Windows = Callable[[Keys], Sequence[str]]
"""From the keys to the kind of attention of each layer."""


# ---- which layers see what ----------------------------------------------------------------------------------


def full(keys: Keys) -> list[str]:
    """Every layer sees everything."""
    return [FULL] * keys.layers


def sliding_if_set(keys: Keys) -> list[str]:
    """Every layer has the window, where there is one (Mistral 0.1, Phi-3, StarCoder2)."""
    return [SLIDING if keys.raw("sliding_window") is not None else FULL] * keys.layers


def sliding_if_used(keys: Keys) -> list[str]:
    """Qwen: the window counts only when ``use_sliding_window`` says so, and from ``max_window_layers`` on."""
    if not keys.flag("use_sliding_window"):
        return full(keys)
    return sliding_from_max_window_layers(keys)


def sliding_from_max_window_layers(keys: Keys) -> list[str]:
    """The window, where there is one, counts from layer ``max_window_layers`` on."""
    if keys.raw("sliding_window") is None:
        return full(keys)
    first = keys.whole("max_window_layers", low=0)
    return [SLIDING if layer >= first else FULL for layer in range(keys.layers)]


def sliding_if_used_everywhere(keys: Keys) -> list[str]:
    """Qwen3-MoE: the window counts in all layers at once, when ``use_sliding_window`` says so."""
    return sliding_if_set(keys) if keys.flag("use_sliding_window") else full(keys)


def alternating_if_used(keys: Keys) -> list[str]:
    """Qwen2-MoE: every second layer before ``max_window_layers``, when ``use_sliding_window`` says so."""
    if not keys.flag("use_sliding_window"):
        return full(keys)
    end = keys.whole("max_window_layers", low=0)
    return [SLIDING if layer % 2 == 0 and layer < end else FULL for layer in range(keys.layers)]


def every(period: int, pattern: str = "sliding_window_pattern", *, first: bool = False) -> Windows:
    """The last of each ``period`` layers (or the ``first``) sees everything; the key ``pattern`` changes the period."""

    def windows(keys: Keys) -> list[str]:
        if keys.raw("sliding_window") is None:
            return full(keys)
        if isinstance(keys.raw(pattern), str):
            return _spelled(keys, pattern)
        step = keys.whole(pattern, period)
        position = 0 if first else step - 1
        return [FULL if layer % step == position else SLIDING for layer in range(keys.layers)]

    return windows


def _spelled(keys: Keys, pattern: str) -> list[str]:
    """A pattern in letters, repeated: L for local, G for global."""
    letters = keys.text(pattern)
    kinds = {"L": SLIDING, "G": FULL}
    if not letters or set(letters) - set(kinds):
        raise ConfigError(pattern, letters, "the letters L (window) and G (everything)")
    return [kinds[letters[layer % len(letters)]] for layer in range(keys.layers)]


def sliding_without_positions(keys: Keys) -> list[str]:
    """SmolLM3: the window, when used, counts in the layers without rotary positions (0 in ``no_rope_layers``)."""
    if not keys.flag("use_sliding_window") or keys.raw("sliding_window") is None:
        return full(keys)
    return [FULL if rotary else SLIDING for rotary in _rotary(keys)]


def chunked_with_positions(keys: Keys) -> list[str]:
    """Llama 4: the layers with rotary positions (1 in ``no_rope_layers``) see their chunk, the others everything."""
    if keys.raw(_CHUNK) is None:
        return full(keys)
    return [CHUNKED if rotary else FULL for rotary in _rotary(keys)]


def _rotary(keys: Keys) -> list[bool]:
    listed = keys.each("no_rope_layers", int)
    if not listed:
        interval = keys.whole("no_rope_layer_interval", 4)
        return [(layer + 1) % interval != 0 for layer in range(keys.layers)]
    return [bool(flag) for flag in keys.each("no_rope_layers", int, keys.layers) or ()]


def every_linear(period: int, key: str = "full_attention_interval") -> Windows:
    """Every ``period``-th layer attends, the others are linear (Qwen3-Next)."""

    def windows(keys: Keys) -> list[str]:
        step = keys.whole(key, period)
        return [LINEAR if (layer + 1) % step else FULL for layer in range(keys.layers)]

    return windows


def said(otherwise: Windows, name: str = "layer_types", kinds: Sequence[str] = (FULL, SLIDING)) -> Windows:
    """``layer_types`` decides where the config has it; else the rule of the class.

    Raises
    ------
    ConfigError: for a kind of attention that is not known.
    """

    def windows(keys: Keys) -> Sequence[str]:
        listed = keys.each(name, str, keys.layers)
        if listed is None:
            return otherwise(keys)
        named = [_OLD_NAMES.get(kind, kind) for kind in listed]
        for kind in named:
            if kind not in kinds:
                raise ConfigError(name, kind, f"one of {', '.join(kinds)}")
        return named

    return windows


# ---- heads --------------------------------------------------------------------------------------------------


def head_dim(keys: Keys) -> int:
    """Width of a head: as the config says, else hidden size over heads, which must divide."""
    stated = keys.whole_or_none("head_dim")
    return hidden_over_heads(keys) if stated is None else stated


def hidden_over_heads(keys: Keys) -> int:
    """Hidden size over heads, which must divide, whatever the config says of a head's width.

    Raises
    ------
    ConfigError: when the heads do not divide the hidden size.
    """
    width, rest = divmod(keys.hidden, keys.heads)
    if rest or not width:
        raise keys.wrong("num_attention_heads", keys.heads, f"a divisor of the hidden size {keys.hidden:,}")
    return width


def kv_heads(keys: Keys) -> int:
    """KV heads: as the config says, else as many as query heads (multi-head attention)."""
    return dividing(keys, "num_key_value_heads", keys.heads)


def dividing(keys: Keys, name: str, otherwise: int | None = None) -> int:
    """A number of KV heads that divides the query heads.

    Raises
    ------
    ConfigError: when the count does not divide the heads.
    """
    count = keys.whole(name, otherwise)
    if keys.heads % count:
        raise keys.wrong(name, count, f"a divisor of the {keys.heads:,} query heads")
    return count


def as_queries(keys: Keys) -> int:
    """As many KV heads as query heads (multi-head attention only)."""
    return keys.heads


_AS_SAID = said(full)

HEAD_NORM, FULL_NORM, BIASED_HEAD_NORM = "head", "full", "biased head"


@dataclass(frozen=True, kw_only=True)
class Grouped:
    """Rule of softmax attention with grouped heads.

    Attributes
    ----------
    qkv_bias, o_bias: biases of the projections.
    qk_norm: norms of queries and keys: "head", one as wide as a head for each; "full", as wide as their projections;
        "biased head", as "head" with a bias. qk_norm_if: whether they are there.
    sinks: one learned logit a head.
    output_gate: a gate as wide as the queries is projected beside them. gate_bias: it has a bias where they have one.
    shares_kv: keys and values are those of an earlier layer. values_from_keys: one projection gives both.
    windows: which layers see what. window: the key of the window, or its rule.
    kv_heads, head_dim, v_head_dim: rules of the heads; v_head_dim None: as head_dim.
    """

    qkv_bias: Switch = False
    o_bias: Switch = False
    qk_norm: str = ""
    qk_norm_if: Switch = True
    sinks: bool = False
    output_gate: bool = False
    gate_bias: bool = True
    shares_kv: bool = False
    values_from_keys: Switch = False
    windows: Windows = _AS_SAID
    window: Callable[[Keys], int] = lambda keys: keys.whole("sliding_window")
    kv_heads: Callable[[Keys], int] = kv_heads
    head_dim: Callable[[Keys], int] = head_dim
    v_head_dim: Callable[[Keys], int] | None = None

    def __call__(self, keys: Keys) -> Sequence[Part]:
        """One part a layer."""
        return by_kind(self.windows, self.builders())(keys)

    def builders(self) -> Mapping[str, Builder]:
        """The builder of each kind of layer."""
        return {kind: self.of_kind(kind) for kind in (FULL, SLIDING, CHUNKED)}

    def of_kind(self, kind: str = FULL) -> Builder:
        """The builder of one kind of layer."""
        return lambda keys: self._part(keys, self._limits(keys, kind))

    def _limits(self, keys: Keys, kind: str) -> Mapping[str, int]:
        if kind == SLIDING:
            return {"window": self.window(keys)}
        return {"chunk": keys.whole(_CHUNK)} if kind == CHUNKED else {}

    def _part(self, keys: Keys, limits: Mapping[str, Any]) -> Part:
        body = Attention(
            q_heads=keys.heads,
            kv_heads=self.kv_heads(keys),
            head_dim=self.head_dim(keys),
            v_head_dim=self.v_head_dim(keys) if self.v_head_dim else None,
            output_gate=self.output_gate,
            shares_kv=self.shares_kv,
            values_from_keys=switched(keys, self.values_from_keys),
            **limits,
        )
        return Part(body, vectors=self._vectors(keys, body))

    def _vectors(self, keys: Keys, body: Attention) -> int:
        return (
            self._qkv_width(body) * switched(keys, self.qkv_bias)
            + keys.hidden * switched(keys, self.o_bias)
            + self._norm_width(body) * switched(keys, self.qk_norm_if)
            + body.q_heads * self.sinks
        )

    def _qkv_width(self, body: Attention) -> int:
        """Outputs of the projections that have a bias."""
        queries = body.q_heads * body.head_dim * (1 + (body.output_gate and self.gate_bias))
        keys, values = body.kv_heads * body.head_dim, body.kv_heads * body.v_dim
        return queries + (0 if body.shares_kv else keys + values * (not body.values_from_keys))

    def _norm_width(self, body: Attention) -> int:
        """Parameters of the norms of queries and keys."""
        queries = {"": 0, HEAD_NORM: 1, BIASED_HEAD_NORM: 2, FULL_NORM: body.q_heads}[self.qk_norm]
        keys = {"": 0, HEAD_NORM: 1, BIASED_HEAD_NORM: 2, FULL_NORM: body.kv_heads}[self.qk_norm]
        return body.head_dim * (queries + keys * (not body.shares_kv))
