"""What a probe is: shapes to measure, how to set one up, and which rate is fitted to its points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from costmodel.dtypes import DTYPES
from costmodel.rates import Rates
from live.clock import Call
from live.lab import Lab
from live.plans import Plan
from live.points import Case
from live.subject import Subject

Columns = Mapping[str, NDArray[np.float64]]


class Task(NamedTuple):
    """What to measure of a model: its shapes, in which format, and how thoroughly.

    ``wide``: the device's own 16-bit format, which any model can be priced in, whatever it is measured in.
    """

    subject: Subject
    plan: Plan
    dtype: str
    wide: str = "bf16"

    @property
    def width(self) -> float:
        """Bytes a value."""
        return DTYPES[self.dtype].bytes


class Ready(NamedTuple):
    """Calls that are equal work on different data; one call does ``units`` times what the case says.

    ``parts``: so many calls, one after the other, make up the work, and other work comes between them in a model.
    """

    calls: Sequence[Call]
    units: int = 1
    parts: int = 1


@dataclass(frozen=True)
class Target:
    """The rate that is fitted to a probe's points.

    Attributes
    ----------
    starts: the numbers of the ``Fit``, and where the search for them starts.
    seconds: prices rows of shapes with rates, in a format.
    by_format: ``Rates`` keeps the fit by format; if not, all formats share one.
    """

    starts: Mapping[str, float]
    seconds: Callable[[Rates, Columns, str], Any]
    by_format: bool = True


@dataclass(frozen=True)
class Probe:
    """One thing that can be measured.

    Attributes
    ----------
    name: of its points; where a rate is fitted to them, of that operation of ``Rates``.
    title: for a progress line.
    sizes: the numbers that make up a shape.
    cases: what it measures of a model; pure, so that the amount of work is known before any of it.
    prepare: sets one case up on a device.
    target: the rate fitted to its points, None where they are figures by themselves.
    cold: its data surely come from memory, so that no more bytes a second than the datasheet's are possible. (A small
        model may live in a cache as a whole.)
    """

    name: str
    title: str
    sizes: tuple[str, ...]
    cases: Callable[[Task], list[Case]]
    prepare: Callable[[Case, Lab, Task], Ready]
    target: Target | None = None
    cold: bool = True
