"""The arithmetic behind the page's numbers, with the values put in, as the post writes it.

An expression is written out only where it gives the number that is shown; where a model's parts are stored in several
formats, or reached by chance (experts), the line says so in words instead.
"""

from __future__ import annotations

from pages.parts import format
from pages.parts.components import Ink, Line, Part
from pages.parts.layers import is_sparse
from pages.roofline.numbers import Roofline
from pages.roofline.words import gives, idle


def arithmetic(r: Roofline) -> list[Line]:
    """Each number of the page with the values put in, as the post writes them."""
    return [*_parameters(r), *(_with_caches(r) if r.counts_caches else _weights_only(r)), *_sides(r), *_results(r)]


def _parameters(r: Roofline) -> list[Line]:
    model = r.scenario.model
    lines = []
    if len(model.distinct_layers) == 1:
        head = model.matrix_params - model.num_layers * model.block_params
        lines.append(
            Line(
                "a block",
                "its matrices, each applied once a token",
                f"{format.parameters(model.block_params)} parameters",
            )
        )
        blocks = f"{format.many(model.num_layers, 'block')} × {format.count(model.block_params)}"
        expression = f"{blocks} + LM head {format.count(head)}"
    else:
        expression = "every matrix of every block, and the LM head once"
    lines.append(Line("P", expression, f"{format.count(model.matrix_params)} parameters"))
    if model.active_matrix_params != model.matrix_params:
        active = "those of one token: its experts, and everything that all tokens share"
        lines.append(Line("active", active, f"{format.count(model.active_matrix_params)} parameters"))
    return lines


def _weights_only(r: Roofline) -> list[Line]:
    return [
        Line("weights", _weights_expression(r), Ink(format.gigabytes(r.decode.bytes), "memory"), gap=True),
        Line(
            "arithmetic",
            _arithmetic_expression(r),
            [Ink(format.flop(r.decode.flops / r.batch), "compute"), " × T"],
        ),
    ]


def _arithmetic_expression(r: Roofline) -> str:
    """How the parameters come to the arithmetic of a token, on one GPU."""
    params, gpus = r.scenario.model.active_matrix_params, r.scenario.tensor_parallel
    if format.flop(2 * params / gpus) == format.flop(r.decode.flops / r.batch):
        return f"2 × {format.count(params)} × T" + (f" ÷ {gpus} GPUs" if gpus > 1 else "")
    own = r.decode.flops / r.batch / 2
    return f"2 × {format.count(own)} × T, as some matrices are on several of the {gpus} GPUs"


def _weights_expression(r: Roofline) -> str:
    """How the weights that the step reads come to their bytes."""
    s, params, read = r.scenario, r.scenario.model.matrix_params, format.gigabytes(r.weight_bytes)
    gpus = f" ÷ {s.tensor_parallel} GPUs" if s.tensor_parallel > 1 else ""
    for size in (2.0, 1.0, 4.0, 0.5):
        if format.gigabytes(params * size / s.tensor_parallel) == read:
            return f"{format.count(params)} parameters × {format.width(size)}{gpus}"
    what = f"{format.count(params)} parameters, each as it is stored (mostly {s.stored_weights})"
    if is_sparse(s.model):
        what = f"all but the experts, and those that {format.many(r.batch, 'token')} may be expected to reach"
    if format.gigabytes(r.whole_weight_bytes / s.tensor_parallel) != read:
        return f"{what}, some on several of the {s.tensor_parallel} GPUs"
    return f"{what}: {format.gigabytes(r.whole_weight_bytes)}{gpus}" if gpus else what


def _with_caches(r: Roofline) -> list[Line]:
    states = float(r.decode.state_bytes)
    caches = float(r.decode.kv_bytes) - states
    rows = max(0.0, r.decode.bytes - r.weight_bytes - caches - states)
    meeting = sum(row["flops"] for row in r.decode.rows if row["kv_bytes"])
    kept = [("caches", _caches_expression(r, caches), caches), ("states", _states_expression(r), states)]
    summed: list[Part] = [Ink(format.gigabytes(r.weight_bytes), "memory")]
    for _, _, size in kept:
        summed += [" + ", Ink(format.gigabytes(size), "memory")] if size else []
    return [
        Line("weights", _weights_expression(r), Ink(format.gigabytes(r.weight_bytes), "memory"), gap=True),
        *(Line(name, how, Ink(format.gigabytes(size), "memory")) for name, how, size in kept if size),
        Line(
            "bytes",
            [*summed, f" + {format.gigabytes(rows)} of embedding" if rows else ""],
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
    number = format.sequences(r.batch)
    if format.gigabytes(r.batch * (r.context + 1) * each) == format.gigabytes(caches):
        return f"{number} × ({format.count(r.context)} read + 1 written) × {format.count(each)} bytes"
    read = f"{format.many(r.context, 'token')} read as each layer keeps them"
    return f"{number}, {read}, and 1 written by each, in {r.scenario.formats.kv}"


def _states_expression(r: Roofline) -> str:
    gpus = f" ÷ {r.scenario.tensor_parallel} GPUs" if r.scenario.tensor_parallel > 1 else ""
    each = format.gigabytes(r.scenario.model.state_bytes)
    return f"{format.sequences(r.batch)} × {each} × (1 read + 1 written){gpus}"


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
    memory = Ink(format.seconds(r.decode.memory_seconds), "memory")
    compute = Ink(format.seconds(_arithmetic_amount(r)[1], 2), "compute")
    times = "" if r.counts_caches else f" × {format.count(r.batch)}"
    share, who, _ = idle(r)
    arithmetic: list[Part] = [compute, times]
    product = ["(", *arithmetic, ")"] if times else arithmetic
    short, long = (arithmetic, [memory]) if r.waiting_for_memory else ([memory], product)
    hw, used = r.scenario.hardware, r.scenario.formats.compute
    ridge = f"{format.flop_rate(hw.peak_of(used))} ÷ {format.byte_rate(hw.bandwidth)}"
    return [
        Line(
            "step", ["the longer of ", memory, " and ", *arithmetic], _bold(format.seconds(r.decode.seconds)), gap=True
        ),
        Line(f"{who.split()[0]} idle", ["1 − ", *short, " ÷ ", *long], _bold(format.percent(share))),
        Line("prefill", _prefill_expression(r), _bold(format.seconds(r.prefill.seconds))),
        _crossing_line(r, memory, compute),
        Line("ridge B*", ridge, _bold(f"{format.significant(r.ridge)} FLOP a byte")),
    ]


def _prefill_expression(r: Roofline) -> list[Part]:
    memory, compute = r.prefill.memory_seconds, r.prefill.compute_seconds
    if r.counts_caches:
        sides: tuple[Part, ...] = (Ink(format.seconds(compute), "compute"), " of arithmetic")
    else:
        sides = (Ink(format.seconds(compute / r.prompt, 2), "compute"), f" × {format.count(r.prompt)}")
    return ["the longer of ", Ink(format.seconds(memory), "memory"), " and ", *sides]


_FROM_THE_FIRST = "from the first token on"  # where a crossing would lie below one token


def _crossing_line(r: Roofline, memory: Ink, compute: Ink) -> Line:
    if r.crossing is None:
        expression = f"intensity tends to {format.significant(r.asymptote, 2)} FLOP a byte, below B*"
        return Line("crossing", expression, _bold("never"))
    if r.crossing <= 1:
        return Line("crossing", "one token takes as long in arithmetic as in memory, or longer", _bold(_FROM_THE_FIRST))
    result = _bold(format.tokens(r.crossing))
    hw, peak = r.scenario.hardware, r.token.flops / r.token.compute_seconds
    if r.counts_caches or not gives(r.token.memory_seconds / r.token.compute_seconds, r.crossing):
        return Line("crossing", "the tokens at which both sides take as long", result)
    same = f", which is {_bare(peak)} ÷ {_bare(hw.bandwidth)}" if gives(peak / hw.bandwidth, r.crossing) else ""
    return Line("crossing", [memory, " ÷ ", compute, same], result)


def _bold(result: object) -> Ink:
    return Ink(result, strong=True)


def _bare(rate: float) -> str:
    """A rate in tera, without its unit."""
    return format.significant(rate / 1e12, 4, trim=True)
