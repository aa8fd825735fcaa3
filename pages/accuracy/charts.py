"""The two pictures of the Accuracy page: errors line by line, and one's own steps against what was predicted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from pages.parts import chart
from pages.parts.chart import PHONE, Spec, along, at, colour, label, said
from pages.parts.format import NBSP, SECONDS
from pages.parts.plane import Plane

PITCH = 36  # px from line to line
TOP = 46  # px above the first line
_NAMES, _FIGURES = 216, 132  # px left and right of the plane

# ---- errors, line by line ----------------------------------------------------------------------------------------

_LEFT = f"({PHONE}?0:{_NAMES})"
_RIGHT = f"(width-({PHONE}?4:{_FIGURES}))"
_SHAPES = "{decode:'circle',prefill:'diamond'}[datum.regime]||'square'"


def _px(value: str) -> str:
    """Pixels from the left of an error; what is above 100 % stands at the edge."""
    return f"({_LEFT}+min({value},1)*({_RIGHT}-{_LEFT}))"


@st.cache_resource(show_spinner=False)
def errors_spec(rows: int) -> Spec:
    """Floor (hollow) and estimate (filled) of each line, every class beneath, and how far nine in ten reach."""
    return chart.spec(
        _axis(),
        _rules(),
        _dots(),
        _beyond(),
        _marks(),
        _names(),
        _figures(),
        _headings(),
        height=TOP + PITCH * rows - 8,
    )


def _axis() -> Spec:
    """The axis, by an invisible mark: every other mark is placed in pixels."""
    scale = {"domain": [0, 1], "range": [{"expr": _LEFT}, {"expr": _RIGHT}], "nice": False}
    axis = {
        "title": "error against what was measured", "titleAnchor": "start", "values": [0, 0.2, 0.4, 0.6, 0.8, 1],
        "titleX": {"expr": _LEFT}, "titleAlign": "left",
        "labelExpr": f"format(datum.value*100,'d')+'{NBSP}%'", "domain": False, "ticks": True, "offset": 2,
        "grid": True, "gridDash": [1, 5], "gridOpacity": 0.9,
    }  # fmt: skip
    x = {"datum": 0, "type": "quantitative", "scale": scale, "axis": axis}
    return {"data": {"name": "frame"}, "mark": {"type": "point", "opacity": 0, "aria": False}, "encoding": {"x": x}}


def _y(shift: float = 0) -> Spec:
    return at(y=f"datum.y+{shift:g}")


def _rules() -> Spec:
    """From the estimate to the floor, faint: what the estimate gains; and to nine in ten, dark."""

    def rule(start: str, end: str, meaning: str, **mark: Any) -> Spec:
        ends = {**at(_px(start)), "x2": {"value": {"expr": _px(end)}}}
        return {"mark": {"type": "rule", "aria": False, **mark},
                "encoding": {**ends, **_y(), "stroke": colour(meaning)}}  # fmt: skip

    tick = {"type": "rule", "aria": False, "strokeWidth": 1.5}
    ends = {**at(_px("datum.p90")), "y": {"value": {"expr": "datum.y-5"}}, "y2": {"value": {"expr": "datum.y+5"}}}
    return {
        "data": {"name": "lines"},
        "layer": [
            rule("datum.estimate", "datum.floor", "rule", strokeWidth=3),
            rule("datum.estimate", "datum.p90", "ink", strokeWidth=1.5),
            {"mark": tick, "encoding": {**ends, "stroke": colour("ink")}},
        ],
    }


def _point(field: str, meaning: str, size: int, *, filled: bool, opacity: float, words: str) -> Spec:
    mark = {
        "type": "point", "size": size, "strokeWidth": 1.6, "opacity": opacity, "shape": {"expr": _SHAPES},
        "filled": False, "tooltip": {"expr": words},
    }  # fmt: skip
    return {
        "mark": mark,
        "encoding": {
            **at(_px(f"datum.{field}")),
            **_y(),
            "fill": colour(meaning if filled else "paper"),
            "stroke": colour(meaning),
            **said(words),
        },
    }


def _percent(value: str) -> str:
    return f"format(100*{value},{value}<1?'.2r':'.3r')+'{NBSP}%'"


def _dots() -> Spec:
    """Each class: faint."""

    def dot(field: str, what: str, *, filled: bool) -> Spec:
        words = f"datum.said+': {what} '+{_percent(f'datum.{field}')}"
        return _point(field, "muted", 26, filled=filled, opacity=0.45, words=words)

    return {
        "data": {"name": "dots"},
        "layer": [dot("floor", "floor", filled=False), dot("estimate", "estimate", filled=True)],
    }


def _beyond() -> Spec:
    """Where nine in ten reach further than the picture does."""
    text = f"'to '+{_percent('datum.p90')}"
    where = at(f"{_RIGHT}-6", f"datum.y+({PHONE}?13:-8)")
    return {
        "data": {"name": "lines"},
        **label(text, "ink", where, align="'right'", size="(type-1)", show="datum.p90>1"),
    }


def _marks() -> Spec:
    def mark(field: str, what: str, *, filled: bool) -> Spec:
        words = f"datum.label+': {what} '+{_percent(f'datum.{field}')}"
        return _point(field, "ink", 120, filled=filled, opacity=1, words=words)

    return {
        "data": {"name": "lines"},
        "layer": [mark("floor", "floor", filled=False), mark("estimate", "estimate", filled=True)],
    }


def _names() -> Spec:
    """Left of the line, on a phone above it."""
    where = {**at(f"{PHONE}?0:{_NAMES - 14}"), **at(y=f"datum.y+({PHONE}?-11:5)")}
    return {"data": {"name": "lines"}, **label("datum.label", "ink", where, align=f"{PHONE}?'left':'right'")}


def _figures() -> Spec:
    """Estimate and floor as numbers at the right edge."""

    def figure(field: str, from_right: tuple[int, int], weight: int) -> Spec:
        phone, wide = from_right
        where = {**at(f"width-({PHONE}?{phone}:{wide})"), **at(y=f"datum.y+({PHONE}?-11:5)")}
        meaning = "ink" if field == "estimate" else "muted"
        return label(_percent(f"datum.{field}"), meaning, where, align="'right'", weight=weight)

    return {
        "data": {"name": "lines"},
        "layer": [figure("estimate", (44, 62), 600), figure("floor", (0, 4), 400)],
    }


def _headings() -> Spec:
    def heading(text: str, x: str, weight: int = 400, align: str = "'right'", show: str = "true") -> Spec:
        return label(f"'{text}'", "ink", at(x, "14"), align=align, weight=weight, show=show)

    nine = "├ nine in ten within"
    return {
        "data": {"name": "frame"},
        "layer": [
            heading("● estimate", f"width-({PHONE}?60:66)", 600),
            heading("○ floor", "width-2"),
            heading(nine, _LEFT, align="'left'", show=f"!({PHONE})"),
            heading("small: one GPU and format", f"{_LEFT}+170", align="'left'", show="width>700"),
        ],
    }


# ---- one's own steps -----------------------------------------------------------------------------------------------

OWN_HEIGHT = 340
_PLANE = Plane(height=OWN_HEIGHT, x_title="measured", y_title="predicted", x_units=SECONDS, y_units=SECONDS)


@st.cache_resource(show_spinner=False)
def own_spec(ticks: tuple[float, ...]) -> Spec:
    """Predicted against measured, both logarithmic, with these ticks; on the dashed line they are equal."""
    plane = replace(_PLANE, x_ticks=ticks, y_ticks=ticks)
    return chart.spec(
        _equal(plane),
        _band(),
        _own("floor", filled=False),
        _own("estimate", filled=True),
        {
            "data": {"name": "frame"},
            "layer": [
                label("'predicted slower'", "muted", at("10", "20")),
                label("'● estimate, ○ floor'", "ink", at("10", "42")),
                label("'predicted faster'", "muted", at("width-10", str(OWN_HEIGHT - 14)), align="'right'"),
            ],
        },
        height=OWN_HEIGHT,
        params=_PLANE.params,
    )


def _equal(plane: Plane) -> Spec:
    mark = {"type": "line", "strokeWidth": 1.5, "strokeDash": [5, 4], "clip": True, "aria": False}
    encoding = {"x": plane.x("same"), "y": plane.y("same"), "stroke": colour("ink")}
    return {"data": {"name": "line"}, "mark": mark, "encoding": encoding}


def _band() -> Spec:
    mark = {"type": "rule", "strokeWidth": 1.5, "clip": True, "aria": False}
    encoding = {"x": along("measured"), "y": along("low"), "y2": {"field": "high"}, "stroke": colour("ink")}
    return {"data": {"name": "steps"}, "mark": mark, "encoding": encoding}


def _own(field: str, *, filled: bool) -> Spec:
    words = f"datum.said+', {field} off by '+{_percent(f'datum.{field}_off')}"
    mark = {
        "type": "point", "size": 90, "strokeWidth": 1.6, "opacity": 1, "filled": False, "clip": True,
        "shape": {"expr": "{decode:'circle',prefill:'diamond'}[datum.phase]||'square'"}, "tooltip": {"expr": words},
    }  # fmt: skip
    return {
        "data": {"name": "steps"},
        "mark": mark,
        "encoding": {
            "x": along("measured"),
            "y": along(field),
            "fill": colour("ink" if filled else "paper"),
            "stroke": colour("ink"),
            **said(words),
        },
    }
