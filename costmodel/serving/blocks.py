"""KV blocks by the count: how many a request needs, how many are free, how many are kept back.

Enough wherever it does not matter *which* block a request holds; ``prefix.py`` has the pool that knows each one.
"""

from __future__ import annotations

from costmodel.serving.request import Request

Hits = tuple[int, ...]
"""Blocks of a prefix cache that a request can start from, first block first."""


class BlockPool:
    """Blocks of ``block_size`` tokens, handed out and taken back by the count.

    Attributes
    ----------
    usable: blocks in all (vLLM's ``num_gpu_blocks`` counts one null block more).
    free: blocks that nobody holds.
    """

    def __init__(self, usable: int, block_size: int) -> None:
        self.usable, self.block_size, self.free = usable, block_size, usable

    def find_cached(self, request: Request) -> Hits:  # noqa: ARG002  # a pool with a prefix cache looks it up
        """Return the cached blocks that the request can start from: none without a prefix cache."""
        return ()

    def needed(self, request: Request, tokens: int, hits: Hits = ()) -> int:  # noqa: ARG002  # as above
        """Return the free blocks that it takes for the request to hold ``tokens`` tokens."""
        return max(-(-tokens // self.block_size) - request.held, 0)

    def covers(self, request: Request, tokens: int) -> bool:
        """Whether the request can hold ``tokens`` tokens without anything to be done."""
        return request.held * self.block_size >= tokens

    def allocate(self, request: Request, tokens: int, hits: Hits = ()) -> None:
        """Give the request what it needs to hold ``tokens`` tokens; the caller has checked that it is there."""
        needed = self.needed(request, tokens, hits)
        self.free -= needed
        request.held += needed

    def release(self, request: Request) -> None:
        """Take back all its blocks."""
        self.free += request.held
        request.held = 0
