"""KV blocks one by one: which block holds what, and the prefix cache that finds full blocks again.

Copies vLLM 0.33's block pool: a chain of hashes over full blocks; blocks enter the cache when they are allocated, so
that a later request of the same step finds them; freed blocks go tail first, those that hold something known to the
back of the free list (least recently used go first), the others to the front.
"""

from __future__ import annotations

from collections import OrderedDict, deque

from costmodel.serving.blocks import BlockPool, Hits
from costmodel.serving.request import Request

SAMPLED_TOKEN = 5
"""What a sampled token is to a prefix cache: the simulator writes no text, and the recorded schedules use 5."""

PREFIX_ID_TOKENS = 512
"""Tokens that one prefix id stands for (Mooncake's traces)."""


class MappedPool(BlockPool):
    """A pool that knows each block by its number.

    Attributes
    ----------
    tables: the blocks of each request, first block first.
    """

    def __init__(self, usable: int, block_size: int) -> None:
        super().__init__(usable, block_size)
        self.tables: dict[Request, list[int]] = {}
        self._front: deque[int] = deque()
        self._untouched = 0  # the blocks from here on have never been used: the middle of the free list, never built

    def allocate(self, request: Request, tokens: int, hits: Hits = ()) -> None:
        """Give the request blocks from the head of the free list."""
        wanted = max(-(-tokens // self.block_size) - request.held - len(hits), 0)
        table = self.tables.setdefault(request, [])
        table.extend(self._take() for _ in range(wanted))
        self.free -= wanted
        request.held = len(table)

    def release(self, request: Request) -> None:
        """Take back all its blocks, the last one first."""
        for block in reversed(self.tables.pop(request, [])):
            self._drop(block)
        request.held = 0

    def _take(self) -> int:
        """Return the first block of the free list."""
        if self._front:
            return self._front.popleft()
        self._untouched += 1
        return self._untouched - 1

    def _drop(self, block: int) -> None:
        """Take back one hold on a block."""
        self._front.appendleft(block)
        self.free += 1


class PrefixPool(MappedPool):
    """A pool with a prefix cache."""

    def __init__(self, usable: int, block_size: int) -> None:
        super().__init__(usable, block_size)
        self._holders: dict[int, int] = {}
        self._hash_of: dict[int, int] = {}
        self._cached: dict[int, dict[int, None]] = {}  # a hash may have several blocks; the oldest is found first
        self._idle: OrderedDict[int, None] = OrderedDict()  # free blocks that hold something known, oldest first
        self._chains: dict[Request, list[int]] = {}
        self._remembered: dict[Request, int] = {}  # leading blocks of a request that are in the cache
        self._hashes: dict[tuple[object, object], int] = {}

    def find_cached(self, request: Request) -> Hits:
        """Return the cached blocks of the longest known prefix; the last token is always computed anew."""
        hits = []
        for value in self._chain(request, (request.known - 1) // self.block_size):
            blocks = self._cached.get(value)
            if not blocks:
                break
            hits.append(next(iter(blocks)))
        return tuple(hits)

    def needed(self, request: Request, tokens: int, hits: Hits = ()) -> int:
        """As for every pool; a hit that nobody holds takes a free block too."""
        fresh = max(-(-tokens // self.block_size) - request.held - len(hits), 0)
        return fresh + sum(block in self._idle for block in hits)

    def covers(self, request: Request, tokens: int) -> bool:
        """As for every pool; a block that becomes full has to enter the cache."""
        return super().covers(request, tokens) and tokens % self.block_size != 0

    def allocate(self, request: Request, tokens: int, hits: Hits = ()) -> None:
        """Give the request the cached blocks and new ones, and enter those that are full into the cache."""
        for block in hits:
            if block in self._idle:
                del self._idle[block]
                self.free -= 1
            self._holders[block] = self._holders.get(block, 0) + 1
        self.tables.setdefault(request, []).extend(hits)
        request.held += len(hits)
        super().allocate(request, tokens)
        self._remembered.setdefault(request, len(hits))
        self._remember(request, tokens)

    def release(self, request: Request) -> None:
        """Take back all its blocks; those that hold something known can still be found."""
        super().release(request)
        self._chains.pop(request, None)
        self._remembered.pop(request, None)

    def _remember(self, request: Request, tokens: int) -> None:
        """Enter the request's full blocks into the cache."""
        first, full = self._remembered[request], min(tokens, request.known) // self.block_size
        if full > first:
            table, chain = self.tables[request], self._chain(request, full)
            for position in range(first, full):
                self._hash_of[table[position]] = chain[position]
                self._cached.setdefault(chain[position], {})[table[position]] = None
            self._remembered[request] = full

    def _take(self) -> int:
        if self._front or self._untouched < self.usable:
            block = super()._take()
        else:
            block, _ = self._idle.popitem(last=False)
            blocks = self._cached[value := self._hash_of.pop(block)]
            del blocks[block]
            if not blocks:
                del self._cached[value]
        self._holders[block] = 1
        return block

    def _drop(self, block: int) -> None:
        self._holders[block] -= 1
        if self._holders[block]:
            return
        if block in self._hash_of:
            self._idle[block] = None
            self.free += 1
        else:
            super()._drop(block)

    def _chain(self, request: Request, blocks: int) -> list[int]:
        """Return the hashes of the request's first ``blocks`` blocks: each stands for all tokens up to its end."""
        chain = self._chains.setdefault(request, [])
        for position in range(len(chain), blocks):
            parent = chain[-1] if chain else None
            key = (parent, content(request, position, self.block_size))
            chain.append(self._hashes.setdefault(key, len(self._hashes)))
        return chain if len(chain) == blocks else chain[:blocks]


def content(request: Request, position: int, block_size: int) -> object:
    """Return what a full block of a request holds, so that equal blocks compare equal.

    Without token or prefix ids nothing is known to be shared, and a block equals only itself.
    """
    start, end = position * block_size, (position + 1) * block_size
    if request.token_ids is not None:
        tokens = tuple(request.token_ids[start:end])
        return tokens + (SAMPLED_TOKEN,) * (block_size - len(tokens))
    span = (end - 1) // PREFIX_ID_TOKENS
    if request.prefix_ids is not None and end <= request.prompt and span < len(request.prefix_ids):
        return request.prefix_ids[span], position
    return "own", request.index
