"""Data of the Measure page's pictures, each from one call of the cost model or one table of the profile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import costmodel as cm
from live.compare import as_measured
from live.profile import Profile
from pages.measure import words
from pages.parts.plane import padded

HEIGHT = 340  # px of each picture
_ABOVE, _BELOW = 84.0, 24.0  # px kept free for the words in the corner
_POINTS = 90  # of a curve
_SIDE = 1.6  # of the x axis, left and right of what is drawn


def time_data(profile: Profile, model: cm.Model, steps: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Steps over the tokens in them: measured, and the curves of floor and estimate. ``steps``: of ``live.steps``."""
    tokens = np.geomspace(1, float(steps.tokens.max()) * _SIDE, _POINTS)
    context = decode_context(steps)
    asked = {"prefill": cm.Step.prefill(tokens)}
    if context is not None:
        asked["decode"] = cm.Step.decode(tokens, context)
    curves = pd.concat([_curve(profile, model, kind, tokens, step) for kind, step in asked.items()], ignore_index=True)
    points = steps.assign(
        said=[f"{words.step_name(row)} ({row.kind}, {row.mode})" for row in steps.itertuples()],
        over=steps.measured / steps.floor,
    )
    values = np.concatenate([curves.floor, curves.estimate, points.low, points.high])
    return {
        "frame": _frame(tokens, values, context=context or 0),
        "curves": curves,
        "points": points,
    }


def decode_context(steps: pd.DataFrame) -> int | None:
    """Cached tokens of the sequences in most of the measured decode steps; None when there was none."""
    decodes = steps[steps.phase == "decode"]
    return int(decodes.cached.mode().iloc[0]) if len(decodes) else None


def _curve(profile: Profile, model: cm.Model, kind: str, tokens: Any, step: cm.Step) -> pd.DataFrame:
    """Floor and estimate over the tokens; "compute" from where the arithmetic takes longer than the bytes."""
    precision = as_measured(profile)
    floor = cm.price(model, profile.hardware, step, precision)
    estimate = cm.price(model, profile.hardware, step, precision, rates=profile.rates)
    return pd.DataFrame(
        {"kind": kind, "t": tokens, "floor": floor.seconds, "estimate": estimate.seconds, "bound": floor.bound}
    )


def context_data(residuals: pd.DataFrame, bandwidth: float) -> dict[str, pd.DataFrame]:
    """Decode attention of one layer over the cached tokens that it reads; ``residuals`` of that operation alone."""
    points = residuals.assign(floor=residuals.bytes / bandwidth).sort_values("cached")
    values = points[["measured", "predicted", "floor"]].to_numpy().ravel()
    return {"frame": _frame(points.cached.to_numpy(), values), "points": points}


def roof_data(residuals: pd.DataFrame, bandwidth: float, peak: float) -> dict[str, pd.DataFrame]:
    """Achieved FLOP/s against intensity, and the roof; operations without arithmetic are left out."""
    points = residuals[(residuals.flops > 0) & (residuals.bytes > 0)]
    ridge = peak / bandwidth
    ends = [points.intensity.min() / _SIDE, ridge, max(points.intensity.max(), 4 * ridge) * _SIDE]
    corners = pd.DataFrame({"intensity": ends, "rate": [min(peak, bandwidth * x) for x in ends]})
    roof = pd.concat([corners[:2].assign(bound="memory"), corners[1:].assign(bound="compute")], ignore_index=True)
    values = np.concatenate([points.flops_rate, roof.rate])
    return {"frame": _frame(np.array(ends), values), "roof": roof, "points": points}


def _frame(x: Any, y: Any, **more: float) -> pd.DataFrame:
    """One row: the corners of a picture that holds these values."""
    bottom, top = padded(float(np.min(y)), float(np.max(y)), HEIGHT, _ABOVE, _BELOW)
    return pd.DataFrame([{"left": np.min(x) / _SIDE, "right": np.max(x) * _SIDE, "bottom": bottom, "top": top, **more}])
