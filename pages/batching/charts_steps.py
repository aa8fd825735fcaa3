"""The pictures of steps that carry prompts or drafts. Data in, chart out: no cost is computed here."""

from __future__ import annotations

import streamlit as st

from pages.batching.frames import HEIGHTS
from pages.parts import chart_layers as layers
from pages.parts import format
from pages.parts.chart import Spec, along, at, colour, colour_field, text_width
from pages.parts.plane import FINE, Plane

_PERCENT: format.Ladder = ((0.01, "%"),)

# ---- a prompt beside sequences that decode ---------------------------------------------------------------------

_LANE, _TOP, _BAR = 82, 24, 30  # px: from lane to lane, from a lane's top to its bars, and their height


@st.cache_resource(show_spinner=False)
def ways_spec() -> Spec:
    """Three lanes of steps over time; under each the longest wait of a sequence that decodes."""
    plane = Plane(HEIGHTS["ways"], "time", x_units=format.SECONDS, x_log=False, y_log=False)
    return layers.spec(
        plane,
        "Steps over time, three ways",
        _bars(plane, "datum.prompt>0", "prefill", 0, _BAR),
        _bars(plane, "datum.decoding", "decode", _BAR * 0.3, _BAR * 0.7),
        _waits(plane),
    )


def _bars(plane: Plane, shown: str, meaning: str, low: float, high: float) -> Spec:
    top = f"datum.lane*{_LANE}+{_TOP}"
    some = "format(datum.prompt,',')+(datum.prompt==1?' token':' tokens')+' of the prompt'"
    what = f"(datum.prompt>0?{some}+(datum.decoding?' and ':''):'')"
    long = format.vega(format.SECONDS, "datum.end-datum.start")
    said = f"'step of '+{what}+(datum.decoding?'a token of each sequence':'')+', '+{long}"
    bar = {
        "mark": {"type": "rect", "strokeWidth": 1, "clip": True},
        "encoding": {
            "x": plane.x("start"),
            "x2": {"field": "end"},
            "y": {"value": {"expr": f"{top}+{low}"}},
            "y2": {"value": {"expr": f"{top}+{high}"}},
            "fill": colour(meaning),
            "stroke": colour("paper"),
            "description": {"value": {"expr": said}},
        },
    }
    return layers.over("bars", bar, transform=[{"filter": shown}])


def _waits(plane: Plane) -> Spec:
    heading = at("0", f"datum.lane*{_LANE}+{_TOP}-8")
    below = f"datum.lane*{_LANE}+{_TOP + _BAR + 8}"
    start, end = plane.px("datum.start"), plane.px("datum.end")
    text = "'waits '+datum.wait_text"
    fits = f"({end}+8+{text_width(text)}<width)"
    bracket = [
        _bracket({"x": along("start"), "x2": {"field": "end"}, "y": _pixels(below)}),
        *(_bracket({"x": along(f), "y": _pixels(f"{below}-4"), "y2": _pixels(f"{below}+4")}) for f in ("start", "end")),
    ]
    beside = at(f"{fits}?{end}+8:{start}-8", f"{below}+5")
    show = f"{fits}||{start}-8>{text_width(text)}"
    return layers.over(
        "waits",
        *bracket,
        layers.label(layers.either("datum.text", "datum.short"), "ink", heading, weight=600),
        layers.label(text, "decode text", beside, align=f"{fits}?'left':'right'", weight=600, show=show),
    )


def _bracket(where: Spec) -> Spec:
    return {"mark": {"type": "rule", "strokeWidth": 2, "aria": False}, "encoding": {**where, "stroke": colour("ink")}}


def _pixels(expression: str) -> Spec:
    return {"value": {"expr": expression}}


@st.cache_resource(show_spinner=False)
def chunk_spec() -> Spec:
    """Time of a step against the tokens of a prompt in it, beside the decodes: from where on it computes."""
    plane = Plane(
        HEIGHTS["chunk"], "tokens of the prompt in the step", "time of the step", y_units=format.SECONDS, y_ticks=FINE
    )
    return layers.spec(
        plane,
        "Time of a step against the tokens of a prompt in it",
        _chunk_curves(plane),
        *_chunk_rules(plane),
        _chunk_ends(plane),
        _chunk_mark(plane),
    )


def _chunk_curves(plane: Plane) -> Spec:
    x, y = along("chunk"), along("seconds")
    axes = {"x": plane.x("chunk"), "y": plane.y("seconds")}

    def curve(name: str, mark: Spec, **more: Spec) -> Spec:
        return {"transform": layers.only("curve", name), "mark": mark, "encoding": {"x": x, "y": y, **more}}

    band = {"type": "area", "opacity": 0.2, "clip": True, "aria": False}
    return layers.over(
        "curve",
        curve("estimate", band, y=along("low"), y2={"field": "high"}, fill=colour("muted")),
        curve("weights", layers.line(1.5, [5, 4]), stroke=colour("muted")),
        curve("floor", layers.line(4), stroke=colour_field("meaning"), detail={"field": "segment"}, **axes),
        curve("estimate", layers.line(3), stroke=colour("ink")),
    )


def _chunk_rules(plane: Plane) -> list[Spec]:
    """From the ends and the page's chunk down to the axis; before all names, so that none is crossed out."""
    rules = {"room": "at", "own": "chunk"}
    return [
        layers.over(name, layers.rule(plane, at, dash=[2, 3], top=plane.py("datum.seconds")))
        for name, at in rules.items()
    ]


def _chunk_ends(plane: Plane) -> Spec:
    """Where arithmetic becomes the longer side, counted two ways, each with a row of its own for its name."""
    words = layers.either("datum.text", "datum.short")
    row = f"{layers.from_bottom(plane, 1)}-datum.lane*{layers.TYPE_LINE}"
    return layers.over(
        "room",
        layers.point("at", "seconds", "paper", "datum.text"),
        layers.named(plane, "datum.at", words, row, side="left"),
    )  # fmt: skip


def _chunk_mark(plane: Plane) -> Spec:
    """The page's chunk, and the names of the curves at their left ends, where they lie apart if anywhere."""
    estimated, floor = "datum.estimates", plane.py("datum.floor_start")
    apart = f"({plane.py('datum.weights_start')}-{floor}>{layers.TYPE_LINE}*({estimated}?3:2))"
    estimate = at("8", f"{plane.py('datum.estimate_start')}-9")
    floor_y = f"{floor}+({estimated}||datum.rises?{layers.TYPE_LINE}+3:-9)"
    return layers.over(
        "own",
        layers.label("datum.floor_name", "memory", at("8", floor_y), weight=600),
        layers.label("'the estimate'", "ink", estimate, weight=600, show=estimated),
        layers.label("'weights alone'", "muted", at("8", f"{plane.py('datum.weights_start')}-7"), show=apart),
        layers.point("chunk", "seconds", "prefill", "datum.text", "diamond"),
        layers.named(plane, "datum.chunk", "datum.text", layers.from_bottom(plane, 0)),
    )  # fmt: skip


# ---- speculative decoding --------------------------------------------------------------------------------------


@st.cache_resource(show_spinner=False)
def drafts_spec() -> Spec:
    """Break-even acceptance of drafts against the batch."""
    plane = Plane(
        HEIGHTS["drafts"],
        layers.BATCH,
        "of the drafts accepted",
        y_units=_PERCENT,
        y_log=False,
        y_ticks=(0, 0.25, 0.5, 0.75, 1),
    )
    bare, axes = (
        {"x": along("batch"), "y": along("acceptance")},
        {"x": plane.x("batch"), "y": plane.y("acceptance")},
    )
    under = {
        "mark": {"type": "area", "opacity": 0.14, "clip": True, "aria": False},
        "encoding": {**bare, "y2": {"datum": 0}, "fill": colour("muted")},
    }

    def curve(name: str, mark: Spec, meaning: str) -> Spec:
        return {
            "transform": layers.only("curve", name),
            "mark": mark,
            "encoding": {**(axes if name == "own" else bare), "stroke": colour(meaning)},
        }

    return layers.spec(
        plane,
        "Acceptance that drafting needs against the batch",
        layers.over(
            "curve",
            {"transform": layers.only("curve", "own"), **under},
            curve("beside", layers.line(1.5, [5, 4]), "muted"),
            curve("own", layers.line(4), "decode"),
        ),
        *layers.wall(plane, layers.from_top(1)),
        _drafts_mark(plane),
    )


def _drafts_mark(plane: Plane) -> Spec:
    own_end, beside_end = plane.py("datum.own_end"), plane.py("datum.beside_end")
    beside_x = plane.px("datum.beside_at")
    clear = "&&".join(
        (
            f"abs({own_end}-{beside_end})>{layers.TYPE_LINE}*1.6",
            f"{beside_x}>{text_width('datum.beside_name')}+8",
            f"({beside_end}>{layers.from_top(3)}+12||{beside_x}>0.7*width)",
        )
    )
    beside = at(f"{beside_x}-4", f"{beside_end}-8")
    first_row = at("24", layers.from_top(2))
    above = "'above the line drafting pays, below it costs more than it gives'"
    return layers.over(
        "own",
        layers.label(layers.either(above, "'above the line it pays'"), "decode text", first_row, weight=600),
        layers.label("datum.beside_name", "muted", beside, align="'right'", show=clear),
        layers.rule(plane, "batch", dash=[2, 3]),
        layers.point("batch", "acceptance", "decode", "datum.text"),
        layers.named(
            plane, "datum.batch", layers.either("datum.text", "datum.short"), layers.from_top(0), wall="datum.wall"
        ),
    )  # fmt: skip
