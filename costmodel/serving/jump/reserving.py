"""Static batching and Orca, jumped: nobody takes blocks on the way, so only finishes and arrivals are events."""

from __future__ import annotations

from typing import TypeVar

from costmodel.serving.jump.engine import JumpEngine
from costmodel.serving.policies.base import Piece
from costmodel.serving.policies.reserving import Orca, Reserving, Static

R = TypeVar("R", bound=Reserving)


class ReservingJump(JumpEngine[R]):
    """Whoever fits joins the decodes with the whole prompt."""

    __slots__ = ("_reserved",)

    grows = False

    def prepare(self, policy: R, longest: int) -> None:
        """Take the knobs of the policy."""
        self._reserved = -(-policy.reservation(longest) // self.block_size)

    def held(self, tokens: int) -> int:  # noqa: ARG002  # the same for any
        """Blocks of any request: its reservation."""
        return self._reserved

    def steady(self) -> bool:
        """Whether nobody joins, goes or reads in the next step."""
        return bool(self.decodes.count) and (self.blocked or not self.waiting)

    def special(self) -> bool:
        """Do one step in which something happens; see ``JumpEngine.special``."""
        readers, pieces = self._admit()
        if readers:
            self.step(readers, pieces)
        elif self.decodes.count:
            self.jump()
        else:
            return False
        return True

    def _admit(self) -> tuple[list[int], list[Piece]]:
        """Admit whole prompts while a place and a reservation are free."""
        readers: list[int] = []
        pieces: list[Piece] = []
        while self.waiting:
            if self.occupied >= self.max_num_seqs or self._reserved > self.free:
                self.blocked = True
                break
            reader = self.admit()
            self.free -= self._reserved
            readers.append(reader)
            pieces.append((self.target[reader], 0, 1))
        return readers, pieces


class OrcaJump(ReservingJump[Orca]):
    """Everybody decodes, and whoever fits joins the same step."""

    __slots__ = ()

    serves = Orca


class StaticJump(ReservingJump[Static]):
    """A batch forms when nothing runs, and nobody joins it."""

    __slots__ = ()

    serves = Static

    def steady(self) -> bool:
        """Whether nobody joins, goes or reads in the next step."""
        return bool(self.decodes.count)

    def _admit(self) -> tuple[list[int], list[Piece]]:
        return ([], []) if self.occupied else super()._admit()
