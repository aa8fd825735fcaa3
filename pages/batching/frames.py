"""What the charts of the Batching page are drawn from: datasets made of the page's numbers, a function a picture.

Each picture has a dataset ``frame`` of one row, the corners of its plane, and most have ``wall``: where memory ends.
Heights in pixels are known here, so the strips that labels need above and below the curves are laid out here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np

import costmodel as cm
from costmodel import batching
from pages.batching.numbers import LEFT, Batching
from pages.parts import format
from pages.parts.datasets import Columns, Dataset, nothing, row, rows, segments, stacked, table
from pages.parts.plane import padded

HEIGHTS = {
    "tradeoff": 370,
    "market": 300,
    "bills": 270,
    "intensity": 320,
    "experts": 270,
    "ways": 246,
    "chunk": 270,
    "drafts": 270,
}  # px
LINE = 18  # px that a line of type takes
_DECADES = (1, 10, 100, 1000)  # batches that are marked on the curve of speed and price
_CLEAR = 1.5  # factor by which a batch differs from another that is marked apart from it
_NEAR_RIDGE = 1.6  # factor below the ridge from which a name would stand on it
Data = dict[str, Dataset]


def batches_frame(b: Batching, bottom: float, top: float, **more: float) -> Dataset:
    """The corners of a picture over batches."""
    return row(left=LEFT, right=b.right, bottom=bottom, top=top, **more)


# ---- where memory ends -----------------------------------------------------------------------------------------

_WALL = ("at", "inside", "some", "text", "short")


def wall(b: Batching) -> Dataset:
    """Where memory ends on an axis of batches, and the words for it; no row where it is not known."""
    if b.most is None:
        return nothing(*_WALL)
    inside = b.most < b.right
    at = min(max(float(b.most), LEFT), b.right)
    if b.most < 1:
        text, short = "no sequence of this length fits into memory", "memory: none fits"
    elif inside:
        text, short = f"memory ends at B = {format.count(b.most)}", f"memory: {format.count(b.most)}"
    else:
        number = format.significant(b.most) if b.most > 1e6 else format.count(b.most)  # noqa: PLR2004
        text, short = f"memory ends further right, at B = {number} →", f"memory: {number} →"
    return row(at=at, inside=inside, some=b.most >= 1, text=text, short=short)


def wall_at(b: Batching) -> float:
    """Where the wall stands on an axis of batches; 0 where there is none in the picture."""
    return float(b.most) if b.most is not None and 1 <= b.most < b.right else 0.0


def _context_wall(b: Batching) -> Dataset:
    """The longest context of which the page's batch fits, if that is in the picture."""
    longest = math.inf if b.fit is None else b.fit.max_context
    if not longest < b.last_context:
        return nothing(*_WALL)
    each = "" if b.batch == 1 else " each"
    text = f"memory ends at {format.many(longest, 'token')}{each}" if longest else "no sequence fits into memory"
    short = f"memory: {format.count(longest)}" if longest else "memory: none fits"
    return row(at=longest, inside=True, some=longest > 0, text=text, short=short)


# ---- latency and cost of a token -------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def tradeoff(b: Batching) -> Data:
    """Latency and cost of a token against the batch."""
    swept, beside = (price(cm.Step.decode(b.batches, b.context)) for price in (b.price, b.beside))
    latency = segments(swept.bound, batch=b.batches, seconds=swept.seconds, low=swept.low, high=swept.high)
    cost = swept.seconds / b.batches
    low, high = float(np.min(cost)), float(max(np.max(swept.high), np.max(beside.seconds)))
    corners = padded(low, high, HEIGHTS["tradeoff"], 50, 5.6 * LINE)
    return {
        "frame": batches_frame(b, *corners),
        "curve": stacked(
            {**latency, "curve": "latency"},
            {"batch": b.batches, "seconds": cost, "curve": "cost"},
            {"batch": b.batches, "seconds": beside.seconds, "curve": "beside"},
        ),
        "marks": _tradeoff_marks(b),
        "flat": _flat(b),
        "wall": wall(b),
    }


def _tradeoff_marks(b: Batching) -> Dataset:
    """The page's own batch, how high the curves are beside it, and where they end at the right."""
    around = np.array([b.batch, 1.7 * b.batch, b.right])
    main, other = (price(cm.Step.decode(around, b.context)).seconds for price in (b.price, b.beside))
    upper = np.maximum(main, other)
    return row(
        batch=b.batch,
        latency=b.latency,
        cost=b.cost,
        latency_ahead=float(main[1]),
        upper=float(upper[0]),
        upper_ahead=float(upper[1]),
        beside=float(other[0]),
        latency_end=float(main[2]),
        cost_end=float(main[2]) / b.right,
        beside_end=float(other[2]),
        latency_text=str(format.seconds(b.latency)),
        cost_text=str(format.seconds(b.cost)),
        beside_name=b.beside_name,
        wall=wall_at(b),
    )


def _flat(b: Batching) -> Dataset:
    """The flat stretch, and how long the step at its end takes; no row where nothing is flat."""
    if b.stretch is None:
        return nothing("start", "end", "seconds", "inside")
    end = min(b.stretch.end, b.right)
    seconds = float(b.price(cm.Step.decode(end, b.context)).seconds)
    start = LEFT if b.stretch.start == 1 else b.stretch.start
    return row(start=start, end=end, seconds=seconds, inside=end < b.right)


@lru_cache(maxsize=64)
def market(b: Batching) -> Data:
    """Tokens a second of one sequence against the price of a million tokens, as the batch grows."""
    offers = dict(_offers(b))
    everything = [offer for offer in offers.values() if len(offer["batch"])]
    speeds, prices = (np.concatenate([offer[name] for offer in everything]) for name in ("speed", "price"))
    bottom, top = padded(float(prices.min()), float(prices.max()), HEIGHTS["market"], 34, 30)
    slow, fast = float(speeds.min()), float(speeds.max())
    curve = stacked(*({**offer, "curve": name} for name, offer in offers.items()))
    spread = 1.6 * (fast / slow) ** 0.25
    frame = row(left=slow / spread, right=fast * spread, bottom=bottom, top=top)
    return {"frame": frame, "curve": curve, "dots": _dots(b)}


def _offers(b: Batching) -> Iterable[tuple[str, Columns]]:
    """The curve up to the end of memory, beyond it, and the floor of an estimate."""
    most = b.right if b.most is None else min(float(b.most), b.right)
    within = np.append(b.batches[b.batches < most], most) if most >= 1 else np.array([])
    beyond = np.append([max(most, 1.0)], b.batches[b.batches > most])
    yield "within", _offered(b, within)
    yield "beyond", _offered(b, beyond)
    if b.estimates:
        yield "floor", {**_offered(b, b.batches, b.floor), "named": b.alone.seconds > 2.5 * b.beside_alone.seconds}


def _offered(b: Batching, batches: Any, price: Callable[[cm.Step], cm.Cost] | None = None) -> Columns:
    if not len(batches):
        return dict.fromkeys(("batch", "speed", "price"), np.array([]))
    seconds = (price or b.price)(cm.Step.decode(batches, b.context)).seconds
    return {"batch": batches, "speed": 1 / seconds, "price": b.million_at(seconds / batches)}


def _dots(b: Batching) -> Dataset:
    """The page's batch, where memory ends, and a batch a decade of those that fit and stand clear of both."""
    most = b.right if b.most is None else float(b.most)
    ends = 1 <= most < b.right
    decades = [n for n in _DECADES if n <= (most / 4 if ends else b.right) and not 1 / _CLEAR < n / b.batch < _CLEAR]
    dots = [("decade", float(n), f"B = {format.count(n)}", f"B = {format.count(n)}") for n in decades]
    if ends:
        dots.append(("wall", most, f"memory ends, B = {format.count(most)}", f"memory: {format.count(most)}"))
    dots.append(("own", float(b.batch), f"B = {format.count(b.batch)}", f"B = {format.count(b.batch)}"))
    kind, at, text, short = zip(*dots, strict=True)
    return table({**_offered(b, np.array(at)), "kind": kind, "text": text, "short": short})


# ---- the two bills ---------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def bills_by_batch(b: Batching) -> Data:
    """The two bills of a token against the batch."""
    curve = _billed(b.batches, batching.bills(b.floor, b.batches, b.context))
    return {
        "frame": row(left=LEFT, right=b.right, **_from_zero(curve["total"].max())),
        "curve": table({**curve, "kept": f"its own {b.kept}"}),
        "even": _even(b.even_batch, b.right, "B = {}", b.bills.caches, wall_at(b)),
        "own": _own_bills(b, b.batch, wall_at(b)),
        "wall": wall(b),
    }


@lru_cache(maxsize=64)
def bills_by_context(b: Batching) -> Data:
    """The two bills of a token against the context, at the page's batch."""
    contexts = np.linspace(1, b.last_context, 120)
    end = 0.0 if b.fit is None or b.fit.max_context > b.last_context else b.fit.max_context
    curve = _billed(contexts, batching.bills(b.floor, b.batch, contexts))
    return {
        "frame": row(left=0.0, right=b.last_context, **_from_zero(curve["total"].max())),
        "curve": table({**curve, "kept": f"its own {b.kept}"}),
        "even": _even(b.even_context, b.last_context, "{} tokens", b.bills.weights, end),
        "own": _own_bills(b, b.context, end),
        "wall": _context_wall(b),
    }


def _billed(at: Any, both: batching.Bills) -> Columns:
    return {"at": at, "weights": both.weights, "caches": both.caches, "total": both.total}


def _from_zero(high: float) -> dict[str, float]:
    """Ends of a linear axis from 0 that leave room for three lines of type above ``high``."""
    return {"bottom": 0.0, "top": float(high) * HEIGHTS["bills"] / (HEIGHTS["bills"] - 3.4 * LINE)}


def _own_bills(b: Batching, at: float, wall: float) -> Dataset:
    weights, caches = (str(format.gigabytes(value)) for value in (b.bills.weights, b.bills.caches))
    return row(**_billed(at, b.bills), weights_text=weights, caches_text=caches, wall=wall)


def _even(at: float | None, last: float, text: str, half: float, wall: float) -> Dataset:
    """Where the two bills are even (at ``half`` their sum), if that is in the picture."""
    if at is None or not 1 < at < last:
        return nothing("at", "half", "text", "wall")
    return row(at=at, half=float(half), text=f"even at {text.format(format.count(at))}", wall=wall)


# ---- intensity -------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def intensity(b: Batching) -> Data:
    """Arithmetic intensity against the batch, for several contexts and for the weights alone."""
    contexts = sorted(b.contexts)
    swept = b.floor(cm.Step.decode(b.batches[None, :], np.array(contexts)[:, None]))
    curves = [
        _line(segments(bound, batch=b.batches, intensity=values), context, own=context == b.context)
        for context, bound, values in zip(contexts, swept.bound, swept.intensity, strict=True)
    ]
    alone = b.weights_alone(cm.Step.decode(b.batches, b.context)).intensity
    ends = _intensity_ends(b, contexts, swept.intensity[:, -1])
    above = 12 + LINE * max(1, sum(end["high"] for end in ends))
    corners = padded(float(swept.intensity.min()), b.ridge, HEIGHTS["intensity"], above, 3.4 * LINE)
    return {
        "frame": batches_frame(b, *corners),
        "curve": stacked(*curves),
        "alone": table({"batch": b.batches, "intensity": alone}),
        "ends": rows(ends),
        "own": _own_intensity(b, crowded=_crowded(b, ends, corners)),
        "wall": wall(b),
    }


def _line(run: Columns, context: float, *, own: bool) -> Columns:
    """The runs of one context's curve; those of the page's own are thick."""
    return {**run, "line": [f"{context}:{segment}" for segment in run["segment"]], "own": own}


def _crowded(b: Batching, ends: Iterable[Columns], corners: tuple[float, float]) -> bool:
    """Whether the name of another curve ends where the label of the page's mark would hang."""
    px = HEIGHTS["intensity"] / math.log10(corners[1] / corners[0])
    below = [math.log10(b.intensity / end["intensity"]) * px for end in ends if not end["high"]]
    return any(0 < distance < 2.6 * LINE for distance in below)  # a label and a name, with room


def _own_intensity(b: Batching, *, crowded: bool) -> Dataset:
    short = f"B = {format.count(b.batch)}: {format.significant(b.intensity)}"
    named = 12.0 if 24 < b.batch < 400 else 97.0  # noqa: PLR2004  # clear of the page's own batch
    alone = float(b.weights_alone(cm.Step.decode(named, b.context)).intensity)
    in_format = f" in {b.scenario.formats.compute}" if b.two_peaks else ""
    above = f"some of the arithmetic is in {b.scenario.formats.wide}" if b.two_peaks else "compute-bound above it"
    return row(
        batch=b.batch,
        intensity=b.intensity,
        ridge=b.ridge,
        text=f"{short} FLOP a byte",
        short=short,
        ridge_text=f"ridge{in_format}, {format.count(b.ridge)} FLOP a byte: {above}",
        ridge_short=f"ridge{in_format}, {format.count(b.ridge)}",
        crowded=crowded,
        alone_at=named,
        alone=alone,
        alone_clear=bool(alone >= np.max(b.floor(cm.Step.decode(named, np.array(b.contexts))).intensity)),
        wall=wall_at(b),
    )


def _intensity_ends(b: Batching, contexts: list[float], last: Any) -> list[dict[str, Any]]:
    """A row a context: where its name stands (its crossing, else its right end), and what it says.

    Names at crossings, or near the ridge, stand above it: a lane each, the leftmost in the highest.
    """
    ends = [_intensity_end(b, context, float(end)) for context, end in zip(contexts, last, strict=True)]
    high = [one for one in ends if one["high"]]
    for lane, one in enumerate(sorted(high, key=lambda one: -one["at"])):
        one["lane"] = lane
    return ends


def _intensity_end(b: Batching, context: float, end: float) -> dict[str, Any]:
    crossing, cached = b.crossing(context), f"{format.count(context)} cached"
    tends = format.significant(b.asymptote(context), 2)
    words = {"text": f"{cached}: tends to {tends}, never crosses", "short": f"{cached}: {tends}, never"}
    at = b.right
    if crossing is not None:
        number = format.count(crossing)
        words = {"text": f"{cached}: crosses at B = {number}", "short": f"{cached}: B = {number}"}
        if crossing <= 1:
            words = {"text": f"{cached}: compute-bound from the first on", "short": f"{cached}: from the first"}
        at = min(crossing, b.right)
    inside, high = at < b.right, crossing is not None or end > b.ridge / _NEAR_RIDGE
    height = float(b.floor(cm.Step.decode(at, context)).intensity) if inside else end
    place = {"at": at, "intensity": height, "ridge": b.ridge, "lane": 0, "inside": inside, "high": high}
    return {**place, **words, "own": context == b.context}


# ---- experts ---------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def experts(b: Batching) -> Data:
    """Distinct experts of a layer against the batch, and the bytes of weights that they bring."""
    hit = batching.experts_hit(b.experts, b.batches)
    nbytes = b.weight_bytes(b.batches)
    # Bytes grow evenly with the experts, so an axis of bytes is the axis of experts read otherwise.
    each = float((nbytes[-1] - nbytes[0]) / (hit.expected[-1] - hit.expected[0]))
    none = float(nbytes[0] - each * hit.expected[0])
    top = b.experts.experts * HEIGHTS["experts"] / (HEIGHTS["experts"] - 3.4 * LINE)
    hit_now = f"{format.significant(float(b.hit.expected))} experts"
    own = row(
        batch=b.batch,
        expected=float(b.hit.expected),
        experts=b.experts.experts,
        top_k=b.experts.top_k,
        wall=wall_at(b),
        text=f"{hit_now}, {format.gigabytes(float(b.weight_bytes(b.batch)))}",
        short=hit_now,
    )
    return {
        "frame": batches_frame(b, 0.0, top, bytes_bottom=none, bytes_top=none + each * top),
        "curve": table(
            {"batch": b.batches, "least": hit.least, "expected": hit.expected, "most": hit.most, "bytes": nbytes}
        ),
        "own": own,
        "wall": wall(b),
    }
