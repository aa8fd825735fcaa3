"""Why two costs differ: a ratio of floors taken apart into factors, a difference of estimates into operations.

Everything is exact: factors multiply to the ratio, contributions sum to the difference. ``a`` and ``b`` are costs of
one step each (plain floats, not sweeps); speedups are seconds of ``a`` over seconds of ``b``, above 1 where ``b`` is
the faster.

Source: the floor and the sums of ``costmodel.price``, taken apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from costmodel.price import Cost

Bound = Literal["memory", "compute"]
Cause = Literal["bytes", "bandwidth", "flops", "peak", "limit"]


@dataclass(frozen=True)
class Factor:
    """One cause of a ratio.

    Attributes
    ----------
    cause: "bytes" (fewer to move), "bandwidth" (a faster memory), "flops" (less arithmetic), "peak" (faster
        arithmetic), "limit" (what is left of the gain, or lost of it, where the other side takes over).
    speedup: what the cause alone does to the time: 2.0 halves it.
    """

    cause: Cause
    speedup: float


@dataclass(frozen=True)
class Side:
    """One side of two floors: bytes over bandwidth, or FLOPs over the peak (of all formats together).

    Attributes
    ----------
    amount: speedup by fewer bytes, or FLOPs. rate: speedup by a higher bandwidth, or peak.
    """

    amount: float
    rate: float

    @property
    def speedup(self) -> float:
        """Seconds of the first over seconds of the second, on this side alone."""
        return self.amount * self.rate


@dataclass(frozen=True)
class FloorRatio:
    """Two floors, one over the other.

    Attributes
    ----------
    speedup: seconds of the first over seconds of the second.
    bound_a, bound_b: what each waits for.
    memory, compute: the two sides, each by itself.
    factors: causes whose speedups multiply to ``speedup``: amount and rate of the side that the first waits for, and
        where the second waits for the other side, how far that one lets it come ("limit").
    """

    speedup: float
    bound_a: Bound
    bound_b: Bound
    memory: Side
    compute: Side
    factors: tuple[Factor, ...]

    def side(self, bound: Bound) -> Side:
        """The side of that name."""
        return self.memory if bound == "memory" else self.compute


def floors(a: Cost, b: Cost) -> FloorRatio:
    """Take the ratio of two floors, max(bytes / bandwidth, FLOPs / peak), apart.

    Where both wait for the same side, it is amount times rate of that side, and the other side does not matter. Where
    the second waits for the other side, the first one's side goes as far as it would alone, and the limit is the share
    of it that remains: the second one's seconds on that side over its seconds.

    >>> import costmodel as cm
    >>> qwen, step = cm.model("qwen3-0.6b"), cm.Step.decode(batch=1, context=2048)
    >>> h100, h200 = (cm.price(qwen, cm.hardware(name), step) for name in ("h100-sxm", "h200-sxm"))
    >>> [(factor.cause, round(factor.speedup, 2)) for factor in floors(h100, h200).factors]
    [('bytes', 1.0), ('bandwidth', 1.43)]
    """
    memory = _side(a.bytes, b.bytes, a.memory_seconds, b.memory_seconds)
    compute = _side(a.flops, b.flops, a.compute_seconds, b.compute_seconds)
    if a.bound == "memory":
        factors = [Factor("bytes", memory.amount), Factor("bandwidth", memory.rate)]
        reached = b.memory_seconds
    else:
        factors = [Factor("flops", compute.amount), Factor("peak", compute.rate)]
        reached = b.compute_seconds
    if a.bound != b.bound:
        factors.append(Factor("limit", float(reached / b.seconds)))
    return FloorRatio(float(a.seconds / b.seconds), a.bound, b.bound, memory, compute, tuple(factors))


def _side(amount_a: float, amount_b: float, seconds_a: float, seconds_b: float) -> Side:
    amount = float(amount_a / amount_b)
    return Side(amount, float(seconds_a / seconds_b) / amount)


@dataclass(frozen=True)
class Contribution:
    """An operation in two costs: its seconds in each, 0 where a step has no such operation."""

    name: str
    before: float
    after: float

    @property
    def difference(self) -> float:
        """Seconds that it adds: negative where it became faster."""
        return self.after - self.before


def contributions(a: Cost, b: Cost) -> list[Contribution]:
    """What each operation adds to the difference of two estimates, the largest first.

    An estimate is the sum of its operations, so the differences sum to that of the seconds. For floors they sum to the
    difference of the sums of operations, each with its own bound, and not to that of the steps.

    >>> import costmodel as cm
    >>> qwen, step = cm.model("qwen3-0.6b"), cm.Step.decode(batch=1, context=2048)
    >>> h100, h200 = (cm.price(qwen, cm.hardware(n), step, rates="calibrated") for n in ("h100-sxm", "h200-sxm"))
    >>> math.isclose(sum(c.difference for c in contributions(h100, h200)), h200.seconds - h100.seconds)
    True
    """
    seconds = [_by_operation(cost) for cost in (a, b)]
    names = dict.fromkeys(name for one in seconds for name in one)
    found = [Contribution(name, *(one.get(name, 0.0) for one in seconds)) for name in names]
    return sorted(found, key=lambda c: -abs(c.difference))


def _by_operation(cost: Cost) -> dict[str, float]:
    table = cost.operations
    return dict(zip(table["name"].tolist(), table["seconds"].tolist(), strict=True))


def product(factors: Sequence[Factor]) -> float:
    """What causes do together."""
    return math.prod(factor.speedup for factor in factors)
