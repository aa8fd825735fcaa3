"""The pictures of the Measure page: data in, chart out."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.measure.frames import HEIGHT
from pages.parts import chart, format
from pages.parts.chart import PHONE, Spec, along, at, colour, label, said
from pages.parts.format import NBSP
from pages.parts.plane import Plane

_TIME = Plane(height=HEIGHT, x_title="T, tokens in the step", x_units=None, y_units=format.SECONDS)
_CONTEXT = Plane(height=HEIGHT, x_title="cached tokens read, of all sequences", y_units=format.SECONDS)
_ROOF = Plane(
    height=HEIGHT, x_title="FLOP a byte", y_title="achieved FLOP a second", y_units=format.FLOP_RATE
)  # the title says the quantity, the ticks the unit
_SHAPES = {
    "decode": "circle",
    "prefill": "diamond",
    "matmul": "square",
    "attention_decode": "circle",
    "attention_prefill": "diamond",
    "moe": "cross",
}
_FILLS = {"attention_decode": "decode", "attention_prefill": "prefill", "decode": "decode", "prefill": "prefill"}


@st.cache_resource(show_spinner=False)
def time_spec() -> Spec:
    """Measured steps over the floor and the estimate, on the post's axes."""
    return chart.spec(
        _line("floor", "memory", "datum.kind=='prefill'", 4),
        _line("floor", "compute", "datum.kind=='prefill'&&datum.bound=='compute'", 4),
        _line("floor", "decode", "datum.kind=='decode'", 2),
        _line("estimate", "ink", "true", 1.5, strokeDash=[5, 4]),
        _whiskers(_TIME),
        *(_measured("tokens", "phase", phase) for phase in ("decode", "prefill")),
        _corner(
            "'● decode, ◆ prefill: measured'",
            "'- - - modelled with the fitted rates'",
            f"'thick: floor of a prompt'+({PHONE}||datum.context==0?'':"
            "'; thin: of decode steps over '+format(datum.context,',')+' tokens each')",
        ),
        height=HEIGHT,
        params=_TIME.params,
    )


@st.cache_resource(show_spinner=False)
def context_spec() -> Spec:
    """Decode attention against the cached tokens that it reads."""
    floor = {"type": "line", "strokeWidth": 4, "clip": True, "aria": False}
    line = {
        "data": {"name": "points"},
        "mark": floor,
        "encoding": {"x": _CONTEXT.x("cached"), "y": _CONTEXT.y("floor"), "stroke": colour("memory")},
    }
    return chart.spec(
        line,
        _modelled("cached"),
        _measured("cached", "operation", "attention_decode"),
        _corner("'● measured'", "'○ modelled'", "'thick: the bytes at full bandwidth'"),
        height=HEIGHT,
        params=_CONTEXT.params,
    )


@st.cache_resource(show_spinner=False)
def roof_spec() -> Spec:
    """Achieved rates under the roof."""
    operations = ("matmul", "attention_decode", "attention_prefill", "moe")
    return chart.spec(
        _edge("memory"),
        _edge("compute"),
        *(_measured("intensity", "operation", name, y="flops_rate") for name in operations),
        _corner("'■ matrix multiply'", "'● decode, ◆ prefill attention'"),
        height=HEIGHT,
        params=_ROOF.params,
    )


def _edge(bound: str) -> Spec:
    """One side of the roof, in the colour of what binds there."""
    return {
        "data": {"name": "roof"},
        "transform": [{"filter": f"datum.bound=='{bound}'"}],
        "mark": {"type": "line", "strokeWidth": 4, "clip": True, "aria": False},
        "encoding": {"x": _ROOF.x("intensity"), "y": _ROOF.y("rate"), "stroke": colour(bound)},
    }


def _line(field: str, meaning: str, where: str, width: float, **mark: Any) -> Spec:
    """A curve of the picture, of the rows that a filter leaves."""
    return {
        "data": {"name": "curves"},
        "transform": [{"filter": where}],
        "mark": {"type": "line", "strokeWidth": width, "clip": True, "aria": False, **mark},
        "encoding": {
            "x": along("t"),
            "y": along(field),
            "detail": {"field": "kind", "type": "nominal"},
            "stroke": colour(meaning),
        },
    }


def _whiskers(plane: Plane) -> Spec:
    """How surely each time is known."""
    return {
        "data": {"name": "points"},
        "mark": {"type": "rule", "strokeWidth": 1.5, "clip": True, "aria": False},
        "encoding": {"x": plane.x("tokens"), "y": plane.y("low"), "y2": {"field": "high"}, "stroke": colour("ink")},
    }


def _measured(x: str, group: str, name: str, y: str = "measured") -> Spec:
    """The measured points of one kind."""
    time = format.vega(format.SECONDS, "datum.measured")
    words = f"datum.said+': measured '+{time}+', '+format(datum.ratio,'.3r')+'{NBSP}× the model'"
    mark = {
        "type": "point", "size": 90, "strokeWidth": 1.4, "opacity": 1, "filled": False, "clip": True,
        "shape": _SHAPES[name], "tooltip": {"expr": words},
    }  # fmt: skip
    return {
        "data": {"name": "points"},
        "transform": [{"filter": f"datum.{group}=='{name}'"}],
        "mark": mark,
        "encoding": {
            "x": along(x),
            "y": along(y),
            "fill": colour(_FILLS.get(name, "ink")),
            "stroke": colour("ink"),
            **said(words),
        },
    }


def _modelled(x: str) -> Spec:
    """What the fitted rates say of the same points: hollow and larger."""
    mark = {"type": "point", "size": 190, "strokeWidth": 1.4, "opacity": 1, "filled": False, "aria": False}
    encoding = {"x": along(x), "y": along("predicted"), "stroke": colour("ink")}
    return {"data": {"name": "points"}, "mark": mark, "encoding": encoding}


def _corner(*lines: str) -> Spec:
    """What the marks are, in the upper left corner."""
    return {
        "data": {"name": "frame"},
        "layer": [label(text, "ink", at("10", f"{18 + 20 * row}")) for row, text in enumerate(lines)],
    }
