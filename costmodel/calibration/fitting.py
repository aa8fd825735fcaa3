"""A robust fit of a few positive numbers: least absolute logarithmic error, by reweighted damped Gauss-Newton steps.

Kernel times spread over five orders of magnitude and hold outliers of another engine's kernels, so ratios count, not
differences, and absolute deviations, not squares. The numbers are searched as logarithms, which keeps them positive.

Sources: iteratively reweighted least squares, Holland and Welsch 1977; the damping, Marquardt 1963.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Numbers = Mapping[str, float]

_ROUNDS = 80
_NEARLY_EXACT = 0.01  # log error below which a row pulls no harder
_STEP = 1e-4
_LONGEST_STEP = 0.5
_DAMPING = (1e-6, 1e-3, 1e1)  # least, first, and where to give up
_SETTLED = 1e-5  # gain of a step, as a share of the error, below which the search ends


@dataclass(frozen=True)
class Problem:
    """What to fit.

    Attributes
    ----------
    predict: seconds of every row for given numbers. measured: theirs. weight: of each row.
    bounds: lowest and highest value of each number.
    """

    predict: Callable[[Numbers], Array]
    measured: Array
    weight: Array
    bounds: Mapping[str, tuple[float, float]]

    def error(self, numbers: Numbers) -> float:
        """Weighted mean absolute log ratio of predicted to measured."""
        return float(np.average(np.abs(np.log(self.predict(numbers) / self.measured)), weights=self.weight))


def fit(problem: Problem, starts: list[Numbers]) -> dict[str, float]:
    """The numbers of least error found from several starts.

    >>> x = np.array([1.0, 2.0, 3.0])
    >>> line = Problem(lambda p: p["a"] + p["b"] * x, 2 + 3 * x, np.ones(3), {"a": (1e-3, 10), "b": (1e-3, 10)})
    >>> {name: round(value, 2) for name, value in fit(line, [{"a": 1, "b": 1}]).items()}
    {'a': 2.0, 'b': 3.0}
    """
    return min((_descend(problem, start) for start in starts), key=problem.error)


def tidy(numbers: Numbers, least: Mapping[str, float]) -> dict[str, float]:
    """Four significant digits, and 0 for what came out below its entry in ``least``: a time that is not there.

    >>> tidy({"eb": 0.812345, "serial": 1.2e-14}, {"serial": 1.5e-14})
    {'eb': 0.8123, 'serial': 0.0}
    """
    rounded = {name: float(f"{value:.4g}") for name, value in numbers.items()}
    return {name: 0.0 if value < least.get(name, 0.0) else value for name, value in rounded.items()}


def errors(measured: Array, predicted: Array) -> dict[str, float]:
    """What a ``Fit`` says of its errors, from seconds that it had not seen: median, p90, low and high.

    >>> errors(np.array([1.0, 2.0, 4.0]), np.array([1.0, 1.0, 4.0]))
    {'median': 0.0, 'p90': 0.4, 'low': 1.0, 'high': 1.8}
    """
    low, high = np.quantile(measured / predicted, (0.1, 0.9))
    median, p90 = np.quantile(np.abs(predicted / measured - 1), (0.5, 0.9))
    said = {"median": median, "p90": p90, "low": min(low, 1.0), "high": max(high, 1.0)}
    return {name: round(float(value), 4) for name, value in said.items()}


def _descend(problem: Problem, start: Numbers) -> dict[str, float]:
    names = list(start)
    low, high = np.log([problem.bounds[name] for name in names]).T
    point = np.clip(np.log([start[name] for name in names]), low, high)
    least, damping, hopeless = _DAMPING
    best = problem.error(_named(names, point))
    for _ in range(_ROUNDS):
        moved = np.clip(point + _step(problem, names, point, damping), low, high)
        error = problem.error(_named(names, moved))
        if error < best:
            settled = best - error < _SETTLED * best
            best, point, damping = error, moved, max(damping / 3, least)
            if settled:
                break
        else:
            damping *= 5
            if damping > hopeless:
                break
    return _named(names, point)


def _step(problem: Problem, names: list[str], point: Array, damping: float) -> Array:
    def residual(at: Array) -> Array:
        return np.asarray(np.log(problem.predict(_named(names, at)) / problem.measured))

    here = residual(point)
    # backwards, because a fraction at its upper bound has no value above
    slopes = np.stack([(here - residual(point - _STEP * unit)) / _STEP for unit in np.eye(len(names))], axis=1)
    pull = problem.weight / np.maximum(np.abs(here), _NEARLY_EXACT)
    normal = slopes.T @ (slopes * pull[:, None])
    damped = normal + np.diag(damping * np.diag(normal) + 1e-12 * pull.sum())
    return np.clip(-np.linalg.solve(damped, slopes.T @ (pull * here)), -_LONGEST_STEP, _LONGEST_STEP)


def _named(names: list[str], point: Array) -> dict[str, float]:
    return dict(zip(names, np.exp(point).tolist(), strict=True))
