"""The middle of a set of times, and how surely it is known.

The interval is free of assumptions: the number of times below the true median is binomial with p = 1/2, so two order
statistics enclose it with a probability that can be computed (Conover, Practical Nonparametric Statistics, 3.2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

FEWEST_FOR_95 = 6
"""Repeats from which smallest and largest enclose the median with 95 %: 1 - 2 / 2**6."""


@dataclass(frozen=True)
class Summary:
    """What a set of times says.

    Attributes
    ----------
    median: seconds. low, high: ends of an interval that encloses the true median with probability ``confidence``.
    spread: interquartile range over the median.
    repeats: times that it rests on.
    """

    median: float
    low: float
    high: float
    confidence: float
    spread: float
    repeats: int

    @property
    def half_width(self) -> float:
        """Half the interval, as a fraction of the median."""
        return (self.high - self.low) / 2 / self.median


def summarize(times: Sequence[float], confidence: float = 0.95) -> Summary:
    """Median of ``times``, with an interval that encloses the true one with ``confidence``, or what few times allow.

    >>> summarize([3.0, 1.0, 2.0, 5.0, 4.0, 9.0, 7.0]).median
    4.0
    >>> round(summarize([1.0, 2.0, 3.0]).confidence, 2)
    0.75
    """
    ordered = sorted(times)
    n = len(ordered)
    rank, reached = _ranks(n, confidence)
    return Summary(
        median=quantile(ordered, 0.5),
        low=ordered[rank],
        high=ordered[n - 1 - rank],
        confidence=reached,
        spread=(quantile(ordered, 0.75) - quantile(ordered, 0.25)) / quantile(ordered, 0.5),
        repeats=n,
    )


def quantile(ordered: Sequence[float], q: float) -> float:
    """The value below which a fraction ``q`` of the ascending values lies, interpolated."""
    position = q * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def stable(times: Sequence[float], window: int = 3, tolerance: float = 0.05) -> bool:
    """Whether the last ``window`` times lie within ``tolerance`` of each other."""
    last = times[-window:]
    return len(last) == window and max(last) <= (1 + tolerance) * min(last)


@lru_cache(maxsize=4096)
def _ranks(n: int, confidence: float) -> tuple[int, float]:
    """How many of ``n`` ordered times to leave out at each end, and how probably the rest enclose the median."""
    tail, rank = 0.5**n, 0
    while True:
        more = tail + math.comb(n, rank + 1) * 0.5**n
        if rank + 1 > (n - 1) // 2 or 1 - 2 * more < confidence:
            return rank, max(0.0, 1 - 2 * tail)
        tail, rank = more, rank + 1
