"""From what the jump engine has written down to the results that every engine gives."""

from __future__ import annotations

import numpy as np

from costmodel.serving.jump.engine import JumpEngine
from costmodel.serving.jump.log import PROMPT, SEGMENT, STINT, columns, worst_gaps
from costmodel.serving.results import Outcome, Segments
from costmodel.serving.steps import DECODE, FINISHED, PREEMPTED, PREFILL

_WHOLE = (
    "count", "prefill_tokens", "decode_tokens", "sequences", "running", "waiting", "preempted", "blocks_used", "even_gaps",
)  # fmt: skip
_FLOATS = ("start", "seconds", "first", "last", "memory_seconds", "compute_seconds")


def segments_of(engine: JumpEngine) -> Segments:
    """Return the segments."""
    table = columns(engine.log.segments, SEGMENT)
    whole = {name: table[name].astype(np.int64) for name in _WHOLE}
    floats = {name: np.ascontiguousarray(table[name]) for name in _FLOATS}
    none = np.zeros(engine.log.count, dtype=np.int64)
    return Segments(**whole, **floats, padding_tokens=none, pool=[""] * engine.log.count)


def outcome_of(engine: JumpEngine) -> Outcome:
    """Return what became of each request; who still decodes is counted up to now."""
    engine.settle()
    segments, stints = columns(engine.log.segments, SEGMENT), columns(engine.log.stints, STINT)
    last = np.array(engine.log.last_segment, dtype=np.int64)
    worst = np.maximum(engine.worst_gap, worst_gaps(segments, stints, last, len(engine.prompt)))
    arrival = np.array(engine.arrival, dtype=np.float64)
    arrival[engine.to_come] = np.nan
    times = (engine.scheduled, engine.first_token, engine.last_token)
    scheduled, first, final = (np.array(column, dtype=np.float64) for column in times)
    return Outcome(
        arrival=arrival,
        scheduled=scheduled,
        first_token=first,
        last_token=final,
        worst_gap=worst,
        sampled=np.array(engine.sampled, dtype=np.int64),
        preemptions=np.array(engine.preemptions, dtype=np.int64),
        found=np.zeros(len(arrival), dtype=np.int64),
    )


def phases_of(engine: JumpEngine) -> list[tuple[int, str, float]]:
    """Return what each request turned to, and when, in order."""
    log = engine.log
    stints, last = columns(log.stints, STINT), np.array(log.last_segment, dtype=np.int64)
    rows = [(t, i, PREFILL) for i, t in _pairs(log.admissions)] + [(t, i, PREEMPTED) for i, t in _pairs(log.preemptions)]
    rows += [(t, i, DECODE) for i, t in zip(stints["request"], stints["since"], strict=True)]
    del last
    rows += [(t, i, FINISHED) for i, t in enumerate(engine.last_token) if engine.sampled[i] >= engine.output[i]]
    return [(int(i), phase, float(t)) for t, i, phase in sorted(rows, key=lambda row: row[0])]


def _pairs(rows):
    table = columns(rows, ("request", "when"))
    return zip(table["request"], table["when"], strict=True)
