"""The step's formula, and a plot's geometry, as the browser computes them while a hand drags.

Bandwidth and compute may be dragged: the parameters ``bandwidth_x`` and ``compute_x`` live in the browser, and every
position is computed there from the same ``cm.step_seconds`` that Python prices with. While a parameter is null, the
multipliers of the sidebar (sent with the data, in the dataset "frame") hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import altair as alt

import costmodel as cm
from pages.parts import chart
from pages.parts.chart import Spec

WHAT_IF = ("bandwidth_x", "compute_x")

D = alt.datum
BANDWIDTH_X, COMPUTE_X = (alt.param(name=f"{name}_now", value=1.0) for name in WHAT_IF)


def seconds(prefix: str = "", maximum: Callable[[Any, Any], Any] = alt.expr.max) -> str:
    """The cost model's own formula, as the browser computes it from a row of the data."""
    flops, nbytes, peak = (D[f"{prefix}{name}"] for name in ("flops", "bytes", "peak"))
    return str(cm.step_seconds(flops, nbytes, peak * COMPUTE_X, D["bandwidth"] * BANDWIDTH_X, maximum))


def arithmetic_seconds(prefix: str = "") -> str:
    return seconds(prefix, lambda compute, _: compute)


def memory_seconds(prefix: str = "") -> str:
    return seconds(prefix, lambda _, memory: memory)


def what_if_params(*, bound: bool = True) -> list[Spec]:
    """The two parameters that a hand drags, and what holds now: theirs, or the sidebar's while they are null."""
    params: list[Spec] = []
    for name, word in zip(WHAT_IF, ("Bandwidth", "Compute"), strict=True):
        slider = {"input": "range", "min": 0.25, "max": 4, "step": 0.05, "name": f"{word} × "}
        params.append({"name": name, "value": None, **({"bind": slider} if bound else {})})
        sidebar = chart.first("frame", name, 1)
        params.append({"name": f"{name}_now", "expr": f"isValid({name})?+{name}:{sidebar}"})
    return params


AT_REST = "&&".join(f"abs({name}_now-{chart.first('frame', name, 1)})<1e-6" for name in WHAT_IF)


def frame_params(height: int) -> list[Spec]:
    """Corners of the plot in decades, and pixels a decade."""
    corners = [
        {"name": name, "expr": f"log({chart.first('frame', name, otherwise)})/LN10"}
        for name, otherwise in (("left", 0.7), ("right", 1.4e4), ("bottom", 1e-7), ("top", 1e-1))
    ]
    return [
        *corners,
        {"name": "across", "expr": "width/(right-left)"},
        {"name": "up", "expr": f"{height}/(top-bottom)"},
    ]


def px(value: str) -> str:
    return f"(log({value})/LN10-left)*across"


def py(value: str) -> str:
    return f"(top-log({value})/LN10)*up"
