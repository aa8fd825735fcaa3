"""What the Batching page says of its batch, as text made of the page's numbers."""

from __future__ import annotations

import math

import costmodel as cm
from pages.batching.numbers import Batching
from pages.parts.components import Figure, Ink, Line, Part, Question, Text
from pages.parts.expected import no_faster
from pages.parts.format import (
    NBSP,
    byte_rate,
    count,
    dollars,
    flop,
    flop_rate,
    gibibytes,
    gigabytes,
    many,
    per_second,
    seconds,
    sequences,
    significant,
    times,
)
from pages.parts.layers import keeps

_SAME = 1.005  # a latency below this many times another is as long as it
_ALIKE = 5e-3  # relative difference of two sides that meet: a step moves a little beside weights and caches
_LARGEST_BATCH, _LONGEST_CONTEXT = 1024, 1_048_576  # ends of the sliders


def _waits_for(b: Batching) -> str:
    return str(b.step.bound)


# ---- the top of the page ---------------------------------------------------------------------------------------


def headline(b: Batching) -> list[Part]:
    """The sentence of numbers that the page opens with."""
    about = "about " if b.estimates else ""
    latency = Ink(f"{about}{seconds(b.latency)}", _waits_for(b), strong=True)
    if b.batch == 1:
        return ["Alone, a sequence waits ", latency, " for each token and pays for the whole step. ", *_invitation(b)]
    return [
        f"{sequences(b.batch)} share each step. Each waits ",
        latency,
        f" for its token, {_longer(b)}, and a token costs ",
        Ink(seconds(b.cost), "decode", strong=True),
        f" of the machine, {_less(b)}.",
    ]


def _longer(b: Batching) -> str:
    return "no longer than alone" if b.slower < _SAME else f"{times(b.slower)} as long as alone"


def _less(b: Batching) -> str:
    return "no less than alone" if b.cheaper < _SAME else f"{times(b.cheaper)} less than alone"


def _invitation(b: Batching) -> list[Part]:
    """What a sequence alone may expect of company."""
    if b.stretch is None:
        little = f"Over {many(b.context, 'cached token')} little" if b.counts_caches else "Little"
        return [f"{little} is shared: from the second on, each further sequence is one that the others wait for."]
    end = Ink(count(b.stretch.end), "decode", strong=True)
    if b.stretch.start > 1:
        start = count(b.stretch.start)
        return [f"The first {start} bring experts of their own; from there to ", end, " more ride along nearly free."]
    return ["Up to ", end, " can share it before each further one is one to wait for."]


def trouble(b: Batching) -> str:
    """One sentence where the page's batch does not fit into memory, and what to change; "" where it does."""
    s = b.scenario
    if b.fit is None or b.fit.fits:
        return ""
    chips = s.each_machine
    if b.fit.kv_pool_bytes <= 0:
        weights, budget = gibibytes(b.fit.weight_bytes), gibibytes(b.fit.budget_bytes)
        return (
            f"{s.model.name} does not fit into {chips}: its weights take {weights}, and {budget} may be used. Choose "
            "more "
            "GPUs or narrower weights. The times below are those of a step that this memory cannot hold."
        )
    do, choose = ("does", "a shorter one") if b.batch == 1 else ("do", "fewer, or shorter ones")
    return (
        f"{sequences(b.batch)} of {many(b.context, 'token')} {do} not fit into {chips}: memory ends at "
        f"{count(b.fit.max_batch)}. Choose {choose}. The times below are those of a step that this "
        "memory cannot hold."
    )


def below_picture(b: Batching) -> list[Part]:
    """What the picture shows, and what its count leaves out."""
    return [
        (
            "The thick line is the step, which each sequence in it waits for; the thin one is what a token costs, the "
            "step divided by those who share it. Both are logarithmic, as is B. "
        ),
        *_what_is_flat(b),
        *_source(b),
        _memory(b),
    ]


def _what_is_flat(b: Batching) -> list[Part]:
    if b.stretch is None:
        return [f"Nothing is flat here: {_steep_reason(b)}. "]
    return ["Shaded: one more sequence adds less than half of what each costs already. "]


def _steep_reason(b: Batching) -> str:
    """Why each sequence is one to wait for: where nothing is flat, four take twice as long as one."""
    if b.estimates:
        return "by the estimate, four sequences take twice as long as one, or longer"
    one, two, four = (b.price(cm.Step.decode(number, b.context)) for number in (1, 2, 4))
    if one.bound == "compute":
        return "already alone a sequence waits for the arithmetic, and each further one brings as much"
    if two.bound == "compute":
        return "already for the second sequence the arithmetic takes longer than the bytes"
    if two.kv_bytes >= two.weight_bytes:
        kept = keeps(b.scenario.model, number=2)
        return f"already for the second sequence the {kept} cost more than the weights"
    if four.bound == "compute":
        return "already for four sequences the arithmetic takes longer than the bytes"
    experts, own = two.weight_bytes - one.weight_bytes, two.kv_bytes - one.kv_bytes
    beside = f" beside {gigabytes(own)} of its own {b.kept}" if own else ""
    read = gigabytes(one.bytes)
    return f"the second sequence brings {gigabytes(experts)} of experts{beside}, where the first has {read} read"


def _source(b: Batching) -> list[Part]:
    if b.estimates:
        kind = "an estimate" if b.scenario.source == "calibrated" else "from what was measured"
        low, high = (seconds(value) for value in (b.step.low, b.step.high))
        return [
            (
                f"The step is {kind}: about {seconds(b.latency)}, between {low} and {high} for eight of ten "
                f"measurements like those behind it; dashed, its floor of {seconds(b.beside_step.seconds)}. "
            )
        ]
    other = Ink(seconds(b.beside_step.seconds), "decode")
    if b.counts_caches:
        return ["Dashed: the weights alone, as the post counts, in which this step takes ", other, ". "]
    return [
        "Counted as in the post: every matrix, no caches. Dashed: the same with the caches, in which this step takes ",
        other,
        ". ",
    ]


def _memory(b: Batching) -> str:
    if b.fit is None:
        return (
            f"How many fit is not known: no usable memory is published for {b.scenario.hardware.name}. Give it on the "
            "Memory page, and a wall stands where it ends."
        )
    return (
        f"The wall: {sequences(b.fit.max_batch)} of {many(b.context, 'token')} fit beside the weights, if "
        f"{round(100 * b.memory.utilization)}{NBSP}% of the memory may be used.{_whole_caches(b)}"
    )


def _whole_caches(b: Batching) -> str:
    """That what fits and what a step takes are of two ways to divide attention, where they are."""
    if not b.fits_whole_caches:
        return ""
    return (
        " It stands where attention is data parallel, as the Memory page has it, and a GPU keeps whole caches of its "
        "own sequences; times and bytes of a step are those of heads that are divided over the GPUs."
    )


def figures(b: Batching) -> list[Figure]:
    """The five numbers of the page."""
    return [
        Figure("a token takes", seconds(b.latency), "decode"),
        Figure("it costs the machine", seconds(b.cost), "decode"),
        Figure("each sequence gets", per_second(1 / b.latency)),
        Figure("the machine gives", per_second(1 / b.cost)),
        Figure("a million tokens", dollars(b.million)),
    ]


# ---- the arithmetic --------------------------------------------------------------------------------------------


def arithmetic(b: Batching) -> list[Line]:
    """How the numbers of the top come about."""
    step = _estimated(b) if b.estimates else [*_sides(b), _longer_side(b)]
    return [*step, *_shared(b), *_ends(b)]


def _sides(b: Batching) -> list[Line]:
    hw, cost = b.scenario.hardware, b.step
    read = Ink(gigabytes(cost.bytes), "memory")
    weights, those = b.weight_bytes(b.batch), sequences(b.batch)
    which = f"read once for {those}" if b.experts is None else f"with the experts of {those}"
    summed: list[Part] = [Ink(gigabytes(weights), "memory"), f" of weights, {which}"]
    if b.counts_caches:
        summed += [" + ", Ink(gigabytes(cost.bytes - weights), "memory"), " of their own caches and rows"]
    peak = cost.flops / cost.compute_seconds
    return [
        Line("bytes", summed, read),
        Line("bandwidth", [read, f" ÷ {byte_rate(hw.bandwidth)}"], _time(b.step.memory_seconds, "memory")),
        Line(
            "arithmetic",
            [Ink(flop(cost.flops), "compute"), f" ÷ {flop_rate(peak)}"],
            _time(cost.compute_seconds, "compute"),
        ),
    ]


def _time(value: float, meaning: str, *, strong: bool = False) -> Ink:
    return Ink(seconds(value), meaning, strong=strong)


def _longer_side(b: Batching) -> Line:
    both = _time(b.step.memory_seconds, "memory"), _time(b.step.compute_seconds, "compute")
    return Line("step", ["the longer of ", both[0], " and ", both[1]], _time(b.latency, _waits_for(b), strong=True))


def _estimated(b: Batching) -> list[Line]:
    low, high = (seconds(value) for value in (b.step.low, b.step.high))
    kind = "estimate" if b.scenario.source == "calibrated" else "measured rates"
    return [
        Line("floor", f"{_how_sure(b)}, counted with the caches", _time(b.beside_step.seconds, "memory")),
        Line(
            "step",
            f"the sum of its operations, each at the rate that it achieves ({kind})",
            _time(b.latency, "decode", strong=True),
        ),
        Line("its band", "eight of ten measurements", f"{low} to {high}"),
    ]


def _how_sure(b: Batching) -> str:
    """Which kind of number the floor beside an estimate is."""
    return no_faster(expects=b.beside_step.expects_experts)


def _shared(b: Batching) -> list[Line]:
    latency, cost = seconds(b.latency), seconds(b.cost)
    gpus = b.scenario.tensor_parallel
    hourly = f"{dollars(b.hourly)} an hour" if gpus == 1 else f"{gpus} GPUs × {dollars(b.hourly)} an hour"
    return [
        Line("cost of a token", f"{latency} ÷ {count(b.batch)}", _time(b.cost, "decode", strong=True), gap=True),
        Line("each sequence", f"1 token ÷ {latency}", per_second(1 / b.latency)),
        Line("the machine", f"{count(b.batch)} × 1 token ÷ {latency}", per_second(1 / b.cost)),
        Line("a million tokens", f"10⁶ × {cost} × {hourly} ÷ 3,600 s", Ink(dollars(b.million), "", strong=True)),
    ]


def _ends(b: Batching) -> list[Line]:
    lines = []
    if b.stretch is not None:
        lines.append(Line("flat up to", _flat_reason(b, b.stretch.end), f"B = {count(b.stretch.end)}", gap=True))
    if b.fit is not None:
        each = gibibytes(b.fit.sequence_bytes)
        room = gibibytes(max(0.0, b.fit.kv_pool_bytes))
        gpus = f", × {b.fit.pools} GPUs" if b.fit.pools > 1 else ""
        expression = f"{room} left beside the weights ÷ {each} a sequence, in whole ones{gpus}"
        lines.append(Line("memory ends", expression, f"B = {count(b.fit.max_batch)}", gap=not lines))
    return lines


def _flat_reason(b: Batching, end: float) -> str:
    if b.estimates:
        return "where twice the sequences take more than 1.41 times as long, by the estimate"
    if math.isinf(end):
        return "without end: the arithmetic never takes as long as the bytes"
    step = b.price(cm.Step.decode(end, b.context))
    if math.isclose(step.compute_seconds, step.memory_seconds, rel_tol=_ALIKE):
        return f"where the arithmetic takes as long as the {'bytes' if b.counts_caches else 'weights: T*'}"
    if math.isclose(step.kv_bytes, step.weight_bytes, rel_tol=_ALIKE):
        return f"where the bytes of {b.kept} are as many as those of the weights"
    return "where twice the sequences take twice as long as half of them"


def tradeoff_alt(b: Batching) -> str:
    """The message of the picture of latency and cost."""
    end = "nothing is flat" if b.stretch is None else f"the latency is flat up to {sequences(b.stretch.end)}"
    wall = "" if b.most is None else f" Memory ends at {count(b.most)}."
    return (
        f"Latency and cost of a token of {b.scenario.model.name} on {b.scenario.machines} against the batch. "
        "Alone both "
        f"are {seconds(b.alone.seconds)}; at B = {count(b.batch)} a token takes {seconds(b.latency)} and "
        f"costs {seconds(b.cost)}; {end}.{wall}"
    )


# ---- speed and price -------------------------------------------------------------------------------------------

MARKET = "How fast for one, how cheap for all?"


def market(b: Batching) -> Text:
    """What the picture of speed and price shows."""
    return (
        "In one step each sequence gets one token and the machine gives B of them. A larger batch moves down this "
        "curve: "
        "straight down, as long as nobody waits longer for it, then to the left, when it is paid for in speed. A "
        "price of "
        f"{dollars(b.hourly)} an hour for a GPU is divided by the tokens of that hour."
    )


def market_sum(b: Batching) -> str:
    """The worked number of speed and price."""
    return (
        f"{count(b.batch)} ÷ {seconds(b.latency)} = {per_second(1 / b.cost)} for the machine, "
        f"{dollars(b.million)} a million"
    )


def market_lines(b: Batching) -> list[Line]:
    """How speed and price come about, beside those of a sequence alone."""
    alone = float(b.alone.seconds)
    return [
        Line("alone", f"1 token ÷ {seconds(alone)}", per_second(1 / alone)),
        Line("", "a million of those", dollars(b.million_at(alone))),
        *_shared(b)[1:],
    ]


def market_alt(b: Batching) -> str:
    """The message of the picture of speed and price."""
    alone = float(b.alone.seconds)
    return (
        f"Price of a million tokens against the speed of each sequence. Alone: {per_second(1 / alone)} and "
        f"{dollars(b.million_at(alone))}. At B = {count(b.batch)}: {per_second(1 / b.latency)} each and "
        f"{dollars(b.million)} a million."
    )


# ---- the two bills ---------------------------------------------------------------------------------------------

BILLS = "Which of the two memory bills does batching pay?"


def bills(b: Batching) -> Text:
    """What the two bills are."""
    read = "read once" if b.experts is None else "read with the experts that turn up"
    return (
        f"For each token of output a sequence is charged its share of the weights, which are {read} and split B ways, "
        f"and its own {b.kept}, which nobody else can use. On {_gpu(b)}, a token over {many(b.context, 'cached one')}."
    )


def _gpu(b: Batching) -> str:
    if b.scenario.tensor_parallel == 1:
        return "one GPU"
    heads = ", the heads divided over them" if b.fits_whole_caches else ""
    return f"each of {b.scenario.tensor_parallel} GPUs{heads}"


def bills_sum(b: Batching) -> str:
    """The worked number of the two bills."""
    weights, caches = gigabytes(b.bills.weights), gigabytes(b.bills.caches)
    read = gigabytes(b.counted_step.weight_bytes)
    return f"{read} ÷ {count(b.batch)} = {weights} of weights, beside {caches} of {b.kept}"


def bills_lines(b: Batching) -> list[Line]:
    """How the two bills come about, and where they are even."""
    weights, caches = Ink(gigabytes(b.bills.weights), "memory"), Ink(gigabytes(b.bills.caches), "cached")
    read = gigabytes(b.counted_step.weight_bytes)
    return [
        Line(
            "weights", [Ink(read, "memory"), f" read by the step, embedding rows included, ÷ {count(b.batch)}"], weights
        ),
        Line(b.kept, _kept_expression(b), caches),
        Line("a token", [weights, " + ", caches], Ink(gigabytes(b.bills.total), "", strong=True)),
        Line(
            "even at",
            f"the batch at which it pays as much for its {b.kept} at {many(b.context, 'token')} as for its share",
            _even_batch(b),
            gap=True,
        ),
        Line("even at", f"the context at which it does in a batch of {count(b.batch)}", _even_context(b)),
    ]


def _kept_expression(b: Batching) -> str:
    """What of a sequence's own a step reads and writes."""
    each, state = b.scenario.model.kv_bytes_per_token, b.state_bytes
    if b.bills.caches == each * (b.context + 1):
        return f"({count(b.context)} read + 1 written) × {count(each)} bytes"
    twice = f"2 × {gigabytes(state)} of state, read and written"
    if not each:
        return twice
    kept = f"{many(b.context, 'token')} as each layer keeps them, in {b.scenario.formats.kv}, and the one that is new"
    return f"{gigabytes(b.bills.caches - 2 * state)} of {kept}, + {twice}" if state else kept


def _even_batch(b: Batching) -> str:
    if b.even_batch is None:
        return "never"
    return "from the first sequence on" if b.even_batch == 1 else f"B = {count(b.even_batch)}"


def _even_context(b: Batching) -> str:
    if b.even_context is None:
        return "never"
    return "from the first token on" if b.even_context == 1 else many(b.even_context, "token")


def bills_note(b: Batching) -> Text:
    """Where the two bills are even, in a sentence."""
    if b.even_context is None:
        grows = "stops growing before" if b.scenario.model.kv_values_per_token else "does not grow"
        return (
            f"In a batch of {count(b.batch)} a sequence never pays as much for its {b.kept} as for its share of the "
            f"weights: it {grows}."
        )
    if b.even_context == 1:
        return f"In a batch of {count(b.batch)} a sequence pays more for its {b.kept} than for the weights, always."
    return (
        f"In a batch of {count(b.batch)} a sequence pays as much for its {b.kept} at {many(b.even_context, 'token')} "
        "as for its share of the weights. Beyond that, most of what a token costs is its own history, and a larger "
        "batch cannot divide it."
    )


def bills_by_batch_alt(b: Batching) -> str:
    """The message of the picture of the bills against the batch."""
    alone = gigabytes(b.floor(cm.Step.decode(1, b.context)).weight_bytes)
    return (
        f"Bytes for a token against the batch, stacked: its own {b.kept} of {gigabytes(b.bills.caches)} at any batch, "
        f"and above it its share of the weights, {alone} alone and "
        f"{gigabytes(b.bills.weights)} at B = {count(b.batch)}. Even: {_even_batch(b)}."
    )


def bills_by_context_alt(b: Batching) -> str:
    """The message of the picture of the bills against the context."""
    return (
        f"Bytes for a token against the context at B = {count(b.batch)}, stacked: its share of the weights, "
        f"{gigabytes(b.bills.weights)}, and above it its {b.kept}, {gigabytes(b.bills.caches)} at "
        f"{many(b.context, 'token')}. Even: {_even_context(b)}."
    )


# ---- intensity -------------------------------------------------------------------------------------------------

INTENSITY = "Can a batch be large enough to keep the arithmetic busy?"


def intensity(b: Batching) -> Text:
    """What intensity is, and what becomes of it."""
    return (
        f"Arithmetic intensity is the FLOP that a step does for each byte it moves. {_of_weights(b)} But each sequence "
        f"brings its own {b.kept}, and the intensity tends to that of one more sequence by itself. {_reaches(b)}"
    )


def _reaches(b: Batching) -> str:
    """From which intensity on a step is compute-bound."""
    if not b.two_peaks:
        return f"Compute-bound is what reaches the ridge, {count(b.ridge)}."
    formats = b.scenario.formats
    return (
        f"Were all arithmetic in {formats.compute}, a step would be compute-bound from the ridge of {count(b.ridge)} "
        f"on; some of it is in {formats.wide}, which has another peak, and this step would be from "
        f"{count(b.balance)} on."
    )


def _of_weights(b: Batching) -> str:
    """What the intensity of the weights alone is, from two steps."""
    one, many = (float(b.weights_alone(cm.Step.decode(n, b.context)).intensity) for n in (1, 64))
    if abs(many - 64 * one) > 1e-6 * many:
        return "Of the weights alone (dashed) it grows without end, slowly while new experts turn up."
    if abs(one - 1) < 1e-3:  # noqa: PLR2004  # FLOP a byte of one token at two bytes a parameter
        return "Of the weights alone (dashed) it is T: the whole post in one line, and without end."
    return f"Of the weights alone (dashed) it is {significant(one, trim=True)} × T, and without end."


def intensity_sum(b: Batching) -> str:
    """The worked number of intensity."""
    cost = b.counted_step
    return (
        f"{flop(cost.flops)} ÷ {gigabytes(cost.bytes)} = {significant(b.intensity)} FLOP a byte, "
        f"against a ridge of {count(b.ridge)}{_in_format(b)}"
    )


def _in_format(b: Batching) -> str:
    return f" in {b.scenario.formats.compute}" if b.two_peaks else ""


def intensity_lines(b: Batching) -> list[Line]:
    """How the intensity comes about, and what it tends to."""
    cost, tends = b.counted_step, significant(b.asymptote(b.context))
    hw, used = b.scenario.hardware, b.scenario.formats.compute
    mixed = [
        Line(
            "of this mix",
            [Ink(flop(cost.flops), "compute"), " ÷ ", _time(cost.compute_seconds, "compute"),
             f" of arithmetic ÷ {byte_rate(hw.bandwidth)}"],
            f"{significant(b.balance)} FLOP a byte",
        )
    ]  # fmt: skip
    return [
        Line(
            "now",
            [Ink(flop(cost.flops), "compute"), " ÷ ", Ink(gigabytes(cost.bytes), "memory")],
            f"{significant(b.intensity)} FLOP a byte",
        ),
        Line("tends to", "FLOP of one more sequence ÷ its own bytes", f"{tends} FLOP a byte"),
        Line(
            "ridge B*",
            f"{flop_rate(hw.peak_of(used))} in {used} ÷ {byte_rate(hw.bandwidth)}",
            f"{significant(b.ridge)} FLOP a byte",
        ),
        *(mixed if b.two_peaks else []),
        Line("crosses", "where the arithmetic takes as long as all the bytes", _crosses(b)),
    ]


def _crosses(b: Batching) -> str:
    crossing = b.crossing(b.context)
    if crossing is None:
        return "never"
    if crossing <= 1:
        return "from the first sequence on"
    there = b.floor(cm.Step.decode(crossing, b.context))
    return f"B = {count(crossing)}, at {significant(float(there.intensity))} FLOP a byte"


def _crosses_at(crossing: float | None) -> str:
    if crossing is None:
        return "never crosses"
    return "compute-bound from the first sequence on" if crossing <= 1 else f"crosses at B = {count(crossing)}"


def intensity_alt(b: Batching) -> str:
    """The message of the picture of intensity."""
    said = []
    for context in sorted(b.contexts):
        crossing = b.crossing(context)
        ends = _crosses_at(crossing)
        said.append(f"{count(context)} cached: {ends}, tends to {significant(b.asymptote(context), 2)}")
    return (
        f"FLOP a byte of decode steps against the batch, with a ridge at {count(b.ridge)}. {'; '.join(said)}. At "
        f"B = {count(b.batch)} over {count(b.context)}: {significant(b.intensity)}."
    )


# ---- experts ---------------------------------------------------------------------------------------------------

EXPERTS = "How many experts turn up?"


def experts(b: Batching) -> Text:
    """What a batch does to a mixture of experts."""
    mlp = b.experts
    return (
        f"Each token goes to {mlp.top_k} of {count(mlp.experts)} experts in a layer, and a step reads the experts that "
        "any of its tokens is sent to. So the weights are not read once for all here: each sequence brings experts of "
        "its own "
        "until most of them are read anyway. Expected, as if each expert were as likely as any other; real routers "
        "are less "
        "even and hit fewer."
    )


def experts_sum(b: Batching) -> str:
    """The worked number of the experts."""
    hit = significant(float(b.hit.expected))
    return (
        f"{count(b.experts.experts)} × (1 − (1 − {b.experts.top_k}/{count(b.experts.experts)})^{count(b.batch)}) "
        f"= {hit} experts, {gigabytes(b.weight_bytes(b.batch))} a step"
    )


def experts_lines(b: Batching) -> list[Line]:
    """How many experts, at least, expected and at most, and their bytes."""
    mlp, hit = b.experts, b.hit
    chance = f"1 − {mlp.top_k} ÷ {count(mlp.experts)}"
    weights = b.weight_bytes(b.batch)
    return [
        Line("at least", _agreeing(b), many(float(hit.least), "expert")),
        Line(
            "expected",
            f"{count(mlp.experts)} × (1 − ({chance}) to the {count(b.batch)})",
            f"{significant(float(hit.expected))} experts",
        ),
        Line(
            "at most",
            f"the lesser of {count(mlp.experts)} and {mlp.top_k} × {count(b.batch)}",
            many(float(hit.most), "expert"),
        ),
        Line(
            "read",
            "those experts in every layer, and all that is shared",
            Ink(gigabytes(weights), "memory"),
            gap=True,
        ),
        Line("a token", f"÷ {count(b.batch)}", Ink(gigabytes(weights / b.batch), "memory")),
    ]


def _agreeing(b: Batching) -> str:
    return "those of its one token" if b.batch == 1 else f"all {sequences(b.batch)} agree"


def experts_alt(b: Batching) -> str:
    """The message of the picture of experts."""
    return (
        f"Distinct experts of {count(b.experts.experts)} in a layer against the batch: {b.experts.top_k} for one "
        "token, "
        f"{significant(float(b.hit.expected))} expected at B = {count(b.batch)}, between "
        f"{count(float(b.hit.least))} and {count(float(b.hit.most))}. The step then reads "
        f"{gigabytes(b.weight_bytes(b.batch))} of weights, {gigabytes(b.weight_bytes(1))} for one."
    )


# ---- questions -------------------------------------------------------------------------------------------------


def company(b: Batching) -> Question:
    """How many can share a step; of a mixture, how many bring nothing of their own any more."""
    arrival = 1.0 if b.weights_stretch is None else b.weights_stretch.start
    if arrival > 1:
        many = min(math.ceil(arrival), _LARGEST_BATCH)
        text = "How many sequences does it take until one more brings hardly any experts of its own?"
    else:
        many = _LARGEST_BATCH if b.weights_crossing is None else max(1, min(round(b.weights_crossing), _LARGEST_BATCH))
        text = "Counting weights as the post does: how many can share a step before anybody waits longer?"
    return Question(text, f"Show B = {count(many)}", {"batch": many, "count": "weights"})


def history(b: Batching) -> Question:
    """When a sequence's own history costs as much as the model."""
    even = 2048 if b.even_context is None else max(1, min(round(b.even_context), _LONGEST_CONTEXT))
    return Question(
        f"In a batch of {count(b.batch)}: from which context on does a sequence pay more for its own {b.kept} than "
        "for the model?",
        f"Show {many(even, 'token')}",
        {"context": even, "count": "attention"},
    )
