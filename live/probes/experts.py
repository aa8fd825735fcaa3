"""The routed experts of one layer, from the router's scores to the sum."""

from __future__ import annotations

from functools import partial

from costmodel.operations import expected_experts
from live.lab import Lab
from live.network import BlockNet
from live.points import Case
from live.probes.base import Probe, Ready, Target, Task
from live.subject import Block

_ROUTINGS = 8  # different scores, so that successive calls take different experts


def _cases(task: Task) -> list[Case]:
    return [_case(task, block, m) for block in task.subject.blocks[:1] if block.experts for m in task.plan.tokens]


def _case(task: Task, block: Block, tokens: int) -> Case:
    hidden, one = task.subject.hidden, task.subject.hidden * (block.expert_up_width + block.expert_width)
    matrices = 3 if block.gated else 2
    hit = float(expected_experts(tokens, block.experts, block.top_k))
    values = tokens * block.top_k * (2 * hidden + matrices * block.expert_width) + 2 * tokens * hidden
    return Case(
        probe="moe",
        shape={
            "tokens": tokens,
            "hidden": hidden,
            "width": block.expert_width,
            "experts": block.experts,
            "top_k": block.top_k,
            "matrices": matrices,
        },
        dtype=task.dtype,
        flops=2.0 * tokens * block.top_k * one,
        bytes=float((hit * one + values) * task.width),
        resident=float((block.experts * one + values) * task.width),
    )


def _prepare(case: Case, lab: Lab, task: Task) -> Ready:
    tokens, block, hidden = int(case.shape["tokens"]), task.subject.blocks[0], task.subject.hidden
    nbytes = block.experts * hidden * (block.expert_up_width + block.expert_width) * task.width
    count = lab.copies(nbytes, most=4)
    nets = lab.kept("experts", lambda: [BlockNet.random(lab, block, hidden) for _ in range(count)])
    rows, scores = lab.random(tokens, hidden), lab.random(_ROUTINGS, tokens, block.experts)
    return Ready([partial(nets[i % count].route, rows, scores[i]) for i in range(_ROUTINGS)])


EXPERTS = Probe(
    "moe",
    "routed experts",
    ("tokens", "hidden", "width", "experts", "top_k", "matrices"),
    _cases,
    _prepare,
    Target(
        {"eb": 0.7, "ef": 0.5, "overhead": 5e-5, "per_item": 1e-8},
        lambda rates, c, dtype: rates.moe(
            c["tokens"],
            c["hidden"],
            c["width"],
            c["experts"],
            c["top_k"],
            dtype,
            matrices=c["matrices"],  # type: ignore[arg-type]  # arrays broadcast, as everywhere in Rates
        ),
    ),
)
