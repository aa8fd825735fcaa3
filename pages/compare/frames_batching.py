"""What the Batching page's pictures of a pair are drawn from: the datasets of its other pictures, of other amounts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

import costmodel as cm
from costmodel import batching
from pages.compare.frames import HEIGHTS, POINTS, Curve, Line, Mark, Picture, Rule, against_batches, many, of_batch
from pages.compare.numbers import Pair, Side
from pages.parts import format
from pages.parts.datasets import segments


def market(p: Pair) -> Picture:
    """Price of a million tokens against the speed of each sequence, along the batches that fit."""
    lines, marks, keys = [], [], []
    for side in p.sides:
        batches = np.geomspace(_last_batch(side), 1, POINTS)  # to the right, where one sequence is alone
        swept = p.price(side, cm.Step.decode(batches, side.context))
        prices = side.batching.million_at(swept.seconds / batches)
        lines.append(Line(side, segments(swept.bound, x=1 / swept.seconds, y=prices)))
        seconds = p.decode_seconds(side)
        own = float(side.batching.million_at(seconds / side.batch))
        speed, price = format.per_second(1 / seconds), format.dollars(own)
        marks.append(Mark(side, "decode", 1 / seconds, own, f"{many(side)}, {speed} each, {price} a million"))
        keys.append(of_batch(side, f"{speed} each, {price} a million", f"{speed}, {price}"))
    speeds = [speed for line in lines for speed in line.points["x"]] + [mark.x for mark in marks]
    return Picture(HEIGHTS["market"], min(speeds) / 1.6, max(speeds) * 1.6, lines, marks, [], keys)


def _last_batch(side: Side) -> float:
    """The largest batch that fits, where that is known and any does, else where the other pictures end."""
    most = side.batching.most
    return side.batching.right if not most else max(2.0, min(float(most), side.batching.right))


def bills(p: Pair) -> Picture:
    """Bytes that a token moves against the batch: both bills, and that of the cache alone (thin); floors."""
    return against_batches(p, "bills", _billed, _even)


def _billed(side: Side, batches: Any) -> Curve:
    load = side.batching
    both = batching.bills(load.floor, batches, load.context)
    weights, caches = format.gigabytes(load.bills.weights), format.gigabytes(load.bills.caches)
    return Curve(
        both.total,
        load.floor(cm.Step.decode(batches, load.context)).bound,
        own=float(load.bills.total),
        text=f"{weights} of weights + {caches} of cache a token",
        short=f"{weights} + {caches}",
        beside=both.caches if load.bills.caches else None,
    )


def _even(side: Side) -> Iterable[Rule]:
    at = side.batching.even_batch
    if at is None:
        yield Rule(side, math.inf, 1.0, "the bills are never even", "never even")
        return
    total = float(batching.bills(side.batching.floor, at, side.context).total)
    yield Rule(side, at, total, f"the bills are even at B = {format.count(at)}", f"even at {format.count(at)}")


def intensity(p: Pair) -> Picture:
    """FLOPs for each byte of a decode step against the batch, its caches counted; floors."""
    return against_batches(p, "intensity", _reached, _turn)


def _reached(side: Side, batches: Any) -> Curve:
    load = side.batching
    swept = load.floor(cm.Step.decode(batches, load.context))
    own, ridge = format.significant(load.intensity), format.significant(load.ridge)
    text, short = f"{own} FLOP a byte, ridge at {ridge}", f"{own}, ridge {ridge}"
    return Curve(swept.intensity, swept.bound, load.intensity, text, short)


def _turn(side: Side) -> Iterable[Rule]:
    at = side.batching.crossing(side.context)
    if at is None:
        yield Rule(side, math.inf, 1.0, "never compute-bound", "never crosses")
        return
    reached = float(side.batching.floor(cm.Step.decode(at, side.context)).intensity)
    if at <= 1:
        yield Rule(side, at, reached, "compute-bound from the first sequence on", "from the first")
        return
    number = format.count(at)
    yield Rule(side, at, reached, f"compute-bound from B = {number}", f"from {number}")


def streamed(p: Pair) -> Picture:
    """Bytes of weights that a step streams against the batch: all of a dense model's, those of the experts hit."""
    return against_batches(p, "streamed", _streamed)


def _streamed(side: Side, batches: Any) -> Curve:
    own = float(side.batching.weight_bytes(side.batch))
    short = str(format.gigabytes(own))
    text = f"{short} of weights, {_experts(side)}"
    return Curve(side.batching.weight_bytes(batches), np.full(POINTS, "memory"), own, text, short)


def with_experts(p: Pair) -> bool:
    """Whether either model is a mixture of experts, so that the batch decides what is streamed."""
    return any(side.batching.experts is not None for side in p.sides)


def _experts(side: Side) -> str:
    if side.batching.experts is None:
        return "whatever the batch"
    hit, there = side.batching.hit, side.batching.experts.experts
    return f"{format.significant(float(hit.expected))} of {there} experts in a layer"
