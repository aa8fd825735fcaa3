"""What the sidebar says, as one value: the model, the machine and the way to count, ready to price any step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import costmodel as cm
from costmodel import batching
from costmodel.operations import Count
from costmodel.precision import Formats, settle
from pages.parts.format import many


@dataclass(frozen=True)
class Scenario:
    """A model on a machine.

    Attributes
    ----------
    hardware: the machine with the what-if multipliers applied; ``hardware.root`` is the one of the catalogue.
    bandwidth_x, compute_x, memory_x: those multipliers.
    rates: what ``cm.price`` takes: "datasheet", "calibrated", or measured rates.
    source: which of the three sources that is.
    measured: of live rates, on which device and when, in words.
    published: whether the machine's figures are those of a datasheet, so that floors are bounds. Those of a device
        without one are the best that it measured of itself.
    """

    model: cm.Model
    hardware: cm.Hardware
    precision: cm.Precision
    tensor_parallel: int = 1
    bandwidth_x: float = 1.0
    compute_x: float = 1.0
    memory_x: float = 1.0
    rates: Any = "datasheet"
    source: str = "datasheet"
    measured: str = ""
    published: bool = True

    @property
    def formats(self) -> Formats:
        """The precision with nothing left open: weights, caches and arithmetic by name."""
        return settle(self.model, self.hardware, self.precision)

    @property
    def stored_weights(self) -> str:
        """Format in which most weights are read."""
        quantization = self.model.quantization
        stored = quantization.dtype if quantization is not None else self.formats.wide
        return self.precision.weights or stored

    @property
    def label(self) -> str:
        """The scenario in a line: "Qwen3-0.6B · H100 SXM · bf16 · 1 GPU"."""
        gpus = [many(self.tensor_parallel, "GPU")]
        if self.source == "live" and self.tensor_parallel == 1:
            gpus = []  # what was measured may be a CPU
        what_if = [
            f"{name} × {factor:g}"
            for name, factor in (
                ("bandwidth", self.bandwidth_x),
                ("compute", self.compute_x),
                ("memory", self.memory_x),
            )
            if factor != 1
        ]
        return " · ".join([self.model.name, self.hardware.name, self.stored_weights, *gpus, *what_if])

    @property
    def machines(self) -> str:
        """Where a step runs: "H100 SXM", "8 × H100 SXM"."""
        return self.hardware.name if self.tensor_parallel == 1 else f"{self.tensor_parallel} × {self.hardware.name}"

    @property
    def each_machine(self) -> str:
        """Of what figures of one GPU are: "H100 SXM", "each of 8 H100 SXM"."""
        gpus, name = self.tensor_parallel, self.hardware.name
        return name if gpus == 1 else f"each of {gpus} {name}"

    def price(self, step: cm.Step, count: Count | None = None) -> cm.Cost:
        """Price a step, or a sweep of steps, as the sidebar says."""
        return cm.price(
            self.model,
            self.hardware,
            step,
            precision=self.precision,
            rates=self.rates,
            count=count,
            tensor_parallel=self.tensor_parallel,
        )

    def crossing(self, context: float = 0, count: Count = "weights", phase: str = "decode") -> float | None:
        """T* of its floor, as ``cm.crossing``: 1 where it lies below. Searched once for all: no batch changes it."""
        return _crossing(self.model, self.hardware, context, count, phase, self.precision, self.tensor_parallel)

    def asymptote(self, context: float) -> float:
        """FLOP a byte that decode steps over ``context`` tend to as the batch grows, caches counted."""
        return _asymptote(self.datasheet(), context)

    def datasheet(self) -> Scenario:
        """The same, priced as a floor."""
        return replace(self, rates="datasheet", source="datasheet", measured="")

    def counted(self) -> Scenario:
        """The same where sizes alone count and no rate answers; a measured device stays one."""
        return self if self.source == "live" else self.datasheet()

    def without_what_if(self) -> Scenario:
        """The same with the machine as its datasheet has it."""
        return replace(self, hardware=self.hardware.root, bandwidth_x=1.0, compute_x=1.0, memory_x=1.0)


_crossing = lru_cache(maxsize=1024)(cm.crossing)


@lru_cache(maxsize=1024)
def _asymptote(floor: Scenario, context: float) -> float:
    return batching.asymptote(partial(floor.price, count="attention"), context)


def what_if(hw: cm.Hardware, bandwidth_x: float, compute_x: float, memory_x: float) -> cm.Hardware:
    """Return the machine with its figures multiplied; the machine itself where nothing is."""
    changes: dict[str, Any] = {}
    if bandwidth_x != 1:
        changes["bandwidth"] = hw.bandwidth * bandwidth_x
    if compute_x != 1:
        changes["peak"] = {unit: rate * compute_x for unit, rate in hw.peak.items()}
    if memory_x != 1 and hw.memory is not None:
        changes["memory"] = hw.memory * memory_x
    return hw.replace(**changes) if changes else hw
