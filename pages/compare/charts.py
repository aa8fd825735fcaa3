"""The pictures of a pair: A solid and filled, B dashed and hollow. Data in, chart out: no cost is computed here."""

from __future__ import annotations

import streamlit as st

from pages.compare.frames import BAR, HEIGHTS
from pages.parts import chart_layers as layers
from pages.parts import format
from pages.parts.chart import PHONE, Spec, along, at, calculate, colour, colour_field, text_width
from pages.parts.plane import FINE, Plane

DASH = [7, 5]
_BATCH = "sequences decoding together"


@st.cache_resource(show_spinner=False)
def time_spec() -> Spec:
    """Time of a step against the tokens in it."""
    plane = Plane(HEIGHTS["time"], "T, tokens in the step", "time of a step", y_units=format.SECONDS)
    return _overlay(plane, "Time of a step against the tokens in it, of A and of B")


@st.cache_resource(show_spinner=False)
def roof_spec() -> Spec:
    """What the arithmetic reaches against the FLOPs for each byte."""
    plane = Plane(HEIGHTS["roof"], "FLOP for each byte", "arithmetic reached", y_units=format.FLOP_RATE)
    return _overlay(plane, "Rooflines of A and of B")


@st.cache_resource(show_spinner=False)
def latency_spec() -> Spec:
    """Latency of a token against the batch."""
    plane = Plane(HEIGHTS["latency"], _BATCH, "latency of a token", y_units=format.SECONDS)
    return _overlay(plane, "Latency of a token against the batch, of A and of B")


@st.cache_resource(show_spinner=False)
def speed_spec() -> Spec:
    """Tokens a second against the batch."""
    plane = Plane(HEIGHTS["speed"], _BATCH, "tokens a second, all sequences")
    return _overlay(plane, "Tokens a second against the batch, of A and of B")


@st.cache_resource(show_spinner=False)
def context_spec() -> Spec:
    """Time of a decode step against the context."""
    plane = Plane(HEIGHTS["context"], "context of each sequence, tokens", "decode step", y_units=format.SECONDS)
    return _overlay(plane, "Time of a decode step against the context, of A and of B")


@st.cache_resource(show_spinner=False)
def served_spec() -> Spec:
    """Requests finished against time."""
    plane = Plane(HEIGHTS["served"], "time since the first arrival", "requests finished", x_units=format.SECONDS,
                  x_log=False, y_log=False)  # fmt: skip
    return _overlay(plane, "Requests finished against time, by A and by B")


@st.cache_resource(show_spinner=False)
def market_spec() -> Spec:
    """Price of a million tokens against the speed of each sequence."""
    plane = Plane(
        HEIGHTS["market"], "tokens a second for each sequence", "$ a million tokens", x_ticks=FINE, y_ticks=FINE
    )
    return _overlay(plane, "Price of a million tokens against the speed of each sequence, of A and of B")


@st.cache_resource(show_spinner=False)
def bills_spec() -> Spec:
    """Bytes that a token moves against the batch."""
    plane = Plane(HEIGHTS["bills"], _BATCH, "bytes moved a token", y_units=format.BYTES)
    return _overlay(plane, "The two memory bills of a token against the batch, of A and of B")


@st.cache_resource(show_spinner=False)
def intensity_spec() -> Spec:
    """FLOPs for each byte against the batch."""
    plane = Plane(HEIGHTS["intensity"], _BATCH, "FLOP for each byte, caches counted")
    return _overlay(plane, "Arithmetic intensity of a decode step against the batch, of A and of B")


@st.cache_resource(show_spinner=False)
def streamed_spec() -> Spec:
    """Bytes of weights that a step streams against the batch."""
    plane = Plane(HEIGHTS["streamed"], _BATCH, "weights that a step streams", y_units=format.BYTES)
    return _overlay(plane, "Weights that a decode step streams against the batch, of A and of B")


@st.cache_resource(show_spinner=False)
def memory_spec() -> Spec:
    """Two bars: what the weights and the caches take of the memory of one GPU."""
    plane = Plane(HEIGHTS["memory"], "GiB of one GPU", x_log=False)
    return layers.spec(plane, "What is in the memory of one GPU, of A and of B", _bars(plane), _limits(), _bar_texts())


def _bars(plane: Plane) -> Spec:
    top = f"type+10+datum.row*{BAR}"
    rows = {"y": {"value": {"expr": top}}, "y2": {"value": {"expr": f"{top}+{_THICK}"}}}
    x = {"x": along("start"), "x2": {"field": "end"}}
    said = {"description": {"field": "said", "type": "nominal"}}

    def bar(side: str, width: float, x: Spec, fill: Spec, stroke: Spec) -> Spec:
        return {
            "transform": layers.only("side", side),
            "mark": {"type": "rect", "strokeWidth": width, "opacity": 1},
            "encoding": {**x, **rows, **said, "fill": fill, "stroke": stroke},
        }

    axis = {"x": plane.x("start"), "x2": {"field": "end"}}
    return layers.over(
        "parts",
        bar("A", 0, axis, colour_field("meaning"), colour_field("meaning")),
        bar("B", 2, x, colour("paper"), colour_field("meaning")),
    )


_THICK = 26  # px of a bar


def _limits() -> Spec:
    """Where the memory that may be used ends."""
    top = f"type+6+datum.row*{BAR}"

    def limit(side: str, mark: Spec) -> Spec:
        ends = {"y": {"value": {"expr": top}}, "y2": {"value": {"expr": f"{top}+{_THICK + 8}"}}}
        return {
            "transform": layers.only("side", side),
            "mark": {"type": "rule", "strokeWidth": 2, "aria": False, **mark},
            "encoding": {"x": along("at"), **ends, "stroke": colour("ink")},
        }

    return layers.over("limits", limit("A", {}), limit("B", {"strokeDash": [3, 2]}))


def _bar_texts() -> Spec:
    return layers.over("key", layers.label(_fitting(2), "ink", at("2", f"type+datum.row*{BAR}"), weight=600))


def _overlay(plane: Plane, title: str) -> Spec:
    return layers.spec(plane, title, _curves(plane), _rules(plane), _marks(), _ends(plane), key())


def _curves(plane: Plane) -> Spec:
    """Thick lines coloured by what the step waits for, and thin ones beside them."""

    def curve(side: str, kind: str, mark: Spec, x: Spec, y: Spec) -> Spec:
        detail = {"field": "segment"}
        return {
            "transform": [{"filter": f"datum.side=='{side}'&&datum.kind=='{kind}'"}],
            "mark": mark,
            "encoding": {"x": x, "y": y, "stroke": colour_field("meaning"), "detail": detail},
        }

    here = along("x"), along("y")
    return layers.over(
        "curve",
        curve("A", "thin", layers.line(1.3), *here),
        curve("B", "thin", layers.line(1.3, [4, 4]), *here),
        curve("A", "thick", layers.line(4), plane.x("x"), plane.y("y")),
        curve("B", "thick", layers.line(2.6, DASH), *here),
    )


def _marks() -> Spec:
    """The pair's own steps; a ring of B around a dot of A where they meet."""

    def mark(side: str, size: int, width: float, fill: Spec, stroke: Spec) -> Spec:
        shape = {"field": "shape", "type": "nominal", "scale": None, "legend": None}
        return {
            "transform": layers.only("side", side),
            "mark": {"type": "point", "size": size, "strokeWidth": width, "opacity": 1, "clip": True},
            "encoding": {
                "x": along("x"), "y": along("y"), "shape": shape, "fill": fill, "stroke": stroke,
                "description": {"field": "said", "type": "nominal"},
            },
        }  # fmt: skip

    return layers.over(
        "marks",
        mark("B", 210, 2.4, colour("paper"), colour_field("outline")),
        mark("A", 110, 1.3, colour_field("meaning"), colour("ink")),
    )


def _ends(plane: Plane) -> Spec:
    """The letters at the ends of the curves."""
    shift = f"(datum.above?-9:{layers.TYPE_LINE}+2)"
    where = at(f"min({plane.px('datum.x')},width-5)", f"{plane.py('datum.y')}+{shift}")
    return layers.over("ends", layers.label("datum.text", "ink", where, align="'right'", weight=600))


def _rules(plane: Plane) -> Spec:
    """Vertical lines from their curve down to the axis, and their names, each in a row of its own."""
    drawn = [
        {
            "transform": [{"filter": f"datum.inside&&datum.side=='{side}'"}],
            **layers.rule(plane, "at", dash=dash, top=plane.py("datum.y")),
        }
        for side, dash in (("A", None), ("B", [2, 3]))
    ]
    return layers.over("rules", *drawn, _names(plane))


def _names(plane: Plane) -> Spec:
    """Names of the vertical lines: that of the left one left of it, that of the right one right of it.

    Where there is no room the short name stands there, and where that has none either, on the other side.
    """
    room = "datum.px>datum.wide", "datum.px+datum.wide<width"  # left, right
    fits = f"(datum.first?{room[0]}:{room[1]}||!datum.inside&&{room[0]})"
    columns = {
        "px": plane.px("datum.at"),
        "wide": f"{text_width('datum.text')}+9",
        "words": f"{PHONE}||!{fits}?datum.short:datum.text",
        "needs": f"{text_width('datum.words')}+9",
        "after": "datum.first?datum.px<datum.needs:datum.px+datum.needs<width",
    }
    where = at("datum.after?datum.px+7:datum.px-7", f"{plane.height}-8-datum.row*{layers.TYPE_LINE}")
    name = layers.label("datum.words", "ink", where, align="datum.after?'left':'right'", weight=600)
    return {"transform": calculate(**columns), "layer": [name]}


def _fitting(left: int) -> str:
    """The long text where there is room for it, else the short one."""
    return f"({PHONE}||{left}+{text_width('datum.text')}>width?datum.short:datum.text)"


def key() -> Spec:
    """Two lines of text at the top, each after a piece of its own line."""
    y = f"type+1+datum.row*({layers.TYPE_LINE}+2)"

    def piece(side: str, mark: Spec) -> Spec:
        ends = {"x": {"value": 2}, "x2": {"value": 30}, **at(y=f"{y}-type*0.34")}
        return {
            "transform": layers.only("side", side),
            "mark": {**mark, "type": "rule"},
            "encoding": {**ends, "stroke": colour("ink")},
        }

    text = layers.label(_fitting(38), "ink", at("38", y), weight=600)
    return layers.over("key", piece("A", layers.line(4)), piece("B", layers.line(2.6, DASH)), text)
