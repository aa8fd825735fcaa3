"""The results of a study as tables: for the catalogue, and for a reader who wants to know whether the bars are met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd

from costmodel.calibration.measurements import DATA_CENTRE
from costmodel.calibration.study import Outcome
from costmodel.calibration.whole_step import SERVING_SOURCE

CATALOG = Path(__file__).parent.parent / "catalog"


@dataclass(frozen=True)
class Bar:
    """The largest mean, over the data-centre GPUs, of each GPU's median absolute error."""

    operation: str
    format: str
    regime: str
    limit: float


BARS = (
    Bar("matmul", "bf16", "decode", 0.08),
    Bar("matmul", "bf16", "prefill", 0.07),
    Bar("matmul", "fp8", "decode", 0.11),
    Bar("matmul", "fp8", "prefill", 0.10),
    Bar("matmul", "nvfp4", "decode", 0.11),
    Bar("matmul", "nvfp4", "prefill", 0.10),
    Bar("attention_decode", "bf16", "decode", 0.06),
    Bar("attention_prefill", "bf16", "prefill", 0.15),
    Bar("moe", "bf16", "decode", 0.13),
    Bar("moe", "bf16", "prefill", 0.28),
    Bar("moe", "fp8_block", "decode", 0.13),
    Bar("moe", "fp8_block", "prefill", 0.28),
    Bar("all_reduce", "bf16", "all", 0.20),
)
"""What the cross-validated errors of fits to kernel times are held to."""

_UNITS = {"overhead": "overhead_us", "serial": "serial_ns", "per_item": "per_item_ns", "ramp": "ramp_us"}
_PER_SECOND = {"us": 1e6, "ns": 1e9}


def calibration_table(outcomes: Sequence[Outcome]) -> pd.DataFrame:
    """Rows of ``catalog/calibration.csv``: the fitted numbers of each fit, its errors and its source."""
    rows = []
    for outcome in outcomes:
        fit = outcome.fit()
        times = {column: _digits(getattr(fit, name) * _PER_SECOND[column[-2:]]) for name, column in _UNITS.items()}
        rows.append(
            {
                "gpu": outcome.gpu,
                "operation": outcome.operation,
                "dtype": outcome.format,
                "eb": _unless(fit.eb, 1.0),
                "ef": _unless(fit.ef, 1.0),
                **{column: _unless(value, 0.0) for column, value in times.items()},
                "rows": fit.rows,
                "median_error": fit.median,
                "p90_error": fit.p90,
                "low": fit.low,
                "high": fit.high,
                "source": fit.source,
            }
        )
    return pd.DataFrame(rows)


def _digits(value: float) -> float:
    return float(f"{value:.4g}")


def _unless(value: float, neutral: float) -> float | None:
    """Blank where a number is neutral."""
    return None if value == neutral else value


def accuracy_table(outcomes: Sequence[Outcome]) -> pd.DataFrame:
    """Rows of ``catalog/accuracy.csv``: errors of the floor and of the estimate, by GPU, operation, format and regime.

    Those of the general set are of GPUs that it was not fitted to.
    """
    return pd.DataFrame(
        {
            "gpu": outcome.gpu,
            "operation": outcome.operation,
            "dtype": outcome.format,
            "regime": regime,
            **_errors(part),
            "source": outcome.origin,
        }
        for outcome in outcomes
        for regime, part in outcome.rows.groupby("regime", sort=True)
    )


def _errors(rows: pd.DataFrame) -> dict[str, float]:
    """Absolute relative errors of the floor and of the estimate."""
    measured = rows.measured.to_numpy(float)
    estimate, floor = (np.abs(rows[name].to_numpy(float) / measured - 1) for name in ("predicted", "floor"))
    return {
        "n": len(rows),
        "floor_median_error": round(float(np.median(floor)), 4),
        "median_error": round(float(np.median(estimate)), 4),
        "p90_error": round(float(np.quantile(estimate, 0.9)), 4),
    }


def steps_table(steps: pd.DataFrame) -> pd.DataFrame:
    """Errors of whole serving steps: by GPU and model, over all dense and all MoE models, and with those not judged."""
    judged = steps[steps.judged]
    parts = [(gpu, name, regime, part) for (regime, gpu, name), part in judged.groupby(["regime", "gpu", "model"])]
    parts += [("all", "all", regime, part) for regime, part in judged.groupby("regime")]
    mixed = [(regime, part) for regime, part in steps.groupby("regime") if not part.judged.all()]
    parts += [("all", "all, and those not judged", regime, part) for regime, part in mixed]
    return pd.DataFrame(
        {"gpu": gpu, "operation": "step", "dtype": name, "regime": regime, **_errors(part), "source": SERVING_SOURCE}
        for gpu, name, regime, part in parts
    )


@dataclass(frozen=True)
class StepBar:
    """The largest median and p90 absolute error of whole serving steps of one kind of model."""

    regime: str
    median: float
    p90: float


STEP_BARS = (StepBar("dense", 0.09, 0.30), StepBar("MoE", 0.17, 0.40))
"""What the errors of whole serving steps are held to."""


def step_bars_table(accuracy: pd.DataFrame) -> pd.DataFrame:
    """Each bar of whole steps beside what was reached."""
    rows = []
    for bar in STEP_BARS:
        mine = accuracy[(accuracy.operation == "step") & (accuracy.dtype == "all") & (accuracy.regime == bar.regime)]
        reached = mine[["regime", "n", "floor_median_error", "median_error", "p90_error"]]
        met = (mine.median_error <= bar.median) & (mine.p90_error <= bar.p90)
        rows.append(reached.assign(bar=bar.median, p90_bar=bar.p90, met=met))
    return pd.concat(rows)


def bars_table(accuracy: pd.DataFrame) -> pd.DataFrame:
    """Each bar beside what was reached: the mean over the data-centre GPUs of their median errors."""
    rows = []
    for bar in BARS:
        mine = accuracy[
            (accuracy.operation == bar.operation)
            & (accuracy.dtype == bar.format)
            & (accuracy.regime == bar.regime)
            & accuracy.gpu.isin(DATA_CENTRE)
        ]
        mean = mine.median_error.mean()
        rows.append(
            {
                "operation": bar.operation,
                "dtype": bar.format,
                "regime": bar.regime,
                "gpus": len(mine),
                "floor": mine.floor_median_error.mean(),
                "mean_error": mean,
                "bar": bar.limit,
                "met": bool(mean <= bar.limit),
            }
        )
    return pd.DataFrame(rows)


_PERCENT = MappingProxyType(
    dict.fromkeys(
        ("floor_median_error", "median_error", "p90_error", "floor", "mean_error", "bar", "p90_bar"), "{:.1%}".format
    )
)


def shown(table: pd.DataFrame) -> str:
    """A table as text, errors in percent, without the sources."""
    formatters = {name: _PERCENT[name] for name in table.columns if name in _PERCENT}
    return table.drop(columns="source", errors="ignore").to_string(index=False, formatters=formatters)
