"""What the map says, as text made of its numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pages.compare.map_numbers import Map
from pages.parts.components import Figure, Ink, Line, Part, Question
from pages.parts.expected import limit, or_more, spread
from pages.parts.format import (
    NBSP,
    byte_rate,
    dollars,
    flop,
    flop_rate,
    gigabytes,
    many,
    percent,
    seconds,
    sequences,
    significant,
    times,
)
from pages.parts.layers import keeps

AXES = {
    "batch": "sequences together, B",
    "context": "context",
    "prompt": "prompt",
    "bandwidth_x": "bandwidth ×",
    "compute_x": "compute ×",
    "gpus": "GPUs",
}
_SHORT = {"batch": "B", "bandwidth_x": "bandwidth", "compute_x": "compute"}
VALUES = {
    "seconds": "time of the step",
    "token": "time a token",
    "cost": "$ a million tokens",
    "bound": "which side is longer",
    "intensity": "FLOP a byte",
}
_SAID: Mapping[str, Callable[[float], str]] = {
    "batch": sequences,
    "context": lambda v: f"a context of {many(v, 'token')}",
    "prompt": lambda v: f"a prompt of {many(v, 'token')}",
    "bandwidth_x": lambda v: f"bandwidth{NBSP}×{NBSP}{significant(v, trim=True)}",
    "compute_x": lambda v: f"compute{NBSP}×{NBSP}{significant(v, trim=True)}",
    "gpus": lambda v: many(v, "GPU"),
}


def refusal(chart: Map) -> str:
    """Why these two axes make no map, and what to change; "" where they do."""
    if chart.x == chart.y:
        return f"Both axes are the same ({AXES[chart.x]}). Choose another for one of them."
    if "gpus" in (chart.x, chart.y) and len(chart.sizes) == 1:
        name = chart.scenario.model.name
        return f"The heads of {name} divide over no number of GPUs but one. Choose another axis than the GPUs."
    return ""


# ---- the top of the page ---------------------------------------------------------------------------------------


def headline(chart: Map) -> list[Part]:
    """The page's own step, and where on the map the other side takes over."""
    first = _SAID[chart.x](chart.here[chart.x]), _SAID[chart.y](chart.here[chart.y])
    side = "compute" if chart.point.compute_bound[0] else "memory"
    return [f"With {first[0]} and {first[1]}, ", *_value(chart, side), ". ", _elsewhere(chart)]


def _value(chart: Map, side: str) -> list[Part]:
    """The value that the map shows, of the page's own step, as the rest of a sentence."""
    number = Ink(written(chart, chart.own_value), side, strong=True)
    if chart.shown == "bound":
        longer, other = ("memory", "the arithmetic") if side == "memory" else ("the arithmetic", "memory")
        return [f"{longer} takes ", number, f" as long as {other}"]
    waits = f", and waits for {'its arithmetic' if side == 'compute' else 'memory'}"
    if chart.shown == "intensity":
        return ["a step does ", number, f" for each byte{waits}"]
    if chart.shown == "cost":
        return ["a step brings a million tokens at ", number, f" or more{spread(expects=_expects(chart))}{waits}"]
    floor: list[Part] = [number, " a token"] if chart.shown == "token" else [number]
    return ["a step ", *or_more("takes ", "takes at least ", *floor, expects=_expects(chart)), waits]


def _expects(chart: Map) -> bool:
    """Whether the floor of the page's own step rests on the expected number of experts."""
    return bool(chart.point.expects_experts[0])


def _step_name(chart: Map) -> str:
    return f"the step, {limit('at least', expects=_expects(chart))}"


def written(chart: Map, value: float, digits: int = 3) -> str:
    """A value of the map as text."""
    if chart.shown == "bound":
        return str(times(max(value, 1 / value)))
    if chart.shown == "intensity":
        return f"{significant(value, digits)}{NBSP}FLOP"
    return dollars(value) if chart.shown == "cost" else str(seconds(value, digits))


def cell(chart: Map, value: float, digits: int = 2) -> str:
    """A value as it stands in a cell: short."""
    if chart.shown == "bound":
        return f"{'memory' if value >= 1 else 'compute'}{NBSP}{significant(max(value, 1 / value), digits)}×"
    return significant(value, digits) if chart.shown == "intensity" else written(chart, value, digits)


def _elsewhere(chart: Map) -> str:
    share = chart.compute_share
    if not len(chart.frontier):
        return f"It never crosses here: every step on this map waits for {'arithmetic' if share else 'memory'}."
    return f"On {percent(share)} of this map a step waits for its arithmetic."


def alt(chart: Map) -> str:
    """The message of the map, with its figures."""
    low, high = chart.values.argmin(), chart.values.argmax()
    (x, y), flat = chart.mesh, chart.values.ravel()
    ends = [
        f"{written(chart, float(flat[i]))} at {_SAID[chart.x](float(x.flat[i]))} and {_SAID[chart.y](float(y.flat[i]))}"
        for i in (low, high)
    ]
    line = _line(chart)
    own = f"{_SAID[chart.x](chart.here[chart.x])} and {_SAID[chart.y](chart.here[chart.y])}"
    return (
        f"Map of {VALUES[chart.shown]} for {chart.scenario.label}, {AXES[chart.x]} across and {AXES[chart.y]} up: from "
        f"{ends[0]} to {ends[1]}. {percent(chart.compute_share)} of it is compute-bound. {line} "
        f"The page stands at {own}: {written(chart, chart.own_value)}."
    )


def _line(chart: Map) -> str:
    """Where the frontier runs."""
    if not len(chart.frontier):
        return "Memory and arithmetic never take equally long here."
    points = chart.frontier.reshape(-1, 2)
    first, last = points[points[:, 1].argmin()], points[points[:, 1].argmax()]
    ends = [f"{_SAID[chart.x](float(x))} and {_SAID[chart.y](float(y))}" for x, y in (first, last)]
    return f"Memory takes as long as the arithmetic on a line from {ends[0]} to {ends[1]}."


def below_picture(chart: Map) -> list[Part]:
    """How to read the map, and what it leaves out."""
    strength = "the stronger, the further one side is ahead" if chart.shown == "bound" else "the stronger, the more"
    return [
        Ink("Memory-bound", "memory"),
        " and ",
        Ink("compute-bound", "compute"),
        (
            f" steps have the colour of what they wait for, {strength}. {_is_drawn(chart)} "
            f"{_kind(chart)} Floors of {_counted(chart)}, each cell priced at its middle. {_silent(chart)}"
        ),
    ]


def _is_drawn(chart: Map) -> str:
    if not len(chart.frontier):
        return "There is no line on which both take equally long: it never crosses here."
    return "The line is where both take equally long, solved for and not read off the cells."


def _kind(chart: Map) -> str:
    if not chart.prefill:
        return "A cell is one decode step."
    cached = " over the tokens that are cached already" if "context" in (chart.x, chart.y) else ", nothing cached"
    return f"A cell is one prefill step{cached}."


def _counted(chart: Map) -> str:
    model = chart.scenario.model
    kept = keeps(model, number=2)
    with_kept = f", {kept}" if " and " in kept else f" and {kept}"
    if chart.prefill:
        squares = ", squares" if model.kv_values_per_token else ""
        return f"weights{squares}{with_kept}, the LM head on the last position of each prompt alone"
    return f"weights{with_kept}" if chart.counted == "attention" else "the weights alone, as the post counts"


def _silent(chart: Map) -> str:
    """What changes nothing on this map, or is not in it."""
    axes = (chart.x, chart.y)
    if "context" in axes and chart.counted == "weights":
        return "In that count a context costs nothing: switch the caches on to see what it does."
    if "gpus" in axes:
        return "GPUs divide the model by tensor parallelism; what their links take is not in a floor."
    return ""


# ---- figures and the arithmetic --------------------------------------------------------------------------------


def figures(chart: Map) -> list[Figure]:
    """Numbers of the page's own step, and where it would turn."""
    point = chart.point
    return [
        Figure("memory takes", seconds(float(point.memory_seconds[0])), "memory"),
        Figure("arithmetic takes", seconds(float(point.compute_seconds[0])), "compute"),
        Figure(_step_name(chart), seconds(float(point.seconds[0])), "prefill" if chart.prefill else "decode"),
        *(
            Figure(f"sides equal at {_SHORT.get(key, AXES[key])}", _turn(chart, key))
            for key in (chart.x, chart.y)
            if key != "gpus"
        ),
    ]


def _turn(chart: Map, key: str) -> str:
    turn = chart.turns_at(key)
    return "nowhere" if turn is None else significant(turn, 3 if turn < 1000 else 4, trim=turn < 10)  # noqa: PLR2004


def arithmetic(chart: Map) -> list[Line]:
    """How the page's own step, and the line, come about."""
    memory, compute, nbytes, flops = (
        float(getattr(chart.point, name)[0]) for name in ("memory_seconds", "compute_seconds", "bytes", "flops")
    )
    lines = [
        Line("memory", [Ink(gigabytes(nbytes), "memory"), f" ÷ {byte_rate(nbytes / memory)}"],
             Ink(seconds(memory), "memory")),
        Line("arithmetic", [Ink(flop(flops), "compute"), f" ÷ {flop_rate(flops / compute)}"],
             Ink(seconds(compute), "compute")),
        Line(_step_name(chart), "the longer of the two", Ink(seconds(max(memory, compute)), strong=True)),
        *_of_value(chart, max(memory, compute)),
    ]  # fmt: skip
    for key in (chart.x, chart.y):
        if key != "gpus":
            held = chart.y if key == chart.x else chart.x
            found = chart.turns_at(key)
            where = "nowhere on this map" if found is None else _SAID[key](found)
            expression = f"memory time = arithmetic time, at {_SAID[held](chart.here[held])}"
            lines.append(Line(f"equal along {AXES[key]}", expression, where, gap=key == chart.x))
    return lines


def _of_value(chart: Map, step: float) -> list[Line]:
    x, y = (chart.here[key] for key in (chart.x, chart.y))
    tokens = float(chart.tokens(x, y))
    each = Line("a token", f"{seconds(step)} ÷ {many(tokens, 'token')}", seconds(step / tokens))
    if chart.shown == "token":
        return [each]
    if chart.shown == "cost":
        gpus = int(chart.here["gpus"])
        hour = f"{dollars(chart.hourly)} an hour" + ("" if gpus == 1 else f" × {gpus} GPUs")
        return [each, Line("a million of them", f"× 1,000,000 × {hour} ÷ 3,600{NBSP}s", dollars(chart.own_value))]
    return []


def questions(chart: Map) -> list[Question]:
    """Questions that another map answers."""
    asked = [
        Question(
            "From which bandwidth on would this step wait for its arithmetic, and how much arithmetic could be spared?",
            "Show bandwidth against compute",
            {"map_x": "bandwidth_x", "map_y": "compute_x", "map_value": "bound"},
        ),
        Question(
            "A prompt's squares grow with its length: how long must it be, on how many cached tokens?",
            "Show prompt against context",
            {"map_x": "prompt", "map_y": "context", "map_value": "intensity"},
        ),
        Question(
            "Does a larger batch over longer contexts ever become compute-bound?",
            "Show batch against context, caches counted",
            {"map_x": "batch", "map_y": "context", "map_value": "cost", "count": "attention"},
        ),
    ]
    shown = {"map_x": chart.x, "map_y": chart.y, "map_value": chart.shown}
    return [q for q in asked if not shown.items() <= q.controls.items()]
