"""The event-jump engine: while nobody joins, leaves or runs out of blocks, steps differ only in how long caches are.

So it goes from event to event. Between two of them all steps are done at once, in closed form; a step in which something
happens is done by itself, at the cost of what happens and not of all who decode. It shares no loop with the plain engine.
"""

from __future__ import annotations

import bisect
import math
from abc import ABC, abstractmethod
from collections import deque
from typing import ClassVar

from costmodel.serving.clock import first_step_at
from costmodel.serving.jump.decodes import Decodes
from costmodel.serving.jump.log import Log
from costmodel.serving.options import Setup
from costmodel.serving.policies.base import Piece, Policy

_QUIET_STEPS = 64  # steps without a token after which the engine looks for a state that comes again


class JumpEngine(ABC):
    """What all policies share; a subclass says who joins, and who has to go.

    Attributes
    ----------
    serves: the policy that a subclass serves.
    grows: whether requests take blocks as they decode (or have all they need from the start).
    spare: blocks that have to be free besides those that a step takes.
    arrival_unblocks: whether an arrival behind the head of the line may let the head join.
    running: admitted requests, in order of admission.
    blocked: the head of the line cannot join as long as nobody leaves.
    resting: running requests that would decode but get no token in the step that is being done.
    late: when requests got their last token that have missed a step since, and how many of them.
    """

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
        self.scheduled, self.first_token, self.last_token = ([math.nan] * count for _ in range(3))
        self.worst_gap = [0.0] * count
        self.waiting: deque[int] = deque()
        self.running: dict[int, None] = {}
        self.partials: list[int] = []  # admitted requests whose prompt is not finished, first admitted first
        self.decodes = Decodes(count, side.block_size, side.pricer.views)
        self.late: list[tuple[float, int]] = []
        self.resting = 0
        self.leaving: deque[tuple[int, int]] = deque()  # (steps done when it leaves, blocks)
        self.blocked = False
        self.log = Log()
        self.livelock: str | None = None
        self.now, self.steps, self.iterations, self.finished = 0.0, 0, 0, 0
        self._tick, self._tick_seconds = 0, side.pricer.step_seconds
        self._decoded_at = 0.0  # when those who decode got their last token
        self._quiet = 0
        self._remembered: list[tuple[int, int]] = []
        served = work.served.tolist()
        first = len(served) if setup.users is None else setup.users
        self._coming = [(self.arrival[i], i) for i in served[:first]]
        self._later = deque(served[first:])
        self._come = 0
        self._next_arrival = self._coming[0][0] if self._coming else math.inf
        self.prepare(setup)

    # ---- what a policy says -------------------------------------------------------------------------------------

    def prepare(self, setup: Setup) -> None:
        """Take the knobs of the policy."""

    @abstractmethod
    def steady(self) -> bool:
        """Whether the next step is one in which everybody who runs decodes, and nobody joins or goes."""

    @abstractmethod
    def special(self) -> bool:
        """Do one step in which something happens; return False when none can be done."""

    def held(self, tokens: int) -> int:
        """Blocks of a request that has computed so many tokens."""
        return -(-tokens // self.block_size)

    # ---- the loop -----------------------------------------------------------------------------------------------

    def advance(self) -> bool:
        """Go on to the next event; return whether there is anything left to do."""
        self.iterations += 1
        if self._next_arrival <= self.now:
            self._let_in()
        if self.steady():
            self.jump()
            return True
        return (self.special() or self._wait()) and self.livelock is None

    def _let_in(self) -> None:
        """Put what has arrived into the line."""
        coming, now, empty = self._coming, self.now, not self.waiting
        place = self._come
        while place < len(coming) and coming[place][0] <= now:
            self.waiting.append(coming[place][1])
            place += 1
        self._come = place
        self._next_arrival = coming[place][0] if place < len(coming) else math.inf
        if empty or self.arrival_unblocks:
            self.blocked = False

    def jump(self) -> None:
        """Do all the steps up to the next event at once."""
        decodes = self.decodes
        steps = min(decodes.next_end(), decodes.next_edge()) - decodes.clock
        if self.grows:
            steps = decodes.steps_within(self.free - self.spare, steps)
        if self.leaving:
            steps = min(steps, self.leaving[0][0] - self.steps)
        if self.late:
            steps = 1
        line = self.pricer.line(decodes.count, decodes.reads(), decodes.growth())
        steps = int(min(steps, line.steps))
        first, growth = line.seconds, line.growth
        if steps > 1 and self.now + steps * (first + growth * (steps - 1) / 2) >= self._next_arrival:
            steps = min(steps, self._steps_to_arrival(first, growth))
        half = (steps - 1) / 2
        self._record(
            steps,
            steps * (first + growth * half),
            first,
            first + growth * (steps - 1),
            steps * (line.memory_seconds + line.memory_growth * half),
            steps * (line.compute_seconds + line.compute_growth * half),
        )
        self._let_out()
        self._finish_all()

    def _steps_to_arrival(self, first: float, growth: float) -> int:
        """Return how many steps end before the next arrival can be seen: it is seen at the start of a step."""
        if self._tick_seconds is not None:
            return max(first_step_at(self._next_arrival, self._tick_seconds) - self._tick, 1)
        gap = self._next_arrival - self.now
        linear = first - growth / 2
        steps = math.ceil(2 * gap / (linear + math.sqrt(linear * linear + 2 * growth * gap)))
        while steps > 1 and self.now + (steps - 1) * (first + growth * (steps - 2) / 2) >= self._next_arrival:
            steps -= 1
        while self.now + steps * (first + growth * (steps - 1) / 2) < self._next_arrival:
            steps += 1
        return max(steps, 1)

    def _record(self, steps: int, seconds: float, first: float, last: float, memory: float, compute: float) -> None:
        """Write down a segment in which everybody decodes, and let it pass."""
        decodes, log, count = self.decodes, self.log, self.decodes.count
        start = self.now
        if self.grows:
            self.free -= decodes.new_blocks_in(steps)
        even = count
        if self.late:
            even -= self.end_late(start + seconds)
        log.segments.extend(
            (
                start, steps, seconds, first, last, memory, compute, decodes.clock, 0, count, count,
                count, len(self.waiting), 0, self.usable - self.free, even,
            )
        )  # fmt: skip
        log.count += 1
        self._pass(steps, seconds)
        decodes.advance(steps)
        self._decoded_at = self.now
        self._quiet = 0

    def _pass(self, steps: int, seconds: float) -> None:
        """Let steps pass."""
        self.steps += steps
        if self._tick_seconds is None:
            self.now += seconds
        else:
            self._tick += steps
            self.now = self._tick * self._tick_seconds

    def end_late(self, end: float) -> int:
        """Write down the gaps of those who missed a step and get a token at ``end``; return how many they are."""
        for since, count in self.late:
            if count:
                self.log.gaps.extend((end - since, count))
        total = sum(count for _, count in self.late)
        self.late.clear()
        return total

    def settle(self) -> None:
        """Bring up to now what is not kept up while requests decode."""
        decodes = self.decodes
        for index, end in enumerate(decodes.end):
            if end >= 0:
                self.sampled[index] = self.output[index] - decodes.remaining(index)
                self.last_token[index] = self.last_token_of(index)
                self.log.end(self.stint[index], decodes.clock)

    @property
    def to_come(self) -> list[int]:
        """Requests that have not come."""
        return [index for _, index in self._coming[self._come :]] + list(self._later)

    # ---- a step by itself -----------------------------------------------------------------------------------------

    def step(self, readers: list[int], pieces: list[Piece], preempted: int, *, decode: bool = True) -> None:
        """Do one step: the prompts (or chunks) of ``readers``, and everybody who decodes if ``decode``."""
        decodes, log, start = self.decodes, self.log, self.now
        count = decodes.count if decode else 0
        reads = decodes.reads() if decode else [0] * len(self.pricer.views)
        price = self.pricer.mixed(pieces, count, reads)
        for reader, piece in zip(readers, pieces, strict=True):
            log.prompts.extend((log.count, reader, *piece))
        self._pass(1, price.seconds)
        even = count - self.end_late(self.now) if decode and self.late else count
        tokens = sum(piece[0] for piece in pieces)
        log.segments.extend(
            (
                start, 1, price.seconds, price.seconds, price.seconds, price.memory_seconds, price.compute_seconds,
                decodes.clock, tokens, count, count + len(pieces), decodes.count + len(self.partials) + self.resting,
                len(self.waiting), preempted, self.usable - self.free, even,
            )
        )  # fmt: skip
        log.count += 1
        if count:
            decodes.advance(1)
            self._decoded_at = self.now
        self._let_out()
        self._finish_all()
        self._quiet = 0 if self._read(readers, pieces) or count else self._quiet + 1
        if self._quiet >= _QUIET_STEPS and self._next_arrival == math.inf:
            self._look_for_livelock()

    def _read(self, readers: list[int], pieces: list[Piece]) -> bool:
        """Advance who has read; who has read all gets a token and decodes from now on. Return whether anybody has."""
        any_token = False
        for reader, (new, cached, logits) in zip(readers, pieces, strict=True):
            self.computed[reader] = cached + new
            if logits:
                any_token = True
                self.partials.remove(reader)
                self._first_token(reader)
        return any_token

    def _first_token(self, index: int) -> None:
        """A prompt is finished: its token is out."""
        sampled, now = self.sampled[index], self.now
        if sampled:
            gap = now - self.last_token[index]
            self.log.gaps.extend((gap, 1))
            self.worst_gap[index] = max(self.worst_gap[index], gap)
        else:
            self.first_token[index] = now
        self.sampled[index] = sampled + 1
        self.last_token[index] = now
        if sampled + 1 >= self.output[index]:
            self._gone(index, self.target[index])
        else:
            self.decodes.join(index, self.target[index], self.output[index] - sampled - 1)
            self.stint[index] = self.log.begin((index, now, self.decodes.clock, self.target[index]))

    def admit(self) -> int:
        """Admit the head of the line, and return who that is."""
        index = self.waiting.popleft()
        self.running[index] = None
        self.partials.append(index)
        self.computed[index] = 0
        self.target[index] = self.prompt[index] + self.sampled[index]
        self.log.admissions.extend((index, self.now))
        if self.scheduled[index] != self.scheduled[index]:  # NaN: it has never been scheduled
            self.scheduled[index] = self.now
        return index

    # ---- who leaves -------------------------------------------------------------------------------------------------

    def _finish_all(self) -> None:
        """Let those go that have all their tokens."""
        decodes = self.decodes
        if decodes.next_end() > decodes.clock:
            return
        for index in decodes.finished():
            self.sampled[index] = self.output[index]
            self.last_token[index] = self.now
            self.log.end(self.stint[index], decodes.clock)
            self._gone(index, self.prompt[index] + self.output[index] - 1)

    def _gone(self, index: int, tokens: int) -> None:
        """A request has finished with so many tokens stored: its place and blocks come free, now or ``lag`` steps later."""
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
        self.log.preemptions.extend((index, self.now))
        self.waiting.appendleft(index)
        self.blocked = False

    def stop(self, index: int) -> None:
        """A request stops to decode before it has all its tokens."""
        since = self.last_token_of(index)
        if self.late:
            place = next((k for k, (moment, _) in enumerate(self.late) if moment == since), None)
            if place is not None:
                self.late[place] = (since, self.late[place][1] - 1)
        self.last_token[index] = since
        self.log.end(self.stint[index], self.decodes.clock)
        self.decodes.leave(index)

    def held_by_partial(self, index: int) -> int:
        """Blocks of a request whose prompt is not finished."""
        return self.held(self.computed[index])

    def last_token_of(self, index: int) -> float:
        """When a request that decodes got its last token: in the last decode step, or when it joined."""
        return max(self.last_token[index], self._decoded_at)

    @property
    def occupied(self) -> int:
        """Places taken."""
        return self.decodes.count + len(self.partials) + len(self.leaving)

    # ---- when nothing can be done -------------------------------------------------------------------------------------

    def _wait(self) -> bool:
        """Let what is held come free, or wait for an arrival; without either, it is over. Return whether it goes on."""
        if self.leaving:
            self._drain()
        elif self._next_arrival < math.inf:
            if self._tick_seconds is None:
                self.now = max(self.now, self._next_arrival)
            else:
                self._tick = max(self._tick, first_step_at(self._next_arrival, self._tick_seconds))
                self.now = self._tick * self._tick_seconds
        else:
            if self.waiting or self.partials:
                self.livelock = f"{len(self.waiting) + len(self.partials)} requests wait for ever: nothing they need can come free"
            return False
        return True

    def _look_for_livelock(self) -> None:
        """Notice requests that preempt each other for ever: no token, no arrival to come, and the same state again."""
        state = [(index, self.computed[index]) for index in (*self.partials, *self.waiting)]
        if state == self._remembered:
            self.livelock = "requests lose their blocks again and again, and nobody gets a token"
        elif self._quiet & (self._quiet - 1) == 0:
            self._remembered = state

    def _drain(self) -> None:
        """Free what the first of the finished requests hold, as if the steps up to then had been done."""
        early = self.leaving[0][0] - self.steps
        self.leaving = deque((due - early, blocks) for due, blocks in self.leaving)
        self._let_out()
