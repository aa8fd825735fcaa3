"""Accelerators: what a datasheet says of one device, as plain numbers in SI units.

Sources of the figures: the column ``source`` of ``catalog/hardware.csv``, row by row.
"""

from __future__ import annotations

import csv
import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from importlib import resources
from types import MappingProxyType
from typing import Any, overload

from costmodel.dtypes import DTYPES, UNITS, dtype
from costmodel.errors import ConfigError, UnknownHardware

GIB = 2**30
_LARGEST = 1e24  # far above any device; a larger figure is a slip of the hand, and would overflow later


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """One accelerator (or CPU socket), with dense peaks.

    Attributes
    ----------
    bandwidth: bytes a second between its memory and its arithmetic units.
    peak: dense FLOP/s by unit (``fp32 tf32 fp16 bf16 fp8 int8 fp4``); no key where the chip has no such unit.
    memory: bytes that a program can use, None when not known.
    memory_marketed: bytes on the box (vendors' GB of HBM are read as 10^9 here), None when not known.
    link: bytes a second to its peers, one direction; None when it has no such link or it is not known.
    last_level_cache: bytes of the last-level cache, None when not known.
    confidence: "A" read in a vendor's text, "B" derived or second hand, "C" preliminary or recalled, "" for the
        user's own.
    base: the catalogue device that a what-if derives from; None for the device itself.

    Raises
    ------
    ConfigError: for figures that are not positive finite numbers, or a peak of an unknown unit.

    >>> Hardware(id="x", name="X", bandwidth=1e12, peak={"bf16": 1e14}).ridge()
    100.0
    """

    id: str
    name: str
    bandwidth: float
    peak: Mapping[str, float]
    memory: float | None = None
    link: float | None = None
    vendor: str = ""
    year: int | None = None
    memory_marketed: float | None = None
    link_kind: str = ""
    last_level_cache: float | None = None
    tdp_watts: float | None = None
    units: int | None = None
    confidence: str = ""
    source: str = ""
    note: str = ""
    base: Hardware | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("bandwidth", "memory", "link", "memory_marketed", "last_level_cache"):
            value = getattr(self, name)
            if value is not None or name == "bandwidth":
                object.__setattr__(self, name, _positive(name, value))
        if not isinstance(self.peak, Mapping):
            raise ConfigError("peak", self.peak, f"FLOP/s by unit ({', '.join(UNITS)})")
        for unit in self.peak:
            if unit not in UNITS:
                raise ConfigError("peak", unit, f"one of {', '.join(UNITS)}")
        peaks = {unit: _positive(f"peak[{unit!r}]", value) for unit, value in self.peak.items()}
        object.__setattr__(self, "peak", MappingProxyType(peaks))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        # Prices are cached by machine, so its hash is asked for many times a page; the figures never change.
        return hash((self.id, self.bandwidth, self.memory, self.link, tuple(sorted(self.peak.items()))))

    def __reduce__(self) -> tuple[Any, ...]:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return _rebuild, ({**values, "peak": dict(self.peak)},)

    @property
    def root(self) -> Hardware:
        """The device that this one is a what-if of; itself when it is none."""
        return self if self.base is None else self.base

    def replace(self, **changes: Any) -> Hardware:
        """Return a what-if: the same device with other figures, remembering whose they were.

        Raises
        ------
        ConfigError: for a field that there is not, or a figure that cannot be.

        >>> hw = hardware("h100-sxm")
        >>> hw.replace(bandwidth=2 * hw.bandwidth).root is hw
        True
        """
        unknown = changes.keys() - {f.name for f in fields(self)}
        if unknown:
            raise ConfigError("replace", min(unknown), "a field of Hardware")
        return replace(self, **{"base": self.root, **changes})

    def peak_of(self, name: str) -> float:
        """Dense FLOP/s at which the format ``name`` is multiplied.

        Raises
        ------
        ConfigError: when the chip has no unit for it.
        """
        unit = dtype(name).unit
        rate = self.peak.get(unit) if unit else None
        if rate is None:
            have = ", ".join(self.compute_dtypes) or "none that is published"
            raise ConfigError("compute dtype", name, f"one that {self.name} has a unit for ({have})")
        return rate

    @property
    def compute_dtypes(self) -> tuple[str, ...]:
        """Formats that this chip multiplies, in the order of the table of formats."""
        return tuple(d.name for d in DTYPES.values() if d.unit in self.peak)

    def ridge(self, dtype: str = "bf16") -> float:
        """B*: FLOP that the chip can do for each byte its memory delivers (peak over bandwidth)."""
        return self.peak_of(dtype) / self.bandwidth


def ridge(hw: Hardware, dtype: str = "bf16") -> float:
    """B*, the ridge of the roofline: peak FLOP/s over bandwidth, in FLOP a byte.

    >>> round(ridge(hardware("h100-sxm")), 1)
    295.3
    """
    return hw.ridge(dtype)


@overload
def hardware() -> list[str]: ...
@overload
def hardware(hardware_id: str, /) -> Hardware: ...
def hardware(hardware_id: str | None = None, /) -> Hardware | list[str]:
    """Return the accelerator with this id, or, without one, the ids of the catalogue in its order.

    Raises
    ------
    UnknownHardware: when no row has the id.
    """
    rows = _catalogue()
    if hardware_id is None:
        return list(rows)
    if hardware_id not in rows:
        raise UnknownHardware(hardware_id, rows)
    return rows[hardware_id]


@cache
def _catalogue() -> Mapping[str, Hardware]:
    with (resources.files("costmodel") / "catalog" / "hardware.csv").open(encoding="utf-8") as file:
        return MappingProxyType({row["id"]: _from_row(row) for row in csv.DictReader(file)})


def _from_row(row: Mapping[str, str]) -> Hardware:
    """Turn a row of the catalogue (GB/s, TFLOP/s, GiB, MB; blank: not known) into SI units."""

    def number(column: str, scale: float) -> float | None:
        return float(row[column]) * scale if row[column] else None

    peaks = {unit: number(f"{unit}_tflops", 1e12) for unit in UNITS}
    bandwidth = number("bandwidth_gb_s", 1e9)
    both_ways = number("link_both_ways_gb_s", 1e9)
    return Hardware(
        id=row["id"],
        name=row["name"],
        vendor=row["vendor"],
        year=int(row["year"]),
        bandwidth=bandwidth if bandwidth is not None else math.nan,
        peak={unit: rate for unit, rate in peaks.items() if rate is not None},
        memory=number("usable_gib", GIB),
        memory_marketed=number("marketed_gb", 1e9),
        link=both_ways / 2 if both_ways else None,
        link_kind=row["link_kind"],
        last_level_cache=number("llc_mb", 1e6),
        tdp_watts=number("tdp_w", 1),
        units=int(row["units"]) if row["units"] else None,
        confidence=row["confidence"],
        source=row["source"],
        note=row["note"],
    )


def _rebuild(values: dict[str, Any]) -> Hardware:
    return Hardware(**values)


def _positive(key: str, value: object) -> float:
    """Return ``value`` as a float when it is a positive finite number of believable size."""
    expected = f"a number above 0 and below {_LARGEST:.0e}"
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ConfigError(key, value, expected)
    try:
        number = float(value)
    except OverflowError:  # a whole number may be larger than any float
        number = math.inf
    if not 0 < number < _LARGEST:
        raise ConfigError(key, value, expected)
    return number
