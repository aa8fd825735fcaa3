"""What the Batching page says of steps that carry more than a token of each sequence: prompts and drafts."""

from __future__ import annotations

import math
from typing import NamedTuple

from costmodel.batching import Way, expected_tokens
from pages.batching.numbers import Arrival, Drafting
from pages.parts.components import Column, Ink, Line, Question, Table, Text
from pages.parts.format import count, percent, seconds, sequences, significant, times, tokens

_LARGEST_CHUNK = 16_384  # end of its slider

# ---- a prompt beside sequences that decode ---------------------------------------------------------------------

WAYS = "Who waits when a prompt arrives?"


def ways(a: Arrival) -> Text:
    """The question that the post ends on."""
    return (
        f"A prompt of {count(a.prompt)} tokens and {sequences(a.load.batch)} that decode all want the next step. Give "
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
            f"of the prompt, after {count(a.prompt)} ÷ {count(chunk)} steps in whole ones",
            seconds(chunked.first_token),
            gap=True,
        ),
    ]


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
    kind = {"datasheet": "Floors", "calibrated": "Estimates", "live": "From what was measured"}[a.load.scenario.source]
    return (
        f"{kind}. Alone, {sequences(a.load.batch)} would get a token every {seconds(a.load.latency)}. "
        "They fall behind by what the steps take beyond that, until the prompt is in."
    )


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


# ---- the chunk that rides free

FREE = "How much of a prompt rides free?"


FREE_RULE = (
    "As long as a step waits for memory, tokens of a prompt cost it nothing. Counting weights, T* − B of them "
    "fit. With the "
    "caches counted the step reads more, waits longer, and has more arithmetic to give away: the longer the "
    "contexts of "
    "those that decode, the more of a prompt rides along."
)


def free_sum(a: Arrival) -> str:
    """The worked number: the largest chunk that rides free, counted two ways."""
    weights, caches = _largest(a.free_of_weights), _largest(a.free)
    return f"beside {sequences(a.load.batch)}: {weights} ride free counting weights, {caches} with their caches"


def _largest(free: float) -> str:
    return "any number of tokens" if math.isinf(free) else str(tokens(math.floor(free)))


def free_lines(a: Arrival) -> list[Line]:
    """How much rides free, counted two ways."""
    load, crossing = a.load, a.load.weights_crossing
    step = load.counted_step
    lines = []
    if crossing is not None:
        expression = f"T* − B = {significant(crossing, 4)} − {count(load.batch)}"
        lines.append(Line("counting weights", expression, _largest(a.free_of_weights)))
    lines += [
        Line(
            "with the caches",
            ["the step waits ", Ink(seconds(step.memory_seconds), "memory"), " for memory, computes for ",
             Ink(seconds(step.compute_seconds), "compute")],
            Ink(seconds(max(0.0, step.memory_seconds - step.compute_seconds)), "compute"),
            gap=True,
        ),
        Line("", "what of a prompt can be computed in that time, its own squares with it", _largest(a.free)),
    ]  # fmt: skip
    return lines


def free_note(a: Arrival) -> Text:
    """What holds the two answers."""
    estimate = (
        " By the estimate (the thin line, with its band) no token is wholly free: operations follow each other, and it "
        "adds a little to each."
        if a.load.estimates
        else ""
    )
    later = "what is cached of it by then makes later ones a little dearer."
    return f"Both are floors, for the first chunk of a prompt; {later}{estimate}"


def free_alt(a: Arrival) -> str:
    """The message of the picture of chunks."""
    return (
        f"Time of a step against the tokens of a prompt in it, beside {sequences(a.load.batch)} over "
        f"{count(a.load.context)} cached tokens each. Flat up to {_largest(a.free)} with the caches counted, up to "
        f"{_largest(a.free_of_weights)} counting weights alone."
    )


# ---- speculative decoding --------------------------------------------------------------------------------------

DRAFTS = "Does guessing ahead pay?"


def drafting(d: Drafting) -> Text:
    """What speculative decoding does to a step."""
    return (
        f"Each sequence guesses {_drafts(d)} ahead, and one step verifies them all: T = B × (k + 1) = "
        f"{count(d.tokens)} tokens. "
        "Where the step waits for memory they ride along free, so any that is accepted is a gain. Past that, the "
        "guesses must "
        "be good enough to pay for the time they take. With the caches counted, a cache is read once for all k + 1."
    )


def _drafts(d: Drafting) -> str:
    return f"{d.drafts} token{'' if d.drafts == 1 else 's'}"


def drafting_sum(d: Drafting) -> str:
    """The worked number: what it costs, and the acceptance that it takes."""
    steps = _plain_steps(float(d.steps(d.load.batch)))
    if math.isnan(d.needed):
        return f"drafting costs {steps} and yields {count(d.drafts + 1)} tokens at most: it never pays here"
    if d.needed == 0:
        return f"drafting costs {steps}: any accepted draft is a gain"
    return f"drafting costs {steps}: it pays when more than {percent(d.needed)} of the drafts are accepted"


def _plain_steps(steps: float) -> str:
    text = significant(steps)
    return "no more than a plain step" if text == "1.00" else f"{text} plain steps"


def drafting_lines(d: Drafting) -> list[Line]:
    """How the break-even acceptance comes about."""
    plain, verify = seconds(d.load.latency), seconds(d.verify.seconds)
    steps = float(d.steps(d.load.batch))
    added = f" + {d.drafts} × {percent(d.draft_cost)}" if d.draft_cost else ""
    lines = [
        Line("tokens T", f"{count(d.load.batch)} × ({d.drafts} + 1)", count(d.tokens)),
        Line("cost", f"{verify} to verify ÷ {plain} for a plain step{added}", f"{significant(steps)} steps"),
    ]
    if math.isnan(d.needed):
        return [
            *lines,
            Line("yields", "tokens for each sequence, all drafts accepted", f"{d.drafts + 1}: never enough"),
        ]
    powers = " + ".join(["1", "a", *(f"a{_superscript(k)}" for k in range(2, d.drafts + 1))])
    yields = max(1.0, float(expected_tokens(d.needed, d.drafts)))
    result = f"{significant(yields)} at a = {percent(d.needed)}"
    return [*lines, Line("yields", f"{powers} tokens, each draft accepted with chance a", result)]


def _superscript(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def drafting_alt(d: Drafting) -> str:
    """The message of the picture of drafts."""
    return (
        f"Share of {_drafts(d)} drafted ahead that must be accepted for drafting to pay, against the batch. At "
        f"B = {count(d.load.batch)}, {drafting_sum(d)}."
    )


# ---- questions -------------------------------------------------------------------------------------------------


def largest_chunk(a: Arrival) -> Question:
    """The chunk that still rides free."""
    free = _LARGEST_CHUNK if math.isinf(a.free) else max(1, min(math.floor(a.free), _LARGEST_CHUNK))
    return Question(
        f"Beside {sequences(a.load.batch)} over {count(a.load.context)} cached tokens each: which chunk of a prompt "
        "makes nobody wait?",
        f"Show chunks of {count(free)}",
        {"prefill_chunk": free, "count": "attention"},
    )
