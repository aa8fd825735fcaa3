"""The picture of the Overview: how long a step takes as tokens are added, both axes even. Data in, chart out.

The batch moves in the browser: the parameter ``batch`` belongs to a slider under the chart (``dragging`` joins it to
the control), and the readout, the mark and the bar under it show the row of the lines with that many tokens.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.parts import chart, format
from pages.parts.chart import PHONE, Spec, along, at, calculate, colour, label, text_width

HEIGHT = 350
_AXIS = HEIGHT - 9  # px: the baseline of what stands at the foot of a dotted line


@st.cache_resource(show_spinner=False)
def ride_spec() -> Spec:
    """Two lines and their upper edge, and the tokens that ride along under it."""
    slider = {"input": "range", "min": 1, "max": 1024, "step": 1, "name": "Sequences decoding together, B "}
    return chart.spec(
        _idle(),
        _edge(),
        _crossing(),
        _names(),
        _prefill(),
        {"data": {"name": "lines"}, "transform": _at_batch(), "layer": [*_rider(), *_readout()]},
        height=HEIGHT,
        params=[
            {"name": "batch", "value": None, "bind": slider},
            {"name": "batch_now", "expr": f"isValid(batch)?+batch:{_frame('batch', 1)}"},
            {"name": "right", "expr": _frame("right", 650)},
            {"name": "top", "expr": _frame("top", 1e-3)},
            {"name": "crossing", "expr": _frame("crossing", 0)},
        ],
    )


def _frame(field: str, otherwise: float) -> str:
    return chart.first("frame", field, otherwise)


def _px(tokens: str) -> str:
    return f"(({tokens})/right*width)"


def _py(seconds: str) -> str:
    return f"((1-({seconds})/top)*{HEIGHT})"


_X_AXIS: Spec = {
    "scale": {"type": "linear", "domain": [0, {"expr": "right"}], "nice": False},
    "axis": {
        "title": "T, tokens in the step",
        "tickCount": {"expr": f"{PHONE}?4:8"},
        "labelExpr": "format(datum.value,',')",
    },
}
_Y_AXIS: Spec = {
    "scale": {"type": "linear", "domain": [0, {"expr": "top"}], "nice": False},
    "axis": {
        "title": None,
        "tickCount": 4,
        "labelExpr": f"datum.value==0?'0':{format.vega(format.SECONDS, 'datum.value', 2, trim=True)}",
    },
}


def _idle() -> Spec:
    """What is done under the arithmetic's line, and what lies idle between it and the edge."""

    def area(low: str, high: str, meaning: str, opacity: float) -> Spec:
        encoding = {
            "x": along("t") | _X_AXIS,
            "y": along(high) | _Y_AXIS,
            "y2": {"field": low},
            "fill": colour(meaning),
        }
        return {"mark": {"type": "area", "opacity": opacity, "aria": False, "clip": True}, "encoding": encoding}

    return {
        "data": {"name": "curve"},
        "transform": calculate(zero="0", done="min(datum.arithmetic,datum.seconds)"),
        "layer": [area("zero", "done", "compute", 0.16), area("done", "seconds", "memory", 0.1)],
    }


def _edge() -> Spec:
    """The two sides dashed, and the longer of them thick: blue where the step waits for memory, then orange."""

    def line(field: str, meaning: str, **mark: Any) -> Spec:
        encoding = {"x": along("t"), "y": along(field), "stroke": colour(meaning)}
        return {"mark": {"type": "line", "clip": True, "aria": False, **mark}, "encoding": encoding}

    dashed = {"strokeWidth": 1.5, "strokeDash": [5, 4]}
    thick = {"strokeWidth": 4}

    def binding(meaning: str, test: str) -> Spec:
        return {"transform": [{"filter": test}], **line("seconds", meaning, **thick)}

    return {
        "data": {"name": "curve"},
        "layer": [
            line("memory", "memory", **dashed),
            line("arithmetic", "compute", **dashed),
            binding("compute", "datum.arithmetic>=datum.memory"),
            binding("memory", "datum.memory>=datum.arithmetic||datum.t<=crossing+1"),
        ],
    }


def _crossing() -> Spec:
    """Where the two lines cross: a ring, a dotted line down to the axis, its T."""
    x, y = along("crossing"), along("crossing_s")
    mark = "'T* = '+format(round(datum.crossing),',')"
    full = f"({mark}+', compute-bound from here')"
    room = f"{_px('datum.crossing')}+7+{text_width(full)}<width"
    what = f"({room}?{full}:{mark})"
    return {
        "data": {"name": "frame"},
        "transform": [{"filter": "isValid(datum.crossing)"}],
        "layer": [
            _foot(x, y),
            {
                "mark": {"type": "point", "shape": "circle", "size": 100, "strokeWidth": 1.6, "opacity": 1},
                "encoding": {
                    "x": x,
                    "y": y,
                    "fill": colour("paper"),
                    "stroke": colour("ink"),
                    **chart.said("'crossing at T* = '+format(datum.crossing,',.1f')+' tokens'"),
                },
            },
            label(what, "ink", at(f"{_px('datum.crossing')}+7", str(_AXIS)), weight=600),
        ],
    }


def _foot(x: Spec, y: Spec) -> Spec:
    mark = {"type": "rule", "strokeWidth": 1.5, "strokeDash": [2, 3], "aria": False}
    return {"mark": mark, "encoding": {"x": x, "y": y, "y2": {"value": HEIGHT}, "stroke": colour("ink")}}


def _names() -> Spec:
    """Names of the two lines, below them. That of the weights stands where the bar does not: right of it or left of it
    under the flat stretch, else past the crossing.
    """
    time = format.vega(format.SECONDS, "datum.plateau")
    memory = (
        f"(datum.varies?({PHONE}?'all experts, ':'weights of all experts, ')+{time}"
        f":({PHONE}?'weights, '+{time}:'weights out of memory, '+{time}+', read once for all'))"
    )
    arithmetic = f"({PHONE}?'':'arithmetic, ')+{format.vega(format.SECONDS, 'datum.token_arithmetic', 2)}+' a token'"
    return {
        "data": {"name": "frame"},
        "transform": [
            *calculate(
                wide=text_width(memory),
                bar=_px("batch_now"),
                free=_px("isValid(datum.crossing)?datum.crossing:right"),
            ),
            *calculate(
                right_of="datum.bar+14+datum.wide<datum.free-8",
                left_of="datum.bar>datum.wide+20",
                past="datum.bar<datum.free",
            ),
            *calculate(mx="datum.right_of?datum.bar+14:datum.left_of?10:datum.past?datum.free+14:datum.bar+14"),
        ],
        "layer": [
            label(memory, "memory", at("datum.mx", f"{_py('datum.plateau')}+type+8")),
            label(arithmetic, "compute", at("width-10", str(HEIGHT - 56)), align="'right'", weight=600,
                  show="isValid(datum.crossing)"),
        ],
    }  # fmt: skip


def _prefill() -> Spec:
    """The prompt: a diamond on the edge with its time at the foot, or at the right edge where it lies further out."""
    x, y = along("prompt"), along("prefill")
    time = format.vega(format.SECONDS, "datum.prefill")
    what = f"({PHONE}?'prefill':'prefill of '+format(datum.prompt,',')+': '+{time})"
    inside = f"{_px('datum.prompt')}+10+{text_width(what)}<width"
    away = f"'prefill of '+format(datum.prompt,',')+': '+{time}+' →'"
    return {
        "data": {"name": "frame"},
        "layer": [
            {
                "transform": [{"filter": "datum.prompt<=datum.right"}],
                "layer": [
                    _foot(x, y),
                    {
                        "mark": {"type": "point", "shape": "diamond", "size": 150, "strokeWidth": 1.6, "opacity": 1},
                        "encoding": {
                            "x": x,
                            "y": y,
                            "fill": colour("prefill"),
                            "stroke": colour("ink"),
                            **chart.said(f"'prefill of '+format(datum.prompt,',')+': '+{time}"),
                        },
                    },
                    label(what, "prefill text", at(f"{_px('datum.prompt')}+({inside}?7:-7)", f"{_AXIS}-20"),
                          align=f"{inside}?'left':'right'", weight=600),
                ],
            },
            {
                "transform": [{"filter": "datum.prompt>datum.right"}],
                **label(away, "prefill text", at("width-10", f"{_AXIS}-20"), align="'right'", weight=600),
            },
        ],
    }  # fmt: skip


def _at_batch() -> list[Spec]:
    """The one row of the lines that has as many tokens as sequences decode."""
    return [
        *calculate(off="abs(datum.t-batch_now)"),
        {"window": [{"op": "row_number", "as": "nearest"}], "sort": [{"field": "off"}]},
        {"filter": "datum.nearest==1"},
        *calculate(zero="0", done="min(datum.arithmetic,datum.seconds)"),
    ]


def _rider() -> list[Spec]:
    """The decode step: a circle on the edge, and under it what the arithmetic does and how long it waits."""
    x = along("t")
    said = (
        f"'decode of '+format(datum.t,',')+': '+{format.vega(format.SECONDS, 'datum.seconds')}+', '"
        f"+{format.vega(format.SECONDS, 'datum.seconds/datum.t')}+' a token'"
    )
    bar = {"type": "rule", "aria": False, "strokeCap": "butt"}
    return [
        {
            "mark": {**bar, "strokeWidth": 9},
            "encoding": {"x": x, "y": along("zero"), "y2": {"field": "done"}, "stroke": colour("compute")},
        },
        {
            "mark": {**bar, "strokeWidth": 1.5},
            "encoding": {"x": x, "y": along("done"), "y2": {"field": "seconds"}, "stroke": colour("ink")},
        },
        {
            "mark": {"type": "point", "shape": "circle", "size": 190, "strokeWidth": 1.6, "opacity": 1},
            "encoding": {
                "x": x,
                "y": along("seconds"),
                "fill": colour("decode"),
                "stroke": colour("ink"),
                **chart.said(said),
            },
        },
    ]


def _readout() -> list[Spec]:
    """What a token costs at this batch, in the corner that stays empty."""
    each = f"{format.vega(format.SECONDS, 'datum.seconds/datum.t')}+' a token'"
    who = "(datum.t==1?'1 sequence decodes alone':format(datum.t,',')+' sequences decode together')"
    step = f"'a step of '+{format.vega(format.SECONDS, 'datum.seconds')}"
    idle = f"({PHONE}?', idle ':', in which the arithmetic waits ')+format(100*datum.idle,'.1f')+' %'"
    over = f"({PHONE}?', compute-bound':', and every further token is one that you wait for')"
    said = f"{step}+(datum.arithmetic>=datum.memory?{over}:{idle})"
    big = f"({PHONE}?21:30)"
    return [
        label(who, "muted", at("14", "type+6")),
        label(each, "decode text", at("14", f"type+{big}+12"), size=big, weight=600),
        label(said, "ink", at("14", f"type+{big}+20+type")),
    ]
