"""From measured points to rates: the numbers of ``costmodel.rates``, fitted to this machine, with their errors.

Prices come from ``Rates`` itself and the search from ``costmodel.calibration``: there is no second copy of a formula.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from costmodel.calibration.fitting import Problem, errors, fit, tidy
from costmodel.hardware import Hardware
from costmodel.rates import KERNELS, Fit, Form, Rates, calibrated, format_key
from live.device import Device
from live.points import Mode, Point
from live.probes import PROBES
from live.probes.base import Target

Array = NDArray[np.float64]
Key = tuple[Mode, str, str]
"""How it was launched, the operation, and the format."""

SERIAL = Form(tile=None, overlapped=np.add, mixed=np.add, quantizes=False)
"""Kernels of a processor: its cores load and multiply in turn, and a row costs what it is. (On the same matrix multiply
over 1 to 256 rows, the sum stays within a few percent of what was measured, the hypotenuse up to a third below.)"""

_BOUNDS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "eb": (0.002, 1.0),
        "ef": (0.002, 1.0),
        "overhead": (1e-10, 1e-2),
        "serial": (1e-14, 1e-5),
        "per_item": (1e-13, 1e-4),
        "ramp": (1e-10, 1e-2),
    }
)
_LEAST = {name: 1.5 * low for name, (low, _) in _BOUNDS.items() if name not in ("eb", "ef")}
"""Times so close to their lower bound are none."""
_FOLDS = 5
_FEWEST = 3  # points that a fit can rest on


def form_of(device: Device) -> Form:
    """How work becomes time on this kind of device."""
    return SERIAL if device.kind == "cpu" else KERNELS


def fits_of(points: Sequence[Point], hw: Hardware, form: Form) -> dict[Key, Fit]:
    """A fit for each mode, operation and format that has enough points."""
    groups: dict[Key, list[Point]] = {}
    for point in points:
        if PROBES[point.probe].target is not None:
            groups.setdefault((point.mode, point.probe, point.dtype), []).append(point)
    return {
        (mode, operation, fit_key(operation, dtype)): _fit(group, hw, form)
        for (mode, operation, dtype), group in groups.items()
        if len(group) >= _FEWEST and dtype in hw.peak
    }


def fit_key(probe: str, dtype: str) -> str:
    """The format under which ``Rates`` looks for the fit to a probe's points in ``dtype``.

    >>> fit_key("matmul", "fp32"), fit_key("matmul", "fp16"), fit_key("elementwise", "fp32")
    ('fp32', 'bf16', 'bf16')
    """
    return format_key(dtype) if _target(probe).by_format else "bf16"


def rates_of(fits: Mapping[Key, Fit], mode: Mode, hw: Hardware, form: Form) -> Rates:
    """The rates of one mode; operations that were not measured fall back on what is published."""
    measured = {(operation, key): fit for (m, operation, key), fit in fits.items() if m == mode}
    operations = {operation for operation, _ in measured}
    published = {key: fit for key, fit in calibrated(hw).fits.items() if key[0] not in operations}
    return Rates(hw, {**published, **measured}, form, "live")


def predicted(points: Sequence[Point], rates: Rates) -> Array:
    """Seconds of points of one probe and format at these rates."""
    first = points[0]
    target = _target(first.probe)
    return np.asarray(target.seconds(rates, _columns(points), first.dtype), dtype=float)


def held_out(points: Sequence[Point], hw: Hardware, form: Form, start: Mapping[str, float] | None = None) -> Array:
    """Seconds of points of one probe and format, each as predicted by a fit that has not seen it.

    ``start``: where the searches begin, such as the fit to all points; None: where every search does.
    """
    fold = np.arange(len(points)) % min(_FOLDS, len(points))
    result = np.empty(len(points))
    for one in np.unique(fold):
        seen = [point for point, f in zip(points, fold, strict=True) if f != one]
        unseen = [point for point, f in zip(points, fold, strict=True) if f == one]
        result[fold == one] = predicted(unseen, _rates(_numbers(seen, hw, form, start), unseen[0], hw, form))
    return result


def _fit(points: Sequence[Point], hw: Hardware, form: Form) -> Fit:
    """The fit to all points, with the errors of fits that had not seen what they predict."""
    measured = np.array([point.seconds for point in points])
    numbers = _numbers(points, hw, form)
    fitted = Fit(**tidy(numbers, _LEAST), rows=len(points), device=hw.id, source="measured here")
    off = errors(measured, held_out(points, hw, form, numbers))
    return replace(fitted, **off)  # type: ignore[arg-type]  # fractions all


def _numbers(
    points: Sequence[Point], hw: Hardware, form: Form, start: Mapping[str, float] | None = None
) -> dict[str, float]:
    target, first = _target(points[0].probe), points[0]
    columns = _columns(points)
    names = list(target.starts)[: max(1, len(points) - 1)]
    usual = {name: target.starts[name] for name in names}
    slower = {name: value / 4 if name in ("eb", "ef") else value for name, value in usual.items()}
    starts: list[Mapping[str, float]] = (
        [usual, slower] if start is None else [{name: start.get(name, usual[name]) for name in names}]
    )
    problem = Problem(
        predict=lambda numbers: np.asarray(
            target.seconds(_rates(numbers, first, hw, form), columns, first.dtype), dtype=float
        ),
        measured=np.array([point.seconds for point in points]),
        weight=np.ones(len(points)),
        bounds=_BOUNDS,
    )
    return fit(problem, starts)


def _rates(numbers: Mapping[str, float], point: Point, hw: Hardware, form: Form) -> Rates:
    values = {name: float(value) for name, value in numbers.items()}
    return Rates(hw, {(point.probe, fit_key(point.probe, point.dtype)): Fit(**values)}, form, "live")  # type: ignore[arg-type]


def _target(probe: str) -> Target:
    target = PROBES[probe].target
    if target is None:
        raise ValueError(f"no rate is fitted to {probe}")
    return target


def _columns(points: Iterable[Point]) -> dict[str, Array]:
    rows = list(points)
    return {name: np.array([point.shape[name] for point in rows], dtype=float) for name in rows[0].shape}
