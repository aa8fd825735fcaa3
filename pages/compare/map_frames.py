"""The data of the map: cells, a lattice of values, the frontier, and where the page stands."""

from __future__ import annotations

from typing import Any

import numpy as np

from pages.compare import map_words as words
from pages.compare.map_numbers import Map
from pages.parts.datasets import Dataset, nothing, row, rows, table

HEIGHT = 420
_ACROSS = {False: (0.1, 0.3, 0.5, 0.7, 0.9), True: (0.17, 0.5, 0.83)}  # on a phone or not: where values are written
_UP, _BETWEEN = (0.12, 0.37, 0.63, 0.88), (0.25, 0.5, 0.75)  # rows of values, and where there are none
_NEAR, _EDGE = 0.2, 0.06  # shares of the map: what is near the page's own place, and near an edge


def picture(chart: Map) -> dict[str, Dataset]:
    """Everything that the map draws."""
    x, y = chart.edges(chart.x), chart.edges(chart.y)
    frame = {"left": x[0], "right": x[-1], "bottom": y[0], "top": y[-1], **_marks(chart, x, y)}
    pieces = chart.frontier
    line = {"x": pieces[:, 0, 0], "y": pieces[:, 0, 1], "x2": pieces[:, 1, 0], "y2": pieces[:, 1, 1]}
    return {
        "frame": row(**{name: float(value) for name, value in frame.items()}),
        "cells": table(_cells(chart, x, y)),
        "values": rows([one for phone in (False, True) for one in _lattice(chart, x, y, phone=phone)]),
        "frontier": table(line) if len(pieces) else nothing(*line),
        "here": row(
            x=float(chart.here[chart.x]),
            y=float(chart.here[chart.y]),
            meaning="prefill" if chart.prefill else "decode",
            shape="diamond" if chart.prefill else "circle",
            text=f"here: {words.cell(chart, chart.own_value)}",
        ),
    }


def _cells(chart: Map, x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    across, up = chart.mesh
    left, low = np.meshgrid(x[:-1], y[:-1])
    right, high = np.meshgrid(x[1:], y[1:])
    floors = chart.cells
    columns = {
        "x0": left, "x1": right, "y0": low, "y1": high, "x": across, "y": up,
        "value": chart.values, "opacity": chart.opacity,
        "meaning": np.where(floors.compute_bound, "compute", "memory"),
    }  # fmt: skip
    return {name: np.ravel(values) for name, values in columns.items()}


def _marks(chart: Map, x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Where the page stands, and where the line has its name: away from the page and from the rows of values."""
    here = np.array([chart.here[chart.x], chart.here[chart.y]], dtype=np.float64)
    found = {"here_x": here[0], "here_y": here[1], "name_x": np.nan, "name_y": np.nan}
    points = chart.frontier.reshape(-1, 2)
    if len(points):
        ends = np.log([[x[0], y[0]], [x[-1], y[-1]]])
        places, own = ((np.log(p) - ends[0]) / (ends[1] - ends[0]) for p in (points, here))
        poor = np.abs(places[:, 1:] - np.array(_BETWEEN)).min(axis=1)
        poor += np.abs(places - own).max(axis=1) < _NEAR
        poor += ((places < _EDGE) | (places > 1 - _EDGE)).any(axis=1)
        found["name_x"], found["name_y"] = points[poor.argmin()]
    return found


def _lattice(chart: Map, x: np.ndarray, y: np.ndarray, *, phone: bool) -> list[dict[str, Any]]:
    """Values written into a few cells, and in the strongest of either side its name."""
    columns, lines = (_at(edges, shares) for edges, shares in ((x, _ACROSS[phone]), (y, _UP)))
    chosen = [(i, j) for i in lines for j in columns]
    beyond = np.log(chart.cells.compute_seconds / chart.cells.memory_seconds)
    sides = {"compute": max(chosen, key=lambda at: beyond[at]), "memory": min(chosen, key=lambda at: beyond[at])}
    cells = []
    for i, j in chosen:
        side = "compute" if beyond[i, j] > 0 else "memory"
        cells.append(
            {
                "x": float(np.sqrt(x[j] * x[j + 1])),
                "y": float(np.sqrt(y[i] * y[i + 1])),
                "text": words.cell(chart, float(chart.values[i, j])),
                "region": f"{side}-bound" if sides[side] == (i, j) else "",
                "meaning": side,
                "phone": phone,
            }
        )
    return cells


def _at(edges: np.ndarray, shares: tuple[float, ...]) -> list[int]:
    """Cells at these shares of an axis."""
    logs = np.log(edges)
    places = logs[0] + np.array(shares) * (logs[-1] - logs[0])
    return list(dict.fromkeys(int(i) for i in np.clip(np.searchsorted(logs, places) - 1, 0, len(edges) - 2)))
