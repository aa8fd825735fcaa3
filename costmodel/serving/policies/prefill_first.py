"""vLLM before V1: a step either reads prompts or decodes, and prompts go first."""

from __future__ import annotations

from dataclasses import dataclass

from costmodel.serving.blocks import BlockPool
from costmodel.serving.policies.base import Limits, Policy, Scheduled, Scheduler, Stop, check_fraction, check_whole
from costmodel.serving.words import many


class PrefillFirstScheduler(Scheduler):
    """Prompts in order of arrival while they fit; only a step without any decodes."""

    running_waits = Stop("policy", note="prompts go first, and a step that reads prompts decodes nobody")

    def __init__(self, pool: BlockPool, policy: VllmV0) -> None:
        super().__init__(pool, policy.max_num_seqs)
        self.budget = policy.max_num_batched_tokens
        self.watermark = policy.watermark_blocks(pool.usable)

    def schedule(self) -> Scheduled:
        """Choose the next step."""
        scheduled: Scheduled = {}
        self._admit(scheduled)
        if not scheduled:
            self.running, _ = self.decode_or_preempt(scheduled)
        return scheduled

    def _admit(self, scheduled: Scheduled) -> None:
        """Admit whole prompts until blocks, tokens or places run out."""
        budget = self.budget
        while self.waiting:
            head = self.waiting[0]
            tokens, needed = head.known - head.arrived_with, self.pool.needed(head, head.known)
            if self.pool.free - needed < self.watermark:
                self.stopped = Stop("blocks", needed + self.watermark, self.pool.free)
                return
            if tokens > budget:
                self.stopped = Stop("budget", tokens, budget)
                return
            if self.occupied >= self.max_num_seqs:
                self.stopped = Stop("seqs", self.occupied + 1, self.max_num_seqs)
                return
            budget -= tokens
            scheduled[self.admit(head.known)] = tokens


@dataclass(frozen=True, kw_only=True)
class WithWatermark(Policy):
    """Knobs of the engines that keep a share of the blocks free when they admit.

    Attributes
    ----------
    watermark: share of the pool that an admission must leave free.
    """

    watermark: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        check_fraction(self, "watermark")

    def watermark_blocks(self, usable: int) -> int:
        """Blocks that an admission must leave free."""
        return int(self.watermark * usable)

    def limits(self, pool: BlockPool, longest: int) -> Limits:  # noqa: ARG002  # the reserving policies need it
        """Return what a request may be at most; see ``Policy.limits``."""
        room = (pool.usable - self.watermark_blocks(pool.usable)) * pool.block_size
        # Each decode asks for a free block even if its last one has room, the very last decode too.
        last = (pool.usable - 1) * pool.block_size + 1
        why = f"the {many(pool.usable, 'KV block')} of {pool.block_size}"
        return Limits(*self.tightest((room, f"{why} above the watermark")), last, f"{why}, one of them free")

    def tightest(self, *limits: tuple[int, str]) -> tuple[int, str]:
        """Return the tightest of these limits and ``max_model_len``, with its reason."""
        return min(*limits, (self.length - 1, f"max_model_len {self.length:,}"), key=lambda limit: limit[0])


@dataclass(frozen=True, kw_only=True)
class VllmV0(WithWatermark):
    """Prefill first, decode when no prompt can be read (vLLM before V1).

    Attributes
    ----------
    max_num_batched_tokens: tokens of the prompts of one step; a longer prompt is rejected.
    """

    name = "vllm_v0"
    copies = "vLLM before V1, as in sarathi-serve 96f9911"

    max_num_batched_tokens: int = 2048

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self, "max_num_batched_tokens")

    def scheduler(self, pool: BlockPool, longest: int) -> PrefillFirstScheduler:  # noqa: ARG002  # as in limits
        """Return a scheduler with empty queues."""
        return PrefillFirstScheduler(pool, self)

    def tightest(self, *limits: tuple[int, str]) -> tuple[int, str]:
        """Return the tightest of these limits, ``max_model_len`` and the budget, with its reason."""
        budget = self.max_num_batched_tokens
        return super().tightest(*limits, (budget, f"max_num_batched_tokens {budget:,}"))
