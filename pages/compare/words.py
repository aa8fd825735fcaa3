"""Why the one is faster than the other, in words made of the numbers."""

from __future__ import annotations

from costmodel.compare import Bound, FloorRatio
from costmodel.compare import Side as OneSide
from pages.compare.numbers import Pair, Side
from pages.parts import format
from pages.parts.components import Ink, Part

_SAME = 5e-4  # share of a number below which a difference is not one
_WAIT = {"memory": "memory", "compute": "arithmetic"}
_AMOUNTS = {"memory": "the bytes", "compute": "the FLOPs"}
_RATES = {"memory": "bandwidth", "compute": "the peak"}


def alike(ratio: float) -> bool:
    """Whether a ratio is 1 as far as anybody can see."""
    return abs(ratio - 1) < _SAME


def faster(speedup: float) -> str:
    """How much faster, or slower, B is: "1.43× faster"."""
    if alike(speedup):
        return "as fast"
    return f"{format.times(max(speedup, 1 / speedup))} {'faster' if speedup > 1 else 'slower'}"


def changed(what: str, ratio: float) -> str:
    """How an amount of B stands to that of A: "bandwidth grew 1.43×", "the bytes fell to 0.500×".

    >>> changed("bandwidth", 1.4328), changed("the bytes", 0.5)
    ('bandwidth grew 1.43×', 'the bytes fell to 0.500×')
    """
    return f"{what} grew {format.times(ratio)}" if ratio > 1 else f"{what} fell to {format.times(ratio)}"


# ---- the reason of a ratio of floors -------------------------------------------------------------------------


def reason(r: FloorRatio) -> str:
    """Why the second floor is as it is against the first: a clause that follows "because"."""
    return _one_bound(r) if r.bound_a == r.bound_b else _two_bounds(r)


def _one_bound(r: FloorRatio) -> str:
    bound, other = r.bound_a, _other(r.bound_a)
    causes = _causes(bound, r.side(bound))
    why = " and ".join(causes) if causes else "nothing on that side changed"
    hidden = _causes(other, r.side(other))
    rest = f"; that {' and '.join(hidden)} did not matter" if hidden else f"; the {_noun(other)} side did not matter"
    return f"both wait for {_WAIT[bound]} and {why}{rest}"


def _two_bounds(r: FloorRatio) -> str:
    was, now = r.bound_a, r.bound_b
    mine, its = r.side(was), r.side(now)
    switch = f"A waits for {_WAIT[was]} and B for {_WAIT[now]}"
    if mine.speedup > 1 and r.speedup > 1:
        gained = " and ".join(_causes(was, mine))
        alone, reached = format.times(mine.speedup), format.times(r.speedup)
        return f"{gained}, which alone would make it {alone} faster, and from {reached} on it waits for {_WAIT[now]}"
    causes = " and ".join(_causes(now, its))
    return f"{switch}: {causes}" if causes else switch


def _causes(bound: Bound, side: OneSide) -> list[str]:
    """What changed on a side, each as B to A."""
    amount, rate = 1 / side.amount, side.rate
    found = [(_AMOUNTS[bound], amount), (_RATES[bound], rate)]
    return [changed(what, ratio) for what, ratio in found if not alike(ratio)]


def _other(bound: Bound) -> Bound:
    return "compute" if bound == "memory" else "memory"


def _noun(bound: Bound) -> str:
    return "memory" if bound == "memory" else "compute"


# ---- headline ------------------------------------------------------------------------------------------------


def headline(p: Pair) -> list[Part]:
    """The sentence of numbers that the page opens with."""
    if p.same:
        return ["A and B are the same: a decode step takes both ", _seconds(p.a, p), "."]
    verdict = faster(p.speedup)
    start: list[Part] = ["A decode step takes A ", _seconds(p.a, p), " and B ", _seconds(p.b, p), ": "]
    if p.both_estimate:
        return [*start, f"B is {verdict}. {_estimated(p)}"]
    return [*start, f"B is {verdict} because {reason(p.decode)}."]


def _seconds(side: Side, p: Pair) -> Ink:
    if p.both_estimate:
        return Ink(format.seconds(side.roofline.estimate.seconds), "decode", strong=True)
    return Ink(format.seconds(side.roofline.decode.seconds), side.roofline.decode.bound, strong=True)


def _estimated(p: Pair) -> str:
    """Which operations make the difference of two estimates."""
    whole = sum(c.difference for c in p.decode_operations)
    named = [c for c in p.decode_operations[:2] if abs(c.difference) > abs(whole) / 20]
    if not named:
        return "No operation changed."
    parts = [f"{c.name} {'adds' if c.difference > 0 else 'saves'} {format.seconds(abs(c.difference))}" for c in named]
    return f"Of the difference, {' and '.join(parts)}; the floors differ because {reason(p.decode)}."
