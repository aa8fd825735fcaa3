"""vLLM V1: one budget of tokens a step, spent on running requests in order of admission, then on waiting ones."""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from typing import Any

from costmodel.errors import ConfigError
from costmodel.hardware import GIB, Hardware
from costmodel.serving.blocks import BlockPool
from costmodel.serving.policies.base import (
    Limits,
    Policy,
    Scheduled,
    Scheduler,
    Stop,
    check_flag,
    check_fraction,
    check_whole,
)
from costmodel.serving.prefix import PrefixPool
from costmodel.serving.request import UNLIMITED, Request
from costmodel.serving.words import many


class TokenBudgetScheduler(Scheduler):
    """First come, first served."""

    def __init__(self, pool: BlockPool, policy: VllmV1) -> None:
        super().__init__(pool, policy.max_num_seqs)
        self.policy = policy
        self.watermark = policy.watermark_blocks(pool.usable)
        self.max_model_len = policy.length
        self.budget = policy.max_num_batched_tokens
        self.steps = 0

    def schedule(self) -> Scheduled:
        """Choose the next step."""
        scheduled: Scheduled = {}
        self.threshold = self._long_prefill_threshold()
        self.prefill_allowed = self._prefill_turn()
        budget = self._schedule_running(scheduled)
        if self.preempted:
            self.stopped = Stop("policy", note="a step that preempted somebody admits nobody")
        elif not self.prefill_allowed:
            self.stopped = Stop("policy", note="prompts are read only every few steps (prefill_schedule_interval)")
        else:
            self._schedule_waiting(scheduled, budget)
        self.steps += 1
        return scheduled

    def _long_prefill_threshold(self) -> int:
        """Tokens that one prompt may have in a step; the cap is off for a request that is alone (since 0.33)."""
        threshold = self.policy.long_prefill_token_threshold
        return threshold if threshold and len(self.waiting) + len(self.running) > 1 else UNLIMITED

    def _prefill_turn(self) -> bool:
        """Whether this step may read prompts: every so many steps, or when nobody decodes anyway."""
        if self.steps % self.policy.prefill_schedule_interval == 0:
            return True
        return not any(request.computed >= request.target for request in self.running)

    def _schedule_running(self, scheduled: Scheduled) -> int:
        """Serve the running requests in order, preempting where blocks are short; return what is left of the budget."""
        budget, position = self.budget, 0
        while position < len(self.running) and budget > 0:
            request = self.running[position]
            tokens = self._tokens_of(request, budget)
            if tokens and not self.pool.covers(request, request.computed + tokens):
                refund, stays, before = self._make_room(request, tokens, scheduled)
                budget += refund
                position -= before
                tokens = tokens if stays else 0
            if tokens:
                scheduled[request] = tokens
                budget -= tokens
            position += 1
        return budget

    def _tokens_of(self, request: Request, budget: int) -> int:
        """Tokens that a running request may have: what is not computed, within threshold, budget and length."""
        computed = request.computed
        missing = request.prompt + request.sampled - computed
        room = self.max_model_len - 1 - computed
        if computed >= request.target:
            return min(missing, room)
        return min(missing, self.threshold, budget, room) if self.prefill_allowed else 0

    def _make_room(self, request: Request, tokens: int, scheduled: Scheduled) -> tuple[int, bool, int]:
        """Give a request blocks for its tokens, preempting until there are enough or the request itself has gone.

        Returns the tokens that victims give back, whether the request stays, and how many victims stood before it (it
        counts itself when it goes).
        """
        refund = before = 0
        while self.pool.needed(request, request.computed + tokens) > self.pool.free:
            victim = self._victim()
            given_back = scheduled.pop(victim, 0)
            refund += given_back
            before += 1 if given_back or victim is request else 0
            self.preempt(victim)
            if victim is request:
                return refund, False, before
        self.pool.allocate(request, request.computed + tokens)
        return refund, True, before

    def _victim(self) -> Request:
        """Take the request that has to go off the running ones: the last admitted."""
        return self.running.pop()

    def _schedule_waiting(self, scheduled: Scheduled, budget: int) -> None:
        """Admit from the head of the line while budget, places and blocks last; the head never preempts."""
        while self.waiting:
            if budget <= 0:
                self.stopped = Stop("budget", 1, 0)
                return
            if self.occupied >= self.max_num_seqs:
                self.stopped = Stop("seqs", self.occupied + 1, self.max_num_seqs)
                return
            head = self.waiting[0]
            hits = self.pool.find_cached(head)
            computed = max(len(hits) * self.pool.block_size, head.arrived_with)
            tokens = min(head.known - computed, self.threshold)
            if not self.policy.chunked_prefill and tokens > budget:
                self.stopped = Stop("budget", tokens, budget)
                return
            tokens = min(tokens, budget)
            needed = self._needed_to_admit(head, computed + tokens, hits)
            if needed > self.pool.free:
                self.stopped = Stop("blocks", needed, self.pool.free)
                return
            scheduled[self.admit(computed + tokens, hits)] = tokens
            budget -= tokens

    def _needed_to_admit(self, head: Request, tokens: int, hits: tuple[int, ...]) -> int:
        """Return the blocks that must be free: for the chunk (or, reserving, all that is known), and the watermark."""
        whole = min(head.known, self.max_model_len) if self.policy.reserve_full_isl else tokens
        watermark = self.watermark if self.occupied else 0
        return self.pool.needed(head, max(whole, tokens), hits) + watermark


class PrioritySchedule(TokenBudgetScheduler):
    """Lower priority values first, in the line and when somebody has to go; ties by arrival."""

    def add(self, request: Request) -> None:
        """Put a request into the line where its urgency puts it."""
        position = bisect.bisect_right(self.waiting, _urgency(request), key=_urgency)
        self.waiting.insert(position, request)

    def preempt(self, request: Request) -> None:
        """Take a request's blocks away and put it back into the line."""
        super().preempt(request)
        self.add(self.waiting.popleft())

    def _victim(self) -> Request:
        """Take the least urgent request off the running ones; it may have been served in this step already."""
        victim = max(self.running, key=_urgency)
        self.running.remove(victim)
        return victim


def _urgency(request: Request) -> tuple[float, float, int]:
    """Order of the priority queue, and in reverse of preemption: requests of one moment come one after another."""
    return request.priority, request.arrival, request.index


_LARGE, _VERY_LARGE = 70 * GIB, 160 * GIB


@dataclass(frozen=True, kw_only=True)
class VllmV1(Policy):
    """A budget of tokens a step (vLLM 0.33).

    Attributes
    ----------
    max_num_batched_tokens: the budget.
    long_prefill_token_threshold: tokens that one prompt may have in a step; 0: no such cap.
    chunked_prefill: whether a prompt may be cut to what is left of the budget.
    prefix_caching: whether full blocks are kept and found again by what they hold.
    reserve_full_isl: whether all blocks of a prompt must be free before its first chunk is admitted.
    policy: "fcfs", or "priority" (lower first).
    watermark: share of the pool that an admission must leave free while others run.
    prefill_schedule_interval: prompts are read only in every so many-th step, as long as anybody decodes.
    """

    name = "vllm_v1"
    copies = "vLLM 0.33.0, V1 scheduler"

    max_num_batched_tokens: int = 2048
    long_prefill_token_threshold: int = 0
    chunked_prefill: bool = True
    prefix_caching: bool = False
    reserve_full_isl: bool = True
    policy: str = "fcfs"
    watermark: float = 0.0
    prefill_schedule_interval: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self, "max_num_batched_tokens", "prefill_schedule_interval")
        check_whole(self, "long_prefill_token_threshold", least=0)
        check_flag(self, "chunked_prefill", "prefix_caching", "reserve_full_isl")
        check_fraction(self, "watermark")
        if self.policy not in ("fcfs", "priority"):
            raise ConfigError("policy", self.policy, '"fcfs" or "priority"')

    @property
    def steps_only(self) -> str:
        """What depends on more than who runs and how far each has come."""
        reasons = {
            "a prefix cache goes step by step": self.prefix_caching,
            "priorities go step by step": self.policy == "priority",
            "prompts in every few steps only go step by step": self.prefill_schedule_interval > 1,
        }
        return next((reason for reason, applies in reasons.items() if applies), "")

    @classmethod
    def knobs_on(cls, hw: Hardware, *, offline: bool = False) -> dict[str, Any]:
        """Return what vLLM 0.33 sets by itself: by the memory of the device, and for a server or an offline batch.

        >>> from costmodel.hardware import hardware
        >>> VllmV1.knobs_on(hardware("h100-sxm"))["max_num_batched_tokens"]
        8192
        """
        large = hw.memory is not None and hw.memory >= _LARGE and not hw.root.id.startswith("a100")
        server, batch = (8192, 16384) if large else (2048, 8192)
        if large and hw.memory is not None and hw.memory >= _VERY_LARGE:
            server = 16384
        return {
            "max_num_batched_tokens": batch if offline else server,
            "max_num_seqs": 1024 if large else 256,
            "prefix_caching": True,
        }

    def watermark_blocks(self, usable: int) -> int:
        """Blocks that an admission must leave free; vLLM counts the null block of the pool too."""
        return int(self.watermark * (usable + 1))

    def pool(self, usable: int, block_size: int) -> BlockPool:
        """Return a pool, with a prefix cache if asked."""
        return PrefixPool(usable, block_size) if self.prefix_caching else BlockPool(usable, block_size)

    def scheduler(self, pool: BlockPool, longest: int) -> TokenBudgetScheduler:  # noqa: ARG002  # the reserving ones need it
        """Return a scheduler with empty queues."""
        kind = PrioritySchedule if self.policy == "priority" else TokenBudgetScheduler
        return kind(pool, self)

    def limits(self, pool: BlockPool, longest: int) -> Limits:  # noqa: ARG002  # as in scheduler
        """Return what a request may be at most; see ``Policy.limits``."""
        room = pool.usable * pool.block_size
        blocks = (room, f"the {many(pool.usable, 'KV block')} of {pool.block_size}")
        bounds = [blocks, (self.length - 1, f"max_model_len {self.length:,}")]
        if not self.chunked_prefill:
            budget = self.max_num_batched_tokens
            bounds.append((budget, f"max_num_batched_tokens {budget:,} without chunked prefill"))
        return Limits(*min(bounds, key=lambda bound: bound[0]), *blocks)
