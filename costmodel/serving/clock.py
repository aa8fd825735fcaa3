"""Two ways to tell the time of a simulated engine: in equal steps, or in the seconds that steps are priced at."""

from __future__ import annotations

import math


class StepClock:
    """Counts steps of equal length, so that time never drifts: step ``i`` starts at exactly ``i * step_seconds``."""

    def __init__(self, step_seconds: float) -> None:
        self.step_seconds, self.index = step_seconds, 0

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return self.index * self.step_seconds

    def advance(self, seconds: float) -> None:  # noqa: ARG002  # every step is as long as any other
        """Let one step pass."""
        self.index += 1

    def wait_until(self, moment: float) -> None:
        """Let idle steps pass up to the first that starts at ``moment`` or later."""
        self.index = max(self.index, first_step_at(moment, self.step_seconds))


class PricedClock:
    """Adds up what steps cost."""

    def __init__(self) -> None:
        self.now = 0.0

    def advance(self, seconds: float) -> None:
        """Let a step pass."""
        self.now += seconds

    def wait_until(self, moment: float) -> None:
        """Wait, idle, for ``moment``."""
        self.now = max(self.now, moment)


Clock = StepClock | PricedClock


def first_step_at(moment: float, step_seconds: float) -> int:
    """Return the first step of equal steps that starts at ``moment`` or later, whatever the division rounds to.

    >>> first_step_at(1.1, 0.1), first_step_at(1.11, 0.1), first_step_at(0.0, 0.1)
    (11, 12, 0)
    """
    index = math.ceil(moment / step_seconds)
    while index > 0 and (index - 1) * step_seconds >= moment:
        index -= 1
    while index * step_seconds < moment:
        index += 1
    return index
