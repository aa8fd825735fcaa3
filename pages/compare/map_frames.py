"""The data of the map: cells, a lattice of values, the frontier, and where the page stands."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pages.compare import map_words as words
from pages.compare.map_numbers import Map
from pages.parts.datasets import Dataset, nothing, row, rows, table

HEIGHT = 420
_ACROSS = {False: (0.1, 0.3, 0.5, 0.7, 0.9), True: (0.17, 0.5, 0.83)}  # on a phone or not: where values are written
_UP, _BETWEEN = (0.12, 0.37, 0.63, 0.88), (0.25, 0.5, 0.75)  # rows of values, and where there are none
_WIDTH = {False: 760, True: 310}  # px across that are likely, on a phone or not
_ROOM = 0.13, 0.3  # of the rows and of the columns, that a value with a name above it fills at most
_LARGE = 0.1  # of the map: a side that has its name even where the line touches it
_NEAR, _EDGE = 0.2, 0.06  # shares of the map: what is near the page's own place, and near an edge


def picture(chart: Map) -> dict[str, Dataset]:
    """Everything that the map draws."""
    x, y = chart.edges(chart.x), chart.edges(chart.y)
    frame = {"left": x[0], "right": x[-1], "bottom": y[0], "top": y[-1], **_marks(chart, x, y)}
    pieces, own = chart.frontier, (float(chart.here[chart.x]), float(chart.here[chart.y]))
    line = {"x": pieces[:, 0, 0], "y": pieces[:, 0, 1], "x2": pieces[:, 1, 0], "y2": pieces[:, 1, 1]}
    return {
        "frame": row(**{name: float(value) for name, value in frame.items()}),
        "cells": table(_cells(chart, x, y)),
        "values": rows([one for phone in (False, True) for one in _lattice(chart, x, y, phone=phone)]),
        "frontier": table(line) if len(pieces) else nothing(*line),
        "here": row(
            x=own[0],
            y=own[1],
            meaning="prefill" if chart.prefill else "decode",
            shape="diamond" if chart.prefill else "circle",
            text=f"here: {words.cell(chart, chart.own_value, 3)}",
            leftward=_on_the_line(chart, x, y, own, _Box(8, 110, 4, 26)),
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
        "expects": floors.expects_experts.astype(float),
    }  # fmt: skip
    return {name: np.ravel(values) for name, values in columns.items()}


_Cell = tuple[int, int]  # row and column


class _Box(NamedTuple):
    """Px from a place."""

    left: float
    right: float
    below: float
    above: float
    phone: bool = False


def _shares(points: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Places as shares of the map, from its lower left corner."""
    low, high = np.log([x[0], y[0]]), np.log([x[-1], y[-1]])
    shares: np.ndarray = (np.log(points) - low) / (high - low)
    return shares


def _marks(chart: Map, x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Where the page stands, and where the line has its name: away from the page and from the rows of values."""
    here = np.array([chart.here[chart.x], chart.here[chart.y]], dtype=np.float64)
    found = {"here_x": here[0], "here_y": here[1], "name_x": np.nan, "name_y": np.nan, "rising": 0.0}
    pieces = chart.frontier
    if len(pieces):
        points = pieces.reshape(-1, 2)
        places = _shares(points, x, y)
        poor = np.abs(places[:, 1:] - np.array(_BETWEEN)).min(axis=1)
        poor += np.abs(places - _shares(here, x, y)).max(axis=1) < _NEAR
        poor += ((places < _EDGE) | (places > 1 - _EDGE)).any(axis=1)
        best = int(poor.argmin())
        along = pieces[best // 2, 1] - pieces[best // 2, 0]
        found |= {"name_x": points[best, 0], "name_y": points[best, 1], "rising": float(along.prod() > 0)}
    return found


def _on_the_line(chart: Map, x: np.ndarray, y: np.ndarray, place: tuple[float, float], box: _Box) -> bool:
    """Whether the line runs through a box of px around a place, on a page of the width that is likely."""
    pieces = chart.frontier
    line = np.concatenate([pieces[:, 0], np.sqrt(pieces[:, 0] * pieces[:, 1]), pieces[:, 1]])
    size = np.array([_WIDTH[box.phone], HEIGHT])
    off = (_shares(line, x, y) - _shares(np.array(place), x, y)) * size
    within = (off[:, 0] > box.left) & (off[:, 0] < box.right) & (off[:, 1] > box.below) & (off[:, 1] < box.above)
    return bool(within.any())


def _lattice(chart: Map, x: np.ndarray, y: np.ndarray, *, phone: bool) -> list[dict[str, Any]]:
    """Values written into a few cells that the line does not cut, and in the strongest of either side its name."""
    columns, lines = (_at(edges, shares) for edges, shares in ((x, _ACROSS[phone]), (y, _UP)))
    beyond = np.log(chart.cells.compute_seconds / chart.cells.memory_seconds)
    around = _Box(-38, 38, -12, 12, phone)

    def place(cell: _Cell) -> tuple[float, float]:
        i, j = cell
        return float(np.sqrt(x[j] * x[j + 1])), float(np.sqrt(y[i] * y[i + 1]))

    def clear(cell: _Cell) -> bool:
        return not _on_the_line(chart, x, y, place(cell), around)

    here = int(np.argmin(np.abs(np.log(chart.ys / chart.here[chart.y]))))
    chosen, names = [cell for cell in ((i, j) for i in lines for j in columns) if clear(cell)], {}
    for side, sign in (("compute", 1), ("memory", -1)):
        own = [cell for cell in chosen if sign * beyond[cell] > 0]
        if not own:
            mask = sign * beyond > 0
            spare = [cell for cell in _spare(mask, lines, here) if clear(cell) or mask.mean() > _LARGE][:1]
            chosen = [*(cell for cell in chosen if all(_apart(cell, one, mask.shape) for one in spare)), *spare]
            own = spare
        if own:
            names[max(own, key=lambda cell: sign * beyond[cell])] = f"{side}-bound"
    return [
        {
            "x": place(cell)[0],
            "y": place(cell)[1],
            "text": words.cell(chart, float(chart.values[cell])),
            "region": names.get(cell, ""),
            "phone": phone,
        }
        for cell in chosen
    ]


def _spare(side: np.ndarray, lines: list[int], here: int) -> list[_Cell]:
    """Cells for the name of a side that no value is written on: in its rows of values, far from the page's, or between.

    In each row the middle one, and last the one that is nearest to the middle of all.
    """
    cells = np.argwhere(side)
    if not len(cells):
        return []
    rows = sorted((line for line in lines if side[line].any()), key=lambda line: -abs(line - here))
    nearest = cells[np.abs(cells - cells.mean(axis=0)).sum(axis=1).argmin()]
    middles = [(row, int(np.flatnonzero(side[row])[side[row].sum() // 2])) for row in rows]
    return [*middles, (int(nearest[0]), int(nearest[1]))]


def _apart(cell: _Cell, other: _Cell, shape: tuple[int, ...]) -> bool:
    """Whether what is written into two cells cannot meet."""
    return any(abs(a - b) > size * share for a, b, size, share in zip(cell, other, shape, _ROOM, strict=True))


def _at(edges: np.ndarray, shares: tuple[float, ...]) -> list[int]:
    """Cells at these shares of an axis."""
    logs = np.log(edges)
    places = logs[0] + np.array(shares) * (logs[-1] - logs[0])
    return list(dict.fromkeys(int(i) for i in np.clip(np.searchsorted(logs, places) - 1, 0, len(edges) - 2)))
