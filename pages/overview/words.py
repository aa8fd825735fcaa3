"""What the Overview says, as text made of its numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pages.overview.numbers import Overview
from pages.parts import borrowed, format
from pages.parts.components import Ink, Part, Text
from pages.parts.expected import of_prompt
from pages.parts.format import Quantity
from pages.parts.layers import is_sparse, keeps

_COUNT = "in the post's count: weights and arithmetic, no caches"
_PICTURE = (
    "Time of one step (vertical) against the tokens in it, both axes even. Blue is what comes out of memory, orange is "
    "arithmetic; a step lasts as long as the longer of the two. Move the slider: tokens join the step. "
)
SLIDER = "Sequences decoding together"
ONWARD = "What that leaves open, one question after the other, for the same model and machine."


def context(o: Overview) -> str:
    """What the page's times are: a floor, but for a machine without a datasheet."""
    return f"a floor, {_COUNT}" if o.scenario.published else _COUNT


def headline(o: Overview) -> list[Part]:
    """The two lines of the post, and where they cross."""
    model, machine = o.scenario.model.name, o.scenario.each_machine
    read = Ink(format.gigabytes(o.token.bytes), "memory", strong=True)
    memory = Ink(format.seconds(o.token.memory_seconds), "memory", strong=True)
    arithmetic = Ink(format.seconds(o.token.compute_seconds, 2), "compute", strong=True)
    crowd = "" if o.weights_vary else ", however many tokens ride along"
    first = "One token" if o.weights_vary else "A step"
    return [
        f"{first} of {model} on {machine} reads ", read, " in ", memory, f"{crowd}. Each token adds ",
        arithmetic, " of arithmetic, ", *_free(o),
    ]  # fmt: skip


def _free(o: Overview) -> list[Part]:
    if o.crossing is None:
        return ["and the weights always take longer."]
    if o.crossing < 2:  # noqa: PLR2004  # not even a second token is free
        return ["so no token is free."]
    many = Ink(format.count(o.crossing), "ink", strong=True)
    if o.weights_vary:
        return ["and it takes ", many, " of them to keep the arithmetic busy."]
    return ["so the first ", many, " share one wait."]


def answer(o: Overview) -> list[Part]:
    """What another source than the datasheet says of the batch's step; nothing where the datasheet speaks."""
    if o.scenario.source == "datasheet" or o.estimate is None:
        return []
    time = Ink(format.seconds(o.estimate.seconds, 2), "decode", strong=True)
    live = o.scenario.source == "live"  # rates were measured, and this step is what they come to
    whose = "by the rates measured here" if live else borrowed.rests_on(o.estimate, o.scenario.hardware)
    return [
        f" For {format.sequences(o.batch)}, with {_kept(o)}, a step is estimated at ",
        time,
        f", {whose}." if whose else ".",
    ]


def _kept(o: Overview) -> str:
    """What a decode step reads besides the weights: "its cache", "their states"."""
    return f"{'its' if o.batch == 1 else 'their'} {keeps(o.scenario.model, number=o.batch)}"


def below(o: Overview) -> list[Part]:
    """How to read the picture, and whether what it says of the prompt is a bound, where anything is."""
    prompt = of_prompt(o.prefill, o.prefill_with_caches, o.prompt) if o.scenario.published else []
    return [_PICTURE, *prompt]


def alt(o: Overview) -> str:
    """The message of the picture."""
    each = o.decode.seconds / o.batch
    return (
        f"Time of a step of {o.scenario.model.name} on {o.scenario.machines} against the tokens in it. The "
        f"weights take {format.seconds(o.token.memory_seconds)} for one token, its arithmetic "
        f"{format.seconds(o.token.compute_seconds, 2)}. {_cross(o.crossing)} {format.sequences(o.batch)} decoding: "
        f"{format.seconds(o.decode.seconds)} a step, {format.seconds(each)} a token. Prefill of "
        f"{format.count(o.prompt)}: {format.seconds(o.prefill.seconds)}."
    )


def _cross(at: float | None) -> str:
    """Where the two lines cross, in tokens; below one there is nothing to cross."""
    if at is None:
        return "The two never cross."
    if at <= 1:
        return "Arithmetic is ahead from the first token on, and each token is waited for."
    return f"They cross at {format.many(at, 'token')}, and from there each token is waited for."


@dataclass(frozen=True)
class Lead:
    """What leads into a page: what it is about, and a number of the current scenario (its meaning and what it is)."""

    about: Text
    figure: Quantity | str
    what: str
    meaning: str = ""


def _ratio(a: int, b: int) -> str:
    """One number to another, the smaller as 1: a whole one as it is, another to three digits.

    >>> _ratio(16384, 1), _ratio(1, 256), _ratio(1000, 3), _ratio(64, 64)
    ('16,384 : 1', '1 : 256', '333 : 1', '1 : 1')
    """
    large, small = max(a, b), min(a, b)
    times = format.significant(large / small, trim=True) if large % small else format.count(large // small)
    return f"{times} : 1" if a >= b else f"1 : {times}"


def shapes(o: Overview) -> Lead:
    about = "Prefill sends the whole prompt through, decode one row a sequence: the same weights, two shapes."
    return Lead(about, _ratio(o.prompt, o.batch), "rows of prefill to decode", "prefill")


def roofline(o: Overview) -> Lead:
    about = "What one step waits for, memory or arithmetic, and what changes when the machine does."
    return Lead(about, Quantity(format.significant(o.ridge), "FLOP/B"), "ridge of the machine")


def batching(o: Overview) -> Lead:
    model = o.scenario.model
    kept = keeps(model, o.context, number=o.batch) + (" each" if o.batch > 1 else "")
    end = "However large the batch, they keep it memory-bound." if o.never_crosses else "They come on top."
    weights = "A token's experts are read for it, other weights" if is_sparse(model) else "Weights are read"
    about = f"{weights} once for all, {keeps(model, number=2)} once for each. {end}"
    step = format.seconds(o.with_caches.seconds)
    return Lead(about, step, f"decode with {'a ' * (o.batch == 1)}{kept}", "decode")


def memory(o: Overview) -> Lead:
    kept = keeps(o.scenario.model)
    about = f"Every sequence keeps its {kept}. How many fit beside the weights, and what would make more fit."
    if o.fit is None:
        return Lead(about, "?", "usable memory not published")
    if o.fit.kv_pool_bytes < 0:
        return Lead(about, "none", "the weights alone do not fit", "memory")
    one = o.fit.max_batch == 1
    what = f"{'sequence' if one else 'sequences'} of {format.count(o.context)} {'fits' if one else 'fit'}"
    return Lead(about, format.count(o.fit.max_batch), what, "memory")


def scheduler(o: Overview) -> Lead:
    about = "A prompt and the tokens of others want the same step. Who goes, who waits, under which policy."
    what = f"the wait when {format.many(o.prompt, 'prompt token joins', 'prompt tokens join')}"
    return Lead(about, format.times(o.stall), what, "prefill")


def model(o: Overview) -> Lead:
    about = "Any config.json, read part by part, and where a naive reading of it goes wrong."
    return Lead(about, format.parameters(o.scenario.model.matrix_params), "parameters in matrices")


def measure(o: Overview) -> Lead:
    about = "Nothing above was measured. Let this machine run the model's shapes and say for itself."
    if o.measured is None:
        return Lead(about, "not yet", "measured here")
    return Lead(about, format.seconds(o.measured.seconds), "decode by rates measured here", "decode")


def accuracy(o: Overview) -> Lead:
    about = "How far the floor is from real steps, how far the estimate, and where not to lean on either."
    whose = o.estimate and borrowed.rests_on(o.estimate, o.scenario.hardware)
    if whose:
        about += f" The estimate is {whose}."
    if o.estimate is None:
        return Lead(about, "none", "estimate for this machine")
    times = format.times(o.estimate.seconds / o.with_caches.seconds)
    return Lead(about, times, "the floor, by the estimate")


def compare(o: Overview) -> Lead:
    about = "Another machine, model or format beside this one: one chart, and the difference in words."
    return Lead(about, format.times(o.gain), "with twice the bandwidth", "memory")


LEADS: Mapping[str, Callable[[Overview], Lead]] = {
    "shapes": shapes,
    "roofline": roofline,
    "batching": batching,
    "memory": memory,
    "scheduler": scheduler,
    "measure": measure,
    "accuracy": accuracy,
    "model": model,
    "compare": compare,
}
"""A page by its path, in the order in which one question raises the next."""
