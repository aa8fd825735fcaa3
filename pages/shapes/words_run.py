"""What the Shapes page says of a run: one prefill, its decodes, and the triangle that the cache saves."""

from __future__ import annotations

from costmodel.shapes import Bill
from pages.parts import format
from pages.parts.components import Ink, Part, plain
from pages.parts.expected import limit, or_more, spread
from pages.parts.format import many
from pages.shapes.numbers import Shapes

_SAME = 1.1  # a run that is no more than a tenth slower hardly knows the difference


def intro(n: Shapes) -> list[Part]:
    """The question of the run, and its answer in numbers."""
    share = n.kept.prefill("seconds") / n.kept.total("seconds")
    return [
        "Prefill happens once, decode once for each further token. A prompt of ",
        f"{format.count(n.run.prompt)} and {many(n.run.generate, 'token')} generated from it are ",
        Ink("one prefill", "prefill"),
        " and ",
        Ink(many(n.run.decodes, "decode"), "decode"),
        f", and {_take(n)}: ",
        Ink(format.percent(share), "prefill"),
        " of it for the prefill, ",
        Ink(format.percent(1 - share), "decode"),
        " for the decodes.",
    ]


def _take(n: Shapes) -> str:
    """How long both take, and which kind of number that is."""
    total = format.seconds(n.kept.total("seconds"))
    if not n.is_floor:
        return f"take about {total}"
    if n.run_is_bound:
        return plain(or_more("take ", "cannot take less than ", total, expects=_expects(n.kept)))
    least = n.run_bounds[0]
    bound = f"{format.seconds(least.total('seconds'))}{spread(expects=_expects(least))}"
    return f"take {total} in the post's count (it has the LM head on every position; the bound is {bound})"


def _expects(*bills: Bill) -> bool:
    """Whether a step of these rests on the expected number of experts."""
    return any(bool(bill.expects_experts.any()) for bill in bills)


def time_name(n: Shapes) -> str:
    """What the times of the bill are."""
    if not n.is_floor:
        return "estimate"
    return limit("floor", expects=_expects(n.kept, n.repeated)) if n.run_steps_are_bounds else "post's count"


def kept(n: Shapes) -> str:
    """What saves a run from beginning anew at each step."""
    return "cache" if n.scenario.model.kv_values_per_token else "state"


def triangle(n: Shapes) -> list[Part]:
    """What the cache saves, in rows, in arithmetic, and in time, which is another matter."""
    once, repeated = n.kept, n.repeated
    if not n.run.decodes:
        generated = "the one token that is generated comes out of the prefill"
        return [f"Nothing is repeated here: {generated}, {kept(n)} or not."]
    rows = f"{many(repeated.total('rows'), 'row')} instead of {format.count(once.total('rows'))}, "
    times = format.significant(repeated.total("flops") / once.total("flops"))
    slower = repeated.total("seconds") / once.total("seconds")
    return [
        f"Without a {kept(n)} every step runs the whole sequence from the beginning: {rows}",
        Ink(f"{times} times the arithmetic", "compute"),
        f", and {format.seconds(repeated.total('seconds'))} instead of {format.seconds(once.total('seconds'))}.",
        _weights_wait(n) if n.is_floor and n.run_waits_for_weights and slower < _SAME else "",
    ]


def _weights_wait(n: Shapes) -> str:
    if n.crossing is None:
        return " The floor hardly knows: every step waits for the weights, whatever it does with them."
    tokens = format.count(n.crossing)
    return f" The floor hardly knows: below {tokens} tokens a step waits for the weights, whatever it does with them."


def triangle_alt(n: Shapes) -> str:
    """The chart of the run in words."""
    prompt, without, once = (format.count(v) for v in (n.run.prompt, n.repeated.total("rows"), n.kept.total("rows")))
    return (
        f"Rows in each of {many(n.run.steps, 'step')}. Without a {kept(n)} they grow from {prompt} to "
        f"{format.count(n.run.context)}, {without} in all; with it the prefill has {prompt} and each of "
        f"{many(n.run.decodes, 'decode')} one, {once} in all."
    )


def split_alt(n: Shapes) -> str:
    """The bar below the bill in words."""
    share = n.kept.prefill("seconds") / n.kept.total("seconds")
    return f"Of the time of the whole run, {format.percent(share)} is the prefill."
