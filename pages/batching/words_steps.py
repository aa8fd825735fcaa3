"""What the Batching page says of steps that carry more than a token of each sequence: prompts and drafts."""

from __future__ import annotations

import math
from typing import NamedTuple

from costmodel.batching import Way, expected_tokens, gains_always
from costmodel.price import Cost
from pages.batching.numbers import Arrival, Drafting
from pages.parts.components import Column, Ink, Line, Part, Question, Table, Text
from pages.parts.expected import spread
from pages.parts.format import count, gigabytes, many, percent, seconds, sequences, significant, times, tokens

_LARGEST_CHUNK = 16_384  # end of its slider

# ---- a prompt beside sequences that decode ---------------------------------------------------------------------

WAYS = "Who waits when a prompt arrives?"


def ways(a: Arrival) -> Text:
    """The question that the post ends on."""
    return (
        f"A prompt of {many(a.prompt, 'token')} and {sequences(a.load.batch)} that decode all want the next step. Give "
        "them one each, and those that decode wait for the prompt. Give them one together, and the step is as long as "
        "the "
        "prompt makes it. Or cut the prompt, and let a chunk of it ride along in each step."
    )


def ways_sum(a: Arrival) -> str:
    """The worked number: how long a token waits, three ways."""
    apart, together, chunked = (seconds(way.longest_wait) for way in a.ways.values())
    return f"a token waits up to {apart} behind the prompt, {together} beside it, {chunked} beside chunks of it"


def ways_lines(a: Arrival) -> list[Line]:
    """How the three waits come about."""
    apart, together, chunked = a.ways.values()
    prefill, decode = apart.seconds
    chunk, longest = min(a.chunk, a.prompt), int(chunked.seconds.argmax())
    return [
        Line(
            "a step each",
            [Ink(seconds(prefill), "prefill"), " for the prompt + ", Ink(seconds(decode), "decode")],
            Ink(seconds(apart.longest_wait), "", strong=True),
        ),
        Line(
            "one together",
            f"a step of {count(a.prompt)} + {count(a.load.batch)} tokens",
            Ink(seconds(together.longest_wait), "", strong=True),
        ),
        Line(
            "in chunks",
            f"the longest of {count(len(chunked.seconds))}: step {longest + 1}, "
            f"{count(chunked.prompt[longest])} + {count(a.load.batch)} tokens",
            Ink(seconds(chunked.longest_wait), "", strong=True),
        ),
        Line(
            "first token",
            f"of the prompt, after {_steps(chunked)}: {count(a.prompt)} ÷ {count(chunk)}, in whole ones",
            seconds(chunked.first_token),
            gap=True,
        ),
    ]


def _steps(way: Way) -> str:
    return many(len(way.seconds), "step")


class _Row(NamedTuple):
    name: str
    way: Way
    alone: float


def ways_table(a: Arrival) -> Table:
    """The three ways side by side."""
    names = ("a step each", "one step together", f"in chunks of {count(min(a.chunk, a.prompt))}")
    rows = [_Row(name, way, a.load.latency) for name, way in zip(names, a.ways.values(), strict=True)]
    return Table(
        columns=[
            Column("the prompt goes through", lambda row: row.name),
            Column("steps", lambda row: count(len(row.way.seconds)), wide_only=True),
            Column("a token waits up to", _wait),
            Column("against alone", lambda row: times(row.way.longest_wait / row.alone), wide_only=True),
            Column("first token after", lambda row: Ink(seconds(row.way.first_token), "prefill")),
            Column(
                "the others fall behind",
                lambda row: seconds(max(0.0, row.way.behind(row.alone))),
                wide_only=True,
            ),
        ],
        rows=rows,
        title="Three ways for a prompt",
    )


def _wait(row: _Row) -> Text:
    low, high = row.way.wait_band
    wait = Ink(seconds(row.way.longest_wait), "decode")
    return wait if low == high else [wait, f" ({seconds(low, 2)} to {seconds(high, 2)})"]


def ways_note(a: Arrival) -> Text:
    """What the table's columns mean."""
    return (
        f"{_how_sure(a)}. Alone, {sequences(a.load.batch)} would get a token every {seconds(a.load.latency)}. "
        "They fall behind by what the steps take beyond that, until the prompt is in."
    )


def _how_sure(a: Arrival) -> str:
    """Which kind of numbers the ways are."""
    if a.load.estimates:
        return {"calibrated": "Estimates", "live": "From what was measured"}[a.load.scenario.source]
    where = spread(expects=a.expects_experts)
    if a.is_bound:
        return f"Floors{where}"
    head = "The post's count, with the LM head on all positions of the prompt: no bounds"
    return f"{head}. They are bounds with the caches counted{where}"


def ways_alt(a: Arrival) -> str:
    """The message of the three lanes."""
    said = [
        f"{name}: a token waits up to {seconds(way.longest_wait)}, the prompt's first comes after "
        f"{seconds(way.first_token)}"
        for name, way in zip(
            ("A step each", "one together", f"in chunks of {count(a.chunk)}"), a.ways.values(), strict=True
        )
    ]
    return f"A prompt of {count(a.prompt)} beside {sequences(a.load.batch)} that decode, three ways. {'; '.join(said)}."


# ---- the chunk whose arithmetic is free

FREE = "How much of a prompt is computed for free?"


def free_rule(a: Arrival) -> Text:
    """Whose arithmetic is free, and what is not."""
    moved = f"their own {a.load.kept}" if a.load.experts is None else "most of all the experts that they are sent to"
    return (
        "As long as a step waits for memory, the arithmetic of a prompt's tokens takes no time of its own. Counting "
        "weights, T* − B of them fit until it becomes the longer side. With the caches counted the step reads more, "
        "waits longer, and has more arithmetic to give away: the longer the contexts of those that decode, the more "
        f"of a prompt is computed for free. What these tokens move is not free: {moved}."
    )


def free_sum(a: Arrival) -> str:
    """The worked number: the largest chunk that is computed for free, counted two ways, and what its step takes."""
    weights, caches = _largest(a.room_of_weights), _largest(a.room)
    counted = (
        f"beside {sequences(a.load.batch)}: {weights} computed for free counting weights, {caches} with the caches"
    )
    if not _some(a.room):
        return counted
    return f"{counted}, in a step of {seconds(a.with_room.seconds)} instead of {seconds(a.load.counted_step.seconds)}"


def _some(room: float) -> bool:
    """Whether there is a largest chunk at all."""
    return room >= 1 and math.isfinite(room)


def _largest(room: float) -> str:
    return "any number of tokens" if math.isinf(room) else str(tokens(math.floor(room)))


def free_lines(a: Arrival) -> list[Line]:
    """How much is computed for free, counted two ways, and what the step with it takes."""
    crossing = a.load.weights_crossing
    weights = [] if crossing is None else [Line("counting weights", _left(a, crossing), _largest(a.room_of_weights))]
    return [*weights, *(_longest_free(a) if _some(a.room) else _all_or_none(a))]


def _left(a: Arrival, crossing: float) -> str:
    """T* − B; hundredths of T* are cut, not rounded, so that the whole tokens stay what they are."""
    if crossing <= 1:
        return "the arithmetic is the longer side from the first token on"
    whole = "in whole ones" if a.room_of_weights >= 1 else "less than one"
    return f"T* − B = {math.floor(100 * crossing) / 100:,.2f} − {count(a.load.batch)}, {whole}"


def _all_or_none(a: Arrival) -> list[Line]:
    """That no chunk turns the step compute-bound, or that already one token does."""
    if math.isinf(a.room):
        reason: Text = "however many there are, their arithmetic is the shorter side"
    else:
        reason = ["already with one token the longer of ", *_both_sides(a.mixed(a.load.floor, 1)), " is the arithmetic"]
    return [Line("with the caches", reason, _largest(a.room), gap=True)]


def _longest_free(a: Arrival) -> list[Line]:
    """The step without a chunk, and with the largest that leaves it waiting for memory."""
    without, longest = a.load.counted_step, a.with_room
    before, after = Ink(seconds(without.seconds), "memory"), Ink(seconds(longest.seconds), "memory")
    lines = [
        Line("with the caches", "until the arithmetic becomes the longer side", _largest(a.room), gap=True),
        Line("step without them", ["the longer of ", *_both_sides(without)], before),
        Line("step with them", ["the longer of ", *_both_sides(longest)], after),
        Line("so much longer", [after, " ÷ ", before], times(longest.seconds / without.seconds)),
    ]
    if a.load.experts is not None:
        read, more = (Ink(gigabytes(cost.weight_bytes), "memory") for cost in (without, longest))
        lines.append(Line("because it reads", ["instead of ", read, ", with the experts that they are sent to"], more))
    return lines


def _both_sides(cost: Cost) -> list[Part]:
    memory, compute = Ink(seconds(cost.memory_seconds), "memory"), Ink(seconds(cost.compute_seconds), "compute")
    return [memory, " for memory and ", compute, " of arithmetic"]


def free_note(a: Arrival) -> Text:
    """What holds the two answers."""
    estimate = (
        " By the estimate (the thin line, with its band) no token is wholly free: operations follow each other, and it "
        "adds a little to each."
        if a.load.estimates
        else ""
    )
    later = "what is cached of it by then makes later ones a little dearer."
    return f"Both are worked out from the datasheet, for the first chunk of a prompt; {later}{estimate}"


def free_alt(a: Arrival) -> str:
    """The message of the picture of chunks."""
    return (
        f"Time of a step against the tokens of a prompt in it, beside {sequences(a.load.batch)} over "
        f"{many(a.load.context, 'cached token')} each. It waits for memory up to {_largest(a.room)} with the caches "
        f"counted, up to {_largest(a.room_of_weights)} counting weights alone."
    )


# ---- speculative decoding --------------------------------------------------------------------------------------

DRAFTS = "Does guessing ahead pay?"


def drafting(d: Drafting) -> Text:
    """What speculative decoding does to a step."""
    free = "and hardly any must be accepted" if d.load.experts is None else "but each brings experts of its own to read"
    return (
        f"Each sequence guesses {many(d.drafts, 'token')} ahead, and one step verifies them all: T = B × (k + 1) = "
        f"{many(d.tokens, 'token')}. "
        f"Where the step waits for memory their arithmetic is free, {free}. Past that, the guesses must be good "
        "enough to pay for the time they take. With the caches counted, a cache is read once for all k + 1."
    )


def drafting_sum(d: Drafting) -> str:
    """The worked number: what it costs, and the acceptance that it takes."""
    steps = _plain_steps(float(d.steps(d.load.batch)))
    if not d.pays:
        return f"drafting costs {steps} and yields {many(d.drafts + 1, 'token')} at most: it never pays here"
    if d.needed == 0:
        return f"drafting costs {steps}: any accepted draft is a gain"
    return f"drafting costs {steps}: it breaks even with {percent(d.needed)} of the drafts accepted, and pays with more"


def _plain_steps(steps: float) -> str:
    text = significant(steps)
    if text != "1.00":
        return f"{text} plain steps"
    return "no more than a plain step" if gains_always(steps) else "hardly more than a plain step"


def drafting_lines(d: Drafting) -> list[Line]:
    """How the break-even acceptance comes about."""
    plain, verify = seconds(d.load.latency), seconds(d.verify.seconds)
    steps = float(d.steps(d.load.batch))
    added = f" + {d.drafts} × {percent(d.draft_cost)}" if d.draft_cost else ""
    lines = [
        Line("tokens T", f"{count(d.load.batch)} × ({d.drafts} + 1)", count(d.tokens)),
        Line("cost", f"{verify} to verify ÷ {plain} for a plain step{added}", f"{significant(steps)} steps"),
    ]
    if not d.pays:
        most = f"{d.drafts + 1}: never more than it costs"
        return [*lines, Line("yields", "tokens for each sequence, all drafts accepted", most)]
    powers = " + ".join(["1", "a", *(f"a{_superscript(k)}" for k in range(2, d.drafts + 1))])
    yields = max(1.0, float(expected_tokens(d.needed, d.drafts)))
    result = f"{significant(yields)} at a = {percent(d.needed)}"
    return [*lines, Line("yields", f"{powers} tokens, each draft accepted with chance a", result)]


def _superscript(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def drafting_alt(d: Drafting) -> str:
    """The message of the picture of drafts."""
    return (
        f"Share of {many(d.drafts, 'token')} drafted ahead that must be accepted for drafting to pay, against the "
        f"batch. At B = {count(d.load.batch)}, {drafting_sum(d)}."
    )


# ---- questions -------------------------------------------------------------------------------------------------


def largest_chunk(a: Arrival) -> Question:
    """The largest chunk that leaves the step waiting for memory; where none does, the smallest."""
    chunk = max(1, math.floor(min(a.room, _LARGEST_CHUNK)))
    asked = "which chunk of a prompt leaves the step waiting for memory?"
    if a.room < 1:
        asked = "the step has no arithmetic to give away. What does the smallest chunk of a prompt cost?"
    return Question(
        f"Beside {sequences(a.load.batch)} over {many(a.load.context, 'cached token')} each: {asked}",
        f"Show chunks of {count(chunk)}",
        {"prefill_chunk": chunk, "count": "attention"},
    )
