"""What the classical roofline is drawn from: points (operations and whole steps), roofs, and where the labels go."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from costmodel.dtypes import DTYPES
from pages.parts import format
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


def roof_data(r: Roofline) -> dict[str, pd.DataFrame]:
    """Datasets of the picture."""
    found, lines = points(r), roofs(r)
    corners = frame(r, found, lines)
    return {"frame": corners, "roofs": lines, "points": found, "names": names(r, found, lines, corners.iloc[0])}


# ---- points --------------------------------------------------------------------------------------------------


def points(r: Roofline) -> pd.DataFrame:
    """Operations of the decode step and of the prefill, and whole steps: FLOPs, bytes, and the peak of their format.

    ``kind`` is "decode", "prefill" or "step"; ``label`` the short name that the picture writes.
    """
    rows = [row for kind in ("decode", "prefill") for row in _operations(r, kind)]
    many = "" if r.batch == 1 else "s"
    wholes = {
        "decode": "whole decode step",
        "prefill": "whole prefill",
        "mixed": f"chunk of {format.count(r.chunk)} with {format.count(r.batch)} decode{many}",
    }
    for short, name in wholes.items():
        cost = r.price_base(r.steps[short])
        rows.append(_point("step", name, short, cost.flops, cost.bytes, cost.flops / cost.compute_seconds))
    return pd.DataFrame(rows).assign(bandwidth=r.base.hardware.bandwidth)


def _operations(r: Roofline, kind: str) -> list[Row]:
    # On the same chip with memory that takes no time, an operation takes as long as its arithmetic does.
    no_memory = replace(r.base, hardware=r.base.hardware.replace(bandwidth=_NO_TIME))
    arithmetic = no_memory.price(r.steps[kind], r.count).operations
    table = r.price_base(r.steps[kind]).operations.assign(peak=arithmetic["flops"] / arithmetic["seconds"])
    table = table[(table["flops"] > 0) & (table["bytes"] > 0)]
    return [
        _point(kind, name, _SHORT.get(name, name.split(", ")[0]), flops, nbytes, peak)
        for name, flops, nbytes, peak in zip(
            table["name"].astype(str), table["flops"], table["bytes"], table["peak"], strict=True
        )
    ]


def _point(kind: str, name: str, label: str, flops: float, nbytes: float, peak: float) -> Row:  # a row
    return {"kind": kind, "name": name, "label": label, "flops": flops, "bytes": nbytes, "peak": peak}


def roofs(r: Roofline) -> pd.DataFrame:
    """The chip's peaks, formats of the same rate together, the one that computes marked."""
    hw, used = r.base.hardware, DTYPES[r.scenario.formats.compute].unit
    by_rate: dict[float, list[str]] = {}
    for unit, rate in hw.peak.items():
        by_rate.setdefault(rate, []).append(unit)
    rows: list[Row] = [
        {"peak": rate, "formats": ", ".join(sorted(units, key=lambda unit: unit != used)), "used": used in units}
        for rate, units in sorted(by_rate.items())
    ]
    for page in PAGES:
        heights = [-math.log10(row["peak"]) * _NAME_DECADE for row in rows]
        for row, shift in zip(rows, labels.spread(heights, page.type + 3), strict=True):
            row[page.shift] = shift
    return pd.DataFrame(rows).assign(bandwidth=hw.bandwidth)


def _used_peak(lines: pd.DataFrame) -> float:
    return float(lines.loc[lines["used"], "peak"].iloc[0])


def frame(r: Roofline, found: pd.DataFrame, lines: pd.DataFrame) -> pd.DataFrame:
    """One row: the corners of the picture, and the multipliers of the sidebar."""
    intensity, highest = found["flops"] / found["bytes"], float(lines["peak"].max())
    bandwidth = r.base.hardware.bandwidth
    left = min(0.4, float(intensity.min()) / 2)
    last = max(700.0, float(intensity.max()), 2 * highest / bandwidth)
    right = left * (last / left) ** (1 / 0.76)  # the names of the roofs stand in the rest
    corners = {"left": left, "right": right, "bottom": left * bandwidth / 3, "top": 10**DRAGGED * highest}
    return pd.DataFrame([{**corners, "bandwidth_x": r.scenario.bandwidth_x, "compute_x": r.scenario.compute_x}])


# ---- labels --------------------------------------------------------------------------------------------------


def names(r: Roofline, found: pd.DataFrame, lines: pd.DataFrame, corners: Any) -> pd.DataFrame:
    """Labels of the points, each with its lane on a wide page and on a phone."""
    below = [row for kind in ("decode", "prefill") for row in _operation_names(found[found["kind"] == kind])]
    steps = found[found["kind"] == "step"]
    above = [*_step_names(steps), _slope_name(r, steps, _used_peak(lines), corners["left"])]
    for rows, leftward in ((below, False), (above, True)):
        for page in PAGES:
            across, up = (math.log10(corners[b] / corners[a]) for a, b in (("left", "right"), ("bottom", "top")))
            sheet = labels.Sheet(page.width / across, HEIGHT / up, page.type)
            places = [
                labels.Place(math.log10(row["flops"] / row["bytes"] / corners["left"]), row[page.text]) for row in rows
            ]
            roof = _roof(r, lines, sheet, page, corners["left"])
            for row, lane in zip(rows, labels.lanes(places, sheet, roof, leftward=leftward), strict=True):
                row[page.lane] = lane
    return pd.DataFrame([*below, *above])


def _operation_names(some: pd.DataFrame) -> list[Row]:
    """One row a label: operations that stand together share theirs."""
    intensity = (some["flops"] / some["bytes"]).tolist()
    rows = []
    for where, text in labels.clusters(intensity, some["label"].tolist()):
        short = text.split(",", maxsplit=1)[0] + (" …" if "," in text else "")
        rows.append({**_records(some)[intensity.index(where)], "text": text, "short": short})
    return rows


def _step_names(steps: pd.DataFrame) -> list[Row]:
    return [{**row, "text": row["name"], "short": row["label"]} for row in _records(steps)]


def _slope_name(r: Roofline, steps: pd.DataFrame, peak: float, left: float) -> Row:
    """A label of its own for the bandwidth, on the slope where whole steps leave most room."""
    bandwidth = r.base.hardware.bandwidth
    place = _emptiest(left * 3, peak / bandwidth / 2, (steps["flops"] / steps["bytes"]).tolist())
    text = f"{format.byte_rate(bandwidth, 3)}0"  # as wide as whatever the browser may write
    return {**_point("slope", text, text, place, 1.0, peak), "bandwidth": bandwidth, "text": text, "short": text}


def _roof(r: Roofline, lines: pd.DataFrame, sheet: labels.Sheet, page: Page, left: float) -> labels.Roof:
    peak = _used_peak(lines)
    below = [
        math.log10(peak / rate) * sheet.up + shift - 6
        for rate, shift in zip(lines["peak"], lines[page.shift], strict=True)
    ]
    ridge = math.log10(peak / r.base.hardware.bandwidth / left)
    now = ridge + math.log10(r.scenario.compute_x / r.scenario.bandwidth_x)
    return labels.Roof(ridge, now, (page.width - page.margin) / sheet.across, below)


def _emptiest(low: float, high: float, taken: list[float]) -> float:
    """The place between two intensities that is furthest from those taken."""
    places = np.geomspace(low, max(high, low * 1.01), 25)
    apart = np.abs(np.log(places)[:, None] - np.log(taken)[None, :]).min(axis=1)
    return float(places[int(np.argmax(apart))])


def _records(table: pd.DataFrame) -> list[Row]:
    return [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]
