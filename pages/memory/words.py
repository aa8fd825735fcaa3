"""What the Memory page says, as text made of the page's numbers. Memory is in GiB throughout; GB stand beside them."""

from __future__ import annotations

import math
from dataclasses import replace

import costmodel as cm
from costmodel.dtypes import DTYPES
from costmodel.hardware import GIB
from costmodel.model import Attention, LatentAttention, Mixer
from pages.memory.numbers import Memory, Part, latent
from pages.parts.components import Column, Figure, Html, Ink, Line, Question, Table, share_bar
from pages.parts.components import Part as Words
from pages.parts.format import (
    BINARY_BYTES,
    NBSP,
    Quantity,
    capitalised,
    count,
    gibibytes,
    gigabytes,
    many,
    marketed,
    parameters,
    percent,
    percentage,
    quantity,
    sequences,
    significant,
    tokens,
    width,
)
from pages.parts.layers import cached_values, keeps, mixer_name

BAR, MOST = "What lies in the memory", "How many sequences fit, by context"
_EXACT = 1e-9
_ANY = "any length"

_CURVE = "The largest batch whose caches fit beside the weights, against the context of each, both logarithmic."
_NO_CURVE = "The weights alone do not fit, so no sequence of any length does."
TWO_WAYS = (
    "A layer with a window reads its window only, yet some engines give every layer pages for the whole context. "
    "Traffic follows the first; what fits lies between the two."
)


def _sequences(number: float, of: int) -> str:
    return f"{sequences(number)} of {many(of, 'token')}"


def _kept(m: Memory, number: float) -> str:
    """What is kept of so many sequences, in words: "caches", "cache and state"."""
    return keeps(m.model, number=number)


def _longest(fit: cm.Fit) -> str:
    return _ANY if math.isinf(fit.max_context) else count(fit.max_context)


def _length(fit: cm.Fit) -> str:
    """The longest context with its unit."""
    return _ANY if math.isinf(fit.max_context) else many(fit.max_context, "token")


# ---- headline, notes, figures ----------------------------------------------------------------------------------


def not_published(m: Memory) -> list[Words]:
    """The headline of a chip whose usable memory nobody knows."""
    return [f"How much memory of {m.hardware.name} a program can use is ", Ink("not published", strong=True), "."]


def context(m: Memory) -> str:
    """What the figures rest on."""
    known = "the memory is that of the measured device" if m.scenario.source == "live" else "nothing measured"
    return f"what fits, counted from sizes; {known}"


def headline(m: Memory) -> list[Words]:
    """The sentence of numbers that the page opens with."""
    if m.fit.fits:
        return _it_fits(m)
    return [Ink("Does not fit", strong=True), *(_caches_too_many(m) if m.weights_alone_fit else _weights_too_large(m))]


def _weights(m: Memory) -> Ink:
    return Ink(gibibytes(m.fit.weight_bytes), "memory", strong=True)


def _it_fits(m: Memory) -> list[Words]:
    gpu, have = ("", "has") if m.gpus == 1 else (" on each GPU", "have")
    each_on = " on one GPU" if gpu and m.attention_parallel == "data" else gpu
    return [
        "Beside ",
        _weights(m),
        f" of weights{gpu}, {m.scenario.machines} {have} room for ",
        Ink(count(m.fit.max_batch), "", strong=True),
        f" {'sequence' if m.fit.max_batch == 1 else 'sequences'} of {many(m.context, 'token')} of {m.model.name}, ",
        Ink(gibibytes(m.fit.sequence_bytes), "", strong=True),
        f"{each_on} for each one. A batch of {count(m.batch)} fits.",
    ]


def _weights_too_large(m: Memory) -> list[Words]:
    on = f", on each of {m.gpus} GPUs," if m.gpus > 1 else ""
    reserve = f" less a reserve of {gibibytes(m.fit.reserve_bytes)}" if m.fit.reserve_bytes else ""
    return [
        f": the weights of {m.model.name} take{on} ",
        _weights(m),
        f", and an engine may use {gibibytes(m.fit.budget_bytes)}{reserve} of {m.hardware.name}.",
    ]


def _caches_too_many(m: Memory) -> list[Words]:
    kept = _kept(m, m.batch)
    takes = "takes" if m.batch == 1 and " and " not in kept else "take"
    reserve = f" and a reserve of {gibibytes(m.fit.reserve_bytes)}" if m.fit.reserve_bytes else ""
    return [
        f": the {kept} of {_sequences(m.batch, m.context)} of {m.model.name} {takes} ",
        Ink(gibibytes(m.cache_bytes), "", strong=True),
        " beside ",
        _weights(m),
        f" of weights{reserve}, ",
        Ink(gibibytes(m.over_bytes), "", strong=True),
        f" more than an engine may use of {m.scenario.machines}.",
    ]


def below_picture(m: Memory) -> str:
    """What the bar shows."""
    gpu = "the GPU" if m.gpus == 1 else f"each of the {m.gpus} GPUs"
    said = f"What lies in the memory of {gpu} at once, in GiB (2³⁰ bytes). "
    if m.fit.reserve_bytes == 0:
        said += "Nothing is reserved for activations, graphs and the runtime: give a reserve to see what is left. "
    made_for = m.model.max_context
    if made_for and m.fit.max_context > made_for:
        longest = _length(m.fit)
        said += f"{m.model.name} was made for {many(made_for, 'token')}; memory alone would hold {longest}."
    return said


def figures(m: Memory) -> list[Figure]:
    """The five numbers of the page."""
    fit = m.fit
    return [
        Figure("weights" if m.gpus == 1 else "weights, each GPU", gibibytes(fit.weight_bytes), "memory"),
        Figure(f"left for {_kept(m, 2)}", gibibytes(fit.kv_pool_bytes) if fit.kv_pool_bytes > 0 else "nothing"),
        Figure("tokens that fit", tokens(fit.kv_tokens * fit.pools).value if m.has_cache else "any number"),
        Figure(f"sequences of {count(m.context)}", count(fit.max_batch)),
        Figure(f"longest context, B = {count(m.batch)}", _longest(fit)),
    ]


# ---- the table of parts ----------------------------------------------------------------------------------------

_FILLS = {
    "weights": "background: var(--memory-fill)",
    "reserve": "background: color-mix(in srgb, var(--muted) 55%, transparent)",
    "caches": "background: var(--cached-fill); border-top: 2px solid var(--ink)",
    "room": "background: color-mix(in srgb, var(--cached-fill) 30%, transparent)",
    "kept": "border: 1px solid var(--muted)",
}


def part_name(m: Memory, part: Part) -> str:
    """A part of the bar in words."""
    names = {
        "weights": "weights" + (f", one of {m.gpus} shares" if m.gpus > 1 else ""),
        "reserve": "reserve: activations, graphs, runtime",
        "caches": f"{_kept(m, m.sequences_on_gpu)} of {sequences(m.sequences_on_gpu)}",
        "room": f"room for {count(m.more_on_gpu)} more",
        "kept": f"not for the engine to use ({percent(1 - m.utilization)})",
    }
    return names[part.kind]


def parts_table(m: Memory) -> Table:
    """What is where: each part in GiB and in GB. It has six rows, whether it fits or not."""
    may_be_used = ("may be used", m.fit.budget_bytes, "")
    usable = ("usable", m.fit.usable_bytes, "")
    return Table(
        columns=[
            Column("part", lambda row: [_swatch(row[2]), row[0]], left=True),
            Column("GiB", lambda row: Quantity(significant(row[1] / GIB), "", row[1], "B"), named="size"),
            Column("GB", lambda row: significant(row[1] / 1e9), named=""),
            Column("of the usable", lambda row: _share(row[1] / m.fit.usable_bytes)),
        ],
        rows=[(part_name(m, part), part.bytes, part.kind) for part in m.parts()],
        totals=[usable] if m.fit.fits else [("needed", m.needed_bytes, ""), may_be_used, usable],
    )


def _swatch(kind: str) -> Html:
    box = "display: inline-block; width: .8rem; height: .8rem; margin-right: .6rem; vertical-align: -1px"
    return Html(f'<span style="{box}; {_FILLS.get(kind, "")}"></span>')


def _share(share: float) -> list[Words]:
    text = percent(share) if share <= 1 else percentage(significant(100 * share), share)
    return [text, share_bar(share, "ink")]


# ---- two ways of allocating ------------------------------------------------------------------------------------


def two_ways_table(m: Memory) -> Table:
    """Both bounds side by side."""
    ways = [m.allocated("windowed"), m.allocated("full")]
    rows = [
        ("a sequence", [gibibytes(way.fit.sequence_bytes) for way in ways]),
        (f"sequences of {many(m.context, 'token')}", [count(way.fit.max_batch) for way in ways]),
        (f"longest context, B = {count(m.batch)}", [_longest(way.fit) for way in ways]),
    ]
    return Table(
        columns=[
            Column("", lambda row: row[0], left=True),
            Column("windows kept only", lambda row: row[1][0]),
            Column("full pages for every layer", lambda row: row[1][1]),
        ],
        rows=rows,
    )


# ---- the arithmetic --------------------------------------------------------------------------------------------


def arithmetic(m: Memory) -> list[Line]:
    """Each number of the page with the values put in."""
    return [*_room(m), *_token(m), *_sequence(m), *_together(m)]


def _both(value: float, meaning: str = "") -> list[Words]:
    """Bytes in both units."""
    return [Ink(gibibytes(value, 4), meaning), f" ({gigabytes(value, 4)})"]


def _bytes(value: float) -> str:
    return f"{count(value)}{NBSP}B"


def _room(m: Memory) -> list[Line]:
    fit, box = m.fit, m.hardware.memory_marketed
    on_the_box = f" of the {marketed(box)} on the box" if box else ""
    given = ", as you gave it" if m.scenario.hardware.memory is None else ""
    pool: list[Words] = [str(gibibytes(fit.budget_bytes, 4)), " − ", Ink(gibibytes(fit.weight_bytes, 4), "memory")]
    return [
        Line("usable", f"what a program can use{on_the_box}{given}", _both(fit.usable_bytes)),
        Line("may be used", f"{gibibytes(fit.usable_bytes, 4)} × {m.utilization:g}", _both(fit.budget_bytes)),
        *_weight_lines(m),
        Line(
            "pool",
            [*pool, f" − {quantity(fit.reserve_bytes, BINARY_BYTES, 4, trim=True)} of reserve"],
            _both(fit.kv_pool_bytes),
        ),
    ]


def _weight_lines(m: Memory) -> list[Line]:
    """The weights of the model, and how they come to those of one GPU."""
    whole, own = m.all_weight_bytes, m.fit.weight_bytes
    lines = [Line("weights", _parameters(m), _both(whole, "memory"))]
    if m.gpus == 1:
        return lines
    divided: list[Words] = [Ink(gibibytes(whole, 4), "memory"), f" ÷ {m.gpus} GPUs"]
    more = own - whole / m.gpus
    if more > _EXACT * own:
        divided += [" + ", Ink(gibibytes(more, 4), "memory"), f", as {_undivided(m)}"]
    return [*lines, Line("on each GPU", divided, _both(own, "memory"))]


def _parameters(m: Memory) -> str:
    params = m.model.total_params
    for size in (4.0, 2.0, 1.0):
        if abs(params * size - m.all_weight_bytes) <= _EXACT * m.all_weight_bytes:
            return f"{count(params)} parameters × {width(size)}"
    return f"{parameters(params)} parameters, each as it is stored (mostly {m.scenario.stored_weights})"


def _undivided(m: Memory) -> str:
    """What a GPU of the group keeps more of than its share."""
    if m.fit.pools > 1:
        return "attention and norms are whole on each"
    copies = _copies(m)
    return (
        f"norms are whole on each, and each KV head on {copies}"
        if copies > 1
        else "norms and the like are whole on each"
    )


def _copies(m: Memory) -> int:
    """How often the KV head that is kept most is kept in the group."""
    heads = [kind.mixer.kv_heads for kind in m.fit.caches if isinstance(kind.mixer, Attention)]
    return max(1, m.gpus // m.fit.pools // min(heads, default=m.gpus))


def _token(m: Memory) -> list[Line]:
    size = DTYPES[m.scenario.formats.kv].bytes
    return [
        Line(
            f"a token, {mixer_name(kind.mixer)}",
            f"{many(kind.layers, 'layer')} × {_values(m, kind.mixer)} × {width(size)}",
            _bytes(kind.token_bytes),
            gap=not number,
        )
        for number, kind in enumerate(m.fit.caches)
    ]


def _values(m: Memory, mixer: Mixer) -> str:
    assert isinstance(mixer, (Attention, LatentAttention))  # noqa: S101  # a recurrent layer keeps nothing a token
    return cached_values(mixer, m.gpus // m.fit.pools)


def _sequence(m: Memory) -> list[Line]:
    lines: list[Line] = []
    for kind in m.fit.caches:
        blocks = f"{many(kind.places / m.block_size, 'block')} of {m.block_size}"
        expression = f"{many(kind.tokens, 'token')} in {blocks}: {count(kind.places)} × {_bytes(kind.token_bytes)}"
        size = str(gibibytes(kind.bytes, 4))
        lines.append(Line(f"a cache, {mixer_name(kind.mixer)}", expression, size, gap=not lines))
    together = "the caches of its layers"
    if m.fit.state_bytes:
        state, together = str(gibibytes(m.fit.state_bytes, 4)), "caches and state" if lines else "its state"
        lines.append(Line("a state", "of the recurrent layers, however long the sequence", state, gap=not lines))
    return [*lines, Line("a sequence", together, _both(m.fit.sequence_bytes))]


def _together(m: Memory) -> list[Line]:
    fit = m.fit
    pool, each = gibibytes(max(0.0, fit.kv_pool_bytes), 4), gibibytes(fit.sequence_bytes, 4)
    times = f" × {fit.pools} GPUs" if fit.pools > 1 else ""
    whole = f"whole ones on each{times}" if times else "whole ones"
    blocks = f"{many(fit.blocks, 'block')} × {m.block_size}{times}"
    return [
        Line("sequences", f"{pool} ÷ {each}, {whole}", Ink(count(fit.max_batch), "", strong=True), gap=True),
        *([Line("tokens", blocks, Ink(count(fit.kv_tokens * fit.pools), "", strong=True))] if m.has_cache else []),
        Line(
            "longest context",
            f"at which {many(m.batch, 'sequence fits', 'sequences fit')}",
            Ink(_longest(fit), "", strong=True),
        ),
    ]


def rounding(m: Memory) -> str:
    """What rounding to blocks costs at this context, and that there is no window to save anything."""
    if not m.has_cache:
        return "No layer keeps a cache: a sequence has a state of fixed size, however long it is."
    return _blocks(m) + ("" if m.windowed else f" No layer has a window: {_all_keep(m)} the whole context.")


def _all_keep(m: Memory) -> str:
    """Who keeps the whole context: every layer, or those that have a cache."""
    caching, layers = sum(kind.layers for kind in m.fit.caches), m.model.num_layers
    if caching == layers:
        return "all keep"
    return (
        f"the {count(caching)} of {count(layers)} that keep a cache keep"
        if caching > 1
        else (f"the one of {count(layers)} that keeps a cache keeps")
    )


def _blocks(m: Memory) -> str:
    spare = m.block_tokens - m.context
    if not spare:
        fill = "fills its block" if m.context == 1 else "fill their blocks"
        return f"{many(m.context, 'token')} {fill} of {m.block_size} exactly."
    places = "1 place of the last one stays" if spare == 1 else f"{count(spare)} places of the last one stay"
    held = f"Blocks of {m.block_size} hold {many(m.block_tokens, 'token')}"
    return f"{held}: {places} empty, {percent(spare / m.block_tokens)} of the cache."


def parallel(m: Memory) -> str:
    """What dividing over GPUs does to the caches."""
    if m.fit.pools > 1:
        whole = "whole heads" if m.has_cache else "whole states"
        most = " at most" if m.batch % m.fit.pools else ""
        return f"Each of the {m.gpus} GPUs keeps {whole}, of its own {sequences(m.sequences_on_gpu)}{most}."
    if not m.has_cache:
        return f"The heads of each state are divided over the {m.gpus} GPUs."
    if latent(m.model):
        return f"A latent has no heads to divide: each of the {m.gpus} GPUs keeps the whole of it, for every sequence."
    copies = _copies(m)
    if copies > 1:
        heads = many(m.gpus // copies, "KV head")
        return f"{heads} on {m.gpus} GPUs: each head is kept {copies} times, and a GPU keeps one."
    return f"The KV heads are divided over the {m.gpus} GPUs."


# ---- alt texts and questions -----------------------------------------------------------------------------------


def bar_alt(m: Memory) -> str:
    """The message of the bar."""
    parts = ", ".join(f"{part_name(m, part)} {gibibytes(part.bytes)}" for part in m.parts() if part.bytes)
    verdict = "It fits." if m.fit.fits else f"It does not fit: {gibibytes(m.over_bytes)} over."
    used = f"{gibibytes(m.fit.usable_bytes)} usable, of which {gibibytes(m.fit.budget_bytes)} may be used"
    return f"Memory of one {m.hardware.name}: {used}. {capitalised(parts)}. {verdict}"


def curve(m: Memory) -> str:
    """What the curve shows, or why there is none."""
    return _CURVE if m.weights_alone_fit else _NO_CURVE


def curve_alt(m: Memory) -> str:
    """The message of the curve."""
    axes = f"Largest batch of {m.model.name} on {m.scenario.machines} against the context, both logarithmic"
    if not m.weights_alone_fit:
        return f"{axes}: none. {_NO_CURVE}"
    longest = _length(replace(m, batch=1).fit)
    verdict = "fit" if m.fit.fits else "do not fit"
    return (
        f"{axes}: {_sequences(m.fit.max_batch, m.context)}, and one of {longest}. "
        f"The page's {_sequences(m.batch, m.context)} {verdict}."
    )


def questions(m: Memory) -> list[Question]:
    """What a reader may want to try next; the answers set the controls."""
    return [
        _about_cache(m) if m.weights_alone_fit else _about_weights(m),
        Question(
            "Does Llama-3.1-70B fit on one H100, and what would make it fit?",
            "Show 16 sequences of 8,192",
            {"model": "llama-3.1-70b", "hardware": "h100-sxm", "tensor_parallel": "1", "batch": 16, "context": 8192},
        ),
        Question(
            "Gemma-3-27B keeps a window in five layers of six. What is that worth at 131,072 tokens?",
            "Show both ways of allocating",
            {"model": "gemma-3-27b", "batch": 1, "context": 131072, "allocation": "windowed"},
        ),
    ]


def _about_cache(m: Memory) -> Question:
    name = "bf16" if m.scenario.formats.kv == "fp8" else "fp8"
    then = m.with_precision(kv=name).fit.max_batch
    return Question(
        f"How many sequences of {many(m.context, 'token')} fit with a cache in {name}?",
        f"{count(then)} instead of {count(m.fit.max_batch)}: set it",
        {"kv": name},
    )


def _about_weights(m: Memory) -> Question:
    then = m.with_precision(weights="int4").fit.weight_bytes
    return Question(
        "What would the weights take in int4?",
        f"{gibibytes(then)} instead of {gibibytes(m.fit.weight_bytes)}: set it",
        {"weights": "int4"},
    )
