"""How a time is taken: warmed up until stable, repeated until the median is known well enough or the budget is spent.

No torch here: what runs, and how one sample of it is timed (device events, synchronised; or the processor's clock), is
handed in by a backend.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from live.statistics import FEWEST_FOR_95, Summary, stable, summarize

Call = Callable[[], object]
"""Runs some work once; what it returns keeps the work's result alive."""


class Sample(NamedTuple):
    """One timed stretch. ``disturbed``: another program ran in between, as far as the system can tell."""

    seconds: float
    disturbed: bool = False


Sampler = Callable[[Sequence[Call]], Sample]
"""Times a sequence of calls as one stretch."""


@dataclass(frozen=True)
class Effort:
    """How much to spend on one time.

    Attributes
    ----------
    budget: seconds for warm-up and repeats together. Where every sample was disturbed, up to ``patience`` times that.
    half_width: stop when the interval of the median is narrower than this on either side, as a fraction.
    confidence: with which the interval encloses the median.
    stretch: seconds that one sample should last at least, so that the clock's own error and cost do not count.
    fewest, most: repeats.
    """

    budget: float = 0.15
    half_width: float = 0.03
    confidence: float = 0.95
    stretch: float = 5e-4
    fewest: int = FEWEST_FOR_95
    most: int = 400
    patience: float = 3.0


@dataclass(frozen=True)
class Timing:
    """A time that was taken.

    Attributes
    ----------
    summary: of the samples that count, seconds a call.
    disturbed: fraction of all samples during which another program ran; they are left out while enough others remain,
        else the fastest third of all counts.
    settled: the interval is as narrow as was asked for.
    """

    summary: Summary
    disturbed: float
    settled: bool


@dataclass
class Rotation:
    """Calls that do the same work on different data, taken in turn, so that no call finds its data in a cache."""

    calls: Sequence[Call]
    at: int = 0

    def next(self, count: int) -> list[Call]:
        """The next ``count`` calls."""
        chosen = [self.calls[(self.at + i) % len(self.calls)] for i in range(count)]
        self.at = (self.at + count) % len(self.calls)
        return chosen


def time_calls(
    calls: Sequence[Call], sampler: Sampler, effort: Effort, beat: Call = lambda: None, parts: int = 1
) -> Timing:
    """Seconds of one of ``calls``, which are equal work on different data; or of ``parts`` of them, that make one up.

    ``beat`` is called between samples, to say that the work goes on.
    """
    rotation = Rotation(calls)
    started = time.perf_counter()
    sampler(rotation.next(parts))  # the first call compiles, loads or allocates what later ones find ready
    rounds = _rounds_a_sample(sampler(rotation.next(parts)).seconds, effort)

    def take() -> Sample:
        beat()
        sample = sampler(rotation.next(rounds * parts))
        return Sample(sample.seconds / rounds, sample.disturbed)

    warm: list[float] = []
    while not stable(warm) and time.perf_counter() - started < effort.budget / 3:
        warm.append(take().seconds)
    return _repeat(take, effort, started)


def _rounds_a_sample(once: float, effort: Effort) -> int:
    return max(1, min(1000, round(effort.stretch / max(once, 1e-7) + 0.5)))


def _repeat(take: Callable[[], Sample], effort: Effort, started: float) -> Timing:
    """Repeat until the median is known well enough, time is up, or there are enough."""
    quiet: list[float] = []
    every: list[float] = []
    while True:
        sample = take()
        every.append(sample.seconds)
        if not sample.disturbed:
            quiet.append(sample.seconds)
        if _enough(quiet, every, effort, time.perf_counter() - started):
            break
    # Whoever else runs can only add time: where nobody was ever quiet, the fastest third is nearest to the truth.
    counted = quiet if len(quiet) >= _FEW else sorted(every)[: max(_FEW, len(every) // 3)]
    summary = summarize(counted, effort.confidence)
    settled = summary.confidence >= effort.confidence and summary.half_width <= effort.half_width
    return Timing(summary, 1 - len(quiet) / len(every), settled)


_FEW = 3
"""Repeats below which a median says nothing."""


def _enough(quiet: list[float], every: list[float], effort: Effort, elapsed: float) -> bool:
    if len(every) < _FEW:
        return False
    if elapsed > effort.patience * effort.budget or len(every) >= effort.most:
        return True
    if len(quiet) < effort.fewest:
        return False
    if elapsed > effort.budget:
        return True
    summary = summarize(quiet, effort.confidence)
    return summary.half_width <= effort.half_width and summary.confidence >= effort.confidence
