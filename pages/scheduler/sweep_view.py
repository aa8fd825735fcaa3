"""Sweeps: many runs with one knob moved, drawn as they are done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from costmodel import serving
from pages.parts import chart, components, format
from pages.scheduler import charts, words
from pages.scheduler.runs import BUDGETED, OWN_WATERMARK, Plan
from pages.scheduler.workloads import Workload

_BUDGETS = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
_WATERMARKS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
_OF_SATURATION = (0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 1.0, 1.1, 1.3)
_AT_LEAST = 200  # requests of a rate sweep: fewer never settle

CURVES: Mapping[str, tuple[str, str, str]] = {  # figure: (name, meaning, dash)
    "ttft_p50_s": ("first token, median", "prefill", "solid"),
    "ttft_p95_s": ("first token, p95", "prefill", "dashed"),
    "tpot_s": ("output token, mean", "decode", "solid"),
    "worst_itl_s": ("longest gap", "decode", "dashed"),
}


@dataclass(frozen=True)
class Sweep:
    """A sweep that the page offers.

    Attributes
    ----------
    knob: column of its rows. title: of the button. quantity: title of the axis. log, integer: kind of axis.
    """

    knob: str
    title: str
    quantity: str
    log: bool = True
    integer: bool = True

    def written(self, value: float) -> str:
        """A value of the knob in words: a number, or a share in percent."""
        return f"{value:,g}" if self.integer else str(format.percentage(f"{100 * value:.0f}", value))


BUDGET = Sweep("budget", "Sweep the budget", "tokens a step, at most")
RATE = Sweep("rate", "Sweep the arrival rate", "requests a second")
WATERMARK = Sweep(
    "watermark", "Sweep the watermark", "share of the pool that an admission leaves free", log=False, integer=False
)


def offered(plan: Plan) -> list[Sweep]:
    """The sweeps that make sense for this plan."""
    if not isinstance(plan.workload, Workload):
        return [BUDGET] if plan.knobs.policy in BUDGETED else []
    sweeps = [BUDGET] if plan.knobs.policy in BUDGETED else []
    if plan.workload.arrivals in ("poisson", "gamma", "constant"):
        sweeps.append(RATE)
    return [*sweeps, WATERMARK] if plan.knobs.policy in OWN_WATERMARK and plan.kv_blocks else sweeps


def run(sweep: Sweep, plan: Plan, requests: pd.DataFrame) -> tuple[pd.DataFrame, float | None]:
    """Do the sweep, with a bar that any control stops; return its rows and, for rates, where the machine is full."""
    policy = plan.knobs.build(int(requests["prompt_tokens"].max()))
    full: float | None = None
    if sweep is RATE:
        table = plan.workload.table(count=max(plan.workload.count, _AT_LEAST))
        full = serving.saturation_rate(table, policy, **plan.options())
    rows, steps = _rows(sweep, plan, requests, policy, full)
    bar, done = st.progress(0.0, "Sweeping …"), []
    for number, row in enumerate(rows, start=1):
        done.append(row)
        bar.progress(min(number / steps, 1.0), f"Sweeping … {number} of {steps} runs")
    bar.empty()
    return pd.DataFrame(done), full


def _rows(
    sweep: Sweep, plan: Plan, requests: pd.DataFrame, policy: serving.Policy, full: float | None
) -> tuple[Iterator[dict[str, Any]], int]:
    options = plan.options()
    if sweep is RATE:
        count = max(plan.workload.count, _AT_LEAST)
        top = full if full and np.isfinite(full) else plan.workload.rate
        rates = [float(f"{top * share:.3g}") for share in _OF_SATURATION]
        rows = serving.sweep_rate(lambda rate: plan.workload.table(rate=rate, count=count), policy, rates, **options)
        return rows, len(rates)
    knob = "watermark"
    values: Sequence[float] = _WATERMARKS
    if sweep is BUDGET:
        knob = BUDGETED[plan.knobs.policy]
        values = [value for value in _BUDGETS if plan.knobs.policy != "sarathi" or value >= plan.knobs.max_seqs]
    renamed = (
        {sweep.knob: row.pop(knob), **row} for row in serving.sweep_knob(requests, policy, knob, values, **options)
    )
    return renamed, len(values)


def draw(sweep: Sweep, table: pd.DataFrame, full: float | None, now: float | None) -> None:
    """The curves of a sweep, where the page stands, and what to read off."""
    curves = _curves(sweep, table)
    if curves.empty:
        components.note("No run of this sweep finished a request.")
        return
    marks = [(now, "now")] if now is not None and table[sweep.knob].min() <= now <= table[sweep.knob].max() else []
    if full is not None and np.isfinite(full):
        marks = [(full, f"full at {format.significant(full)}/s")]
    datasets = {
        "frame": pd.DataFrame([{"one": 1}]),
        "curves": curves,
        "ends": curves.loc[curves.groupby("name")["x"].idxmax()],
        "here": pd.DataFrame(marks, columns=["x", "text"]),
    }
    spec = charts.sweep_spec(sweep.quantity, log=sweep.log, integer=sweep.integer)
    said = alt(sweep, table, full)
    chart.draw(spec, datasets, key=f"sweep_{sweep.knob}", alt=said, title=f"Latencies against {sweep.quantity}")
    components.note(reading(sweep, table, full))


def _curves(sweep: Sweep, table: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for figure, (name, meaning, dash) in CURVES.items():
        for x, seconds in zip(table[sweep.knob], table[figure], strict=True):
            if np.isfinite(seconds) and seconds > 0:
                text = f"{sweep.quantity} {sweep.written(x)}: {name} {format.seconds(seconds)}"
                rows.append((x, seconds, name, meaning, f"{meaning} text", dash, text))
    return pd.DataFrame(rows, columns=["x", "seconds", "name", "meaning", "text_meaning", "dash", "text"])


def reading(sweep: Sweep, table: pd.DataFrame, full: float | None) -> str:
    """What the sweep says, in a sentence."""
    if sweep is RATE:
        if full is None or not np.isfinite(full):
            return "Too few requests finished to say where the machine is full."
        return (
            f"With somebody always waiting, this machine finishes {format.significant(full)} requests a second; "
            "whatever comes faster than that waits longer and longer."
        )
    tokens, gaps = table["output_tokens_per_s"], table["worst_itl_s"]
    at = [sweep.written(value) for value in table[sweep.knob]]
    most = f"Most output tokens a second at {at[int(tokens.argmax())]} ({words.rate(tokens.max())})"
    if _without_gaps(table):
        return f"{most}; no request has two tokens with a gap between them."
    return f"{most}; the shortest of the longest gaps at {at[int(gaps.argmin())]} ({format.seconds(gaps.min())})."


def _without_gaps(table: pd.DataFrame) -> bool:
    """Whether no run gave anybody a second token."""
    return bool(table["worst_itl_s"].isna().all())


def alt(sweep: Sweep, table: pd.DataFrame, full: float | None) -> str:
    """The curves in a sentence."""
    first, last = table.iloc[0], table.iloc[-1]
    gaps = f"the longest gap from {format.seconds(first['worst_itl_s'])} to {format.seconds(last['worst_itl_s'])}"
    return (
        f"Latencies against {sweep.quantity}, from {sweep.written(first[sweep.knob])} to "
        f"{sweep.written(last[sweep.knob])}: the median time to the first token goes from "
        f"{format.seconds(first['ttft_p50_s'])} to {format.seconds(last['ttft_p50_s'])}"
        f"{'' if _without_gaps(table) else f', {gaps}'}. {reading(sweep, table, full)}"
    )
