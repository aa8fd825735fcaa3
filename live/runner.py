"""Runs a plan inside the worker: case after case, each set up, timed, and told to whoever listens."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from live.clock import Call, Effort, Timing, time_calls
from live.health import Health, concerns
from live.lab import Lab
from live.points import Case, Mode, Point
from live.probes import PROBES
from live.probes.base import Probe, Ready, Task
from live.untrusted import printable

Emit = Callable[[dict[str, Any]], None]

_SHORTEST_BUDGET, _LONGEST_BUDGET = 0.03, 2.0  # seconds for one time
_HURRY, _OVERRUN = 1.5, 6.0  # times the plan's seconds, after which few repeats must do, and what remains is left out
_CROWD = 30.0  # times what a call should take, that it may take on a crowded machine before it counts as hung
_TOO_LONG = "one call would take too long"
_BEAT = 0.5  # seconds between signs of life
_MEMORY_SHARE = {"cpu": 0.5, "mps": 0.5}  # of what is free: the rest of the machine lives there too
_USUAL_SHARE = 0.85
_GRAPH_CALLS = 16  # launches in one graph at least, so that starting it does not count
_REFERENCE_ROWS = 1024
_REFERENCE = Effort(budget=0.06, stretch=5e-3, fewest=3, most=12, patience=1.5)
_NO_GRAPH = ("read", "copy", "peak")
"""Probes of one long kernel: capturing it changes nothing."""


def cases_of(task: Task) -> list[Case]:
    """Everything that a plan measures of a model, in order."""
    return [case for probe in PROBES.values() for case in probe.cases(task)]


@dataclass
class Runner:
    """One run of a plan."""

    task: Task
    lab: Lab
    emit: Emit
    _started: float = field(default_factory=time.perf_counter)
    _beaten: float = 0.0
    _best: dict[str, float] = field(default_factory=dict)
    _slowness: dict[str, float] = field(default_factory=dict)
    _reference: list[float] = field(default_factory=list)
    _disturbed: list[float] = field(default_factory=list)
    _left_out: dict[str, list[str]] = field(default_factory=dict)

    def run(self) -> None:
        """Measure everything; points and progress are emitted as they come, then what a reader should know."""
        self.lab.beat = self.beat
        before = self.lab.backend.health(self.lab.device)
        cases = cases_of(self.task)
        self.emit({"event": "started", "total": len(cases)})
        probe = None
        for done, case in enumerate(cases):
            if probe is not None and probe.name != case.probe:
                self.between(probe)
            probe = PROBES[case.probe]
            self.progress(probe, case, done, len(cases))
            self.one(probe, case, self.budget(len(cases) - done))
        self.finish(before)

    # ---- one case

    def one(self, probe: Probe, case: Case, budget: float) -> None:
        """Measure one case, or note why it cannot be."""
        obstacle = self.obstacle(case)
        if obstacle:
            self.leave_out(probe, case, obstacle)
            return
        try:
            ready = probe.prepare(case, self.lab, self.task)
            expected = self.expected(case) * ready.units
            if expected > self.task.plan.longest:
                self.leave_out(probe, case, _TOO_LONG)
                return
            self.emit({"event": "beat", "patience": _CROWD * expected})
            self.eager_and_graph(probe, case, ready, budget)
        except (MemoryError, RuntimeError, NotImplementedError) as error:
            self.leave_out(probe, case, "memory ran out" if out_of_memory(error) else first_line(error))
            self.lab.forget()

    def eager_and_graph(self, probe: Probe, case: Case, ready: Ready, budget: float) -> None:
        """Time the calls as the host launches them, and again as one captured graph where the backend has graphs."""
        effort = self.effort(budget)
        self.record(
            case, "eager", time_calls(ready.calls, self.lab.backend.sample, effort, self.beat, ready.parts), ready.units
        )
        if not self.lab.backend.graphs or probe.name in _NO_GRAPH:
            return
        rounds = -(-_GRAPH_CALLS // len(ready.calls)) if ready.units == 1 else 1
        calls = list(ready.calls) * rounds
        replay = self.lab.backend.capture(calls)
        timing = time_calls([replay], self.lab.backend.sample, effort, self.beat)
        self.record(case, "graph", timing, ready.units * len(calls) // ready.parts)

    def record(self, case: Case, mode: Mode, timing: Timing, units: int) -> None:
        """Emit the point, and remember how fast the device has been seen to be."""
        summary = timing.summary
        point = Point(
            probe=case.probe,
            mode=mode,
            shape=case.shape,
            dtype=case.dtype,
            flops=case.flops,
            bytes=case.bytes,
            seconds=summary.median / units,
            low=summary.low / units,
            high=summary.high / units,
            confidence=summary.confidence,
            spread=summary.spread,
            repeats=summary.repeats,
            disturbed=timing.disturbed,
            settled=timing.settled,
            model=case.model,
        )
        self._disturbed.append(timing.disturbed)
        ideal = self.ideal(case)
        self._slowness[case.probe] = point.seconds / ideal if ideal else 1.0
        for unit, rate in ((case.dtype, point.flops_rate), ("bytes", point.bytes_rate)):
            self._best[unit] = max(self._best.get(unit, 0.0), rate)
        self.emit({"event": "point", "point": point.to_json()})

    # ---- what to leave out

    def ideal(self, case: Case) -> float:
        """Seconds of a case at the best rates seen so far; 0 while there are none."""
        flops, moved = self._best.get(case.dtype, 0.0), self._best.get("bytes", 0.0)
        return (case.flops / flops if flops else 0.0) + (case.bytes / moved if moved else 0.0)

    def expected(self, case: Case) -> float:
        """Seconds of a case, from the best rates so far and how far below them its probe has stayed."""
        return self.ideal(case) * self._slowness.get(case.probe, 1.0)

    def obstacle(self, case: Case) -> str:
        """Why a case cannot be run here; nothing when it can."""
        need = case.resident + 3 * self.lab.cache
        share = _MEMORY_SHARE.get(self.lab.device.kind, _USUAL_SHARE)
        if need > share * self.lab.backend.free_memory(self.lab.device):
            return "it needs more memory than is free"
        if time.perf_counter() - self._started > _OVERRUN * self.task.plan.seconds:
            return "the time was up"
        return _TOO_LONG if self.expected(case) > self.task.plan.longest else ""

    def leave_out(self, probe: Probe, case: Case, reason: str) -> None:
        """Remember a case that is not measured."""
        self._left_out.setdefault(f"{probe.title}: {reason}", []).append(case.label)
        self.beat()

    # ---- time and life

    def budget(self, cases_left: int) -> float:
        """Seconds for the next time: its share of what is left."""
        left = self.task.plan.seconds - (time.perf_counter() - self._started)
        modes = 2 if self.lab.backend.graphs else 1
        return min(_LONGEST_BUDGET, max(_SHORTEST_BUDGET, left / cases_left / modes))

    def effort(self, budget: float) -> Effort:
        """How much to spend on the next time: on a crowded machine a rough figure of everything beats a part of it."""
        plan = self.task.plan
        if time.perf_counter() - self._started < _HURRY * plan.seconds:
            return Effort(budget=budget, half_width=plan.half_width, confidence=plan.confidence)
        return Effort(budget=budget, half_width=plan.half_width, confidence=plan.confidence, fewest=3, patience=2.0)

    def progress(self, probe: Probe, case: Case, done: int, total: int) -> None:
        """Say what is measured next, and how long the rest should take."""
        elapsed = time.perf_counter() - self._started
        pace = elapsed / done * (total - done) if done else self.task.plan.seconds
        left = max(pace, self.task.plan.seconds - elapsed)
        what = f"{probe.title}: {case.label}"
        self.emit({"event": "progress", "done": done, "total": total, "what": what, "seconds_left": left})
        self._beaten = time.perf_counter()

    def beat(self) -> None:
        """A sign of life, now and then."""
        if time.perf_counter() - self._beaten > _BEAT:
            self._beaten = time.perf_counter()
            self.emit({"event": "beat"})

    def between(self, probe: Probe) -> None:
        """After a probe: free its memory, and see whether the device is still as fast as it was."""
        self.lab.forget()
        gc.collect()
        if probe.name in ("copy", "launch", "read"):
            return
        timing = time_calls([self._multiply], self.lab.backend.sample, _REFERENCE, self.beat)
        self._reference.append(timing.summary.median)

    @cached_property
    def _multiply(self) -> Call:
        """The reference work: arithmetic on little data, so that it is the clock that it depends on."""
        rows, weight = self.lab.random(2, _REFERENCE_ROWS, _REFERENCE_ROWS)
        return partial(self.lab.torch.nn.functional.linear, rows, weight)

    def finish(self, before: Health) -> None:
        """Emit the notes and the end."""
        drift = max(self._reference) / min(self._reference) if self._reference else 1.0
        disturbed = sum(self._disturbed) / max(1, len(self._disturbed))
        after = self.lab.backend.health(self.lab.device)
        for text in concerns(before, after, drift, disturbed):
            self.emit({"event": "note", "text": text})
        for reason, labels in self._left_out.items():
            shown = "; ".join(labels[:3]) + (f" and {len(labels) - 3} more" if len(labels) > 3 else "")  # noqa: PLR2004
            self.emit({"event": "note", "text": printable(f"Left out of {reason} ({shown}).")})
        self.emit({"event": "finished", "seconds": time.perf_counter() - self._started})


def out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory ran out: torch says so in several ways."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or any(words in text for words in _NO_MEMORY)


_NO_MEMORY = ("out of memory", "allocate memory", "bad_alloc", "failed to map segment", "start new thread")


def first_line(error: BaseException) -> str:
    """An error as one short line."""
    text = str(error).strip().splitlines()
    return (text[0] if text else type(error).__name__)[:200]
