"""The data of the league's picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from pages.compare import league_words as words
from pages.compare.league import League, Row
from pages.compare.league_labels import RANGES, sides
from pages.parts.datasets import Dataset, nothing, row, rows
from pages.parts.plane import padded

HEIGHT = 400
_ABOVE, _BELOW = 26, 48  # px that stay free above and below the dots
STRIP = 22  # px at the bottom that no name of a dot enters
_ASIDE = 0.06  # of the width, that stays free beside them


@lru_cache(maxsize=32)
def picture(league: League) -> dict[str, Dataset]:
    """Decode and prefill of every row that has a price, and whose name has room where."""
    shown = [one for one in league.rows if one.priced]
    if league.current not in shown:
        shown.append(league.current)
    decode, prefill = (np.array([getattr(one, name) for one in shown]) for name in ("decode", "prefill"))
    left, right = _aside(decode)
    bottom, top = padded(prefill.min(), max(prefill.max(), 1.001 * prefill.min()), HEIGHT, _ABOVE, _BELOW)
    across = np.log(decode / left) / np.log(right / left)
    down = np.log(top / prefill) / np.log(top / bottom) * HEIGHT
    named = _named(league, shown, across, down)
    dots = [
        {
            "decode": one.decode,
            "prefill": one.prefill,
            "name": words.short_name(one),
            "state": _state(one),
            "current": one.current,
            "chosen": one is league.row,
            "said": words.said(one),
            **{f"side_{span}": found[i] for span, found in named.items()},
        }
        for i, one in enumerate(shown)
    ]
    return {
        "frame": row(left=left, right=right, bottom=bottom, top=top),
        "dots": rows(dots) if dots else nothing("decode", "prefill"),
    }


def _aside(values: np.ndarray) -> tuple[float, float]:
    low, high = float(values.min()), float(max(values.max(), 1.001 * values.min()))
    spread = (high / low) ** (_ASIDE / (1 - 2 * _ASIDE))
    return low / spread, high * spread


def _state(one: Row) -> str:
    if one.fit is None:
        return "unknown"
    return "fits" if one.fit.fits else "out"


def _named(league: League, shown: Sequence[Row], across: np.ndarray, down: np.ndarray) -> Mapping[str, Sequence[str]]:
    """Sides of the names: the sidebar's and the chosen one first, then whom nobody beats in both, then by year."""
    decode, prefill = (np.array([getattr(one, name) for one in shown]) for name in ("decode", "prefill"))
    able = np.array([not one.does_not_fit for one in shown])
    beaten = ((decode < decode[:, None]) & (prefill < prefill[:, None]) & able).any(axis=1)

    def rank(i: int) -> tuple[bool, bool, bool, int]:
        one = shown[i]
        return not one.current, one is not league.row, bool(beaten[i]) or not able[i], -(one.hardware.year or 0)

    sure = 1 if league.row is league.current else 2
    names, order = [words.short_name(one) for one in shown], sorted(range(len(shown)), key=rank)
    return {
        name: sides(across, down, names, order, height=HEIGHT - STRIP, span=span, sure=sure)
        for name, span in RANGES.items()
    }
