"""Where the labels of the classical roofline go, so that no two meet at any setting of the sliders.

All points lie on the roof: on its slope, where a label is free below right and above left, or on its flat part. Labels
are put into lanes, each one line of type further from the roof, and a label takes the first lane in which it meets no
other, whether the two points turn out to be on the slope or on the flat (a hand that drags may move them from one to
the other, and the lanes must not jump).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

GLYPH = 0.53  # mean width of a letter in its size
_OFF, _GAP = 10.0, 6.0  # px from a point to its text, and between texts
_DRAGGED = 1.2041  # decades that a hand can move the roof's corner: four times the bandwidth, a quarter of the compute
_SAME = 0.1  # decades of intensity within which points share a label


@dataclass(frozen=True)
class Sheet:
    """Size of the picture, as far as labels need it: px a decade across and up, and px of type."""

    across: float
    up: float
    type: float

    @property
    def line(self) -> float:
        """Height of a lane."""
        return self.type + 4


@dataclass(frozen=True)
class Place:
    """A label at a point: decades of intensity, and its text."""

    decades: float
    text: str


@dataclass(frozen=True)
class Roof:
    """The roof that labels hang on.

    Attributes
    ----------
    ridge: decade of its corner by the datasheet. now: decade of its corner under the sidebar's what-if.
    margin: decade from which names of lower roofs stand at the right (while nothing is dragged).
    names: px below the flat part at which those names stand.
    """

    ridge: float
    now: float
    margin: float = math.inf
    names: Sequence[float] = ()


def lanes(places: Sequence[Place], sheet: Sheet, roof: Roof, *, leftward: bool) -> list[int]:
    """Lane of each label: texts start at their point (or end there, ``leftward``), a line apart where they meet."""
    order = sorted(range(len(places)), key=lambda i: places[i].decades, reverse=not leftward)
    found = [0] * len(places)
    done: list[int] = []
    picture = sheet, roof.ridge, leftward
    for i in order:
        while any(_meet(places[i], found[i], places[j], found[j], picture) for j in done) or (
            not leftward and _on_a_name(places[i], found[i], sheet, roof)
        ):
            found[i] += 1
        done.append(i)
    return found


def _on_a_name(place: Place, lane: int, sheet: Sheet, roof: Roof) -> bool:
    """Whether a label that reaches into the margin meets the name of a lower roof there."""
    if _span(place, sheet, leftward=False)[1] < roof.margin * sheet.across:
        return False
    below = sheet.type + 8 + lane * sheet.line + (roof.now - min(place.decades, roof.now)) * sheet.up
    return any(abs(below - name) < sheet.line for name in roof.names)


def _meet(a: Place, lane_a: int, b: Place, lane_b: int, picture: tuple[Sheet, float, bool]) -> bool:
    """Whether two labels meet in any position that the roof can be dragged to."""
    sheet, ridge, leftward = picture
    spans = [_span(place, sheet, leftward) for place in (a, b)]
    if leftward:  # kept inside the left edge
        spans = [
            (left + push, right + push)
            for (left, right), push in zip(spans, (_pushed(a, sheet), _pushed(b, sheet)), strict=True)
        ]
    if not _overlap(*spans):
        return False
    corners = (ridge - _DRAGGED, ridge + _DRAGGED)
    low, high = sorted((min(a.decades, corner) - min(b.decades, corner)) * sheet.up for corner in corners)
    lower = (lane_b - lane_a if leftward else lane_a - lane_b) * sheet.line  # px that a hangs below b on a flat roof
    lower += (_pushed(b, sheet) - _pushed(a, sheet)) * sheet.up / sheet.across if leftward else 0
    room = sheet.line + (_GAP / 2 if leftward else 0)
    return lower - high < room and lower - low > -room


def _pushed(place: Place, sheet: Sheet) -> float:
    """Px that the left edge pushes a leftward text to the right of its point."""
    return max(0.0, -_span(place, sheet, leftward=True)[0] - _GAP)


def _span(place: Place, sheet: Sheet, leftward: bool) -> tuple[float, float]:  # noqa: FBT001  # the direction of the text
    x, width = place.decades * sheet.across, len(place.text) * sheet.type * GLYPH + _OFF + _GAP
    return (x - width, x) if leftward else (x, x + width)


def _overlap(a: tuple[float, float], b: tuple[float, float]) -> bool:
    return max(a[0], b[0]) < min(a[1], b[1])


def clusters(intensities: Sequence[float], names: Sequence[str]) -> list[tuple[float, str]]:
    """Neighbouring points of one kind under one label: the mean place, and their names without repetition."""
    order = sorted(range(len(names)), key=lambda i: intensities[i])
    groups: list[list[int]] = []
    for i in order:
        if groups and math.log10(intensities[i] / intensities[groups[-1][0]]) < _SAME:
            groups[-1].append(i)
        else:
            groups.append([i])
    return [(max(intensities[i] for i in group), _listed([names[i] for i in sorted(group)])) for group in groups]


def _listed(names: Sequence[str], most: int = 3) -> str:
    different = list(dict.fromkeys(names))
    more = len(different) - most
    return ", ".join(different[:most]) + (f", {more} more" if more > 0 else "")


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Shifts that keep labels beside a list of heights (px, downwards) at least ``gap`` apart, as small as may be.

    >>> spread([0.0, 5.0, 100.0], 10)
    [-2.5, 2.5, 0.0]
    """
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    blocks: list[tuple[list[int], float]] = []  # labels that touch, and the height of the first
    for i in order:
        blocks.append(([i], heights[i]))
        while len(blocks) > 1 and blocks[-1][1] < blocks[-2][1] + gap * len(blocks[-2][0]):
            last, before = blocks.pop()[0], blocks.pop()[0]
            members = before + last
            top = sum(heights[m] - gap * n for n, m in enumerate(members)) / len(members)
            blocks.append((members, top))
    shifts = [0.0] * len(heights)
    for members, top in blocks:
        for n, m in enumerate(members):
            shifts[m] = top + gap * n - heights[m]
    return shifts
