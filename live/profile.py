"""A profile: what was measured on one device, and the rates that follow. A file of it is untrusted like any upload."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn
from uuid import uuid4

import numpy as np

from costmodel.errors import ConfigError
from costmodel.hardware import Hardware, hardware
from costmodel.rates import NUMBERS, Fit, Form, Rates
from live import untrusted
from live.checks import impossible
from live.device import WIDE, Device
from live.fitting import Key, fit_key, fits_of, form_of, predicted, rates_of
from live.matching import Match, chosen
from live.points import MODES, Mode, Point
from live.probes import PROBES
from live.subject import Subject

FORMAT, VERSION = "stepcost-profile", 1
LARGEST_FILE = 5 * 2**20
"""Bytes of the largest profile that is read."""

_MOST_POINTS, _MOST_NOTES, _MOST_MODELS, _MOST_FITS = 5000, 100, 20, 60
_BANDWIDTH_PROBES = ("read", "copy", "matmul", "attention_decode")
_FIT_FIELDS = (*NUMBERS, "rows", "median", "p90", "low", "high")
_DOUBTFUL = 0.5  # in-sample error, beyond what a fit says of itself, above which it belongs to other points


@dataclass(frozen=True, kw_only=True, eq=False)
class Profile:
    """What was measured on one device.

    Attributes
    ----------
    device: with its driver's versions. hardware_id: row of the catalogue that a person chose, None: by its name.
    software: versions and settings. measured_at: ISO 8601, UTC. plan: name.
    subjects: the models whose shapes were measured. dtype: format of the multiplies.
    points, fits: what was measured, and what was fitted to it. notes: what a reader should know.
    seconds: that the measuring took.

    Raises
    ------
    ConfigError: for figures that cannot be; it says why.
    """

    device: Device
    hardware_id: str | None
    software: Mapping[str, str]
    measured_at: str
    plan: str
    subjects: tuple[Subject, ...]
    dtype: str
    points: tuple[Point, ...]
    fits: Mapping[Key, Fit]
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    def __post_init__(self) -> None:
        untrusted.text("plan", self.plan, empty=False)
        untrusted.number("seconds", self.seconds)
        for text in self.notes:
            untrusted.text("notes", text)
        if self.dtype not in WIDE:
            raise ConfigError("dtype", self.dtype, f"one of {', '.join(WIDE)}")
        for point in self.points:
            _check_shape(point)
        if not self.points or not self.subjects:
            raise ConfigError("points", "none", "at least one measured point of one model")
        _ = self.taken
        for reason in impossible(self.points, self.row):
            raise ConfigError("points", reason, "figures that this device can reach")
        object.__setattr__(self, "fits", MappingProxyType(dict(self.fits)))

    @classmethod
    def measured(cls, *, subject: Subject, **values: Any) -> Profile:
        """A profile of fresh points: with rates fitted to them."""
        bare = cls(subjects=(subject,), fits={}, **values)
        return bare.refitted()

    def refitted(self) -> Profile:
        """The same with rates fitted anew to all its points."""
        return replace(self, fits=fits_of(self.points, self.hardware, self.form))

    # ---- the device --------------------------------------------------------------------------------------------

    @cached_property
    def match(self) -> Match:
        """The catalogue's device that was measured, or why none is named.

        Raises
        ------
        ConfigError: when the row that was chosen cannot be this device.
        """
        found = self.device.match
        return found if self.hardware_id is None else chosen(self.hardware_id, self.device.name, found)

    @property
    def row(self) -> Hardware | None:
        """Its datasheet, None without one (or with one that has no rate in the format that was measured)."""
        found = self.match.hardware
        return found if found is not None and self.dtype in found.peak else None

    @cached_property
    def hardware(self) -> Hardware:
        """The device that the rates are fractions of: its datasheet, or, without one, the best that was measured."""
        return self.row or _as_measured(self.device, self.points)

    @property
    def form(self) -> Form:
        """How work becomes time on it."""
        return form_of(self.device)

    @cached_property
    def taken(self) -> datetime:
        """When it was measured.

        Raises
        ------
        ConfigError: when the date is none.
        """
        try:
            when = datetime.fromisoformat(self.measured_at)
        except (TypeError, ValueError):
            raise ConfigError(
                "measured_at", self.measured_at, "a date and time such as 2026-11-03T12:00:00+00:00"
            ) from None
        return when if when.tzinfo else when.replace(tzinfo=UTC)

    # ---- the rates ---------------------------------------------------------------------------------------------

    @property
    def modes(self) -> tuple[Mode, ...]:
        """How its kernels were launched: "eager", and "graph" where the backend has graphs."""
        seen = {point.mode for point in self.points}
        return tuple(mode for mode in MODES if mode in seen)

    @cached_property
    def rates(self) -> Rates:
        """What this device achieves, for ``costmodel.price``; with captured graphs, where there are any."""
        return self.rates_of(self.modes[-1])

    def rates_of(self, mode: Mode) -> Rates:
        """The rates of kernels launched one by one ("eager"), or replayed together ("graph")."""
        return rates_of(self.fits, mode, self.hardware, self.form)

    def of(self, probe: str, mode: Mode | None = None) -> tuple[Point, ...]:
        """The points of one probe, in the mode that ``rates`` speak of unless another is asked for."""
        chosen = mode or self.modes[-1]
        found = tuple(point for point in self.points if point.probe == probe and point.mode == chosen)
        return found or tuple(point for point in self.points if point.probe == probe)

    @property
    def error(self) -> float | None:
        """Median error of the fits on points that they had not seen, weighted by their points; None without a fit."""
        fits = [fit for (mode, *_), fit in self.fits.items() if mode == self.modes[-1] and fit.median is not None]
        rows = sum(fit.rows for fit in fits)
        return sum(fit.rows * (fit.median or 0.0) for fit in fits) / rows if rows else None

    # ---- as a file ---------------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Plain values, for ``from_json``."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "device": self.device.to_json(),
            "hardware": self.hardware_id,
            "software": dict(self.software),
            "measured_at": self.measured_at,
            "plan": self.plan,
            "models": [subject.to_json() for subject in self.subjects],
            "dtype": self.dtype,
            "seconds": self.seconds,
            "notes": list(self.notes),
            "points": [point.to_json() for point in self.points],
            "fits": [_fit_json(key, fit) for key, fit in self.fits.items()],
        }

    def save(self, path: str | Path) -> None:
        """Write it to a file, whole or not at all."""
        target = Path(path)
        part = target.with_name(f".{target.name}.{uuid4().hex}.part")  # of its own: servers may share a folder
        try:
            part.write_text(json.dumps(self.to_json(), allow_nan=False, indent=1), encoding="utf-8")
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | Path) -> Profile:
        """Read a file that ``save`` wrote.

        Raises
        ------
        ConfigError: for anything else, with the reason.
        """
        file = Path(path)
        try:
            if file.stat().st_size > LARGEST_FILE:
                raise ConfigError("profile", f"{file.stat().st_size:,} bytes", f"at most {LARGEST_FILE:,}")
            return cls.loads(file.read_bytes())
        except OSError as error:
            raise ConfigError("profile", str(path), f"a file that can be read ({error.strerror})") from None

    @classmethod
    def loads(cls, data: bytes | str) -> Profile:
        """Read the content of such a file, for instance of an upload.

        Raises
        ------
        ConfigError: for anything else, with the reason.
        """
        if len(data) > LARGEST_FILE:
            raise ConfigError("profile", f"{len(data):,} bytes", f"at most {LARGEST_FILE:,}")
        try:
            values = json.loads(data, parse_constant=_refuse_constant)
        except ConfigError:
            raise
        except (ValueError, RecursionError):
            raise ConfigError("profile", "text that is no JSON", "a file that `python -m live measure` wrote") from None
        return cls.from_json(values)

    @classmethod
    def from_json(cls, data: object) -> Profile:
        """Read what ``to_json`` wrote, or an untrusted imitation.

        Raises
        ------
        ConfigError: for anything else.
        """
        values = untrusted.mapping("profile", data, set(_KEYS))
        if values.get("format") != FORMAT or values.get("version") != VERSION:
            found = f"{values.get('format')} version {values.get('version')}"
            raise ConfigError("format", found, f"{FORMAT} version {VERSION}")
        missing = [key for key in _KEYS if key not in values]
        if missing:
            raise ConfigError(missing[0], None, "a value")
        profile = cls(
            device=Device.from_json(values["device"]),
            hardware_id=_row_name(values["hardware"]),
            software=_texts("software", values["software"]),
            measured_at=untrusted.text("measured_at", values["measured_at"]),
            plan=values["plan"],
            subjects=tuple(Subject.from_json(m) for m in untrusted.sequence("models", values["models"], _MOST_MODELS)),
            dtype=values["dtype"],
            seconds=values["seconds"],
            notes=tuple(untrusted.sequence("notes", values["notes"], _MOST_NOTES)),
            points=tuple(Point.from_json(p) for p in untrusted.sequence("points", values["points"], _MOST_POINTS)),
            fits={},
        )
        fits = dict(
            _read_fit(entry, profile.hardware) for entry in untrusted.sequence("fits", values["fits"], _MOST_FITS)
        )
        return replace(profile, fits=_believable(profile, fits))


_KEYS = (
    "format",
    "version",
    "device",
    "hardware",
    "software",
    "measured_at",
    "plan",
    "models",
    "dtype",
    "seconds",
    "notes",
    "points",
    "fits",
)


# ---- inside ----------------------------------------------------------------------------------------------------


def _check_shape(point: Point) -> None:
    """Check that a point is of a probe that exists, with the sizes that it has.

    Raises
    ------
    ConfigError: when it is not.
    """
    probe = PROBES.get(point.probe)
    if probe is None:
        raise ConfigError("point.probe", point.probe, f"one of {', '.join(PROBES)}")
    if set(point.shape) != set(probe.sizes):
        raise ConfigError(f"{point.probe}.shape", ", ".join(point.shape), ", ".join(probe.sizes))
    for name, value in point.shape.items():
        if value < 1 and name != "cached":
            raise ConfigError(f"{point.probe}.{name}", value, "1 or more")


def _as_measured(device: Device, points: tuple[Point, ...]) -> Hardware:
    """A device without a datasheet, described by the best that was measured on it."""
    bandwidth = max((point.bytes_rate for point in points if point.probe in _BANDWIDTH_PROBES), default=math.nan)
    peaks: dict[str, float] = {}
    for point in points:
        if point.flops_rate > 0:
            peaks[point.dtype] = max(peaks.get(point.dtype, 0.0), point.flops_rate)
    threads = (
        f", {device.units} thread{'s' if device.units != 1 else ''}" if device.kind == "cpu" and device.units else ""
    )
    return Hardware(
        id=re.sub(r"[^a-z0-9]+", "-", f"measured {device.kind} {device.name}{threads}".lower()).strip("-"),
        name=f"{device.name}{threads}",
        bandwidth=bandwidth,
        peak=peaks,
        memory=device.memory,
        last_level_cache=device.cache,
        units=device.units,
        source="measured here: the best of all points",
        note="No datasheet: bandwidth and peaks are the best that were measured, so they are no bound.",
    )


def _fit_json(key: Key, fit: Fit) -> dict[str, Any]:
    mode, operation, name = key
    values = asdict(fit)
    return {"mode": mode, "operation": operation, "dtype": name, **{field: values[field] for field in _FIT_FIELDS}}


def _read_fit(data: object, hw: Hardware) -> tuple[Key, Fit]:
    values = untrusted.mapping("fits", data, {"mode", "operation", "dtype", *_FIT_FIELDS})
    mode, operation, name = (values.get(key) for key in ("mode", "operation", "dtype"))
    if mode not in MODES or not isinstance(operation, str) or not isinstance(name, str):
        raise ConfigError("fits", [mode, operation, name], "a mode, an operation and a format")
    if operation not in PROBES or PROBES[operation].target is None:
        raise ConfigError("fits.operation", operation, "an operation that a rate is fitted to")
    numbers: dict[str, Any] = {}
    for key in _FIT_FIELDS:
        if values.get(key) is not None:
            numbers[key] = untrusted.number(f"fits.{key}", values[key])
    numbers["rows"] = int(numbers.get("rows", 0))
    return (mode, operation, name), Fit(**numbers, device=hw.id, source="measured here")


def _believable(profile: Profile, fits: Mapping[Key, Fit]) -> Mapping[Key, Fit]:
    """Return the fits when they describe the points that they came with.

    Raises
    ------
    ConfigError: when one does not.
    """
    for (mode, operation, name), fit in fits.items():
        points = [p for p in profile.points if (p.probe, p.mode, p.dtype) == (operation, mode, profile.dtype)]
        if not points or name != fit_key(operation, profile.dtype):
            raise ConfigError("fits", f"a fit of {operation} in {name} without a point", "fits of what was measured")
        rates = Rates(profile.hardware, {(operation, name): fit}, profile.form, "live")
        error = np.abs(predicted(points, rates) / np.array([point.seconds for point in points]) - 1)
        if float(np.median(error)) > (fit.median or 0.0) + _DOUBTFUL:
            found = f"a fit of {operation} that its points do not bear out"
            raise ConfigError("fits", found, "one that was fitted to them")
    return fits


def _row_name(value: object) -> str | None:
    if value is None:
        return None
    return hardware(untrusted.text("hardware", value)).id


def _texts(key: str, value: object) -> dict[str, str]:
    if not isinstance(value, dict) or len(value) > len(fields(Profile)) * 2:
        raise ConfigError(key, value, "an object of texts")
    return {untrusted.text(key, name): untrusted.text(f"{key}.{name}", text) for name, text in value.items()}


def _refuse_constant(name: str) -> NoReturn:
    raise ConfigError("profile", name, "finite numbers")
