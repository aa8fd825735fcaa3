"""What the Roofline page says, as text made of the page's numbers."""

from __future__ import annotations

from pages.parts import format
from pages.parts.components import Figure, Ink, Part, Question, Text
from pages.parts.expected import of_prompt, or_more
from pages.parts.layers import is_sparse, keeps, over
from pages.parts.state import MOST_SEQUENCES
from pages.roofline.numbers import Roofline

TIME, ROOF = "Time of a step against its tokens", "The operations of the step under the roof"
_CLOSE = 1e-3


def headline(r: Roofline) -> list[Part]:
    """The sentence of numbers that the page opens with."""
    subject = f"One decode step of {r.scenario.model.name}"
    if r.batch > 1:
        subject += f" for {format.sequences(r.batch)}"
    cached = over(r.scenario.model, r.context)
    if r.counts_caches and cached:
        subject += f"{cached}{' each' if r.batch > 1 else ''}"
    waits = "memory" if r.waiting_for_memory else "compute"
    floor = Ink(format.seconds(r.decode.seconds), waits, strong=True)
    if r.estimates:
        estimate = r.estimate
        low, high = format.seconds(estimate.low, 2), format.seconds(estimate.high, 2)
        ratio = format.significant(estimate.seconds / r.decode.seconds, 2)
        return [
            f"{subject} on {r.scenario.machines} takes about ",
            Ink(format.seconds(estimate.seconds, 2), "decode", strong=True),
            f" (between {low} and {high}), {ratio} times the floor of ",
            floor,
            ".",
        ]
    said = or_more("takes ", "cannot finish sooner than ", floor, expects=r.decode.expects_experts)
    return [f"{subject} on {r.scenario.machines} ", *said, ". ", *_idle_sentence(r)]


def _idle_sentence(r: Roofline) -> list[Part]:
    share, who, meaning = idle(r)
    return [f"The {who} nothing to do for ", Ink(format.percent(share), meaning, strong=True), " of it."]


def idle(r: Roofline) -> tuple[float, str, str]:
    """Share of the decode step in which the other side has nothing to do."""
    if r.waiting_for_memory:
        return float(r.decode.idle), "arithmetic units have", "compute"
    return float(1 - r.decode.memory_seconds / r.decode.seconds), "memory has", "memory"


def below_picture(r: Roofline) -> list[Part]:
    """What the picture shows, and what its count leaves out."""
    shown = "Time of one step (vertical) against the tokens that go through together, both logarithmic. "
    thick = "Thick: what the step waits for. "
    if r.estimates:
        thick += (
            "Ink dots: what is expected instead, circles for decode steps"
            f"{over(r.scenario.model, r.context)}, diamonds for prefills. "
        )
    if r.counts_caches:
        return [shown, thick, *_never(r)]
    model, beside = r.scenario.model, r.decode_with_caches
    through = " that goes through it" if is_sparse(model) else ""
    each = f"{'its' if r.batch == 1 else format.count(r.batch)} {keeps(model, r.context, number=r.batch)}"
    return [
        f"{shown}{thick}Every matrix is counted on every token{through}, as in the post; ",
        f"the {keeps(model, number=2)} are not. With {each} the decode step reads ",
        Ink(format.gigabytes(beside.bytes), "memory"),
        " and takes ",
        Ink(format.seconds(beside.seconds), "decode"),
        ". ",
        *of_prompt(r.prefill, r.prefill_with_caches, r.prompt),
    ]


def _never(r: Roofline) -> list[Part]:
    if r.crossing is not None and r.crossing <= 1:
        return [f"Decode steps{over(r.scenario.model, r.context)} are compute-bound from the first sequence on."]
    if r.crossing is not None:
        return [f"Decode steps{over(r.scenario.model, r.context)} cross at {format.sequences(r.crossing)}."]
    model = r.scenario.model
    once = (
        "The experts of each token are read, all other weights once for all"
        if is_sparse(model)
        else "The weights are read once for all"
    )
    shared = f"{once}; each sequence brings its own {keeps(model, r.context)}. "
    tends = f": its intensity tends to {format.significant(r.asymptote, 2)} FLOP a byte, and this chip's ridge is at "
    never = Ink("never crosses", "memory")
    return [f"{shared}However many there are, a decode step ", never, f"{tends}{format.count(r.ridge)}."]


def figures(r: Roofline) -> list[Figure]:
    """The five numbers of the page."""
    share, who, meaning = idle(r)
    return [
        _read(r),
        Figure(f"decode step, B = {format.count(r.batch)}", format.seconds(r.decode.seconds), "decode"),
        Figure(f"prefill of {format.count(r.prompt)}", format.seconds(r.prefill.seconds), "prefill"),
        *(
            [
                Figure("decode, estimated", format.seconds(r.estimate.seconds), "decode"),
                Figure("prefill, estimated", format.seconds(r.prefill_estimate.seconds), "prefill"),
            ]
            if r.estimates
            else []
        ),
        Figure("crossing T*", _crossing(r.crossing)),
        Figure(f"{who.split()[0]} idle", format.percent(share), meaning),
    ]


def _crossing(at: float | None) -> format.Quantity | str:
    """T* as a figure; below one token there is nothing to cross."""
    if at is None:
        return "never"
    return format.tokens(at) if at > 1 else format.Quantity("≤ 1", "token", at, "tokens")


def _read(r: Roofline) -> Figure:
    if not r.counts_caches:
        return Figure("weights read", format.gigabytes(r.decode.bytes), "memory")
    total = format.gigabytes(r.decode.bytes)
    scale = next(s for s, unit in format.BYTES if unit == total.unit)
    weights, caches = (format.significant(b / scale) for b in (r.weight_bytes, r.decode.bytes - r.weight_bytes))
    return Figure(
        f"weights + {keeps(r.scenario.model, number=2)} read",
        format.Quantity(f"{weights} + {caches}", total.unit),
        "memory",
    )


def below_table(r: Roofline, step: str) -> str:
    """What the rows are, and why their times do not add up to the step's."""
    what = {
        "decode": f"A decode step of {format.count(r.batch)}",
        "prefill": f"A prefill of {format.many(r.prompt, 'token')}",
        "mixed": f"{format.many(r.chunk, 'token')} of the prompt beside {format.count(r.batch)} decoding",
    }[step]
    if r.estimates:
        return f"{what}, by the source that speaks: the step is the sum of its operations."
    own = sum(row["seconds"] for row in r.cost_of(step).rows)
    whole = r.cost_of(step).seconds
    sums = "Each operation's own floor"
    if gives(own, whole):
        return f"{what}. {sums}; together they are the step's."
    return (
        f"{what}. {sums}: together {format.seconds(own)}, more than the step's {format.seconds(whole)}, "
        "because one operation's arithmetic may hide behind another's bytes. Shares are of that sum."
    )


def gives(expression: float, shown: float) -> bool:
    """Whether an expression comes to the number that is shown, to a tenth of a percent."""
    return abs(expression - shown) <= _CLOSE * abs(shown)


# ---- alt texts and questions ---------------------------------------------------------------------------------


def _sides_cross(at: float | None) -> str:
    """Where the two sides of a step cross, in tokens; below one there is nothing to cross."""
    if at is None:
        return "the two never cross"
    return "arithmetic is ahead from the first token on" if at <= 1 else f"they cross at {format.many(at, 'token')}"


def time_alt(r: Roofline) -> str:
    """The message of the picture of time against T."""
    crossing = _sides_cross(r.prefill_crossing)
    never = "" if not r.counts_caches or r.crossing is not None else " The decode curve never becomes compute-bound."
    memory, arithmetic = format.seconds(r.token.memory_seconds), format.seconds(r.token.compute_seconds, 2)
    decode, prefill = (f"{format.seconds(cost.seconds)}, {cost.bound}-bound" for cost in (r.decode, r.prefill))
    return (
        f"Time of a step of {r.scenario.model.name} on {r.scenario.machines} against the tokens in it. "
        f"Memory takes {memory} for one token, arithmetic {arithmetic}; {crossing}. "
        f"Decode of {format.count(r.batch)}: {decode}. Prefill of {format.count(r.prompt)}: {prefill}.{never}"
    )


def roof_alt(r: Roofline) -> str:
    """The message of the classical roofline."""
    hw = r.scenario.hardware
    peak = format.flop_rate(hw.peak_of(r.scenario.formats.compute))
    decode, prefill, mixed = (format.significant(cost.intensity) for cost in (r.decode, r.prefill, r.mixed))
    return (
        f"Roofline of {hw.name}: {format.byte_rate(hw.bandwidth)} up to a ridge at {format.count(r.ridge)} FLOP a "
        f"byte, then {peak} in {r.scenario.formats.compute}. FLOP a byte: decode step {decode}, prefill {prefill}, "
        f"mixed step {mixed}."
    )


def under_the_roof(r: Roofline) -> Text:
    """What the second picture shows."""
    same = ", the same number as T*" if r.crossing is not None and gives(r.ridge, r.crossing) else ""
    return (
        "What each operation asks of the machine: how much arithmetic for each byte (horizontal), and how much it can "
        f"then reach (vertical). The ridge is at {format.significant(r.ridge)} FLOP a byte{same}."
    )


def questions(r: Roofline) -> list[Question]:
    """What a reader may want to try next; the answers set the controls."""
    free = min(round(r.crossing_of_weights or MOST_SEQUENCES), MOST_SEQUENCES)
    return [
        Question(
            "How many sequences ride along before a decode step takes any longer?",
            f"Show B = {free}",
            {"batch": free, "count": "weights"},
        ),
        Question(
            "Twice the bandwidth: what does a decode step gain, and what a prompt of 2,000 tokens?",
            "Show bandwidth × 2",
            {"bandwidth_x": 2.0, "prompt": 2000},
        ),
        Question(
            "With the caches counted, why does a larger batch no longer help?",
            "Show 256 caches of 2,048",
            {"count": "attention", "batch": 256, "context": 2048},
        ),
    ]
