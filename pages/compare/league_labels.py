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


RANGES = {"phone": Range(250, 480, 11, 14), "middle": Range(480, 800, 14, 30), "wide": Range(800, 1200, 14, 45)}


def sides(
    across: Array, down: Array, names: Sequence[str], order: Sequence[int], *, height: float, span: Range, sure: int = 0
) -> list[str]:
    """The side on which each dot has its name, "" for none; names are placed in ``order``, the first come first.

    ``across`` is a share of the width, ``down`` px from the top, ``height`` where the room for names ends. The first
    ``sure`` of the order get a name in any case: on a free side, else on the one where it covers the fewest dots.
    """
    found = [""] * len(names)
    widths = np.array([span.narrow, span.wide])
    x = across * widths[:, None]  # (widths, dots)
    dots = np.stack([x - _DOT, np.tile(down - _DOT, (2, 1)), x + _DOT, np.tile(down + _DOT, (2, 1))], axis=-1)
    taken = np.empty((2, len(names), 4))
    count = 0
    for place, i in enumerate(order[: span.most]):
        boxes = _boxes(x[:, i], float(down[i]), len(names[i]) * span.type * _GLYPH, span.type)
        inside = (boxes[..., :2] >= 0).all(axis=-1) & (boxes[..., 2] <= widths[:, None]) & (boxes[..., 3] <= height)
        free = inside.all(axis=0) & (_covered(boxes, taken[:, :count]) == 0)
        covers = np.where(free, _covered(boxes, dots), np.inf)
        best = int(covers.argmin())
        if covers[best] == 0 or (place < sure and free[best]):
            found[i] = SIDES[best]
            taken[:, count] = boxes[:, best]
            count += 1
    return found


def _boxes(x: Array, y: float, long: float, size: float) -> Array:
    """Boxes of a name on each side of its dot: (widths, sides, left top right bottom)."""
    left = np.stack([x + _GAP, x - _GAP - long, x - long / 2, x - long / 2], axis=1)
    top = np.array([y - size / 2, y - size / 2, y - _GAP - size, y + _GAP])
    tops = np.tile(top, (len(x), 1))
    return np.stack([left - _AIR, tops - _AIR, left + long + _AIR, tops + size + _AIR], axis=-1)


def _covered(boxes: Array, others: Array) -> NDArray[np.intp]:
    """How many other boxes each of the sides meets, at all widths together."""
    mine, them = boxes[:, :, None, :], others[:, None, :, :]
    meets = (
        (them[..., 2] > mine[..., 0])
        & (them[..., 0] < mine[..., 2])
        & (them[..., 3] > mine[..., 1])
        & (them[..., 1] < mine[..., 3])
    )
    counted: NDArray[np.intp] = np.count_nonzero(meets, axis=(0, 2))
    return counted
