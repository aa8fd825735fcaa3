"""The numbers of the map: one scenario over a plane of two axes, each a part of the step or of the machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import costmodel as cm
from costmodel import batching
from costmodel.fleet import FIELDS, Floors, what_ifs
from costmodel.frontier import crossings, frontier
from costmodel.operations import Count
from pages.parts import resolve
from pages.parts.scenario import Scenario, what_if

Array = NDArray[np.float64]

_COLUMNS, _ROWS = 40, 26  # samples of the two axes, at most
_BAND = np.sqrt(2)  # half the width of a band of GPUs, as a factor
_PALE, _FULL = 0.14, 0.78  # opacity of the least and of the greatest value
_FAR = 2.0  # decades from the frontier at which a cell has its full colour


@dataclass(frozen=True)
class Axis:
    """What an axis is made of: its ends, and whether only whole numbers exist on it."""

    low: float
    high: float
    whole: bool = True


AXES: Mapping[str, Axis] = {
    "batch": Axis(1, 1024),
    "context": Axis(128, 131_072),
    "prompt": Axis(16, 32_768),
    "bandwidth_x": Axis(0.25, 4, whole=False),
    "compute_x": Axis(0.25, 4, whole=False),
}


@dataclass(frozen=True)
class Map:
    """A plane of floors around the scenario and workload of the page.

    Attributes
    ----------
    scenario: the sidebar's, priced as a floor. batch, context, prompt: the workload; the step is a prefill of one
    prompt where the prompt is an axis, else a decode step. count: what decode steps count; see ``counted``.
    hourly: price of one GPU for an hour.
    x, y: keys of the axes. shown: what the colour is for.
    """

    scenario: Scenario
    batch: int
    context: int
    prompt: int
    count: Count
    hourly: float
    x: str
    y: str
    shown: str

    # ---- what the plane is made of ---------------------------------------------------------------------------

    @property
    def prefill(self) -> bool:
        """Whether the steps are prompts."""
        return "prompt" in (self.x, self.y)

    @property
    def counted(self) -> Count:
        """What the floors count: of prompts always all, as the post's count is no bound of a prompt."""
        return "attention" if self.prefill else self.count

    @cached_property
    def here(self) -> dict[str, float]:
        """Where the page itself stands on every axis."""
        s = self.scenario
        return {
            "batch": self.batch,
            "context": self.context,
            "prompt": self.prompt,
            "bandwidth_x": s.bandwidth_x,
            "compute_x": s.compute_x,
            "gpus": s.tensor_parallel,
        }

    @property
    def sizes(self) -> list[int]:
        """Groups of GPUs over which the heads divide."""
        return [int(size) for size in resolve.group_sizes(self.scenario.model)]

    def samples(self, key: str) -> Array:
        """Values of an axis at which the plane is priced: even in their logarithm, as far as whole numbers allow."""
        if key == "gpus":
            return np.array(self.sizes, dtype=np.float64)
        axis, here, most = AXES[key], self.here[key], _COLUMNS if key == self.x else _ROWS
        spread = np.geomspace(min(axis.low, here), max(axis.high, here), most)
        return np.unique(np.round(spread)) if axis.whole else spread

    @cached_property
    def xs(self) -> Array:
        return self.samples(self.x)

    @cached_property
    def ys(self) -> Array:
        return self.samples(self.y)

    def edges(self, key: str) -> Array:
        """Where the cells around the samples of an axis end: halfway to the next one, in the logarithm."""
        values = self.xs if key == self.x else self.ys
        if key == "gpus":
            return np.append(values / _BAND, values[-1] * _BAND)
        between = np.sqrt(values[1:] * values[:-1])
        return np.concatenate([values[:1] ** 2 / between[:1], between, values[-1:] ** 2 / between[-1:]])

    # ---- prices ----------------------------------------------------------------------------------------------

    def _of(self, x: Any, y: Any, key: str) -> Any:
        """A part of the step or of the machine at points of the plane: their coordinate, or the page's own value."""
        return x if key == self.x else y if key == self.y else self.here[key]

    def step(self, x: Any, y: Any) -> cm.Step:
        """The step at points of the plane."""
        if not self.prefill:
            return cm.Step.decode(self._of(x, y, "batch"), self._of(x, y, "context"))
        axes = (self.x, self.y)
        cached = self._of(x, y, "context") if "context" in axes else 0
        batch = self._of(x, y, "batch") if "batch" in axes else 1
        return cm.Step.prefill(self._of(x, y, "prompt"), cached=cached, batch=batch)

    def tokens(self, x: Any, y: Any) -> Any:
        """New tokens of the step, which share its time."""
        return self.step(x, y).tokens

    def floors(self, x: Array, y: Array) -> Floors:
        """Floors at points of the plane, two arrays of one shape."""
        gpus = np.rint(np.broadcast_to(self._of(x, y, "gpus"), x.shape))
        if np.unique(gpus).size <= 1:
            return self._floors(x, y, int(gpus.flat[0]) if gpus.size else 1)
        fields = {name: np.empty(x.shape) for name in FIELDS}
        for size in np.unique(gpus):
            at = gpus == size
            part = self._floors(x[at], y[at], int(size))
            for name, values in fields.items():
                values[at] = getattr(part, name)
        return Floors(**fields)

    def _floors(self, x: Array, y: Array, gpus: int) -> Floors:
        s = self.scenario
        axes = (self.x, self.y)
        bandwidth, compute = (1.0 if key in axes else self.here[key] for key in _FACTORS)
        hw = what_if(s.hardware.root, bandwidth, compute, s.memory_x)
        factors = {key: self._of(x, y, key) for key in _FACTORS if key in axes}
        return what_ifs(
            s.model,
            hw,
            self.step(x, y),
            **factors,
            precision=s.precision,
            count=self.counted,
            tensor_parallel=gpus,
        )

    def value(self, floors: Floors, x: Any, y: Any) -> Array:
        """What the colour is for: seconds, a price, memory time over arithmetic time, or FLOP a byte."""
        if self.shown == "bound":
            return floors.memory_seconds / floors.compute_seconds
        if self.shown == "intensity":
            return floors.intensity
        if self.shown == "seconds":
            return floors.seconds
        each: Array = floors.seconds / self.tokens(x, y)
        if self.shown == "token":
            return each
        million: Array = batching.price_of_a_million(each, self.hourly) * self._of(x, y, "gpus")
        return million

    @cached_property
    def mesh(self) -> tuple[Array, Array]:
        """Both coordinates of every cell, (rows, columns) each."""
        x, y = np.meshgrid(self.xs, self.ys)
        return x, y

    @cached_property
    def cells(self) -> Floors:
        """Floors at the middle of every cell."""
        return self.floors(*self.mesh)

    @cached_property
    def values(self) -> Array:
        """What the colour is for, in every cell."""
        return np.broadcast_to(self.value(self.cells, *self.mesh), self.cells.seconds.shape)

    @cached_property
    def opacity(self) -> Array:
        """How strong the colour of every cell is: with the value, or with the distance from the frontier."""
        logs = np.log10(self.values)
        if self.shown == "bound":
            strong = np.minimum(np.abs(logs) / _FAR, 1)
        else:
            strong = (logs - logs.min()) / max(float(np.ptp(logs)), 1e-12)
        return _PALE + (_FULL - _PALE) * strong

    @cached_property
    def point(self) -> Floors:
        """Floors of the page's own step."""
        return self.floors(np.array([float(self.here[self.x])]), np.array([float(self.here[self.y])]))

    @property
    def own_value(self) -> float:
        """What the colour is for, of the page's own step."""
        x, y = (np.array([float(self.here[key])]) for key in (self.x, self.y))
        return float(np.ravel(self.value(self.point, x, y))[0])

    # ---- the frontier ----------------------------------------------------------------------------------------

    def excess(self, x: Array, y: Array) -> Array:
        """How far arithmetic is beyond memory: the logarithm of the one's time over the other's."""
        return _beyond(self.floors(x, y))

    @cached_property
    def frontier(self) -> Array:
        """Where memory takes as long as the arithmetic: (pieces, 2 ends, x and y). Across a band of GPUs it is flat."""
        sampled = _beyond(self.cells)
        if "gpus" not in (self.x, self.y):
            return frontier(self.excess, self.xs, self.ys, sampled)
        along = "y" if self.x == "gpus" else "x"
        points = np.array(list(crossings(self.excess, self.xs, self.ys, sampled, along).values())).reshape(-1, 1, 2)
        across = np.array([[1.0, 1.0], [1.0, 1.0]])
        across[:, 0 if self.x == "gpus" else 1] = 1 / _BAND, _BAND
        return points * across

    def turns_at(self, key: str) -> float | None:
        """Where on one axis, through the page's own step, the two sides are equal; None: nowhere on the map.

        The first such place, should there be several. Not for GPUs, which come in whole numbers.
        """
        x, y = (self.samples(axis) if axis == key else np.array([self.here[axis]]) for axis in (self.x, self.y))
        along = "x" if key == self.x else "y"
        found = crossings(self.excess, x, y, self.excess(*np.meshgrid(x, y)), along)
        places = [point[0 if along == "x" else 1] for point in found.values()]
        return min(places, default=None)

    @property
    def compute_share(self) -> float:
        """Share of the cells that are compute-bound."""
        return float(self.cells.compute_bound.mean())


def _beyond(floors: Floors) -> Array:
    beyond: Array = np.log(floors.compute_seconds / floors.memory_seconds)
    return beyond


_FACTORS = ("bandwidth_x", "compute_x")
