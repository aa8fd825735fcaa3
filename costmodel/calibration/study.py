"""Fit the rates of every measured GPU, operation and format, and judge them on shapes and GPUs they have not seen.

Predictions come from ``Rates`` itself, so what is fitted is what is shipped: there is no second copy of a formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from costmodel.calibration.fitting import Numbers, Problem, errors, fit, tidy
from costmodel.calibration.measurements import READERS
from costmodel.hardware import hardware
from costmodel.rates import GENERAL, Fit, Rates, Sets

Array = NDArray[np.float64]
Columns = Mapping[str, Array]

FOLDS = 5
DECODE_LIKE = 256  # tokens: steps up to here are the decode regime, above it prefill

_BOUNDS = {
    "eb": (0.02, 1.0),
    "ef": (0.02, 1.0),
    "overhead": (1e-6, 1e-3),  # no kernel starts faster, even from a CUDA graph
    "serial": (1e-14, 1e-6),
    "per_item": (1e-13, 1e-5),
    "ramp": (1e-10, 1e-2),
}
_LEAST = {name: 1.5 * _BOUNDS[name][0] for name in ("serial", "per_item", "ramp")}
"""Optional times so close to their lower bound are none."""


@dataclass(frozen=True)
class Task:
    """How one operation is fitted.

    Attributes
    ----------
    starts: the numbers that are fitted, and where the search starts.
    shape: columns whose values make up a shape; cross-validation holds out whole shapes.
    size: column that is the tokens of the step, or None for one regime only, named by ``regime``.
    seconds: prices rows with rates, given compute format and stored format.
    fixed: numbers that are not fitted.
    """

    starts: Numbers
    shape: tuple[str, ...]
    seconds: Callable[[Rates, Columns, str, str], Any]
    size: str | None = None
    regime: str = ""
    fixed: Numbers = field(default_factory=dict)

    def fit(self, numbers: Numbers) -> Fit:
        """A fit with these numbers and the fixed ones."""
        values: dict[str, Any] = {**self.fixed, **numbers}
        return Fit(**values)

    def regimes(self, table: pd.DataFrame) -> NDArray[np.str_]:
        """The regime of each row."""
        if self.size is None:
            return np.full(len(table), self.regime)
        return np.where(table[self.size] <= DECODE_LIKE, "decode", "prefill")


TASKS: Mapping[str, Task] = MappingProxyType(
    {
        "matmul": Task(
            {"eb": 0.8, "ef": 0.7, "overhead": 5e-6, "serial": 3e-10},
            ("n", "k"),
            lambda rates, c, compute, stored: rates.matmul(c["m"], c["n"], c["k"], compute, stored),
            size="m",
        ),
        "attention_decode": Task(
            {"eb": 0.9, "overhead": 1e-5, "ramp": 1e-5, "per_item": 2e-9},
            ("q_heads", "kv_heads", "batch"),
            lambda rates, c, compute, _: rates.attention_decode(
                c["batch"], c["kv_len"], c["q_heads"], c["kv_heads"], c["head_dim"], compute
            ),
            regime="decode",
        ),
        "attention_prefill": Task(
            {"eb": 0.5, "ef": 0.6, "overhead": 1e-5, "serial": 5e-9},
            ("q_heads", "kv_heads", "batch"),
            lambda rates, c, compute, _: rates.attention_prefill(
                c["batch"], c["seq_len"], c["q_heads"], c["kv_heads"], c["head_dim"], compute
            ),
            regime="prefill",
        ),
        "mla_decode": Task(
            {"eb": 0.8, "ef": 0.8, "overhead": 1e-5, "ramp": 1e-5},
            ("heads", "batch"),
            lambda rates, c, compute, _: rates.mla("decode", c["batch"], c["tokens"], c["heads"], compute),
            regime="decode",
        ),
        "mla_prefill": Task(
            {"eb": 0.5, "ef": 0.6, "overhead": 1e-5, "serial": 5e-9},
            ("heads", "batch"),
            lambda rates, c, compute, _: rates.mla("prefill", c["batch"], c["tokens"], c["heads"], compute),
            regime="prefill",
        ),
        "moe": Task(
            {"eb": 0.9, "ef": 0.5, "overhead": 2e-5, "per_item": 1e-7},
            ("hidden", "width", "experts", "top_k"),
            lambda rates, c, compute, stored: rates.moe(
                c["tokens"], c["hidden"], c["width"], c["experts"], c["top_k"], compute, stored
            ),
            size="tokens",
        ),
        "all_reduce": Task(
            {"eb": 0.6, "overhead": 5e-6, "per_item": 3e-7, "ramp": 1e-5},
            ("bytes",),
            lambda rates, c, *_: rates.all_reduce(c["bytes"], c["n"]),
            regime="all",
        ),
        "elementwise": Task(
            {"eb": 0.8},
            ("bytes",),
            lambda rates, c, *_: rates.elementwise(c["kernels"], c["bytes"]),
            regime="all",
            fixed={"overhead": 2.5e-6},
        ),
    }
)


@dataclass(frozen=True)
class Group:
    """The measurements of one operation in one format on one GPU, ready to be priced again and again."""

    operation: str
    format: str
    gpu: str
    table: pd.DataFrame

    @property
    def task(self) -> Task:
        """How its operation is fitted."""
        return TASKS[self.operation]

    @cached_property
    def columns(self) -> Columns:
        """The numeric columns of the table, as arrays of floats."""
        return {str(name): column.to_numpy(float) for name, column in self.table.select_dtypes("number").items()}

    def predict(self, rates: Rates) -> Array:
        """Seconds of every row at these rates."""
        stored, _, compute = self.format.partition("@")
        return np.asarray(self.task.seconds(rates, self.columns, compute or stored, stored), dtype=float)

    def predictor(self) -> Callable[[Numbers], Array]:
        """Seconds of every row as a function of the numbers of a fit."""
        hw, key = hardware(self.gpu), (self.operation, self.format)
        return lambda numbers: self.predict(Rates(hw, {key: self.task.fit(numbers)}))

    def part(self, keep: NDArray[np.bool_]) -> Group:
        """The same with some rows only."""
        return replace(self, table=self.table[keep])

    def folds(self) -> NDArray[np.int_]:
        """The fold of each row, whole shapes together."""
        shapes = self.table.groupby(list(self.task.shape), sort=True).ngroup().to_numpy()
        return np.asarray(shapes % FOLDS)

    def weights(self) -> Array:
        """Weight of each row: its own, with the regimes made equal."""
        weight = self.table.weight.to_numpy(float)
        regime = self.task.regimes(self.table)
        for name in np.unique(regime):
            weight = np.where(regime == name, weight / weight[regime == name].sum(), weight)
        return weight


def groups(folder: Path) -> Iterator[Group]:
    """Every operation, format and GPU that the folder has measurements of."""
    for operation, reader in READERS.items():
        for (name, gpu), table in reader(folder).groupby(["format", "gpu"], sort=False):
            yield Group(operation, str(name), str(gpu), table)


def fit_groups(members: list[Group], near: Numbers | None = None) -> dict[str, float]:
    """One set of numbers for several groups of the same operation and format, each group weighing the same.

    ``near``: the numbers of a fit to nearly the same rows, to start from; None: several starts.
    """
    predictors = [group.predictor() for group in members]
    problem = Problem(
        predict=lambda numbers: np.concatenate([predict(numbers) for predict in predictors]),
        measured=np.concatenate([group.table.seconds.to_numpy(float) for group in members]),
        weight=np.concatenate([group.weights() for group in members]),
        bounds=_BOUNDS,
    )
    start = members[0].task.starts
    low = {name: value / 4 if name not in ("eb", "ef") else value for name, value in start.items()}
    # a logarithm cannot leave nothing behind, so a time of nothing starts at a hundredth of a usual one
    starts: list[Numbers] = [start, low]
    if near is not None:
        starts = [{name: max(near[name], start[name] / 100) for name in start}]
    return tidy(fit(problem, starts), _LEAST)


def cross_validated(group: Group, near: Numbers) -> Array:
    """Seconds of each row by a fit that has not seen its shape; the search starts ``near`` the fit to all.

    A group of one shape only has none to learn from instead, and is predicted by the fit to all.
    """
    folds, predicted = group.folds(), np.empty(len(group.table))
    for fold in np.unique(folds):
        held_out = folds == fold
        numbers = near if held_out.all() else fit_groups([group.part(~held_out)], near)
        predicted[held_out] = group.part(held_out).predictor()(numbers)
    return predicted


@dataclass(frozen=True)
class Outcome:
    """A fit, and what it predicts for rows that it was not fitted to.

    Attributes
    ----------
    gpu: id of the GPU, or "general".
    achieved: the numbers. fitted: measurements that they were fitted to.
    rows: the rows that count: gpu, regime, measured, predicted, floor (seconds).
    origin: where the measurements come from.
    """

    operation: str
    format: str
    gpu: str
    achieved: Fit
    fitted: int
    rows: pd.DataFrame
    origin: str

    @property
    def error(self) -> pd.Series:
        """Absolute relative error of each row."""
        return (self.rows.predicted / self.rows.measured - 1).abs()

    def fit(self) -> Fit:
        """The fit as it ships, with its errors."""
        off = errors(self.rows.measured.to_numpy(float), self.rows.predicted.to_numpy(float))
        return replace(
            self.achieved,
            rows=self.fitted,
            **off,
            device=self.gpu,
            source=self.origin,
        )


def own_outcome(group: Group) -> Outcome:
    """Fit one group on its own; predictions hold out shapes."""
    numbers = fit_groups([group])
    rows, achieved = _judged(group, cross_validated(group, numbers)), group.task.fit(numbers)
    return Outcome(group.operation, group.format, group.gpu, achieved, len(group.table), rows, origin(group.table))


def general_outcome(members: list[Group]) -> Outcome:
    """Fit one set for all GPUs; predictions hold out the whole GPU (or shapes, where only one was measured)."""
    if len(members) == 1:
        return replace(own_outcome(members[0]), gpu=GENERAL)
    numbers, rows = fit_groups(members), []
    for group in members:
        others = fit_groups([other for other in members if other is not group], numbers)
        rows.append(_judged(group, group.predictor()(others)))
    table, first = pd.concat([group.table for group in members]), members[0]
    achieved = first.task.fit(numbers)
    return Outcome(first.operation, first.format, GENERAL, achieved, len(table), pd.concat(rows), origin(table))


def _judged(group: Group, predicted: Array) -> pd.DataFrame:
    floor = group.predict(Rates.datasheet(hardware(group.gpu)))
    table = pd.DataFrame(
        {
            "gpu": group.gpu,
            "regime": group.task.regimes(group.table),
            "measured": group.table.seconds.to_numpy(float),
            "predicted": predicted,
            "floor": floor,
        }
    )
    counts = group.table.counts.to_numpy(bool)
    return table[counts] if counts.any() else table


def study(folder: Path) -> list[Outcome]:
    """All fits: each GPU's own, and the general ones."""
    everything = list(groups(folder))
    kinds = dict.fromkeys((group.operation, group.format) for group in everything)
    alike = ([group for group in everything if (group.operation, group.format) == kind] for kind in kinds)
    return [own_outcome(group) for group in everything] + [general_outcome(members) for members in alike]


def as_sets(outcomes: Iterable[Outcome]) -> Sets:
    """The fits by GPU, as ``rates.serve`` wants them."""
    sets: dict[str, dict[tuple[str, str], Fit]] = {}
    for outcome in outcomes:
        sets.setdefault(outcome.gpu, {})[outcome.operation, outcome.format] = outcome.fit()
    return sets


_PROJECTS = {
    "aic": "ai-dynamo/aiconfigurator@095f58a (Apache-2.0)",
    "vidur": "microsoft/vidur@7d47513 (MIT)",
    "llmservingsim": "casys-kaist/LLMServingSim@5daddb2 (MIT)",
}


def origin(table: pd.DataFrame) -> str:
    """The projects that published the rows, and the engines and versions that they measured."""
    found: dict[str, dict[str, None]] = {}
    for tag in table.source.unique():
        project, _, path = str(tag).partition(":")
        found.setdefault(project, {})[" ".join(path.split("/")[-2:] if project == "aic" else [path])] = None
    return "; ".join(f"{_PROJECTS[project]}: {', '.join(sorted(parts))}" for project, parts in found.items())
