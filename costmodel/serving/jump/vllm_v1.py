"""vLLM V1 (first come, first served, without a prefix cache), jumped.

Whoever decodes always gets a token: it was admitted when those before it in the list had all that they wished for and
budget was left, and since then their wishes have not grown. So only prompts are ever cut, and the last one first.
"""

from __future__ import annotations

from costmodel.serving.jump.engine import JumpEngine
from costmodel.serving.policies.base import Piece
from costmodel.serving.policies.vllm_v1 import VllmV1
from costmodel.serving.request import UNLIMITED

Served = tuple[list[int], list[Piece], int, int]
"""What the running requests have got of a step: who reads, and what; tokens left; how many lost their blocks."""


class TokenBudgetJump(JumpEngine[VllmV1]):
    """One budget of tokens a step, spent on running requests in order of admission, then on waiting ones."""

    __slots__ = ("_budget", "_knobs", "_threshold", "_watermark")

    serves = VllmV1
    arrival_unblocks = True  # the cap on long prompts depends on how many requests there are

    def prepare(self, policy: VllmV1, longest: int) -> None:  # noqa: ARG002  # the reserving policies need it
        """Take the knobs of the policy."""
        self._knobs = policy
        self._threshold = policy.long_prefill_token_threshold
        self._budget = policy.max_num_batched_tokens
        self._watermark = policy.watermark_blocks(self.usable)

    def steady(self) -> bool:
        """Whether nobody joins, goes or reads in the next step."""
        if self.partials or (self.waiting and not self.blocked):
            return False
        count = self.decodes.count
        return count > 0 and (count <= self.free or self.decodes.new_blocks() <= self.free)

    def special(self) -> bool:
        """Do one step in which something happens; see ``JumpEngine.special``."""
        threshold = self._long_prefill_threshold() if self._threshold else UNLIMITED
        before = self.free
        readers, pieces, budget, preempted = self._plainly(threshold) or self._in_order(threshold)
        if not preempted:
            self._admit(readers, pieces, budget, threshold)
        if readers or preempted:
            self.step(readers, pieces)
        elif self.decodes.count:
            self.free = before
            self.jump()
        else:
            return False
        return True

    def _long_prefill_threshold(self) -> int:
        return self._threshold if len(self.waiting) + len(self.running) > 1 else UNLIMITED

    # ---- running requests -------------------------------------------------------------------------------------------

    def _plainly(self, threshold: int) -> Served | None:
        """Serve the running requests where tokens and blocks are enough for all, so that their order does not matter.

        An unfinished prompt that stands last takes what is left. None where somebody has to go, or several are cut.
        """
        budget = self._budget - self.decodes.count
        new_blocks = self.decodes.new_blocks()
        readers, pieces = [*self.partials], []
        alone = len(readers) == 1 and next(reversed(self.running)) == readers[0]
        for reader in readers:
            computed, missing = self.computed[reader], self.target[reader] - self.computed[reader]
            tokens = min(missing, threshold)
            if tokens > budget and not alone:
                return None
            tokens = min(tokens, budget)
            pieces.append((tokens, computed, 1 if tokens == missing else 0))
            new_blocks += self.held(computed + tokens) - self.held(computed)
            budget -= tokens
        if new_blocks > self.free:
            return None
        self.free -= new_blocks
        return readers, pieces, budget, 0

    def _in_order(self, threshold: int) -> Served:
        """Serve the running requests one by one; where blocks are short, the last admitted goes."""
        decodes, order = self.decodes, list(self.running)
        readers: list[int] = []
        pieces: list[Piece] = []
        budget, preempted, place = self._budget, 0, 0
        while place < len(order) and budget > 0:
            index = order[place]
            computed, tokens, missing = self._wish(index, min(threshold, budget))
            needed = self.held(computed + tokens) - self.held(computed)
            while needed > self.free and place < len(order):
                self.preempt(order.pop())
                preempted += 1
            if place == len(order):
                break
            self.free -= needed
            budget -= tokens
            place += 1
            if decodes.end[index] < 0:
                readers.append(index)
                pieces.append((tokens, computed, 1 if tokens == missing else 0))
        return readers, pieces, budget, preempted

    def _wish(self, index: int, most: int) -> tuple[int, int, int]:
        """Return a running request's computed tokens, those that it may have now, and those that it is missing."""
        if self.decodes.end[index] >= 0:
            return self.decodes.context(index), 1, 1
        missing = self.target[index] - self.computed[index]
        return self.computed[index], min(missing, most), missing

    # ---- waiting requests -------------------------------------------------------------------------------------------

    def _admit(self, readers: list[int], pieces: list[Piece], budget: int, threshold: int) -> None:
        """Admit from the head of the line while budget, places and blocks last."""
        size, knobs = self.block_size, self._knobs
        while self.waiting:
            occupied = len(self.running) + len(self.leaving)
            if occupied >= self.max_num_seqs:
                self.blocked = True
                return
            head = self.waiting[0]
            known = self.prompt[head] + self.sampled[head]
            wish = min(known, threshold)
            tokens = min(wish, budget)
            whole = known if knobs.reserve_full_isl else tokens
            needed = -(-whole // size) + (self._watermark if occupied else 0)
            if budget <= 0 or (wish > budget and not knobs.chunked_prefill) or needed > self.free:
                # With nobody else reading, the next step has as little to offer.
                self.blocked = not readers
                return
            self.admit()
            self.free -= -(-tokens // size)
            budget -= tokens
            readers.append(head)
            pieces.append((tokens, 0, 1 if tokens == known else 0))
