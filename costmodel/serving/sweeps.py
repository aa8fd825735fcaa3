"""One knob moved, all else held: latencies against a budget, a watermark or a rate, and where a machine is full."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from costmodel.errors import ConfigError
from costmodel.serving.policies.base import Policy
from costmodel.serving.simulate import simulate
from costmodel.serving.workload import ARRIVAL

FIGURES = ("ttft_p50_s", "ttft_p95_s", "tpot_s", "itl_p99_s", "worst_itl_s", "output_tokens_per_s", "preemptions")
"""What a sweep keeps of each run's summary."""

_SETTLED = (0.2, 0.8)  # the part of a run in which a queue neither builds up nor drains


def sweep_knob(
    requests: pd.DataFrame, policy: Policy, knob: str, values: Iterable[Any], /, **options: Any
) -> Iterator[dict[str, Any]]:
    """Run the same requests with one knob of the policy at each of ``values``; yield a row a run as it is done.

    A row has the knob's value and ``FIGURES``; one whose value the policy refuses is left out.

    >>> from costmodel import serving
    >>> requests = serving.constant(rate=1.0, count=4, prompt=8, output=2)
    >>> policy = serving.policy("vllm_v1")
    >>> rows = serving.sweep_knob(requests, policy, "max_num_batched_tokens", [4, 8], step_seconds=1.0)
    >>> [row["max_num_batched_tokens"] for row in rows]
    [4, 8]
    """
    for value in values:
        try:
            changed = replace(policy, **{knob: value})
        except ConfigError:
            continue
        yield {knob: value, **_figures(requests, changed, options)}


def sweep_rate(
    requests_at: Callable[[float], pd.DataFrame], policy: Policy, at: Iterable[float], /, **options: Any
) -> Iterator[dict[str, Any]]:
    """Run the workload at each rate of ``at`` (requests a second); yield a row a run as it is done."""
    for rate in at:
        yield {"rate": rate, **_figures(requests_at(rate), policy, options)}


def saturation_rate(requests: pd.DataFrame, policy: Policy, **options: Any) -> float:
    """Requests a second that the machine finishes when there is always somebody waiting: more than that queue up.

    All requests come at once; the rate is that of those that finish in the middle of the run, where the queue neither
    builds up nor drains. NaN when fewer than ten finish.

    >>> from costmodel import serving
    >>> requests = serving.at_once(count=100, prompt=4, output=1)
    >>> serving.saturation_rate(requests, serving.policy("vllm_v1", max_num_batched_tokens=4), step_seconds=0.5)
    2.0
    """
    table = requests.assign(**{ARRIVAL: 0.0})
    finish = np.sort(simulate(table, policy, **options).requests["finish_s"].dropna().to_numpy())
    low, high = (int(len(finish) * share) for share in _SETTLED)
    if len(finish) < 10 or finish[high] <= finish[low]:  # noqa: PLR2004  # too few to have a middle
        return float("nan")
    return float(round((high - low) / (finish[high] - finish[low]), 12))


def _figures(requests: pd.DataFrame, policy: Policy, options: dict[str, Any]) -> dict[str, Any]:
    summary = simulate(requests, policy, **options).summary
    return {name: summary[name] for name in FIGURES}
