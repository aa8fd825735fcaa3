"""One step at a time: who is in it, who is not and why, and which blocks each request holds.

Nothing of this is kept while a run is made. The plain engine runs again, over a pool that knows its blocks by number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from costmodel.errors import ConfigError
from costmodel.serving.clock import StepClock
from costmodel.serving.policies.base import Piece, Scheduled, Scheduler, Stop
from costmodel.serving.prefix import MappedPool
from costmodel.serving.pricing import StepPrice, bound_of
from costmodel.serving.request import UNLIMITED, Request
from costmodel.serving.steps import Observer, StepEngine
from costmodel.step import Step

HEAD_OF_LINE = "head of line"


@dataclass(frozen=True, kw_only=True)
class Member:
    """One request during one step.

    Attributes
    ----------
    id: its name. phase: "prefill", "decode", "waiting" or "preempted".
    tokens: tokens that it has in this step, 0 when it is not in it.
    computed, known: tokens with keys and values before the step, and tokens whose values are known.
    reason: why it is not in the step: "budget", "seqs", "blocks", "policy", or "head of line" (one before it in the
        line waits, and nobody passes it); "" when it is in.
    why: the same as a sentence.
    blocks: numbers of the KV blocks that it holds during the step.
    """

    id: str
    phase: str
    tokens: int
    computed: int
    known: int
    reason: str
    why: str
    blocks: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class StepView:
    """One step.

    Attributes
    ----------
    step: its number. start_s, seconds: when, and how long. bound: "memory", "compute" or "". pool: "" where one is all.
    tokens, prefill_tokens, decode_tokens: what goes through. budget: tokens that could, None without such a limit.
    running: admitted requests in the scheduler's order. waiting: the line. preempted: ids that lost their blocks.
    free_blocks, num_blocks: after allocation, and in all.
    prompts, caches: what the step pays for: (new, cached, logits) of each sequence that reads, and the cached tokens
        of each that decodes (for a padded batch: as it is padded).
    """

    step: int
    start_s: float
    seconds: float
    bound: str
    pool: str
    tokens: int
    prefill_tokens: int
    decode_tokens: int
    budget: int | None
    running: tuple[Member, ...]
    waiting: tuple[Member, ...]
    preempted: tuple[str, ...]
    free_blocks: int
    num_blocks: int
    prompts: tuple[Piece, ...]
    caches: tuple[int, ...]

    @property
    def composition(self) -> Step:
        """The step as the cost model takes it, to be itemised by ``costmodel.price``."""
        pieces = [*self.prompts, *((1, cached, 1) for cached in self.caches)]
        new, cached, logits = zip(*pieces, strict=True) if pieces else ((), (), ())
        return Step(new=new, cached=cached, logits=logits)

    @property
    def block_map(self) -> dict[int, tuple[str, ...]]:
        """Who holds each block that is held; a block of a shared prefix has several holders."""
        holders: dict[int, tuple[str, ...]] = {}
        for member in self.running:
            for block in member.blocks:
                holders[block] = (*holders.get(block, ()), member.id)
        return holders


class Replay:
    """Runs a simulation again, always the same one, and looks into one of its steps.

    Parameters
    ----------
    begin: starts the simulation over and does one step each time it is asked for the next; it yields the engine that
        did it. Its argument is what that engine calls in the middle of each step.
    """

    def __init__(self, begin: Callable[[Observer], Iterator[StepEngine]]) -> None:
        self._begin = begin
        self._steps: Iterator[StepEngine] = iter(())
        self._next = 0  # the step that the replay would do next
        self._wanted = -1
        self._view: StepView | None = None

    def view(self, step: int) -> StepView:
        """Return step number ``step``, starting over only to go back.

        Raises
        ------
        ConfigError: for a step that the run does not have.
        """
        if isinstance(step, bool) or not isinstance(step, int) or step < 0:
            raise ConfigError("step", step, "a whole number from 0 on")
        if self._view is None or self._view.step != step:
            self._go_to(step)
        if self._view is None or self._view.step != step:
            raise ConfigError("step", step, f"a step of the run, which has {self._next:,}")
        return self._view

    def _go_to(self, step: int) -> None:
        if step < self._next or not self._next:
            self._steps, self._next = self._begin(self._look), 0
        self._wanted = step
        while self._next <= step and next(self._steps, None) is not None:
            self._next += 1

    def _look(self, engine: StepEngine, start: float, price: StepPrice) -> None:
        """See a step from inside: after the decision, before anything that follows from it."""
        if self._next == self._wanted:
            self._view = _view(self._next, engine, start, price)

    def schedule(self) -> list[tuple[dict[str, int], int]]:
        """Return tokens of each request and free blocks after it for each step, idle unit steps among them."""
        rows: list[tuple[dict[str, int], int]] = []
        for engine in self._begin(lambda *_: None):
            if isinstance(engine.clock, StepClock):
                rows += [({}, engine.free_before)] * (engine.clock.index - 1 - len(rows))
            rows.append(({request.name: n for request, n in engine.scheduled.items()}, engine.pool.free))
        return rows


def _view(step: int, engine: StepEngine, start: float, price: StepPrice) -> StepView:
    scheduler, scheduled, pool = engine.scheduler, engine.scheduled, engine.pool
    shape = scheduler.shape(scheduled)
    tables = pool.tables if isinstance(pool, MappedPool) else {}
    decodes = sum(1 for request in scheduled if request.computed >= request.target)
    tokens = sum(scheduled.values())
    return StepView(
        step=step,
        start_s=start,
        seconds=price[0],
        bound=bound_of(engine.pricer, *price[1:]),
        pool=engine.name,
        tokens=tokens,
        prefill_tokens=tokens - decodes,
        decode_tokens=decodes,
        budget=None if scheduler.budget == UNLIMITED else scheduler.budget,
        running=tuple(_running(request, scheduler, scheduled, tables) for request in scheduler.running),
        waiting=tuple(_waiting(i, request, scheduler.stopped) for i, request in enumerate(scheduler.waiting)),
        preempted=tuple(request.name for request in scheduler.preempted),
        free_blocks=pool.free,
        num_blocks=pool.usable,
        prompts=tuple(shape.prompts),
        caches=tuple(shape.caches),
    )


def _running(
    request: Request, scheduler: Scheduler, scheduled: Scheduled, tables: Mapping[Request, list[int]]
) -> Member:
    tokens = scheduled.get(request, 0)
    stop = Stop("") if tokens else scheduler.running_waits
    return Member(
        id=request.name,
        phase="prefill" if request.computed < request.target else "decode",
        tokens=tokens,
        computed=request.computed,
        known=request.known,
        reason=stop.reason,
        why=stop.text if stop.reason else "",
        blocks=tuple(tables.get(request, ())),
    )


def _waiting(place: int, request: Request, stop: Stop) -> Member:
    """Say why a waiting request is out: for the head of the line the stop itself, behind it usually the head."""
    behind = place > 0 and not stop.for_all
    return Member(
        id=request.name,
        phase="preempted" if request.preemptions else "waiting",
        tokens=0,
        computed=request.computed,
        known=request.known,
        reason=HEAD_OF_LINE if behind else stop.reason,
        why=f"place {place + 1} in the line, and nobody passes the head" if behind else stop.text,
        blocks=(),
    )
