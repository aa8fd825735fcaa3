"""What engines ask of a price, and the simplest one: every step takes the same time.

Engines see a ``Pricer`` and know nothing of models or accelerators (``floor.py`` and ``estimate.py`` do). A step
reaches it as a few sums over its sequences, kept apart by *view*: what a layer's mask lets a token see.

Source of the closed forms: sums of an arithmetic series.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from costmodel.errors import ConfigError
from costmodel.serving.clock import Clock, StepClock
from costmodel.serving.policies.base import Piece

View = tuple[int | None, int | None]
"""What a token sees of its sequence: (window, chunk), of which at most one is set."""

FULL: View = (None, None)

_LONGEST_STEP = 1e9  # seconds; far above any


StepPrice = tuple[float, float, float]
"""Seconds of a step, and the two sides of its floor: bytes over bandwidth and FLOPs over peaks."""

Stretch = tuple[int, float, float, float, float, "NDArray[np.float64] | None"]
"""Decode steps in a row: how many, seconds of the first and of all, both sides of the floor of all, and the seconds of
each where these do not grow by equal amounts."""


class Pricer(Protocol):
    """Prices steps.

    Attributes
    ----------
    words: what prices them, for people. priced: whether steps have a floor, and so a side that binds.
    views: the views whose sums a price depends on. step_seconds: of every step, where all are equal, else None.
    """

    words: str
    priced: bool
    views: tuple[View, ...]
    step_seconds: float | None

    def clock(self) -> Clock:
        """Return a clock that tells the time in this pricer's steps."""

    def price(self, prompts: Sequence[Piece], caches: Sequence[int]) -> StepPrice:
        """Price one step: prompts, beside sequences that decode over so many cached tokens each."""

    def mixed(self, prompts: Sequence[Piece], batch: int, reads: Sequence[float]) -> StepPrice:
        """Price one step: prompts, beside ``batch`` sequences that decode.

        ``reads``: cached tokens that these read together, an entry a view.
        """

    def stretch(self, batch: int, reads: Sequence[float], growth: Sequence[float], steps: int, gap: float) -> Stretch:
        """Price up to ``steps`` decode steps of ``batch`` sequences in a row; ``reads`` grow by ``growth`` each step.

        There may be fewer: none starts ``gap`` seconds after the first or later, and one side binds in all of them.
        """


def bound_of(pricer: Pricer, memory_seconds: float, compute_seconds: float) -> str:
    """Return the side of the floor that a step waits for, or "" where steps have no price."""
    if not pricer.priced:
        return ""
    return "compute" if compute_seconds > memory_seconds else "memory"


class EqualSteps:
    """Every step takes the same time, whatever is in it."""

    priced = False
    views: tuple[View, ...] = (FULL,)

    def __init__(self, step_seconds: object) -> None:
        if (
            isinstance(step_seconds, bool)
            or not isinstance(step_seconds, int | float)
            or not 0 < step_seconds <= _LONGEST_STEP
        ):
            raise ConfigError("step_seconds", step_seconds, "a number of seconds above 0")
        self._each = float(step_seconds)
        self.step_seconds: float | None = self._each
        self.words = f"every step takes {step_seconds:g} s"
        self._price = (self._each, 0.0, 0.0)

    def clock(self) -> StepClock:
        """Return a clock that counts steps."""
        return StepClock(self._each)

    def price(self, prompts: Sequence[Piece], caches: Sequence[int]) -> StepPrice:  # noqa: ARG002  # the same for any
        """Return the one price."""
        return self._price

    def mixed(self, prompts: Sequence[Piece], batch: int, reads: Sequence[float]) -> StepPrice:  # noqa: ARG002  # as above
        """Return the one price."""
        return self._price

    def stretch(  # a price that is the same for every step needs to know nothing of any
        self,
        batch: int,  # noqa: ARG002
        reads: Sequence[float],  # noqa: ARG002
        growth: Sequence[float],  # noqa: ARG002
        steps: int,
        gap: float,  # noqa: ARG002
    ) -> Stretch:
        """Price steps by their number. A clock that counts steps knows better than ``gap`` when something comes."""
        return steps, self._each, steps * self._each, 0.0, 0.0, None


def lines(memory: float, more_memory: float, compute: float, more_compute: float, steps: int, gap: float) -> Stretch:
    """Up to ``steps`` steps whose two sides grow by equal amounts; see ``Pricer.stretch``."""
    if compute > memory:
        first, each, ahead, closer = compute, more_compute, compute - memory, more_memory - more_compute
    else:
        first, each, ahead, closer = memory, more_memory, memory - compute, more_compute - more_memory
    if closer > 0 and ahead < closer * (steps - 1):  # the other side grows faster, and overtakes at most once
        steps = int(ahead / closer) + 1
    half = (steps - 1) / 2
    seconds = steps * (first + each * half)
    if seconds >= gap and steps > 1:
        steps = min(steps, steps_to_fill(gap, first, each))
        half = (steps - 1) / 2
        seconds = steps * (first + each * half)
    memory, compute = steps * (memory + more_memory * half), steps * (compute + more_compute * half)
    return steps, first, seconds, memory, compute, None


def steps_to_fill(gap: float, first: float, each: float) -> int:
    """Return how many steps, of which each takes ``each`` longer than the one before, fill ``gap`` seconds (1 at
    least).

    >>> steps_to_fill(10.0, 2.0, 1.0), steps_to_fill(9.0, 2.0, 1.0), steps_to_fill(6.0, 2.0, 0.0)
    (4, 3, 3)
    """
    half = each / 2
    linear = first - half
    steps = math.ceil(2 * gap / (linear + math.sqrt(linear * linear + 4 * half * gap)))
    while steps > 1 and (steps - 1) * (linear + half * (steps - 1)) >= gap:
        steps -= 1
    while steps * (linear + half * steps) < gap:
        steps += 1
    return max(1, steps)
