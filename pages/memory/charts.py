"""The two pictures of the Memory page: the bar of what is where, and the largest batch against the context."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.parts import chart
from pages.parts.chart import PHONE, Spec, along, at, calculate, colour, colour_field, label, text_width
from pages.parts.format import BINARY_BYTES, NBSP, vega

BAR_HEIGHT = 178
CURVE_HEIGHT = 330
_TOP, _BOTTOM = 52, 118  # px: the bar between the names above it and the limits below

_GIB = 2.0**30


def _gib(value: str, digits: int = 3) -> str:
    """Expression of GiB as text, in the unit of its size."""
    return vega(BINARY_BYTES, f"({value})*{_GIB!r}", digits)


# ---- the bar ---------------------------------------------------------------------------------------------------


@st.cache_resource(show_spinner=False)
def bar_spec() -> Spec:
    """One GPU's memory from left to right: weights, reserve, caches, room for more, what is left to others."""
    right = chart.first("frame", "right", 80)
    return chart.spec(
        _usable(),
        _parts(),
        _sequences(),
        _inked_edge(),
        _overflow(),
        _limits(),
        _names(),
        _axis(right),
        height=BAR_HEIGHT,
        params=[{"name": "gib", "expr": f"width/{right}"}],
    )


def _axis(right: str) -> Spec:
    """The axis, by an invisible mark: every other mark is placed in pixels."""
    scale = {"domain": [0, {"expr": right}], "nice": False}
    axis = {
        "title": f"GiB on one GPU (1{NBSP}GiB = 1.074{NBSP}GB)", "tickCount": {"expr": f"{PHONE}?4:9"},
        "format": ",~r", "offset": 4,
    }  # fmt: skip
    x = {"field": "usable", "type": "quantitative", "scale": scale, "axis": axis}
    return {"data": {"name": "frame"}, "mark": {"type": "point", "opacity": 0, "aria": False}, "encoding": {"x": x}}


def _box(left: str, right: str, top: float = _TOP, bottom: float = _BOTTOM) -> Spec:
    ends = {"x": {"value": {"expr": left}}, "x2": {"value": {"expr": right}}}
    return {**ends, "y": {"value": top}, "y2": {"value": bottom}}


def _usable() -> Spec:
    """What a program can use, as an empty vessel."""
    mark = {"type": "rect", "fillOpacity": 0, "strokeWidth": 1, "aria": False}
    return {"data": {"name": "frame"}, "mark": mark,
            "encoding": {**_box("0", "datum.usable*gib"), "stroke": colour("muted")}}  # fmt: skip


_LOOKS = {  # kind: (meaning of the fill, its opacity)
    "weights": ("memory", 1.0),
    "reserve": ("muted", 0.55),
    "caches": ("cached", 1.0),
    "room": ("cached", 0.3),
    "kept": ("paper", 0.0),
}


def _parts() -> Spec:
    said = "{" + ",".join(f"{kind}:'{meaning}'" for kind, (meaning, _) in _LOOKS.items()) + "}[datum.kind]"
    faint = "{" + ",".join(f"{kind}:{opacity}" for kind, (_, opacity) in _LOOKS.items()) + "}[datum.kind]"
    return {
        "data": {"name": "parts"},
        "transform": [{"filter": "datum.end>datum.start"}, *calculate(meaning=said)],
        "mark": {"type": "rect", "opacity": {"expr": faint}, "strokeOpacity": 0},
        "encoding": {
            **_box("datum.start*gib", "datum.end*gib"),
            "fill": colour_field("meaning"),
            "description": {"value": {"expr": f"datum.kind+': '+{_gib('datum.end-datum.start')}"}},
        },
    }


def _sequences() -> Spec:
    """Where one sequence's cache ends and the next begins."""
    mark = {"type": "rule", "strokeWidth": 1.5, "aria": False}
    return {
        "data": {"name": "ticks"},
        "mark": mark,
        "encoding": {
            "x": {"value": {"expr": "datum.at*gib"}},
            "y": {"value": _TOP + 1},
            "y2": {"value": _BOTTOM},
            "stroke": colour("paper"),
        },
    }


def _inked_edge() -> Spec:
    """The upper edge that marks what is cached."""
    return {
        "data": {"name": "parts"},
        "transform": [{"filter": "datum.kind=='caches'"}],
        "mark": {"type": "rule", "strokeWidth": 2, "aria": False},
        "encoding": {
            "x": {"value": {"expr": "datum.start*gib"}},
            "x2": {"value": {"expr": "datum.end*gib"}},
            "y": {"value": _TOP},
            "stroke": colour("ink"),
        },
    }


def _overflow() -> Spec:
    """What does not fit is pale."""
    mark = {"type": "rect", "opacity": {"expr": "datum.over>0?0.55:0"}, "aria": False}
    where = _box("datum.budget*gib", "datum.needed*gib", _TOP - 2)
    return {"data": {"name": "frame"}, "mark": mark, "encoding": {**where, "fill": colour("paper")}}


def _limits() -> Spec:
    """Below the bar: how much may be used; and how much there is, or by how much it does not fit."""
    budget, usable, needed = ("datum.budget*gib", "datum.usable*gib", "datum.needed*gib")
    over = "datum.over>0"
    may = f"'may be used: '+{_gib('datum.budget')}+({over}?' of '+{_gib('datum.usable')}:'')"
    is_there = f"'usable: '+{_gib('datum.usable')}"
    missing = f"({PHONE}?'over by ':'does not fit: over by ')+{_gib('datum.over')}"
    rule = {"type": "rule", "aria": False}
    at_budget = {"x": {"value": {"expr": budget}}, "y": {"value": _TOP - 6}, "stroke": colour("ink")}
    bracket = _BOTTOM + 26
    return {
        "data": {"name": "frame"},
        "layer": [
            {"mark": {**rule, "strokeWidth": 2}, "encoding": {**at_budget, "y2": {"value": _BOTTOM + 8}}},
            {
                "mark": {**rule, "strokeWidth": 2, "opacity": {"expr": f"{over}?1:0"}},
                "encoding": {"x": {"value": {"expr": budget}}, "x2": {"value": {"expr": needed}},
                             "y": {"value": bracket}, "stroke": colour("ink")},
            },
            _beside(may, budget, _BOTTOM + 20, "true"),
            _beside(is_there, usable, _BOTTOM + 40, f"!({over})"),
            _beside(missing, needed, _BOTTOM + 44, over, weight=600),
        ],
    }  # fmt: skip


def _beside(text: str, x: str, y: float, show: str, weight: int = 400) -> Spec:
    """A text that ends at a place, or begins there where it would not fit before it."""
    wide = text_width("datum.words")
    place = at(f"datum.fits?({x}):max(0,min({x},width-{wide}))", str(y))
    drawn = label("datum.words", "ink", place, align="datum.fits?'right':'left'", weight=weight, show=show)
    return {"transform": calculate(words=text, fits=f"({x})>{wide}"), **drawn}


_NAMES = {
    "weights": ("'weights'", "memory"),
    "reserve": ("'reserve'", "muted"),
    "caches": ("(format(batch,',')+' '+keeps)", "ink"),
    "room": (f"({PHONE}?format(more,',')+' more':'room for '+format(more,',')+' more')", "muted"),
    "kept": ("'left to others'", "muted"),
}


def _names() -> Spec:
    """Name and size above each part that is wide enough for them."""
    return {
        "data": {"name": "parts"},
        "layer": [_name(kind, text, meaning) for kind, (text, meaning) in _NAMES.items()],
    }


def _name(kind: str, text: str, meaning: str) -> Spec:
    batch, more = chart.first("frame", "batch", 1), chart.first("frame", "more", 0)
    if kind in {"caches", "room"}:
        keeps = chart.first("frame", "keeps", "'cache'")
        text = text.replace("batch", batch).replace("more,", f"{more},").replace("keeps", keeps)
    needs = f"max({text_width('datum.words')},{text_width('datum.size')})"
    x = "datum.start*gib+2"
    return {
        "transform": [
            {"filter": f"datum.kind=='{kind}'"},
            *calculate(words=text, size=_gib("datum.end-datum.start")),
            *calculate(wide=f"(datum.end-datum.start)*gib>{needs}+6"),
        ],
        "layer": [
            label("datum.words", meaning, at(x, str(_TOP - 26)), weight=600, show="datum.wide"),
            label("datum.size", meaning, at(x, str(_TOP - 9)), show="datum.wide"),
        ],
    }


# ---- the curve -------------------------------------------------------------------------------------------------


@st.cache_resource(show_spinner=False)
def curve_spec() -> Spec:
    """Largest batch against the context, and the page's own point under it or over it."""
    corners = [
        {"name": name, "expr": chart.first("frame", name, otherwise)}
        for name, otherwise in (("left", 2.4), ("right", 6.1), ("bottom", -0.2), ("top", 4))
    ]
    return chart.spec(
        _below(),
        _line(),
        _regions(),
        _point(),
        height=CURVE_HEIGHT,
        params=[
            *corners,
            {"name": "across", "expr": "width/(right-left)"},
            {"name": "up", "expr": f"{CURVE_HEIGHT}/(top-bottom)"},
        ],
    )


_ABOVE: dict[str, Any] = {"titleAngle": 0, "titleAlign": "left", "titleAnchor": "start", "titleX": -44, "titleY": -16}


_X_AXIS = chart.log_axis("left", "right", "context of each sequence, tokens")
_Y_AXIS = chart.log_axis("bottom", "top", "sequences", **_ABOVE)
_PLACE = {"x": along("context"), "y": along("batch")}


def _chosen(way: str) -> list[Spec]:
    """Rows of the way of allocating that the page counts with, or of the other."""
    chosen = chart.first("frame", "way", 0)
    return [{"filter": f"datum.way{'==' if way == 'chosen' else '!='}{chosen}"}]


def _below() -> Spec:
    """Everything under the curve fits."""
    mark = {"type": "area", "opacity": 0.1, "clip": True, "aria": False}
    rows = [*_chosen("chosen"), *calculate(floor="0.1")]
    place = {"x": along("context") | _X_AXIS, "y": along("batch") | _Y_AXIS | {"stack": None}}
    encoding = {**place, "y2": {"field": "floor"}, "fill": colour("memory")}
    return {"data": {"name": "curve"}, "transform": rows, "mark": mark, "encoding": encoding}


def _line() -> Spec:
    def line(way: str, **mark: object) -> Spec:
        shape = {"type": "line", "clip": True, "aria": False, **mark}
        return {"transform": _chosen(way), "mark": shape,
                "encoding": {**_PLACE, "stroke": colour("memory")}}  # fmt: skip

    return {
        "data": {"name": "curve"},
        "layer": [line("other", strokeWidth=1.5, strokeDash=[5, 4]), line("chosen", strokeWidth=4)],
    }


def _place() -> tuple[str, str]:
    """Pixels of the page's own batch and context."""
    return "(log(datum.context)/LN10-left)*across", "(top-log(datum.batch)/LN10)*up"


def _regions() -> Spec:
    """Names of the regions in the corners that stay empty, and of the curve that is dashed."""
    big = f"({PHONE}?11:16)"
    x, y = _place()
    free = f"datum.some&&!({x}<60&&{y}>{CURVE_HEIGHT}-60)"
    other = "datum.way=='windowed'?'dashed: full pages for every layer':'dashed: windows kept only'"
    return {
        "data": {"name": "frame"},
        "layer": [
            label("'Fits'", "memory", at("14", str(CURVE_HEIGHT - 14)), weight=600, size=big, show=free),
            label("'Does not fit'", "ink", at("width-10", "24"), align="'right'", weight=600, size=big),
            label(other, "memory", at("width-10", "44"), align="'right'", show="datum.both"),
        ],
    }


_CIRCLE = {"type": "point", "shape": "circle", "size": 150, "strokeWidth": 1.6, "opacity": 1, "clip": True}


def _point() -> Spec:
    """The page's own batch and context, labelled below the curve where it fits, right of the point where not."""
    x, y = _place()
    sequences = "format(datum.batch,',')+(datum.batch==1?' sequence':' sequences')"
    inside = f"{sequences}+({PHONE}?'':' of '+format(datum.context,','))"
    width_in, width_out = text_width(inside), text_width(sequences)
    left, beside = f"{x}-12-{width_in}>70", f"{x}+12+{width_out}<width"
    below = f"{y}>{CURVE_HEIGHT}-34?{y}-10:{y}+type+6"
    return {
        "data": {"name": "frame"},
        "layer": [
            {
                "mark": _CIRCLE,
                "encoding": {
                    **_PLACE,
                    "fill": colour("decode"),
                    "stroke": colour("ink"),
                    "description": {"value": {"expr": f"{sequences}+' of '+format(datum.context,',')+' tokens'"}},
                },
            },
            label(inside, "decode text", at(f"{left}?{x}-12:{x}+12", below), align=f"{left}?'right':'left'", weight=600,
                  show="datum.fits"),
            label(f"[{sequences},datum.batch==1?'does not fit':'do not fit']", "decode text",
                  at(f"{beside}?{x}+12:width-4", f"{beside}?{y}:{y}-2*type-16"), align=f"{beside}?'left':'right'",
                  weight=600, show="!datum.fits"),
        ],
    }  # fmt: skip
