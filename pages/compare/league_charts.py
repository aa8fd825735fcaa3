"""The picture of the league: what a decode step takes against what a prompt takes, a dot an accelerator."""

from __future__ import annotations

import streamlit as st

from pages.compare.league_frames import HEIGHT
from pages.parts import chart_layers as layers
from pages.parts import format
from pages.parts.chart import Spec, along, at, colour
from pages.parts.expected import limit
from pages.parts.plane import FINE, Plane

_SHAPES = "{fits:'circle',out:'circle',unknown:'triangle-up'}[datum.state]||'circle'"


@st.cache_resource(show_spinner=False)
def league_spec(expects: tuple[bool, bool]) -> Spec:
    """Dots over two logarithmic times; nearer to the lower left corner is faster in both.

    ``expects``: whether floors of the decode step, and of the prompt, rest on the expected number of experts.
    """
    decode, prompt = (limit("at least", expects=rests) for rests in expects)
    plane = Plane(
        HEIGHT,
        f"decode step, {decode}",
        f"prompt, {prompt}",
        x_units=format.SECONDS,
        y_units=format.SECONDS,
        x_ticks=FINE,
        y_ticks=FINE,
    )
    return layers.spec(
        plane,
        "Decode step against prompt on every accelerator",
        layers.over("dots", *_cross(), *_dots(plane), *_names(plane)),
        layers.over("frame", layers.label("'↙ faster in both'", "muted", at("8", f"{HEIGHT}-8"), halo=False)),
    )


def _cross() -> list[Spec]:
    """Lines through the sidebar's accelerator: left of one decodes faster, below the other prefills faster."""
    mark = {"type": "rule", "strokeWidth": 1, "strokeDash": [2, 3], "aria": False}
    only = [{"filter": "datum.current"}]
    return [
        {"transform": only, "mark": mark, "encoding": {axis: place, "stroke": colour("muted")}}
        for axis, place in (("x", along("decode")), ("y", along("prefill")))
    ]


def _dots(plane: Plane) -> list[Spec]:
    axes = {"x": plane.x("decode"), "y": plane.y("prefill")}
    bare = {"x": along("decode"), "y": along("prefill")}

    def dots(test: str, where: Spec, fill: str, size: int, width: float) -> Spec:
        mark = {
            "type": "point",
            "shape": {"expr": _SHAPES},
            "size": size,
            "strokeWidth": width,
            "opacity": 1,
            "tooltip": {"expr": "datum.said"},
        }
        encoding = {
            **where,
            "fill": colour(fill),
            "stroke": colour("ink"),
            "description": {"field": "said", "type": "nominal"},
        }
        return {"transform": [{"filter": test}], "mark": mark, "encoding": encoding}

    return [
        dots("datum.state!='fits'&&!datum.current", axes, "paper", 60, 1.2),
        dots("datum.state=='fits'&&!datum.current", bare, "muted", 60, 1.2),
        dots("datum.state!='fits'&&datum.current", bare, "paper", 170, 2.5),
        dots("datum.state=='fits'&&datum.current", bare, "ink", 170, 2.5),
    ]


def _names(plane: Plane) -> list[Spec]:
    """Each name on the side that was found free for it at this width."""
    x, y = plane.px("datum.decode"), plane.py("datum.prefill")
    side = "(width<480?datum.side_phone:width<800?datum.side_middle:datum.side_wide)"
    beside = f"{{right:{x}+9,left:{x}-9}}[{side}]||{x}"
    level = f"{{above:{y}-10,below:{y}+9+type*0.85}}[{side}]||({y}+type*0.35)"
    align = f"{{right:'left',left:'right'}}[{side}]||'center'"
    where, show = at(beside, level), f"{side}!=''"
    return [
        {
            "transform": [{"filter": f"{picked}(datum.current||datum.chosen)"}],
            "layer": [layers.label("datum.name", "ink", where, align=align, weight=weight, show=show)],
        }
        for picked, weight in (("!", 400), ("", 600))
    ]
