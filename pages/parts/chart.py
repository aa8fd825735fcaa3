"""Pieces of charts. A chart is a constant Vega-Lite spec, built once, and the data of a run, sent apart.

Colours are names of ``theme.MEANINGS``; sizes are expressions, so that a phone gets smaller type from the same spec;
labels carry a halo of paper, which the style sheet puts behind the letters. Positions that must move while a hand drags
are expressions of the data and of the chart's own parameters, never numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from pages.parts import format, offers, speaking, theme
from pages.parts.datasets import Dataset

Spec = dict[str, Any]
PHONE = "width<480"
SMALL = 11.0  # px of type on a phone
NORMAL = 14.0
_GLYPH = 0.53  # mean width of a letter, in its size: a little more than Streamlit's own font needs


def draw(spec: Spec, datasets: Mapping[str, Dataset], *, key: str, alt: str, title: str = "") -> None:
    """Draw a cached spec with the data of this run; ``alt`` says the chart's message with its figures.

    ``title`` names the picture where it is offered as a file; without one the spec's description does, so that a chart
    with neither cannot be drawn.
    """
    offers.picture(key, title or spec["description"])
    with st.container(key=key):
        st.vega_lite_chart(speaking.said(spec, datasets, alt), key=f"{key}_chart", width="stretch")


def spec(*layers: Spec, height: int, params: list[Spec] | None = None, frame: str = "frame") -> Spec:
    """A layered chart that follows the width of the page. ``frame`` names the dataset whose one row frames it."""
    return {
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "config": theme.CHART_CONFIG,
        "params": [{"name": "type", "expr": f"{PHONE}?{SMALL:g}:{NORMAL:g}"}, *(params or [])],
        "layer": [_anchor(frame), *layers],
    }


def _anchor(frame: str) -> Spec:
    """An invisible mark that keeps the framing dataset within reach of the chart's own expressions."""
    mark = {"type": "point", "opacity": 0, "aria": False}
    return {"data": {"name": frame}, "mark": mark, "encoding": {"fill": {"datum": "ink", **_MEANING}}}


def colour(meaning: str) -> Spec:
    """The colour of a meaning, in whichever theme the browser shows: by the scale that the anchor brings.

    Its domain is said once for all marks. Said by each of them it was a seventh of every chart.
    """
    return {"value": {"expr": f"scale('fill','{meaning}')"}}


def colour_field(field: str) -> Spec:
    """The colour of the meaning that a field names."""
    return {"field": field, **_MEANING}


_MEANING: Spec = {"type": "nominal", "scale": {"domain": list(theme.MEANINGS)}, "legend": None}


def calculate(**columns: str) -> list[Spec]:
    """Steps of a transform that add columns, each from an expression that may name those before it."""
    return [{"calculate": expression, "as": name} for name, expression in columns.items()]


def at(x: str | None = None, y: str | None = None) -> Spec:
    """Encodings of a position in pixels, from Vega expressions."""
    return {name: {"value": {"expr": value}} for name, value in (("x", x), ("y", y)) if value is not None}


def along(field: str) -> Spec:
    """Encoding of a field along an axis, by the scale that the one layer says which draws the axis.

    Said by every layer, scales were a sixth of a chart.
    """
    return {"field": field, "type": "quantitative"}


def label(
    text: str,
    meaning: str,
    where: Spec,
    *,
    align: str = "'left'",
    baseline: str = "alphabetic",
    weight: int = 400,
    size: str = "type",
    show: str = "true",
    halo: bool = True,
) -> Spec:
    """Text (a Vega expression, or an expression of an array for several lines) over a halo of paper, or without one.

    ``align`` and ``show`` are expressions too.
    """
    mark = {
        "type": "text",
        "align": {"expr": align},
        "baseline": baseline,
        "fontSize": {"expr": size},
        "fontWeight": weight,
        "lineHeight": {"expr": f"{size}+4"},
        "opacity": {"expr": f"({show})?1:0"},
        "text": {"expr": text},
        **(HALO if halo else {}),
    }
    return {"mark": mark, "encoding": {**where, "fill": colour(meaning), **(PAPER if halo else {})}}


HALO: Spec = {"strokeWidth": 4, "strokeJoin": "round"}
"""What makes of a text's mark one with a halo, together with ``PAPER`` in its encoding."""
PAPER: Spec = {"stroke": colour("paper")}


def said(text: str) -> Spec:
    """Encoding of what a screen reader says of a mark, from an expression."""
    return {"description": {"value": {"expr": text}}}


def text_width(text: str, size: str = "type") -> str:
    """Expression of the width in pixels of a text (an expression of one line)."""
    return f"(length({text})*{size}*{_GLYPH})"


def decades(title: str | None, ladder: format.Ladder | None = None, **axis: Any) -> Spec:
    """A logarithmic axis with a tick a decade, labelled in the units of a ladder, or as whole numbers."""
    written = format.vega(ladder, "datum.value", 1, trim=True) if ladder else "format(datum.value,',~r')"
    values = [10.0**power for power in range(-12, 22)]
    return {"title": title, "values": values, "labelExpr": written, **axis}


def log_axis(low: str, high: str, title: str | None, ladder: format.Ladder | None = None, **axis: Any) -> Spec:
    """``decades`` on a scale between two parameters that are logarithms to base ten, fixed while a hand drags."""
    ends = [{"expr": f"pow(10,{end})"} for end in (low, high)]
    scale = {"type": "log", "domain": ends, "nice": False, "clamp": False}
    return {"scale": scale, "axis": decades(title, ladder, **axis)}


def first(dataset: str, field: str, otherwise: float | str) -> str:
    """Expression of a field of a dataset's only row, with a value for the moment before the data are there."""
    return f"(length(data('{dataset}'))?data('{dataset}')[0]['{field}']:{otherwise})"
