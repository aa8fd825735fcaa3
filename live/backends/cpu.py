"""The processor itself."""

from __future__ import annotations

import math
import os
import platform
import resource
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from live.backends.base import Backend
from live.clock import Call, Sample
from live.device import Device
from live.health import Health

_TASKS = Path("/proc/self/task")
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_CGROUP = Path("/sys/fs/cgroup")
_WAITED = 0.02  # of a sample, spent waiting for a core: another program had it
_READING = 2e-4  # seconds that reading the counters twice takes when nobody interferes
_LEAST = 0.05  # of a sample that remains, whatever the counters say
_SWEPT = 2**26  # bytes read between calls at most
_FP32 = 4
_GLANCE = 0.2  # seconds over which the load of the cores is read
_KIB = {"K": 2**10, "M": 2**20, "G": 2**30}


class Cpu(Backend):
    """The device called "cpu".

    A processor's caches hold code and everything else beside the weights, and a model's weights sweep them clean
    between one use of an operation and the next: a small one takes several times as long then as when it is repeated
    by itself. So before each call, and outside its time, twice as much is read as a block of the model has weights, or
    as much as the last-level cache holds where that is less. (Twice, because a plain read pushes out less than a block
    at work: with that, parts of a block took what they take inside one, for blocks of 6 and of 31 MB.)
    """

    def __init__(self) -> None:
        self._sweep: Call = lambda: None
        self._threads = 1

    def available(self) -> bool:
        """Whether torch finds one."""
        return True

    def devices(self) -> list[Device]:
        """Each of them."""
        import torch

        able = torch.cpu.get_capabilities()
        fast = [name for name in ("amx_bf16", "avx512_bf16", "bf16", "avx512_f", "avx2") if able.get(name)]
        return [
            Device(
                id="cpu",
                kind="cpu",
                name=_name(),
                memory=_memory(),
                cache=_last_level_cache(),
                units=_threads(torch.get_num_threads()),
                dtypes=("bf16", "fp32"),
                driver=f"{platform.system()} {platform.release()}",
                capability=", ".join(fast),
            )
        ]

    def prepare(self, device: Device, threads: int | None) -> dict[str, str]:  # noqa: ARG002  # there is one only
        """Make it current, with fp32 accumulation."""
        import torch

        torch.set_num_threads(threads or _threads(torch.get_num_threads()))
        self._threads = torch.get_num_threads()
        torch.set_float32_matmul_precision("highest")
        return {
            "allocator": f"{platform.libc_ver()[0] or 'system'} malloc",
            "arithmetic": f"fp32 accumulation, oneDNN {'on' if torch.backends.mkldnn.enabled else 'off'}",
            "threads": str(torch.get_num_threads()),
        }

    def expect(self, streamed: float) -> None:
        """Sweep the caches with this much before each call."""
        import torch

        nbytes = min(_last_level_cache() or _SWEPT, _SWEPT, 2 * streamed)
        # ones, because zeros that nobody has written are all the same page of memory
        self._sweep = torch.ones(int(nbytes) // _FP32).sum

    def free_memory(self, device: Device) -> float:
        """Bytes that can be allocated now."""
        free = _meminfo("MemAvailable")
        limit, used = _limit("memory.max"), _limit("memory.current")
        return min(free or device.memory / 2, limit - used if limit and used else math.inf)

    def sample(self, calls: Sequence[Call]) -> Sample:
        """Time the calls, less the time for which a thread that had work was kept from a core by other programs.

        Exact for one thread, whose time on a core the system counts. Several that wait for each other may lose more
        than the longest of their waits, which is what is taken off; such a sample counts only while no better ones are
        to be had.
        """
        seconds, lost = 0.0, 0.0
        for call in calls:
            self._sweep()
            elapsed, waited = _alone(call) if self._threads == 1 else _together(call)
            seconds, lost = seconds + max(elapsed - waited, _LEAST * elapsed), lost + waited
        return Sample(seconds, lost > _WAITED * seconds)

    def synchronize(self) -> None:
        """Nothing to wait for: a call returns when it has finished."""

    def health(self, device: Device) -> Health:  # noqa: ARG002  # there is one only
        """How busy and how fast it is now."""
        begun = _busy_ticks()
        time.sleep(_GLANCE)
        ended = _busy_ticks()
        if begun is None or ended is None or ended[1] == begun[1]:
            return Health()
        return Health(busy=(ended[0] - begun[0]) / (ended[1] - begun[1]))


def _alone(call: Call) -> tuple[float, float]:
    """(seconds by the wall, seconds of them off the core) of work that this thread does by itself."""
    on_core, begun = time.thread_time(), time.perf_counter()
    call()
    elapsed, on_core = time.perf_counter() - begun, time.thread_time() - on_core
    return elapsed, max(0.0, elapsed - on_core)


def _together(call: Call) -> tuple[float, float]:
    """(seconds by the wall, seconds that the most hindered thread waited) of work that several threads do."""
    opened = time.perf_counter()
    before = waits()
    begun = time.perf_counter()
    call()
    ended = time.perf_counter()
    after = waits()
    # What was waited for while the counters were being read is not part of the work.
    reading = begun - opened + time.perf_counter() - ended
    waited = max((total - before.get(thread, 0.0) for thread, total in after.items()), default=0.0)
    return ended - begun, max(0.0, waited - max(0.0, reading - _READING))


def waits() -> dict[str, float]:
    """Seconds for which each thread of this process has waited for a core so far, although it had work.

    Linux counts them (Documentation/scheduler/sched-stats.rst). Elsewhere an involuntary switch counts as a
    millisecond, which is enough to notice one.
    """
    if not _TASKS.is_dir():
        return {"": resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw * 1e-3}
    return dict(_delays())


def _delays() -> Iterator[tuple[str, float]]:
    for task in os.listdir(_TASKS):  # noqa: PTH208  # a Path for each costs more than the reading
        try:
            with open(f"{_TASKS}/{task}/schedstat", encoding="ascii") as file:  # noqa: PTH123  # as above
                yield task, int(file.read().split()[1]) * 1e-9
        except (OSError, IndexError, ValueError):  # a thread that has ended, or a kernel without the statistics
            continue


def _threads(usual: int) -> int:
    """Threads to compute with: as many as torch would use, but no more than cores that this process is given."""
    given = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _quota()
    return max(1, min(usual, given, math.ceil(quota) if quota else given))


def _quota() -> float | None:
    """Cores' worth of time that a container may use."""
    try:
        limit, period = (_CGROUP / "cpu.max").read_text(encoding="ascii").split()
        return float(limit) / float(period)
    except (OSError, ValueError):
        return None


def _limit(name: str) -> float | None:
    try:
        return float((_CGROUP / name).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _memory() -> float:
    installed = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return min(installed, _limit("memory.max") or math.inf)


def _meminfo(key: str) -> float | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((float(line.split()[1]) * 2**10 for line in lines if line.startswith(f"{key}:")), None)


def _last_level_cache() -> float | None:
    """Bytes of the largest cache that a core reaches."""
    sizes = []
    for path in _CACHES.glob("index*/size"):
        try:
            text = path.read_text(encoding="ascii").strip()
            sizes.append(float(text[:-1]) * _KIB[text[-1]])
        except (OSError, ValueError, KeyError, IndexError):
            continue
    return max(sizes, default=None)


def _name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return model or platform.processor() or platform.machine() or "processor"


def _busy_ticks() -> tuple[float, float] | None:
    """(time spent working, all time) of all cores since the system started."""
    try:
        with open("/proc/stat", encoding="ascii") as file:  # noqa: PTH123  # read twice in a fifth of a second
            ticks: list[Any] = file.readline().split()[1:9]
    except OSError:
        return None
    numbers = [float(tick) for tick in ticks]
    idle = numbers[3] + numbers[4]
    return sum(numbers) - idle, sum(numbers)
