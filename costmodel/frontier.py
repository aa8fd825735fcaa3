"""Where two sides of a plane meet: the line along which a step's memory takes as long as its arithmetic.

Source: the two sides of the floor of ``costmodel.price``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Excess = Callable[[Array, Array], Array]
"""Side A minus side B at points (x, y), given as two arrays of one shape."""
Direction = Literal["x", "y"]

_SETTLED = 1e-12  # of the greatest excess at the ends of the edges: what is left where the search ends
_FALSE_POSITIONS, _MOST_TURNS = 20, 60


class Edge(NamedTuple):
    """An edge of the mesh, from the sample at (row, column) to the next one in a direction."""

    direction: Direction
    row: int
    column: int


def crossings(
    excess: Excess, xs: Array, ys: Array, sampled: Array, along: str = "xy"
) -> Mapping[Edge, tuple[float, float]]:
    """The point (x, y) at which ``excess`` changes its sign, on each edge of a mesh whose ends differ in sign.

    ``sampled`` holds ``excess`` at ``ys`` (rows) and ``xs`` (columns), both above 0 and rising. ``along``: directions
    of the edges that are searched; a plane that only exists at some values of y is searched along x. The points are
    found by a search along the logarithm of the edge, not read off the mesh. Two changes on one edge cancel out and
    are missed.
    """
    above = np.asarray(sampled) > 0
    changes = {"x": above[:, :-1] != above[:, 1:], "y": above[:-1] != above[1:]}
    edges = [
        Edge(direction, int(row), int(column))
        for direction in ("x", "y")
        if direction in along
        for row, column in np.argwhere(changes[direction])
    ]
    if not edges:
        return {}
    ends = [(e, Edge(e.direction, e.row + (e.direction == "y"), e.column + (e.direction == "x"))) for e in edges]
    low, high = (np.log([(xs[pair[i].column], ys[pair[i].row]) for pair in ends]) for i in (0, 1))
    at_low, at_high = (np.array([sampled[pair[i].row, pair[i].column] for pair in ends]) for i in (0, 1))
    return dict(zip(edges, map(tuple, np.exp(_settled(excess, (low, high), (at_low, at_high))).tolist()), strict=True))


def _settled(excess: Excess, ends: tuple[Array, Array], values: tuple[Array, Array]) -> Array:
    """Where the sign changes between two ends, (edges, 2) in logarithms, that have ``values`` of different signs.

    The rule of false position with halved weights (Illinois; Dowell and Jarratt, BIT 1971), then, for what it does not
    settle (a jump), the middle.
    """
    (low, high), (at_low, at_high) = ends, values
    small = _SETTLED * max(np.abs(at_low).max(), np.abs(at_high).max())
    between, last = low, np.full(at_low.shape, 2)  # 2: neither end was moved last
    for turn in range(_MOST_TURNS):
        share = at_low / (at_low - at_high) if turn < _FALSE_POSITIONS else np.full_like(at_low, 0.5)
        between = low + (high - low) * share[:, None]
        found = excess(*np.exp(between.T))
        if np.abs(found).max() <= small:
            break
        lower = (found > 0) == (at_low > 0)
        low, high = np.where(lower[:, None], between, low), np.where(lower[:, None], high, between)
        weight = np.where(lower == last, 0.5, 1.0)  # of the end that stays where it is for the second time
        at_low, at_high = np.where(lower, found, weight * at_low), np.where(lower, weight * at_high, found)
        last = lower.astype(int)
    return between


def frontier(excess: Excess, xs: Array, ys: Array, sampled: Array) -> Array:
    """The line on which ``excess`` is 0, as straight pieces between exact points: (pieces, 2 ends, x and y).

    Within each square of the mesh the crossings of its edges are joined (marching squares, after Lorensen and Cline,
    SIGGRAPH 1987): only the pieces between the points are straight. No pieces: it does not cross here.

    >>> xs = ys = np.array([1.0, 10.0, 100.0])
    >>> pieces = frontier(lambda x, y: x - 20 * np.ones_like(y), xs, ys, np.tile(xs - 20, (3, 1)))
    >>> np.round(pieces, 6).tolist()
    [[[20.0, 1.0], [20.0, 10.0]], [[20.0, 10.0], [20.0, 100.0]]]
    """
    found = crossings(excess, xs, ys, sampled)
    squares = dict.fromkeys(
        (edge.row - down, edge.column - left)
        for edge in found
        for down, left in ((0, 0), (1, 0) if edge.direction == "x" else (0, 1))
        if 0 <= edge.row - down < len(ys) - 1 and 0 <= edge.column - left < len(xs) - 1
    )
    pieces: list[list[tuple[float, float]]] = []
    for row, column in squares:
        around = Edge("x", row, column), Edge("y", row, column + 1), Edge("x", row + 1, column), Edge("y", row, column)
        ends = [found[edge] for edge in around if edge in found]
        pieces += [ends[i : i + 2] for i in range(0, len(ends), 2)]
    return np.array(pieces, dtype=np.float64).reshape(-1, 2, 2)
