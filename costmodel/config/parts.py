"""The pieces that rules give: a part of a layer with its vectors, and the rule types that families are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from costmodel.config.keys import Keys
from costmodel.model import Experts, Layer, Matrix, Mixer, Mlp


@dataclass(frozen=True, eq=False)
class Part:
    """A mixer or an MLP of one layer.

    Attributes
    ----------
    body: the part itself; None where a layer has none.
    vectors: parameters beside its matrices: biases, norms inside it, convolutions.
    idle: those of ``vectors`` that one token does not use (biases of the experts that it is not sent to).
    extra: further matrices that are applied to each token.
    """

    body: Mixer | Mlp | Experts | None
    vectors: int = 0
    idle: int = 0
    extra: tuple[Matrix, ...] = ()


NOTHING = Part(None)

Rule = Callable[[Keys], Sequence[Part]]
"""From the keys to one part a layer."""

Builder = Callable[[Keys], Part]
"""From the keys to the part that all layers of one kind share."""

Layout = Callable[[Keys], Sequence[str]]
"""From the keys to the kind of each layer."""

Switch = bool | str
"""A fact of a family: true, false, or the key of the config that decides (false where it is left out)."""


def switched(keys: Keys, switch: Switch) -> bool:
    """Return whether a switch is on."""
    return keys.flag(switch) if isinstance(switch, str) else switch


def by_kind(layout: Layout, builders: Mapping[str, Builder]) -> Rule:
    """Return the rule that builds each kind of part once and lays the parts out."""

    def rule(keys: Keys) -> Sequence[Part]:
        kinds = layout(keys)
        parts = {kind: builders[kind](keys) for kind in dict.fromkeys(kinds)}
        return [parts[kind] for kind in kinds]

    return rule


def everywhere(builder: Builder) -> Rule:
    """Return the rule of a model whose layers are all alike."""

    def rule(keys: Keys) -> Sequence[Part]:
        return [builder(keys)] * keys.layers

    return rule


def runs(layers: Sequence[Layer]) -> tuple[tuple[Layer, int], ...]:
    """Count neighbours that are the same object."""
    groups = (list(group) for _, group in groupby(layers, key=id))
    return tuple((group[0], len(group)) for group in groups)
