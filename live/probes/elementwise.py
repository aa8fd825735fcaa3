"""The kernels between the multiplies of a block, and what launching one costs."""

from __future__ import annotations

from functools import partial

from live.lab import Lab
from live.network import BlockNet, Pass
from live.points import Case
from live.probes.base import Probe, Ready, Target, Task

_LAUNCHES = 64


def _cases(task: Task) -> list[Case]:
    return [_case(task, tokens) for tokens in task.plan.tokens] if task.subject.blocks else []


def _case(task: Task, tokens: int) -> Case:
    nbytes = tokens * task.subject.elementwise_values * task.width
    shape = {"kernels": task.subject.kernels, "bytes": nbytes, "tokens": tokens}
    return Case(probe="elementwise", shape=shape, dtype=task.dtype, flops=0, bytes=nbytes, resident=2 * nbytes)


def _prepare(case: Case, lab: Lab, task: Task) -> Ready:
    """All of a block but its multiplies and its attention, on what those would have left, in the four parts between
    them: residual and norm, rotation and cache update, residual and norm, activation.
    """
    block, hidden, tokens = task.subject.blocks[0], task.subject.hidden, int(case.shape["tokens"])
    net = lab.kept("a block", lambda: BlockNet.random(lab, block, hidden))
    step = Pass.of(lab, 1, tokens, 0, block.head_dim)
    cache = net.cache(1, tokens)
    x, y = lab.random(tokens, hidden), lab.random(tokens, hidden)
    qkv, up = lab.random(tokens, block.qkv_width), lab.random(tokens, block.up_width)

    def add_and_norm(which: int) -> object:
        return net.norm(x + y, which)

    parts = [
        partial(add_and_norm, 0),
        partial(net.rotate_and_store, qkv, cache, step),
        partial(add_and_norm, 1),
        *([partial(net.activate, up)] if block.width else []),
    ]
    return Ready(parts, parts=len(parts))


def _launch_cases(task: Task) -> list[Case]:
    return [Case(probe="launch", shape={"kernels": 1}, dtype=task.dtype, flops=0, bytes=0, resident=0)]


def _prepare_launch(case: Case, lab: Lab, task: Task) -> Ready:  # noqa: ARG001  # there is one only
    """Kernels with nothing to do: what is left is the launching."""
    value = lab.torch.zeros(1, device=lab.device.id)

    def run() -> object:
        for _ in range(_LAUNCHES):
            value.add_(1)
        return value

    return Ready([run], units=_LAUNCHES)


ELEMENTWISE = Probe(
    "elementwise",
    "the kernels between the multiplies",
    ("kernels", "bytes", "tokens"),
    _cases,
    _prepare,
    Target(
        {"eb": 0.5, "overhead": 5e-6},
        lambda rates, c, _: rates.elementwise(c["kernels"], c["bytes"]),
        by_format=False,
    ),
    cold=False,  # what was just made is still in a cache, as in a model
)
LAUNCH = Probe("launch", "launching", ("kernels",), _launch_cases, _prepare_launch)
