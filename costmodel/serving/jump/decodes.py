"""The requests that decode together, as a few running sums: each of their steps changes all of them alike.

A *clock* counts the steps in which everybody gets a token. A request that joins with ``c`` computed tokens at clock
``t`` has ``c - t + clock`` from then on, so that nothing about it has to be touched until it leaves: sums of contexts,
who needs a new block at a clock, and who finishes when are all known ahead.

Source: the plain engine (``costmodel.serving.steps``), of which these are the sums.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Protocol

from costmodel.serving.pricing import FULL, View

_NEVER = 2**62


class Decodes:
    """The decoding requests, by index.

    Attributes
    ----------
    clock: steps that decoding requests have done. count: how many there are.
    base: computed tokens less the clock, of each request that decodes. end: clock at which it will have all its
        tokens, -1 for one that does not decode. next_end: the least of these.
    """

    __slots__ = (
        "_base_sum", "_block_size", "_heap", "_residues", "_size", "_views", "base", "clock", "count", "end",
        "next_end",
    )  # fmt: skip

    def __init__(self, requests: int, block_size: int, views: Sequence[View]) -> None:
        self.clock = self.count = self._base_sum = 0
        self.base, self.end = [0] * requests, [-1] * requests
        self.next_end = _NEVER
        self._size, self._block_size = max(requests, 1), block_size
        self._heap: list[int] = []  # end * size + index: a pair in one number
        # How many need a new block at clocks of each remainder, twice over, so that a stretch of clocks is one slice.
        self._residues = [0] * (2 * block_size)
        self._views: list[_Sum] = [] if tuple(views) == (FULL,) else [_sum(view) for view in views]

    def join(self, index: int, computed: int, remaining: int) -> None:
        """A request starts to decode, with ``remaining`` tokens to get."""
        clock = self.clock
        base, end = computed - clock, clock + remaining
        self.base[index], self.end[index] = base, end
        self.next_end = min(self.next_end, end)
        heapq.heappush(self._heap, end * self._size + index)
        self._base_sum += base
        self.count += 1
        place = -base % self._block_size
        self._residues[place] += 1
        self._residues[place + self._block_size] += 1
        for view in self._views:
            view.join(index, base, clock)

    def leave(self, index: int) -> None:
        """A request stops to decode before its end: it has lost its blocks, or sits out a step."""
        self._take_out(index)
        self._look_ahead()

    def finished(self) -> list[int]:
        """Take out and return the requests that have all their tokens now."""
        done = []
        while self.next_end <= self.clock:
            index = heapq.heappop(self._heap) % self._size
            self._take_out(index)
            done.append(index)
            self._look_ahead()
        return done

    def _take_out(self, index: int) -> None:
        base = self.base[index]
        self.end[index] = -1
        self._base_sum -= base
        self.count -= 1
        place = -base % self._block_size
        self._residues[place] -= 1
        self._residues[place + self._block_size] -= 1
        for view in self._views:
            view.leave(index, base, self.clock)

    def _look_ahead(self) -> None:
        """Find the next end, past requests that left before theirs."""
        heap, size, end = self._heap, self._size, self.end
        while heap:
            clock, index = divmod(heap[0], size)
            if end[index] == clock:
                self.next_end = clock
                return
            heapq.heappop(heap)
        self.next_end = _NEVER

    def advance(self, steps: int) -> None:
        """Everybody does ``steps`` steps."""
        self.clock += steps
        for view in self._views:
            view.settle(self.clock)

    def context(self, index: int) -> int:
        """Computed tokens of a request that decodes."""
        return self.base[index] + self.clock

    def remaining(self, index: int) -> int:
        """Tokens that a request that decodes has still to get."""
        return self.end[index] - self.clock

    # ---- what they read -----------------------------------------------------------------------------------------

    def reads(self) -> list[int]:
        """Cached tokens that the next step reads, an entry a view."""
        if self._views:
            return [view.reads(self.clock) for view in self._views]
        return [self._base_sum + self.count * self.clock]

    def outlook(self) -> tuple[list[int], list[int], int]:
        """What the next step reads, by how much that grows with each step, and up to which clock that holds.

        Until then nobody finishes, and in no view a window fills or a chunk ends.
        """
        if not self._views:
            count = self.count
            return [self._base_sum + count * self.clock], [count], self.next_end
        edge = min(view.next_edge() for view in self._views)
        return self.reads(), [view.growing for view in self._views], min(self.next_end, edge)

    # ---- blocks -------------------------------------------------------------------------------------------------

    def new_blocks(self) -> int:
        """Blocks that the next step needs."""
        return self._residues[self.clock % self._block_size]

    def new_blocks_in(self, steps: int) -> int:
        """Blocks that the next ``steps`` steps need."""
        size = self._block_size
        first = self.clock % size
        return steps // size * self.count + sum(self._residues[first : first + steps % size])

    def steps_within(self, free: int, steps: int) -> int:
        """How many of the next ``steps`` steps can be done with ``free`` blocks."""
        size = self._block_size
        if (steps // size + 1) * self.count <= free:
            return steps
        rounds = min(free // self.count, steps // size)
        done, left, clock = rounds * size, free - rounds * self.count, self.clock
        while done < steps and self._residues[(clock + done) % size] <= left:
            left -= self._residues[(clock + done) % size]
            done += 1
        return done


# ---- sums under a view -------------------------------------------------------------------------------------------


class _Sum(Protocol):
    """Cached tokens read under one view."""

    growing: int

    def join(self, index: int, base: int, clock: int) -> None: ...
    def leave(self, index: int, base: int, clock: int) -> None: ...
    def settle(self, clock: int) -> None: ...
    def reads(self, clock: int) -> int: ...
    def next_edge(self) -> int: ...


class _FullSum:
    """Everything cached is read."""

    def __init__(self) -> None:
        self.growing = self._bases = 0

    def join(self, index: int, base: int, clock: int) -> None:  # noqa: ARG002  # as the others
        self._bases += base
        self.growing += 1

    def leave(self, index: int, base: int, clock: int) -> None:  # noqa: ARG002  # as the others
        self._bases -= base
        self.growing -= 1

    def settle(self, clock: int) -> None:
        """Nothing ends."""

    def reads(self, clock: int) -> int:
        return self._bases + self.growing * clock

    def next_edge(self) -> int:
        return _NEVER


class _WindowSum:
    """The last W - 1 cached tokens are read: a request grows until its window is full."""

    def __init__(self, window: int) -> None:
        self._most = window - 1
        self.growing = self._full = self._bases = 0
        self._edges: list[tuple[int, int]] = []  # clock at which a window is full, index
        self._edge_of: dict[int, int] = {}

    def join(self, index: int, base: int, clock: int) -> None:
        edge = self._most - base
        if edge <= clock:
            self._full += 1
            return
        self.growing += 1
        self._bases += base
        self._edge_of[index] = edge
        heapq.heappush(self._edges, (edge, index))

    def leave(self, index: int, base: int, clock: int) -> None:  # noqa: ARG002  # as the others
        if self._edge_of.pop(index, None) is None:
            self._full -= 1
        else:
            self.growing -= 1
            self._bases -= base

    def settle(self, clock: int) -> None:
        while self.next_edge() <= clock:
            edge, index = heapq.heappop(self._edges)
            del self._edge_of[index]
            self.growing -= 1
            self._bases -= self._most - edge
            self._full += 1

    def reads(self, clock: int) -> int:
        return self._bases + self.growing * clock + self._full * self._most

    def next_edge(self) -> int:
        while self._edges and self._edge_of.get(self._edges[0][1]) != self._edges[0][0]:
            heapq.heappop(self._edges)
        return self._edges[0][0] if self._edges else _NEVER


class _ChunkSum:
    """The cached tokens of a request's own aligned chunk are read: it grows, and falls to 0 where a chunk ends."""

    def __init__(self, chunk: int) -> None:
        self._chunk = chunk
        self.growing = self._bases = 0
        self._edges: list[tuple[int, int]] = []
        self._edge_of: dict[int, int] = {}

    def join(self, index: int, base: int, clock: int) -> None:
        context = base + clock
        edge = clock + self._chunk - context % self._chunk
        self.growing += 1
        self._bases += base - context // self._chunk * self._chunk
        self._edge_of[index] = edge
        heapq.heappush(self._edges, (edge, index))

    def leave(self, index: int, base: int, clock: int) -> None:  # noqa: ARG002  # as the others
        self.growing -= 1
        self._bases -= self._chunk - self._edge_of.pop(index)  # what it reads at its edge is a whole chunk

    def settle(self, clock: int) -> None:
        while self.next_edge() <= clock:
            edge, index = heapq.heappop(self._edges)
            self._bases -= self._chunk
            self._edge_of[index] = edge + self._chunk
            heapq.heappush(self._edges, (edge + self._chunk, index))

    def reads(self, clock: int) -> int:
        return self._bases + self.growing * clock

    def next_edge(self) -> int:
        while self._edges and self._edge_of.get(self._edges[0][1]) != self._edges[0][0]:
            heapq.heappop(self._edges)
        return self._edges[0][0] if self._edges else _NEVER


def _sum(view: View) -> _Sum:
    """Return an empty sum under a view."""
    window, chunk = view
    if chunk:
        return _ChunkSum(chunk)
    return _WindowSum(window) if window else _FullSum()
