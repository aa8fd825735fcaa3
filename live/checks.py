"""Whether measured figures can be: a clock that did not wait, and a file that was made up, give themselves away.

Source of the limits: the device's datasheet; without one, figures beyond any device that there is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from costmodel.hardware import Hardware
from live.points import Point
from live.probes import PROBES

MOST = 1.3
"""Times the datasheet's figure that may be measured: boards are clocked higher than their sheets, but not twice."""

_ANY_BANDWIDTH, _ANY_PEAK = 1e14, 1e18  # beyond any device, for those without a datasheet
_MUCH_MORE_WORK, _HARDLY_MORE_TIME = 200.0, 2.0


def impossible(points: Sequence[Point], row: Hardware | None) -> Iterator[str]:
    """Yield why these figures cannot be, a sentence each. ``row``: the device's datasheet, None without one."""
    for point in points:
        yield from _too_fast(point, row)
    yield from _timeless(points)


def _too_fast(point: Point, row: Hardware | None) -> Iterator[str]:
    bandwidth = MOST * row.bandwidth if row else _ANY_BANDWIDTH
    peak = MOST * row.peak[point.dtype] if row and point.dtype in row.peak else _ANY_PEAK
    where = f"{row.name} delivers {{:.4g}}" if row else "any device delivers {:.4g}"
    if PROBES[point.probe].cold and point.bytes_rate > bandwidth:
        limit = where.format((row.bandwidth if row else bandwidth) / 1e9)
        yield f"{point.probe}: {point.bytes_rate / 1e9:.4g} GB/s, and {limit} GB/s at most"
    if point.flops_rate > peak:
        limit = where.format((row.peak[point.dtype] if row and point.dtype in row.peak else peak) / 1e12)
        yield f"{point.probe} in {point.dtype}: {point.flops_rate / 1e12:.4g} TFLOP/s, and {limit} TFLOP/s at most"


def _timeless(points: Sequence[Point]) -> Iterator[str]:
    """Times that do not depend on the work are times of asking for it, not of doing it."""
    for mode in {point.mode for point in points}:
        multiplies = sorted(
            (p for p in points if p.mode == mode and p.probe in ("matmul", "peak")), key=lambda p: p.flops
        )
        if not multiplies or multiplies[-1].flops < _MUCH_MORE_WORK * multiplies[0].flops:
            continue
        small, large = multiplies[0], multiplies[-1]
        if large.seconds < _HARDLY_MORE_TIME * small.seconds and large.bytes > _HARDLY_MORE_TIME * small.bytes:
            yield (
                f"a matrix multiply with {large.flops / small.flops:,.0f} times the work took only "
                f"{large.seconds / small.seconds:.2f} times as long: the clock did not wait for the device"
            )
