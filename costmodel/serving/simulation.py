"""The plain simulation: requests come to an engine (or to a chain of them), and steps are done in order of time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from costmodel.serving.policies.base import Policy
from costmodel.serving.prefix import MappedPool
from costmodel.serving.pricing import Pricer
from costmodel.serving.request import Request
from costmodel.serving.results import Ints, Outcome, Segments
from costmodel.serving.steps import Observer, Record, StepEngine
from costmodel.serving.workload import Workload


@dataclass(frozen=True, kw_only=True)
class Side:
    """A pool of accelerators that work as one: its policy, its prices, its KV blocks."""

    policy: Policy
    pricer: Pricer
    num_blocks: int
    block_size: int

    def engine(self, longest: int, record: Record, *, name: str = "", lag: int = 0, mapped: bool = False) -> StepEngine:
        """Return an engine without requests; ``mapped``: its pool knows its blocks by number."""
        pool = self.policy.pool(self.num_blocks, self.block_size)
        if mapped and not isinstance(pool, MappedPool):
            pool = MappedPool(self.num_blocks, self.block_size)
        scheduler = self.policy.scheduler(pool, longest)
        return StepEngine(scheduler, self.pricer, self.pricer.clock(), record, name=name, lag=lag)


class Simulation:
    """One engine and the requests that come to it.

    Parameters
    ----------
    users: how many issue the requests, each the next one when its last has finished; None: requests come by themselves.
    lag: steps that a finished request keeps its place and blocks.
    observer: called in the middle of each step.
    """

    def __init__(
        self,
        work: Workload,
        side: Side,
        *,
        users: int | None = None,
        lag: int = 0,
        mapped: bool = False,
        observer: Observer | None = None,
    ) -> None:
        self.work, self.record, self.requests = work, Record(), work.requests()
        self.engines = self._engines(side, lag=lag, mapped=mapped)
        for engine in self.engines:
            engine.observer = observer
        count = len(self.requests) if users is None else users
        self._later = deque(self.requests[count:])
        for request in self.requests[:count]:
            self._enter(request, request.arrival)

    def __iter__(self) -> Iterator[StepEngine]:
        """Do one step each time, in order of time, and yield the engine that did it."""
        starts = self.record.start
        while (engine := self._next()) is not None:
            before = len(starts)
            engine.step()
            if len(starts) > before:
                yield engine

    def advance(self, steps: int) -> bool:
        """Do up to ``steps`` steps; return whether there is anything left to do."""
        return sum(1 for _ in islice(self, steps)) == steps

    def _next(self) -> StepEngine | None:
        """Return the engine whose next step starts first, None when none has any."""
        engine = self.engines[0]
        return engine if engine.next_start is not None else None

    @property
    def finished(self) -> int:
        """Requests that have all their tokens."""
        return self.engines[-1].finished

    @property
    def livelock(self) -> str | None:
        """Why nothing can happen any more, when that is so."""
        return next((engine.livelock for engine in self.engines if engine.livelock), None)

    def _engines(self, side: Side, *, lag: int, mapped: bool) -> list[StepEngine]:
        engine = side.engine(self.work.longest, self.record, lag=lag, mapped=mapped)
        engine.on_finish = self._finish
        return [engine]

    def _enter(self, request: Request, moment: float) -> None:
        """Let a request come."""
        request.arrival = moment
        self.engines[0].arrive(request, moment)

    def _finish(self, request: Request, now: float) -> float | None:  # noqa: ARG002  # a chain of engines needs it
        """A request has all its tokens: its user, if it has one, issues the next."""
        if self._later:
            self._enter(self._later.popleft(), now)
        return None

    def outcome(self) -> Outcome:
        """Return what became of each request of the table."""
        count, nan = len(self.work), np.nan
        absent = {request.index for request in self.engines[0].to_come}  # on its way to a second one, it has come
        absent |= {request.index for request in self._later}
        times = np.full((5, count), nan)
        times[0] = self.work.arrival
        whole = np.zeros((3, count), dtype=np.int64)
        for r in self.requests:
            arrival = nan if r.index in absent else r.arrival
            times[:, r.index] = (arrival, r.scheduled, r.first_token, r.last_token, r.worst_gap)
            whole[:, r.index] = (r.sampled, r.preemptions, r.found)
        came, scheduled, first_token, last_token, worst_gap = times
        sampled, preemptions, found = whole
        return Outcome(
            arrival=came,
            scheduled=scheduled,
            first_token=first_token,
            last_token=last_token,
            worst_gap=worst_gap,
            sampled=sampled,
            preemptions=preemptions,
            found=found,
        )

    def phases(self) -> list[tuple[int, str, float]]:
        """Return what each request turned to, and when."""
        return self.record.phases

    def blocks_each(self) -> Ints:
        """Return the KV blocks held during every step."""
        return np.array(self.record.blocks_used, dtype=np.int64)

    def composition(self, step: int) -> None:  # noqa: ARG002  # the jump engine has it
        """Say that compositions are not kept: a replay finds them."""
        return

    def segments(self) -> Segments:
        """Return the steps, each a segment of its own."""
        r = self.record
        seconds = np.array(r.seconds, dtype=np.float64)
        return Segments(
            count=np.ones(len(seconds), dtype=np.int64),
            start=np.array(r.start, dtype=np.float64),
            seconds=seconds,
            first=seconds,
            last=seconds,
            memory_seconds=np.array(r.memory_seconds, dtype=np.float64),
            compute_seconds=np.array(r.compute_seconds, dtype=np.float64),
            prefill_tokens=np.array(r.prefill_tokens, dtype=np.int64),
            decode_tokens=np.array(r.decode_tokens, dtype=np.int64),
            padding_tokens=np.array(r.padding_tokens, dtype=np.int64),
            sequences=np.array(r.sequences, dtype=np.int64),
            running=np.array(r.running, dtype=np.int64),
            waiting=np.array(r.waiting, dtype=np.int64),
            preempted=np.array(r.preempted, dtype=np.int64),
            blocks_used=self.blocks_each(),
            even_gaps=np.array(r.even_gaps, dtype=np.int64),
            pool=r.pool,
        )
