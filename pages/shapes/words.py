"""What the Shapes page says of its two steps, as text made of the page's numbers."""

from __future__ import annotations

from costmodel.model import Attention, Experts, LatentAttention, Layer, Recurrent
from costmodel.price import Cost
from costmodel.shapes import Shape
from pages.parts import format
from pages.parts.components import Figure, Ink, Line, Part, Question, Text
from pages.parts.expected import limit, spread
from pages.parts.format import many
from pages.shapes.numbers import Shapes

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def number(value: int) -> str:
    """A small number as a word, a large one in digits.

    >>> number(6), number(1500)
    ('six', '1,500')
    """
    return NUMBERS[value] if value < len(NUMBERS) else format.count(value)


def counted(value: int, one: str) -> str:
    """A number of things in words.

    >>> counted(1, "row"), counted(6, "row")
    ('one row', 'six rows')
    """
    _, _, things = many(value, one).partition(" ")
    return f"{number(value)} {things}"


# ---- layers, and what they keep -------------------------------------------------------------------------------------


def layer_name(layer: Layer) -> str:
    """A layer in a few words.

    >>> layer_name(Layer(mixer=Attention(q_heads=8, kv_heads=2, head_dim=64, window=512)))
    'window of 512, no MLP'
    """
    return f"{_mixer_name(layer)}{_mlp_name(layer)}"


def _mixer_name(layer: Layer) -> str:
    mixer = layer.mixer
    if isinstance(mixer, Attention):
        return _view_name(mixer) + (", keys of an earlier layer" if mixer.shares_kv else "")
    if isinstance(mixer, LatentAttention):
        return "latent attention"
    return f"{mixer.kind.replace('_', ' ')} state" if isinstance(mixer, Recurrent) else "no mixing"


def _view_name(mixer: Attention) -> str:
    if mixer.window:
        return f"window of {format.count(mixer.window)}"
    return f"chunks of {format.count(mixer.chunk)}" if mixer.chunk else "full attention"


def _mlp_name(layer: Layer) -> str:
    if isinstance(layer.mlp, Experts):
        return f", {layer.mlp.top_k} of {layer.mlp.experts} experts"
    return "" if layer.mlp else ", no MLP"


_KEPT = {"keys": ("key and value", "keys and values"), "latent": ("latent", "latents")}


def kept(shape: Shape) -> tuple[str, str]:
    """What a layer keeps of a token, and of several; empty where it keeps nothing of its own."""
    stores = [name for name in _KEPT if shape.block(name)]
    return _KEPT[stores[0]] if stores and shape.writes else ("", "")


def new_kept(shape: Shape) -> str:
    """How many of them a step computes: "6 new keys and values"."""
    one, several = kept(shape)
    if several:
        return f"{format.count(shape.writes)} new {one if shape.writes == 1 else several}"
    if shape.block("state"):
        return "a state instead of keys"
    return "no keys of its own" if shape.block("keys") else "nothing kept"


def cached(shape: Shape) -> int:
    """Cached tokens that the step reads."""
    return (shape.cells("latent") or shape.cells("keys")).get("cached", 0)


# ---- the two shapes -------------------------------------------------------------------------------------------------


def title(shape: Shape) -> str:
    """The name of a step's shape."""
    if not shape.cached:
        return "Prefill"
    return "Decode" if shape.phase == "decode" else "Between"


def panel_note(shape: Shape) -> str:
    """What a panel shows, in a line beside its title."""
    behind = f", {format.count(shape.cached)} cached" if shape.cached and shape.writes else ""
    return f"{many(shape.new, 'row')}, {new_kept(shape)}{behind}"


def headline(n: Shapes) -> list[Part]:
    """The sentence of numbers that the page opens with."""
    first, second = n.prefill, n.other
    rows = Ink(counted(first.new, "row"), "prefill", strong=True)
    if not second.cached:
        return ["Prefill sends ", rows, " through the block, all at once. ", _invariant(first)]
    sends = "decode sends " if second.phase == "decode" else "a step between sends "
    sent = Ink(number(second.new), second.phase, strong=True)
    return ["Prefill sends ", rows, f" through the block, {sends}", sent, ". ", _invariant(first, second)]


def _invariant(*shapes: Shape) -> str:
    several = kept(shapes[0])[1]
    if several:
        counts = " and ".join(format.count(shape.writes) for shape in shapes)
        each = "Each computes" if len(shapes) > 1 else "It computes"
        return f"{each} as many new {several} as it has rows: {counts}."
    keeps = "a state of fixed size" if shapes[0].block("state") else "nothing of its own"
    return f"This layer computes no keys and no values: it keeps {keeps}."


def step_alt(n: Shapes) -> str:
    """The picture of the two steps in words, with its counts."""
    return f"{_alt(n.prefill)} {_alt(n.other)}"


def _alt(shape: Shape) -> str:
    read = f" beside {format.count(cached(shape))} read from the cache" if cached(shape) else ""
    return f"{title(shape)}: {many(shape.new, 'row')} through the block{_alt_square(shape)}; {new_kept(shape)}{read}."


def _alt_square(shape: Shape) -> str:
    cells = shape.cells("scores")
    if not cells:
        return ""
    left_out = [f"{format.count(cells[state])} {state}" for state in ("masked", "outside") if state in cells]
    beside = f" ({' and '.join(left_out)})" if left_out else ""
    return f", {many(cells['new'], 'score')} computed for each head{beside}"


def figures(n: Shapes) -> list[Figure]:
    """The five numbers of the page: of the first step, then of the second."""
    a, b, pair = n.prefill_cost, n.other_cost, (n.prefill, n.other)
    moved = "bytes read" if n.is_floor and not n.counts_caches else "bytes moved"
    return [
        Figure("rows in the step, T", " → ".join(format.count(shape.new) for shape in pair)),
        Figure("cached tokens read", " → ".join(format.count(cached(shape)) for shape in pair)),
        Figure(moved, _pair(a.bytes, b.bytes, format.BYTES), "memory"),
        Figure(_time_name(n), _pair(a.seconds, b.seconds, format.SECONDS)),
        Figure("arithmetic", _pair(a.flops, b.flops, format.FLOP), "compute"),
    ]


def _time_name(n: Shapes) -> str:
    if not n.is_floor:
        return "estimate of the step"
    if not n.steps_are_bounds:
        return "time in the post's count"
    return limit("floor of the step", expects=_expects(n.prefill_cost, n.other_cost))


def _expects(*floors: Cost) -> bool:
    """Whether one of these rests on the expected number of experts."""
    return any(bool(floor.expects_experts) for floor in floors)


def _pair(first: float, second: float, ladder: format.Ladder) -> format.Quantity:
    """Two numbers with an arrow between, in the unit of the smaller; once where they read the same."""
    a, b = format.quantity(first, ladder), format.quantity(second, ladder)
    if a == b:
        return a
    scale, unit = next((scale, unit) for scale, unit in ladder if unit in {a.unit, b.unit})
    return format.Quantity(f"{format.significant(first / scale)} → {format.significant(second / scale)}", unit)


def below_picture(n: Shapes, *, equal: bool) -> str:
    """What the picture shows, of which layers it is, and how it is drawn and counted."""
    alike = n.kinds[n.kind][1]
    of = _of_layers(alike, n.scenario.model.num_layers)
    edges = "The edges are equally wide, because the sentence is the same; what collapses"
    collapses = edges if n.prefill.block("scores") else "What collapses"
    gpus = n.scenario.tensor_parallel
    share = f" The picture shows the whole block, the costs are those of one of {gpus} GPUs." if gpus > 1 else ""
    return (
        "The first call takes the whole prompt: the prefill. Every call after it is a decode, one "
        f"token{_behind(n.prefill)}. This is one step of one block; {of}. {collapses} is everything on the "
        f"vertical axis. {_SCALES[equal]}{_counted(n)}{share}"
    )


def _of_layers(alike: int, layers: int) -> str:
    """How many of the layers are like the one that is shown.

    >>> _of_layers(1, 1), _of_layers(28, 28), _of_layers(1, 27)
    ('the model has this one layer', 'all 28 layers are alike', '1 of 27 layers is like this')
    """
    if alike < layers:
        return f"{alike} of {layers} layers {'is' if alike == 1 else 'are'} like this"
    return "the model has this one layer" if layers == 1 else f"all {layers} layers are alike"


def _behind(shape: Shape) -> str:
    """What a decode finds of the tokens before it."""
    found = {
        "state": "a state that is already there",
        "latent": "latents that are already there",
        "keys": "keys and values that are already there",
    }
    return next((f" over {there}" for block, there in found.items() if shape.block(block)), "")


_SCALES = {
    False: "Matrices are as wide as their features, to one scale.",
    True: "Every matrix is drawn a cell wide; its size is written on it.",
}


def _counted(n: Shapes) -> str:
    if not n.is_floor:
        return " An estimate counts everything: weights, caches and activations."
    if n.counts_caches:
        return ""
    post = " The figures count every matrix on every token, the LM head too, as the post does, and no caches"
    if n.steps_are_bounds:
        return f"{post}."
    first, second = (n.scenario.price(step, "attention") for step in (n.prefill_step, n.other_step))
    bounds = _pair(first.seconds, second.seconds, format.SECONDS)
    where = spread(expects=_expects(first, second))
    return f"{post}: for a prompt that is no bound. The bounds of the two are {bounds}{where}."


# ---- the arithmetic -------------------------------------------------------------------------------------------------


def arithmetic(n: Shapes) -> list[Line]:
    """The page's numbers with the values put in, step by step."""
    return [*_lines(n, n.prefill, n.prefill_cost), *_lines(n, n.other, n.other_cost)]


def _lines(n: Shapes, shape: Shape, cost: Cost) -> list[Line]:
    name = title(shape).lower()
    lines: list[tuple[str, str, Text]] = [
        ("bytes", _bytes_expression(n, cost), Ink(format.gigabytes(cost.bytes), "memory")),
        ("arithmetic", _flops_expression(n, shape), Ink(format.flop(cost.flops), "compute")),
        ("time", _time_expression(n, cost), format.seconds(cost.seconds)),
    ]
    cells = shape.cells("scores")
    if cells:
        lines.insert(0, ("scores a head", _scores_expression(shape), Ink(format.count(cells["new"]), shape.phase)))
    if shape.writes:
        lines.insert(0, (f"new {kept(shape)[1]}", "one a row", Ink(format.count(shape.writes), shape.phase)))
    return [Line(f"{name}: {what}", text, result, gap=not i) for i, (what, text, result) in enumerate(lines)]


def _scores_expression(shape: Shape) -> str:
    new, behind = format.count(shape.new), format.count(shape.cached)
    if "outside" in shape.cells("scores"):
        return f"{new} × {format.count(shape.context)} cells, less those that the mask takes out"
    return f"{new} × {behind} + {new} × {format.count(shape.new + 1)} ÷ 2"


def _bytes_expression(n: Shapes, cost: Cost) -> str:
    parts = {"weights": cost.weight_bytes, "caches": cost.kv_bytes - cost.state_bytes, "states": cost.state_bytes}
    if not n.is_floor:
        parts["activations"] = cost.activation_bytes
    return " + ".join(f"{name} {format.gigabytes(value)}" for name, value in parts.items() if value)


def _flops_expression(n: Shapes, shape: Shape) -> str:
    if n.counts_caches or not n.is_floor:
        return "2 × the parameters of every matrix × its rows, and the squares"
    gpus = n.scenario.tensor_parallel
    share = f", on each of {gpus} GPUs its part" if gpus > 1 else ""
    return f"2 × {format.count(n.scenario.model.active_matrix_params)} × {format.count(shape.new)}{share}"


def _time_expression(n: Shapes, cost: Cost) -> str:
    if not n.is_floor:
        return "the sum of its operations, as fitted"
    reading, computing = format.seconds(cost.memory_seconds), format.seconds(cost.compute_seconds)
    return f"the longer of {reading} of reading and {computing} of arithmetic"


# ---- questions ------------------------------------------------------------------------------------------------------


def questions() -> list[Question]:
    """Questions whose answer sets the controls."""
    return [
        Question(
            "Three tokens of a prompt go through over three that are cached. Is that a prefill or a decode?",
            "Neither: send three rows",
            {"tokens": 6, "rows": 3},
        ),
        Question(
            "From what prompt on does the cache save time, and not only arithmetic?",
            "From the crossing on: a prompt of 500",
            {"run_prompt": 500, "run_tokens": 200, "run_step": 0, "run_measure": "seconds"},
        ),
        Question(
            "What does a decode read where the layer has a window and the sentence is longer?",
            "The last 511: Gemma 3, 1,000 tokens",
            {"model": "gemma-3-1b", "layer": 0, "tokens": 1000, "rows": 1},
        ),
    ]
