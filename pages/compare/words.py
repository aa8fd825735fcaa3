"""Why the one is faster than the other, in words made of the numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from costmodel import Cost, Fit
from costmodel.compare import Bound, Contribution, FloorRatio
from costmodel.compare import Side as OneSide
from pages.compare.numbers import Pair, Side
from pages.parts import borrowed, codec, format
from pages.parts.components import Html, Ink, Line, Part
from pages.parts.layers import keeps

_NAMED = 2  # operations that a sentence names
_SAME = 5e-4  # share of a number below which a difference is not one
_WAIT = {"memory": "memory", "compute": "arithmetic"}
_AMOUNTS = {"memory": "the bytes", "compute": "the FLOPs"}
_RATES = {"memory": "bandwidth", "compute": "the peak"}


Write = Callable[[float], object]


def alike(a: float, b: float, write: Write) -> bool:
    """Whether two numbers are the same as far as anybody can see, written as they are shown."""
    return str(write(a)) == str(write(b)) or unchanged(b / a)


def unchanged(ratio: float) -> bool:
    """Whether a ratio is 1, but for what no figure shows."""
    return abs(ratio - 1) < _SAME


def times(a: float, b: float, write: Write = format.significant) -> str:
    """How B stands to A: "1.43×", or "the same"."""
    return "the same" if alike(a, b, write) else _factor(b / a)


def faster(a: float, b: float) -> str:
    """How much faster, or slower, B is than A, both in seconds: "1.43× faster"."""
    if alike(a, b, format.seconds):
        return "as fast"
    return f"{_factor(max(a / b, b / a))} {'faster' if b < a else 'slower'}"


def changed(what: str, ratio: float) -> str:
    """How an amount of B stands to that of A: "bandwidth grew 1.43×", "the bytes fell to 0.500×".

    >>> changed("bandwidth", 1.4328), changed("the bytes", 0.5), changed("the FLOPs", 1.0034)
    ('bandwidth grew 1.43×', 'the bytes fell to 0.500×', 'the FLOPs grew 1.003×')
    """
    return f"{what} {'grew' if ratio > 1 else 'fell to'} {_factor(ratio)}"


def _factor(ratio: float) -> str:
    """A factor in three digits, or in the four that it takes not to read 1."""
    written = format.times(ratio)
    return f"{format.significant(ratio, 4)}×" if written == format.times(1) else written


def own_name(p: Pair) -> str:
    """What a sequence of either side keeps of its own: "cache of a sequence", "cache and state of a sequence"."""
    kept = [keeps(side.scenario.model).split(" and ") for side in p.sides]
    return f"{' and '.join(sorted({*kept[0], *kept[1]} - {''}))} of a sequence"


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
        alone, reached = _factor(mine.speedup), _factor(r.speedup)
        return f"{gained}, which alone would make it {alone} faster, and from {reached} on it waits for {_WAIT[now]}"
    causes = " and ".join(_causes(now, its))
    return f"{switch}: {causes}" if causes else switch


def _causes(bound: Bound, side: OneSide) -> list[str]:
    """What changed on a side, each as B to A."""
    amount, rate = 1 / side.amount, side.rate
    found = [(_AMOUNTS[bound], amount), (_RATES[bound], rate)]
    return [changed(what, ratio) for what, ratio in found if not unchanged(ratio)]


def _other(bound: Bound) -> Bound:
    return "compute" if bound == "memory" else "memory"


def _noun(bound: Bound) -> str:
    return "memory" if bound == "memory" else "compute"


# ---- the reason of a difference of estimates -----------------------------------------------------------------


def saved(found: Sequence[Contribution], difference: float) -> str:
    """Which operations make the difference of two estimates."""
    named = [c for c in found[:_NAMED] if abs(c.difference) > abs(difference) / 10]
    if not named or difference == 0:
        return "no operation changed"
    return " and ".join(
        f"{c.name} {'take' if c.name.endswith('s') else 'takes'} {format.seconds(abs(c.difference))} "
        f"{'more' if c.difference > 0 else 'less'}"
        for c in named
    )


# ---- headline ------------------------------------------------------------------------------------------------


def headline(p: Pair, lead: str) -> list[Part]:
    """The sentence of numbers that the page opens with; ``lead`` says what B is: "On H200 SXM"."""
    if p.same:
        return ["A and B are the same: a decode step takes both ", _seconds(p.a, p), "."]
    about = "about " if p.both_estimate else ""
    start: list[Part] = [
        f"{lead} (B), a decode step takes {about}", _seconds(p.b, p), " instead of the ", _seconds(p.a, p), " of A: ",
        Ink(faster(*(p.decode_seconds(side) for side in p.sides)), strong=True),
    ]  # fmt: skip
    if p.both_estimate:
        a, b = (p.decode_seconds(side) for side in p.sides)
        return [*start, f", as {saved(p.decode_operations, b - a)}. The floors: {_floors(p)}.", *_each_token(p)]
    return [*start, f" because {reason(p.decode)}.", *_each_token(p)]


def _floors(p: Pair) -> str:
    a, b = (float(side.roofline.decode.seconds) for side in p.sides)
    return f"{faster(a, b)} because {reason(p.decode)}"


def _each_token(p: Pair) -> list[Part]:
    """What a token costs where the two steps make different numbers of them."""
    if p.a.batch == p.b.batch:
        return []
    a, b = (p.token_seconds(side) for side in p.sides)
    many = format.count(p.b.batch)
    if alike(a, b, format.seconds):
        return [f" Shared by {many}, a token costs the machine no less."]
    return [f" Shared by {many}, a token costs the machine {format.seconds(b)}, not {format.seconds(a)}."]


def _seconds(side: Side, p: Pair) -> Ink:
    meaning = "decode" if p.both_estimate else side.roofline.decode.bound
    return Ink(format.seconds(p.decode_seconds(side)), meaning, strong=True)


def sides(p: Pair) -> list[Part]:
    """Both scenarios with their workloads, a line each."""
    a, b = (f"{side.name}: {side.scenario.label} · {_load(side)}" for side in p.sides)
    return [f"● {a}", Html("<br>"), f"○ {b}"]


def _load(side: Side) -> str:
    each = format.many(side.context, "token")
    return f"{format.sequences(side.batch)} of {each}, prompts of {format.count(side.prompt)}"


def fitting(number: float, context: float) -> str:
    """Sequences for which there is room: "322 sequences of 2,048 tokens fit"."""
    return f"{format.sequences(number)} of {format.many(context, 'token')} fit{'s' * (number == 1)}"


PICTURE = (
    "A is solid and filled, B dashed and hollow. Time of one step against the tokens that go through together, "
    "coloured by what the step waits for. "
)


def below_picture(p: Pair) -> str:
    """How to read the first picture, and what its count leaves out."""
    counted = (
        "Thick: decode steps with their caches; thin: prompts."
        if p.a.roofline.counts_caches
        else "Every matrix is counted on every token, the caches are not, as in the post; the table has the bounds."
    )
    dots = " Squares: the estimates." if p.both_estimate else ""
    return f"{PICTURE}{counted}{dots}"


def stand_ins(p: Pair) -> str:
    """Where rates of other hardware stand in, and whose; "" where all rates are the machine's own."""
    names: dict[str, list[str]] = {}
    for side in p.sides:
        if side.estimates and (whose := borrowed.of_scenario(side.scenario)):
            names.setdefault(whose, []).append(side.name)
    return " ".join(
        f"The estimate{'s' * (len(who) > 1)} of {' and '.join(who)} go{'es' * (len(who) == 1)} {whose}."
        for whose, who in names.items()
    )


def carried(pinned: str) -> str:
    """What a link cannot carry."""
    if len(pinned) <= codec.LONGEST_TEXT:
        return ""
    return "What is pinned is too long for a link: it stays in this session, and a link to this page will not carry it."


# ---- the arithmetic ------------------------------------------------------------------------------------------


def arithmetic(p: Pair) -> list[Line]:
    """The two decode steps and the two prompts, their ratios taken apart, what fits and what it costs."""
    steps = (
        ("decode", [side.roofline.decode for side in p.sides], p.decode),
        ("prompt", [side.roofline.prefill_with_caches for side in p.sides], p.prompts),
    )
    lines: list[Line] = []
    for name, costs, ratio in steps:
        for side, cost in zip("AB", costs, strict=True):
            lines += _floor(f"{name}, {side}", cost)
        lines.append(_ratio(name, ratio))
    return [*lines, *(line for side in p.sides for line in _fits(side)), *(_million(p, side) for side in p.sides)]


def _floor(name: str, cost: Cost) -> list[Line]:
    bandwidth, peak = cost.bytes / cost.memory_seconds, cost.flops / cost.compute_seconds
    memory, compute = format.seconds(cost.memory_seconds, 4), format.seconds(cost.compute_seconds, 4)
    moved = f"{format.gigabytes(cost.bytes, 4)} ÷ {format.byte_rate(bandwidth)}"
    done = f"{format.flop(cost.flops, 4)} ÷ {format.flop_rate(peak)}"
    return [
        Line(f"{name}: memory", moved, Ink(memory, "memory"), gap=True),
        Line(f"{name}: arithmetic", done, Ink(compute, "compute")),
        Line(f"{name}: the longer", f"max({memory}, {compute})", Ink(format.seconds(cost.seconds, 4), cost.bound)),
    ]


def _fits(side: Side) -> list[Line]:
    """What is left of the memory beside the weights, in caches of one sequence."""
    fit = side.batching.fit
    if fit is None:
        return []
    usable, weights, reserve = (
        format.gibibytes(nbytes, 4) for nbytes in (fit.usable_bytes, fit.weight_bytes, fit.reserve_bytes)
    )
    kept = f" − {reserve}" if fit.reserve_bytes else ""
    room = f"({usable} × {side.memory.utilization:g} − {weights}{kept})"
    expression = whole_ones(room if fit.kv_pool_bytes > 0 else f"max(0, {room})", fit)
    return [Line(f"sequences that fit, {side.name}", expression, format.count(fit.max_batch), gap=True)]


def whole_ones(room: str, fit: Fit) -> str:
    """How many sequences fit into ``room`` on each GPU that holds its own, as an expression."""
    each = f"{room} ÷ {format.gibibytes(fit.sequence_bytes, 4)} each, in whole ones"
    return each if fit.pools == 1 else f"{each}, × {format.many(fit.pools, 'GPU')}"


def _million(p: Pair, side: Side) -> Line:
    seconds = p.token_seconds(side)
    gpus = format.many(side.gpus, "GPU")
    expression = f"10⁶ × {format.seconds(seconds, 4)} × {gpus} × ${side.hourly:g} ÷ 3,600 s"
    price = format.significant(side.batching.million_at(seconds), 4)
    return Line(f"a million tokens, {side.name}", expression, f"${price}", gap=side is p.a)


_CAUSES = {
    "bytes": "bytes, A ÷ B",
    "bandwidth": "bandwidth, B ÷ A",
    "flops": "FLOPs, A ÷ B",
    "peak": "peak, B ÷ A",
    "limit": "what the other side leaves of it",
}


def _ratio(name: str, ratio: FloorRatio) -> Line:
    expression = " × ".join(f"{format.significant(f.speedup, 4)} ({_CAUSES[f.cause]})" for f in ratio.factors)
    return Line(f"{name}: A ÷ B", expression, f"{format.significant(ratio.speedup, 4)}×")
