"""The classical roofline: what each operation asks of the chip and reaches. Data in, chart out: no cost is computed."""

from __future__ import annotations

import altair as alt
import streamlit as st

from pages.parts import chart, format
from pages.parts.chart import PHONE, Spec, along, at, calculate, colour, label, text_width
from pages.roofline.roof_data import HEIGHT
from pages.roofline.twin import (
    AT_REST,
    BANDWIDTH_X,
    COMPUTE_X,
    D,
    frame_params,
    px,
    py,
    seconds,
    what_if_params,
)


@st.cache_resource(show_spinner=False)
def roof_spec() -> Spec:
    """FLOP/s against FLOP a byte: the roofs of the chip, its ridge, and every operation of the step under them."""
    return chart.spec(
        _slope(),
        _roofs(),
        _ridge(),
        _points(),
        _point_labels(),
        height=HEIGHT,
        params=[*what_if_params(), *frame_params(HEIGHT)],
    )


_X_AXIS = chart.log_axis("left", "right", "arithmetic intensity, FLOP a byte")
_Y_AXIS = chart.log_axis("bottom", "top", None, format.FLOP_RATE)


_ROOF = calculate(rate=str(D["peak"] * COMPUTE_X), corner=str(D["peak"] * COMPUTE_X / (D["bandwidth"] * BANDWIDTH_X)))


def _slope() -> Spec:
    """What memory allows: thick up to the corner of the roof that computes, thin on to the highest one."""
    (x, y), (x2, y2) = (along("from"), along("from_rate")), ({"field": "corner"}, {"field": "rate"})
    place = {"x": x | _X_AXIS, "y": y | _Y_AXIS, "x2": x2, "y2": y2, "stroke": colour("memory")}
    start = calculate(
        **{
            "from": "pow(10,left)",
            "from_rate": str(alt.expr.pow(10, alt.param(name="left", value=0.0)) * D["bandwidth"] * BANDWIDTH_X),
        }
    )
    rule = {"type": "rule", "clip": True, "aria": False}
    return {
        "data": {"name": "roofs"},
        "transform": [*_ROOF, *start],
        "layer": [
            {"mark": {**rule, "strokeWidth": 1.2, "strokeDash": [5, 4]}, "encoding": place},
            {"transform": [{"filter": "datum.used"}], "mark": {**rule, "strokeWidth": 4}, "encoding": place},
        ],
    }  # fmt: skip


def _roofs() -> Spec:
    """What each unit of the chip allows, named in the margin at the right."""
    x, y = along("corner"), along("rate")
    place = {"x": x, "y": y, "x2": {"value": {"expr": "width"}}, "stroke": colour("compute")}
    rule = {"type": "rule", "clip": True, "aria": False}
    thin = {**rule, "strokeWidth": 1.2, "strokeDash": [5, 4]}
    rate = format.vega(format.FLOP_RATE, "datum.rate", 4, trim=True)
    name = f"({PHONE}?datum.formats:{rate}+', '+datum.formats)"
    where = at("width-2", f"{py('datum.rate')}+({PHONE}?datum.shift_phone:datum.shift)-6")

    def named(weight: int, used: str, show: str = "true") -> Spec:
        text = label(name, "compute", where, align="'right'", weight=weight, size=f"({PHONE}?10:13)", show=show)
        return {"transform": [{"filter": used}], **text}

    return {
        "data": {"name": "roofs"},
        "transform": _ROOF,
        "layer": [
            {"transform": [{"filter": "!datum.used"}], "mark": thin, "encoding": place},
            {"transform": [{"filter": "datum.used"}], "mark": {**rule, "strokeWidth": 4}, "encoding": place},
            # what hangs under the roof may be dragged across the names of lower ones: those step back meanwhile
            named(400, "!datum.used", AT_REST),
            named(600, "datum.used"),
        ],
    }


def _ridge() -> Spec:
    """B*: a dotted line under each corner, named under the one that computes."""
    x, y = along("corner"), along("rate")
    down = {"x": x, "y": y, "y2": {"value": HEIGHT}, "stroke": colour("ink")}
    name = "'B* = '+format(round(datum.corner),',')"
    left = f"datum.cx+8+{text_width(name)}>width"
    place = at(f"{left}?datum.cx-7:datum.cx+7", str(HEIGHT - 10))
    named = label(name, "ink", place, align=f"{left}?'right':'left'", weight=600)
    dotted = {"type": "rule", "strokeWidth": 1.5, "strokeDash": [2, 3], "aria": False}
    dot = {"type": "point", "size": 30, "filled": True, "opacity": 1, "clip": True}
    said = "'ridge of '+datum.formats+': '+format(datum.corner,',.1f')+' FLOP a byte'"
    return {
        "data": {"name": "roofs"},
        "transform": [*_ROOF, *calculate(cx=px("datum.corner"))],
        "layer": [
            {"mark": dot, "encoding": chart.said(said) | {"x": x, "y": y, "fill": colour("compute")}},
            {"transform": [{"filter": "datum.used"}], "layer": [{"mark": dotted, "encoding": down}, named]},
        ],
    }


_REACHED = [
    *calculate(seconds=seconds()),
    *calculate(intensity="datum.flops/datum.bytes", reached="datum.flops/datum.seconds"),
]


def _points() -> Spec:
    """Each operation of the decode step (circles) and of the prefill (diamonds), and whole steps (squares)."""
    x, y = along("intensity"), along("reached")
    layers = []
    for kind, shape, fill, of in (
        ("prefill", "diamond", "prefill", " of the prefill"),
        ("decode", "circle", "decode", " of the decode step"),
        ("step", "square", "paper", ""),
    ):
        detail = (
            f"datum.name+'{of}: '+format(datum.intensity,',.3~r')+' FLOP a byte, '"
            f"+{format.vega(format.FLOP_RATE, 'datum.reached', 3)}+', '+{format.vega(format.SECONDS, 'datum.seconds')}"
        )
        layers.append(
            {
                "transform": [{"filter": f"datum.kind=='{kind}'"}],
                "mark": {
                    "type": "point", "shape": shape, "size": 110, "strokeWidth": 1.4, "opacity": 1, "clip": True,
                    "fillOpacity": 0 if kind == "step" else 1, "tooltip": {"expr": detail},
                },
                "encoding": chart.said(detail) | {"x": x, "y": y, "fill": colour(fill), "stroke": colour("ink")},
            }
        )  # fmt: skip
    return {"data": {"name": "points"}, "transform": _REACHED, "layer": layers}


def _point_labels() -> Spec:
    """Names of the points: operations below right, whole steps above left, each in its lane."""
    lane = f"({PHONE}?datum.lane_phone:datum.lane)*(type+4)"
    bandwidth = format.vega(format.BYTE_RATE, str(D["bandwidth"] * BANDWIDTH_X), 3, trim=True)
    own = f"({PHONE}?datum.short:datum.text)"

    def named(kind: str, meaning: str, weight: int, *, leftward: bool, text: str = own) -> Spec:
        wide = text_width(text)
        pushed = f"max(0,{wide}-datum.px+10)"  # px that the left edge pushes the text over the slope, which rises there
        y = f"datum.py-12-{lane}-{pushed}*up/across" if leftward else f"datum.py+type+8+{lane}"
        x = f"max(datum.px-10,{wide})" if leftward else f"min(datum.px+8,width-{wide}-2)"
        return {
            "transform": [{"filter": f"datum.kind=='{kind}'"}],  # what is dragged under the axis loses its name
            **label(
                text,
                meaning,
                at(x, y),
                align="'right'" if leftward else "'left'",
                weight=weight,
                show=f"datum.py<{HEIGHT}-8-({PHONE}?11:18)",
            ),
        }

    return {
        "data": {"name": "names"},
        "transform": [*_REACHED, *calculate(px=px("datum.intensity"), py=py("datum.reached"))],
        "layer": [
            named("decode", "decode text", 400, leftward=False),
            named("prefill", "prefill text", 400, leftward=False),
            named("step", "ink", 600, leftward=True),
            named("slope", "memory", 400, leftward=True, text=bandwidth),
        ],
    }
