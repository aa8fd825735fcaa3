"""Measured beside modelled: steps, operations, and what is left between them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from costmodel.model import Model
from costmodel.operations import plan
from costmodel.precision import Precision, settle
from costmodel.price import price
from costmodel.step import Step
from live.fitting import predicted
from live.points import Point
from live.profile import Profile
from live.subject import Subject


def residuals(profile: Profile) -> pd.DataFrame:
    """One row a point that a rate is fitted to.

    Columns: operation, mode, shape (its sizes as text), tokens (rows, new tokens or sequences), flops, bytes,
    intensity, measured, low, high, predicted (seconds), ratio (measured over predicted), flops_rate, bytes_rate.
    """
    rows: list[dict[str, Any]] = []
    for mode, operation, _ in profile.fits:
        points = [p for p in profile.points if (p.probe, p.mode, p.dtype) == (operation, mode, profile.dtype)]
        modelled = predicted(points, profile.rates_of(mode))
        rows += [_residual(point, float(seconds)) for point, seconds in zip(points, modelled, strict=True)]
    return pd.DataFrame(rows)


def _residual(point: Point, modelled: float) -> dict[str, Any]:
    sizes = point.shape
    return {
        "operation": point.probe,
        "mode": point.mode,
        "shape": ", ".join(f"{name} {value:g}" for name, value in sizes.items()),
        "tokens": sizes.get("m", sizes.get("tokens", sizes.get("batch", 1.0) * sizes.get("seq_len", 1.0))),
        "flops": point.flops,
        "bytes": point.bytes,
        "intensity": point.flops / point.bytes if point.bytes else np.nan,
        "measured": point.seconds,
        "low": point.low,
        "high": point.high,
        "predicted": modelled,
        "ratio": point.seconds / modelled,
        "flops_rate": point.flops_rate,
        "bytes_rate": point.bytes_rate,
    }


def steps(profile: Profile, model: Model) -> pd.DataFrame:
    """One row a step of ``model`` that was measured as whole blocks, or as the whole model.

    Columns: phase, kind ("whole", or "blocks": one block times their number, plus the modelled embedding and head),
    mode, batch, new, cached, tokens, measured, low, high, predicted (seconds, at the profile's rates), floor (of the
    profile's hardware), ratio (measured over predicted). Empty when this model was not measured.
    """
    subject = next((s for s in profile.subjects if s.id == model.id), None)
    measured = [p for p in profile.points if p.probe in ("block", "whole") and p.model == model.id]
    rows = [_step(profile, model, subject, point) for point in measured] if subject else []
    return pd.DataFrame(rows, columns=list(_STEP_COLUMNS))


_STEP_COLUMNS = (
    "phase",
    "kind",
    "mode",
    "batch",
    "new",
    "cached",
    "tokens",
    "measured",
    "low",
    "high",
    "predicted",
    "floor",
    "ratio",
)


def _step(profile: Profile, model: Model, subject: Subject, point: Point) -> dict[str, Any]:
    batch, new, cached = (int(point.shape[name]) for name in ("batch", "new", "cached"))
    decoding = new == 1 and cached > 0
    step = Step.decode(batch, cached) if decoding else Step.prefill(new, cached, batch=batch)
    precision = as_measured(profile)
    rates, hw = profile.rates_of(point.mode), profile.hardware
    cost = price(model, hw, step, precision, rates)
    whole = point.probe == "whole"
    factor = 1 if whole else subject.layers
    rest = 0.0 if whole else _outside_blocks(cost.operations)
    return {
        "phase": "decode" if decoding else "prefill",
        "kind": "whole" if whole else "blocks",
        "mode": point.mode,
        "batch": batch,
        "new": new,
        "cached": cached,
        "tokens": batch * new,
        "measured": point.seconds * factor + rest,
        "low": point.low * factor + rest,
        "high": point.high * factor + rest,
        "predicted": cost.seconds,
        "floor": price(model, hw, step, precision).seconds,
        "ratio": (point.seconds * factor + rest) / cost.seconds,
    }


def as_measured(profile: Profile) -> Precision:
    """The formats that were measured: all in one, whatever the model's checkpoint stores."""
    return Precision(weights=profile.dtype, kv=profile.dtype, compute=profile.dtype)


def _outside_blocks(operations: pd.DataFrame) -> float:
    """Modelled seconds of what no block contains."""
    outside = operations[operations["name"].isin(["LM head", "embedding"])]
    return float(outside.seconds.sum())


def measured_operations(profile: Profile, model: Model, tokens: Iterable[int]) -> pd.DataFrame:
    """For each matrix multiply of ``model`` and each of these rows that was measured: measured and modelled seconds.

    Columns: name, tokens, measured, predicted, ratio; a launch each.
    """
    wanted = set(tokens)
    by_shape = {(p.shape["n"], p.shape["k"], p.shape["m"]): p for p in profile.of("matmul")}
    rows = []
    for op in plan(model, settle(model, profile.hardware, as_measured(profile)), 1, "everything").operations:
        for m in sorted(wanted) if op.kind == "matmul" else ():
            point = by_shape.get((*op.shape[1:], m))
            if point is not None:
                modelled = float(predicted([point], profile.rates)[0])
                rows.append(
                    {
                        "name": op.name,
                        "tokens": m,
                        "measured": point.seconds,
                        "predicted": modelled,
                        "ratio": point.seconds / modelled,
                    }
                )
    return pd.DataFrame(rows)
