"""What the Roofline page says, as text made of the page's numbers."""

from __future__ import annotations

from pages.parts import format
from pages.parts.components import Figure, Ink, Line, Part, Question, Text
from pages.roofline.numbers import Roofline

_CLOSE = 1e-3  # an expression is written out only when it gives the number that is shown, to a tenth of a percent


def headline(r: Roofline) -> list[Part]:
    """The sentence of numbers that the page opens with."""
    subject = f"One decode step of {r.scenario.model.name}"
    if r.batch > 1:
        subject += f" for {format.count(r.batch)} sequences"
    if r.counts_caches:
        subject += f" over {format.count(r.context)} cached tokens{' each' if r.batch > 1 else ''}"
    waits = "memory" if r.waiting_for_memory else "compute"
    floor = Ink(format.seconds(r.decode.seconds), waits, strong=True)
    if r.estimates:
        estimate = r.estimate
        took = "took" if r.scenario.source == "live" else "takes about"
        low, high = format.seconds(estimate.low, 2), format.seconds(estimate.high, 2)
        return [
            f"{subject} on {r.scenario.hardware.name} {took} ",
            Ink(format.seconds(estimate.seconds, 2), "decode", strong=True),
            f" (between {low} and {high}), {format.significant(estimate.seconds / r.decode.seconds, 2)} times the floor of ",
            floor,
            ".",
        ]
    return [f"{subject} on {r.scenario.hardware.name} cannot finish sooner than ", floor, ". ", *_idle_sentence(r)]


def _idle_sentence(r: Roofline) -> list[Part]:
    idle, who, meaning = _idle(r)
    return [f"The {who} nothing to do for ", Ink(format.percent(idle), meaning, strong=True), " of it."]


def _idle(r: Roofline) -> tuple[float, str, str]:
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
            f"Ink dots: what is expected instead, circles for decode steps over {format.count(r.context)} cached tokens, "
            "diamonds for prefills. "
        )
    if r.counts_caches:
        return [shown, thick, *_never(r)]
    beside, bound = r.decode_with_caches, r.prefill_with_caches
    return [
        f"{shown}{thick}Every matrix is counted on every token, as in the post; the caches are not. With ",
        f"{_caches(r)} the decode step reads ",
        Ink(format.gigabytes(beside.bytes), "memory"),
        " and takes ",
        Ink(format.seconds(beside.seconds), "decode"),
        f". For the prompt this count has the LM head on all {format.count(r.prompt)} positions, so its ",
        Ink(format.seconds(r.prefill.seconds), "prefill"),
        " is the post's count and no bound; the bound is ",
        Ink(format.seconds(bound.seconds), "prefill"),
        ".",
    ]


def _caches(r: Roofline) -> str:
    if r.batch == 1:
        return f"its cache of {format.count(r.context)} tokens"
    return f"{format.count(r.batch)} caches of {format.count(r.context)} tokens"


def _never(r: Roofline) -> list[Part]:
    if r.crossing is not None:
        return [f"Decode steps over {format.count(r.context)} cached tokens cross at {format.count(r.crossing)} sequences."]
    return [
        f"The weights are read once for all; each sequence brings its own cache of {format.count(r.context)} tokens. "
        "However many there are, a decode step ",
        Ink("never crosses", "memory"),
        f": its intensity tends to {format.significant(r.asymptote, 2)} FLOP a byte, and this chip's ridge is at "
        f"{format.count(r.ridge)}.",
    ]


def figures(r: Roofline) -> list[Figure]:
    """The five numbers of the page."""
    idle, who, meaning = _idle(r)
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
        Figure("crossing T*", "never" if r.crossing is None else format.tokens(r.crossing)),
        Figure(f"{who.split()[0]} idle", format.percent(idle), meaning),
    ]


def _read(r: Roofline) -> Figure:
    if not r.counts_caches:
        return Figure("weights read", format.gigabytes(r.decode.bytes), "memory")
    total = format.gigabytes(r.decode.bytes)
    scale = next(s for s, unit in format.BYTES if unit == total.unit)
    weights, caches = (format.significant(b / scale) for b in (r.weight_bytes, r.decode.bytes - r.weight_bytes))
    return Figure("weights + caches read", format.Quantity(f"{weights} + {caches}", total.unit), "memory")


# ---- the arithmetic ------------------------------------------------------------------------------------------


def arithmetic(r: Roofline) -> list[Line]:
    """Each number of the page with the values put in, as the post writes them."""
    return [*_parameters(r), *(_with_caches(r) if r.counts_caches else _weights_only(r)), *_sides(r), *_results(r)]


def _parameters(r: Roofline) -> list[Line]:
    model = r.scenario.model
    lines = []
    if len(model.distinct_layers) == 1:
        head = model.matrix_params - model.num_layers * model.block_params
        lines.append(Line("a block", "its matrices, each applied once a token", f"{format.parameters(model.block_params)} parameters"))
        expression = f"{model.num_layers} blocks × {format.count(model.block_params)} + LM head {format.count(head)}"
    else:
        expression = "every matrix of every block, and the LM head once"
    lines.append(Line("P", expression, f"{format.count(model.matrix_params)} parameters"))
    if model.active_matrix_params != model.matrix_params:
        active = "those of one token: its experts, and everything that all tokens share"
        lines.append(Line("active", active, f"{format.count(model.active_matrix_params)} parameters"))
    return lines


def _weights_only(r: Roofline) -> list[Line]:
    params = r.scenario.model.active_matrix_params
    written = f"2 × {format.count(params)} × T"
    exact = _gives(2 * params * r.batch, r.decode.flops)
    return [
        Line("weights", _weights_expression(r), Ink(format.gigabytes(r.decode.bytes), "memory"), gap=True),
        Line(
            "arithmetic",
            written if exact else f"{written}, on each of {r.scenario.tensor_parallel} GPUs",
            [Ink(format.flop(r.decode.flops / r.batch), "compute"), " × T"],
        ),
    ]


def _weights_expression(r: Roofline) -> str:
    """How the weights that the step reads come to their bytes."""
    s, params = r.scenario, r.scenario.model.matrix_params
    gpus = f" ÷ {s.tensor_parallel} GPUs" if s.tensor_parallel > 1 else ""
    for size in (2.0, 1.0, 4.0, 0.5):
        if _gives(params * size / s.tensor_parallel, r.weight_bytes):
            return f"{format.count(params)} parameters × {size:g} byte{'' if size == 1 else 's'}{gpus}"
    if s.model.active_matrix_params != params:
        tokens = f"{format.count(r.batch)} token{'' if r.batch == 1 else 's'}"
        return f"all but the experts, and those that {tokens} may be expected to reach{gpus}"
    return f"{format.count(params)} parameters, each as it is stored (mostly {s.stored_weights}){gpus}"


def _with_caches(r: Roofline) -> list[Line]:
    table = r.decode.operations.set_index("name")
    squares = table["kv_bytes"] > 0
    caches = float(table["kv_bytes"].sum())
    rows = max(0.0, r.decode.bytes - r.weight_bytes - caches)
    meeting = float(table.loc[squares, "flops"].sum())
    return [
        Line("weights", _weights_expression(r), Ink(format.gigabytes(r.weight_bytes), "memory"), gap=True),
        Line("caches", _caches_expression(r, caches), Ink(format.gigabytes(caches), "memory")),
        Line(
            "bytes",
            [Ink(format.gigabytes(r.weight_bytes), "memory"), " + ", Ink(format.gigabytes(caches), "memory"),
             f" + {format.gigabytes(rows)} of embedding" if rows else ""],
            Ink(format.gigabytes(r.decode.bytes, 4), "memory"),
        ),
        Line(
            "arithmetic",
            [Ink(format.flop(r.decode.flops - meeting), "compute"), " on the weights + ",
             Ink(format.flop(meeting), "compute"), " where tokens meet"],
            Ink(format.flop(r.decode.flops, 4), "compute"),
        ),
    ]  # fmt: skip


def _caches_expression(r: Roofline, caches: float) -> str:
    each = r.scenario.model.kv_bytes_per_token
    number = f"{format.count(r.batch)} sequence{'' if r.batch == 1 else 's'}"
    if _gives(r.batch * (r.context + 1) * each, caches):
        return f"{number} × ({format.count(r.context)} read + 1 written) × {format.count(each)} bytes"
    return f"{number}, {format.count(r.context)} tokens read and 1 written by each, in {r.scenario.formats.kv}"


def _sides(r: Roofline) -> list[Line]:
    hw = r.scenario.hardware
    amount, divided = _arithmetic_amount(r)
    peak = amount / divided
    token = " a token" if not r.counts_caches else ""
    return [
        Line(
            "bandwidth",
            [Ink(format.gigabytes(r.decode.bytes), "memory"), f" ÷ {format.byte_rate(hw.bandwidth)}"],
            Ink(format.seconds(r.decode.memory_seconds), "memory"),
            gap=True,
        ),
        Line(
            "throughput",
            [Ink(format.flop(amount), "compute"), f" ÷ {format.flop_rate(peak)}"],
            [Ink(format.seconds(divided, 2), "compute"), token],
        ),
    ]


def _arithmetic_amount(r: Roofline) -> tuple[float, float]:
    """FLOP and seconds of the arithmetic: of a token in the post's count, of the step where caches count."""
    share = 1 if r.counts_caches else r.batch
    return r.decode.flops / share, r.decode.compute_seconds / share


def _results(r: Roofline) -> list[Line]:
    memory, compute = (Ink(format.seconds(s, n), m) for s, n, m in (
        (r.decode.memory_seconds, 3, "memory"), (_arithmetic_amount(r)[1], 2, "compute")))  # fmt: skip
    times = "" if r.counts_caches else f" × {format.count(r.batch)}"
    idle, who, _ = _idle(r)
    short, long = (compute, memory) if r.waiting_for_memory else (memory, compute)
    hw, used = r.scenario.hardware, r.scenario.formats.compute
    return [
        Line("step", ["the longer of ", memory, " and ", compute, times], Ink(format.seconds(r.decode.seconds), "", strong=True), gap=True),
        Line(f"{who.split()[0]} idle", ["1 − ", short, times if r.waiting_for_memory else "", " ÷ ", long, "" if r.waiting_for_memory else times],
             Ink(format.percent(idle), "", strong=True)),
        Line("prefill", _prefill_expression(r), Ink(format.seconds(r.prefill.seconds), "", strong=True)),
        _crossing_line(r, memory, compute),
        Line("ridge B*", f"{format.flop_rate(hw.peak_of(used))} ÷ {format.byte_rate(hw.bandwidth)}",
             Ink(f"{format.significant(r.ridge)} FLOP a byte", "", strong=True)),
    ]  # fmt: skip


def _prefill_expression(r: Roofline) -> list[Part]:
    memory, compute = r.prefill.memory_seconds, r.prefill.compute_seconds
    if r.counts_caches:
        sides: tuple[Part, ...] = (Ink(format.seconds(compute), "compute"), " of arithmetic")
    else:
        sides = (Ink(format.seconds(compute / r.prompt, 2), "compute"), f" × {format.count(r.prompt)}")
    return ["the longer of ", Ink(format.seconds(memory), "memory"), " and ", *sides]


def _crossing_line(r: Roofline, memory: Ink, compute: Ink) -> Line:
    if r.crossing is None:
        expression = f"intensity tends to {format.significant(r.asymptote, 2)} FLOP a byte, below B*"
        return Line("crossing", expression, Ink("never", "", strong=True))
    result = Ink(format.tokens(r.crossing), "", strong=True)
    hw, peak = r.scenario.hardware, r.token.flops / r.token.compute_seconds
    if r.counts_caches or not _gives(r.token.memory_seconds / r.token.compute_seconds, r.crossing):
        return Line("crossing", "the tokens at which both sides take as long", result)
    same = f", which is {_bare(peak)} ÷ {_bare(hw.bandwidth)}" if _gives(peak / hw.bandwidth, r.crossing) else ""
    return Line("crossing", [memory, " ÷ ", compute, same], result)


def _bare(rate: float) -> str:
    """A rate in tera, without its unit."""
    return format.significant(rate / 1e12, 4, trim=True)


def _gives(expression: float, shown: float) -> bool:
    return abs(expression - shown) <= _CLOSE * abs(shown)


def below_table(r: Roofline, step: str) -> str:
    """What the rows are, and why their times do not add up to the step's."""
    what = {
        "decode": f"A decode step of {format.count(r.batch)}",
        "prefill": f"A prefill of {format.count(r.prompt)} tokens",
        "mixed": f"{format.count(r.chunk)} tokens of the prompt beside {format.count(r.batch)} decoding",
    }[step]
    own = r.cost_of(step).operations["seconds"].sum()
    whole = r.cost_of(step).seconds
    if r.estimates:
        return f"{what}, by the source that speaks: the step is the sum of its operations."
    sums = "Each operation's own floor"
    if _gives(own, whole):
        return f"{what}. {sums}; together they are the step's."
    return (
        f"{what}. {sums}: together {format.seconds(own)}, more than the step's {format.seconds(whole)}, "
        "because one operation's arithmetic may hide behind another's bytes. Shares are of that sum."
    )


# ---- alt texts and questions ---------------------------------------------------------------------------------


def time_alt(r: Roofline) -> str:
    """The message of the picture of time against T."""
    crossing = (
        "the two never cross"
        if r.prefill_crossing is None
        else f"they cross at {format.count(r.prefill_crossing)} tokens"
    )
    decode = "" if not r.counts_caches or r.crossing is not None else " The decode curve never becomes compute-bound."
    return (
        f"Time of a step of {r.scenario.model.name} on {r.scenario.hardware.name} against the tokens in it. Memory takes "
        f"{format.seconds(r.token.memory_seconds)} for one token, arithmetic {format.seconds(r.token.compute_seconds, 2)}; "
        f"{crossing}. Decode of {format.count(r.batch)}: {format.seconds(r.decode.seconds)}, {r.decode.bound}-bound. "
        f"Prefill of {format.count(r.prompt)}: {format.seconds(r.prefill.seconds)}, {r.prefill.bound}-bound.{decode}"
    )


def roof_alt(r: Roofline) -> str:
    """The message of the classical roofline."""
    hw = r.scenario.hardware
    peak = format.flop_rate(hw.peak_of(r.scenario.formats.compute))
    return (
        f"Roofline of {hw.name}: {format.byte_rate(hw.bandwidth)} up to a ridge at {format.count(r.ridge)} FLOP a byte, "
        f"then {peak} in {r.scenario.formats.compute}. The decode step has {format.significant(r.decode.intensity)} FLOP a byte, "
        f"the prefill {format.significant(r.prefill.intensity)}, the mixed step {format.significant(r.mixed.intensity)}."
    )


def under_the_roof(r: Roofline) -> Text:
    """What the second picture shows."""
    return (
        "What each operation asks of the machine: how much arithmetic for each byte (horizontal), and how much it can then "
        f"reach (vertical). The ridge is at {format.significant(r.ridge)} FLOP a byte"
        + (", the same number as T*." if r.crossing is not None and _gives(r.ridge, r.crossing) else ".")
    )


def questions(r: Roofline) -> list[Question]:
    """What a reader may want to try next; the answers set the controls."""
    free = round(r.crossing) if r.crossing and r.crossing <= 1024 else 256  # noqa: PLR2004
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
