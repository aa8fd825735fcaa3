"""The data that the drawings read: shapes of ``costmodel.shapes`` with the words and sizes written on them.

Everything here is plain JSON. States of cells are run-length text ("c5n1": five cached, one new), positions are runs
``[start, stop]``, or ``[start, stop, 1]`` for a gap that is drawn as one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from costmodel.model import Experts, Layer, Recurrent
from costmodel.shapes import Block, Gap, Heads, Run, Shape, Shown, State, abbreviate
from pages.parts.format import count, many

Json = dict[str, Any]

_WORDS = (
    "The",
    "cache",
    "is",
    "what",
    "split",
    "it",
    "in",
    "two",
    "and",
    "each",
    "call",
    "after",
    "it",
    "is",
    "one",
    "row",
)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

CELLS = 24  # rows and columns of a square at most: above, "first, ..., last"
WIDE_CELLS = 240  # columns of a decode in a run, where the page is wide: one row has room for more
_CHUNK_ROWS = 9  # rows of a chunk beside decodes
_STORES, _READERS, _HEAD_COLUMNS = 8, 6, 8  # of the picture of heads

_LANES = {"queries": "q", "projections": "in", "outputs": "out", "MLP": "MLP"}


def states_text(states: Iterable[State]) -> str:
    """Run-length text of states, each by its first letter.

    >>> states_text(["cached", "cached", "new"])
    'c2n1'
    """
    return "".join(f"{state[0]}{sum(1 for _ in run)}" for state, run in itertools.groupby(states))


def positions(shown: Iterable[Shown]) -> list[list[int]]:
    """Runs of shown positions and gaps.

    >>> positions([0, 1, Gap(2, 9), 9])
    [[0, 2], [2, 9, 1], [9, 10]]
    """
    runs: list[list[int]] = []
    for item in shown:
        if isinstance(item, Gap):
            runs.append([item.start, item.stop, 1])
        elif runs and len(runs[-1]) == 2 and runs[-1][1] == item:  # noqa: PLR2004  # a run that is no gap
            runs[-1][1] = item + 1
        else:
            runs.append([item, item + 1])
    return runs


def sentence(tokens: int) -> list[str]:
    """The words of a sentence of so many tokens; none where it is longer than what there is to say."""
    return list(_WORDS[:tokens]) if tokens <= len(_WORDS) else []


# ---- one step of one sequence ---------------------------------------------------------------------------------------


def panel(shape: Shape, *, rows: Sequence[Shown], columns: Sequence[Shown]) -> Json:
    """One step as a panel: the lanes of rows, the edges of keys and values, the square between them."""
    square = shape.block("scores")
    return {
        "phase": shape.phase,
        "new": shape.new,
        "cached": shape.cached,
        "writes": shape.writes,
        **cells(shape, rows=rows, columns=columns),
        "lanes": [_lane(block) for block in shape.blocks if block.kind == "rows"],
        "edges": [_edge(block) for block in shape.blocks if block.kind == "store"],
        "squares": square.heads if square else 0,
        "state": _state_note(shape),
        "mlp": mlp_note(shape.layer),
    }


def cells(shape: Shape, *, rows: Sequence[Shown], columns: Sequence[Shown]) -> Json:
    """What changes from step to step: which rows and columns are shown, and the states of their cells."""
    return {
        "rows": positions(rows),
        "columns": positions(columns),
        "rowStates": states_text(shape.row_states(rows)),
        "storeStates": states_text(shape.store_states(columns)),
        "scoreStates": [states_text(shape.score_states(row, columns)) for row in rows],
    }


def sentence_panel(shape: Shape) -> Json:
    """A panel with a row for every token of the sentence, those outside the step drawn absent."""
    both = abbreviate(shape.context, CELLS, shape.seams)
    return panel(shape, rows=both, columns=both)


def _lane(block: Block) -> Json:
    return {
        "name": block.name,
        "label": _LANES[block.name],
        "features": block.features,
        "from": list(block.depends_on),
    }


def _edge(block: Block) -> Json:
    width = block.features // block.heads
    each = f"{block.heads} × {count(width)}" if block.heads > 1 else count(width)
    return {
        "name": block.name,
        "features": block.features,
        "each": f"{each} a token",
    }


def _state_note(shape: Shape) -> str:
    state, mixer = shape.block("state"), shape.layer.mixer
    if state is None or not isinstance(mixer, Recurrent):
        return ""
    of = "channel" if mixer.kind == "mamba" else "head"  # the first Mamba has no heads
    return f"{many(state.rows, of)} × {many(state.columns, 'value')}"


def mlp_note(layer: Layer) -> str:
    """What a trip through the MLP is, where it is more than one MLP."""
    if not isinstance(layer.mlp, Experts):
        return ""
    shared = ", and the shared" if layer.mlp.shared_width else ""
    return f"{layer.mlp.top_k} of {layer.mlp.experts} experts{shared}"


# ---- a run ----------------------------------------------------------------------------------------------------------


def run_frames(run: Run, layer: Layer, hidden: int, columns: int) -> list[Json]:
    """The cells of every step of a run: a decode shows up to ``columns`` of its context, a square fewer."""
    return [_frame(run.shape(layer, hidden, step), columns) for step in range(run.steps)]


@lru_cache(maxsize=4096)  # a run that is a little longer shows the same steps, and some more
def _frame(shape: Shape, columns: int) -> Json:
    return cells(shape, rows=shape.rows(CELLS), columns=shape.columns(CELLS if shape.new > 1 else columns))


# ---- several sequences ----------------------------------------------------------------------------------------------


def one_of_many(shape: Shape, name: str, *, note: str, short: str) -> Json:
    """One sequence of a gathered step: its own store and its own square, or its own state."""
    rows = shape.rows(CELLS if shape.phase == "decode" else _CHUNK_ROWS)
    columns = shape.columns(CELLS) if shape.block("scores") else ()  # without a square no token has one of its own
    return {
        "name": name,
        "note": note,
        "short": short,
        "phase": shape.phase,
        "new": shape.new,
        "cached": shape.cached,
        "edges": [block.name for block in shape.blocks if block.kind == "store"],
        "state": _state_note(shape),
        **cells(shape, rows=rows, columns=columns),
    }


# ---- heads ----------------------------------------------------------------------------------------------------------


def head_groups(found: Heads, shape: Shape) -> Json:
    """Which query heads read which store, over a few columns of the step's context."""
    columns = shape.columns(_HEAD_COLUMNS)
    return {
        "stores": positions(abbreviate(found.stores, _STORES)),
        "readers": positions(abbreviate(found.each, _READERS)),
        "each": found.each,
        "count": found.stores,
        "names": [block.name for block in shape.blocks if block.kind == "store"],
        "phase": shape.phase,
        "columns": positions(columns),
        "storeStates": states_text(shape.store_states(columns)),
    }
