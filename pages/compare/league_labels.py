"""Which dots of a crowded picture get their name, and on which side, so that no name meets another or a dot.

Only the browser knows how wide the page is. Names are placed for three ranges of widths, each checked at both of its
ends: while a picture grows, its dots move apart and its names keep their size, so what keeps apart at both ends of a
range does so in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_GLYPH = 0.54  # mean width of a letter in its size
_DOT, _GAP, _AIR = 6.0, 9.0, 2.0  # px: half a dot, from its middle to the name, and between names
SIDES = ("right", "left", "above", "below")


@dataclass(frozen=True)
class Range:
    """Widths of a picture, in px, with the size of its type and how many names are tried."""

    narrow: float
    wide: float
    type: float
    most: int


RANGES = {"phone": Range(250, 480, 11, 22), "middle": Range(480, 800, 14, 30), "wide": Range(800, 1200, 14, 45)}


def sides(
    across: Array, down: Array, names: Sequence[str], order: Sequence[int], *, height: float, span: Range, sure: int = 0
) -> list[str]:
    """The side on which each dot has its name, "" for none; names are placed in ``order``, the first come first.

    ``across`` is a share of the width, ``down`` px from the top, ``height`` where the room for names ends. The first
    ``sure`` of the order get a name in any case: on a free side, else on the one where it covers the fewest dots.
    """
    found, tried = [""] * len(names), np.array(order[: span.most], dtype=int)
    widths = np.array([span.narrow, span.wide])
    x = across * widths[:, None]  # (widths, dots)
    dots = np.stack([x - _DOT, np.tile(down - _DOT, (2, 1)), x + _DOT, np.tile(down + _DOT, (2, 1))], axis=-1)
    long = np.array([len(names[i]) for i in tried]) * span.type * _GLYPH
    boxes = _boxes(x[:, tried], down[tried], long, span.type)
    low, high = boxes[..., :2], boxes[..., 2:]
    ends = np.stack([widths, np.full(2, height)], axis=-1)[:, None, None]
    inside = ((low >= 0) & (high <= ends)).all(axis=(0, -1))  # (names, sides)
    covers = np.where(inside, _meet(boxes, dots).sum(axis=(0, -1)), np.inf)
    clash = np.logical_or.reduce(_meet(boxes, boxes.reshape(2, -1, 4)))  # (names, sides, all boxes)
    taken: list[int] = []
    for place, i in enumerate(tried):
        free = ~clash[place][:, taken].any(axis=1)
        costs = np.where(free, covers[place], np.inf)
        best = int(costs.argmin())
        if costs[best] == 0 or (place < sure and np.isfinite(costs[best])):
            found[i] = SIDES[best]
            taken.append(place * len(SIDES) + best)
    return found


def _boxes(x: Array, y: Array, long: Array, size: float) -> Array:
    """Boxes of names on each side of their dots: (widths, names, sides, left top right bottom)."""
    left = np.stack([x + _GAP, x - _GAP - long, x - long / 2, x - long / 2], axis=-1)
    top = np.stack([y - size / 2, y - size / 2, y - _GAP - size, y + _GAP], axis=-1)
    tops = np.broadcast_to(top, left.shape)
    return np.stack([left - _AIR, tops - _AIR, left + long[:, None] + _AIR, tops + size + _AIR], axis=-1)


def _meet(boxes: Array, others: Array) -> NDArray[np.bool_]:
    """Whether the box of a name on a side meets each of the others at a width: (widths, names, sides, others)."""
    mine, them = boxes[..., None, :], others[:, None, None]
    return (
        (them[..., 2] > mine[..., 0])
        & (them[..., 0] < mine[..., 2])
        & (them[..., 3] > mine[..., 1])
        & (them[..., 1] < mine[..., 3])
    )
