"""The map: cells in the colour of what a step waits for, and the line on which both sides take equally long."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from pages.compare.map_frames import HEIGHT
from pages.parts import chart, format
from pages.parts import chart_layers as layers
from pages.parts.chart import Spec, along, at, colour, colour_field, text_width
from pages.parts.expected import spread
from pages.parts.plane import Plane

_FACTORS, _SIZES = (0.25, 0.5, 1.0, 2.0, 4.0), (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
_TICKS: Mapping[str, tuple[float, ...]] = {"bandwidth_x": _FACTORS, "compute_x": _FACTORS, "gpus": _SIZES}
_TITLES = {
    "batch": "sequences together, B",
    "context": "context of each, tokens",
    "prompt": "prompt, tokens",
    "bandwidth_x": "bandwidth ×",
    "compute_x": "compute ×",
    "gpus": "GPUs",
}
_SAID = {
    "batch": "format({},',')+({}==1?' sequence':' sequences')",
    "context": "'a context of '+format({},',')+({}==1?' token':' tokens')",
    "prompt": "'a prompt of '+format({},',')+({}==1?' token':' tokens')",
    "bandwidth_x": "'bandwidth × '+format({},'.3~r')",
    "compute_x": "'compute × '+format({},'.3~r')",
    "gpus": "format({},',')+({}==1?' GPU':' GPUs')",
}
_SECONDS = format.vega(format.SECONDS, "datum.value")
_LEAST = "(datum.expects?'':'at least ')"
_MORE = f"(datum.expects?' or more{spread(expects=True)}':'')"
_WAITS = "', and waits for '+(datum.meaning=='memory'?'memory':'its arithmetic')"
_FACTOR = "format(max(datum.value,1/datum.value),',.3r')+'× as long as '"
_VALUES = {
    "seconds": f"'a step takes '+{_LEAST}+{_SECONDS}+{_MORE}+{_WAITS}",
    "token": f"'a token takes '+{_LEAST}+{_SECONDS}+{_MORE}+{_WAITS}",
    "cost": f"'a million tokens cost '+{_LEAST}+'$'+format(datum.value,',.3r')+{_MORE}+{_WAITS}",
    "bound": (
        f"(datum.meaning=='memory'?'memory takes '+{_FACTOR}+'the arithmetic'"
        f":'the arithmetic takes '+{_FACTOR}+'memory')"
    ),
    "intensity": f"'a step does '+format(datum.value,',.3r')+' FLOP for each byte'+{_WAITS}",
}


@st.cache_resource(show_spinner=False)
def map_spec(x: str, y: str, shown: str) -> Spec:
    """Cells over two axes, strong where the value is great."""
    plane = Plane(HEIGHT, _TITLES[x], _TITLES[y], x_ticks=_TICKS.get(x), y_ticks=_TICKS.get(y))
    places = [{"name": name, "expr": chart.first("frame", name, 1)} for name in _PLACES]
    drawn = layers.spec(
        plane,
        "Map of a step over two axes",
        _cells(plane, _sentence(x, y, shown)),
        _frontier(),
        _values(plane),
        _name(),
        _here(plane),
    )
    return {**drawn, "params": [*drawn["params"], *places, *_name_params(plane)]}


def _sentence(x: str, y: str, shown: str) -> str:
    """Expression of what a cell says."""
    where = [_SAID[key].replace("{}", f"datum.{axis}") for key, axis in ((x, "x"), (y, "y"))]
    return f"{where[0]}+', '+{where[1]}+': '+{_VALUES[shown]}+'.'"


def _cells(plane: Plane, sentence: str) -> Spec:
    encoding = {
        "x": plane.x("x0"),
        "x2": {"field": "x1"},
        "y": plane.y("y0"),
        "y2": {"field": "y1"},
        "fill": colour_field("meaning"),
        "opacity": {"field": "opacity", "type": "quantitative", "scale": None, "legend": None},
    }
    mark = {"type": "rect", "aria": False, "tooltip": {"expr": sentence}, "strokeWidth": 0}
    return layers.over("cells", {"mark": mark, "encoding": encoding})


def _frontier() -> Spec:
    """The line, over a wider one in paper."""

    def line(meaning: str, width: float) -> Spec:
        mark = {"type": "rule", "strokeWidth": width, "strokeCap": "round", "aria": False}
        ends = {"x": along("x"), "x2": {"field": "x2"}, "y": along("y"), "y2": {"field": "y2"}}
        return {"mark": mark, "encoding": {**ends, "stroke": colour(meaning)}}

    return layers.over("frontier", line("paper", 7), line("ink", 3))


_NAME = layers.either("'memory takes as long as arithmetic'", "'both as long'")
_PLACES = ("here_x", "here_y", "name_x", "name_y", "rising")


def _name_params(plane: Plane) -> list[Spec]:
    """Where the name of the line begins, on the side with room, and where its middle is, in px.

    It stands where the line turns away from it: below what rises to the right, above what falls.
    """
    x, wide = plane.px("name_x"), text_width(_NAME)
    return [
        {"name": "name_right", "expr": f"{x}+{wide}+14<width"},
        {"name": "name_start", "expr": f"name_right?{x}+10:{x}-10"},
        {"name": "name_middle", "expr": f"name_start+(name_right?0.5:-0.5)*{wide}"},
        {"name": "name_level", "expr": f"{plane.py('name_y')}+((rising==1)==name_right?type+4:-8)"},
    ]


def _clear(plane: Plane, x: str, y: str) -> str:
    """Expression: whether a value, with the name of its side above it, keeps clear of the mark and the line's name."""
    here = f"abs({x}-{plane.px('here_x')})<120&&abs({y}-{plane.py('here_y')})<42"
    beside = f"abs({x}-name_middle)<{text_width(_NAME)}/2+50"
    level = f"(abs({y}+5-name_level)<20||(datum.region!=''&&abs({y}-13-name_level)<20))"
    return f"!({here})&&!(isFinite(name_x)&&{beside}&&{level})"


def _values(plane: Plane) -> Spec:
    """Values in a few cells, so that the colour does not speak alone, and the name of each side in its strongest."""
    x, y = plane.px("datum.x"), plane.py("datum.y")
    fits = "datum.phone==(width<480)"
    clear = f"{fits}&&{_clear(plane, x, y)}"
    return layers.over(
        "values",
        layers.label("datum.text", "ink", at(x, f"{y}+type*0.35"), align="'center'", show=clear),
        layers.label(
            "datum.region",
            "ink",
            at(x, f"{y}+type*0.35-{layers.TYPE_LINE}"),
            align="'center'",
            weight=600,
            show=f"{clear}&&datum.region!=''",
        ),
    )


def _name() -> Spec:
    """The name of the line, beside one of its points."""
    return layers.over(
        "frame",
        layers.label(_NAME, "ink", at("name_start", "name_level"), align="name_right?'left':'right'", weight=600),
        transform=[{"filter": "isFinite(datum.name_x)"}],
    )


def _here(plane: Plane) -> Spec:
    """Where the page stands."""
    x, y = plane.px("datum.x"), plane.py("datum.y")
    right = f"(!datum.leftward&&{x}+{text_width('datum.text')}+20<width)"
    low = f"({y}<2*{layers.TYPE_LINE})"
    point = {
        "mark": {"type": "point", "size": 170, "strokeWidth": 2.5, "opacity": 1, "shape": {"expr": "datum.shape"}},
        "encoding": {
            "x": along("x"),
            "y": along("y"),
            "fill": colour_field("meaning"),
            "stroke": colour("ink"),
            "description": {"field": "text", "type": "nominal"},
        },
    }
    where = at(f"{right}?{x}+9:{x}-9", f"{low}?{y}+type+8:{y}-9")
    return layers.over(
        "here", point, layers.label("datum.text", "ink", where, align=f"{right}?'left':'right'", weight=600)
    )
