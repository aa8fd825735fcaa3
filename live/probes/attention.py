"""Attention of one layer: one new token a sequence over its cache, and prompts over themselves and what came before."""

from __future__ import annotations

from functools import partial

from costmodel.dtypes import DTYPES
from costmodel.step import Step
from live.lab import Lab
from live.network import Cache, attend_chunk, attend_one, chunk_mask
from live.points import Case
from live.probes.base import Probe, Ready, Target, Task
from live.subject import Block

_HEADS = ("q_heads", "kv_heads", "head_dim")


def _heads(task: Task) -> list[Block]:
    """The blocks of a model that differ in their attention."""
    return list({(b.q_heads, b.kv_heads, b.head_dim): b for b in reversed(task.subject.blocks)}.values())


def _decode_cases(task: Task) -> list[Case]:
    return [_decode_case(task, block, batch, context) for block in _heads(task) for batch, context in task.plan.decode]


def _decode_case(task: Task, block: Block, batch: int, context: int) -> Case:
    cached = batch * block.kv_values(context) * task.width
    queries = batch * block.q_heads * block.head_dim * 2 * task.width
    return Case(
        probe="attention_decode",
        shape=_shape(block, batch=batch, kv_len=context),
        dtype=task.dtype,
        flops=4.0 * batch * block.q_heads * block.head_dim * context,
        bytes=float(cached + queries),
        resident=float(cached),
    )


def _prefill_cases(task: Task) -> list[Case]:
    return [_prefill_case(task, block, *sizes) for block in _heads(task) for sizes in task.plan.prefill]


def _prefill_case(task: Task, block: Block, batch: int, new: int, cached: int) -> Case:
    pairs = float(Step.prefill(new, cached).pairs())
    values = batch * (2 * block.q_heads * block.head_dim * new + block.kv_values(new + cached))
    return Case(
        probe="attention_prefill",
        shape=_shape(block, batch=batch, seq_len=new, cached=cached),
        dtype=task.dtype,
        flops=4.0 * batch * block.q_heads * block.head_dim * pairs,
        bytes=float(values * task.width),
        resident=float(values * task.width + new * (new + cached)),
    )


def _shape(block: Block, **sizes: float) -> dict[str, float]:
    return {**sizes, "q_heads": block.q_heads, "kv_heads": block.kv_heads, "head_dim": block.head_dim}


def _caches(case: Case, lab: Lab, length: int) -> list[Cache]:
    """Caches of exactly the length that is attended to: a kernel must not see a capacity beyond it."""
    sizes = [int(case.shape[name]) for name in ("batch", "kv_heads")]
    size = (*sizes, length, int(case.shape["head_dim"]))
    nbytes = 2 * size[0] * size[1] * size[2] * size[3] * DTYPES[case.dtype].bytes
    return [Cache(lab.random(*size), lab.random(*size)) for _ in range(lab.copies(nbytes))]


def _queries(case: Case, new: int) -> tuple[int, ...]:
    return (int(case.shape["batch"]), new, int(case.shape["q_heads"]), int(case.shape["head_dim"]))


def _prepare_decode(case: Case, lab: Lab, task: Task) -> Ready:  # noqa: ARG001  # the shape says it all
    length = int(case.shape["kv_len"])
    queries = lab.random(*_queries(case, 1))
    return Ready([partial(attend_one, queries, cache, 0, length) for cache in _caches(case, lab, length)])


def _prepare_prefill(case: Case, lab: Lab, task: Task) -> Ready:  # noqa: ARG001  # the shape says it all
    new, cached = int(case.shape["seq_len"]), int(case.shape["cached"])
    queries = lab.random(*_queries(case, new))
    mask = chunk_mask(lab, new, cached)
    return Ready(
        [partial(attend_chunk, queries, cache, new + cached, mask) for cache in _caches(case, lab, new + cached)]
    )


DECODE = Probe(
    "attention_decode",
    "attention of a decode step",
    ("batch", "kv_len", *_HEADS),
    _decode_cases,
    _prepare_decode,
    Target(
        {"eb": 0.7, "overhead": 1e-5, "ramp": 1e-5, "per_item": 2e-9},
        lambda rates, c, dtype: rates.attention_decode(
            c["batch"], c["kv_len"], c["q_heads"], c["kv_heads"], c["head_dim"], dtype
        ),
    ),
)
PREFILL = Probe(
    "attention_prefill",
    "attention of a prompt",
    ("batch", "seq_len", "cached", *_HEADS),
    _prefill_cases,
    _prepare_prefill,
    Target(
        {"eb": 0.5, "ef": 0.5, "overhead": 1e-5, "serial": 5e-9},
        lambda rates, c, dtype: rates.attention_prefill(
            c["batch"], c["seq_len"], c["q_heads"], c["kv_heads"], c["head_dim"], dtype, cached=c["cached"]
        ),
    ),
    cold=False,  # the queries, which most of the bytes are, have just been made
)
