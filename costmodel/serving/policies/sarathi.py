"""Sarathi-Serve: decodes are never stalled, and prompts are read in chunks beside them (Agrawal et al., OSDI 2024)."""

from __future__ import annotations

from dataclasses import dataclass

from costmodel.serving.blocks import BlockPool
from costmodel.serving.policies.base import Scheduled, Scheduler, Stop, check_whole
from costmodel.serving.policies.prefill_first import WithWatermark
from costmodel.serving.request import Request


class SarathiScheduler(Scheduler):
    """Decodes, then unfinished prompts oldest first, then new ones, all within one chunk of tokens."""

    def __init__(self, pool: BlockPool, policy: Sarathi) -> None:
        super().__init__(pool, policy.max_num_seqs)
        self.budget = policy.chunk_size
        self.watermark = policy.watermark_blocks(pool.usable)

    def schedule(self) -> Scheduled:
        """Choose the next step."""
        scheduled: Scheduled = {}
        decodes, prefills = self.decode_or_preempt(scheduled)
        # Decodes count but are never cut; the real code lets the rest of the chunk become negative here.
        left = max(self.budget - len(decodes), 0)
        for request in prefills:
            left -= self._chunk(request, left, scheduled)
        self.running = decodes + prefills
        self._admit(left, scheduled)
        return scheduled

    @staticmethod
    def _chunk(request: Request, left: int, scheduled: Scheduled) -> int:
        """Give a request as much of its prompt as the rest of the chunk holds, and return how much that is."""
        wanted = max(request.target - request.computed, 1)  # 1: its prompt was read in another pool, and it decodes
        tokens = min(wanted, left)
        if tokens:  # pragma: no branch  # whoever decodes got a token of the chunk before, so one is left for a prompt
            scheduled[request] = tokens
        return tokens

    def _admit(self, left: int, scheduled: Scheduled) -> None:
        """Admit new prompts while there are blocks for all of each, places, and room in the chunk."""
        while self.waiting:
            head = self.waiting[0]
            needed = self.pool.needed(head, head.known)
            if self.pool.free - needed < self.watermark:
                self.stopped = Stop("blocks", needed + self.watermark, self.pool.free)
                return
            if self.occupied >= self.max_num_seqs:
                self.stopped = Stop("seqs", self.occupied + 1, self.max_num_seqs)
                return
            if left == 0:
                self.stopped = Stop("budget", 1, 0)
                return
            left -= self._chunk(self.admit(head.known), left, scheduled)


@dataclass(frozen=True, kw_only=True)
class Sarathi(WithWatermark):
    """Stall-free chunked prefill.

    Attributes
    ----------
    chunk_size: tokens of a step; keep it at ``max_num_seqs`` or more, for decodes are never cut.
    """

    name = "sarathi"
    copies = "sarathi-serve 96f9911, Sarathi scheduler (without its stale-progress quirk)"

    chunk_size: int = 512

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self, "chunk_size")

    def scheduler(self, pool: BlockPool, longest: int) -> SarathiScheduler:  # noqa: ARG002  # the reserving ones need it
        """Return a scheduler with empty queues."""
        return SarathiScheduler(pool, self)
