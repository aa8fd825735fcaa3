"""A measured point: what was run, how long it took, and how surely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal

from costmodel.errors import ConfigError
from live import untrusted

Mode = Literal["eager", "graph"]
MODES: tuple[Mode, ...] = ("eager", "graph")
_LONGEST = 3600.0  # seconds of one call; nothing that is measured takes this long
_MOST_NUMBERS = 12


@dataclass(frozen=True, kw_only=True)
class Case:
    """Something to measure.

    Attributes
    ----------
    probe: name of the probe that runs it.
    shape: its sizes, under the names of the arguments of ``Rates`` where a rate is fitted to it.
    dtype: format of its numbers.
    flops, bytes: what one call does and moves, at the least.
    resident: bytes that must be allocated for one working set.
    model: id of the model, where the shape does not say it all.
    """

    probe: str
    shape: Mapping[str, float]
    dtype: str
    flops: float
    bytes: float
    resident: float
    model: str = ""

    @property
    def label(self) -> str:
        """Its sizes in words, for a progress line."""
        return ", ".join(f"{name.replace('_', ' ')} {value:,.0f}" for name, value in self.shape.items())


@dataclass(frozen=True, kw_only=True)
class Point:
    """What one case took.

    Attributes
    ----------
    model: id of the model, of a whole block or model; "" where the shape says it all.
    mode: "eager" (each kernel launched by the host) or "graph" (captured once, replayed).
    seconds: median of one call. low, high: ends of its interval at ``confidence``.
    spread: interquartile range over the median. repeats: samples that count.
    disturbed: fraction of samples during which another program ran. settled: the interval became as narrow as asked.

    Raises
    ------
    ConfigError: for times that cannot be.
    """

    probe: str
    mode: Mode
    shape: Mapping[str, float]
    dtype: str
    flops: float
    bytes: float
    seconds: float
    low: float
    high: float
    confidence: float = 0.0
    spread: float = 0.0
    repeats: int = 1
    disturbed: float = 0.0
    settled: bool = False
    model: str = ""
    key: tuple[Any, ...] = field(init=False, repr=False, compare=False, default=())

    def __post_init__(self) -> None:
        untrusted.text("point.probe", self.probe, empty=False)
        untrusted.text("point.dtype", self.dtype, empty=False)
        untrusted.text("point.model", self.model)
        if self.mode not in MODES:
            raise ConfigError("point.mode", self.mode, f"one of {', '.join(MODES)}")
        for name in ("seconds", "low", "high"):
            if untrusted.positive(f"point.{name}", getattr(self, name)) > _LONGEST:
                raise ConfigError(f"point.{name}", getattr(self, name), f"at most {_LONGEST:.0f} seconds")
        for name in ("flops", "bytes", "confidence", "spread", "repeats", "disturbed"):
            untrusted.number(f"point.{name}", getattr(self, name))
        if not self.low <= self.seconds <= self.high:
            raise ConfigError("point.seconds", self.seconds, f"between its low {self.low} and its high {self.high}")
        if len(self.shape) > _MOST_NUMBERS:
            raise ConfigError("point.shape", len(self.shape), f"at most {_MOST_NUMBERS} sizes")
        shape = {
            untrusted.text("point.shape", n): untrusted.number(f"point.shape.{n}", v) for n, v in self.shape.items()
        }
        object.__setattr__(self, "shape", MappingProxyType(shape))
        object.__setattr__(self, "key", (self.probe, self.mode, self.dtype, self.model, *sorted(shape.items())))

    @property
    def flops_rate(self) -> float:
        """Achieved FLOP/s."""
        return self.flops / self.seconds

    @property
    def bytes_rate(self) -> float:
        """Achieved bytes a second."""
        return self.bytes / self.seconds

    def to_json(self) -> dict[str, Any]:
        """Plain values, for ``from_json``."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        return {**values, "shape": dict(self.shape)}

    @classmethod
    def from_json(cls, data: object) -> Point:
        """Read what ``to_json`` wrote, or an untrusted imitation.

        Raises
        ------
        ConfigError: for anything else.
        """
        names = {f.name for f in fields(cls) if f.init}
        values = untrusted.mapping("point", data, names)
        missing = {"probe", "mode", "shape", "dtype", "flops", "bytes", "seconds", "low", "high"} - values.keys()
        if missing:
            raise ConfigError(f"point.{min(missing)}", None, "a value")
        if not isinstance(values["shape"], dict):
            raise ConfigError("point.shape", values["shape"], "an object of numbers")
        return cls(**values)
