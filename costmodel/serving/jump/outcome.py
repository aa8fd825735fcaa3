"""From what the jump engine has written down to the results that every engine gives."""

from __future__ import annotations

import numpy as np

from costmodel.serving.jump.engine import JumpEngine
from costmodel.serving.jump.log import GAP, PREEMPTION, PROMPT, SEGMENT, STINT, Floats, Ints, columns, worst_gaps
from costmodel.serving.results import Outcome, Segments
from costmodel.serving.steps import DECODE, FINISHED, PREEMPTED, PREFILL


class Reader:
    """The log of an engine that has done its work, as columns."""

    def __init__(self, engine: JumpEngine) -> None:
        engine.settle()
        log = engine.log
        self.engine, self.count = engine, log.count
        self.stint = {n: np.array(c, dtype=np.float64) for n, c in zip(STINT, log.stints, strict=True)}
        self.segment, self.prompt, self.gap, self.preemption = (
            columns(rows, names)
            for rows, names in (
                (log.segments, SEGMENT),
                (log.prompts, PROMPT),
                (log.gaps, GAP),
                (log.preemptions, PREEMPTION),
            )
        )
        count, seconds, first = (self.segment[name] for name in ("count", "seconds", "first"))
        each = np.array(log.each)
        self.each = each if len(each) == count.sum() else None
        if self.each is not None:
            self.last = self.each[np.cumsum(count).astype(np.int64) - 1]
        else:  # steps grow by equal amounts
            self.last = np.where(count > 1, 2 * seconds / count - first, first)
        self.end = self.segment["start"] + seconds

    def segments(self) -> Segments:
        """Return the segments."""
        s, none = self.segment, np.zeros(self.count, dtype=np.int64)
        decode = _whole(s["decode_tokens"])
        late = self._per_segment(self.gap["segment"], self.gap["count"])
        return Segments(
            count=_whole(s["count"]),
            start=s["start"],
            seconds=s["seconds"],
            first=s["first"],
            last=self.last,
            memory_seconds=s["memory_seconds"],
            compute_seconds=s["compute_seconds"],
            prefill_tokens=self._per_segment(self.prompt["segment"], self.prompt["new"]),
            decode_tokens=decode,
            padding_tokens=none,
            sequences=decode + self._per_segment(self.prompt["segment"], np.ones(len(self.prompt["segment"]))),
            running=_whole(s["running"]),
            waiting=_whole(s["waiting"]),
            preempted=self._per_segment(self.preemption["segment"], np.ones(len(self.preemption["segment"]))),
            blocks_used=_whole(s["blocks_used"]),
            even_gaps=decode - late,
            pool=[""] * self.count,
            each=self.each,
        )

    def outcome(self) -> Outcome:
        """Return what became of each request; who still decodes is counted up to now."""
        engine = self.engine
        requests = len(engine.prompt)
        arrival = np.array(engine.arrival, dtype=np.float64)
        arrival[engine.to_come] = np.nan
        ends = self.prompt["logits"] > 0
        reader, segment = _whole(self.prompt["request"]), _whole(self.prompt["segment"])
        return Outcome(
            arrival=arrival,
            scheduled=_first(requests, reader, self.segment["start"][segment]),
            first_token=_first(requests, reader[ends], self.end[segment[ends]]),
            last_token=np.array(engine.last_token, dtype=np.float64),
            worst_gap=np.maximum(engine.worst_gap, worst_gaps(self.segment, self.last, self.stint, requests)),
            sampled=np.array(engine.sampled, dtype=np.int64),
            preemptions=np.array(engine.preemptions, dtype=np.int64),
            found=np.zeros(requests, dtype=np.int64),
        )

    def other_gaps(self) -> Floats:
        """Return gaps that are no step's, and how many of each."""
        return np.column_stack([self.gap["seconds"], self.gap["count"]])

    def phases(self) -> list[tuple[int, str, float]]:
        """Return what each request turned to, and when, in order of time."""
        engine, begins = self.engine, self.prompt["cached"] == 0
        starts = self.segment["start"][_whole(self.prompt["segment"][begins])]
        rows = [*zip(starts, self.prompt["request"][begins], [PREFILL] * int(begins.sum()), strict=True)]
        rows += [(t, i, PREEMPTED) for i, t in zip(self.preemption["request"], self.preemption["when"], strict=True)]
        rows += [(t, i, DECODE) for i, t in zip(self.stint["request"], self.stint["since"], strict=True)]
        done = [i for i, sampled in enumerate(engine.sampled) if sampled >= engine.output[i]]
        rows += [(engine.last_token[i], i, FINISHED) for i in done]
        return [(int(i), phase, float(t)) for t, i, phase in sorted(rows, key=lambda row: row[0])]

    def _per_segment(self, segment: Floats, amount: Floats) -> Ints:
        """Add up amounts by segment; -1 is none."""
        real = segment >= 0
        return _whole(np.bincount(_whole(segment[real]), weights=amount[real], minlength=self.count)[: self.count])


def _whole(values: Floats) -> Ints:
    return values.astype(np.int64)


def _first(requests: int, reader: Ints, moment: Floats) -> Floats:
    """The first moment of each request, NaN without any; moments are in order."""
    found = np.full(requests, np.nan)
    found[reader[::-1]] = moment[::-1]
    return found
