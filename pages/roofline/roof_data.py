"""What the classical roofline is drawn from: points (operations and whole steps), roofs, and where the labels go."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from costmodel.dtypes import DTYPES
from pages.parts import datasets, format
from pages.roofline import labels
from pages.roofline.numbers import Roofline
from pages.roofline.time_data import DRAGGED

HEIGHT = 320  # px of the plot
_NO_TIME = 1e23  # bytes a second: memory that takes no time
_NAME_DECADE = 60  # px a decade up: about what the pictures have
_SHORT = {"q, k, v projections": "projections", "o projection": "projections", "gate, up": "MLP", "down": "MLP"}

Row = dict[str, Any]


@dataclass(frozen=True)
class Page:
    """A width of page that labels are laid out for: px of the plot and of its type, and the columns for it."""

    width: float
    type: float
    margin: float  # px at the right where the names of the roofs stand
    text: str
    lane: str
    shift: str


PAGES = (Page(850, 14, 160, "text", "lane", "shift"), Page(300, 11, 70, "short", "lane_phone", "shift_phone"))


@lru_cache(maxsize=64)
def roof_data(r: Roofline) -> dict[str, datasets.Dataset]:
    """Datasets of the picture, made once for everybody who looks at it."""
    found, lines = points(r), roofs(r)
    corners = frame(r, found, lines)
    some = {"frame": [corners], "roofs": lines, "points": found, "names": names(r, found, lines, corners)}
    return {name: datasets.rows(rows) for name, rows in some.items()}


# ---- points --------------------------------------------------------------------------------------------------


def points(r: Roofline) -> list[Row]:
    """Operations of the decode step and of the prefill, and whole steps: FLOPs, bytes, and the peak of their format.

    ``kind`` is "decode", "prefill" or "step"; ``label`` the short name that the picture writes.
    """
    rows = [row for kind in ("decode", "prefill") for row in _operations(r, kind)]
    wholes = {
        "decode": "whole decode step",
        "prefill": "whole prefill",
        "mixed": f"chunk of {format.count(r.chunk)} with {format.many(r.batch, 'decode')}",
    }
    for short, name in wholes.items():
        cost = r.base_costs[short]
        rows.append(_point(r, "step", (name, short), cost.flops, cost.bytes, cost.flops / cost.compute_seconds))
    return rows


def _operations(r: Roofline, kind: str) -> list[Row]:
    # On the same chip with memory that takes no time, an operation takes as long as its arithmetic does.
    no_memory = replace(r.base, hardware=r.base.hardware.replace(bandwidth=_NO_TIME))
    arithmetic = [row["seconds"] for row in no_memory.price(r.steps[kind], r.count).rows]
    rows = []
    for row, seconds in zip(r.base_costs[kind].rows, arithmetic, strict=True):
        if row["flops"] > 0 and row["bytes"] > 0:
            name = row["name"], _SHORT.get(row["name"], row["name"].split(", ")[0])
            rows.append(_point(r, kind, name, row["flops"], row["bytes"], row["flops"] / seconds))
    return rows


def _point(r: Roofline, kind: str, name: tuple[str, str], flops: float, nbytes: float, peak: float) -> Row:
    amounts = {"flops": flops, "bytes": nbytes, "peak": peak, "bandwidth": r.base.hardware.bandwidth}
    return {"kind": kind, "name": name[0], "label": name[1], **amounts}


def _intensity(row: Row) -> float:
    return float(row["flops"] / row["bytes"])


# ---- roofs ---------------------------------------------------------------------------------------------------


def roofs(r: Roofline) -> list[Row]:
    """The chip's peaks, formats of the same rate together, the one that computes marked."""
    hw, used = r.base.hardware, DTYPES[r.scenario.formats.compute].unit
    by_rate: dict[float, list[str]] = {}
    for unit, rate in hw.peak.items():
        by_rate.setdefault(rate, []).append(unit)
    rows: list[Row] = []
    for rate, units in sorted(by_rate.items()):
        formats = ", ".join(sorted(units, key=lambda unit: unit != used))
        rows.append({"peak": rate, "formats": formats, "used": used in units, "bandwidth": hw.bandwidth})
    for page in PAGES:
        heights = [-math.log10(row["peak"]) * _NAME_DECADE for row in rows]
        for row, shift in zip(rows, labels.spread(heights, page.type + 3), strict=True):
            row[page.shift] = shift
    return rows


def _used_peak(lines: list[Row]) -> float:
    return next(float(row["peak"]) for row in lines if row["used"])


def frame(r: Roofline, found: list[Row], lines: list[Row]) -> Row:
    """The corners of the picture, and the multipliers of the sidebar."""
    intensities, highest = [_intensity(row) for row in found], float(lines[-1]["peak"])
    bandwidth = r.base.hardware.bandwidth
    left = min(0.4, min(intensities) / 2)
    last = max(700.0, *intensities, 2 * highest / bandwidth)
    right = left * (last / left) ** (1 / 0.76)  # the names of the roofs stand in the rest
    corners = {"left": left, "right": right, "bottom": left * bandwidth / 3, "top": 10**DRAGGED * highest}
    return {**corners, "bandwidth_x": r.scenario.bandwidth_x, "compute_x": r.scenario.compute_x}


# ---- labels --------------------------------------------------------------------------------------------------


def names(r: Roofline, found: list[Row], lines: list[Row], corners: Row) -> list[Row]:
    """Labels of the points, each with its lane on a wide page and on a phone."""
    kinds = [[row for row in found if row["kind"] == kind] for kind in ("decode", "prefill")]
    steps = [row for row in found if row["kind"] == "step"]
    below = [row for some in kinds for row in _operation_names(some)]
    above = [{**row, "text": row["name"], "short": row["label"]} for row in steps]
    above.append(_slope_name(r, steps, _used_peak(lines), corners["left"]))
    across, up = (math.log10(corners[b] / corners[a]) for a, b in (("left", "right"), ("bottom", "top")))
    for page in PAGES:
        sheet = labels.Sheet(page.width / across, HEIGHT / up, page.type)
        roof = _roof(r, lines, sheet, page, corners["left"])
        for rows, leftward in ((below, False), (above, True)):
            places = [labels.Place(math.log10(_intensity(row) / corners["left"]), row[page.text]) for row in rows]
            for row, lane in zip(rows, labels.lanes(places, sheet, roof, leftward=leftward), strict=True):
                row[page.lane] = lane
    return below + above


def _operation_names(some: list[Row]) -> list[Row]:
    """One row a label: operations that stand together share theirs."""
    intensities = [_intensity(row) for row in some]
    rows = []
    for where, text in labels.clusters(intensities, [row["label"] for row in some]):
        short = text.split(",", maxsplit=1)[0] + (" …" if "," in text else "")
        rows.append({**some[intensities.index(where)], "text": text, "short": short})
    return rows


def _slope_name(r: Roofline, steps: list[Row], peak: float, left: float) -> Row:
    """A label of its own for the bandwidth, on the slope where whole steps leave most room."""
    bandwidth = r.base.hardware.bandwidth
    place = _emptiest(left * 3, peak / bandwidth / 2, [_intensity(row) for row in steps])
    text = f"{format.byte_rate(bandwidth, 3)}0"  # as wide as whatever the browser may write
    return {**_point(r, "slope", (text, text), place, 1.0, peak), "text": text, "short": text}


def _roof(r: Roofline, lines: list[Row], sheet: labels.Sheet, page: Page, left: float) -> labels.Roof:
    peak = _used_peak(lines)
    below = [math.log10(peak / row["peak"]) * sheet.up + row[page.shift] - 6 for row in lines]
    ridge = math.log10(peak / r.base.hardware.bandwidth / left)
    now = ridge + math.log10(r.scenario.compute_x / r.scenario.bandwidth_x)
    return labels.Roof(ridge, now, (page.width - page.margin) / sheet.across, below)


def _emptiest(low: float, high: float, taken: list[float]) -> float:
    """The place between two intensities that is furthest from those taken."""
    places = np.geomspace(low, max(high, low * 1.01), 25)
    apart = np.abs(np.log(places)[:, None] - np.log(taken)[None, :]).min(axis=1)
    return float(places[int(np.argmax(apart))])
