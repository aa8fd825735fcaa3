"""The table of differences: a quantity a row, its value on either side, how it changed, and why in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import costmodel as cm
from costmodel import compare
from costmodel.dtypes import DTYPES
from pages.compare import words
from pages.compare.numbers import Pair, Side
from pages.compare.words import changed, faster, times, unchanged
from pages.parts import format
from pages.parts.components import Column, Table, Text
from pages.parts.layers import mixer_name, mixer_sizes, mlp_name, mlp_sizes

NOTHING = "nothing that it depends on changed"
_UNKNOWN = "–"


@dataclass(frozen=True)
class Delta:
    """A row."""

    name: str
    values: Sequence[Text]  # of A and of B
    change: str
    reason: str


def table(deltas: Sequence[Delta], title: str) -> Table:
    """The rows as a table."""
    columns = [
        Column("", lambda delta: delta.name),
        Column("A", lambda delta: delta.values[0]),
        Column("B", lambda delta: delta.values[1]),
        Column("B against A", lambda delta: delta.change),
        Column("because", lambda delta: delta.reason, left=True),
    ]
    return Table(columns, list(deltas), title=title)


def deltas(p: Pair) -> list[Delta]:
    """All rows of the page."""
    return [*_steps(p), *_rates(p), *_prompts(p), *_turns(p), *_room(p), _price(p), *_sizes(p)]


# ---- times ---------------------------------------------------------------------------------------------------


def _steps(p: Pair) -> Iterable[Delta]:
    yield _timed("decode step, floor", *(side.roofline.decode for side in p.sides))
    yield from _estimated(p, "decode step, estimate", lambda side: side.roofline.estimate)


def _prompts(p: Pair) -> Iterable[Delta]:
    yield _timed("first token (prompt), floor", *(side.roofline.prefill_with_caches for side in p.sides))
    yield from _estimated(p, "first token (prompt), estimate", lambda side: side.roofline.prefill_estimate)


def _timed(name: str, a: cm.Cost, b: cm.Cost) -> Delta:
    ratio = compare.floors(a, b)
    return Delta(name, _seconds(a.seconds, b.seconds), faster(a.seconds, b.seconds), words.reason(ratio))


def _estimated(p: Pair, name: str, cost: Callable[[Side], cm.Cost]) -> Iterable[Delta]:
    """A row where rates speak of either side; both sides have to for a difference."""
    if not any(side.estimates for side in p.sides):
        return
    if not p.both_estimate:
        values = [format.seconds(cost(side).seconds) if side.estimates else _UNKNOWN for side in p.sides]
        without = next(side.name for side in p.sides if not side.estimates)
        yield Delta(name, values, _UNKNOWN, f"only the datasheet speaks of {without}")
        return
    a, b = (cost(side) for side in p.sides)
    whose = words.saved(compare.contributions(a, b), float(b.seconds - a.seconds))
    yield Delta(name, _seconds(a.seconds, b.seconds), faster(a.seconds, b.seconds), whose)


def _rates(p: Pair) -> Iterable[Delta]:
    a, b = (p.token_seconds(side) for side in p.sides)
    shared = [format.count(side.batch) for side in p.sides]
    step = faster(*(p.decode_seconds(side) for side in p.sides))
    share = "" if p.a.batch == p.b.batch else f" and {shared[1]} share it, not {shared[0]}"
    why = f"the step is {step}{share}"
    yield Delta("time of the machine a token", _seconds(a, b), faster(a, b), why)
    yield Delta("tokens a second, all sequences", _significant(1 / a, 1 / b), times(1 / a, 1 / b), why)


def _seconds(*values: float) -> list[Text]:
    return [format.seconds(value) for value in values]


def _significant(*values: float) -> list[Text]:
    return [format.significant(value) for value in values]


def _counts(*values: float) -> list[Text]:
    return [format.count(value) for value in values]


# ---- where memory and arithmetic meet ------------------------------------------------------------------------


def _turns(p: Pair) -> Iterable[Delta]:
    a, b = (side.roofline for side in p.sides)
    ridge = b.ridge / a.ridge
    hardware = [s.scenario.hardware for s in p.sides]
    peaks = [hw.peak_of(s.scenario.formats.compute) for hw, s in zip(hardware, p.sides, strict=True)]
    causes = [("the peak", peaks[1] / peaks[0]), ("bandwidth", hardware[1].bandwidth / hardware[0].bandwidth)]
    yield Delta("ridge B*, FLOP a byte", _significant(a.ridge, b.ridge), times(a.ridge, b.ridge), _why(causes))
    yield _crossing(p, ridge)
    intensity = [float(side.decode_with_caches.intensity) for side in (a, b)]
    found = compare.floors(a.decode_with_caches, b.decode_with_caches)
    amounts = [("the FLOPs", 1 / found.compute.amount), ("the bytes", 1 / found.memory.amount)]
    change = times(intensity[0], intensity[1])
    yield Delta("FLOP a byte, caches counted", _significant(*intensity), change, _why(amounts))


def _crossing(p: Pair, ridge: float) -> Delta:
    name = "crossing T*, tokens"
    found = [side.batching.weights_crossing for side in p.sides]
    values = [_turns_at(at) for at in found]
    a, b = found
    if a is None or b is None or min(a, b) <= 1:
        never = " and ".join(side.name for side, at in zip(p.sides, found, strict=True) if at is None)
        first = " and ".join(side.name for side, at in zip(p.sides, found, strict=True) if at is not None and at <= 1)
        reasons = [f"steps of {never} never turn compute-bound"] if never else []
        reasons += [f"steps of {first} are compute-bound from the first token on"] if first else []
        return Delta(name, values, _UNKNOWN, ", ".join(reasons))
    causes = [("the ridge", ridge), ("the bytes for each FLOP", b / a / ridge)]
    return Delta(name, values, times(a, b, format.count), _why(causes))


def _turns_at(crossing: float | None) -> str:
    """T* of one side; below one token there is nothing to cross."""
    if crossing is None:
        return "never"
    return format.count(crossing) if crossing > 1 else "≤ 1"


# ---- memory --------------------------------------------------------------------------------------------------


def _room(p: Pair) -> Iterable[Delta]:
    fits = [side.batching.fit for side in p.sides]
    a, b = fits
    if a is None or b is None:
        unknown = " and ".join(
            side.scenario.hardware.name for side, fit in zip(p.sides, fits, strict=True) if fit is None
        )
        values = [_UNKNOWN if fit is None else format.count(fit.max_batch) for fit in fits]
        yield Delta("sequences that fit", values, _UNKNOWN, f"the usable memory of {unknown} is not published")
        return
    each = (a.sequence_bytes, b.sequence_bytes)
    change = times(*each, format.gigabytes)
    yield Delta(words.own_name(p), [format.gigabytes(n) for n in each], change, _own_reason(p, a, b))
    most = times(a.max_batch, b.max_batch, format.count) if a.max_batch and b.max_batch else _UNKNOWN
    yield Delta("sequences that fit", _counts(a.max_batch, b.max_batch), most, _fits_reason(p))


def _own_reason(p: Pair, a: cm.Fit, b: cm.Fit) -> str:
    """Why a sequence keeps as many bytes as it does: its cache and its state follow different things."""
    caches, states = (
        (a.sequence_bytes - a.state_bytes, b.sequence_bytes - b.state_bytes),
        (a.state_bytes, b.state_bytes),
    )
    kinds = [("cache", caches, _cache_causes), ("state", states, _state_causes)]
    there = [(name, each, causes) for name, each, causes in kinds if any(each)]
    if len(there) == 1:
        _, each, causes = there[0]
        return _why(causes(p, each[1] / each[0]))
    if all(times(*each, format.gigabytes) == "the same" for _, each, _ in there):
        return NOTHING
    return " and ".join(_part(p, *kind) for kind in there).rstrip(",")


_Causes = Callable[[Pair, float], Sequence[tuple[str, float]]]


def _part(p: Pair, name: str, each: tuple[float, float], causes: _Causes) -> str:
    """What became of the cache, or of the state, where a sequence keeps both."""
    a, b = (format.gigabytes(nbytes) for nbytes in each)
    if not all(each):
        has, size = ("A", a) if each[0] else ("B", b)
        return f"only {has} has a {name}, of {size},"
    if a == b:
        return f"the {name} is {a} in both"
    return f"the {name} went from {a} to {b}, as {_why(causes(p, each[1] / each[0]))},"


def _cache_causes(p: Pair, ratio: float) -> Sequence[tuple[str, float]]:
    kinds = [side.scenario.formats.kv for side in p.sides]
    value = DTYPES[kinds[1]].bytes / DTYPES[kinds[0]].bytes
    tokens = p.b.context / p.a.context
    causes = [(f"bytes a value ({kinds[0]} to {kinds[1]})", value), ("the context", tokens)]
    return [*causes, (_values(p), ratio / value / tokens)]


def _values(p: Pair) -> str:
    """What decides how many values a token leaves on a GPU."""
    if p.other_model:
        return "values a token in the other model"
    a, b = (side.gpus // side.memory.fit.pools for side in p.sides)
    return "values a token on each GPU" if a != b else "what whole blocks and windows keep"


def _state_causes(p: Pair, ratio: float) -> Sequence[tuple[str, float]]:
    """A state has neither the cache's format nor a length."""
    return [(f"bytes of a state {'in the other model' if p.other_model else 'on each GPU'}", ratio)]


def _fits_reason(p: Pair) -> str:
    for side in p.sides:
        if side.memory.fit.kv_pool_bytes <= 0:
            over = format.gibibytes(-side.memory.fit.kv_pool_bytes)
            alone = "with what is reserved" if side.memory.fit.reserve_bytes else "alone"
            return f"the weights of {side.name} {alone} are {over} more than its memory may hold"
        if not side.memory.fit.max_batch:
            return f"beside the weights of {side.name} there is no room for one sequence"
    room, own, gpus, most = (b / a for a, b in zip(*(_filling(side.memory.fit) for side in p.sides), strict=True))
    causes = [
        ("room beside the weights", room),
        (f"the {words.own_name(p)}", own),
        ("the GPUs that hold sequences of their own", gpus),
        ("the part of the room that whole sequences fill", most * own / room / gpus),
    ]
    return _why(causes)


def _filling(fit: cm.Fit) -> tuple[float, ...]:
    """Room beside the weights, what a sequence keeps, GPUs with their own, and the sequences that it all comes to."""
    return fit.kv_pool_bytes, fit.sequence_bytes, fit.pools, fit.max_batch


# ---- money and sizes -----------------------------------------------------------------------------------------


def _price(p: Pair) -> Delta:
    a, b = (side.batching.million_at(p.token_seconds(side)) for side in p.sides)
    causes = [
        ("time a token", p.token_seconds(p.b) / p.token_seconds(p.a)),
        ("the number of GPUs", p.b.gpus / p.a.gpus),
        ("the price of an hour", p.b.hourly / p.a.hourly),
    ]
    return Delta("$ a million tokens", _significant(a, b), times(a, b), _why(causes))


def _sizes(p: Pair) -> Iterable[Delta]:
    """What differs between two models."""
    if not p.other_model:
        return
    models = [side.scenario.model for side in p.sides]
    sizes: Sequence[tuple[str, Callable[[float], Text], Callable[[cm.Model], float]]] = (
        ("parameters", format.parameters, lambda model: model.total_params),
        ("parameters that a token meets", format.parameters, lambda model: model.active_params),
        ("layers", format.count, lambda model: sum(many for _, many in model.layers)),
        ("hidden size", format.count, lambda model: model.hidden),
        ("vocabulary", format.count, lambda model: model.vocab),
    )
    for name, text, size in sizes:
        a, b = (size(model) for model in models)
        yield Delta(name, [text(a), text(b)], times(a, b, text), "another model")
    yield Delta("attention of the first layer", [_mixer(model) for model in models], "", "another model")
    yield Delta("MLP of the last layer", [_mlp(model) for model in models], "", "another model")


def _mixer(model: cm.Model) -> str:
    mixer = model.layers[0][0].mixer
    return ", ".join(filter(None, (mixer_name(mixer), mixer_sizes(mixer))))


def _mlp(model: cm.Model) -> str:
    mlp = model.layers[-1][0].mlp
    return ", ".join(filter(None, (mlp_name(mlp), mlp_sizes(mlp))))


# ---- words ---------------------------------------------------------------------------------------------------


def _why(causes: Sequence[tuple[str, float]]) -> str:
    """What changed, of the causes whose ratios multiply to the whole."""
    return " and ".join(changed(what, ratio) for what, ratio in causes if not unchanged(ratio)) or NOTHING
