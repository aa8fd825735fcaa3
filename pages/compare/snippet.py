"""The figures of the Compare page as programs, one for each of its views."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pages.compare import league_words, map_words, words
from pages.compare.league import League, Row
from pages.compare.map_numbers import AXES, Map
from pages.compare.numbers import Pair, Side
from pages.memory.snippet import fit_lines
from pages.parts import snippets

_FACTORS = ("bandwidth_x", "compute_x")


# ---- A against B -------------------------------------------------------------------------------------------------


def pair(p: Pair, packed: str = "", packed_b: str = "") -> str:
    """The program of both sides; ``packed``, ``packed_b``: the user's own models of A and of B."""
    body = [*_side(p.a, ""), "", snippets.comment(f"B: {p.b.scenario.label}.")]
    body += [*snippets.setting(p.b.scenario, packed_b, "_b"), "", *_side(p.b, "_b")]
    figures: dict[str, str] = {}
    for side, suffix in ((p.a, ""), (p.b, "_b")):
        expressions = _expressions(p, side, suffix)
        figures |= {f"{name}, {side.name}": expression for name, expression in expressions.items()}
    return snippets.program(
        "Compare",
        p.a.scenario,
        body=body,
        figures=figures,
        packed=packed,
        imports=["from costmodel.batching import price_of_a_million"],
    )


def _side(side: Side, suffix: str) -> list[str]:
    floor = snippets.floor(side.scenario)
    lines = [
        f"decode_step{suffix} = cm.Step.decode({side.batch}, {side.context})",
        f"prompt_step{suffix} = cm.Step.prefill({side.prompt})",
        f'decode{suffix} = price{suffix}(decode_step{suffix}, count="{side.count}"{floor})',
        f'with_caches{suffix} = price{suffix}(decode_step{suffix}, count="attention"{floor})',
        f'prompt{suffix} = price{suffix}(prompt_step{suffix}, count="attention"{floor})',
    ]
    return [*lines, *fit_lines(side.memory, suffix)] if side.memory.known else lines


def _expressions(p: Pair, side: Side, suffix: str) -> dict[str, str]:
    """The figures of one side, as the table of differences names them."""
    seconds = f"price{suffix}(decode_step{suffix}).seconds" if p.both_estimate else f"decode{suffix}.seconds"
    token = f"{seconds} / {side.batch}"
    found = {
        "decode step, floor": f"decode{suffix}.seconds  # s",
        "first token (prompt), floor": f"prompt{suffix}.seconds  # s",
        "time of the machine a token": f"{token}  # s",
        "tokens a second, all sequences": f"1 / ({token})",
        "ridge B*, FLOP a byte": f"cm.ridge(hardware{suffix}, {snippets.literal(side.scenario.formats.compute)})",
        "crossing T*, tokens": f'cm.crossing(model{suffix}, hardware{suffix}, {side.context}, "weights", "decode", '
        f"precision{suffix}, gpus{suffix})",
        "FLOP a byte, caches counted": f"with_caches{suffix}.intensity",
        "$ a million tokens": f"price_of_a_million({token}, {side.hourly!r} * gpus{suffix})",
    }
    if side.estimates:
        found["decode step, estimate"] = f"price{suffix}(decode_step{suffix}).seconds  # s"
        found["first token (prompt), estimate"] = f"price{suffix}(prompt_step{suffix}).seconds  # s"
    if side.memory.known:
        found[words.own_name(p)] = f"fit{suffix}.sequence_bytes  # B"
        found["sequences that fit"] = f"fit{suffix}.max_batch"
    return found


# ---- all accelerators --------------------------------------------------------------------------------------------


def league(of: League, packed: str = "") -> str:
    """The program of the row that is looked into, and the floors of all."""
    row, how = of.row, f', count="{of.count}"'
    body = [] if row.current else [f"hardware = cm.hardware({snippets.literal(row.hardware.id)})"]
    if row.priced:
        body += [
            f"decode = price(cm.Step.decode({of.batch}, {of.context}){how}).seconds",
            f'prompt = price(cm.Step.prefill({of.prompt}), count="attention").seconds',
            *(fit_lines(row.memory) if row.memory.known else []),
        ]
    body += [
        "",
        "everybody = [cm.hardware(name) for name in cm.hardware()]",
        f"floors = fleet(model, everybody, cm.Step.decode({of.batch}, {of.context}), precision=precision,",
        f"               tensor_parallel=gpus{how})",
        "for machine, seconds in zip(everybody, floors.seconds):",
        '    print(f"{machine.name}: {seconds} s")',
        "",
    ]
    figures = snippets.figures(league_words.figures(row), _of_row(row))
    return snippets.program(
        "Compare",
        of.scenario,
        body=body,
        figures=figures,
        packed=packed,
        imports=["from costmodel.batching import price_of_a_million", "from costmodel.fleet import fleet"],
    )


def _of_row(row: Row) -> list[str]:
    if not row.priced:
        return ['float("nan")'] * 5
    holds = not math.isnan(row.million)
    batch = row.league.batch
    return [
        "decode",
        "prompt",
        "fit.max_batch" if row.memory.known else 'float("nan")',
        f"{batch} / decode" if holds else 'float("nan")',
        f"price_of_a_million(decode / {batch}, {row.hourly!r} * gpus)" if holds else 'float("nan")',
    ]


# ---- a map -------------------------------------------------------------------------------------------------------


def plane(chart: Map, packed: str = "") -> str:
    """The program of the page's own step, and where its two sides are equal along each axis."""
    own = {key: f"{key}={chart.here[key]!r}" for key in _FACTORS if key in (chart.x, chart.y)}
    turns = [key for key in (chart.x, chart.y) if key != "gpus"]
    body = [*_machine(chart), *_floors(chart), *_turns(), f"point = floors({', '.join(own.values())})"]
    expressions = ["point.memory_seconds", "point.compute_seconds", "point.seconds"]
    expressions += [f"turn({snippets.literal(key)}, {_samples(chart, key)})" for key in turns]
    return snippets.program(
        "Compare",
        chart.scenario,
        body=body,
        figures=snippets.figures(
            map_words.figures(chart), [*(f"float({e})" for e in expressions[:3]), *expressions[3:]]
        ),
        packed=packed,
        imports=[
            "import numpy as np",
            "from costmodel.fleet import what_ifs",
            "from costmodel.frontier import crossings",
        ],
    )


def _machine(chart: Map) -> Iterator[str]:
    """Lines that take the what-ifs of the axes back: the axes say them."""
    if "bandwidth_x" in (chart.x, chart.y):
        yield "hardware = hardware.replace(bandwidth=hardware.root.bandwidth)"
    if "compute_x" in (chart.x, chart.y):
        yield "hardware = hardware.replace(peak=hardware.root.peak)"


def _floors(chart: Map) -> list[str]:
    here, axes = {key: f"{key}={value!r}" for key, value in chart.here.items()}, (chart.x, chart.y)
    factors = [key for key in _FACTORS if key in axes]
    step = "cm.Step.decode(batch, context)"
    sizes = ["batch", "context"]
    if chart.prefill:
        sizes = ["prompt", *(key for key in ("batch", "context") if key in axes)]
        more = [f"{name}={key}" for key, name in (("context", "cached"), ("batch", "batch")) if key in axes]
        step = f"cm.Step.prefill({', '.join(['prompt', *more])})"
    given = ", ".join(f"{key}={key}" for key in factors)
    return [
        f"def floors({', '.join(here[key] for key in (*sizes, *factors))}):",
        f"    return what_ifs(model, hardware, {step}, {f'{given}, ' if given else ''}precision=precision,",
        f'                    count="{chart.counted}", tensor_parallel=gpus)',
        "",
        "",
    ]


def _turns() -> list[str]:
    """Lines that find where on one axis the arithmetic takes as long as the memory."""
    return [
        "def turn(axis, values):",
        "    def excess(x, y):",
        "        at = floors(**{axis: x.ravel()})",
        "        beyond = np.log(at.compute_seconds / at.memory_seconds)",
        "        return np.broadcast_to(beyond, x.size).reshape(x.shape)",
        "",
        "    here = np.array([1.0])",
        '    found = crossings(excess, values, here, excess(*np.meshgrid(values, here)), "x")',
        "    return min((point[0] for point in found.values()), default=None)",
        "",
        "",
    ]


def _samples(chart: Map, key: str) -> str:
    """Values along a whole axis of the map."""
    axis, here = AXES[key], float(chart.here[key])
    return f"np.geomspace({min(axis.low, here)!r}, {max(axis.high, here)!r}, 40)"
