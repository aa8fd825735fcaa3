"""vLLM before V1, and what Sarathi shares with it, jumped."""

from __future__ import annotations

from typing import TypeVar

from costmodel.serving.jump.engine import JumpEngine
from costmodel.serving.policies.base import Piece
from costmodel.serving.policies.prefill_first import VllmV0, WithWatermark

W = TypeVar("W", bound=WithWatermark)


class PromptBlocksJump(JumpEngine[W]):
    """All blocks of a prompt at admission, and a free block for each decode: the rules of vLLM before V1."""

    __slots__ = ("watermark",)

    spare = 1

    def prepare(self, policy: W, longest: int) -> None:  # noqa: ARG002  # the reserving policies need it
        """Take the knobs of the policy."""
        self.watermark = policy.watermark_blocks(self.usable)

    def steady(self) -> bool:
        """Whether nobody joins, goes or reads in the next step."""
        if self.partials or (self.waiting and not self.blocked):
            return False
        return bool(self.decodes.count) and self.decodes.new_blocks() < self.free

    def held_by_partial(self, index: int) -> int:
        """Blocks of an unfinished prompt: all of it, from the start."""
        return self.held(self.target[index])

    def fits(self, known: int) -> bool:
        """Whether a prompt's blocks are free above the watermark."""
        return self.free - self.held(known) >= self.watermark

    def take_blocks(self) -> int:
        """Give those who decode their blocks for one step; return how many others lost theirs for it."""
        new_blocks = self.decodes.new_blocks()
        if not self.decodes.count or new_blocks < self.free:
            self.free -= new_blocks
            return 0
        return self._walk()

    def _walk(self) -> int:
        """Go through the requests oldest first: without a free block, the youngest that has not had its turn goes."""
        decodes, size = self.decodes, self.block_size
        running = self._by_arrival()
        place, end = 0, len(running)
        preempted = 0
        while place < end:
            index = running[place]
            place += 1
            if decodes.end[index] < 0:
                continue
            while self.free < 1 and end > place:
                end -= 1
                self.preempt(running[end])
                preempted += 1
            if self.free < 1:
                self.preempt(index)
                preempted += 1
            elif decodes.context(index) % size == 0:
                self.free -= 1
        return preempted

    def _by_arrival(self) -> list[int]:
        """Running requests by arrival; of one moment, those that decode first, in the order in which they began to."""
        arrival, stint, end = self.arrival, self.stint, self.decodes.end
        keys = [(arrival[i], 0, stint[i], i) for i in self.running if end[i] >= 0]
        keys += [(arrival[i], 1, place, i) for place, i in enumerate(self.partials)]
        return [key[3] for key in sorted(keys)]


class PrefillFirstJump(PromptBlocksJump[VllmV0]):
    """Prompts first, in steps in which nobody decodes."""

    __slots__ = ("_budget",)

    serves = VllmV0

    def prepare(self, policy: VllmV0, longest: int) -> None:
        """Take the knobs of the policy."""
        super().prepare(policy, longest)
        self._budget = policy.max_num_batched_tokens

    def special(self) -> bool:
        """Do one step in which something happens; see ``JumpEngine.special``."""
        readers, pieces = self._admit()
        if readers:
            self._stall()
            self.step(readers, pieces, decode=False)
            return True
        if self.steady():
            self.jump()
            return True
        preempted = self.take_blocks()
        if self.decodes.count or preempted:
            self.step([], [])
            return True
        return False

    def _admit(self) -> tuple[list[int], list[Piece]]:
        """Admit whole prompts until blocks, tokens or places run out."""
        readers: list[int] = []
        pieces: list[Piece] = []
        budget = self._budget
        while self.waiting:
            reader = self.waiting[0]
            known = self.prompt[reader] + self.sampled[reader]
            if not self.fits(known) or known > budget or self.occupied >= self.max_num_seqs:
                self.blocked = not readers
                break
            self.admit()
            budget -= known
            self.free -= self.held(known)
            readers.append(reader)
            pieces.append((known, 0, 1))
        return readers, pieces

    def _stall(self) -> None:
        """Those who decode miss the step that is about to be done."""
        on_time = self.decodes.count - sum(count for _, count in self.late)
        if on_time:
            self.late.append((self.now, on_time))
