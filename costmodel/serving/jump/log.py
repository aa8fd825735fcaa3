"""What the jump engine writes down: segments of equal steps, prompts, and the stints in which each request decoded.

From these follows everything else: the longest wait of each request, its phases, and the composition of any step.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SEGMENT = (
    "start", "count", "seconds", "first", "memory_seconds", "compute_seconds", "clock", "decode_tokens", "running",
    "waiting", "blocks_used",
)  # fmt: skip
"""Columns of a segment. seconds: of all its steps. first: of the first. clock: of those who decode when it began."""

PROMPT = ("segment", "request", "new", "cached", "logits")
"""Columns of a prompt, or a chunk of one, that a step read."""

STINT = ("request", "since", "clock", "computed", "segment", "last_segment", "last_clock")
"""Columns of a stint: a request; when it got the token before; the clock, its computed tokens and the number of
segments when it began to decode; its last segment, and the clock when it stopped (-1: it has not)."""

GAP = ("seconds", "count", "segment")
"""Columns of gaps between tokens that are no step's: how long, how many, and in which decoding segment (-1: none)."""

PREEMPTION = ("request", "when", "segment")
"""Columns of preemptions: who, when, and in which segment."""


def _numbers() -> array[float]:
    return array("d")


@dataclass
class Log:
    """Rows of numbers, written one after the other (stints: a list a column, for their ends are written later).

    ``each``: seconds of each step, complete where the price says those of every stretch. ``count``: segments so far.
    """

    segments: array[float] = field(default_factory=_numbers)
    prompts: array[float] = field(default_factory=_numbers)
    stints: list[list[Any]] = field(default_factory=lambda: [[] for _ in STINT])
    gaps: array[float] = field(default_factory=_numbers)
    preemptions: array[float] = field(default_factory=_numbers)
    each: array[float] = field(default_factory=_numbers)
    count: int = 0

    def begin(self, request: int, since: float, clock: int, computed: int) -> int:
        """Write down that a request begins to decode; return the number of the stint."""
        who, when, clocks, tokens, segments, last_segments, last_clocks = self.stints
        who.append(request)
        when.append(since)
        clocks.append(clock)
        tokens.append(computed)
        segments.append(self.count)
        last_segments.append(-1)
        last_clocks.append(-1)
        return len(who) - 1

    def end(self, stint: int, clock: int) -> None:
        """Write down that a request has stopped to decode."""
        self.stints[5][stint] = self.count - 1
        self.stints[6][stint] = clock


def columns(rows: array[float], names: Sequence[str]) -> dict[str, Floats]:
    """Return rows of numbers as an array a column."""
    table = np.frombuffer(rows, dtype=np.float64).reshape(-1, len(names)) if rows else np.empty((0, len(names)))
    return dict(zip(names, np.ascontiguousarray(table.T), strict=True))


def worst_gaps(segments: dict[str, Floats], last: Floats, stints: dict[str, Floats], requests: int) -> Floats:
    """The longest wait of each request between two tokens of one stint (0 without any).

    The first wait of a stint is its own, for it began in the middle of what others had; from the second on it waits as
    all do: a step, and before that what the steps before it did without it. ``last``: seconds of segments' last steps.
    """
    worst = np.zeros(requests)
    decoding = np.flatnonzero(segments["decode_tokens"] > 0)
    if not decoding.size or not stints["request"].size:
        return worst
    start, first, seconds, count = (segments[name][decoding] for name in ("start", "first", "seconds", "count"))
    stall = np.diff(start + seconds, prepend=start[0]) - (seconds - first)
    rest = np.where(count > 1, last[decoding], 0.0)  # of the steps after the first
    longest = np.maximum(stall, rest)
    begins = np.searchsorted(decoding, stints["segment"])
    ends = np.searchsorted(decoding, stints["last_segment"], side="right")  # behind its last segment
    real = ends > begins
    begins, ends = begins[real], ends[real]
    own = start[begins] + first[begins] - stints["since"][real]
    waits = np.maximum(np.maximum(own, rest[begins]), _range_maximum(longest, begins + 1, ends))
    np.maximum.at(worst, stints["request"][real].astype(np.int64), waits)
    return worst


def _range_maximum(values: Floats, begins: Ints, ends: Ints) -> Floats:
    """The greatest of ``values[begin:end]`` for many ranges at once (0 for an empty one), by spans that double."""
    result = np.zeros(len(begins))
    left, todo = begins.copy(), ends - begins
    spans, width = values, 1
    while True:
        take = np.flatnonzero(todo & width)
        result[take] = np.maximum(result[take], spans[left[take]])
        left[take] += width
        todo[take] -= width
        if not todo.any():
            return result
        spans = np.maximum(spans[:-width], spans[width:])
        width *= 2
