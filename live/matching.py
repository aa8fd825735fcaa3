"""From the name that a driver gives to the catalogue's device: never a wrong match; when unsure, say so and ask.

A name must match a pattern from its first letter to its last, so that "RTX 4090 Laptop GPU", "RTX 4090 D" and "A100X"
are not what they resemble; and the memory that a program sees must be the catalogue's, so that a 64 GB A100, a virtual
slice of a GPU and an H20 with 141 GB are not either.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from costmodel.errors import ConfigError
from costmodel.hardware import GIB, Hardware, hardware

_NAMES: tuple[tuple[str, str], ...] = (
    (r"tesla t4|t4", "t4"),
    (r"tesla v100-pcie-16gb", "v100-pcie-16"),
    (r"tesla v100-pcie-32gb", "v100-pcie-32"),
    (r"tesla v100-sxm2-16gb", "v100-sxm2-16"),
    (r"tesla v100-sxm2-32gb", "v100-sxm2-32"),
    (r"a10", "a10"),
    (r"a10g", "a10g"),
    (r"a30", "a30"),
    (r"a40", "a40"),
    (r"a100-pcie-40gb", "a100-pcie-40"),
    (r"a100 80gb pcie|a100-pcie-80gb", "a100-pcie-80"),
    (r"a100-sxm4-40gb", "a100-sxm-40"),
    (r"a100-sxm4-80gb", "a100-sxm-80"),
    (r"geforce rtx 3090", "rtx3090"),
    (r"geforce rtx 4090", "rtx4090"),
    (r"geforce rtx 5090", "rtx5090"),
    (r"rtx a6000", "rtx-a6000"),
    (r"rtx 6000 ada generation", "rtx6000ada"),
    (r"rtx pro 6000 blackwell workstation edition", "rtxpro6000bw"),
    (r"l4", "l4"),
    (r"l40", "l40"),
    (r"l40s", "l40s"),
    (r"h100 pcie", "h100-pcie"),
    (r"h100 80gb hbm3|h100 sxm5 80gb", "h100-sxm"),
    (r"h100 nvl", "h100-nvl"),
    (r"h20", "h20"),
    (r"h800", "h800"),
    (r"h200", "h200-sxm"),
    (r"h200 nvl", "h200-nvl"),
    (r"gh200 (120|480)gb", "gh200-96"),
    (r"gh200 (144gb hbm3e|480gb)", "gh200-144"),
    (r"b100", "b100"),
    (r"b200", "b200"),
    (r"b300( sxm6 ac)?", "b300"),
    (r"gb200", "gb200"),
    (r"gb300", "gb300"),
    (r"gb10", "gb10"),
    (r"orin", "orin-64"),
    (r"thor", "thor-t5000"),
    (r"instinct mi210", "mi210"),
    (r"instinct mi300a", "mi300a"),
    (r"instinct mi300x( vf)?", "mi300x"),
    (r"instinct mi325x( vf)?", "mi325x"),
    (r"instinct mi350x( vf)?", "mi350x"),
    (r"instinct mi355x( vf)?", "mi355x"),
    (r"radeon rx 7900 xtx", "rx7900xtx"),
    (r"data center gpu max 1550", "max1550"),
    (r"arc b580( graphics)?", "arc-b580"),
    (r"arc pro b60( graphics)?", "arc-b60"),
    (r"apple m1 max", "m1-max"),
    (r"apple m1 ultra", "m1-ultra"),
    (r"apple m2 max", "m2-max"),
    (r"apple m2 ultra", "m2-ultra"),
    (r"apple m3 max", "m3-max"),
    (r"apple m3 ultra", "m3-ultra"),
    (r"apple m4 max", "m4-max"),
    (r"apple m5 max", "m5-max"),
)
"""Driver's name, simplified and in full, to the row of the catalogue. One line an accelerator."""

_HALVES: tuple[tuple[str, str], ...] = ((r"instinct mi250x", "mi250x"), (r"data center gpu max 1550", "max1550"))
"""Parts whose two dies show up as two devices of half the row's figures each."""

_OTHER_PARTS = re.compile(
    r"laptop|mobile|max-q|\bti\b|super\b|\bd( v2)?$|v100s|a800|h800 pcie|100x|sxm-64gb|\bgrid\b|-\d+[acqb]$"
)
"""Words that make a part another chip, or a slice of one, whatever else its name says."""

_MIG = re.compile(r"(?P<parent>.+) mig (?P<compute>\d)g\.(?P<memory>\d+)gb(\+[a-z.]+)*")
_SLICES = {"a30": (4, 4)}
_USUAL_SLICES = (7, 8)  # compute and memory slices of a GPU that can be divided (NVIDIA MIG user guide)
_NEAR = 0.08  # of the memory: drivers and ECC take some of what the box says
_SHARED_NEAR = 0.12  # where the memory is the system's, which keeps some for itself
_SHARED = ("gb10", "orin-64", "thor-t5000", "mi300a")


@dataclass(frozen=True)
class Match:
    """What the catalogue has for a device.

    Attributes
    ----------
    hardware: the device's figures; None: none that are surely its own, so that it is described by what is measured.
    candidates: ids of rows that it may be; a person who knows can name one of them.
    reason: one sentence.
    """

    hardware: Hardware | None
    candidates: tuple[str, ...]
    reason: str


def match(name: str, kind: str, memory: float, units: int | None = None) -> Match:
    """Return the catalogue's device of this name and memory.

    >>> match("NVIDIA H100 80GB HBM3", "cuda", 79.1 * GIB).hardware.id
    'h100-sxm'
    >>> match("NVIDIA GeForce RTX 4090 Laptop GPU", "cuda", 16 * GIB).reason
    'NVIDIA GeForce RTX 4090 Laptop GPU is not in the catalogue: its figures are those that are measured'
    """
    if kind == "cpu":
        return Match(None, (), f"{name}: a processor has no datasheet row, its figures are those that are measured")
    plain = _simplified(name)
    sliced = _MIG.fullmatch(plain)
    if sliced:
        return _slice(name, sliced, memory)
    halves = _fitting(_HALVES, plain, memory, units, Fraction(1, 2))
    if halves:
        half = scaled(hardware(halves[0]), "one of two", Fraction(1, 2), Fraction(1, 2), memory)
        return Match(half, (halves[0],), f"{name} is one of the two devices of {hardware(halves[0]).name}: half of it")
    named = _fitting(_NAMES, plain, None, None)
    fitting = _fitting(_NAMES, plain, memory, units)
    if len(fitting) == 1:
        row = hardware(fitting[0])
        return Match(row, (row.id,), f"{name} is {row.name}")
    return _unsure(name, plain, memory, units, named)


def chosen(choice: str, name: str, found: Match) -> Match:
    """The match after a person has said that the device called ``name`` is ``choice``, one of the candidates.

    Raises
    ------
    UnknownHardware: when the catalogue has no such row.
    ConfigError: when the device cannot be that row.
    """
    row = hardware(choice)
    if choice not in found.candidates:
        allowed = ", ".join(found.candidates) or "none: its figures are those that are measured"
        raise ConfigError("hardware", choice, f"a row that {name} may be ({allowed})")
    return Match(row, found.candidates, f"{row.name}, as chosen by hand")


def scaled(parent: Hardware, label: str, compute: Fraction, bandwidth: Fraction, memory: float) -> Hardware:
    """A part of ``parent``: these fractions of its arithmetic and bandwidth, and the memory that is visible in it."""
    return Hardware(
        id=f"{parent.id}-{re.sub(r'[^a-z0-9.]+', '-', label.lower())}",
        name=f"{parent.name}, {label}",
        vendor=parent.vendor,
        year=parent.year,
        bandwidth=parent.bandwidth * float(bandwidth),
        peak={unit: rate * float(compute) for unit, rate in parent.peak.items()},
        memory=memory,
        last_level_cache=parent.last_level_cache and parent.last_level_cache * float(bandwidth),
        units=parent.units and int(parent.units * compute),
        confidence="B",
        source=parent.source,
        note=f"{compute} of the arithmetic and {bandwidth} of the bandwidth of {parent.name}.",
    )


def _simplified(name: str) -> str:
    plain = re.sub(r"\((r|tm|c)\)", "", name.lower())
    plain = re.sub(r"^(nvidia|amd|intel)\b", "", plain.strip())
    return " ".join(plain.split())


def _fitting(
    table: tuple[tuple[str, str], ...],
    plain: str,
    memory: float | None,
    units: int | None,
    share: Fraction = Fraction(1),
) -> list[str]:
    """Rows whose name is this, and whose memory (and GPU cores, where the name leaves them open) are this."""
    rows = [row for pattern, row in table if re.fullmatch(pattern, plain)]
    if memory is None:
        return rows
    return [row for row in rows if _memory_fits(hardware(row), memory, share) and _units_fit(hardware(row), units)]


def _memory_fits(row: Hardware, memory: float, share: Fraction) -> bool:
    if row.vendor == "Apple":
        return True  # sold with many sizes: cores tell the bins apart
    near = _SHARED_NEAR if row.id in _SHARED else _NEAR
    marketed = row.memory_marketed and row.memory_marketed / 1e9 * GIB
    sizes = [size * float(share) for size in (row.memory, row.memory_marketed, marketed) if size]
    return any(abs(memory / size - 1) <= near for size in sizes)


def _units_fit(row: Hardware, units: int | None) -> bool:
    return row.vendor != "Apple" or units == row.units


def _slice(name: str, sliced: re.Match[str], memory: float) -> Match:
    """A MIG slice: parts of 7 (4 on an A30) of the arithmetic, and of 8 (4) of the memory."""
    parents = _fitting(_NAMES, sliced["parent"], None, None)
    if len(parents) != 1:
        return Match(None, tuple(parents), f"{name} is a slice of a GPU that is not in the catalogue")
    parent = hardware(parents[0])
    computes, memories = _SLICES.get(parent.id, _USUAL_SLICES)
    marketed = (parent.memory_marketed or memory) / 1e9
    lanes = max(1, min(memories, round(int(sliced["memory"]) / marketed * memories)))
    compute, bandwidth = Fraction(int(sliced["compute"]), computes), Fraction(lanes, memories)
    label = f"MIG {sliced['compute']}g.{sliced['memory']}gb"
    part = scaled(parent, label, compute, bandwidth, memory)
    return Match(
        part, (), f"{name} is a slice of {parent.name}: {compute} of its arithmetic, {bandwidth} of its bandwidth"
    )


def _unsure(name: str, plain: str, memory: float, units: int | None, named_rows: list[str]) -> Match:
    if named_rows and not _OTHER_PARTS.search(plain):
        row = hardware(named_rows[0])
        have = f"{units} cores" if row.vendor == "Apple" else f"{memory / GIB:.1f} GiB"
        want = f"{row.units}" if row.vendor == "Apple" else f"{(row.memory or row.memory_marketed or 0) / GIB:.1f}"
        reason = f"{name} reads as {row.name} but has {have} instead of {want}: say which it is, or let it be measured"
        return Match(None, tuple(named_rows), reason)
    candidates = () if _OTHER_PARTS.search(plain) else _resembling(plain)
    if candidates:
        names = " or ".join(hardware(row).name for row in candidates)
        return Match(None, candidates, f"{name} may be {names}: say which it is, or let it be measured")
    return Match(None, (), f"{name} is not in the catalogue: its figures are those that are measured")


def _resembling(plain: str) -> tuple[str, ...]:
    """Rows of data-centre chips whose name ("h100") is a word of the device's name; cards of one chip differ."""
    words = set(re.split(r"[\s-]+", plain))
    if plain.startswith("rtx pro 6000 blackwell"):
        return ("rtxpro6000bw",)
    chips = {row: row.partition("-")[0] for row in hardware()}
    return tuple(row for row, chip in chips.items() if chip in words and _CHIP.fullmatch(chip))


_CHIP = re.compile(r"(a|b|h|l|t|v|gb|gh|mi)\d+\w*")
