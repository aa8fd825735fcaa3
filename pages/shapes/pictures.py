"""The data that the drawings read: shapes of ``costmodel.shapes`` with the words and sizes written on them.

Everything here is plain JSON. States of cells are run-length text ("c5n1": five cached, one new), positions are runs
``[start, stop]``, or ``[start, stop, 1]`` for a gap that is drawn as one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from costmodel.model import Attention, Experts, LatentAttention, Layer, Recurrent
from costmodel.shapes import Block, Gap, Gathered, Heads, Run, Shape, Shown, State, abbreviate, heads
from pages.parts.format import count

Json = dict[str, Any]

SENTENCE = "The cache is what split it in two and each call after it is one row".split()
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

CELLS = 24  # rows and columns of a square at most: above, "first, ..., last"
WIDE_CELLS = 240  # columns of a run, which has few rows, where the page is wide
NARROW_CELLS = 24  # ... and on a phone

_LANES = {"queries": "q", "projections": "in", "outputs": "out", "MLP": "MLP"}
_STORES = ("keys", "values", "latent")


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


# ---- one step of one sequence ---------------------------------------------------------------------------------------


def panel(shape: Shape, *, rows: Sequence[Shown], columns: Sequence[Shown]) -> Json:
    """One step as a panel: the lanes of rows, the edges of keys and values, the square between them."""
    return {
        "phase": shape.phase,
        "new": shape.new,
        "cached": shape.cached,
        "writes": shape.writes,
        **cells(shape, rows=rows, columns=columns),
        "lanes": [_lane(block) for block in shape.blocks if block.kind == "rows"],
        "edges": [_edge(block) for block in shape.blocks if block.kind == "store"],
        "squares": square.heads if (square := shape.block("scores")) else 0,
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
    state = shape.block("state")
    return f"{count(state.rows)} heads × {count(state.columns)} values" if state else ""


def mlp_note(layer: Layer) -> str:
    """What a trip through the MLP is, where it is more than one MLP."""
    if not isinstance(layer.mlp, Experts):
        return ""
    shared = ", and the shared" if layer.mlp.shared_width else ""
    return f"{layer.mlp.top_k} of {layer.mlp.experts} experts{shared}"


def layer_name(layer: Layer) -> str:
    """A layer in a few words.

    >>> layer_name(Layer(mixer=Attention(q_heads=8, kv_heads=2, head_dim=64, window=512)))
    'window of 512'
    """
    mixer = layer.mixer
    if isinstance(mixer, Attention):
        borrowed = ", keys of an earlier layer" if mixer.shares_kv else ""
        view = f"window of {mixer.window:,}" if mixer.window else f"chunks of {mixer.chunk:,}" if mixer.chunk else ""
        return (view or "full attention") + borrowed
    if isinstance(mixer, LatentAttention):
        return "latent attention"
    return f"{mixer.kind.replace('_', ' ')} state" if isinstance(mixer, Recurrent) else "MLP only"


# ---- a run ----------------------------------------------------------------------------------------------------------


def run_frames(run: Run, layer: Layer, hidden: int, columns: int) -> list[Json]:
    """The cells of every step of a run, ``columns`` of the context at most."""
    frames = []
    for step in range(run.steps):
        shape = run.shape(layer, hidden, step)
        square = shape.new > 1
        frames.append(cells(shape, rows=shape.rows(CELLS), columns=shape.columns(min(columns, CELLS) if square else columns)))
    return frames


# ---- several sequences ----------------------------------------------------------------------------------------------


def sequence(shape: Shape, name: str, note: str) -> Json:
    """One sequence of a gathered step: its own store and its own square."""
    few = 9 if shape.phase == "prefill" else CELLS
    return {
        "name": name,
        "note": note,
        "phase": shape.phase,
        "new": shape.new,
        "cached": shape.cached,
        "edges": [block.name for block in shape.blocks if block.kind == "store"],
        **cells(shape, rows=shape.rows(few), columns=shape.columns(CELLS)),
    }


def gathered_rows(step: Gathered) -> list[Json]:
    """Rows of the one matrix, in the order of the sequences, a gap where a sequence sends more than a few."""
    return [
        {"sequence": i, "phase": shape.phase, "rows": positions(shape.rows(9 if shape.phase == "prefill" else CELLS))}
        for i, shape in enumerate(step.sequences)
    ]


# ---- heads ----------------------------------------------------------------------------------------------------------


def head_groups(layer: Layer, shape: Shape) -> Json | None:
    """Which query heads read which store; None where no token looks at another."""
    found = heads(layer.mixer)
    if found is None:
        return None
    columns = shape.columns(CELLS // 3)
    return {
        "stores": positions(abbreviate(found.stores, 8)),
        "readers": positions(abbreviate(found.each, 6)),
        "each": found.each,
        "queries": found.queries,
        "count": found.stores,
        "names": [block.name for block in shape.blocks if block.kind == "store"],
        "phase": shape.phase,
        "columns": positions(columns),
        "storeStates": states_text(shape.store_states(columns)),
    }


def kind_of_heads(found: Heads) -> str:
    """The usual name of a way to share stores."""
    if found.each == 1:
        return "multi-head attention"
    return "multi-query attention" if found.stores == 1 else "grouped-query attention"
