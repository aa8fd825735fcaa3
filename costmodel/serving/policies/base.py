"""What all scheduling policies share: their knobs, their queues, and the words for why a request is not in a step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from costmodel.errors import ConfigError
from costmodel.hardware import Hardware
from costmodel.serving.blocks import BlockPool, Hits
from costmodel.serving.request import UNLIMITED, Request
from costmodel.serving.words import are, many

Scheduled = dict[Request, int]
"""Tokens of each request in a step, in the order in which the scheduler put them there."""

Piece = tuple[int, int, int]
"""One sequence that reads: new tokens, tokens cached before them, positions whose logits are needed (0 or 1)."""


class Shape(NamedTuple):
    """The sequences of a step, as far as its price depends on them.

    Attributes
    ----------
    prompts: those that read a prompt or a chunk of one. caches: cached tokens of each that decodes one token.
    """

    prompts: list[Piece]
    caches: list[int]


class Stop(NamedTuple):
    """Why the head of the waiting line did not enter a step.

    Attributes
    ----------
    reason: "budget" (tokens of the step), "seqs" (places), "blocks" (memory) or "policy" (it admits nobody now).
    needed, available: what it asked for and what there was, in the unit of the reason.
    note: the rule of the policy, in words, where the reason is "policy".
    """

    reason: str
    needed: int = 0
    available: int = 0
    note: str = ""

    @property
    def text(self) -> str:
        """The reason in words.

        >>> Stop("blocks", 12, 5).text, Stop("budget", 1, 0).text
        ('needs 12 free blocks of which there are 5', "needs 1 token of the step's budget, of which none is left")
        """
        return self.note or _STOPS[self.reason](self)

    @property
    def for_all(self) -> bool:
        """Whether it stops whoever waits, and not only a head of the line that asks for much."""
        return self.reason in ("seqs", "policy") or (self.reason == "budget" and not self.available)


def _budget(stop: Stop) -> str:
    left = f"{stop.available:,} {are(stop.available)}" if stop.available else "none is"
    return f"needs {many(stop.needed, 'token')} of the step's budget, of which {left} left"


def _blocks(stop: Stop) -> str:
    return f"needs {many(stop.needed, 'free block')} of which there {are(stop.available)} {stop.available:,}"


_STOPS: Mapping[str, Callable[[Stop], str]] = {
    "": lambda _: "nothing stops it",
    "budget": _budget,
    "seqs": lambda stop: f"needs place {stop.needed:,} where {stop.available:,} may run at once",
    "blocks": _blocks,
}


class Limits(NamedTuple):
    """What a request may be, at most, for the policy to finish it when it is alone.

    Attributes
    ----------
    prompt: tokens of a prompt, and what sets that limit.
    stored: tokens of prompt and output that have to be stored (P + O - 1), and what sets that limit.
    """

    prompt: int
    prompt_reason: str
    stored: int
    stored_reason: str


@dataclass(frozen=True, kw_only=True)
class Policy(ABC):
    """The knobs of a scheduling policy. Each concrete policy is registered under its ``name``.

    Attributes
    ----------
    max_num_seqs: requests that may run at once.
    max_model_len: tokens of prompt and output together; None: as long as the longest request of the workload.
    num_blocks, block_size: a pool that the knobs bring along, used where ``simulate`` is given none.
    """

    name: ClassVar[str] = ""
    copies: ClassVar[str] = ""
    """The engine, and its version, whose behaviour the policy copies."""
    takes_model_length: ClassVar[bool] = True
    """Whether ``max_model_len`` is the model's own where it is None."""
    registry: ClassVar[dict[str, type[Policy]]] = {}

    max_num_seqs: int = 128
    max_model_len: int | None = None
    num_blocks: int | None = None
    block_size: int | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.name:
            Policy.registry[cls.name] = cls

    def __post_init__(self) -> None:
        check_whole(self, "max_num_seqs")
        check_whole(self, "max_model_len", "num_blocks", "block_size", optional=True)

    @property
    def steps_only(self) -> str:
        """Why these knobs are left to the plain engine, "" when they are not."""
        return ""

    @classmethod
    def knobs_on(cls, hw: Hardware, *, offline: bool = False) -> dict[str, Any]:  # noqa: ARG003  # engines may ask
        """Return the knobs that the copied engine sets by itself on a device, where they are not the defaults."""
        return {}

    @abstractmethod
    def scheduler(self, pool: BlockPool, longest: int) -> Scheduler:
        """Return a scheduler with empty queues over this pool; ``longest`` is P + O of the longest request."""

    def pool(self, usable: int, block_size: int) -> BlockPool:
        """Return the pool that the policy schedules over."""
        return BlockPool(usable, block_size)

    @abstractmethod
    def limits(self, pool: BlockPool, longest: int) -> Limits:
        """Return what a request may be at most to be finished by this policy, alone in this pool."""

    @property
    def length(self) -> int:
        """``max_model_len``, or no limit."""
        return UNLIMITED if self.max_model_len is None else self.max_model_len


class Scheduler(ABC):
    """The queues of an engine, and the decision who goes through the next step.

    Attributes
    ----------
    waiting: requests without blocks, first in line first. running: admitted requests, in the policy's own order.
    leaving: finished requests whose places and blocks are not free yet (asynchronous scheduling).
    preempted: requests that lost their blocks in this step.
    stopped: why the head of the waiting line is not in this step.
    """

    running_waits = Stop("budget", note="the tokens of the step went to requests before it")
    """Why an admitted request may be left out of a step."""
    budget: int = UNLIMITED
    """Tokens that a step may have."""

    def __init__(self, pool: BlockPool, max_num_seqs: int) -> None:
        self.pool, self.max_num_seqs = pool, max_num_seqs
        self.waiting: deque[Request] = deque()
        self.running: list[Request] = []
        self.leaving: list[Request] = []
        self.preempted: list[Request] = []
        self.stopped = Stop("")

    @abstractmethod
    def schedule(self) -> Scheduled:
        """Choose the next step: take blocks, move requests between the queues, and return each one's tokens."""

    def add(self, request: Request) -> None:
        """Put a request that has arrived at the end of the line."""
        self.waiting.append(request)

    def shape(self, scheduled: Scheduled) -> Shape:
        """Return what the step has to pay for. Call it before the tokens count as computed."""
        prompts, caches = [], []
        for request, tokens in scheduled.items():
            computed, target = request.computed, request.target
            if computed >= target:
                caches.append(computed)
            else:
                prompts.append((tokens, computed, 1 if computed + tokens >= target else 0))
        return Shape(prompts, caches)

    @property
    def occupied(self) -> int:
        """Places taken: running requests, and finished ones that have not left."""
        return len(self.running) + len(self.leaving)

    def admit(self, tokens: int, hits: Hits = ()) -> Request:
        """Move the head of the line to the running requests, with blocks for ``tokens`` tokens."""
        request = self.waiting.popleft()
        self.pool.allocate(request, tokens, hits)
        computed = max(len(hits) * self.pool.block_size, request.arrived_with)
        # Who comes with a cache has been prefilled elsewhere, and decodes from its first step here.
        request.target = request.arrived_with or request.known
        request.computed, request.arrived_with = computed, 0
        request.found += len(hits) * self.pool.block_size
        self.running.append(request)
        return request

    def preempt(self, request: Request) -> None:
        """Take a request's blocks away and put it at the head of the line; the caller has taken it off ``running``."""
        self.pool.release(request)
        request.computed = 0
        request.reading = False
        request.preemptions += 1
        self.preempted.append(request)
        self.waiting.appendleft(request)

    def decode_or_preempt(self, scheduled: Scheduled) -> tuple[list[Request], list[Request]]:
        """Give each running request that decodes its token, oldest first, where at least one block is free.

        The rule of vLLM before V1 (``can_append_slot``): a decode asks for a free block even if its last block has
        room, and without one the youngest request not yet visited is preempted, or else the request itself.
        Returns those that decode and those whose prompt is unfinished (they keep their blocks), in order.
        """
        candidates = deque(by_arrival(self.running))
        decodes, prefills = [], []
        while candidates:
            request = candidates.popleft()
            if request.computed < request.target:
                prefills.append(request)
                continue
            while self.pool.free < 1 and candidates:
                self.preempt(candidates.pop())
            if self.pool.free < 1:
                self.preempt(request)
                continue
            self.pool.allocate(request, request.computed + 1)
            scheduled[request] = 1
            decodes.append(request)
        return decodes, prefills


def by_arrival(requests: Iterable[Request]) -> list[Request]:
    """Order requests by arrival, those of one moment as they stand."""
    return sorted(requests, key=lambda request: request.arrival)


def check_whole(owner: object, *names: str, least: int = 1, optional: bool = False) -> None:
    """Check that the named knobs are whole numbers from ``least`` on (or None, where they are optional).

    Raises
    ------
    ConfigError: for anything but a whole number that is large enough.
    """
    for name in names:
        value = getattr(owner, name)
        if optional and value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= UNLIMITED:
            raise ConfigError(name, value, f"a whole number from {least} on")


def check_fraction(owner: object, *names: str) -> None:
    """Check that the named knobs are fractions: 0 or more, less than 1.

    Raises
    ------
    ConfigError: for anything but a fraction.
    """
    for name in names:
        value = getattr(owner, name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
            raise ConfigError(name, value, "a fraction from 0 to less than 1")


def check_flag(owner: object, *names: str) -> None:
    """Check that the named knobs are True or False.

    Raises
    ------
    ConfigError: for anything but True or False.
    """
    for name in names:
        if not isinstance(getattr(owner, name), bool):
            raise ConfigError(name, getattr(owner, name), "True or False")
