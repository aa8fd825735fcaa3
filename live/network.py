"""A block of a transformer with its KV cache, built from a model's dimensions with random weights.

Written as engines lay it out: one matrix for queries, keys and values, one for gate and up, a cache of (batch, KV
heads, capacity, width), rotation and cache update in place. Shapes: B sequences, T new tokens each, C cached ones, H
query heads, G KV heads, D their width, E the residual stream.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from live.lab import Lab
from live.subject import Block, Subject

Tensor = Any
"""A torch tensor; torch itself is not imported where types are read."""

_EPSILON = 1e-6


class Cache(NamedTuple):
    """Keys and values of one layer, (B, G, capacity, D) each."""

    keys: Tensor
    values: Tensor


def attend_one(queries: Tensor, cache: Cache, start: int, stop: int) -> Tensor:
    """Attention of one new token a sequence, (B, 1, H, D), to the cached positions ``start`` to ``stop``.

    The query heads that share a KV head are laid out as its rows, so that each key is read once for all of them.
    """
    from torch.nn.functional import scaled_dot_product_attention as attention

    batch, _, heads, width = queries.shape
    groups = cache.keys.shape[1]
    grouped = queries.view(batch, groups, heads // groups, width)  # (B, G, H/G, D)
    out = attention(grouped, cache.keys[:, :, start:stop], cache.values[:, :, start:stop])
    return out.reshape(batch, 1, heads * width)


def attend_chunk(queries: Tensor, cache: Cache, stop: int, mask: Tensor | None) -> Tensor:
    """Causal attention of new tokens, (B, T, H, D), to the first ``stop`` positions; no ``mask``: none before them."""
    from torch.nn.functional import scaled_dot_product_attention as attention

    batch, new, heads, width = queries.shape
    keys, values = cache.keys[:, :, :stop], cache.values[:, :, :stop]
    rows = queries.transpose(1, 2)  # (B, H, T, D)
    out = attention(rows, keys, values, attn_mask=mask, is_causal=mask is None, enable_gqa=heads != keys.shape[1])
    return out.transpose(1, 2).reshape(batch, new, heads * width)


def chunk_mask(lab: Lab, new: int, cached: int, window: int | None = None) -> Tensor | None:
    """Which of the keys, (T, C + T), each new token sees; None: the plain causal mask over itself."""
    total = new + cached
    banded = window is not None and window < total
    if not cached and not banded:
        return None
    if lab.backend.fused_chunks and not banded:
        from torch.nn.attention.bias import causal_lower_right

        return causal_lower_right(new, total)
    ones = lab.torch.ones(new, total, dtype=lab.torch.bool, device=lab.device.id)
    seen = ones.tril(cached)
    return seen.triu(cached - window + 1) if banded and window else seen


@dataclass(frozen=True)
class Pass:
    """One step through a block: what is the same for all blocks of it.

    Attributes
    ----------
    batch, new, cached: sequences, new tokens of each, and tokens of each that are in the cache already.
    cos, sin: of the new positions, (T, 1, D / 2).
    """

    batch: int
    new: int
    cached: int
    cos: Tensor
    sin: Tensor
    masks: dict[int | None, Tensor] = field(default_factory=dict)

    @classmethod
    def of(cls, lab: Lab, batch: int, new: int, cached: int, head_dim: int) -> Pass:
        """A step at these sizes, with rotary angles to the base 10,000."""
        torch = lab.torch
        places = torch.arange(cached, cached + new, device=lab.device.id, dtype=torch.float32)
        steps = torch.arange(0, head_dim, 2, device=lab.device.id, dtype=torch.float32) / head_dim
        angles = places[:, None, None] * 10_000.0**-steps
        return cls(batch, new, cached, angles.cos().to(lab.format()), angles.sin().to(lab.format()))

    @property
    def capacity(self) -> int:
        """Positions after the step, and so of a cache made for it."""
        return self.cached + self.new

    @property
    def tokens(self) -> int:
        """T of the step."""
        return self.batch * self.new

    def mask(self, lab: Lab, window: int | None) -> Tensor | None:
        """The mask of a layer with this window, made once for all layers."""
        if window not in self.masks:
            self.masks[window] = chunk_mask(lab, self.new, self.cached, window)
        return self.masks[window]


@dataclass(frozen=True)
class BlockNet:
    """A block with random weights."""

    lab: Lab
    block: Block
    hidden: int
    qkv: Tensor
    out: Tensor
    norms: Tensor
    head_norm: Tensor
    up: Tensor | None
    down: Tensor | None
    router: Tensor | None
    expert_up: Tensor | None
    expert_down: Tensor | None

    @classmethod
    def random(cls, lab: Lab, block: Block, hidden: int) -> BlockNet:
        """Build one."""
        heads = block.q_heads + block.kv_heads
        dense, routed = block.width > 0, block.experts > 0
        ones = lab.torch.ones
        place = {"dtype": lab.format(), "device": lab.device.id}
        return cls(
            lab,
            block,
            hidden,
            qkv=lab.random(block.qkv_width, hidden),
            out=lab.random(hidden, block.q_heads * block.head_dim),
            norms=ones(2, hidden, **place),
            head_norm=ones(heads, block.head_dim, **place),
            up=lab.random(block.up_width, hidden) if dense else None,
            down=lab.random(hidden, block.width) if dense else None,
            router=lab.random(block.experts, hidden) if routed else None,
            expert_up=lab.random(block.experts, block.expert_up_width, hidden) if routed else None,
            expert_down=lab.random(block.experts, hidden, block.expert_width) if routed else None,
        )

    def cache(self, batch: int, capacity: int) -> Cache:
        """A cache of exactly ``capacity`` positions."""
        size = (batch, self.block.kv_heads, capacity, self.block.head_dim)
        return Cache(self.lab.random(*size), self.lab.random(*size))

    def forward(self, x: Tensor, cache: Cache, step: Pass) -> Tensor:
        """The block: (B * T, E) in, the same out; the new tokens' keys and values are left in the cache."""
        linear = self.lab.torch.nn.functional.linear
        queries = self.rotate_and_store(linear(self.norm(x, 0), self.qkv), cache, step)
        x = x + linear(self.attend(queries, cache, step).view(x.shape[0], -1), self.out)
        h = self.norm(x, 1)
        if self.up is not None:
            x = x + linear(self.activate(linear(h, self.up)), self.down)
        return x if self.router is None else x + self.route(h, linear(h, self.router))

    # ---- its elementwise parts, which are also measured by themselves

    def norm(self, x: Tensor, which: int) -> Tensor:
        """Root-mean-square norm of the residual stream."""
        return self.lab.torch.nn.functional.rms_norm(x, (self.hidden,), self.norms[which], _EPSILON)

    def rotate_and_store(self, qkv: Tensor, cache: Cache, step: Pass) -> Tensor:
        """Queries (B, T, H, D), rotated; keys, rotated, and values are stored at the end of the cache."""
        b, half = self.block, self.block.head_dim // 2
        rotated = b.q_heads + b.kv_heads
        heads = qkv.view(step.batch, step.new, rotated + b.kv_heads, b.head_dim)
        qk = heads[:, :, :rotated]  # (B, T, H + G, D)
        if b.qk_norm:
            qk = self.lab.torch.nn.functional.rms_norm(qk, (b.head_dim,), None, _EPSILON) * self.head_norm
        turned = self.lab.torch.empty_like(qk)
        first, second = qk[..., :half], qk[..., half:]
        self.lab.torch.mul(first, step.cos, out=turned[..., :half]).addcmul_(second, step.sin, value=-1)
        self.lab.torch.mul(second, step.cos, out=turned[..., half:]).addcmul_(first, step.sin)
        capacity = cache.keys.shape[2]
        where = slice(capacity - step.new, capacity)
        cache.keys[:, :, where].copy_(turned[:, :, b.q_heads :].transpose(1, 2))
        cache.values[:, :, where].copy_(heads[:, :, rotated:].transpose(1, 2))
        return turned[:, :, : b.q_heads]

    def activate(self, up: Tensor) -> Tensor:
        """The activation, times the other half where the MLP is gated."""
        silu = self.lab.torch.nn.functional.silu
        if not self.block.gated:
            return silu(up)
        gate, other = up.chunk(2, dim=-1)
        return silu(gate) * other

    # ---- the rest

    def attend(self, queries: Tensor, cache: Cache, step: Pass) -> Tensor:
        """Attention of the new tokens to what the cache holds, theirs included."""
        capacity = cache.keys.shape[2]
        if step.new == 1:
            window = self.block.window or capacity
            return attend_one(queries.contiguous(), cache, max(0, capacity - window), capacity)
        return attend_chunk(queries, cache, capacity, step.mask(self.lab, self.block.window))

    def route(self, h: Tensor, logits: Tensor) -> Tensor:
        """The routed experts: each token's top_k, sorted by expert, multiplied in groups, added up by token."""
        torch = self.lab.torch
        weight, chosen = logits.softmax(-1).topk(self.block.top_k)
        flat, order = chosen.flatten().sort()
        ends = torch.searchsorted(flat, torch.arange(self.block.experts, device=flat.device), right=True).int()
        rows = order // self.block.top_k
        grouped = torch.nn.functional.grouped_mm
        up = grouped(h[rows], self.expert_up.transpose(1, 2), offs=ends)  # type: ignore[union-attr]
        down = grouped(self.activate(up), self.expert_down.transpose(1, 2), offs=ends)  # type: ignore[union-attr]
        return torch.zeros_like(h).index_add_(0, rows, down * weight.flatten()[order, None])


@dataclass(frozen=True)
class WholeNet:
    """A whole model: embedding, blocks, norm and head, with random weights."""

    lab: Lab
    subject: Subject
    table: Tensor
    head: Tensor
    norm: Tensor
    blocks: list[BlockNet]

    @classmethod
    def random(cls, lab: Lab, subject: Subject) -> WholeNet:
        """Build one; a tied head is the embedding itself."""
        table = lab.random(subject.vocab, subject.hidden)
        head = table if subject.tied else lab.random(subject.vocab, subject.hidden)
        blocks = [BlockNet.random(lab, b, subject.hidden) for b in subject.blocks for _ in range(b.count)]
        norm = lab.torch.ones(subject.hidden, dtype=lab.format(), device=lab.device.id)
        return cls(lab, subject, table, head, norm, blocks)

    def forward(self, ids: Tensor, caches: list[Cache], step: Pass) -> Tensor:
        """Logits of each sequence's last position, (B, vocabulary), of tokens (B * T)."""
        functional = self.lab.torch.nn.functional
        x = functional.embedding(ids, self.table)
        for block, cache in zip(self.blocks, caches, strict=True):
            x = block.forward(x, cache, step)
        last = x.view(step.batch, step.new, -1)[:, -1]
        return functional.linear(functional.rms_norm(last, (self.subject.hidden,), self.norm, _EPSILON), self.head)
