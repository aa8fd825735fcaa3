"""Attention: how many heads of which width, and which layers see everything, a window or a chunk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from costmodel.config.keys import Keys
from costmodel.config.parts import Part, Rule, Switch, switched
from costmodel.errors import ConfigError
from costmodel.model import Attention

FULL, SLIDING, CHUNKED = "full_attention", "sliding_attention", "chunked_attention"

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
    if not keys.flag("use_sliding_window") or keys.raw("sliding_window") is None:
        return full(keys)
    first = keys.whole("max_window_layers", 28, low=0)
    return [SLIDING if layer >= first else FULL for layer in range(keys.layers)]


def sliding_if_used_everywhere(keys: Keys) -> list[str]:
    """Qwen-MoE: as Qwen, in all layers at once."""
    return sliding_if_set(keys) if keys.flag("use_sliding_window") else full(keys)


def every(period: int, kind: str = FULL, otherwise: str = SLIDING, pattern: str = "sliding_window_pattern") -> Windows:
    """Every ``period``-th layer is of one kind and the rest of another; the key ``pattern`` may change the period."""

    def windows(keys: Keys) -> list[str]:
        if keys.raw("sliding_window") is None:
            return full(keys)
        if isinstance(keys.raw(pattern), str):
            return _spelled(keys, pattern)
        step = keys.whole(pattern, period)
        return [kind if (layer + 1) % step == 0 else otherwise for layer in range(keys.layers)]

    return windows


def _spelled(keys: Keys, pattern: str) -> list[str]:
    """A pattern in letters, L for local and G for global, repeated; EXAONE also keeps its last layer global."""
    letters = keys.text(pattern)
    kinds = {"L": SLIDING, "G": FULL}
    if not letters or set(letters) - set(kinds):
        raise ConfigError(pattern, letters, "the letters L (window) and G (everything)")
    return [kinds[letters[layer % len(letters)]] for layer in range(keys.layers)]


def said(otherwise: Windows) -> Windows:
    """``layer_types`` decides where the config has it; else the rule of the class."""

    def windows(keys: Keys) -> Sequence[str]:
        kinds = keys.each("layer_types", str, keys.layers)
        if kinds is None:
            return otherwise(keys)
        for kind in kinds:
            if kind not in (FULL, SLIDING, CHUNKED):
                raise ConfigError("layer_types", kind, f"{FULL}, {SLIDING} or {CHUNKED}")
        if keys.raw("sliding_window") is None and SLIDING in kinds:
            raise ConfigError("sliding_window", "nothing", "a window, because layer_types has sliding layers")
        return kinds

    return windows


# ---- heads --------------------------------------------------------------------------------------------------


def head_dim(keys: Keys) -> int:
    """Width of a head: as the config says, else hidden size over heads, which must divide."""
    stated = keys.whole_or_none("head_dim")
    if stated is not None:
        return stated
    width, rest = divmod(keys.hidden, keys.heads)
    if rest or not width:
        name = keys.spelling("num_attention_heads") or "num_attention_heads"
        raise ConfigError(name, keys.heads, f"a divisor of the hidden size {keys.hidden:,}, or a head_dim")
    return width


def kv_heads(keys: Keys) -> int:
    """KV heads: as the config says, else as many as query heads (multi-head attention)."""
    count = keys.whole("num_key_value_heads", keys.heads)
    if keys.heads % count:
        name = keys.spelling("num_key_value_heads") or "num_key_value_heads"
        raise ConfigError(name, count, f"a divisor of the {keys.heads:,} query heads")
    return count


@dataclass(frozen=True, kw_only=True)
class Grouped:
    """Rule of softmax attention with grouped heads.

    Attributes
    ----------
    qkv_bias, o_bias: biases of the projections.
    qk_norm: "head": a norm as wide as a head for queries and for keys; "full": as wide as their projections.
    v_norm: the values are normalised without a weight. sinks: one learned logit a head.
    output_gate: the queries' projection also gives a gate.
    windows: which layers see what. kv_heads, head_dim: rules of the head counts.
    o_wide: ...
    """

    qkv_bias: Switch = False
    o_bias: Switch = False
    qk_norm: str | Callable[[Keys], str] = ""
    sinks: bool = False
    output_gate: bool = False
    windows: Windows = said(full)
    kv_heads: Callable[[Keys], int] = kv_heads
    head_dim: Callable[[Keys], int] = head_dim

    def __call__(self, keys: Keys) -> list[Part]:
        """One part a layer."""
        kinds = self.windows(keys)
        part = self.part(keys)
        parts = {kind: replace(part, body=_limited(part, kind, keys)) for kind in dict.fromkeys(kinds)}
        return [parts[kind] for kind in kinds]

    def part(self, keys: Keys) -> Part:
        """The attention of a layer that sees everything."""
        body = Attention(
            q_heads=keys.heads,
            kv_heads=self.kv_heads(keys),
            head_dim=self.head_dim(keys),
            output_gate=self.output_gate,
        )
        return Part(body, vectors=self._vectors(keys, body))

    def _vectors(self, keys: Keys, body: Attention) -> int:
        q, kv = body.q_heads * body.head_dim, body.kv_heads * body.head_dim
        norm = self.qk_norm if isinstance(self.qk_norm, str) else self.qk_norm(keys)
        return (
            (q + 2 * kv) * switched(keys, self.qkv_bias)
            + keys.hidden * switched(keys, self.o_bias)
            + {"": 0, "head": 2 * body.head_dim, "full": q + kv}[norm]
            + body.q_heads * self.sinks
        )


def _limited(part: Part, kind: str, keys: Keys) -> Attention:
    """The same attention with the window or chunk of its kind."""
    assert isinstance(part.body, Attention)
    limits = {
        FULL: lambda: {},
        SLIDING: lambda: {"window": keys.whole("sliding_window")},
        CHUNKED: lambda: {"chunk": keys.whole("attention_chunk_size")},
    }
    return replace(part.body, **limits[kind]())


_: Rule = Grouped()
