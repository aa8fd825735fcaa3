"""A device that torch can compute on, as plain facts that travel between processes as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

from costmodel.errors import ConfigError
from live import untrusted
from live.matching import Match, match

KINDS = ("cuda", "rocm", "mps", "xpu", "cpu")


@dataclass(frozen=True, kw_only=True)
class Device:
    """One device.

    Attributes
    ----------
    id: what torch calls it ("cuda:0", "mps", "cpu"). ROCm devices are called "cuda:N" too.
    kind: "cuda", "rocm", "mps", "xpu" or "cpu".
    name: as its driver gives it.
    memory: bytes that a program sees; of a MIG slice, the slice's.
    cache: bytes of the last-level cache, None when not readable.
    units: multiprocessors, compute units, GPU cores, or threads used on a CPU.
    dtypes: 16-bit formats that it multiplies, the preferred one first.
    driver, capability: versions as text, "" when not readable.
    clock_hz, power_limit_w: None when not readable.

    Raises
    ------
    ConfigError: for values that no device has.
    """

    id: str
    kind: str
    name: str
    memory: float
    cache: float | None = None
    units: int | None = None
    dtypes: tuple[str, ...] = ("bf16",)
    driver: str = ""
    capability: str = ""
    clock_hz: float | None = None
    power_limit_w: float | None = None

    def __post_init__(self) -> None:
        for key in ("id", "name"):
            untrusted.text(f"device.{key}", getattr(self, key), empty=False)
        for key in ("driver", "capability"):
            untrusted.text(f"device.{key}", getattr(self, key))
        if self.kind not in KINDS:
            raise ConfigError("device.kind", self.kind, f"one of {', '.join(KINDS)}")
        untrusted.positive("device.memory", self.memory)
        for key in ("cache", "clock_hz", "power_limit_w", "units"):
            if getattr(self, key) is not None:
                untrusted.positive(f"device.{key}", getattr(self, key))
        if not self.dtypes or not set(self.dtypes) <= set(WIDE):
            raise ConfigError("device.dtypes", self.dtypes, f"some of {', '.join(WIDE)}")

    @cached_property
    def match(self) -> Match:
        """The catalogue's device that this is, or why none is named."""
        return match(self.name, self.kind, self.memory, self.units)

    def to_json(self) -> dict[str, Any]:
        """Plain values, for ``from_json``."""
        return {**asdict(self), "dtypes": list(self.dtypes)}

    @classmethod
    def from_json(cls, data: object) -> Device:
        """Read what ``to_json`` wrote, or an untrusted imitation.

        Raises
        ------
        ConfigError: for anything else.
        """
        values = untrusted.mapping("device", data, {f.name for f in fields(cls)})
        missing = {"id", "kind", "name", "memory"} - values.keys()
        if missing:
            raise ConfigError(f"device.{min(missing)}", None, "a value")
        return cls(**{**values, "dtypes": _names(values.get("dtypes", ["bf16"]))})


WIDE = ("bf16", "fp16", "fp32")
"""Formats in which a device can be measured."""


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(name, str) for name in value):
        raise ConfigError("device.dtypes", value, "a list of names")
    return tuple(value)


def describe(device: Device) -> Mapping[str, str]:
    """The facts that are known of a device, as words for a table."""
    known = {
        "Name": device.name,
        "Catalogue": device.match.reason,
        "Memory": f"{device.memory / 2**30:.1f} GiB",
        "Last-level cache": f"{device.cache / 2**20:.0f} MiB" if device.cache else "",
        "Units": f"{device.units}" if device.units else "",
        "Driver": device.driver,
        "Capability": device.capability,
        "Clock": f"{device.clock_hz / 1e9:.2f} GHz" if device.clock_hz else "",
        "Power limit": f"{device.power_limit_w:.0f} W" if device.power_limit_w else "",
    }
    return {name: value for name, value in known.items() if value}
