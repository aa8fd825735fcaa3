"""Matrix multiplies: the peak that a large square one reaches, and the model's own shapes over the rows of a step."""

from __future__ import annotations

from functools import partial

from costmodel.dtypes import DTYPES
from live.lab import Lab
from live.points import Case
from live.probes.base import Probe, Ready, Target, Task

_SIZES = ("m", "n", "k")
_MOST_LOGITS = 64  # rows that the LM head is measured at: it sees one a sequence


def case(m: int, n: int, k: int, dtype: str, probe: str = "matmul") -> Case:
    """Rows ``m`` times a weight matrix of ``n`` outputs and ``k`` inputs."""
    width = DTYPES[dtype].bytes
    return Case(
        probe=probe,
        shape={"m": m, "n": n, "k": k},
        dtype=dtype,
        flops=2.0 * m * n * k,
        bytes=float(width * (n * k + m * (n + k))),
        resident=float(width * (n * k + m * (n + k))),
    )


def _peak_cases(task: Task) -> list[Case]:
    return [
        case(size, size, size, dtype, "peak")
        for dtype in dict.fromkeys((task.dtype, task.wide, "fp32"))
        for size in task.plan.squares
    ]


def _cases(task: Task) -> list[Case]:
    found = []
    for matrix in task.subject.matmuls:
        tokens = [m for m in task.plan.tokens if m <= _MOST_LOGITS] if matrix.head else task.plan.tokens
        found += [case(m, matrix.n, matrix.k, task.dtype) for m in tokens]
    return found


def _prepare(case: Case, lab: Lab, task: Task) -> Ready:  # noqa: ARG001  # the shape says it all
    m, n, k = (int(case.shape[name]) for name in ("m", "n", "k"))
    linear = lab.torch.nn.functional.linear
    rows = lab.random(m, k, dtype=case.dtype)  # just made by the operation before: hot, as in a model
    count = lab.copies(n * k * DTYPES[case.dtype].bytes)
    weights = lab.kept((count, n, k, case.dtype), lambda: lab.random(count, n, k, dtype=case.dtype))
    return Ready([partial(linear, rows, weight) for weight in weights])


PEAK = Probe("peak", "the largest matrix multiplies", _SIZES, _peak_cases, _prepare)
MATMUL = Probe(
    "matmul",
    "matrix multiplies",
    _SIZES,
    _cases,
    _prepare,
    Target(
        {"eb": 0.8, "ef": 0.7, "overhead": 5e-6, "serial": 3e-10},
        lambda rates, c, dtype: rates.matmul(c["m"], c["n"], c["k"], dtype),
    ),
)
