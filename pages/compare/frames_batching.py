"""What the Batching page's pictures of a pair are drawn from: the datasets of its other pictures, of other amounts."""

from __future__ import annotations

import math

import numpy as np

import costmodel as cm
from costmodel import batching
from pages.compare.frames import HEIGHTS, HOLLOW, LEFT, POINTS, Line, Mark, Picture, Rule
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
        marks.append(Mark(side, "decode", 1 / seconds, own, f"{_many(side)}, {speed} each, {price} a million"))
        keys.append(_key(side, f"{speed} each, {price} a million", f"{speed}, {price}"))
    speeds = [speed for line in lines for speed in line.points["x"]] + [mark.x for mark in marks]
    return Picture(HEIGHTS["market"], min(speeds) / 1.6, max(speeds) * 1.6, lines, marks, [], keys)


def _last_batch(side: Side) -> float:
    """The largest batch that fits, where that is known and any does, else where the other pictures end."""
    most = side.batching.most
    return side.batching.right if not most else max(2.0, min(float(most), side.batching.right))


def bills(p: Pair) -> Picture:
    """Bytes that a token moves against the batch: both bills, and that of the cache alone (thin); floors."""
    right = _right(p)
    batches = np.geomspace(1, right, POINTS)
    lines, marks, keys = [], [], []
    for side in p.sides:
        load = side.batching
        both = batching.bills(load.floor, batches, load.context)
        bound = load.floor(cm.Step.decode(batches, load.context)).bound
        lines.append(Line(side, segments(bound, x=batches, y=both.total)))
        if load.bills.caches:
            lines.append(Line(side, segments(np.full(POINTS, "cached"), x=batches, y=both.caches), thick=False))
        weights, caches = format.gigabytes(load.bills.weights), format.gigabytes(load.bills.caches)
        total = float(load.bills.total)
        marks.append(Mark(side, "decode", side.batch, total, f"{_many(side)}, {format.gigabytes(total)} a token"))
        keys.append(_key(side, f"{weights} of weights + {caches} of cache a token", f"{weights} + {caches}"))
    rules = [_even(side) for side in p.sides]
    return Picture(HEIGHTS["bills"], LEFT, right, lines, marks, rules, keys)


def _even(side: Side) -> Rule:
    at = side.batching.even_batch
    if at is None:
        return Rule(side, math.inf, 1.0, "the bills are never even", "never even")
    total = float(batching.bills(side.batching.floor, at, side.context).total)
    return Rule(side, at, total, f"the bills are even at B = {format.count(at)}", f"even at {format.count(at)}")


def intensity(p: Pair) -> Picture:
    """FLOPs for each byte of a decode step against the batch, its caches counted; floors."""
    right = _right(p)
    batches = np.geomspace(1, right, POINTS)
    lines, marks, keys = [], [], []
    for side in p.sides:
        load = side.batching
        swept = load.floor(cm.Step.decode(batches, load.context))
        lines.append(Line(side, segments(swept.bound, x=batches, y=swept.intensity)))
        own, ridge = format.significant(load.intensity), format.significant(load.ridge)
        marks.append(Mark(side, "decode", side.batch, load.intensity, f"{_many(side)}, {own} FLOP a byte"))
        keys.append(_key(side, f"{own} FLOP a byte, ridge at {ridge}", f"{own}, ridge {ridge}"))
    rules = [_turn(side) for side in p.sides]
    return Picture(HEIGHTS["intensity"], LEFT, right, lines, marks, rules, keys)


def _turn(side: Side) -> Rule:
    at = side.batching.crossing(side.context)
    if at is None:
        return Rule(side, math.inf, 1.0, "never compute-bound", "never crosses")
    reached = float(side.batching.floor(cm.Step.decode(at, side.context)).intensity)
    number = format.count(at)
    return Rule(side, at, reached, f"compute-bound from B = {number}", f"from {number}")


def streamed(p: Pair) -> Picture:
    """Bytes of weights that a step streams against the batch: all of a dense model's, those of the experts hit."""
    right = _right(p)
    batches = np.geomspace(1, right, POINTS)
    lines, marks, keys = [], [], []
    for side in p.sides:
        load = side.batching
        lines.append(Line(side, segments(np.full(POINTS, "memory"), x=batches, y=load.weight_bytes(batches))))
        own = float(load.weight_bytes(side.batch))
        marks.append(Mark(side, "decode", side.batch, own, f"{_many(side)}, {format.gigabytes(own)} of weights"))
        keys.append(_key(side, f"{format.gigabytes(own)} of weights, {_experts(side)}", f"{format.gigabytes(own)}"))
    return Picture(HEIGHTS["streamed"], LEFT, right, lines, marks, [], keys)


def with_experts(p: Pair) -> bool:
    """Whether either model is a mixture of experts, so that the batch decides what is streamed."""
    return any(side.batching.experts is not None for side in p.sides)


def _experts(side: Side) -> str:
    if side.batching.experts is None:
        return "whatever the batch"
    hit, there = side.batching.hit, side.batching.experts.experts
    return f"{format.significant(float(hit.expected))} of {there} experts in a layer"


def _right(p: Pair) -> float:
    return max(side.batching.right for side in p.sides)


def _many(side: Side) -> str:
    return f"batch of {format.count(side.batch)}"


def _key(side: Side, text: str, short: str) -> tuple[str, str]:
    circle = HOLLOW[side.name][0]
    return f"{circle} {_many(side)}: {text}", f"{circle} {format.count(side.batch)}: {short}"
