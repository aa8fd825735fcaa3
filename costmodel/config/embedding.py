"""Around the layers: the embedding and whether it is the head, tables of positions, the last norm, the head's bias."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from costmodel.config.keys import Keys
from costmodel.config.parts import Switch, switched
from costmodel.model import Matrix


@dataclass(frozen=True)
class Norms:
    """Norms of the residual stream, each as wide as it: how many a layer, how many outside, and whether with a bias."""

    layer: int = 2
    outside: int = 1
    bias: bool = False

    @property
    def values(self) -> int:
        """Values a norm and unit of width: a weight, and a bias."""
        return 2 if self.bias else 1


RMS = Norms()
LAYER_NORM = Norms(bias=True)


@dataclass(frozen=True, kw_only=True)
class Outside:
    """Rule of what surrounds the layers.

    Attributes
    ----------
    tied: the head is the embedding where the config does not say (its class's default).
    positions: rows of a learned table of positions, beyond the longest context; None without a table.
    head_bias: the head has a bias.
    width: width of an embedding row where it is projected to the hidden size; None: the hidden size.
    """

    tied: bool = False
    positions: Callable[[Keys], int] | None = None
    head_bias: Switch = False
    width: Callable[[Keys], int | None] = lambda _: None

    def position_params(self, keys: Keys) -> int:
        """Parameters of the table of positions."""
        return self.positions(keys) * keys.hidden if self.positions else 0

    def projections(self, keys: Keys) -> tuple[Matrix, ...]:
        """Projections between a narrow embedding and the hidden size, in and out (OPT-350m)."""
        narrow = self.width(keys)
        if narrow is None or narrow == keys.hidden:
            return ()
        return (
            Matrix("project in", "project_in", narrow, keys.hidden, "none"),
            Matrix("project out", "project_out", keys.hidden, narrow, "none"),
        )

    def head_bias_params(self, keys: Keys) -> int:
        """Parameters of the head's bias."""
        return keys.whole("vocab_size") * switched(keys, self.head_bias)


def learned(extra: int = 0) -> Callable[[Keys], int]:
    """A learned position for each token of the longest context, and ``extra`` more."""
    return lambda keys: keys.whole("max_position_embeddings") + extra
