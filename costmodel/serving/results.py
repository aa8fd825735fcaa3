"""What a simulation found: its steps, its requests and a summary, whichever engine ran it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from costmodel.serving.policies.base import Policy
from costmodel.serving.steps import QUEUED
from costmodel.serving.summary import Slo, summarise
from costmodel.serving.workload import Refusal, Workload
from costmodel.step import Step

if TYPE_CHECKING:
    from costmodel.serving.explain import Replay, StepView

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of each request, in the order of the table; times are NaN where they were not reached.

    Attributes
    ----------
    arrival: when it came (with users: when one was free; NaN: never). scheduled: start of its first step.
    first_token, last_token: when they came. worst_gap: the longest wait between two of its tokens.
    sampled: tokens that it got. preemptions: how often it lost its blocks. found: tokens found in a prefix cache.
    """

    arrival: Floats
    scheduled: Floats
    first_token: Floats
    last_token: Floats
    worst_gap: Floats
    sampled: Ints
    preemptions: Ints
    found: Ints


@dataclass(frozen=True, kw_only=True)
class Segments:
    """Runs of equal steps: a column an array, a row a segment. The plain engine's segments have one step each.

    Attributes
    ----------
    count: steps in the segment. start: of its first step. seconds: of all its steps. first, last: of its first and last
        step; in between they change by equal amounts, unless there is ``each``.
    memory_seconds, compute_seconds: the two sides of the floor, of all its steps.
    prefill_tokens, decode_tokens, padding_tokens, sequences: of each of its steps.
    running, waiting: requests during each. preempted: requests that lost their blocks.
    blocks_used: KV blocks held during its last step.
    even_gaps: gaps between tokens that are as long as a step, in each step.
    pool: name of the pool, "" where one is all.
    each: seconds of every step, where these do not change by equal amounts within a segment.
    """

    count: Ints
    start: Floats
    seconds: Floats
    first: Floats
    last: Floats
    memory_seconds: Floats
    compute_seconds: Floats
    prefill_tokens: Ints
    decode_tokens: Ints
    padding_tokens: Ints
    sequences: Ints
    running: Ints
    waiting: Ints
    preempted: Ints
    blocks_used: Ints
    even_gaps: Ints
    pool: list[str]
    each: Floats | None = None

    @property
    def end(self) -> Floats:
        """End of the last step of each."""
        return self.start + self.seconds


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What holds for a run as a whole.

    Attributes
    ----------
    policy: who decided. engine: "steps" or "jump". iterations: rounds of the engine's loop.
    num_blocks, block_size: the KV pool. pricing: in words. priced: whether steps have a floor.
    pools: of accelerators. slo: limits of good requests. note: what else a reader should know.
    livelock: why nothing could happen any more, None where all was well. cancelled: the caller ended it.
    """

    policy: Policy
    engine: str
    iterations: int
    num_blocks: int
    block_size: int
    pricing: str
    priced: bool
    pools: int
    slo: Slo
    livelock: str | None = None
    cancelled: bool = False
    note: str = ""


class Log(Protocol):
    """What an engine has written down, beyond its segments."""

    def phases(self) -> list[tuple[int, str, float]]:
        """Return (index of a request, what it turned to, when), in order of time."""

    def blocks_each(self) -> Ints:
        """Return the KV blocks held during every step."""

    def composition(self, step: int) -> Step | None:
        """Return a step as the cost model takes it; None where it is not written down."""


@dataclass(frozen=True, eq=False)
class Run:
    """A finished simulation."""

    work: Workload
    outcome: Outcome
    segments: Segments
    facts: Facts
    other_gaps: Floats  # (gaps, 2): seconds between two tokens that are no step's, and how many of them
    _log: Log
    _replay: Callable[[], Replay]

    @cached_property
    def steps(self) -> pd.DataFrame:
        """Steps, a row a segment of equal ones.

        Columns: start_s; seconds (of the segment); steps (in it); prefill_tokens, decode_tokens, padding_tokens and
        sequences of each step; running and waiting requests, those preempted; blocks_used in its last step; bound
        ("memory", "compute", or "" where steps have no price); pool ("prefill", "decode", or "").
        """
        s = self.segments
        return self._table(slice(None), s.start, s.seconds, s.count, s.blocks_used)

    def expand(self) -> pd.DataFrame:
        """Steps, a row each, with the columns of ``steps``."""
        s = self.segments
        which = np.repeat(np.arange(len(s.count)), s.count)
        place = np.arange(len(which)) - np.repeat(which_first(s.count), s.count)
        each = s.each
        if each is None:
            growth = (s.last - s.first) / np.maximum(s.count - 1, 1)
            each = s.first[which] + growth[which] * place
        before = np.cumsum(each) - each
        start = s.start[which] + before - before[which_first(s.count)][which]
        return self._table(which, start, each, np.ones(len(which), dtype=np.int64), self._log.blocks_each())

    def composition(self, step: int) -> Step:
        """Return a step of the run (counted from 0, idle ones left out) as the cost model takes it.

        ``costmodel.price`` gives its seconds again, and its bill.
        """
        written = self._log.composition(step)
        return self.explain(step).composition if written is None else written

    def _table(self, rows: Any, start: Floats, seconds: Floats, count: Ints, blocks_used: Ints) -> pd.DataFrame:
        s = self.segments
        bound = np.where(s.compute_seconds > s.memory_seconds, "compute", "memory")
        names = ("prefill_tokens", "decode_tokens", "padding_tokens", "sequences", "running", "waiting", "preempted")
        columns: dict[str, Any] = {"start_s": start, "seconds": seconds, "steps": count}
        columns |= {name: getattr(s, name)[rows] for name in names} | {"blocks_used": blocks_used}
        columns["bound"] = bound[rows] if self.facts.priced else ""
        return pd.DataFrame({**columns, "pool": np.asarray(s.pool, dtype=object)[rows]}, copy=False)

    @cached_property
    def requests(self) -> pd.DataFrame:
        """Requests, in the order of the table.

        Columns: id, arrival_s, prompt_tokens, output_tokens (as served), scheduled_s (start of the first step),
        queued_s (waiting for it), first_token_s, finish_s, ttft_s, tpot_s (mean time of each token after the first; NaN
        for one token), worst_itl_s (longest wait between two tokens), latency_s, preemptions, cached_tokens (found in a
        prefix cache), outcome ("finished", "rejected", "unfinished", or "not arrived") and reason.
        """
        o, w = self.outcome, self.work
        finish = np.where(self.finished, o.last_token, np.nan)
        with np.errstate(invalid="ignore", divide="ignore"):
            tpot = np.where(w.output > 1, (finish - o.first_token) / (w.output - 1), np.nan)
        return pd.DataFrame(
            {
                "id": w.names,
                "arrival_s": o.arrival,
                "prompt_tokens": w.prompt,
                "output_tokens": w.output,
                "scheduled_s": o.scheduled,
                "queued_s": o.scheduled - o.arrival,
                "first_token_s": o.first_token,
                "finish_s": finish,
                "ttft_s": o.first_token - o.arrival,
                "tpot_s": tpot,
                "worst_itl_s": np.where(o.sampled > 1, o.worst_gap, np.nan),
                "latency_s": finish - o.arrival,
                "preemptions": o.preemptions,
                "cached_tokens": o.found,
                "outcome": self.outcomes,
                "reason": self._reasons,
            }
        )

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The run in figures; see ``summary.summarise`` for each of them."""
        return summarise(self)

    @cached_property
    def timeline(self) -> pd.DataFrame:
        """What each request was doing when: id, phase, start_s, end_s.

        Phases: "queued", "prefill", "decode", "preempted", and "transfer" between two pools.
        """
        end = float(self.segments.end.max()) if len(self.segments.start) else 0.0
        served = [i for i in self.work.served.tolist() if not np.isnan(self.outcome.arrival[i])]
        spans = _spans(self._log.phases(), self.outcome.arrival, served, end)
        rows = [(self.work.names[i], *span) for i, *span in spans]
        table = pd.DataFrame(rows, columns=["id", "phase", "start_s", "end_s"])
        return table.astype({"start_s": np.float64, "end_s": np.float64})

    @property
    def schedule(self) -> list[tuple[dict[str, int], int]]:
        """For each step, the tokens of each request and the free blocks after it; idle unit steps too.

        Found by running the plain engine again, once.
        """
        return self._replayed.schedule()

    def explain(self, step: int) -> StepView:
        """Say of one step who was in it, who was not and why, and which blocks each request held.

        Steps count from 0, without idle ones (``steps`` of the plain engine has a row for each). The plain engine runs
        again up to this step; going forward from the last one asked for costs a step each.

        Raises
        ------
        ConfigError: for a step that the run does not have.
        """
        return self._replayed.view(step)

    @cached_property
    def _replayed(self) -> Replay:
        return self._replay()

    @cached_property
    def finished(self) -> NDArray[np.bool_]:
        """Which requests have all their tokens."""
        return (self.outcome.sampled >= self.work.output) & ~np.isnan(self.outcome.last_token)

    @cached_property
    def outcomes(self) -> list[str]:
        """What became of each request: "finished", "rejected", "unfinished" or "not arrived"."""
        arrived = ~np.isnan(self.outcome.arrival)
        names = np.select(
            [self.work.turned_away, self.finished, arrived],
            ["rejected", "finished", "unfinished"],
            default="not arrived",
        )
        return [str(name) for name in names]

    @property
    def refusals(self) -> list[tuple[int, str]]:
        """Why requests were rejected: how many for each kind of reason, the commonest first, and it in words."""
        alike: dict[tuple[str, str], list[Refusal]] = {}
        for refusal in self.work.refused:
            if refusal is not None:
                alike.setdefault((refusal.what, refusal.limit), []).append(refusal)
        return [(len(these), Refusal.of_several(these)) for these in sorted(alike.values(), key=len, reverse=True)]

    @property
    def _reasons(self) -> list[str]:
        why = self.facts.livelock or ("the run was cancelled" if self.facts.cancelled else "")
        return [
            str(refusal or "") or note or (why if outcome == "unfinished" else "")
            for refusal, note, outcome in zip(self.work.refused, self.work.notes, self.outcomes, strict=True)
        ]


def which_first(count: Ints) -> Ints:
    """Place of the first step of each segment among all steps."""
    return np.cumsum(count) - count


def _spans(
    phases: list[tuple[int, str, float]], arrival: Floats, served: Sequence[int], end: float
) -> Iterator[tuple[int, str, float, float]]:
    """Turn changes of phase into spans, request by request; what does not end lasts to ``end``."""
    changes: dict[int, list[tuple[str, float]]] = {i: [] for i in served}
    for i, phase, moment in phases:
        changes[i].append((phase, moment))
    for i, turns in changes.items():
        phase, since = QUEUED, float(arrival[i])
        for next_phase, moment in (*turns, ("", end)):
            if phase in (next_phase, "finished"):
                continue
            if moment > since:
                yield i, phase, since, moment
            phase, since = next_phase, moment
