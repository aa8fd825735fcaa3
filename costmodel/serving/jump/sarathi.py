"""Sarathi-Serve, jumped."""

from __future__ import annotations

from costmodel.serving.jump.prefill_first import PromptBlocksJump
from costmodel.serving.policies.base import Piece
from costmodel.serving.policies.sarathi import Sarathi


class SarathiJump(PromptBlocksJump[Sarathi]):
    """Everybody decodes in every step; the rest of the chunk reads prompts, unfinished ones before new ones."""

    __slots__ = ("_chunk",)

    serves = Sarathi

    def prepare(self, policy: Sarathi, longest: int) -> None:
        """Take the knobs of the policy."""
        super().prepare(policy, longest)
        self._chunk = policy.chunk_size

    def special(self) -> bool:
        """Do one step in which something happens; see ``JumpEngine.special``."""
        before = self.free
        preempted = self.take_blocks()
        readers: list[int] = []
        pieces: list[Piece] = []
        left = max(self._chunk - self.decodes.count, 0)
        for reader in sorted(self.partials, key=self.arrival.__getitem__):
            left -= self._read_chunk(reader, left, readers, pieces)
        self._admit(left, readers, pieces)
        if not readers and not preempted:
            self.free = before
            if self.steady():
                self.jump()
                return True
            self.free -= self.decodes.new_blocks()
        if not readers and not preempted and not self.decodes.count:
            return False
        self.step(readers, pieces)
        return True

    def _read_chunk(self, reader: int, left: int, readers: list[int], pieces: list[Piece]) -> int:
        """Let a request read as much of its prompt as the rest of the chunk holds; return how much that is."""
        computed, missing = self.computed[reader], self.target[reader] - self.computed[reader]
        tokens = min(missing, left)
        if tokens:  # pragma: no branch  # whoever decodes got a token of the chunk before, so one is left for a prompt
            readers.append(reader)
            pieces.append((tokens, computed, 1 if tokens == missing else 0))
        return tokens

    def _admit(self, left: int, readers: list[int], pieces: list[Piece]) -> None:
        """Admit prompts while there are blocks for all of each, places, and room in the chunk."""
        while self.waiting:
            reader = self.waiting[0]
            known = self.prompt[reader] + self.sampled[reader]
            stuck = not self.fits(known) or self.occupied >= self.max_num_seqs
            if stuck or not left:
                self.blocked = stuck or not readers
                break
            self.admit()
            self.free -= self.held(known)
            left -= self._read_chunk(reader, left, readers, pieces)
