"""What each picture of the page is given: its shapes, its words, its numbers already written out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from costmodel.model import Layer
from costmodel.shapes import Array, Bill, Gathered, Run, Shape, heads
from pages.parts import format
from pages.shapes import pictures, words, words_batch, words_run
from pages.shapes.numbers import Shapes
from pages.shapes.pictures import Json

MOST_SEQUENCES = 8
LONGEST = 15  # cached tokens of a sequence that can be dragged: a cell each
FRESH = 3  # cached tokens of a sequence that is added

Write = Callable[[Any], object]


def step(n: Shapes, *, equal: bool) -> Json:
    """The two steps side by side."""
    shapes = (n.prefill, n.other)
    panels = [{"title": words.title(s), "note": words.panel_note(s), **pictures.sentence_panel(s)} for s in shapes]
    return {"words": pictures.sentence(n.tokens), "equal": equal, "alt": words.step_alt(n), "panels": panels}


# ---- a run ----------------------------------------------------------------------------------------------------------


def run(n: Shapes, *, equal: bool, measure: str) -> Json:
    """Every step of the run, so that it plays without asking again."""
    one, many = words.kept(n.prefill)
    return {
        "step": n.step,
        "equal": equal,
        "kept": {"one": one, "many": many},
        "panel": pictures.panel(n.run.shape(n.layer, n.hidden, 0), rows=[], columns=[]),
        "steps": _steps(n.run, n.layer, n.hidden),
        "wide": _frames(n.run, n.layer, n.hidden, pictures.WIDE_CELLS),
        "narrow": _frames(n.run, n.layer, n.hidden, pictures.CELLS),
        "triangle": _triangle(n, measure),
        "bill": _bill(n.kept, n.repeated, words_run.time_name(n), words_run.split_alt(n), words_run.kept(n)),
    }


@lru_cache(maxsize=16)
def _steps(run_: Run, layer: Layer, hidden: int) -> list[Json]:
    shapes = [run_.shape(layer, hidden, step) for step in range(run_.steps)]
    return [{"phase": shape.phase, "new": shape.new, "cached": shape.cached} for shape in shapes]


@lru_cache(maxsize=16)
def _frames(run_: Run, layer: Layer, hidden: int, columns: int) -> list[Json]:
    return pictures.run_frames(run_, layer, hidden, columns)


_MEASURES: dict[str, tuple[str, Write, Write]] = {
    "rows": ("rows in the step", format.count, lambda rows: format.many(rows, "row")),
    "flops": ("arithmetic of the step", format.flop, format.flop),
    "seconds": ("time of the step", format.seconds, format.seconds),
}


def _triangle(n: Shapes, measure: str) -> Json:
    name, write, write_saved = _MEASURES[measure]
    kept, without = getattr(n.kept, measure), getattr(n.repeated, measure)
    top, saved = max(without.max(), kept.max()), without.sum() - kept.sum()
    decodes = f"{format.many(n.run.decodes, 'decode')} of one row" if n.run.decodes else ""
    differs, kept_ = saved > top * 1e-6, words_run.kept(n)
    return {
        "without": _rounded(without),
        "kept": _rounded(kept),
        "yTicks": [[value, str(write(value))] for value in round_ticks(top)],
        "xTicks": [int(value) for value in round_ticks(n.run.steps - 1) if value == int(value)],
        "title": name,
        "saved": f"not needed with a {kept_}: {write_saved(saved)}" if differs else f"the same without a {kept_}",
        "prefill": f"prefill of {format.count(n.run.prompt)}",
        "decode": decodes,
        "alt": words_run.triangle_alt(n),
    }


def _rounded(values: Array) -> list[float]:
    """Four digits: enough for a drawing, and half the bytes."""
    return [float(f"{value:.4g}") for value in values]


def round_ticks(top: float) -> list[float]:
    """0 and up to five round numbers, the last at most ``top``.

    >>> round_ticks(219)
    [0.0, 100.0, 200.0]
    """
    if top <= 0:
        return [0.0]
    scale = 10.0 ** np.floor(np.log10(top / 4))
    every = next(m * scale for m in (1, 2, 5, 10) if m * scale >= top / 4)
    return [float(value) for value in np.arange(0, top * (1 + 1e-9), every)]


@lru_cache(maxsize=16)
def _bill(kept: Bill, repeated: Bill, time: str, alt: str, saves: str) -> Json:
    seconds = kept.so_far("seconds")
    prefill = np.full_like(seconds, kept.prefill("seconds"))
    return {
        "heads": ["this step", "so far", f"so far, no {saves}"],
        "rows": [
            _bill_row((kept, repeated), "rows", "rows", format.count),
            _bill_row((kept, repeated), "bytes", "bytes", format.gigabytes, "memory"),
            _bill_row((kept, repeated), "arithmetic", "flops", format.flop, "compute"),
            _bill_row((kept, repeated), time, "seconds", format.seconds),
        ],
        "split": {
            "prefillShare": _rounded(prefill / seconds),
            "prefill": _written(prefill, format.seconds),
            "decode": _written(seconds - prefill, format.seconds),
        },
        "splitNames": {"prefill": "prefill", "decode": "decodes", "alt": alt},
    }


def _bill_row(bills: tuple[Bill, Bill], name: str, column: str, write: Write, meaning: str = "") -> Json:
    kept, repeated = bills
    columns = {"here": getattr(kept, column), "soFar": kept.so_far(column), "without": repeated.so_far(column)}
    return {"name": name, "meaning": meaning, **{key: _written(values, write) for key, values in columns.items()}}


def _written(values: Iterable[float], write: Write) -> list[str]:
    return [str(write(value)) for value in values]


# ---- several sequences ----------------------------------------------------------------------------------------------


def gathered(n: Shapes) -> Json:
    """One decode of each sequence; any can be taken out, and their stores can be dragged."""
    return {**_together(n, n.gathered, []), "drag": True}


def mixed(n: Shapes) -> Json:
    """A chunk of a prompt beside the same decodes."""
    chunk = n.mixed.sequences[0]
    return {**_together(n, n.mixed, [_sequence(n, chunk, "P", n.store_bytes([chunk]))]), "drag": False}


def _together(n: Shapes, step_: Gathered, fixed: Sequence[Json]) -> Json:
    lengths = range(1, LONGEST + 1)
    decodes = [Shape(n.layer, n.hidden, 1, cached) for cached in lengths]
    return {
        "alt": words_batch.gathered_alt(n, step_),
        "apart": words_batch.apart_title(n),
        "lengths": list(n.lengths),
        "names": list(pictures.LETTERS),
        "fixed": list(fixed),
        "decodes": [
            _sequence(n, shape, "", moved) for shape, moved in zip(decodes, n.decode_bytes(lengths), strict=True)
        ],
        "longest": max(LONGEST + 1, *(min(s.context, pictures.CELLS) for s in step_.sequences)),
        "fresh": FRESH,
        "mostSequences": MOST_SEQUENCES,
        "hidden": n.hidden,
        "matrixSize": f"{format.count(step_.rows)} × {format.count(n.hidden)}",
        "storesNote": words_batch.stores_note(n, step_),
        "rowsNote": words_batch.rows_note(n, step_),
        "weightsSay": words_batch.weights_say(n, step_),
    }


def _sequence(n: Shapes, shape: Shape, name: str, moved: float) -> Json:
    short = words_batch.sequence_tokens(n, shape)
    return pictures.one_of_many(shape, name, note=f"{short}, {format.gigabytes(moved)}", short=short)


# ---- heads ----------------------------------------------------------------------------------------------------------


def head_groups(n: Shapes) -> Json | None:
    """The query heads and the stores that they read, in the second step; None where no token looks at another."""
    found = heads(n.layer.mixer)
    if found is None:
        return None
    single = "one latent for all heads" if n.other.block("latent") else "one KV head"
    return {**pictures.head_groups(found, n.other), "single": single, "alt": words_batch.heads_alt(n)}
