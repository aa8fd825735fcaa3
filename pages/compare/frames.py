"""What the pictures of a pair are drawn from: the same datasets for each, rows of A and of B in all of them.

``frame``: the corners of the plane. ``key``: the two lines above the curves that say which is which, and the figures.
``curve``: points, of the line that matters (``thick``) and of one beside it. ``marks``: the pair's own steps.
``ends``: the letters at the right ends. ``rules``: vertical lines, each named in a row of its own below the curves.
Heights in pixels are known here, so the strips that texts need are laid out here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import costmodel as cm
from costmodel.hardware import GIB
from pages.compare.numbers import Pair, Side
from pages.compare.words import fitting
from pages.parts import format
from pages.parts.datasets import Columns, Dataset, nothing, row, rows, segments, stacked
from pages.parts.plane import padded

HEIGHTS = {
    "time": 360,
    "roof": 340,
    "latency": 330,
    "speed": 330,
    "context": 320,
    "memory": 150,
    "served": 300,
    "market": 330,
    "bills": 330,
    "intensity": 330,
    "streamed": 330,
}  # px
BAR = 72  # px from a bar of the memory to the next
LINE = 18  # px that a line of type takes
ABOVE = 2 * LINE + 34  # px: the key, and a letter over the highest curve
BELOW = 2 * LINE + 30  # px: the names of the vertical lines, and a letter under the lowest curve
LEFT = 0.7  # left end of the axes of tokens and sequences: room for a mark at 1
POINTS = 90  # of a curve
_GAP = "\u2002"  # a space that a picture does not shrink
Data = dict[str, Dataset]


@dataclass(frozen=True)
class Line:
    """Points of one side's curve, as ``segments`` gives them."""

    side: Side
    points: Columns
    thick: bool = True


@dataclass(frozen=True)
class Mark:
    """One of a side's own steps: where it stands, what it means, and what a screen reader says."""

    side: Side
    kind: str  # "decode", "prefill" or "estimate"
    x: float
    y: float
    said: str


@dataclass(frozen=True)
class Rule:
    """A vertical line of a side from ``y`` down to the axis; outside the picture, only its name."""

    side: Side
    at: float
    y: float
    text: str
    short: str


@dataclass(frozen=True)
class Picture:
    """Everything of one picture, before it becomes datasets."""

    height: int
    left: float
    right: float
    lines: Sequence[Line]
    marks: Sequence[Mark]
    rules: Sequence[Rule]
    keys: Sequence[tuple[str, str]]  # of A and of B, on a wide page and on a phone
    log: bool = True

    def data(self) -> Data:
        """The datasets."""
        bottom, top = self._ends()
        return {
            "frame": row(left=self.left, right=self.right, bottom=bottom, top=top),
            "curve": stacked(*(_curve(line) for line in self.lines)),
            "marks": rows([_mark(mark) for mark in self.marks]) if self.marks else nothing(*_MARK),
            "ends": _ends([line for line in self.lines if line.thick]),
            "rules": _rules(self.rules, self.left, self.right),
            "key": key(self.keys),
        }

    def _ends(self) -> tuple[float, float]:
        """Ends of the vertical axis, with room for the texts."""
        values = [np.asarray(line.points["y"]) for line in self.lines]
        low, high = (float(end(np.concatenate([*values, [mark.y for mark in self.marks]]))) for end in (np.min, np.max))
        if self.log:
            return padded(low, high, self.height, ABOVE, BELOW)
        return 0.0, high * self.height / (self.height - ABOVE)

    def said(self, what: str) -> str:
        """What the picture shows, with its figures: for whoever cannot see it."""
        names = {"A": "A, solid: ", "B": "B, dashed: "}
        parts = [
            f"{names[name]}{'; '.join([_spoken(text), *(r.text for r in self.rules if r.side.name == name)])}."
            for name, (text, _) in zip("AB", self.keys, strict=True)
        ]
        return " ".join([f"{what}.", *parts])


def _spoken(text: str) -> str:
    """A text of the key without its signs."""
    return " ".join(word for word in text.split() if word not in "●◆○◇")


def _curve(line: Line) -> Columns:
    kind = "thick" if line.thick else "thin"
    return {**line.points, "side": line.side.name, "kind": kind}


_SHAPES = {
    "decode": ("circle", "decode", "decode text"),
    "prefill": ("diamond", "prefill", "prefill text"),
    "estimate": ("square", "muted", "muted"),
}


_MARK = ("side", "x", "y", "shape", "meaning", "outline", "said")


def _mark(mark: Mark) -> dict[str, Any]:
    shape, meaning, outline = _SHAPES[mark.kind]
    place = {"side": mark.side.name, "x": mark.x, "y": mark.y}
    return {**place, "shape": shape, "meaning": meaning, "outline": outline, "said": f"{mark.side.name}: {mark.said}"}


def _ends(lines: Sequence[Line]) -> Dataset:
    """A letter at the end of each curve: above the higher one, below the lower."""
    last = [float(line.points["y"][-1]) for line in lines]
    high = last.index(max(last))
    return rows(
        [
            {"text": line.side.name, "x": float(line.points["x"][-1]), "y": y, "above": place == high}
            for place, (line, y) in enumerate(zip(lines, last, strict=True))
        ]
    )


def _rules(rules: Sequence[Rule], left: float, right: float) -> Dataset:
    """Vertical lines; those outside the picture have their names at its edge."""
    if not rules:
        return nothing("side", "at", "y", "inside", "text", "short", "row", "first")
    first = min(rules, key=lambda rule: rule.at)
    return rows([{**_rule(rule, left, right), "first": rule is first and len(rules) > 1} for rule in rules])


def _rule(rule: Rule, left: float, right: float) -> dict[str, Any]:
    inside = left < rule.at < right
    beyond = " →" if right <= rule.at < math.inf else ""
    name = rule.side.name
    return {
        "side": name,
        "at": min(max(rule.at, left), right),
        "y": rule.y,
        "inside": inside,
        "text": f"{name}: {rule.text}{beyond}",
        "short": f"{name}: {rule.short}{beyond}",
        "row": int(name == "A"),
    }


def key(keys: Sequence[tuple[str, str]]) -> Dataset:
    """The two lines that say which curve is whose, with the figures."""
    return rows(
        [
            {"side": side, "row": place, "text": f"{side}{_GAP}{text}", "short": f"{side}{_GAP}{short}"}
            for place, (side, (text, short)) in enumerate(zip("AB", keys, strict=True))
        ]
    )


# ---- the pictures --------------------------------------------------------------------------------------------

_HOLLOW = {"A": ("●", "◆"), "B": ("○", "◇")}  # the marks of decode and prefill


def time(p: Pair) -> Picture:
    """Floors of a step against the tokens in it: prompts, and decode steps where the caches count."""
    last = 1.4 * 10 ** max(4, math.ceil(math.log10(max(max(s.prompt, s.batch) for s in p.sides))))
    tokens = np.geomspace(1, last, POINTS)
    return Picture(
        HEIGHTS["time"],
        left=LEFT,
        right=last,
        lines=[line for side in p.sides for line in _time_lines(side, tokens)],
        marks=[mark for side in p.sides for mark in _time_marks(side, estimated=p.both_estimate)],
        rules=[_crossing(side) for side in p.sides],
        keys=[_times(side) for side in p.sides],
    )


def _time_lines(side: Side, tokens: Any) -> Iterable[Line]:
    floor, count = side.roofline.floor, side.count
    prompts = floor.price(cm.Step.prefill(tokens), count)
    caches = side.roofline.counts_caches
    yield Line(side, segments(prompts.bound, x=tokens, y=prompts.seconds), thick=not caches)
    if caches:
        decodes = floor.price(cm.Step.decode(tokens, side.context), count)
        yield Line(side, segments(decodes.bound, x=tokens, y=decodes.seconds))


def _time_marks(side: Side, *, estimated: bool) -> Iterable[Mark]:
    r = side.roofline
    for kind, tokens, cost in (("decode", side.batch, r.decode), ("prefill", side.prompt, r.prefill)):
        yield Mark(
            side, kind, tokens, cost.seconds, f"{kind} of {format.count(tokens)}, {format.seconds(cost.seconds)}"
        )
    if estimated:
        for kind, tokens, cost in (("decode", side.batch, r.estimate), ("prefill", side.prompt, r.prefill_estimate)):
            yield Mark(side, "estimate", tokens, cost.seconds, f"{kind} estimated, {format.seconds(cost.seconds)}")


def _crossing(side: Side) -> Rule:
    at = side.crossing
    if at is None:
        return Rule(side, math.inf, 1.0, "decode steps never cross", "never crosses")
    seconds = float(side.roofline.floor.price(cm.Step.decode(at, side.context), side.count).seconds)
    if at <= 1:
        return Rule(side, at, seconds, "compute-bound from the first token on", "T* ≤ 1")
    number = format.count(at)
    return Rule(side, at, seconds, f"compute-bound from T* = {number}", f"T* = {number}")


def _times(side: Side) -> tuple[str, str]:
    circle, diamond = _HOLLOW[side.name]
    decode, prefill = (format.seconds(cost.seconds) for cost in (side.roofline.decode, side.roofline.prefill))
    batch, prompt = format.count(side.batch), format.count(side.prompt)
    return (
        f"{circle} decode of {batch}: {decode}{_GAP}{diamond} prefill of {prompt}: {prefill}",
        f"{circle} {decode}{_GAP}{diamond} {prefill}",
    )


def roof(p: Pair) -> Picture:
    """The two roofs, and under them the decode steps and the prompts."""
    points = [(side, kind, cost) for side in p.sides for kind, cost in _steps(side)]
    at = [float(cost.intensity) for _, _, cost in points] + [side.roofline.ridge for side in p.sides]
    left, right = min(at) / 3, max(at) * 4
    intensities = np.geomspace(left, right, 60)
    return Picture(
        HEIGHTS["roof"],
        left=left,
        right=right,
        lines=[Line(side, _roof(side, intensities)) for side in p.sides],
        marks=[
            Mark(
                side, kind, float(cost.intensity), float(cost.flops / cost.seconds),
                f"{kind}, {format.significant(float(cost.intensity))} FLOP a byte",
            )
            for side, kind, cost in points
        ],
        rules=[_ridge(side) for side in p.sides],
        keys=[_intensities(side) for side in p.sides],
    )  # fmt: skip


def _steps(side: Side) -> Iterable[tuple[str, cm.Cost]]:
    return (("decode", side.roofline.decode), ("prefill", side.roofline.prefill))


def _peak(side: Side) -> float:
    return side.scenario.hardware.peak_of(side.scenario.formats.compute)


def _roof(side: Side, intensities: Any) -> Columns:
    at = np.unique(np.append(intensities, side.roofline.ridge))
    reached = 1 / cm.step_seconds(1.0, 1 / at, _peak(side), side.scenario.hardware.bandwidth)
    bound = np.where(at < side.roofline.ridge, "memory", "compute")
    return segments(bound, x=at, y=reached)


def _ridge(side: Side) -> Rule:
    number = format.significant(side.roofline.ridge)
    return Rule(side, side.roofline.ridge, _peak(side), f"ridge at {number} FLOP a byte", f"ridge {number}")


def _intensities(side: Side) -> tuple[str, str]:
    circle, diamond = _HOLLOW[side.name]
    decode, prefill = (format.significant(float(cost.intensity)) for _, cost in _steps(side))
    roofs = f"{format.byte_rate(side.scenario.hardware.bandwidth)}, {format.flop_rate(_peak(side))}"
    return (
        f"{circle} decode {decode}{_GAP}{diamond} prefill {prefill} FLOP a byte under {roofs}",
        f"{circle} {decode}{_GAP}{diamond} {prefill} FLOP/B",
    )


def latency(p: Pair) -> Picture:
    """Seconds of a decode step against the batch."""
    return _timed(p, "latency", lambda _, seconds: seconds, lambda value: f"{format.seconds(value)} a token")


def speed(p: Pair) -> Picture:
    """Tokens a second of the whole group against the batch."""
    return _timed(
        p, "speed", lambda batch, seconds: batch / seconds, lambda value: f"{format.significant(value)} tokens/s"
    )


def _timed(p: Pair, name: str, measure: Callable[[Any, Any], Any], said: Callable[[float], str]) -> Picture:
    def draw(side: Side, batches: Any) -> Curve:
        swept = p.price(side, cm.Step.decode(batches, side.context))
        own = float(measure(side.batch, p.decode_seconds(side)))
        return Curve(measure(batches, swept.seconds), swept.bound, own, said(own), said(own))

    return against_batches(p, name, draw, lambda side: _wall(p, side, measure))


@dataclass(frozen=True)
class Curve:
    """One side's curve over batches: its values, what they wait for, the value at its own batch and the words of that.

    ``beside``: values of a thin line of caches.
    """

    y: Any
    meaning: Any
    own: float
    text: str
    short: str
    beside: Any = None


def against_batches(
    p: Pair, name: str, draw: Callable[[Side, Any], Curve], rules: Callable[[Side], Iterable[Rule]] = lambda _: ()
) -> Picture:
    """A picture of one amount against the batch."""
    right = max(side.batching.right for side in p.sides)
    batches = np.geomspace(1, right, POINTS)
    lines, marks, keys = [], [], []
    for side in p.sides:
        curve = draw(side, batches)
        lines.append(Line(side, segments(curve.meaning, x=batches, y=curve.y)))
        if curve.beside is not None:
            lines.append(Line(side, segments(np.full(POINTS, "cached"), x=batches, y=curve.beside), thick=False))
        marks.append(Mark(side, "decode", side.batch, curve.own, f"{many(side)}, {curve.text}"))
        keys.append(of_batch(side, curve.text, curve.short))
    return Picture(HEIGHTS[name], LEFT, right, lines, marks, [rule for side in p.sides for rule in rules(side)], keys)


def many(side: Side) -> str:
    """The side's own batch in words."""
    return f"batch of {format.count(side.batch)}"


def of_batch(side: Side, text: str, short: str) -> tuple[str, str]:
    """What the key says of that batch, on a wide page and on a phone."""
    circle = _HOLLOW[side.name][0]
    return f"{circle} {many(side)}: {text}", f"{circle} {format.count(side.batch)}: {short}"


def _wall(p: Pair, side: Side, measure: Callable[[Any, Any], Any]) -> Iterable[Rule]:
    """Where memory ends on an axis of batches; nothing where it is not known."""
    most = side.batching.most
    if most is None:
        return
    if most < 1:
        yield Rule(side, 0.0, 1.0, "no sequence fits into memory", "none fits")
        return
    y = float(measure(most, p.price(side, cm.Step.decode(most, side.context)).seconds))
    number = format.count(most) if most < 1e6 else format.significant(most)  # noqa: PLR2004
    yield Rule(side, most, y, f"memory ends at {number}", f"fits {number}")


def context(p: Pair) -> Picture:
    """Seconds of a decode step against the context of its sequences, caches counted."""
    right = max(131_072.0, *(2.0 * side.context for side in p.sides))
    contexts = np.geomspace(1, right, POINTS)
    lines, marks, keys = [], [], []
    for side in p.sides:
        swept = p.price_with_caches(side, cm.Step.decode(side.batch, contexts))
        lines.append(Line(side, segments(swept.bound, x=contexts, y=swept.seconds)))
        own = float(p.price_with_caches(side, cm.Step.decode(side.batch, side.context)).seconds)
        number, seconds = format.count(side.context), format.seconds(own)
        tokens = format.many(side.context, "token")
        marks.append(Mark(side, "decode", side.context, own, f"{tokens}, {seconds}"))
        circle = _HOLLOW[side.name][0]
        keys.append((f"{circle} {tokens}: {seconds}", f"{circle} {number}: {seconds}"))
    rules = [rule for side in p.sides for rule in _longest(p, side)]
    return Picture(HEIGHTS["context"], LEFT, right, lines, marks, rules, keys)


def _longest(p: Pair, side: Side) -> Iterable[Rule]:
    """The longest context of which the batch fits; nothing where memory is not known, or where nothing grows."""
    fit = side.batching.fit
    if fit is None or not math.isfinite(fit.max_context):
        return
    if fit.max_context < 1:
        yield Rule(side, 0.0, 1.0, "the batch does not fit into memory", "does not fit")
        return
    y = float(p.price_with_caches(side, cm.Step.decode(side.batch, fit.max_context)).seconds)
    short = fit.max_context < 1e7  # noqa: PLR2004
    number = format.count(fit.max_context) if short else format.significant(fit.max_context)
    tokens = format.many(fit.max_context, "token") if short else f"{number} tokens"
    yield Rule(side, fit.max_context, y, f"memory ends at {tokens}", f"fits {number}")


# ---- memory --------------------------------------------------------------------------------------------------


def memory(p: Pair) -> Data:
    """The memory of one GPU of either: what the weights take, and the caches of its batch, in GiB."""
    known = [side for side in p.sides if side.memory.known]
    parts = [part for side in known for part in _parts(side)]
    right = max([part["end"] for part in parts] + [side.memory.fit.usable_bytes / GIB for side in known], default=1.0)
    limits = [_limit(side) for side in known]
    return {
        "frame": row(left=0.0, right=1.02 * right, bottom=0.0, top=1.0),
        "parts": rows(parts) if parts else nothing("side", "row", "meaning", "start", "end", "said"),
        "limits": rows(limits) if limits else nothing("side", "row", "at"),
        "key": key([_memory_text(side) for side in p.sides]),
    }


def _parts(side: Side) -> Iterable[dict[str, Any]]:
    fit, start = side.memory.fit, 0.0
    taken = (
        ("memory", "weights", fit.weight_bytes),
        ("muted", "reserve", fit.reserve_bytes),
        ("cached", "caches", side.memory.cache_bytes),
    )
    for meaning, name, nbytes in taken:
        end = start + nbytes / GIB
        said = f"{side.name}: {name} {format.gibibytes(nbytes)}"
        yield {**_row_of(side), "meaning": meaning, "start": start, "end": end, "said": said}
        start = end


def _limit(side: Side) -> dict[str, Any]:
    return {**_row_of(side), "at": side.memory.fit.budget_bytes / GIB}


def _row_of(side: Side) -> dict[str, Any]:
    return {"side": side.name, "row": "AB".index(side.name)}


def _memory_text(side: Side) -> tuple[str, str]:
    if not side.memory.known:
        unknown = f"the usable memory of {side.scenario.hardware.name} is not published"
        return unknown, "memory not published"
    fit = side.memory.fit
    weights, caches, budget = (
        format.gibibytes(nbytes) for nbytes in (fit.weight_bytes, side.memory.cache_bytes, fit.budget_bytes)
    )
    fits = fitting(fit.max_batch, side.context)
    if side.memory.over_bytes:
        fits = f"{format.gibibytes(side.memory.over_bytes)} too much"
    many = format.many(side.batch, "cache")
    return (
        f"weights {weights} + {many} {caches}, of {budget} that may be used: {fits}",
        f"{weights} + {caches} of {budget}",
    )


def memory_said(p: Pair) -> str:
    """The bars in words."""
    parts = [f"{side.name}: {_memory_text(side)[0]}." for side in p.sides]
    return " ".join(["What is in the memory of one GPU.", *parts])
