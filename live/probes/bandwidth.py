"""Achieved memory bandwidth: reading a large array, and copying one."""

from __future__ import annotations

from functools import partial

from live.lab import Lab
from live.points import Case
from live.probes.base import Probe, Ready, Task

_BYTES = 2**28  # of one array: above most last-level caches, and where it is not there are several in turn
_FP32 = 4


def _cases(name: str, arrays: int) -> list[Case]:
    size = float(_BYTES)
    return [Case(probe=name, shape={"bytes": size}, dtype="fp32", flops=0, bytes=arrays * size, resident=arrays * size)]


def _read(case: Case, lab: Lab, task: Task) -> Ready:  # noqa: ARG001  # the same for every model
    values = int(case.shape["bytes"]) // _FP32
    return Ready([lab.random(values, dtype="fp32").sum for _ in range(lab.copies(case.bytes))])


def _copy(case: Case, lab: Lab, task: Task) -> Ready:  # noqa: ARG001  # the same for every model
    values = int(case.shape["bytes"]) // _FP32
    sources = [lab.random(values, dtype="fp32") for _ in range(lab.copies(case.bytes))]
    return Ready([partial(source.clone().copy_, source) for source in sources])


def _read_cases(task: Task) -> list[Case]:  # noqa: ARG001  # the same for every model
    return _cases("read", 1)


def _copy_cases(task: Task) -> list[Case]:  # noqa: ARG001  # the same for every model
    return _cases("copy", 2)


READ = Probe("read", "reading memory", ("bytes",), _read_cases, _read)
COPY = Probe("copy", "copying memory", ("bytes",), _copy_cases, _copy)
