"""Families found by architecture search: each block has its own attention and MLP, or none, or one plain matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from costmodel.config.attention import head_dim
from costmodel.config.embedding import Norms
from costmodel.config.family import Family
from costmodel.config.keys import Keys
from costmodel.config.parts import NOTHING, Part
from costmodel.errors import ConfigError
from costmodel.model import Attention, Matrix, Mlp

_ROUNDING = 256


def blocks(name: str, build: Callable[[Keys, Keys], Part]) -> Callable[[Keys], Sequence[Part]]:
    """One part for each entry of ``block_configs``, made by ``build`` unless it is nothing or one plain matrix.

    Raises
    ------
    ConfigError: for a block that is no object.
    """

    def rule(keys: Keys) -> Sequence[Part]:
        made: dict[str, Part] = {}
        parts = []
        for block in keys.each("block_configs", dict, keys.layers) or _missing():
            inner = block.get(name)
            if not isinstance(inner, Mapping):
                raise ConfigError(f"block_configs.{name}", inner, "an object in each block")
            known = made.setdefault(repr(sorted(inner.items(), key=str)), _part(keys, inner, build))
            parts.append(known)
        return parts

    return rule


def _missing() -> list[Any]:
    raise ConfigError("block_configs", "nothing", "one object for each layer")


def _part(keys: Keys, inner: Mapping[str, Any], build: Callable[[Keys, Keys], Part]) -> Part:
    block = Keys(inner, defaults={}, aliases={})
    if block.flag("no_op"):
        return NOTHING
    if block.flag("replace_with_linear"):
        plain = Matrix("linear", "replacement", keys.hidden, keys.hidden)
        return Part(None, vectors=keys.hidden, extra=(plain,))
    return build(keys, block)


def deci_attention(keys: Keys, block: Keys) -> Part:
    """Heads in groups of a size of each block's own; the norm before it is counted with it.

    Raises
    ------
    ConfigError: when a group does not divide the heads.
    """
    group = block.whole("n_heads_in_group", high=keys.heads)
    if keys.heads % group:
        raise ConfigError("n_heads_in_group", group, f"a divisor of the {keys.heads:,} query heads")
    body = Attention(q_heads=keys.heads, kv_heads=keys.heads // group, head_dim=head_dim(keys))
    return Part(body, vectors=keys.hidden)


def deci_mlp(keys: Keys, block: Keys) -> Part:
    """Two thirds of ``ffn_mult`` times the hidden size, rounded up to a multiple of 256.

    Raises
    ------
    ConfigError: for a factor that is no positive number.
    """
    width = int(2 * block.number("ffn_mult", 0) * keys.hidden / 3) if block.says("ffn_mult") else 0
    if not width:
        raise ConfigError("ffn_mult", block.raw("ffn_mult"), "a positive number")
    return Part(Mlp(width=-(-width // _ROUNDING) * _ROUNDING), vectors=keys.hidden)


FAMILIES = (
    Family(
        types=("nemotron-nas",),
        mixers=blocks("attention", deci_attention),
        mlps=blocks("ffn", deci_mlp),
        norms=Norms(layer=0),
    ),
)
