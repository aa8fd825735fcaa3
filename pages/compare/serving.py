"""The same requests through the same engine on both sides: what the simulator says, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from pages.compare.deltas import Delta
from pages.compare.frames import HEIGHTS, Line, Picture
from pages.compare.numbers import Pair, Side
from pages.compare.words import alike, faster, times
from pages.parts import format
from pages.scheduler import words as scheduler
from pages.scheduler.runs import Knobs, Plan
from pages.scheduler.workloads import ARRIVALS, LENGTHS, Workload

REQUESTS = 200
ENGINE = "vllm_v1"
_LATE = 0.05  # share of the time of arrivals that may follow the last one while a side still keeps up


@dataclass(frozen=True, eq=False)
class Served:
    """A run in the figures that the page shows.

    Attributes
    ----------
    summary: as ``serving.Run.summary``. finished: seconds from the first arrival at which requests finished, sorted.
    last_arrival: seconds from the first arrival to the last.
    refusals: the limits above which requests were turned away, as the simulator words them, and how many at each.
    """

    summary: Mapping[str, Any]
    finished: Any
    last_arrival: float
    refusals: Mapping[str, int]

    @property
    def keeps_up(self) -> bool:
        """Whether the work ends soon after the last request has come."""
        return bool(self.summary["duration_s"] < (1 + _LATE) * self.last_arrival + self.summary["latency_s"])

    @property
    def step_seconds(self) -> float:
        """Mean time of a step."""
        return float(self.summary["busy_s"] / self.summary["steps"])


@dataclass(frozen=True)
class Both:
    """What was served on either side, the same requests."""

    a: Served
    b: Served

    @property
    def runs(self) -> tuple[Served, Served]:
        return self.a, self.b


def served(side: Side, workload: Workload, progress: Callable[[float], object]) -> Served:
    """Serve the requests on one side.

    Raises
    ------
    ConfigError: where they cannot be served at all, such as by weights that do not fit.
    """
    return run(Plan.asked(side.scenario, workload, Knobs.asked(ENGINE)), progress)


def run(plan: Plan, progress: Callable[[float], object]) -> Served:
    """Serve the requests of a plan; runs are kept, as equal plans give equal runs."""
    return _kept(_Asked(plan, progress))


@dataclass(frozen=True)
class _Asked:
    """A plan, and who is told how far its run is: that changes nothing of it."""

    plan: Plan
    progress: Callable[[float], object] = field(compare=False)


@lru_cache(maxsize=64)
def _kept(asked: _Asked) -> Served:
    requests = _requests(asked.plan.workload)
    run = asked.plan.simulate(requests, engine="jump", progress=asked.progress)
    table = run.requests
    start = float(table["arrival_s"].min())
    finished = np.sort(table["finish_s"].dropna().to_numpy() - start)
    reasons = table.loc[table["outcome"] == "rejected", "reason"]
    refusals = Counter(_limit(str(reason)) for reason in reasons)
    return Served(run.summary, finished, float(table["arrival_s"].max()) - start, refusals)


def _limit(reason: str) -> str:
    """The end of a reason, which many requests share: each begins with the request's own length."""
    _, above, limit = reason.partition("above ")
    return f"{above}{limit}" or reason


@lru_cache(maxsize=8)
def _requests(workload: Workload) -> pd.DataFrame:
    return workload.table(count=REQUESTS)


# ---- in words ------------------------------------------------------------------------------------------------


def requests_said(workload: Workload) -> str:
    """Who comes: such requests as the Scheduler page has."""
    pace = f", {format.count(workload.rate)} a second" if workload.arrivals in PACED else ""
    prompts, outputs = (
        LENGTHS[kind] if kind.startswith("azure") else f"{LENGTHS[kind]} around {format.count(tokens)}"
        for kind, tokens in ((workload.prompt, workload.prompt_tokens), (workload.output, workload.output_tokens))
    )
    return (
        f"{format.many(REQUESTS, 'request')}, {ARRIVALS[workload.arrivals]}{pace}; prompts {prompts}, outputs "
        f"{outputs} (seed {workload.seed}), through a token budget as vLLM V1 has it. Their kind, the memory and the "
        "knobs are the Scheduler page's, under Workload, memory and knobs there; their number is not."
    )


PACED = ("poisson", "gamma", "constant")


def deltas(both: Both) -> list[Delta]:
    """What the requests see, and what the machine delivers."""
    a, b = (run.summary for run in both.runs)
    return [
        _times("time to first token", a["ttft_s"], b["ttft_s"], _first(a, b)),
        _times("time a token after it", a["tpot_s"], b["tpot_s"], _each(both)),
        _times("a request from arrival to end", a["latency_s"], b["latency_s"], _whole(a, b)),
        Delta(
            "tokens a second", [format.significant(run["output_tokens_per_s"]) for run in (a, b)],
            times(a["output_tokens_per_s"], b["output_tokens_per_s"]), _throughput(both),
        ),
        *_turned_away(both),
    ]  # fmt: skip


def _times(name: str, a: float, b: float, why: str) -> Delta:
    change = faster(a, b) if a > 0 and b > 0 else "–"
    return Delta(name, [format.seconds(a), format.seconds(b)], change, why)


def _first(a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    """The wait in the queue and the steps of the prompt, which make up the time to the first token."""
    queued, prompts = (
        [format.seconds(run["queued_s"]) for run in (a, b)],
        [format.seconds(run["ttft_s"] - run["queued_s"]) for run in (a, b)],
    )
    return _instead(("waiting in the queue takes", queued), ("the steps of the prompt take", prompts))


def _each(both: Both) -> str:
    """How long a step is, and how many share it."""
    running = [format.significant(run.summary["mean_running"]) for run in both.runs]
    steps = [format.seconds(run.step_seconds) for run in both.runs]
    return _instead(("a step takes on average", steps), ("the requests in it are", running))


def _whole(a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    return _ALIKE if alike(a["latency_s"], b["latency_s"], format.seconds) else "first token and all others"


_ALIKE = "all that it is made of reads the same"


def _instead(*parts: tuple[str, Sequence[object]]) -> str:
    """What of these reads differently on B than on A."""
    told = [f"{what} {b}, not {a}" for what, (a, b) in parts if str(a) != str(b)]
    return " and ".join(told) or _ALIKE


def _throughput(both: Both) -> str:
    keeps = [run.keeps_up for run in both.runs]
    if all(keeps):
        return "both keep up with the requests as they come"
    if any(keeps):
        behind, ahead = ("A", "B") if keeps[1] else ("B", "A")
        return f"{ahead} keeps up with the requests as they come, {behind} falls behind"
    return "neither keeps up with the requests: each works as fast as its steps allow"


def _turned_away(both: Both) -> list[Delta]:
    """Requests that were turned away, where there are any, and why."""
    rejected = [run.summary["rejected"] for run in both.runs]
    if not any(rejected):
        return []
    why = [f"{name}: {_limits(run)}" for name, run in zip("AB", both.runs, strict=True) if run.refusals]
    return [Delta("requests turned away", [format.count(number) for number in rejected], "", "; ".join(why))]


def _limits(run: Served) -> str:
    """Above which limits, each with its requests where there are several."""
    if len(run.refusals) == 1:
        return next(iter(run.refusals))
    return ", ".join(f"{format.count(number)} {limit}" for limit, number in run.refusals.items())


def picture(p: Pair, both: Both) -> Picture:
    """Requests finished against time."""
    lines = [Line(side, _staircase(run)) for side, run in zip(p.sides, both.runs, strict=True)]
    keys = [_key(run) for run in both.runs]
    right = max(run.summary["duration_s"] for run in both.runs)
    return Picture(HEIGHTS["served"], 0.0, right, lines, [], [], keys, log=False)


def _staircase(run: Served) -> dict[str, Any]:
    done = np.arange(1, len(run.finished) + 1)
    ends = np.append(run.finished, run.summary["duration_s"])
    x, y = np.concatenate([[0.0], ends]), np.concatenate([[0], done, [len(run.finished)]])
    return {"x": x, "y": y.astype(float), "meaning": "decode", "segment": 0}


def refused(side: Side, error: ValueError) -> str:
    """Why a side cannot serve, and what to change."""
    return f"{side.name} cannot serve these requests. {scheduler.refused(error, side.scenario)}"


def none(side: Side, run: Served) -> str:
    """Why a side finishes not one request."""
    return f"{side.name} serves none of these requests: {_limits(run) or run.summary['livelock']}."


def alone(side: Side, run: Served) -> str:
    """What is said of a side whose other cannot serve."""
    return f"{side.name} alone: {_key(run)[0]}."


def _key(run: Served) -> tuple[str, str]:
    s = run.summary
    ttft, tpot = format.seconds(s["ttft_s"]), format.seconds(s["tpot_s"])
    speed = format.significant(s["output_tokens_per_s"])
    return (
        f"first token after {ttft}, then {tpot} a token; {speed} tokens a second",
        f"{ttft}, {tpot}; {speed} tokens/s",
    )
