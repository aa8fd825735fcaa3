"""The plain step engine: arrivals, one decision, one step, its tokens, again. It is the oracle of the fast engine.

It holds no rule of its own about who goes in a step; that is the scheduler's. It tells the time, hands out tokens,
takes back blocks, and notices when nothing can ever happen again.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

from costmodel.serving.clock import Clock
from costmodel.serving.policies.base import Scheduled, Scheduler, Shape
from costmodel.serving.pricing import Pricer, StepPrice
from costmodel.serving.request import Request
from costmodel.serving.words import many

PREFILL, DECODE, PREEMPTED, FINISHED = "prefill", "decode", "preempted", "finished"
"""What a request turns to; before the first of them it is queued."""
TRANSFER, QUEUED = "transfer", "queued"
"""What a request turns to between its first token and its place in a second pool."""

Observer = Callable[["StepEngine", float, StepPrice], None]
"""Called in the middle of each step, with its start and its price."""

_QUIET_STEPS = 64  # steps without a token after which the engine looks for a state that comes again


@dataclass
class Record:
    """What an engine writes down: a list a column, an entry a step."""

    start: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    memory_seconds: list[float] = field(default_factory=list)
    compute_seconds: list[float] = field(default_factory=list)
    prefill_tokens: list[int] = field(default_factory=list)
    decode_tokens: list[int] = field(default_factory=list)
    padding_tokens: list[int] = field(default_factory=list)
    sequences: list[int] = field(default_factory=list)
    running: list[int] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    preempted: list[int] = field(default_factory=list)
    blocks_used: list[int] = field(default_factory=list)
    even_gaps: list[int] = field(default_factory=list)
    """Sequences that got a token in this step and in the one before, so that the step is the gap between the two."""
    pool: list[str] = field(default_factory=list)
    other_gaps: list[float] = field(default_factory=list)
    """Every other gap between two tokens of a request."""
    phases: list[tuple[int, str, float]] = field(default_factory=list)
    """(index of the request, what it turns to, when)."""


class StepEngine:
    """One engine and its queue.

    Parameters
    ----------
    record: where to write; the engines of one run share it. name: of the pool, where there are two.
    lag: steps that a finished request keeps its place and blocks (1: asynchronous scheduling).

    Attributes
    ----------
    on_finish: called with each request that finishes, and when; returns the moment until which its blocks stay held, or
        None. observer: called in the middle of each step.
    came_prefilled: requests that were prefilled elsewhere and have not begun here.
    livelock: why nothing can happen any more. free_before: free blocks when the last step began.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        pricer: Pricer,
        clock: Clock,
        record: Record,
        *,
        name: str = "",
        lag: int = 0,
    ) -> None:
        self.scheduler, self.pool, self.pricer, self.clock = scheduler, scheduler.pool, pricer, clock
        self.record, self.name, self.lag = record, name, lag
        self.on_finish: Callable[[Request, float], float | None] = lambda request, now: None  # noqa: ARG005
        self.observer: Observer | None = None
        self.finished = self.free_before = 0
        self.livelock: str | None = None
        self.scheduled: Scheduled = {}
        self.came_prefilled: set[Request] = set()
        self._arrivals: list[tuple[float, int, Request]] = []
        self._leaving: list[list[Request]] = [[] for _ in range(lag)]
        self._held: list[tuple[float, int, Request]] = []
        self._quiet = 0
        self._remembered: object = None

    # ---- from outside ------------------------------------------------------------------------------------------

    def arrive(self, request: Request, moment: float) -> None:
        """Let a request come at ``moment``, which must not lie in the past."""
        heapq.heappush(self._arrivals, (moment, request.index, request))

    @property
    def to_come(self) -> list[Request]:
        """Requests that have not come yet."""
        return [request for _, _, request in self._arrivals]

    @property
    def busy(self) -> bool:
        """Whether any request is in the engine."""
        return bool(self.scheduler.running or self.scheduler.waiting)

    @property
    def next_start(self) -> float | None:
        """When the next step would start; None when nothing is left to do or nothing can be done."""
        if self.livelock is not None:
            return None
        if self.busy:
            return self.clock.now
        return max(self.clock.now, self._arrivals[0][0]) if self._arrivals else None

    def step(self) -> None:
        """Do one step, or wait for what comes next."""
        if not self.busy and self._arrivals and self._arrivals[0][0] > self.clock.now:
            self._wait_idle()
        self._let_in()
        self.free_before = self.pool.free
        self.scheduler.preempted = []
        self.scheduled = scheduled = self.scheduler.schedule()
        if scheduled or self.scheduler.preempted:
            self._run(scheduled)
            self._look_for_livelock()
        else:
            self._wait()

    # ---- inside ------------------------------------------------------------------------------------------------

    def _let_in(self) -> None:
        """Put what has arrived into the line, and take back blocks whose transfer has ended."""
        now = self.clock.now
        while self._held and self._held[0][0] <= now:
            self.pool.release(heapq.heappop(self._held)[2])
        while self._arrivals and self._arrivals[0][0] <= now:
            self.scheduler.add(heapq.heappop(self._arrivals)[2])

    def _run(self, scheduled: Scheduled) -> None:
        """Price the step, write it down, and hand out its tokens."""
        start, shape = self.clock.now, self.scheduler.shape(scheduled)
        price = self.pricer.price(*shape)
        if self.observer is not None:
            self.observer(self, start, price)
        self.clock.advance(price[0])
        if self.came_prefilled:
            self._begin_decoding(scheduled, start)
        self._write(start, price, scheduled, shape)
        if self.lag:
            self._let_out()
        self._quiet = 0 if self._hand_out(scheduled, start, self.clock.now) else self._quiet + 1

    def _begin_decoding(self, scheduled: Scheduled, start: float) -> None:
        """Note the first step of requests that were prefilled elsewhere."""
        begun = self.came_prefilled.intersection(scheduled)
        self.came_prefilled -= begun
        self.record.phases += [(request.index, DECODE, start) for request in begun]

    def _write(self, start: float, price: StepPrice, scheduled: Scheduled, shape: Shape) -> None:
        """Write down what is known before the tokens are handed out."""
        record, scheduler = self.record, self.scheduler
        decodes = len(shape.caches)
        prompt_tokens = sum(piece[0] for piece in shape.prompts)
        paid, tokens = decodes + prompt_tokens, sum(scheduled.values())
        record.start.append(start)
        seconds, memory_seconds, compute_seconds = price
        record.seconds.append(seconds)
        record.memory_seconds.append(memory_seconds)
        record.compute_seconds.append(compute_seconds)
        record.decode_tokens.append(min(decodes, tokens))
        record.prefill_tokens.append(tokens - min(decodes, tokens))
        record.padding_tokens.append(paid - tokens)
        record.sequences.append(len(scheduled))
        record.pool.append(self.name)
        record.blocks_used.append(self.pool.usable - self.pool.free)
        record.running.append(len(scheduler.running))
        record.waiting.append(len(scheduler.waiting))
        record.preempted.append(len(scheduler.preempted))
        if scheduler.preempted:
            record.phases += [(request.index, PREEMPTED, start) for request in scheduler.preempted]

    def _hand_out(self, scheduled: Scheduled, start: float, end: float) -> bool:
        """Advance every request of the step; return whether any got a token."""
        finished: list[Request] = []
        even = others = 0
        for request, tokens in scheduled.items():
            if request.computed < request.target:
                self._prefilled(request, tokens, start, end)
                if request.computed < request.target:
                    continue
            else:
                request.computed += tokens
            request.sampled += 1
            if request.last_token == start:
                even += 1
                gap = end - start
            else:
                others += 1
                gap = self._odd_gap(request, end)
            request.last_token = end
            request.worst_gap = max(request.worst_gap, gap)
            if request.sampled >= request.output:
                finished.append(request)
        self.record.even_gaps.append(even)
        if finished:
            self._finish(finished, end)
        return even + others > 0

    def _odd_gap(self, request: Request, end: float) -> float:
        """Write down a first token, or a gap that is more than the step."""
        if request.last_token is None:
            request.first_token = end
            return 0.0
        gap = end - request.last_token
        self.record.other_gaps.append(gap)
        return gap

    def _prefilled(self, request: Request, tokens: int, start: float, end: float) -> None:
        """Advance a request that reads its prompt (or, after a preemption, its prompt and what it had written)."""
        if request.scheduled is None:
            request.scheduled = start
        if not request.reading:
            request.reading = True
            self.record.phases.append((request.index, PREFILL, start))
        request.computed += tokens
        if request.computed >= request.target:
            request.reading = False
            self.record.phases.append((request.index, DECODE, end))

    def _finish(self, finished: list[Request], now: float) -> None:
        """Take finished requests off the running ones, and give back what they hold, at once or later."""
        scheduler = self.scheduler
        scheduler.running = [request for request in scheduler.running if request.sampled < request.output]
        self.finished += len(finished)
        leave = []
        for request in finished:
            until = self.on_finish(request, now)
            if until is None:
                self.record.phases.append((request.index, FINISHED, now))
                leave.append(request)
            else:
                heapq.heappush(self._held, (until, request.index, request))
        if self.lag:
            self._leaving[-1] += leave
            scheduler.leaving += leave
        else:
            self._release(leave)

    def _let_out(self) -> None:
        """Give back what was held by requests that finished ``lag`` steps ago."""
        self._release(self._leaving.pop(0))
        self._leaving.append([])

    def _release(self, requests: list[Request]) -> None:
        """Give back the places and blocks of finished requests."""
        for request in requests:
            self.pool.release(request)
            if self.lag:
                self.scheduler.leaving.remove(request)

    def _wait_idle(self) -> None:
        """Wait for an arrival with nobody in the engine: whatever is held comes free meanwhile."""
        while any(self._leaving):
            self._let_out()
        self.clock.wait_until(self._arrivals[0][0])

    def _wait(self) -> None:
        """Nothing can go in a step: let what is held come free, or wait for an arrival; without either, it is over."""
        if any(self._leaving):
            self._let_out()
            return
        moments = [queue[0][0] for queue in (self._arrivals, self._held) if queue]
        if moments:
            self.clock.wait_until(min(moments))
        else:
            self.livelock = self._stuck()

    def _stuck(self) -> str:
        """Name a state in which no step is possible and nothing is to come."""
        stop, waiting = self.scheduler.stopped, len(self.scheduler.waiting)
        if not self.scheduler.waiting:
            running = many(len(self.scheduler.running), "running request")
            return f"no tokens for {running}: {self.scheduler.running_waits.text}"
        return f"{waiting} waiting for ever behind {self.scheduler.waiting[0].name}: {stop.text}"

    def _look_for_livelock(self) -> None:
        """Notice requests that preempt each other for ever: no token, no arrival to come, and the same state again."""
        if self._quiet < _QUIET_STEPS or self._arrivals:
            return
        state = [(request.index, request.computed) for request in (*self.scheduler.running, *self.scheduler.waiting)]
        if state == self._remembered:
            names = ", ".join(request.name for request in self.scheduler.preempted) or "requests"
            self.livelock = f"{names} lose their blocks again and again, and nobody gets a token"
        elif self._quiet & (self._quiet - 1) == 0:
            self._remembered = state
