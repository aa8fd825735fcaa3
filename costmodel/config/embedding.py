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
class Surroundings:
    """What a family has around its layers beyond embedding, positions and head.

    Attributes
    ----------
    matrices: applied once to each token.
    vectors: parameters that are none of these.
    lookup_width, lookup_rows: a further table of which each token reads a row.
    """

    matrices: tuple[Matrix, ...] = ()
    vectors: int = 0
    lookup_width: int = 0
    lookup_rows: int = 0

    @property
    def other_params(self) -> int:
        """Parameters that are no matrix."""
        return self.vectors + self.lookup_width * self.lookup_rows


@dataclass(frozen=True, kw_only=True)
class Outside:
    """Rule of what surrounds the layers.

    Attributes
    ----------
    tied: the head is the embedding where the config does not say (its class's default).
    positions: rows of a learned table of positions; None without a table.
    head_bias: the head has a bias.
    width: width of an embedding row where it is projected to the hidden size; None: the hidden size.
    more: anything else around the layers.
    """

    tied: bool = False
    positions: Callable[[Keys], int] | None = None
    head_bias: Switch = False
    width: Callable[[Keys], int | None] = lambda _: None
    more: Callable[[Keys], Surroundings] = lambda _: Surroundings()

    def position_params(self, keys: Keys) -> int:
        """Parameters of the table of positions."""
        return self.positions(keys) * keys.hidden if self.positions else 0

    def head_bias_params(self, keys: Keys) -> int:
        """Parameters of the head's bias."""
        return keys.whole("vocab_size") * switched(keys, self.head_bias)


def learned(extra: int = 0) -> Callable[[Keys], int]:
    """A learned position for each token of the longest context, and ``extra`` more."""
    return lambda keys: keys.whole("max_position_embeddings") + extra


def projected(name: str) -> Outside:
    """A tied embedding with rows as wide as the key ``name`` says, projected where that is not the hidden size."""

    def width(keys: Keys) -> int | None:
        narrow = keys.whole_or_none(name)
        return None if narrow == keys.hidden else narrow

    def more(keys: Keys) -> Surroundings:
        narrow = width(keys)
        if narrow is None:
            return Surroundings()
        return Surroundings(
            matrices=(
                Matrix("project in", "embedding_projection", narrow, keys.hidden, "none"),
                Matrix("project out", "embedding_projection", keys.hidden, narrow, "none"),
            )
        )

    return Outside(tied=True, positions=learned(2), width=width, more=more)
