"""Charts drawn without a browser: a spec and its data through vl-convert, and the text that it wrote where."""

from __future__ import annotations

import copy
import itertools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree as ET

import pandas as pd
import pyarrow as pa
import vl_convert

GLYPH = 0.47  # mean width of a letter of the app's own font, in its size
_ASCENT, _DESCENT = 0.72, 0.2
_SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Label:
    """A text that can be seen, and the box that it fills (px)."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Label) -> bool:
        return max(self.left, other.left) < min(self.right, other.right) and max(self.top, other.top) < min(
            self.bottom, other.bottom
        )


def svg(spec: Mapping[str, Any], data: Mapping[str, Any], *, width: float, **params: float | None) -> str:
    """Draw a spec with its data (Arrow or pandas) at a width, its parameters where a hand would have dragged them."""
    drawn: dict[str, Any] = copy.deepcopy(dict(spec))
    for param in drawn.get("params", []):
        if param["name"] in params:
            param["value"] = params[param["name"]]
    drawn |= {"width": width, "autosize": {"type": "none"}, "padding": 60}
    frames = {name: rows.to_pandas() if isinstance(rows, pa.Table) else rows for name, rows in data.items()}
    vega = json.loads(_compiled(json.dumps(drawn | {"datasets": {name: [] for name in frames}})))
    for source in vega["data"]:
        if (rows := frames.get(source["name"])) is not None:
            source["values"] = rows.astype(object).where(rows.notna(), None).to_dict("records")
    return vl_convert.vega_to_svg(vega)


@lru_cache(maxsize=256)
def _compiled(spec: str) -> str:
    """A spec as Vega, as JSON: the same whatever its data are, and a quarter of the time that a drawing takes."""
    return json.dumps(vl_convert.vegalite_to_vega(spec))


def labels(drawn: str) -> list[Label]:
    """Labels inside the plot: neither axis texts nor what is not shown."""
    found: list[Label] = []
    _walk(ET.fromstring(drawn), (0.0, 0.0), found)  # noqa: S314  # our own drawing
    return found


def collisions(drawn: str) -> list[tuple[str, str]]:
    """Pairs of labels that meet."""
    return [(a.text, b.text) for a, b in itertools.combinations(labels(drawn), 2) if a.meets(b)]


def _walk(node: ET.Element, origin: tuple[float, float], found: list[Label]) -> None:
    if "axis" in node.get("class", ""):
        return
    x, y = origin
    if moved := re.match(r"translate\(([-\d.e]+),\s*([-\d.e]+)\)", node.get("transform", "")):
        x, y = x + float(moved[1]), y + float(moved[2])
    if node.tag == f"{_SVG}text":
        _note(node, x, y, found)
        return
    for child in node:
        _walk(child, (x, y), found)


def _note(node: ET.Element, x: float, y: float, found: list[Label]) -> None:
    if float(node.get("opacity", "1")) == 0:
        return
    size = float(str(node.get("font-size", "11px")).removesuffix("px"))
    lines = [span.text or "" for span in node.iter(f"{_SVG}tspan")] or [node.text or ""]
    lines = [line for line in lines if line.strip()]
    if not lines:
        return
    width = max(map(len, lines)) * size * GLYPH
    left = x - {"start": 0.0, "middle": width / 2, "end": width}[node.get("text-anchor", "start")]
    below = (len(lines) - 1) * (size + 4)
    found.append(Label(" / ".join(lines), left, y - _ASCENT * size, left + width, y + below + _DESCENT * size))


def evaluate(expression: str, rows: pd.DataFrame, **params: float | None) -> list[str]:
    """What the browser's interpreter makes of an expression, row by row."""
    spec = {
        "params": [{"name": name, "value": value} for name, value in params.items()],
        "data": {"values": rows.assign(row=range(len(rows))).to_dict("records")},
        "transform": [{"calculate": f"datum.row+'|'+({expression})", "as": "said"}],
        "mark": "text",
        "encoding": {"text": {"field": "said", "type": "nominal"}},
        "width": 10,
        "height": 10,
    }
    drawn = ET.fromstring(vl_convert.vegalite_to_svg(spec))  # noqa: S314  # our own drawing
    said = dict(node.text.split("|", 1) for node in drawn.iter(f"{_SVG}text") if node.text and "|" in node.text)
    return [said[str(row)] for row in range(len(rows))]
