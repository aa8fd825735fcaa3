"""What the charts of prompts and drafts are drawn from: datasets made of the page's numbers, a function a picture."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from costmodel import batching
from pages.batching import frames
from pages.batching.numbers import LEFT, Arrival, Drafting
from pages.parts import format
from pages.parts.plane import padded

# ---- a prompt beside sequences that decode ---------------------------------------------------------------------

LANES = {"apart": "a step each", "together": "one step together", "chunked": "in chunks of {}"}
_MOST_BARS = 90  # of a lane; beyond, equal steps are drawn as one
_MOST_DECODES = 30


def ways(a: Arrival) -> frames.Data:
    """Three lanes of steps over time: the prompt and the decodes apart, together, and in chunks."""
    lanes = list(a.ways.values())
    end = max(float(way.seconds.sum()) for way in lanes)
    horizon = end + 1.5 * a.load.latency
    bars = [_bars(way, lane, a.load.latency, horizon) for lane, way in enumerate(lanes)]
    waits = [_wait(a, name, lane) for lane, name in enumerate(a.ways)]
    return {
        "frame": frames.row(left=0.0, right=horizon, bottom=0.0, top=1.0),
        "bars": pd.concat(bars, ignore_index=True),
        "waits": pd.DataFrame(waits),
    }


def _bars(way: batching.Way, lane: int, alone: float, horizon: float) -> pd.DataFrame:
    """The steps of a way, and after them the decode steps up to the horizon."""
    ends = np.cumsum(way.seconds)
    own = pd.DataFrame({"start": ends - way.seconds, "end": ends, "prompt": way.prompt, "decoding": way.decoding})
    own = own if len(own) <= _MOST_BARS else _merged(own)
    starts = np.arange(ends[-1], horizon, alone)
    later = pd.DataFrame({"start": starts, "end": np.minimum(starts + alone, horizon), "prompt": 0.0, "decoding": True})
    later = later if len(later) <= _MOST_DECODES else _merged(later)
    return pd.concat([own.assign(steps=1), later.assign(steps=1)], ignore_index=True).assign(lane=lane)


def _merged(bars: pd.DataFrame) -> pd.DataFrame:
    """One bar for all."""
    first, last = bars.iloc[0], bars.iloc[-1]
    return pd.DataFrame([{**first, "end": last["end"], "prompt": float(bars["prompt"].sum())}])


def _wait(a: Arrival, name: str, lane: int) -> dict[str, Any]:
    """The longest wait between two tokens of the decodes in a lane: where it is, and the words for it."""
    way = a.ways[name]
    tokens = np.concatenate([[0.0], np.cumsum(way.seconds)[way.decoding]])
    longest = int(np.argmax(np.diff(tokens)))
    title = LANES[name].format(format.count(min(a.chunk, a.prompt)))
    steps = len(way.seconds)
    counted = f" ({format.count(steps)} steps)" if name == "chunked" else ""
    wait, first = format.seconds(way.longest_wait), format.seconds(way.first_token)
    return {
        "lane": lane,
        "start": tokens[longest],
        "end": tokens[longest + 1],
        "text": f"{title}{counted}: a token waits up to {wait}, the prompt's first token comes after {first}",
        "short": f"{title}: waits {wait}, first {first}",
        "wait_text": str(wait),
    }


def chunk(a: Arrival) -> frames.Data:
    """Time of a step against the tokens of the prompt in it, and how many ride free."""
    turns = [t for t in (a.free, a.free_of_weights) if 1 < t < a.largest]
    chunks = np.unique(np.concatenate([np.geomspace(1, a.largest, 140), turns]))
    main, alone = a.mixed(a.load.floor, chunks), a.mixed(a.load.weights_alone, chunks)
    curve = frames.segments(main.bound, chunk=chunks, seconds=main.seconds, low=main.seconds, high=main.seconds)
    curves = [
        curve.assign(curve="floor"),
        pd.DataFrame({"chunk": chunks, "seconds": alone.seconds, "curve": "weights"}),
    ]
    if a.load.estimates:
        estimate = a.mixed(a.load.price, chunks)
        columns = {"seconds": estimate.seconds, "low": estimate.low, "high": estimate.high}
        curves.append(pd.DataFrame({"chunk": chunks, **columns, "curve": "estimate"}))
    both = pd.concat(curves, ignore_index=True)
    corners = padded(
        float(both["seconds"].min()), float(both["seconds"].max()), frames.HEIGHTS["chunk"], 30, 3.8 * frames.LINE
    )
    return {
        "frame": frames.row(left=LEFT, right=a.largest, bottom=corners[0], top=corners[1]),
        "curve": both,
        "free": _free(a),
        "own": _own_chunk(a, main.seconds[0], alone.seconds[0]),
    }


def _free(a: Arrival) -> pd.DataFrame:
    """Where the ride ends, a row a count."""
    counts = (
        ("with the caches", a.free, a.load.floor),
        ("weights alone, T* − B", a.free_of_weights, a.load.weights_alone),
    )
    rows = [
        {
            "at": free,
            "seconds": float(a.mixed(price, free).seconds),
            "lane": lane,
            "text": f"{format.count(math.floor(free))} ride free, {words}",
            "short": f"{format.count(math.floor(free))} free, {words.split(',')[0]}",
        }
        for lane, (words, free, price) in enumerate(counts)
        if 1 < free < a.largest
    ]
    return pd.DataFrame(rows) if rows else frames.nothing("at", "seconds", "lane", "text", "short")


def _own_chunk(a: Arrival, floor: float, weights: float) -> pd.DataFrame:
    """The page's chunk, and how high the curves begin."""
    chunk = min(a.chunk, a.prompt)
    seconds = float(a.mixed(a.load.price if a.load.estimates else a.load.floor, chunk).seconds)
    name = f"with the caches of {format.count(a.load.batch)}"
    return frames.row(
        chunk=chunk, seconds=seconds, seconds_text=str(format.seconds(seconds)), floor_start=float(floor),
        weights_start=float(weights), floor_name=name, text=f"chunk of {format.count(chunk)}",
    )  # fmt: skip


# ---- speculative decoding --------------------------------------------------------------------------------------


def drafts(d: Drafting) -> frames.Data:
    """Break-even acceptance against the batch, as the page counts, and in the count beside it."""
    b = d.load
    curves = [
        pd.DataFrame({"batch": b.batches, "acceptance": d.break_even(b.batches, price), "curve": name})
        for name, price in (("own", b.price), ("beside", b.beside))
    ]
    curve = pd.concat(curves, ignore_index=True).dropna()
    top = frames.HEIGHTS["drafts"] / (frames.HEIGHTS["drafts"] - 3.6 * frames.LINE)
    return {"frame": frames.batches_frame(b, -0.03, top), "curve": curve, "own": _own_drafts(d), "wall": frames.wall(b)}


def _own_drafts(d: Drafting) -> pd.DataFrame:
    never, free = math.isnan(d.needed), d.needed == 0
    needed = (
        "it never pays"
        if never
        else "any accepted draft is a gain"
        if free
        else f"{format.percent(d.needed)} must be accepted"
    )
    names = ("own", "beside")
    ends = [_last_finite(d.load.batches, d.break_even(d.load.batches, p)) for p in (d.load.price, d.load.beside)]
    places = {f"{name}_{what}": v for name, end in zip(names, ends, strict=True) for what, v in end.items()}
    return frames.row(
        batch=d.load.batch,
        acceptance=1.0 if never else d.needed,
        text=f"B = {format.count(d.load.batch)}: {needed}",
        short=f"B = {format.count(d.load.batch)}: {'never' if never else format.percent(d.needed)}",
        beside_name=d.load.beside_name,
        wall=frames.wall_at(d.load),
        **places,
    )


def _last_finite(batches: Any, values: Any) -> dict[str, float]:
    """Where a curve ends: its last value that is a number; the left end at 1 when none is."""
    finite = np.flatnonzero(np.isfinite(values))
    if not finite.size:
        return {"at": LEFT, "end": 1.0}
    return {"at": float(batches[finite[-1]]), "end": float(values[finite[-1]])}
