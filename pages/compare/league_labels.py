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
    widths = (span.narrow, span.wide)
    dots = [_around(across * width, down) for width in widths]
    taken: list[list[Array]] = [[], []]
    for place, i in enumerate(order[: span.most]):
        long = len(names[i]) * span.type * _GLYPH
        options = []
        for side in SIDES:
            boxes = [_box(float(across[i]) * width, float(down[i]), long, span.type, side) for width in widths]
            if all(_inside(box, width, height) for box, width in zip(boxes, widths, strict=True)) and not any(
                map(_covers, boxes, taken)
            ):
                options.append((sum(map(_covers, boxes, dots)), side, boxes))
        best = min(options, key=lambda option: option[0], default=None)
        if best is not None and (best[0] == 0 or place < sure):
            found[i] = best[1]
            for box, others in zip(best[2], taken, strict=True):
                others.append(box)
    return found


def _around(x: Array, y: Array) -> Array:
    return np.stack([x - _DOT, y - _DOT, x + _DOT, y + _DOT], axis=1)


def _box(x: float, y: float, long: float, size: float, side: str) -> Array:
    """Left, top, right and bottom of a name."""
    if side in ("right", "left"):
        left = x + _GAP if side == "right" else x - _GAP - long
        return np.array([left - _AIR, y - size / 2 - _AIR, left + long + _AIR, y + size / 2 + _AIR])
    top = y - _GAP - size if side == "above" else y + _GAP
    return np.array([x - long / 2 - _AIR, top - _AIR, x + long / 2 + _AIR, top + size + _AIR])


def _inside(box: Array, width: float, height: float) -> bool:
    return bool(box[0] >= 0 and box[2] <= width and box[1] >= 0 and box[3] <= height)


def _covers(box: Array, others: Sequence[Array] | Array) -> int:
    """How many of the other boxes it meets."""
    them = np.asarray(others).reshape(-1, 4)
    apart = (them[:, 2] <= box[0]) | (them[:, 0] >= box[2]) | (them[:, 3] <= box[1]) | (them[:, 1] >= box[3])
    return int(np.count_nonzero(~apart))
