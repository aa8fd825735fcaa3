"""A plane of two axes whose corners are sent with the data: encodings, and where a value stands in pixels.

Labels are placed by Vega expressions, since only the browser knows how wide the page is. The corners (``left``,
``right``, ``bottom``, ``top``) are columns of a dataset of one row; heights are known beforehand, so what lies above
or below is laid out in Python (``padded``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pages.parts import chart, format
from pages.parts.chart import Spec

FINE = tuple(step * 10.0**power for power in range(-9, 9) for step in (1, 2, 5))
"""Ticks of a logarithmic axis that may show less than two decades."""


@dataclass(frozen=True)
class Plane:
    """Axes of a chart of ``height`` pixels; logarithmic unless said otherwise.

    Attributes
    ----------
    x_title, y_title: what the axes show; that of y stands above its axis.
    x_units, y_units: ladders of the ticks; None for plain numbers.
    x_ticks, y_ticks: where ticks stand; None: at the decades, or at even steps of a linear axis.
    frame: dataset that holds the corners.
    """

    height: int
    x_title: str
    y_title: str = ""
    x_units: format.Ladder | None = None
    y_units: format.Ladder | None = None
    x_ticks: tuple[float, ...] | None = None
    y_ticks: tuple[float, ...] | None = None
    x_log: bool = True
    y_log: bool = True
    frame: str = "frame"

    @property
    def params(self) -> list[Spec]:
        """Parameters that a chart in this plane needs."""
        sides = (("left", self.x_log, 1), ("right", self.x_log, 10), ("bottom", self.y_log, 1), ("top", self.y_log, 10))
        return [
            {"name": name, "expr": _scaled(chart.first(self.frame, name, otherwise), log=log)}
            for name, log, otherwise in sides
        ]

    def px(self, value: str) -> str:
        """Expression of the pixels from the left at which ``value`` stands."""
        return f"(({_scaled(value, log=self.x_log)}-left)/(right-left)*width)"

    def py(self, value: str) -> str:
        """Expression of the pixels from the top at which ``value`` stands."""
        return f"((top-{_scaled(value, log=self.y_log)})/(top-bottom)*{self.height})"

    def x(self, field: str) -> Spec:
        """Encoding of a field along the x axis, which one layer of a chart draws; others: ``chart.along``."""
        axis = _axis(self.x_title, self.x_units, self.x_ticks, log=self.x_log)
        return {**self._encoding(field, "left", "right", log=self.x_log), "axis": axis}

    def y(self, field: str) -> Spec:
        """Encoding of a field along the y axis, which one layer of a chart draws; others: ``chart.along``."""
        above = {"titleAngle": 0, "titleAlign": "left", "titleAnchor": "end", "titleX": -40, "titleY": -16}
        axis = _axis(self.y_title or None, self.y_units, self.y_ticks, log=self.y_log)
        axis |= above if self.y_title else {}
        return {**self._encoding(field, "bottom", "top", log=self.y_log), "axis": axis}

    def _encoding(self, field: str, low: str, high: str, *, log: bool) -> Spec:
        ends = [{"expr": chart.first(self.frame, name, other)} for name, other in ((low, 1), (high, 10))]
        scale = {"type": "log" if log else "linear", "domain": ends, "nice": False, "clamp": False, "zero": False}
        return {**chart.along(field), "scale": scale}


def padded(low: float, high: float, height: float, above: float, below: float) -> tuple[float, float]:
    """Ends of a logarithmic axis of ``height`` px: ``above`` and ``below`` px stay free around ``low`` to ``high``.

    >>> padded(1.0, 100.0, height=300, above=50, below=50)
    (0.31622776601683794, 316.22776601683796)
    """
    decades = max(math.log10(high / low), 1e-6) / (height - above - below)
    return low * 10 ** (-decades * below), high * 10 ** (decades * above)


def _scaled(value: str, *, log: bool) -> str:
    return f"(log({value})/LN10)" if log else f"({value})"


def _axis(title: str | None, units: format.Ladder | None, ticks: tuple[float, ...] | None, *, log: bool) -> Spec:
    placed = {"values": list(ticks)} if ticks else {} if log else {"tickCount": 5}
    if log:
        return {**chart.decades(title, units), "labelOverlap": True, **placed}
    written = (
        f"datum.value==0?'0':{format.vega(units, 'datum.value', trim=True)}" if units else "format(datum.value,',')"
    )
    return {"title": title, "labelExpr": written, "labelOverlap": True, "labelFlush": True, **placed}
