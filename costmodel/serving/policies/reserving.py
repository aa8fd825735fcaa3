"""Policies that reserve a whole ``max_model_len`` for each request: static batching and Orca.

Neither has a token budget and neither ever preempts: what is reserved at admission is enough to the end.
"""

from __future__ import annotations

from dataclasses import dataclass

from costmodel.serving.blocks import BlockPool
from costmodel.serving.policies.base import Limits, Policy, Scheduled, Scheduler, Shape, Stop, check_flag
from costmodel.serving.request import Request


class ReservingScheduler(Scheduler):
    """Admits whole prompts in order of arrival, as long as a place and a full reservation are free."""

    def __init__(self, pool: BlockPool, max_num_seqs: int, reservation: int) -> None:
        super().__init__(pool, max_num_seqs)
        self.reservation = reservation  # tokens

    def decode_all(self, scheduled: Scheduled) -> None:
        """Give each running request one token."""
        for request in self.running:
            scheduled[request] = 1

    def admit_whole_prompts(self, scheduled: Scheduled) -> None:
        """Admit from the head of the line until a place or a reservation is missing."""
        while self.waiting:
            needed = self.pool.needed(self.waiting[0], self.reservation)
            if self.occupied >= self.max_num_seqs:
                self.stopped = Stop("seqs", self.occupied + 1, self.max_num_seqs)
                return
            if needed > self.pool.free:
                self.stopped = Stop("blocks", needed, self.pool.free)
                return
            request = self.admit(self.reservation)
            scheduled[request] = request.known - request.computed


class OrcaScheduler(ReservingScheduler):
    """Everyone decodes, and whoever fits joins the same step with the whole prompt."""

    def schedule(self) -> Scheduled:
        """Choose the next step."""
        scheduled: Scheduled = {}
        self.decode_all(scheduled)
        self.admit_whole_prompts(scheduled)
        return scheduled


class StaticScheduler(ReservingScheduler):
    """A batch forms when nothing runs, and nobody joins before its last member has finished."""

    def schedule(self) -> Scheduled:
        """Choose the next step."""
        scheduled: Scheduled = {}
        if self.occupied:
            self.stopped = Stop("policy", note="the batch that runs is closed until its last member has finished")
            self.decode_all(scheduled)
        else:
            self.admit_whole_prompts(scheduled)
        return scheduled


class PaddedStaticScheduler(StaticScheduler):
    """A static batch whose every member costs as much as the longest prompt, and until the last one finishes."""

    def __init__(self, pool: BlockPool, max_num_seqs: int, reservation: int) -> None:
        super().__init__(pool, max_num_seqs, reservation)
        self.batch: list[Request] = []

    def schedule(self) -> Scheduled:
        """Choose the next step."""
        forms = not self.occupied
        scheduled = super().schedule()
        if forms:
            self.batch = list(self.running)
        return scheduled

    def shape(self, scheduled: Scheduled) -> Shape:
        """Return the batch as it is padded: every member as long as the longest, finished ones too."""
        longest = max(request.prompt for request in self.batch)
        member = next(iter(scheduled))
        if member.computed < member.target:
            return Shape([(longest, 0, 1)] * len(self.batch), [])
        return Shape([], [longest + member.computed - member.prompt] * len(self.batch))


@dataclass(frozen=True, kw_only=True)
class Reserving(Policy):
    """Knobs of the policies that reserve: how many at once, and how long each may become."""

    takes_model_length = False  # a reservation as long as a model allows would leave no room for a second request

    def reservation(self, longest: int) -> int:
        """Tokens reserved for each request."""
        return longest if self.max_model_len is None else self.max_model_len

    def limits(self, pool: BlockPool, longest: int) -> Limits:
        """Return limits that follow from the reservation, which has to fit into the pool."""
        tokens = self.reservation(longest)
        room = pool.usable * pool.block_size
        if tokens > room:
            why = f"a reservation of max_model_len {tokens:,} tokens, more than the {room:,} that the pool holds"
            return Limits(0, why, 0, why)
        why = f"max_model_len {tokens:,}"
        return Limits(tokens - 1, why, tokens, why)


@dataclass(frozen=True, kw_only=True)
class Orca(Reserving):
    """Iteration-level scheduling of whole prompts, with full reservations (Yu et al., OSDI 2022)."""

    name = "orca"
    copies = "sarathi-serve 96f9911, Orca scheduler"

    def scheduler(self, pool: BlockPool, longest: int) -> OrcaScheduler:
        """Return a scheduler with empty queues."""
        return OrcaScheduler(pool, self.max_num_seqs, self.reservation(longest))


@dataclass(frozen=True, kw_only=True)
class Static(Reserving):
    """Batches that form when nothing runs and end with their last member (FasterTransformer).

    Attributes
    ----------
    padded: finished members and short prompts go on costing as much as the longest (the classical form).
    """

    name = "static"
    copies = "sarathi-serve 96f9911, FasterTransformer scheduler"

    padded: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flag(self, "padded")

    @property
    def steps_only(self) -> str:
        """A padded batch costs more at every step than its requests tell."""
        return "padded batches go step by step" if self.padded else ""

    def scheduler(self, pool: BlockPool, longest: int) -> StaticScheduler:
        """Return a scheduler with empty queues."""
        kind = PaddedStaticScheduler if self.padded else StaticScheduler
        return kind(pool, self.max_num_seqs, self.reservation(longest))
