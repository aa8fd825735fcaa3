"""Layers that the charts of several pages share, each over a dataset of the run.

Labels keep apart by a rule: every vertical line has its name in a row of its own, in a strip that the curves leave
free; names of curves stand at their right ends; the label of a mark goes where its curve cannot go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pages.parts import chart
from pages.parts.chart import PHONE, Spec, along, at, colour, text_width
from pages.parts.datasets import Dataset
from pages.parts.plane import Plane

BATCH = "B, sequences decoding together"
TYPE_LINE = "(type+4)"  # px of a line of type


def spec(plane: Plane, title: str, *layers: Spec) -> Spec:
    """A chart in a plane, with a title for whoever cannot see it."""
    return {**chart.spec(*layers, height=plane.height, params=plane.params), "description": title}


def draw(spec: Spec, data: Mapping[str, Dataset], *, key: str, message: str) -> None:
    """Draw a chart; ``message`` says what it shows, with its figures."""
    chart.draw(spec, data, key=key, alt=message)


def either(text: str, short: str) -> str:
    """Expression of the words on a wide page, or on a phone."""
    return f"({PHONE}?{short}:{text})"


def only(field: str, value: str) -> list[Spec]:
    """A transform that keeps the rows of one value."""
    return [{"filter": f"datum.{field}=='{value}'"}]


def line(width: float, dash: list[int] | None = None) -> Spec:
    """The mark of a curve."""
    dashed = {"strokeDash": dash} if dash else {}
    return {"type": "line", "strokeWidth": width, "clip": True, "aria": False, **dashed}


def over(data: str, *layers: Spec, transform: list[Spec] | None = None) -> Spec:
    """Layers over one dataset."""
    return {"data": {"name": data}, "transform": transform or [], "layer": list(layers)}


def label(words: str, meaning: str, where: Spec, **more: Any) -> Spec:
    """Text as ``chart.label`` sets it; long expressions, which Vega would write out several times, become columns."""
    long = {"words": words, **{f"at_{axis}": where[axis]["value"]["expr"] for axis in where}, **more}
    columns = {name: text for name, text in long.items() if isinstance(text, str) and len(text) > _LONG}
    short = {name: f"datum.{name}" if name in columns else text for name, text in long.items()}
    place = at(*(short.pop(f"at_{axis}") if axis in where else None for axis in ("x", "y")))
    drawn: Spec = chart.label(short.pop("words"), meaning, place, **short)  # type: ignore[arg-type]  # checked
    return {"transform": chart.calculate(**columns), **drawn}


_LONG = 24  # letters of an expression that is worth a column of its own


def rule(plane: Plane, field: str, *, width: float = 1.5, dash: list[int] | None = None, top: str = "0") -> Spec:
    """A vertical line at a field of the data, from ``top`` (px) down to the axis."""
    mark = {"type": "rule", "strokeWidth": width, "aria": False, **({"strokeDash": dash} if dash else {})}
    ends = {"y": {"value": {"expr": top}}, "y2": {"value": plane.height}}
    return {"mark": mark, "encoding": {"x": along(field), **ends, "stroke": colour("ink")}}


def named(plane: Plane, value: str, text: str, row: str, *, side: str = "right", wall: str = "0") -> Spec:
    """The name of a vertical line, in a row of its own (px from the top), beside its line.

    It stands on ``side``, but on the other where there is no room, or where the ``wall`` would go through it; where
    neither will do, beyond the wall.
    """
    other = "left" if side == "right" else "right"
    columns = {
        "words": text,
        "here": plane.px(value),
        "there": plane.px(wall),
        "wide": f"{text_width('datum.words')}+9",
        "room_right": "datum.here+datum.wide<width",
        "room_left": "datum.here>datum.wide",
        "free_right": "datum.room_right&&!(datum.there>datum.here&&datum.there<datum.here+datum.wide)",
        "free_left": "datum.room_left&&!(datum.there<datum.here&&datum.there>datum.here-datum.wide)",
        "beyond": "datum.there>datum.here&&datum.there+datum.wide<width",
        "after": f"datum.free_{side}?{_AFTER[side]}:datum.free_{other}?{_AFTER[other]}:datum.beyond?true:"
        f"datum.room_{side}?{_AFTER[side]}:{_AFTER[other]}",
        "beside": "datum.free_right||datum.free_left||!datum.beyond?datum.here:datum.there",
        "at_x": "datum.after?datum.beside+7:datum.here-7",
    }
    drawn = chart.label("datum.words", "ink", at("datum.at_x", row), align="datum.after?'left':'right'", weight=600)
    return {"transform": chart.calculate(**columns), **drawn}


_AFTER = {"right": "true", "left": "false"}


def from_bottom(plane: Plane, lines: int) -> str:
    """Row ``lines`` above the bottom one."""
    return f"{plane.height}-8-{lines}*{TYPE_LINE}"


def from_top(lines: int) -> str:
    """Row ``lines`` below the top one."""
    return f"type+2+{lines}*{TYPE_LINE}"


def wall(plane: Plane, row: str, *, fade: bool = True) -> list[Spec]:
    """Where memory ends: a wall with its name; what lies beyond is faded."""
    beyond = {
        "transform": [{"filter": "datum.some"}],
        "mark": {"type": "rect", "opacity": 0.62, "aria": False},
        "encoding": {
            "x": along("at"),
            "x2": {"value": {"expr": "width"}},
            "y": {"value": 0},
            "y2": {"value": plane.height},
            "fill": colour("paper"),
        },
    }
    name = named(plane, "datum.at", either("datum.text", "datum.short"), row)
    inside = [{"filter": "datum.inside"}]
    return [over("wall", *([beyond] if fade else []), rule(plane, "at", width=3), transform=inside), over("wall", name)]


def point(x: str, y: str, meaning: str, said: str, shape: str = "circle") -> Spec:
    """A mark; ``said`` (an expression) is what a screen reader says of it."""
    return {
        "mark": {"type": "point", "shape": shape, "size": 130, "strokeWidth": 1.6, "opacity": 1, "clip": True},
        "encoding": {
            "x": along(x),
            "y": along(y),
            "fill": colour(meaning),
            "stroke": colour("ink"),
            "description": {"value": {"expr": said}},
        },
    }


def end_name(plane: Plane, text: str, meaning: str, y: str, *, below: bool = False, show: str = "true") -> Spec:
    """The name of a curve at its right end, above it (or below, where it falls)."""
    shift = f"+{TYPE_LINE}+2" if below else "-9"
    return label(text, meaning, at("width-4", f"{plane.py(y)}{shift}"), align="'right'", weight=600, show=show)
