"""The picture of the Model page: the stack of layers from left to right, by kind, with what each holds and keeps."""

from __future__ import annotations

import streamlit as st

from pages.parts import chart
from pages.parts.chart import PHONE, Spec, at, colour, label
from pages.parts.format import BYTES, vega

_WEIGHTS = (26, 140)  # px: top and bottom of the bars of weights
_LANES = _WEIGHTS[1] + 22  # px: where the lanes begin
_LANE = 40  # px of a lane: its name, and its row of layers
_KEPT_TITLE, _KEPT = 24, 84  # px of the name of what is kept, and of its bars


@st.cache_resource(show_spinner=False, max_entries=16)
def stack_spec(lanes: int) -> Spec:
    """Bars of weights above, a lane for each kind of part, bars of what a sequence leaves behind below."""
    top = _LANES + lanes * _LANE
    bottom = top + _KEPT_TITLE + _KEPT
    return chart.spec(
        _weights(),
        _outside(),
        _lanes(),
        _kept(top + _KEPT_TITLE, bottom),
        _axis(),
        height=bottom,
        params=[
            {"name": "slots", "expr": f"{chart.first('frame', 'layers', 28)}+2"},
            {"name": "slot", "expr": "width/slots"},
            {"name": "bar", "expr": "max(slot-(slot>5?2:slot>3?1:0.4),0.8)"},
        ],
    )


def _axis() -> Spec:
    """The axis of layers, by an invisible mark: the bars are placed in pixels."""
    ends = [{"expr": "-0.5"}, {"expr": f"{chart.first('frame', 'layers', 28)}+1.5"}]
    axis = {
        "title": "layer, from the input to the output", "format": "d", "tickMinStep": 1, "offset": 4,
        "tickCount": {"expr": f"{PHONE}?5:10"},
        "labelExpr": f"datum.value<1||datum.value>{chart.first('frame', 'layers', 28)}?'':datum.label",
    }  # fmt: skip
    scale = {"domain": ends, "nice": False, "zero": False}
    x = {"field": "layers", "type": "quantitative", "scale": scale, "axis": axis}
    return {"data": {"name": "frame"}, "mark": {"type": "point", "opacity": 0, "aria": False}, "encoding": {"x": x}}


def _bars(field: str, most: str, top: int, bottom: int) -> Spec:
    height = f"({bottom - top})*datum.{field}/max({chart.first('frame', most, 1)},1e-9)"
    return {
        "x": {"value": {"expr": "(datum.at+0.5)*slot-bar/2"}},
        "x2": {"value": {"expr": "(datum.at+0.5)*slot+bar/2"}},
        "y": {"value": {"expr": f"{bottom}-{height}"}},
        "y2": {"value": bottom},
    }


def _size(value: str, digits: int = 3) -> str:
    return vega(BYTES, value, digits)


def _weights() -> Spec:
    """What each layer holds as stored; of a mixture of experts, one token's in full colour and the others pale."""
    top, bottom = _WEIGHTS
    said = f"datum.name+': '+{_size('datum.weights')}+' of weights, keeps '+{_size('datum.kept')}+' of a sequence'"
    pale = {"type": "rect", "opacity": 0.35, "aria": False}
    experts = f"{chart.first('frame', 'sparse', 0)}?', full colour: what one token uses':''"
    title = f"'Weights as stored, up to '+{_size('datum.most_weights')}+({PHONE}?'':({experts}))"
    fill = {"fill": colour("memory")}
    return {
        "layer": [
            {"data": {"name": "bars"}, "mark": pale,
             "encoding": {**_bars("weights", "most_weights", top, bottom), **fill}},
            {"data": {"name": "bars"}, "mark": {"type": "rect"},
             "encoding": {**_bars("active", "most_weights", top, bottom), **fill,
                          "description": {"value": {"expr": said}}}},
            {"data": {"name": "frame"}, **label(title, "memory", at("0", "14"), weight=600)},
        ]
    }  # fmt: skip


def _outside() -> Spec:
    """Names of the two columns outside the layers: the embedding, and the head where it is a matrix of its own."""
    y = str(_WEIGHTS[1] + 13)
    head = "datum.tied?'head: the embedding':'LM head'"
    return {
        "data": {"name": "frame"},
        "layer": [
            label("'embedding'", "muted", at("0", y), size="type-2"),
            label(head, "muted", at("width", y), align="'right'", size="type-2"),
        ],
    }


def _lanes() -> Spec:
    """For each kind of part its name, and the layers that have it."""
    y = f"{_LANES}+datum.lane*{_LANE}"
    counted = "' · '+datum.count+(datum.count==1?' layer':' layers')"
    text = f"({PHONE}?datum.short:datum.text)+{counted}"
    box = {
        "x": {"value": {"expr": "(datum.at+0.5)*slot-bar/2"}},
        "x2": {"value": {"expr": "(datum.at+0.5)*slot+bar/2"}},
        "y": {"value": {"expr": f"{y}+21"}},
        "y2": {"value": {"expr": f"{y}+29"}},
        "fill": colour("ink"),
    }
    return {
        "layer": [
            {"data": {"name": "cells"}, "mark": {"type": "rect", "aria": False}, "encoding": box},
            {"data": {"name": "lanes"}, **label(text, "ink", at("slot", f"{y}+15"))},
        ]
    }


def _kept(top: int, bottom: int) -> Spec:
    """What each layer keeps of one sequence: cached, with the inked upper edge."""
    where = _bars("kept", "most_kept", top, bottom)
    edge = {name: where[name] for name in ("x", "x2", "y")}
    any_kept = [{"filter": "datum.kept>0"}]
    most = f"', up to '+{_size('datum.most_kept')}+({PHONE}?'':' a layer')"
    title = f"'Kept of a sequence of '+format(datum.context,',')+{most}"
    rule = {"type": "rule", "strokeWidth": 1.5, "aria": False}
    return {
        "layer": [
            {"data": {"name": "bars"}, "transform": any_kept, "mark": {"type": "rect", "aria": False},
             "encoding": {**where, "fill": colour("cached")}},
            {"data": {"name": "bars"}, "transform": any_kept, "mark": rule,
             "encoding": {**edge, "stroke": colour("ink")}},
            {"data": {"name": "frame"}, **label(title, "muted", at("slot", str(top - 8)), weight=600)},
        ]
    }  # fmt: skip
