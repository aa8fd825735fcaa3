"""A run in figures: throughput, latencies, goodput, utilisation, and whether every request is accounted for.

Source of Little's law: Little 1961 (Operations Research 9, 3). Latencies are named as vLLM's benchmarks name them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from costmodel.errors import ConfigError
from costmodel.serving.steps import TRANSFER

if TYPE_CHECKING:
    from costmodel.serving.results import Run, Segments

Floats = NDArray[np.float64]

PERCENTILES = (50, 90, 95, 99)


@dataclass(frozen=True, kw_only=True)
class Slo:
    """Limits that make a finished request a good one; None: no limit.

    Attributes
    ----------
    ttft_s: to the first token. tpot_s: mean of each token after it. itl_s: longest wait between two tokens.
    latency_s: to the last token.
    """

    ttft_s: float | None = None
    tpot_s: float | None = None
    itl_s: float | None = None
    latency_s: float | None = None

    def __post_init__(self) -> None:
        for name, value in self.limits.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise ConfigError(name, value, "seconds above 0, or None")

    @property
    def limits(self) -> dict[str, float]:
        """The limits that are set."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) is not None}


def slo_of(limits: Slo | Mapping[str, float] | None) -> Slo:
    """Return the limits as an ``Slo``.

    Raises
    ------
    ConfigError: for a limit that does not exist.
    """
    if isinstance(limits, Slo):
        return limits
    known = [f.name for f in fields(Slo)]
    for name in limits or {}:
        if name not in known:
            raise ConfigError("slo", name, f"one of {', '.join(known)}")
    return Slo(**(limits or {}))


def summarise(run: Run) -> dict[str, Any]:
    """The figures of a run.

    Who: policy, copies (the engine version that the policy copies), engine, pricing, num_blocks, block_size, note.
    Conservation: arrived = finished + rejected + unfinished; ``conserved`` says whether it holds. ``livelock`` and
    ``cancelled`` say why something is unfinished.
    Time: duration_s (first arrival to last step), busy_s, steps, iterations (rounds of the engine's loop).
    Throughput, over the duration: requests_per_s, output_tokens_per_s, total_tokens_per_s; goodput (requests a second
    that finish within the limits) and slo_share (of those that arrived).
    Latencies, means and percentiles (``ttft_s``, ``ttft_p50_s`` ...): ttft, tpot, itl (every gap between two tokens),
    latency, queued; and ``worst_itl_s``.
    Load: in_system (requests that are there, a mean over the duration, in both pools and on the link between them); of
    them mean_running, mean_on_link (caches that cross to the second pool) and mean_waiting (all others); stay_s (mean
    time from arrival to the last token, or to the end of the run; by Little's law in_system is stay_s times the
    requests a second that were not rejected); peak_blocks, preemptions, processed_tokens, recomputed_tokens,
    cached_tokens, padding_tokens.
    Utilisation of the pools, over the duration, NaN where steps have no price: mfu (arithmetic at peak), mbu (bytes at
        bandwidth).
    """
    figures = _facts(run) | _conservation(run)
    duration = _duration(run)
    return figures | _time(run, duration) | _throughput(run, duration) | _latencies(run) | _load(run, duration)


def _facts(run: Run) -> dict[str, Any]:
    f = run.facts
    return {
        "policy": f.policy.name,
        "copies": f.policy.copies,
        "engine": f.engine,
        "pricing": f.pricing,
        "num_blocks": f.num_blocks,
        "block_size": f.block_size,
        "note": f.note,
        "livelock": f.livelock,
        "cancelled": f.cancelled,
    }


def _conservation(run: Run) -> dict[str, Any]:
    outcomes = run.outcomes
    counts = {name: outcomes.count(name) for name in ("finished", "rejected", "unfinished")}
    arrived = len(outcomes) - outcomes.count("not arrived")
    return {"arrived": arrived, **counts, "conserved": arrived == sum(counts.values())}


def _duration(run: Run) -> float:
    """Seconds from the first arrival to the end of the last step."""
    ends, arrivals = run.segments.end, run.outcome.arrival
    came = arrivals[~np.isnan(arrivals)]
    return float(ends.max() - came.min()) if ends.size and came.size else 0.0


def _time(run: Run, duration: float) -> dict[str, Any]:
    s = run.segments
    return {
        "duration_s": duration,
        "busy_s": float(s.seconds.sum()),
        "steps": int(s.count.sum()),
        "iterations": run.facts.iterations,
        "mfu": _ratio(float(s.compute_seconds.sum()), duration * run.facts.pools) if run.facts.priced else np.nan,
        "mbu": _ratio(float(s.memory_seconds.sum()), duration * run.facts.pools) if run.facts.priced else np.nan,
    }


def _throughput(run: Run, duration: float) -> dict[str, Any]:
    outcome, finished = run.outcome, run.finished
    output = int(outcome.sampled.sum())
    prompts = int(run.work.prompt[finished].sum())
    good = finished & _within(run)
    arrived = int((~np.isnan(outcome.arrival)).sum())
    return {
        "requests_per_s": _ratio(int(finished.sum()), duration),
        "output_tokens": output,
        "output_tokens_per_s": _ratio(output, duration),
        "total_tokens_per_s": _ratio(output + prompts, duration),
        "goodput": _ratio(int(good.sum()), duration),
        "slo_share": _ratio(int(good.sum()), arrived),
    }


def _within(run: Run) -> NDArray[np.bool_]:
    """Which requests keep every limit; one that has no such time (one token has no gap) keeps it."""
    columns = {"ttft_s": "ttft_s", "tpot_s": "tpot_s", "itl_s": "worst_itl_s", "latency_s": "latency_s"}
    within = np.ones(len(run.work), dtype=bool)
    for name, limit in run.facts.slo.limits.items():
        within &= ~(run.requests[columns[name]].to_numpy() > limit)
    return within


def _latencies(run: Run) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for name in ("ttft", "tpot", "latency", "queued"):
        values = run.requests[f"{name}_s"].to_numpy()
        figures |= _spread(name, values[~np.isnan(values)])
    figures |= _gaps(run)
    worst = run.requests["worst_itl_s"].to_numpy()
    return figures | {"worst_itl_s": float(np.nanmax(worst)) if not np.isnan(worst).all() else np.nan}


def _spread(name: str, values: Floats) -> dict[str, float]:
    if not values.size:
        return {f"{name}_s": np.nan, **{f"{name}_p{p}_s": np.nan for p in PERCENTILES}}
    cuts = np.percentile(values, PERCENTILES).tolist()
    return {f"{name}_s": float(values.mean()), **{f"{name}_p{p}_s": c for p, c in zip(PERCENTILES, cuts, strict=True)}}


def _gaps(run: Run) -> dict[str, float]:
    """Mean and percentiles of every gap between two tokens of a request."""
    s, others = run.segments, run.other_gaps
    mean, weights = s.seconds / s.count, s.even_gaps * s.count
    total = float(weights.sum() + others[:, 1].sum())
    if not total:
        return _spread("itl", np.empty(0))
    first, last, count, even = (s.first, s.last, s.count, s.even_gaps) if s.each is None else _each(s, s.each)
    lines = Lines(
        first=np.concatenate([first, others[:, 0]]),
        last=np.concatenate([last, others[:, 0]]),
        count=np.concatenate([count, np.ones(len(others))]),
        weight=np.concatenate([even, others[:, 1]]),
    )
    average = float(mean @ weights + others[:, 0] @ others[:, 1]) / total
    cuts = lines.quantiles([p / 100 for p in PERCENTILES])
    return {"itl_s": average, **{f"itl_p{p}_s": c for p, c in zip(PERCENTILES, cuts, strict=True)}}


def _each(segments: Segments, seconds: Floats) -> tuple[Any, ...]:
    """First, last, count and even gaps of steps, each a run of its own."""
    return seconds, seconds, np.ones(len(seconds)), np.repeat(segments.even_gaps, segments.count)


@dataclass(frozen=True)
class Lines:
    """Values in runs, equally spaced within each from ``first`` to ``last`` (which is not less).

    Attributes
    ----------
    count: values of each run. weight: how often each of them occurs.
    """

    first: Floats
    last: Floats
    count: Floats
    weight: Floats

    def quantiles(self, shares: Sequence[float]) -> list[float]:
        """The least values (to the last digits of a float) that these shares of all values do not exceed."""
        mass = self.count * self.weight
        wanted = np.asarray(shares) * float(mass.sum()) * (1 - 1e-12)
        # Were each run all at its first, or all at its last value, the quantiles would be lower, or higher.
        lows, highs = (_weighted_quantiles(values, mass, wanted) for values in (self.first, self.last))
        return [self._between(low, high, want) for low, high, want in zip(lows, highs, wanted.tolist(), strict=True)]

    def _between(self, low: float, high: float, wanted: float) -> float:
        """The least value between two bounds up to which there are as many as wanted."""
        inside = (self.last > low) & (self.first < high)
        below = self.last <= low
        wanted -= float(self.count[below] @ self.weight[below])
        runs = Lines(self.first[inside], self.last[inside], self.count[inside], self.weight[inside])
        while high - low > _SETTLED * high:
            middle = (low + high) / 2
            enough = runs.up_to(middle) >= wanted
            low, high = (low, middle) if enough else (middle, high)
            if len(runs.first) > _MANY:
                wanted, runs = runs._narrowed(low, high, wanted)
        return high

    def _narrowed(self, low: float, high: float, wanted: float) -> tuple[float, Lines]:
        """Leave out the runs that lie wholly outside of the bounds."""
        below, inside = self.last <= low, (self.last > low) & (self.first <= high)
        wanted -= float(self.count[below] @ self.weight[below])
        return wanted, Lines(self.first[inside], self.last[inside], self.count[inside], self.weight[inside])

    def up_to(self, value: float) -> float:
        """How many values are not above ``value``."""
        with np.errstate(divide="ignore", invalid="ignore"):
            place = np.floor((value - self.first) / (self.last - self.first) * (self.count - 1) * (1 + 1e-15)) + 1
        below = np.where(value >= self.last, self.count, np.where(value < self.first, 0.0, place))
        return float(below @ self.weight)


_SETTLED = 1e-13  # relative width at which a search ends
_MANY = 1000  # runs above which it pays to leave some out


def _weighted_quantiles(values: Floats, weights: Floats, wanted: Floats) -> list[float]:
    """The least of the values up to which their weights add up to each of ``wanted``."""
    order = np.argsort(values)
    places = np.searchsorted(np.cumsum(weights[order]), wanted)
    found: list[float] = values[order][np.minimum(places, len(values) - 1)].tolist()
    return found


def _presence(run: Run, duration: float) -> dict[str, float]:
    """Requests that are there, weighted by time, by what they are at.

    The steps' own counts of those who wait leave out the part of a step in which a request came, and all who wait while
    no step is possible; so whoever is there and neither runs nor crosses the link is one who waits.
    """
    stays = _stays(run)
    there = _ratio(float(stays.sum()), duration)
    running = _ratio(float(run.segments.running @ run.segments.seconds), duration)
    crossing = _ratio(_seconds_on_link(run), duration)
    return {
        "in_system": there,
        "mean_running": running,
        "mean_on_link": crossing,
        "mean_waiting": np.nan if np.isnan(there) else max(there - running - crossing, 0.0),
        "stay_s": float(stays.mean()) if stays.size else np.nan,
    }


def _stays(run: Run) -> Floats:
    """Seconds that each request which came and was served is there: to its last token, or to the end of the last step.

    0 for one that comes later, and finds the engine stuck.
    """
    ends, o = run.segments.end, run.outcome
    if not ends.size:
        return np.empty(0)
    left = np.where(run.finished, o.last_token, ends.max())
    return np.maximum(left - o.arrival, 0.0)[~run.work.turned_away & ~np.isnan(o.arrival)]


def _seconds_on_link(run: Run) -> float:
    """Seconds that caches spend between two pools until the last step ends, added up; 0 where there is one pool."""
    if run.facts.pools == 1 or not run.segments.end.size:
        return 0.0
    spans, end = run.timeline[run.timeline["phase"] == TRANSFER], run.segments.end.max()
    return float((spans["end_s"].clip(upper=end) - spans["start_s"].clip(upper=end)).sum())


def _load(run: Run, duration: float) -> dict[str, Any]:
    s, o = run.segments, run.outcome
    processed = int(((s.prefill_tokens + s.decode_tokens) * s.count).sum())
    arrived_with = int((run.work.prompt + o.sampled - 1)[o.sampled > 0].sum())
    return {
        **_presence(run, duration),
        "peak_blocks": int(s.blocks_used.max()) if s.blocks_used.size else 0,
        "preemptions": int(o.preemptions.sum()),
        "processed_tokens": processed,
        "recomputed_tokens": max(processed + int(o.found.sum()) - arrived_with, 0),
        "cached_tokens": int(o.found.sum()),
        "padding_tokens": int((s.padding_tokens * s.count).sum()),
    }


def _ratio(amount: float, per: float) -> float:
    return amount / per if per else np.nan
