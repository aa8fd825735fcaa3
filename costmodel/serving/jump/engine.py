"""The event-jump engine: while nobody joins, leaves or runs out of blocks, steps differ only in how long caches are.

So it goes from event to event. Between two of them all steps are done at once, in closed form; a step in which
something happens is done by itself, at the cost of what happens and not of all who decode. The plain engine
(``steps.py``) is its oracle, and shares no loop with it.

Source: the plain engine.
"""

from __future__ import annotations

import bisect
import math
from abc import ABC, abstractmethod
from collections import deque
from typing import ClassVar, Generic, TypeVar, cast

from costmodel.serving.clock import first_step_at
from costmodel.serving.jump.decodes import Decodes
from costmodel.serving.jump.log import Log
from costmodel.serving.options import Setup
from costmodel.serving.policies.base import Piece, Policy
from costmodel.serving.words import many

P = TypeVar("P", bound=Policy)

_QUIET_STEPS = 64  # steps without a token after which the engine looks for a state that comes again


class JumpEngine(ABC, Generic[P]):
    """What all policies share; a subclass says who joins, and who has to go.

    Attributes
    ----------
    serves: the policy that a subclass serves.
    grows: whether requests take blocks as they decode (or have all they need from the start).
    spare: blocks that have to be free besides those that a step takes.
    arrival_unblocks: whether an arrival behind the head of the line may let the head join.
    running: admitted requests, in order of admission. partials: those of them that have read a part of their prompt.
    blocked: the head of the line cannot join as long as nobody leaves.
    late: when requests got their last token that have missed a step since, and how many of them.
    leaving: requests that have finished and keep their blocks: (steps done when these come free, how many).
    """

    # More attributes than a plain object keeps in fast places.
    __slots__ = (
        "_come", "_coming", "_decoded_at", "_later", "_next_arrival", "_no_reads", "_quiet", "_remembered", "_tick",
        "_tick_seconds", "arrival", "block_size", "blocked", "computed", "decodes", "finished", "free", "iterations",
        "lag", "last_token", "late", "leaving", "livelock", "log", "max_num_seqs", "now", "output", "partials",
        "preemptions", "pricer", "prompt", "running", "sampled", "steps", "stint", "target", "usable", "waiting",
        "worst_gap",
    )  # fmt: skip

    serves: ClassVar[type[Policy]]
    grows: ClassVar[bool] = True
    spare: ClassVar[int] = 0
    arrival_unblocks: ClassVar[bool] = False

    def __init__(self, setup: Setup) -> None:
        work, side = setup.work, setup.side
        count = len(work)
        self.pricer, self.lag = side.pricer, setup.options.lag
        self.usable = self.free = side.num_blocks
        self.block_size, self.max_num_seqs = side.block_size, side.policy.max_num_seqs
        self.prompt, self.output, self.arrival = work.prompt.tolist(), work.output.tolist(), work.arrival.tolist()
        self.computed, self.target, self.sampled = [0] * count, [0] * count, [0] * count
        self.preemptions, self.stint = [0] * count, [0] * count
        self.last_token, self.worst_gap = [math.nan] * count, [0.0] * count
        self.waiting: deque[int] = deque()
        self.running: dict[int, None] = {}
        self.partials: list[int] = []
        self.decodes = Decodes(count, side.block_size, side.pricer.views)
        self.leaving: deque[tuple[int, int]] = deque()
        self.late: list[tuple[float, int]] = []
        self.blocked = False
        self.log = Log()
        self.livelock: str | None = None
        self.now, self.steps, self.iterations, self.finished = 0.0, 0, 0, 0
        self._tick, self._tick_seconds = 0, side.pricer.step_seconds
        self._decoded_at = 0.0  # when those who decode got their last token
        self._no_reads = [0] * len(side.pricer.views)
        self._quiet, self._remembered = 0, list[tuple[int, int]]()
        served = work.served.tolist()
        first = len(served) if setup.users is None else setup.users
        self._coming = [(self.arrival[i], i) for i in served[:first]]
        self._later = deque(served[first:])
        self._come = 0
        self._next_arrival = self._coming[0][0] if self._coming else math.inf
        self.prepare(cast("P", side.policy), work.longest)

    # ---- what a policy says -------------------------------------------------------------------------------------

    @abstractmethod
    def prepare(self, policy: P, longest: int) -> None:
        """Take the knobs of the policy; ``longest`` is P + O of the longest request."""

    @abstractmethod
    def steady(self) -> bool:
        """Whether the next step is one in which everybody who runs decodes, and nobody joins or goes."""

    @abstractmethod
    def special(self) -> bool:
        """Do one step in which something happens; return False when none can be done."""

    def held(self, tokens: int) -> int:
        """Blocks of a request that has computed so many tokens."""
        return -(-tokens // self.block_size)

    def held_by_partial(self, index: int) -> int:
        """Blocks of a request whose prompt is not finished."""
        return self.held(self.computed[index])

    # ---- the loop -----------------------------------------------------------------------------------------------

    def advance(self, events: int) -> bool:
        """Go on, by ``events`` events at most; return whether there is anything left to do."""
        for _ in range(events):
            self.iterations += 1
            if self._next_arrival <= self.now:
                self._let_in()
            if self.steady():
                self.jump()
            elif not (self.special() or self._wait()) or self.livelock is not None:
                return False
        return True

    def _let_in(self) -> None:
        """Put what has arrived into the line."""
        coming, now = self._coming, self.now
        if self.arrival_unblocks or not self.waiting:
            self.blocked = False
        place = self._come
        while place < len(coming) and coming[place][0] <= now:
            self.waiting.append(coming[place][1])
            place += 1
        self._come = place
        self._next_arrival = coming[place][0] if place < len(coming) else math.inf

    # ---- many steps at once ---------------------------------------------------------------------------------------

    def jump(self) -> None:
        """Do all the steps up to the next event at once."""
        decodes, log, start, room = self.decodes, self.log, self.now, self.free - self.spare
        clock, count = decodes.clock, decodes.count
        reads, growth, event = decodes.outlook()
        steps, gap = event - clock, self._next_arrival - start
        if self.grows and count * (steps // self.block_size + 1) > room:
            steps = decodes.steps_within(room, steps)
        if self.leaving:
            steps = min(steps, self.leaving[0][0] - self.steps)
        if self._tick_seconds is not None:
            steps, gap = self._until_tick(steps), math.inf
        if self.late:
            steps = 1
        steps, first, seconds, memory, compute, each = self.pricer.stretch(count, reads, growth, steps, gap)
        if self.grows:
            self.free -= decodes.new_blocks_in(steps)
        log.segments.extend(
            (
                start,
                steps,
                seconds,
                first,
                memory,
                compute,
                clock,
                count,
                count,
                len(self.waiting),
                self.usable - self.free,
            )
        )
        log.count += 1
        if each is not None:
            log.each.frombytes(each.tobytes())
        self._decoded(steps, seconds)

    def _until_tick(self, steps: int) -> int:
        """Return how many of these steps can be done before an arrival is seen, where steps are counted."""
        if self._next_arrival == math.inf:
            return steps
        return min(steps, max(self._tick_at(self._next_arrival) - self._tick, 1))

    def _tick_at(self, moment: float) -> int:
        """Return the first of the equal steps that starts at ``moment`` or later."""
        return first_step_at(moment, self._tick_seconds or 1.0)

    def _decoded(self, steps: int, seconds: float) -> None:
        """Let steps pass in which everybody who decodes got tokens."""
        self._pass(steps, seconds)
        decodes = self.decodes
        decodes.advance(steps)
        self._decoded_at = self.now
        if self.late:
            self.end_late(self.now)
        self._quiet = 0
        if self.leaving:
            self._let_out()
        if decodes.next_end <= decodes.clock:
            self._finish_all()

    def _pass(self, steps: int, seconds: float) -> None:
        """Let steps pass."""
        self.steps += steps
        if self._tick_seconds is None:
            self.now += seconds
        else:
            self._tick += steps
            self.now = self._tick * self._tick_seconds

    def end_late(self, end: float) -> None:
        """Write down the gaps of those who missed a step and got a token at ``end``."""
        for since, count in self.late:
            if count:
                self.log.gaps.extend((end - since, count, self.log.count - 1))
        self.late.clear()

    # ---- a step by itself -----------------------------------------------------------------------------------------

    def step(self, readers: list[int], pieces: list[Piece], *, decode: bool = True) -> None:
        """Do one step: the prompts (or chunks) of ``readers``, and everybody who decodes if ``decode``."""
        decodes, log = self.decodes, self.log
        count = decodes.count if decode else 0
        reads = decodes.reads() if count else self._no_reads
        seconds, memory, compute = self.pricer.mixed(pieces, count, reads)
        log.segments.extend(
            (
                self.now, 1, seconds, seconds, memory, compute, decodes.clock, count,
                len(self.running), len(self.waiting), self.usable - self.free,
            )
        )  # fmt: skip
        log.count += 1
        log.each.append(seconds)
        if count:
            self._decoded(1, seconds)
        else:
            self._pass(1, seconds)
            self._quiet += 1
            self._let_out()
        self._read(readers, pieces)
        if self._quiet >= _QUIET_STEPS and self._next_arrival == math.inf:
            self._look_for_livelock()

    def _read(self, readers: list[int], pieces: list[Piece]) -> None:
        """Advance who has read; who has read all gets a token and decodes from now on."""
        segment, prompts, partials = self.log.count - 1, self.log.prompts, self.partials
        for reader, (new, cached, logits) in zip(readers, pieces, strict=True):
            prompts.extend((segment, reader, new, cached, logits))
            if logits:
                if cached:
                    partials.remove(reader)
                self._begin(reader)
            else:
                if not cached:
                    partials.append(reader)
                self.computed[reader] = cached + new

    def _begin(self, index: int) -> None:
        """A prompt is finished: its token is out, and the next one comes with the next step."""
        sampled, now, target = self.sampled[index] + 1, self.now, self.target[index]
        if sampled > 1:
            gap = now - self.last_token[index]
            self.log.gaps.extend((gap, 1, -1))
            self.worst_gap[index] = max(self.worst_gap[index], gap)
        self._quiet = 0
        self.sampled[index] = sampled
        self.last_token[index] = now
        left = self.output[index] - sampled
        if left > 0:
            self.decodes.join(index, target, left)
            self.stint[index] = self.log.begin(index, now, self.decodes.clock, target)
        else:
            self._gone(index, target)

    def admit(self) -> int:
        """Admit the head of the line, and return who that is."""
        index = self.waiting.popleft()
        self.running[index] = None
        self.computed[index] = 0
        self.target[index] = self.prompt[index] + self.sampled[index]
        return index

    # ---- who leaves -------------------------------------------------------------------------------------------------

    def _finish_all(self) -> None:
        """Let those go that have all their tokens."""
        clock, now = self.decodes.clock, self.now
        for index in self.decodes.finished():
            output = self.output[index]
            self.sampled[index] = output
            self.last_token[index] = now
            self.log.end(self.stint[index], clock)
            self._gone(index, self.prompt[index] + output - 1)

    def _gone(self, index: int, tokens: int) -> None:
        """A request has finished, with so many tokens stored: its place and blocks come free, if need be later."""
        self.finished += 1
        del self.running[index]
        if self.lag:
            self.leaving.append((self.steps + self.lag, self.held(tokens)))
        else:
            self.free += self.held(tokens)
        self.blocked = False  # also with a lag: the tokens that it had in each step are free at once
        if self._later:
            self._enter(self._later.popleft())

    def _enter(self, index: int) -> None:
        """A user issues the next request."""
        self.arrival[index] = self.now
        bisect.insort(self._coming, (self.now, index), lo=self._come)
        self._next_arrival = self._coming[self._come][0]

    def _let_out(self) -> None:
        """Free what finished requests have held for long enough."""
        while self.leaving and self.leaving[0][0] <= self.steps:
            self.free += self.leaving.popleft()[1]
            self.blocked = False

    def preempt(self, index: int) -> None:
        """Take a request's blocks away and put it at the head of the line."""
        decodes = self.decodes
        if decodes.end[index] >= 0:
            self.free += self.held(decodes.context(index))
            self.sampled[index] = self.output[index] - decodes.remaining(index)
            self.stop(index)
        else:
            self.free += self.held_by_partial(index)
            self.partials.remove(index)
        del self.running[index]
        self.computed[index] = 0
        self.preemptions[index] += 1
        self.log.preemptions.extend((index, self.now, self.log.count))
        self.waiting.appendleft(index)
        self.blocked = False

    def stop(self, index: int) -> None:
        """A request stops to decode before it has all its tokens."""
        since = self.last_token_of(index)
        place = next((k for k, (moment, _) in enumerate(self.late) if moment == since), None)
        if place is not None:
            self.late[place] = (since, self.late[place][1] - 1)
        self.last_token[index] = since
        self.log.end(self.stint[index], self.decodes.clock)
        self.decodes.leave(index)

    def last_token_of(self, index: int) -> float:
        """When a request that decodes got its last token: in the last decode step, or when it began to decode."""
        return max(self.last_token[index], self._decoded_at)

    @property
    def occupied(self) -> int:
        """Places taken."""
        return len(self.running) + len(self.leaving)

    # ---- when nothing can be done -----------------------------------------------------------------------------------

    def _wait(self) -> bool:
        """Let what is held come free, or wait for an arrival; without either, it is over. Return whether it goes on."""
        if self.leaving:
            self._drain()
        elif self._next_arrival == math.inf:
            if self.waiting or self.partials:
                stuck = len(self.waiting) + len(self.partials)
                self.livelock = f"{many(stuck, 'request')} waiting for ever: nothing that is needed can come free"
            return False
        elif self._tick_seconds is None:
            self.now = max(self.now, self._next_arrival)
        else:
            self._tick = max(self._tick, self._tick_at(self._next_arrival))
            self.now = self._tick * self._tick_seconds
        return True

    def _drain(self) -> None:
        """Free what the first of the finished requests hold, as if the steps up to then had been done."""
        early = self.leaving[0][0] - self.steps
        self.leaving = deque((due - early, blocks) for due, blocks in self.leaving)
        self._let_out()

    def _look_for_livelock(self) -> None:
        """Notice requests that preempt each other for ever: no token, no arrival to come, and the same state again."""
        state = [(index, self.computed[index]) for index in (*self.partials, *self.waiting)]
        if state == self._remembered:
            self.livelock = "requests lose their blocks again and again, and nobody gets a token"
        elif self._quiet & (self._quiet - 1) == 0:
            self._remembered = state

    # ---- at the end -------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Bring up to now what is not kept up while requests decode."""
        decodes = self.decodes
        for index in self.running:
            if decodes.end[index] >= 0:
                self.sampled[index] = self.output[index] - decodes.remaining(index)
                self.last_token[index] = self.last_token_of(index)
                self.log.end(self.stint[index], decodes.clock)

    @property
    def to_come(self) -> list[int]:
        """Requests that have not come."""
        return [index for _, index in self._coming[self._come :]] + list(self._later)
