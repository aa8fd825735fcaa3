"""The timeline of a run, the same in small for two policies, and the sweeps. Data in, chart out."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.parts import chart, format
from pages.parts.chart import PHONE, Spec, along, colour, colour_field, label

HEIGHT = 640
SMALL_HEIGHT = 210
_ROWS = (44, 338)  # pixels from the top: the requests
_TOKENS = (378, 466)  # and the strips under them
_BLOCKS = (504, 560)
_WAITING = (598, HEIGHT)

_TIME = format.vega(format.SECONDS, "datum.value", 3, trim=True)


def _first(field: str, otherwise: float | str) -> str:
    return chart.first("frame", field, otherwise)


_TIME_AXIS: Spec = {
    "scale": {"domain": [{"expr": _first("t0", 0)}, {"expr": _first("t1", 1)}], "nice": False, "zero": False},
    "axis": {"title": "time", "labelExpr": _TIME, "tickCount": 6},
}


def _strip(field: str, top: str, pixels: tuple[int, int], kind: str = "linear") -> Spec:
    """A scale of its own in a strip of the picture, without an axis."""
    scale: Spec = {
        "type": kind,
        "domain": [0, {"expr": _first(top, 1)}],
        "range": [pixels[1], pixels[0]],
        "nice": False,
    }
    return {"field": field, "type": "quantitative", "axis": None, "scale": scale}


def _row(field: str, pixels: tuple[int, int]) -> Spec:
    scale: Spec = {"domain": [0, {"expr": _first("rows", 1)}], "range": list(pixels), "nice": False, "zero": False}
    return {"field": field, "type": "quantitative", "axis": None, "scale": scale}


def _request_layers(pixels: tuple[int, int]) -> list[Spec]:
    """Queued a hairline, decode thin, stalls cut out of it, prefill as high as the row, preempted hollow."""

    def bar(phase: str, **mark: Any) -> Spec:
        ends = {"x2": {"field": "t1"}, "y": _row("y0", pixels), "y2": {"field": "y1"}}
        described = {"description": {"field": "text"}, "tooltip": {"field": "text"}}
        return {
            "data": {"name": "bars"},
            "transform": [{"filter": f"datum.phase=='{phase}'"}],
            "mark": {"type": "rect", "clip": True, **mark},
            "encoding": {"x": along("t0"), **ends, "fill": colour_field("meaning"), **described},
        }

    queued = {
        "data": {"name": "bars"},
        "transform": [{"filter": "datum.phase=='queued'"}],
        "mark": {"type": "rule", "strokeWidth": 1, "clip": True},
        "encoding": {
            "x": along("t0"),
            "x2": {"field": "t1"},
            "y": _row("y", pixels),
            "stroke": colour("muted"),
            "description": {"field": "text"},
        },
    }
    cut = {
        "data": {"name": "stalls"},
        "mark": {"type": "rect", "clip": True, "aria": False},
        "encoding": {
            "x": along("t0"),
            "x2": {"field": "t1"},
            "y": {"value": pixels[0]},
            "y2": {"value": pixels[1]},
            "fill": colour("paper"),
        },
    }
    hollow = bar("preempted", strokeDash=[2, 2], strokeWidth=1.2)
    hollow["encoding"] = {**hollow["encoding"], "fill": colour("paper"), "stroke": colour("ink")}
    return [bar("decode"), cut, queued, bar("transfer"), bar("prefill"), hollow]


def _area(field: str, below: str | None, meaning: str, pixels: tuple[int, int], top: str, kind: str = "linear") -> Spec:
    encoding: Spec = {"x": along("t"), "y": _strip(field, top, pixels, kind), "fill": colour(meaning)}
    encoding["y2"] = {"field": below} if below else {"datum": 0}
    return {
        "data": {"name": "steps"},
        "mark": {"type": "area", "interpolate": "step-after", "clip": True, "aria": False},
        "encoding": encoding,
    }


def _line(field: str, pixels: tuple[int, int], top: str) -> Spec:
    return {
        "data": {"name": "steps"},
        "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.2, "clip": True, "aria": False},
        "encoding": {"x": along("t"), "y": _strip(field, top, pixels), "stroke": colour("ink")},
    }


def _floor(pixels: tuple[int, int]) -> list[Spec]:
    """Hairlines at the bottom and the top of a strip."""
    return [
        {
            "data": {"name": "frame"},
            "mark": {"type": "rule", "strokeWidth": 1, "aria": False},
            "encoding": {
                "x": {"value": 0},
                "x2": {"value": {"expr": "width"}},
                "y": {"value": y},
                "stroke": colour("rule"),
            },
        }
        for y in pixels
    ]


def _said(text: str, x: str, y: str, *, align: str = "'left'", weight: int = 400, show: str = "true") -> Spec:
    """Words at a fixed place of the picture."""
    where = {"x": {"value": {"expr": x}}, "y": {"value": {"expr": y}}}
    return {"data": {"name": "frame"}, **label(text, "ink", where, align=align, weight=weight, show=show)}


def _scale_words(pixels: tuple[int, int], title: str, top: str) -> list[Spec]:
    """Name of a strip, its top and its zero."""
    low, high = pixels[1], pixels[0]
    return [
        *_floor(pixels),
        _said(title, "0", f"{high}-6", weight=600),
        _said(top, "-6", f"{high}+5", align="'right'"),
        _said("'0'", "-6", f"{low}+4", align="'right'"),
    ]


@st.cache_resource(show_spinner=False)
def timeline_spec() -> Spec:
    """Requests over time, and under them what each step carries, the blocks in use, and who waits."""
    layers = [
        _brush(),
        *_request_layers(_ROWS),
        *_names(_ROWS),
        *_scale_words(_TOKENS, "'tokens in each step, on a square-root scale'", f"format({_first('tokens', 1)},',')"),
        _area("total", "decode", "prefill", _TOKENS, "tokens", "sqrt"),
        _area("decode", None, "decode", _TOKENS, "tokens", "sqrt"),
        *_crossing(),
        *_scale_words(
            _BLOCKS,
            _first("blocks_are", "''"),
            f"format({_first('blocks', 1)},',d')",
        ),
        _area("blocks", None, "cached", _BLOCKS, "blocks"),
        _line("blocks", _BLOCKS, "blocks"),
        *_scale_words(_WAITING, "'requests waiting'", f"format({_first('waiting', 1)},',d')"),
        _line("waiting", _WAITING, "waiting"),
        *_cursor(),
    ]
    return _timeline(layers, HEIGHT, left=44)


def _timeline(layers: list[Spec], height: int, left: int) -> Spec:
    padding = {"left": left, "right": 12, "top": 4, "bottom": 4}
    return {**chart.spec(*layers, height=height), "resolve": {"scale": {"y": "independent"}}, "padding": padding}


def _names(pixels: tuple[int, int]) -> list[Spec]:
    names = {
        "data": {"name": "names"},
        "mark": {
            "type": "text",
            "align": "right",
            "dx": -6,
            "baseline": "middle",
            "fontSize": {"expr": f"{PHONE}?10:12"},
        },
        "encoding": {
            "x": {"value": 0},
            "y": _row("y", pixels),
            "text": {"field": "name"},
            "fill": colour("muted"),
        },
    }
    return [names, _said("'requests, in order of arrival'", "0", f"{pixels[0]}-10", weight=600)]


def _crossing() -> list[Spec]:
    rule = {
        "data": {"name": "frame"},
        "transform": [{"filter": "isValid(datum.crossing)"}],
        "mark": {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 1.2},
        "encoding": {
            "x": {"value": 0},
            "x2": {"value": {"expr": "width"}},
            "y": _strip("crossing", "tokens", _TOKENS, "sqrt"),
            "stroke": colour("ink"),
        },
    }
    y = f"{_TOKENS[1]}-sqrt({_first('crossing', 0)}/{_first('tokens', 1)})*{_TOKENS[1] - _TOKENS[0]}-5"
    text = f"'T* = '+format({_first('crossing', 0)},',.0f')"
    valid = f"isValid({_first('crossing', 0)})"
    return [rule, _said(text, "width", y, align="'right'", show=valid)]


def _cursor() -> list[Spec]:
    rule = {
        "data": {"name": "cursor"},
        "mark": {"type": "rule", "strokeWidth": 1.4, "clip": True},
        "encoding": {"x": along("t"), "y": {"value": 15}, "y2": {"value": HEIGHT}, "stroke": colour("ink")},
    }
    t, t0, t1 = chart.first("cursor", "t", 0), _first("t0", 0), _first("t1", 1)
    share = f"({t}-{t0})/({t1}-{t0})"
    inside = f"{share}>=0&&{share}<=1"
    text = "length(data('cursor'))?data('cursor')[0]['text']:''"
    align = f"{share}<0.06?'left':({share}>0.94?'right':'center')"
    return [rule, _said(text, f"clamp({share},0,1)*width", "10", align=align, weight=600, show=inside)]


def _brush() -> Spec:
    """An invisible sheet over the picture on which a span of time is marked."""
    return {
        "data": {"name": "frame"},
        "params": [{"name": "brush", "select": {"type": "interval", "encodings": ["x"]}}],
        "mark": {"type": "rect", "opacity": 0, "aria": False},
        "encoding": {
            "x": along("t0") | _TIME_AXIS,
            "x2": {"field": "t1"},
            "y": {"value": 0},
            "y2": {"value": HEIGHT},
            "fill": colour("paper"),
        },
    }


SMALL_READS = ("frame", "bars", "stalls")
"""The datasets of a run that the small timeline reads."""


@st.cache_resource(show_spinner=False)
def small_spec() -> Spec:
    """The requests of one run in small, on a time scale that two of them share."""
    pixels = (6, SMALL_HEIGHT)
    end = {
        "data": {"name": "end"},
        "mark": {"type": "rule", "strokeDash": [2, 2], "strokeWidth": 1},
        "encoding": {
            "x": along("t") | _TIME_AXIS,
            "y": {"value": 0},
            "y2": {"value": SMALL_HEIGHT},
            "stroke": colour("ink"),
        },
    }
    return _timeline([*_request_layers(pixels), end], SMALL_HEIGHT, left=4)


@st.cache_resource(show_spinner=False)
def sweep_spec(quantity: str, *, log: bool = True, integer: bool = True) -> Spec:
    """Latencies against a knob that was swept: the longest waits, the usual ones, and where the page stands."""
    ends = {"data": {"name": "ends"}, **_end_labels()}
    return chart.spec(*_curves(_swept(quantity, log=log, integer=integer)), *_where_we_are(), ends, height=240)


def _swept(quantity: str, *, log: bool, integer: bool) -> Spec:
    """The axis of the knob: whole numbers or shares, by decades or even."""
    axis: Spec = {
        "title": quantity,
        "labelExpr": "format(datum.value,',~r')" if integer else f"format(100*datum.value,'.0f')+'{format.NBSP}%'",
    }
    if log:
        axis["values"] = [k * 10**p for p in range(6) for k in (1, 2, 5)]
    scale = {"type": "log" if log else "linear", "nice": False}
    return {"field": "x", "type": "quantitative", "axis": axis, "scale": scale}


def _curves(x: Spec) -> list[Spec]:
    """A line for each latency, and a point for each run that speaks."""
    y = {
        "field": "seconds",
        "type": "quantitative",
        "scale": {"type": "log", "nice": True},
        "axis": {"title": None, "labelExpr": _TIME, "values": [10.0**p for p in range(-7, 6)]},
    }
    dash = {
        "field": "dash",
        "type": "nominal",
        "scale": {"domain": ["solid", "dashed"], "range": [[1, 0], [5, 4]]},
        "legend": None,
    }
    lines = {
        "data": {"name": "curves"},
        "mark": {"type": "line", "strokeWidth": 2.5},
        "encoding": {
            "x": x,
            "y": y,
            "stroke": colour_field("meaning"),
            "strokeDash": dash,
            "detail": {"field": "name"},
        },
    }
    points = {
        "data": {"name": "curves"},
        "mark": {"type": "point", "filled": True, "size": 36, "opacity": 1},
        "encoding": {
            "x": along("x"),
            "y": along("seconds"),
            "fill": colour_field("meaning"),
            "description": {"field": "text"},
            "tooltip": {"field": "text"},
        },
    }
    return [lines, points]


def _where_we_are() -> list[Spec]:
    """A rule over the curves, and its words."""
    rule = {
        "data": {"name": "here"},
        "mark": {"type": "rule", "strokeDash": [2, 2], "strokeWidth": 1.2},
        "encoding": {"x": along("x"), "y": {"value": 0}, "y2": {"value": {"expr": "height"}}, "stroke": colour("ink")},
    }
    words = {
        "data": {"name": "here"},
        "mark": {"type": "text", "align": "left", "dx": 5, "baseline": "top", "fontSize": {"expr": "type"}},
        "encoding": {"x": along("x"), "y": {"value": 2}, "text": {"field": "text"}, "fill": colour("ink")},
    }
    return [rule, words]


def _end_labels() -> Spec:
    mark = {"type": "text", "align": "right", "dy": -9, "fontSize": {"expr": "type"}, "text": {"expr": "datum.name"}}
    encoding = {"x": along("x"), "y": along("seconds"), "fill": colour_field("text_meaning"), **chart.PAPER}
    return {"mark": {**mark, **chart.HALO}, "encoding": encoding}
