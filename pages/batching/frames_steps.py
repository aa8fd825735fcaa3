"""What the charts of prompts and drafts are drawn from: datasets made of the page's numbers, a function a picture."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from costmodel import batching
from pages.batching import frames
from pages.batching.numbers import LEFT, Arrival, Drafting
from pages.parts import format
from pages.parts.datasets import Columns, Dataset, nothing, row, rows, segments, stacked
from pages.parts.plane import padded

# ---- a prompt beside sequences that decode ---------------------------------------------------------------------

LANES = {"apart": "a step each", "together": "one step together", "chunked": "in chunks of {}"}
_MOST_BARS = 90  # of a lane; beyond, equal steps are drawn as one
_MOST_DECODES = 30
_NAMED = 6.0  # tokens of a prompt over which a name at the left end of the chunks reaches


@lru_cache(maxsize=64)
def ways(a: Arrival) -> frames.Data:
    """Three lanes of steps over time: the prompt and the decodes apart, together, and in chunks."""
    lanes = list(a.ways.values())
    end = max(float(way.seconds.sum()) for way in lanes)
    horizon = end + 1.5 * a.load.latency
    bars = [bar for lane, way in enumerate(lanes) for bar in _bars(way, lane, a.load.latency, horizon)]
    waits = [_wait(a, name, lane) for lane, name in enumerate(a.ways)]
    return {
        "frame": row(left=0.0, right=horizon, bottom=0.0, top=1.0),
        "bars": stacked(*bars),
        "waits": rows(waits),
    }


def _bars(way: batching.Way, lane: int, alone: float, horizon: float) -> Iterator[Columns]:
    """The steps of a way, and after them the decode steps up to the horizon."""
    ends = np.cumsum(way.seconds)
    own = {"start": ends - way.seconds, "end": ends, "prompt": way.prompt, "decoding": way.decoding}
    yield {**_merged(own, _MOST_BARS), "lane": lane}
    starts = np.arange(ends[-1], horizon, alone)
    alike = {"prompt": np.zeros(starts.size), "decoding": np.ones(starts.size, dtype=bool)}
    later = {"start": starts, "end": np.minimum(starts + alone, horizon), **alike}
    yield {**_merged(later, _MOST_DECODES), "lane": lane}


def _merged(bars: Columns, most: int) -> Columns:
    """The bars, or one for all where there are more than ``most``."""
    if len(bars["start"]) <= most:
        return bars
    whole = {"start": bars["start"][:1], "end": bars["end"][-1:], "prompt": bars["prompt"].sum(keepdims=True)}
    return {**whole, "decoding": bars["decoding"][:1]}


def _wait(a: Arrival, name: str, lane: int) -> dict[str, Any]:
    """The longest wait between two tokens of the decodes in a lane: where it is, and the words for it."""
    way = a.ways[name]
    tokens = np.concatenate([[0.0], np.cumsum(way.seconds)[way.decoding]])
    longest = int(np.argmax(np.diff(tokens)))
    title = LANES[name].format(format.count(min(a.chunk, a.prompt)))
    steps = len(way.seconds)
    counted = f" ({format.many(steps, 'step')})" if name == "chunked" else ""
    wait, first = format.seconds(way.longest_wait), format.seconds(way.first_token)
    return {
        "lane": lane,
        "start": tokens[longest],
        "end": tokens[longest + 1],
        "text": f"{title}{counted}: a token waits up to {wait}, the prompt's first token comes after {first}",
        "short": f"{title}: waits {wait}, first {first}",
        "wait_text": str(wait),
    }


@lru_cache(maxsize=64)
def chunk(a: Arrival) -> frames.Data:
    """Time of a step against the tokens of the prompt in it, and where their arithmetic becomes the longer side."""
    turns = [t for t in (a.room, a.room_of_weights) if 1 < t < a.largest]
    chunks = np.unique(np.concatenate([np.geomspace(1, a.largest, 100), turns]))
    floor, alone = a.mixed(a.load.floor, chunks), a.mixed(a.load.weights_alone, chunks)
    priced = {"weights": alone, **({"estimate": a.mixed(a.load.price, chunks)} if a.load.estimates else {})}
    low = min(float(np.min(cost.seconds)) for cost in (floor, *priced.values()))
    high = max(float(np.max(cost.high)) for cost in (floor, *priced.values()))
    bottom, top = padded(low, high, frames.HEIGHTS["chunk"], 30, (5.2 if a.load.estimates else 3.8) * frames.LINE)
    others = (
        {"chunk": chunks, "seconds": cost.seconds, "low": cost.low, "high": cost.high, "curve": name}
        for name, cost in priced.items()
    )
    return {
        "frame": row(left=LEFT, right=a.largest, bottom=bottom, top=top),
        "curve": stacked({**segments(floor.bound, chunk=chunks, seconds=floor.seconds), "curve": "floor"}, *others),
        "room": _room(a),
        "own": _own_chunk(a, float(alone.seconds[0])),
    }


def _room(a: Arrival) -> Dataset:
    """Where the arithmetic becomes the longer side, a row a count."""
    counts = (
        ("with the caches", a.room, a.load.floor),
        ("weights alone, T* − B", a.room_of_weights, a.load.weights_alone),
    )
    ends = [
        {
            "at": room,
            "seconds": float(a.mixed(price, room).seconds),
            "lane": lane,
            "text": f"free up to {format.count(math.floor(room))}, {words}",
            "short": f"up to {format.count(math.floor(room))}, {words.split(',')[0]}",
        }
        for lane, (words, room, price) in enumerate(counts)
        if 1 < room < a.largest
    ]
    return rows(ends) if ends else nothing("at", "seconds", "lane", "text", "short")


def _own_chunk(a: Arrival, weights: float) -> Dataset:
    """The page's chunk, and how high the curves begin; of the estimate, how high it is where its name ends.

    A floor that rises at once, as that of a mixture does, would run through a name above it: it has its name below.
    """
    floor, further = a.mixed(a.load.floor, np.array([1.0, _NAMED])).seconds
    chunk = min(a.chunk, a.prompt)
    seconds = float(a.mixed(a.load.price if a.load.estimates else a.load.floor, chunk).seconds)
    name = f"with the caches of {format.count(a.load.batch)}"
    estimate = float(a.mixed(a.load.price, _NAMED).seconds) if a.load.estimates else floor
    return row(
        chunk=chunk,
        seconds=seconds,
        floor_start=floor,
        weights_start=weights,
        floor_name=f"its floor, {name}" if a.load.estimates else name,
        estimate_start=estimate,
        estimates=a.load.estimates,
        rises=bool(further > 1.1 * floor),  # by more than the halo of a name
        text=f"chunk of {format.count(chunk)}: {format.seconds(seconds)}",
    )


# ---- speculative decoding --------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def drafts(d: Drafting) -> frames.Data:
    """Break-even acceptance against the batch, as the page counts, and in the count beside it."""
    b = d.load
    curves = {name: d.break_even(b.batches, price) for name, price in (("own", b.price), ("beside", b.beside))}
    top = frames.HEIGHTS["drafts"] / (frames.HEIGHTS["drafts"] - 3.6 * frames.LINE)
    return {
        "frame": frames.batches_frame(b, -0.03, top),
        "curve": stacked(*({"batch": b.batches, "acceptance": v, "curve": name} for name, v in curves.items())),
        "own": _own_drafts(d, curves),
        "wall": frames.wall(b),
    }


def _own_drafts(d: Drafting, curves: Columns) -> Dataset:
    """The page's batch, and where the curves end."""
    long, short = _verdict(d.needed)
    ends = {f"{name}_{what}": v for name, values in curves.items() for what, v in _end(d.load.batches, values).items()}
    batch = f"B = {format.count(d.load.batch)}"
    return row(
        batch=d.load.batch,
        acceptance=1.0 if math.isnan(d.needed) else d.needed,
        text=f"{batch}: {long}",
        short=f"{batch}: {short}",
        beside_name=d.load.beside_name,
        wall=frames.wall_at(d.load),
        **ends,
    )


def _verdict(needed: float) -> tuple[str, str]:
    """What a break-even acceptance means, in full and for a phone."""
    if not needed < 1:
        return "it never pays", "never"
    if needed == 0:
        return "any accepted draft is a gain", "any"
    return f"{format.percent(needed)} must be accepted", str(format.percent(needed))


def _end(batches: Any, values: Any) -> dict[str, float]:
    """Where a curve ends: at its last value that is a number; at the left end, at 1, when none is."""
    finite = np.flatnonzero(np.isfinite(values))
    if not finite.size:
        return {"at": LEFT, "end": 1.0}
    return {"at": float(batches[finite[-1]]), "end": float(values[finite[-1]])}
