"""What the league says, as text made of its numbers."""

from __future__ import annotations

import math

from pages.compare.league import League, Row
from pages.compare.words import fitting, whole_ones
from pages.parts.components import BREAK, Column, Figure, Ink, Line, Part, Question, Table, Text, plain
from pages.parts.expected import limit, or_more, spread
from pages.parts.format import (
    NBSP,
    Quantity,
    byte_rate,
    count,
    dollars,
    flop,
    flop_rate,
    gibibytes,
    gigabytes,
    many,
    marketed,
    per_second,
    seconds,
    sequences,
    significant,
)

_MARKS = {"current": "►", "preliminary": "◇"}
ORDERS = {
    "decode": "decode step",
    "prefill": "prompt",
    "cost": "price",
    "most": "sequences that fit",
    "memory": "memory",
    "ridge": "B*",
    "name": "name",
}
PRICES = (
    "No market prices are built in: an hour of every accelerator costs what the slider says, until you give one a "
    "price of its own. In any currency."
)


def short_name(row: Row) -> str:
    """The name in the picture."""
    return row.hardware.name.removesuffix(" (preliminary)") + _as_changed(row)


def _as_changed(row: Row) -> str:
    return ", what if" if row.hardware.base is not None else ""


# ---- the top of the page ---------------------------------------------------------------------------------------


def headline(league: League) -> list[Part]:
    """Where the sidebar's accelerator stands."""
    now, (place, all_) = league.current, league.placed(league.current)
    name = now.hardware.name if now.hardware.base is None else f"{now.hardware.name} (what if)"
    decode = Ink(seconds(now.decode), "decode", strong=True)
    first: list[Part] = [
        f"On {name}, a decode step of {sequences(league.batch)} ",
        *or_more("takes ", "takes at least ", decode, expects=now.decode_expects),
        f", place {place} of {all_}. ",
    ]
    best = league.fastest
    shown = "" if len(league.rows) == len(league.everyone) else "shown and "
    if best is None:
        return [*first, "None of those shown is known to hold it."]
    if best is now:
        return [*first, f"Of those {shown}known to hold it, none has a shorter one."]
    return [
        *first,
        f"Of those {shown}known to hold it, {best.hardware.name} has the shortest: ",
        Ink(seconds(best.decode), "decode", strong=True),
        ".",
    ]


def alt(league: League) -> str:
    """The message of the picture, with its figures."""
    priced = [row for row in league.rows if row.priced]
    if not priced:
        return "No accelerator to show."
    slowest = max(priced, key=lambda row: row.decode)
    best = min(priced, key=lambda row: row.decode)
    quick = min(priced, key=lambda row: row.prefill)
    shortest = f"{seconds(best.decode)} ({best.hardware.name})"
    whose = "its" if len(priced) == 1 else "their"
    return (
        f"{many(len(priced), 'accelerator')} by {whose} decode step of {sequences(league.batch)} (across) and a prompt "
        f"of {many(league.prompt, 'token')} (up), both as floors: decode from {shortest} "
        f"to {seconds(slowest.decode)} ({slowest.hardware.name}); the prompt takes the least on "
        f"{quick.hardware.name}, {seconds(quick.prefill)}. {said(league.current)}"
    )


def said(row: Row) -> str:
    """A dot as a sentence."""
    if not row.priced:
        return f"{row.hardware.name} has no price: {obstacle(row)}."
    decode = or_more("takes ", "takes at least ", seconds(row.decode), expects=row.decode_expects)
    prompt = or_more("", "at least ", seconds(row.prefill), expects=row.prefill_expects)
    return (
        f"{row.hardware.name}{_as_changed(row)}: a decode step of {count(row.league.batch)} {plain(decode)}, "
        f"a prompt of {count(row.league.prompt)} {plain(prompt)}; {_holds(row)}."
    )


def _holds(row: Row) -> str:
    if row.fit is None:
        return "its usable memory is not published"
    if row.fit.kv_pool_bytes <= 0:
        return "the weights do not fit"
    return f"up to {fitting(row.fit.max_batch, row.league.context)}"


def below_picture(league: League) -> list[Part]:
    """How to read the picture."""
    return [
        (
            f"Every dot is one accelerator{_group(league)}: its floors of a decode step {_counted(league)}, and of a "
            "prompt with its squares, the LM head on its last position alone. Filled where the batch fits, hollow "
            "where it does not, a triangle where no usable memory is published. The dotted lines go through "
            f"{league.current.hardware.name}. Names stand where there is room; every dot says its own. "
        ),
        *([_lone(league)] if len(league.rows) == 1 else []),
    ]


def _group(league: League) -> str:
    gpus = league.scenario.tensor_parallel
    return "" if gpus == 1 else f" of a group of {gpus} over which the model is divided, links not counted"


def _counted(league: League) -> str:
    return "with the caches counted" if league.count == "attention" else "from the weights alone, as the post counts"


def _lone(league: League) -> str:
    return f"Only {league.rows[0].hardware.name} is left by the choices below."


# ---- the row that is looked into -------------------------------------------------------------------------------


def chosen(league: League) -> str:
    """The row that is looked into, as the select names it while nothing else is chosen."""
    return f"{short_name(league.current)} (the sidebar's)"


def figures(row: Row) -> list[Figure]:
    """Five numbers of one accelerator."""
    return [
        Figure(f"decode step, {limit('at least', expects=row.decode_expects)}", _time(row.decode), "decode"),
        Figure(f"prompt, {limit('at least', expects=row.prefill_expects)}", _time(row.prefill), "prefill"),
        Figure(f"sequences of {count(row.league.context)} that fit", _most(row)),
        Figure(f"tokens/s, {limit('at most', expects=row.decode_expects)}", _number(row.tokens_per_second)),
        Figure(f"a million tokens, {limit('at least', expects=row.decode_expects)}", _price(row.million)),
    ]


def _time(value: float) -> Quantity | str:
    return "–" if math.isnan(value) else seconds(value)


def _number(value: float) -> str:
    return "–" if math.isnan(value) else significant(value)


def _price(value: float) -> str:
    return "–" if math.isnan(value) else dollars(value)


def _most(row: Row) -> str:
    if row.fit is None:
        return "not known" if row.priced else "–"
    return count(row.fit.max_batch) if row.fit.fits or row.fit.max_batch else "none"


def arithmetic(row: Row) -> list[Line]:
    """How the figures of one accelerator come about."""
    if not row.priced:
        return [Line(row.hardware.name, row.obstacle, "no price")]
    return [*_steps(row), *_room(row), *_money(row), *_estimated(row)]


def _steps(row: Row) -> list[Line]:
    league, hw = row.league, row.hardware
    i = league.everyone.index(row)
    lines = [Line("B*", [f"{flop_rate(row.ridge * hw.bandwidth)} ÷ {byte_rate(hw.bandwidth)}"], significant(row.ridge))]
    for name, floors, meaning in (("decode", league.decodes, "decode"), ("prompt", league.prefills, "prefill")):
        memory, compute = float(floors.memory_seconds[i]), float(floors.compute_seconds[i])
        nbytes, flops = float(floors.bytes[i]), float(floors.flops[i])
        expects = bool(floors.expects_experts[i])
        longer = Ink(seconds(max(memory, compute)), meaning, strong=True)
        lines += [
            Line(
                f"{name}, bytes",
                [Ink(gigabytes(nbytes), "memory"), f" ÷ {byte_rate(hw.bandwidth)}"],
                Ink(seconds(memory), "memory"),
                gap=True,
            ),
            Line(
                f"{name}, arithmetic",
                [Ink(flop(flops), "compute"), f" ÷ {flop_rate(flops / compute)}"],
                Ink(seconds(compute), "compute"),
            ),
            Line(f"{name}, {limit('at least', expects=expects)}", "the longer of the two", longer),
        ]
    return lines


def _room(row: Row) -> list[Line]:
    fit = row.fit
    if fit is None:
        missing = f"no usable memory is published for {row.hardware.name}"
        return [Line("memory", missing, "not known", gap=True)]
    kept = f" − {gibibytes(fit.reserve_bytes, 4)} reserved" if fit.reserve_bytes else ""
    used = f"{row.memory.utilization:.0%}".replace("%", f"{NBSP}%")
    pool = gibibytes(max(0.0, fit.kv_pool_bytes), 4)
    lines = [
        Line(
            "room for caches",
            f"{used} of {gibibytes(fit.usable_bytes, 4)} − {gibibytes(fit.weight_bytes, 4)} of weights{kept}",
            pool if fit.kv_pool_bytes > 0 else "none",
            gap=True,
        )
    ]
    if fit.kv_pool_bytes > 0 and fit.sequence_bytes:
        lines.append(Line("sequences that fit", whole_ones(str(pool), fit), count(fit.max_batch)))
    return lines


def _money(row: Row) -> list[Line]:
    if math.isnan(row.million):
        return [Line("tokens/s", "of a batch that this memory cannot hold", "–", gap=True)]
    batch, gpus = count(row.league.batch), row.league.scenario.tensor_parallel
    rate = Ink(per_second(row.tokens_per_second), strong=True)
    hour = f"{dollars(row.hourly)} an hour" + ("" if gpus == 1 else f" × {gpus} GPUs")
    most = limit("at most", expects=row.decode_expects)
    return [
        Line(f"tokens/s, {most}", f"{batch} ÷ {seconds(row.decode)}", rate, gap=True),
        Line("a million tokens", f"{hour} ÷ 3,600 s ÷ {per_second(row.tokens_per_second)} × 1,000,000",
             Ink(dollars(row.million), strong=True)),
    ]  # fmt: skip


def _estimated(row: Row) -> list[Line]:
    found = row.estimate
    if found is None:
        none = "neither it nor a near relative is among the measured GPUs"
        return [Line("estimate of the decode step", none, "none", gap=True)]
    rates = f"the sum of its operations, by these rates: {'; '.join(found.rests_on)}"
    return [
        Line("estimate of the decode step", rates, seconds(found.seconds), gap=True),
        Line("its band", "eight of ten measurements like those behind it", _band(row)),
    ]


def _band(row: Row) -> str:
    found = row.estimate
    return f"{seconds(found.low)} to {seconds(found.high)}" if found else ""


# ---- the table -------------------------------------------------------------------------------------------------


def section(league: League) -> Text:
    """What the table holds."""
    shown, all_ = len(league.rows), len(league.everyone)
    said = "All accelerators of the catalogue" if shown == all_ else f"{shown} of {all_} accelerators"
    left = len(league.without_memory)
    missing = f" {left} whose memory is not known are left out while you ask for some." if left else ""
    load = f"{sequences(league.batch)} of {many(league.context, 'token')} and a prompt of {count(league.prompt)}"
    return f"{said}, for {load}.{missing}"


def table(league: League) -> Table:
    """A row an accelerator."""
    return Table(
        columns=[
            Column("accelerator", _name),
            Column("vendor", lambda row: row.hardware.vendor, left=True, wide_only=True),
            Column("memory", lambda row: marketed(row.box) if row.box else Ink("unknown", "muted"), wide_only=True),
            Column("B*", lambda row: _number(row.ridge), wide_only=True),
            Column("fit", _fits),
            Column("decode ≥", lambda row: Ink(_time(row.decode), "decode")),
            Column("estimate", _estimate, wide_only=True),
            Column("prompt ≥", lambda row: Ink(_time(row.prefill), "prefill"), wide_only=True),
            Column("tokens/s ≤", lambda row: _number(row.tokens_per_second), wide_only=True),
            Column("$ an hour", _hourly, wide_only=True),
            Column("$ a million ≥", lambda row: _price(row.million)),
        ],
        rows=league.rows,
        title="League of accelerators",
    )


def _name(row: Row) -> Text:
    parts: list[Part] = [f"{_MARKS['current']}{NBSP}" if row.current else "", _inked(row)]
    if row.hardware.confidence == "C":
        parts.append(f" {_MARKS['preliminary']}")
    if not row.priced:
        parts += [BREAK, Ink(obstacle(row), "muted")]
    return parts


def _inked(row: Row) -> Part:
    return Ink(short_name(row), strong=True) if row.current else short_name(row)


def obstacle(row: Row) -> str:
    """Why it has no price, in a few words."""
    asked = row.league.scenario.precision.compute
    if asked and asked not in row.hardware.compute_dtypes:
        return f"no unit for {asked}"
    return "no bf16 or fp16 rate is published" if not {"bf16", "fp16"} & set(row.hardware.peak) else row.obstacle


def _fits(row: Row) -> Text:
    if row.fit is None:
        return Ink("unknown" if row.priced else "–", "muted")
    if row.fit.kv_pool_bytes <= 0:
        return Ink("weights do not", "muted")
    return count(row.fit.max_batch) if row.fit.fits else Ink(f"only {count(row.fit.max_batch)}", "muted")


def _estimate(row: Row) -> Text:
    found = row.estimate
    if found is None:
        return Ink("none", "muted")
    low, high = seconds(found.low, 2), seconds(found.high, 2)
    span = f"{low.value}–{high.value}" if low.unit == high.unit == seconds(found.seconds).unit else f"{low}–{high}"
    return [seconds(found.seconds), Ink(f" ({span})", "muted")]


def _hourly(row: Row) -> Text:
    price = significant(row.hourly, trim=True)
    return Ink(price, strong=True) if row.own_hourly else Ink(price, "muted")


def _supposes(league: League) -> str:
    return spread(expects=any(league.expects_experts))


def below_table(league: League) -> Text:
    """What the columns mean."""
    return (
        f"{_MARKS['current']} the sidebar's accelerator. {_MARKS['preliminary']} preliminary or recalled figures. "
        "fit: sequences of this context that memory holds beside the weights; only: fewer than the batch, which then "
        "gives no tokens. decode ≥, prompt ≥: floors from the datasheet, which no step beats; so tokens/s are at most "
        f"these, and a million tokens cost at least that{_supposes(league)}. estimate: the decode step by rates "
        "fitted to published measurements, with the band of eight in ten; none where neither the accelerator nor a "
        "near relative was measured; the arithmetic names its rates, general ones where an operation has no other. An "
        "hour in bold is a price of its own, the others are the slider's."
    )


def questions(league: League) -> list[Question]:
    """Questions that the league answers."""
    batch = 64 if league.batch != 64 else 1  # noqa: PLR2004
    return [
        Question(
            "Does the order of the accelerators change when more sequences share a step and their caches count?",
            f"Show {sequences(batch)} of 8,192 tokens",
            {"batch": batch, "context": 8192, "count": "attention"},
        ),
        Question(
            "Which accelerator is best at prompts: is it the one that is best at decoding?",
            "Sort by the prompt" if league.order != "prefill" else "Sort by the decode step",
            {"league_sort": "prefill" if league.order != "prefill" else "decode"},
        ),
    ]
