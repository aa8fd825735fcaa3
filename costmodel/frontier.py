"""Where two sides of a plane meet: the line along which a step's memory takes as long as its arithmetic."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Excess = Callable[[Array, Array], Array]
"""Side A minus side B at points (x, y), given as two arrays of one shape."""

_HALVINGS = 44  # of the step between two samples: to the last digits of a float


def frontier(excess: Excess, xs: Array, ys: Array, sampled: Array) -> Array:
    """The line on which ``excess`` is 0, as straight pieces between exact points: (pieces, 2 ends, x and y).

    ``sampled`` holds ``excess`` at ``ys`` (rows) and ``xs`` (columns), both above 0 and rising. Each edge of that mesh
    whose ends differ in sign is searched for the point in between where the sign changes, by halving its logarithm;
    within a square of the mesh the points on its edges are joined (marching squares, after Lorensen and Cline,
    SIGGRAPH 1987). Only the pieces between the points are straight: the points themselves are not read off the mesh.
    A line that leaves a square by the side it came in by is missed. No pieces: it does not cross here.

    >>> xs = ys = np.array([1.0, 10.0, 100.0])
    >>> pieces = frontier(lambda x, y: x - 20 * np.ones_like(y), xs, ys, np.tile(xs - 20, (3, 1)))
    >>> np.round(pieces, 9).tolist()
    [[[20.0, 1.0], [20.0, 10.0]], [[20.0, 10.0], [20.0, 100.0]]]
    """
    above = sampled > 0
    along_x = _crossings(excess, above[:, :-1] != above[:, 1:], xs, ys, axis=1)
    along_y = _crossings(excess, above[:-1] != above[1:], xs, ys, axis=0)
    pieces: list[list[tuple[float, float]]] = []
    for row, column in np.argwhere(_cut(above)):
        around = (
            along_x.get((row, column)),
            along_y.get((row, column + 1)),
            along_x.get((row + 1, column)),
            along_y.get((row, column)),
        )
        ends = [point for point in around if point is not None]
        pieces += [ends[i : i + 2] for i in range(0, len(ends), 2)]
    return np.array(pieces, dtype=np.float64).reshape(-1, 2, 2)


def _cut(above: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Squares of the mesh whose corners do not all lie on one side."""
    corners = np.stack([above[:-1, :-1], above[:-1, 1:], above[1:, :-1], above[1:, 1:]])
    cut: NDArray[np.bool_] = np.logical_xor(corners.any(axis=0), corners.all(axis=0))
    return cut


def _crossings(
    excess: Excess, changes: NDArray[np.bool_], xs: Array, ys: Array, axis: int
) -> dict[tuple[int, int], tuple[float, float]]:
    """The point on each edge (row, column) along one axis at which the sign changes."""
    rows, columns = np.nonzero(changes)
    if not rows.size:
        return {}
    moving = (ys, xs)[axis]
    at = (rows, columns)[axis]
    low, high = np.log(moving[at]), np.log(moving[at + 1])

    def above(where: Array) -> NDArray[np.bool_]:
        along = np.exp(where)
        point = (along, ys[rows]) if axis == 1 else (xs[columns], along)
        return excess(*point) > 0

    starts_above = above(low)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        before = above(middle) == starts_above
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    found = np.exp(high)
    points = zip(found, ys[rows], strict=True) if axis == 1 else zip(xs[columns], found, strict=True)
    return {
        (int(row), int(column)): (float(x), float(y)) for row, column, (x, y) in zip(rows, columns, points, strict=True)
    }
