"""From what the jump engine has written down to the results that every engine gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from costmodel.serving.jump.engine import JumpEngine
from costmodel.serving.jump.log import GAP, PREEMPTION, PROMPT, SEGMENT, STINT, Floats, Ints, columns, worst_gaps
from costmodel.serving.results import Outcome, Segments
from costmodel.serving.steps import DECODE, FINISHED, PREEMPTED, PREFILL
from costmodel.step import Step


class Reader:
    """The log of an engine that has done its work, as columns."""

    def __init__(self, engine: JumpEngine[Any]) -> None:
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
        done = [i for i, sampled in enumerate(engine.sampled) if sampled >= engine.output[i]]
        # At one moment, the end of a step comes before what the next one begins with.
        groups = (
            (DECODE, self.stint["request"], self.stint["since"]),
            (PREEMPTED, self.preemption["request"], self.preemption["when"]),
            (PREFILL, self.prompt["request"][begins], starts),
            (FINISHED, np.array(done), np.array(engine.last_token)[done]),
        )
        rows = [(int(i), name, float(t)) for name, who, when in groups for i, t in zip(who, when, strict=True)]
        return sorted(rows, key=lambda row: row[2])

    def blocks_each(self) -> Ints:
        """KV blocks held during every step: those of its segment's last one, less what was taken after it."""
        engine, s = self.engine, self.segment
        count, clock = _whole(s["count"]), _whole(s["clock"])
        used = np.repeat(_whole(s["blocks_used"]), count)
        if not engine.grows:
            return used
        taken = np.concatenate([[0], np.cumsum(self._blocks_taken())])
        place = np.arange(len(used)) - np.repeat(np.cumsum(count) - count, count)  # of a step in its segment
        here = np.minimum(np.repeat(clock, count) + place + 1, len(taken) - 1)
        end = np.minimum(np.repeat(clock + count, count), len(taken) - 1)
        return used - np.where(place + 1 < np.repeat(count, count), taken[end] - taken[here], 0)

    def _blocks_taken(self) -> Ints:
        """Blocks that requests took as they decoded, at each clock: a request takes one when its last one is full."""
        size, total = self.engine.block_size, self.engine.decodes.clock
        clock, computed, last = (_whole(self.stint[name]) for name in ("clock", "computed", "last_clock"))
        first = clock + -computed % size
        times = np.maximum(-((first - last) // size), 0)
        which = np.repeat(np.arange(len(times)), times)
        nth = np.arange(len(which)) - np.repeat(np.cumsum(times) - times, times)
        return np.bincount(first[which] + nth * size, minlength=total)

    def composition(self, step: int) -> Step:
        """Return a step of the run as the cost model takes it."""
        ends = np.cumsum(self.segment["count"])
        segment = int(np.searchsorted(ends, step, side="right"))
        place = step - int(ends[segment] - self.segment["count"][segment])
        read = self.prompt["segment"] == segment
        new, cached, logits = (self.prompt[name][read] for name in ("new", "cached", "logits"))
        if self.segment["decode_tokens"][segment]:
            stint = self.stint
            here = (stint["segment"] <= segment) & (stint["last_segment"] >= segment)
            clock = self.segment["clock"][segment] + place
            contexts = stint["computed"][here] + clock - stint["clock"][here]
            ones = np.ones(len(contexts))
            new, cached, logits = (np.concatenate(pair) for pair in ((new, ones), (cached, contexts), (logits, ones)))
        return Step(new=new, cached=cached, logits=logits)

    def _per_segment(self, segment: Floats, amount: Floats) -> Ints:
        """Add up amounts by segment; -1 is none."""
        real = segment >= 0
        return _whole(np.bincount(_whole(segment[real]), weights=amount[real], minlength=self.count)[: self.count])


def _whole(values: Floats | Ints) -> Ints:
    return values.astype(np.int64)


def _first(requests: int, reader: Ints, moment: Floats) -> Floats:
    """The first moment of each request, NaN without any; moments are in order."""
    found = np.full(requests, np.nan)
    found[reader[::-1]] = moment[::-1]
    return found
