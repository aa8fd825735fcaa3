"""What the jump engine writes down: segments of equal steps, and for each request the stints in which it decoded.

From these follow, without another run, the longest wait of each request, its phases, and the composition of any step.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SEGMENT = (
    "start", "count", "seconds", "first", "last", "memory_seconds", "compute_seconds", "clock", "prefill_tokens",
    "decode_tokens", "sequences", "running", "waiting", "preempted", "blocks_used", "even_gaps",
)  # fmt: skip
"""Columns of a segment. first, last: seconds of its first and last step. clock: of the decoding requests at its start."""

STINT = ("request", "since", "clock", "computed", "segment")
"""Columns of a stint: a request; when it got its last token before; the clock, its computed tokens, and the number of
segments when it began to decode."""

PROMPT = ("segment", "request", "new", "cached", "logits")
"""Columns of a prompt, or a chunk of one, that a step read."""


def _numbers() -> array[float]:
    return array("d")


def _whole() -> array[int]:
    return array("q")


@dataclass
class Log:
    """Rows of numbers, written one after the other."""

    segments: array[float] = field(default_factory=_numbers)
    stints: array[float] = field(default_factory=_numbers)
    last_segment: array[int] = field(default_factory=_whole)  # of each stint
    last_clock: array[int] = field(default_factory=_whole)
    prompts: array[float] = field(default_factory=_numbers)
    gaps: array[float] = field(default_factory=_numbers)  # (seconds, how many)
    preemptions: array[float] = field(default_factory=_numbers)  # (request, when)
    admissions: array[float] = field(default_factory=_numbers)  # (request, when)
    count: int = 0
    """Segments so far."""

    def begin(self, row: tuple[int, float, int, int]) -> int:
        """Write down that a request (since, clock, computed) begins to decode; return the number of the stint."""
        self.stints.extend((*row, self.count))
        self.last_segment.append(-1)
        self.last_clock.append(-1)
        return len(self.last_segment) - 1

    def end(self, stint: int, clock: int) -> None:
        """Write down that a request has stopped to decode."""
        self.last_segment[stint] = self.count - 1
        self.last_clock[stint] = clock


def columns(rows: array[float], names: Sequence[str]) -> dict[str, Floats]:
    """Return rows of numbers as an array a column."""
    table = np.frombuffer(rows, dtype=np.float64).reshape(-1, len(names)) if rows else np.empty((0, len(names)))
    return dict(zip(names, table.T, strict=True))


def worst_gaps(segments: dict[str, Floats], stints: dict[str, Floats], last_segment: Ints, requests: int) -> Floats:
    """The longest wait of each request between two tokens of one stint (0 without any).

    The first wait of a stint is its own, for it began in the middle of what others had; from the second on it waits as
    all do: a step, and before that what the steps before it did without it.
    """
    worst = np.zeros(requests)
    decoding = np.flatnonzero(segments["decode_tokens"] > 0)
    if not decoding.size or not last_segment.size:
        return worst
    start, first, last = (segments[name][decoding] for name in ("start", "first", "last"))
    end = start + segments["seconds"][decoding]
    stall = np.diff(end, prepend=start[0]) - (segments["seconds"][decoding] - first)
    longest = np.maximum(stall, np.where(segments["count"][decoding] > 1, last, 0.0))
    begins = np.searchsorted(decoding, stints["segment"].astype(np.int64))
    ends = np.searchsorted(decoding, last_segment, side="right")  # behind its last decoding segment
    real = ends > begins
    begins, ends = begins[real], ends[real]
    own = start[begins] + first[begins] - stints["since"][real]
    rest = np.where(segments["count"][decoding][begins] > 1, last[begins], 0.0)
    waits = np.maximum(np.maximum(own, rest), _range_maximum(longest, begins + 1, ends))
    np.maximum.at(worst, stints["request"][real].astype(np.int64), waits)
    return worst


def _range_maximum(values: Floats, begins: Ints, ends: Ints) -> Floats:
    """The greatest of ``values[begin:end]`` for many ranges at once (0 for an empty one), by doubling spans."""
    result = np.zeros(len(begins))
    left, todo = begins.copy(), ends - begins
    spans, width = values, 1
    level = 0
    while (todo > 0).any():
        take = (todo > 0) & ((todo >> level) & 1 == 1)
        result[take] = np.maximum(result[take], spans[left[take]])
        left[take] += width
        todo[take] -= width
        if not (todo > 0).any():
            break
        spans = np.maximum(spans[:-width], spans[width:])
        width *= 2
        level += 1
    return result
