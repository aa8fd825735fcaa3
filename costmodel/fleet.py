"""One model on many machines at once: the floors of a sweep of steps on all of them, or on a machine in many what-ifs.

The bytes and FLOPs of a step depend on a machine only through the formats that it settles to (bf16, or fp16 on a chip
without it). So they are worked out once for each set of formats, and then divided by every bandwidth and every peak:
the same work, and the same division, that ``price`` does for one machine.

Source: the floor of ``costmodel.price``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from costmodel.errors import ConfigError
from costmodel.hardware import Hardware
from costmodel.model import Model
from costmodel.operations import Count, Work, feature_values, plan
from costmodel.precision import Formats, Precision, settle
from costmodel.price import is_shorter
from costmodel.step import Step

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Floors:
    """Floors of many steps: none is faster than its bytes arrive (of a mixture, those expected), nor its arithmetic.

    Attributes
    ----------
    memory_seconds, compute_seconds: the two sides: bytes over bandwidth, FLOPs over peaks; arrays of one shape.
    bytes, flops: what a step moves and computes on one GPU of the group.
    least_bytes: what it moves where all its tokens are sent to the same experts.
    """

    memory_seconds: Array
    compute_seconds: Array
    bytes: Array
    flops: Array
    least_bytes: Array

    @cached_property
    def seconds(self) -> Array:
        """The longer of the two sides."""
        longer: Array = np.maximum(self.memory_seconds, self.compute_seconds)
        return longer

    @property
    def expects_experts(self) -> NDArray[np.bool_]:
        """Whether a floor rests on the expected number of distinct experts: a step that hits fewer may be faster."""
        memory = self.memory_seconds * self.least_bytes / self.bytes
        shorter: NDArray[np.bool_] = is_shorter(np.maximum(memory, self.compute_seconds), self.seconds)
        return shorter

    @property
    def intensity(self) -> Array:
        """FLOPs for each byte moved."""
        return self.flops / self.bytes

    @property
    def compute_bound(self) -> NDArray[np.bool_]:
        """Whether the arithmetic is the longer side; not where both are equal, nor where there is no price."""
        longer: NDArray[np.bool_] = self.compute_seconds > self.memory_seconds
        return longer


FIELDS = tuple(field.name for field in fields(Floors))
"""Names of the arrays that floors are made of."""


@dataclass(frozen=True, eq=False)
class Fleet(Floors):
    """Floors on many machines, (machines, *shape of the sweep); nan, never 0, where a machine has no price.

    Attributes
    ----------
    machines: the machines, in the order that was asked for: none is left out.
    obstacles: why a machine has no price, a sentence each; "" for those that have one.
    """

    machines: tuple[Hardware, ...]
    obstacles: tuple[str, ...]


def fleet(
    model: Model,
    machines: Sequence[Hardware],
    step: Step,
    *,
    precision: Precision | None = None,
    count: Count = "attention",
    tensor_parallel: int = 1,
) -> Fleet:
    """The floors of ``step``, one or a sweep, on every machine: equal to those of ``price`` with datasheet rates.

    A machine that cannot be priced (no unit for the format, heads that do not divide) keeps its row and says why.

    Raises
    ------
    ConfigError: for a count that is no floor of the whole step.

    >>> import costmodel as cm
    >>> machines = [cm.hardware(name) for name in ("h100-sxm", "t4", "m5-max")]
    >>> priced = fleet(cm.model("qwen3-0.6b"), machines, cm.Step.decode(batch=1, context=2048), count="weights")
    >>> [round(1e6 * seconds) for seconds in priced.seconds[:2]]
    [356, 3725]
    >>> float(priced.seconds[2]), priced.obstacles[2][:45]
    (nan, "compute dtype: found 'bf16', expected a rate ")
    """
    _only_floors(count)
    rows = {name: np.full((len(machines), *step.shape), np.nan) for name in FIELDS}
    groups, obstacles = _by_formats(model, machines, precision)
    for formats, members in groups.items():
        try:
            work, least = _work(model, formats, step, count, tensor_parallel)
        except ConfigError as error:
            obstacles.update(dict.fromkeys(members, str(error)))
            continue
        bandwidth = _column([machines[i].bandwidth for i in members], step)
        peaks = {unit: _column([machines[i].peak_of(unit) for i in members], step) for unit in work.flops_by_dtype}
        memory, compute = work.sides(bandwidth, peaks.__getitem__)
        for name, values in zip(FIELDS, (memory, compute, work.bytes, work.flops, least), strict=True):
            rows[name][members] = values
    return Fleet(**rows, machines=tuple(machines), obstacles=tuple(obstacles.get(i, "") for i in range(len(machines))))


def what_ifs(
    model: Model,
    hw: Hardware,
    step: Step,
    *,
    bandwidth_x: ArrayLike = 1.0,
    compute_x: ArrayLike = 1.0,
    precision: Precision | None = None,
    count: Count = "attention",
    tensor_parallel: int = 1,
) -> Floors:
    """The floors of a sweep on ``hw`` with its bandwidth and its peaks multiplied by factors.

    The factors broadcast against the shape of the sweep, so that two axes of a plane may be any two of what a step is
    made of and what a machine is.

    Raises
    ------
    ConfigError: as ``price`` does, and for a factor that is not a positive number.

    >>> import costmodel as cm
    >>> qwen, h100 = cm.model("qwen3-0.6b"), cm.hardware("h100-sxm")
    >>> floors = what_ifs(qwen, h100, cm.Step.decode([1, 1024], 2048), bandwidth_x=[[1.0], [2.0]], count="weights")
    >>> np.round(1e6 * floors.seconds).tolist(), floors.compute_bound.tolist()
    ([[356.0, 1234.0], [178.0, 1234.0]], [[False, True], [False, True]])
    """
    _only_floors(count)
    more_bytes, more_flops = _factor("bandwidth_x", bandwidth_x), _factor("compute_x", compute_x)
    work, least = _work(model, settle(model, hw, precision), step, count, tensor_parallel)
    sides = work.sides(hw.bandwidth * more_bytes, lambda unit: hw.peak_of(unit) * more_flops)
    return Floors(*np.broadcast_arrays(*sides, work.bytes, work.flops, least))


def _only_floors(count: str) -> None:
    if count not in ("weights", "attention"):
        raise ConfigError("count", count, "weights or attention: what a floor under the whole step counts")


def _by_formats(
    model: Model, machines: Sequence[Hardware], precision: Precision | None
) -> tuple[dict[Formats, list[int]], dict[int, str]]:
    """Positions of the machines by the formats that they settle to, and why the others settle to none."""
    groups: dict[Formats, list[int]] = {}
    obstacles: dict[int, str] = {}
    for i, hw in enumerate(machines):
        try:
            groups.setdefault(settle(model, hw, precision), []).append(i)
        except ConfigError as error:
            obstacles[i] = str(error)
    return groups, obstacles


def _work(model: Model, formats: Formats, step: Step, count: Count, tensor_parallel: int) -> tuple[Work, Array]:
    """Bytes and FLOPs, and the bytes with the fewest experts, in the shape of the sweep."""
    the_plan = plan(model, formats, tensor_parallel, count)
    features = feature_values(step, the_plan.features)
    work, least = the_plan.work(features), the_plan.least_bytes(features)
    flops = {name: values.reshape(step.shape) for name, values in work.flops_by_dtype.items()}
    return Work(work.bytes.reshape(step.shape), flops), least.reshape(step.shape)


def _column(values: Sequence[float], step: Step) -> Array:
    """One figure a machine, to be broadcast over the points of the sweep."""
    return np.array(values, dtype=np.float64).reshape(-1, *(1 for _ in step.shape))


def _factor(key: str, value: ArrayLike) -> Any:
    factors = np.asarray(value, dtype=np.float64)
    if not (np.isfinite(factors).all() and (factors > 0).all()):
        raise ConfigError(key, value, "a number above 0, or an array of them")
    return factors
