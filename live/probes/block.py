"""Whole blocks, as prefill and as decode, and the whole model where it fits: the sum that the parts must make."""

from __future__ import annotations

from functools import partial

from costmodel.step import Step, cached_reads
from live.lab import Lab
from live.network import BlockNet, Pass, WholeNet
from live.points import Case
from live.probes.base import Probe, Ready, Task
from live.subject import Block

Sizes = tuple[int, int, int]
"""Sequences, new tokens of each, cached tokens of each."""


_SIZES = ("batch", "new", "cached")


def steps(task: Task) -> list[Sizes]:
    """The steps that a plan runs whole blocks through."""
    return [(batch, 1, context) for batch, context in task.plan.block_decode] + list(task.plan.block_prefill)


def _block_cases(task: Task) -> list[Case]:
    return [_case(task, "block", task.subject.blocks[:1], sizes, 0) for sizes in steps(task) if task.subject.blocks]


def _whole_cases(task: Task) -> list[Case]:
    if not (task.plan.whole and task.subject.blocks):
        return []
    head = task.subject.vocab * task.subject.hidden
    return [_case(task, "whole", task.subject.blocks, sizes, head) for sizes in steps(task)]


def _case(task: Task, probe: str, blocks: tuple[Block, ...], sizes: Sizes, head: int) -> Case:
    batch, new, cached = sizes
    tokens, capacity = batch * new, new + cached
    counts = [1] if probe == "block" else [block.count for block in blocks]
    kinds = list(zip(blocks, counts, strict=True))
    step = Step.prefill(new, cached, batch=batch)
    params = sum(count * block.params(task.subject.hidden) for block, count in kinds)
    kept = batch * sum(count * block.kv_values(capacity) for block, count in kinds)
    read = batch * sum(count * block.kv_values(new + int(cached_reads(cached, block.window))) for block, count in kinds)
    attention = sum(4.0 * count * block.q_heads * block.head_dim * step.pairs(block.window) for block, count in kinds)
    return Case(
        probe=probe,
        model=task.subject.id,
        shape={"batch": batch, "new": new, "cached": cached},
        dtype=task.dtype,
        flops=float(2.0 * (tokens * params + batch * head) + attention),
        bytes=float((params + head + read) * task.width),
        resident=float((params + head * (1 if task.subject.tied else 2) + kept) * task.width),
    )


def _sizes_of(case: Case) -> Sizes:
    return int(case.shape["batch"]), int(case.shape["new"]), int(case.shape["cached"])


def _prepare_block(case: Case, lab: Lab, task: Task) -> Ready:
    """Enough blocks one after the other, each with weights and a cache of its own, that all are cold as in a model."""
    block, hidden = task.subject.blocks[0], task.subject.hidden
    step = Pass.of(lab, *_sizes_of(case), block.head_dim)
    count = lab.copies(block.params(hidden) * task.width, most=block.count)
    nets = lab.kept("blocks", lambda: [BlockNet.random(lab, block, hidden) for _ in range(count)])
    caches = [net.cache(step.batch, step.capacity) for net in nets]
    x = lab.random(step.tokens, hidden)

    def run() -> object:
        y = x
        for net, cache in zip(nets, caches, strict=True):
            y = net.forward(y, cache, step)
        return y

    return Ready([run], units=count)


def _prepare_whole(case: Case, lab: Lab, task: Task) -> Ready:
    subject = task.subject
    net = lab.kept("whole", lambda: WholeNet.random(lab, subject))
    step = Pass.of(lab, *_sizes_of(case), subject.blocks[0].head_dim)
    caches = [block.cache(step.batch, step.capacity) for block in net.blocks]
    ids = lab.torch.arange(step.tokens, device=lab.device.id) % subject.vocab
    return Ready([partial(net.forward, ids, caches, step)])


BLOCK = Probe("block", "a whole block", _SIZES, _block_cases, _prepare_block, cold=False)
WHOLE = Probe("whole", "the whole model", _SIZES, _whole_cases, _prepare_whole, cold=False)
