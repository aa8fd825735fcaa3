"""The shapes of a step of one block, as data that a drawing reads: which matrices, how large, which cells exist.

Rows are the tokens that go through the block, columns the context that they look at. A prefill is a square and a
decode one row of it, because ``new`` and ``cached`` differ and nothing else does. What a layer keeps of a token
(keys and values for each KV head, one latent, or nothing but a state of fixed size) decides what stands on the edges.

Source of the amounts: ``costmodel.operations`` and ``costmodel.price``; only sizes are worked out here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from costmodel.errors import ConfigError
from costmodel.model import Attention, LatentAttention, Layer, Mixer, Model, Recurrent
from costmodel.price import Cost
from costmodel.step import Phase, Step, cached_reads, visible_pairs

Array = NDArray[np.float64]

Kind = Literal["rows", "store", "square", "state"]
"""How a matrix grows: with the rows of the step, with the context, with both, or not at all."""

State = Literal["new", "cached", "masked", "outside", "absent", "some"]
"""What a cell is: computed in this step; read, not computed here; a later token; outside the window or chunk of every
row that could see it; a token of the context that is not in this step; a gap whose cells differ."""

LONGEST = 10**7  # tokens: above any context, and its square still counts exactly
_FEWEST = 3  # cells that say "first, ..., last"


@dataclass(frozen=True)
class Gap:
    """Positions ``start`` to ``stop - 1``, which a drawing leaves out and says so."""

    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start


Shown = int | Gap
"""A position that is drawn, or a run of positions that is not."""


@dataclass(frozen=True)
class Span:
    """A run of columns of one state."""

    start: int
    stop: int
    state: State


@dataclass(frozen=True, kw_only=True)
class Block:
    """One matrix of a step, at its true size.

    Attributes
    ----------
    name: "queries", "keys", "values", "latent", "scores", "outputs", "MLP", "projections", "state".
    kind: what it grows with.
    rows, columns: its size; a store has a column for each token of the context, rows have one for each feature.
    heads: how many equal heads the features are divided into; for the scores, how many squares there are.
    depends_on: the matrices that its cells are computed from.
    """

    name: str
    kind: Kind
    rows: int
    columns: int
    heads: int = 1
    depends_on: tuple[str, ...] = ()

    @property
    def features(self) -> int:
        """Values that a token has in it: the width of a row, the height of a store, 0 for scores and states."""
        return {"rows": self.columns, "store": self.rows}.get(self.kind, 0)


@dataclass(frozen=True)
class Shape:
    """One sequence's part of a step of one block: ``new`` tokens over ``cached`` ones.

    Raises
    ------
    ConfigError: for counts of tokens that are not whole numbers, or absurd.

    >>> import costmodel as cm
    >>> model = cm.model("qwen3-0.6b")
    >>> decode = Shape(layer=model.layers[0][0], hidden=model.hidden, new=1, cached=5)
    >>> decode.phase, dict(decode.cells("keys")), dict(decode.cells("scores"))
    ('decode', {'new': 1, 'cached': 5}, {'new': 6})
    """

    layer: Layer
    hidden: int
    new: int
    cached: int = 0

    def __post_init__(self) -> None:
        _check_tokens("new", self.new, at_least=1)
        _check_tokens("cached", self.cached, at_least=0)

    @property
    def context(self) -> int:
        """Tokens of the sequence after this step."""
        return self.cached + self.new

    @property
    def phase(self) -> Phase:
        """``decode`` for one token over a cache, ``prefill`` for anything else; as ``Step`` has it."""
        return "decode" if self.new == 1 and self.cached else "prefill"

    @cached_property
    def view(self) -> tuple[int | None, int | None]:
        """Window and chunk of the layer's mask; at most one of them is set."""
        mixer = self.layer.mixer
        return (mixer.window, mixer.chunk) if isinstance(mixer, Attention) else (None, None)

    def sees(self, token: int) -> tuple[int, int]:
        """First key that the token at this position attends to, and the position after the last (itself).

        >>> from costmodel.model import Attention
        >>> windowed = Layer(mixer=Attention(q_heads=4, kv_heads=1, head_dim=8, window=3))
        >>> Shape(windowed, hidden=32, new=6).sees(5)
        (3, 6)
        """
        window, chunk = self.view
        return token - int(cached_reads(token, window, chunk)), token + 1

    # ---- matrices -----------------------------------------------------------------------------------------------

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Every matrix of the step, in the order in which the block computes them."""
        mixing = _MATRICES[type(self.layer.mixer)](self, self.layer.mixer) if self.layer.mixer else ()
        width = self.layer.mlp.active_width if self.layer.mlp else 0
        return (*mixing, *((_rows(self, "MLP", width, depends_on=("outputs",)),) if width else ()))

    def block(self, name: str) -> Block | None:
        """The matrix of this name, None when the layer has none."""
        return next((block for block in self.blocks if block.name == name), None)

    # ---- cells --------------------------------------------------------------------------------------------------

    @property
    def writes(self) -> int:
        """Keys (and values) that the step computes and keeps: one for each of its rows, 0 in a layer without a store.

        This is the invariant: a step computes a key and a value for each token it carries, no more and no fewer.
        """
        mixer = self.layer.mixer
        return self.new if mixer is not None and mixer.kv_values_per_token else 0

    def cells(self, name: str) -> Mapping[State, int]:
        """How many cells of each state the matrix has, the states that do not occur left out.

        A cell of rows is a token; of a store, a token of the context; of the scores, a query beside a key, counted for
        one head.
        """
        block = self.block(name)
        if block is None:
            return {}
        counts = _COUNTS[block.kind](self)
        return {state: count for state, count in counts.items() if count}

    @cached_property
    def store_spans(self) -> tuple[Span, ...]:
        """State of each column of a store: not read by any row, read from the cache, computed in this step."""
        first, kept = self.sees(self.cached)[0], self.context - self.writes
        spans = (Span(0, first, "outside"), Span(first, kept, "cached"), Span(kept, self.context, "new"))
        return tuple(span for span in spans if span.start < span.stop)

    def score_spans(self, token: int) -> tuple[Span, ...]:
        """State of each column in the row of the token at this position."""
        first, stop = self.sees(token)
        spans = (Span(0, first, "outside"), Span(first, stop, "new"), Span(stop, self.context, "masked"))
        return tuple(span for span in spans if span.start < span.stop)

    # ---- what is drawn of them ----------------------------------------------------------------------------------

    @property
    def seams(self) -> tuple[int, ...]:
        """Positions where the state of a column changes: an abbreviation must not hide them."""
        return tuple(span.start for span in self.store_spans if span.start) + ((self.cached,) if self.cached else ())

    def columns(self, limit: int) -> tuple[Shown, ...]:
        """Columns of the context that a drawing shows: at most ``limit``."""
        return abbreviate(self.context, limit, self.seams)

    def rows(self, limit: int) -> tuple[Shown, ...]:
        """Rows of the step that a drawing shows, as positions in the sequence: at most ``limit``."""
        return _moved(abbreviate(self.new, limit), self.cached)

    def row_states(self, rows: Iterable[Shown]) -> tuple[State, ...]:
        """Whether each shown row is in the step."""
        spans = (*([Span(0, self.cached, "absent")] if self.cached else []), Span(self.cached, self.context, "new"))
        return states_in(spans, rows)

    def store_states(self, columns: Iterable[Shown]) -> tuple[State, ...]:
        """State of each shown column of a store."""
        return states_in(self.store_spans, columns)

    def score_states(self, row: Shown, columns: Sequence[Shown]) -> tuple[State, ...]:
        """State of each shown column in a shown row; "some" where a gap of rows holds different ones."""
        first, last = (row.start, row.stop - 1) if isinstance(row, Gap) else (row, row)
        if first < self.cached:
            return tuple(itertools.repeat("absent", len(columns)))
        above = states_in(self.score_spans(first), columns)
        if first == last:
            return above
        # From row to row a mask only moves to the right, so where first and last row agree, all between them do.
        below = states_in(self.score_spans(last), columns)
        return tuple(_agreed(one, other) for one, other in zip(above, below, strict=True))


def _row_cells(shape: Shape) -> dict[State, int]:
    return {"new": shape.new, "absent": shape.cached}


def _store_cells(shape: Shape) -> dict[State, int]:
    counts: dict[State, int] = {"new": 0, "cached": 0, "outside": 0}
    for span in shape.store_spans:
        counts[span.state] += span.stop - span.start
    return counts


def _score_cells(shape: Shape) -> dict[State, int]:
    computed = int(visible_pairs(shape.context, *shape.view) - visible_pairs(shape.cached, *shape.view))
    masked = shape.new * (shape.new - 1) // 2
    return {"new": computed, "masked": masked, "outside": shape.new * shape.context - computed - masked}


_COUNTS: Mapping[Kind, Callable[[Shape], dict[State, int]]] = {
    "rows": _row_cells,
    "store": _store_cells,
    "square": _score_cells,
    "state": lambda _: {},
}


def abbreviate(count: int, limit: int, seams: Iterable[int] = ()) -> tuple[Shown, ...]:
    """Positions 0 to ``count - 1``, or "first, ..., last" of them: at most ``limit`` items, each gap being one.

    ``seams`` are positions at which something changes; both neighbours of a seam are shown, as far as the limit allows
    first, gap and last for each of the pieces between them.

    >>> abbreviate(6, 10)
    (0, 1, 2, 3, 4, 5)
    >>> abbreviate(1000, 7)
    (0, 1, 2, Gap(start=3, stop=997), 997, 998, 999)
    >>> abbreviate(1000, 7, seams=[400])
    (0, Gap(start=1, stop=399), 399, 400, Gap(start=401, stop=998), 998, 999)
    """
    if count <= limit:
        return tuple(range(count))
    inner = sorted({seam for seam in seams if 0 < seam < count})
    edges = [0, *inner[: max(limit // _FEWEST - 1, 0)], count]
    pieces = list(itertools.pairwise(edges))
    shown: list[Shown] = []
    for (start, stop), quota in zip(pieces, _quotas([b - a for a, b in pieces], limit), strict=True):
        shown += _piece(start, stop, quota)
    return tuple(shown)


def _quotas(lengths: Sequence[int], limit: int) -> list[int]:
    """Divide ``limit`` cells over pieces: short ones are shown whole, the rest share what is left."""
    quotas = [0] * len(lengths)
    left, open_ = limit, len(lengths)
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        quotas[i] = min(lengths[i], left // open_)
        left, open_ = left - quotas[i], open_ - 1
    return quotas


def _piece(start: int, stop: int, quota: int) -> list[Shown]:
    if stop - start <= quota:
        return list(range(start, stop))
    head = max((quota - 1) // 2, 0)
    tail = max(quota - 1 - head, 0)
    return [*range(start, start + head), Gap(start + head, stop - tail), *range(stop - tail, stop)]


def _moved(shown: Iterable[Shown], by: int) -> tuple[Shown, ...]:
    return tuple(Gap(item.start + by, item.stop + by) if isinstance(item, Gap) else item + by for item in shown)


def _agreed(one: State, other: State) -> State:
    return one if one == other else "some"


def states_in(spans: Sequence[Span], shown: Iterable[Shown]) -> tuple[State, ...]:
    """State of each shown position or gap, "some" for a gap that reaches over several spans; both in rising order.

    >>> states_in([Span(0, 5, "cached"), Span(5, 6, "new")], [0, Gap(1, 5), 5])
    ('cached', 'cached', 'new')
    """
    states: list[State] = []
    rest = iter(spans)
    span = next(rest)
    for item in shown:
        first, last = (item.start, item.stop - 1) if isinstance(item, Gap) else (item, item)
        while first >= span.stop:
            span = next(rest)
        states.append(span.state if last < span.stop else "some")
    return tuple(states)


# ---- the matrices of each mixer -----------------------------------------------------------------------------------


def _rows(shape: Shape, name: str, columns: int, heads: int = 1, depends_on: tuple[str, ...] = ()) -> Block:
    return Block(name=name, kind="rows", rows=shape.new, columns=columns, heads=heads, depends_on=depends_on)


def _store(shape: Shape, name: str, features: int, heads: int = 1) -> Block:
    return Block(name=name, kind="store", rows=features, columns=shape.context, heads=heads)


def _square(shape: Shape, heads: int, keys: str) -> Block:
    depends_on = ("queries", keys)
    return Block(
        name="scores", kind="square", rows=shape.new, columns=shape.context, heads=heads, depends_on=depends_on
    )


def _attention(shape: Shape, mixer: Attention) -> tuple[Block, ...]:
    return (
        _rows(shape, "queries", mixer.q_heads * mixer.head_dim, mixer.q_heads),
        _store(shape, "keys", mixer.kv_heads * mixer.head_dim, mixer.kv_heads),
        _store(shape, "values", mixer.kv_heads * mixer.v_dim, mixer.kv_heads),
        _square(shape, mixer.q_heads, "keys"),
        _rows(shape, "outputs", shape.hidden, depends_on=("scores", "values")),
    )


def _latent(shape: Shape, mixer: LatentAttention) -> tuple[Block, ...]:
    return (
        _rows(shape, "queries", mixer.heads * (mixer.nope_dim + mixer.rope_dim), mixer.heads),
        _store(shape, "latent", mixer.kv_values_per_token),
        _square(shape, mixer.heads, "latent"),
        _rows(shape, "outputs", shape.hidden, depends_on=("scores", "latent")),
    )


def _recurrent(shape: Shape, mixer: Recurrent) -> tuple[Block, ...]:
    width = sum(matrix.outputs for matrix in mixer.projections if matrix.role != "o")
    state = Block(name="state", kind="state", rows=mixer.heads, columns=mixer.state_values // mixer.heads)
    return (
        _rows(shape, "projections", width),
        state,
        _rows(shape, "outputs", shape.hidden, depends_on=("projections", "state")),
    )


_MATRICES: Mapping[type, Callable[..., tuple[Block, ...]]] = {
    Attention: _attention,
    LatentAttention: _latent,
    Recurrent: _recurrent,
}


@dataclass(frozen=True)
class Heads:
    """Who reads whose keys: ``queries`` query heads over ``stores`` stores, ``each`` of them to a store.

    Grouped-query attention has fewer stores than query heads, multi-query and latent attention have one.
    """

    queries: int
    stores: int

    @property
    def each(self) -> int:
        """Query heads that read one store."""
        return self.queries // self.stores


def heads(mixer: Mixer | None) -> Heads | None:
    """The heads of a layer, None where no token looks at another's key."""
    if isinstance(mixer, Attention):
        return Heads(mixer.q_heads, mixer.kv_heads)
    return Heads(mixer.heads, 1) if isinstance(mixer, LatentAttention) else None


def layer_kinds(model: Model) -> tuple[tuple[Layer, int], ...]:
    """Layers that look different in a picture, with how many of each: other parameters and formats do not show."""
    kinds: dict[tuple[object, object], tuple[Layer, int]] = {}
    for layer, count in model.distinct_layers:
        key = (layer.mixer, layer.mlp)
        first, before = kinds.get(key, (layer, 0))
        kinds[key] = (first, before + count)
    return tuple(kinds.values())


# ---- several sequences in one step --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gathered:
    """Sequences that go through one step of a block together: their rows are one matrix, their squares stay apart."""

    sequences: tuple[Shape, ...]

    def __post_init__(self) -> None:
        if not self.sequences:
            raise ConfigError("sequences", "none", "at least one")

    @property
    def rows(self) -> int:
        """T: rows of the one matrix that the weights are read for."""
        return sum(shape.new for shape in self.sequences)

    @property
    def matrix(self) -> Block:
        """What goes through the MLP: a row for each new token, whichever sequence it belongs to."""
        return Block(name="gathered", kind="rows", rows=self.rows, columns=self.sequences[0].hidden)

    @property
    def step(self) -> Step:
        """The same step, to be priced."""
        return Step(new=[s.new for s in self.sequences], cached=[s.cached for s in self.sequences])

    def cells(self, name: str) -> Mapping[State, int]:
        """Cells of each state in all the matrices of this name: they add up, none is shared."""
        totals: dict[State, int] = {}
        for shape in self.sequences:
            for state, count in shape.cells(name).items():
                totals[state] = totals.get(state, 0) + count
        return totals


def gather(layer: Layer, hidden: int, sequences: Iterable[tuple[int, int]]) -> Gathered:
    """Put sequences of (new, cached) tokens into one step.

    >>> import costmodel as cm
    >>> model = cm.model("qwen3-0.6b")
    >>> step = gather(model.layers[0][0], model.hidden, [(1, 5), (1, 2), (4, 0)])
    >>> step.rows, dict(step.cells("keys"))
    (6, {'new': 6, 'cached': 7})
    """
    return Gathered(tuple(Shape(layer, hidden, new, cached) for new, cached in sequences))


# ---- a run ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """A prompt, and tokens generated from it: one prefill, which gives the first of them, and a decode for each other.

    >>> run = Run(prompt=20, generate=200)
    >>> run.decodes, int(run.rows.sum()), int(run.rows_without_cache.sum())
    (199, 219, 23900)
    """

    prompt: int
    generate: int

    def __post_init__(self) -> None:
        _check_tokens("prompt", self.prompt, at_least=1)
        _check_tokens("generate", self.generate, at_least=1)

    @property
    def steps(self) -> int:
        """Steps of the run: each gives one token."""
        return self.generate

    @property
    def decodes(self) -> int:
        """Steps after the first."""
        return self.generate - 1

    @property
    def context(self) -> int:
        """Tokens that have gone through when the run ends: the last one generated is not fed back."""
        return self.prompt + self.decodes

    @property
    def rows(self) -> Array:
        """Rows of each step: the prompt, then one at a time, (steps,)."""
        rows = np.ones(self.steps)
        rows[0] = self.prompt
        return rows

    @property
    def cached(self) -> Array:
        """Tokens in the cache when each step begins, (steps,): one more from step to step."""
        return self.rows_without_cache - self.rows

    @property
    def rows_without_cache(self) -> Array:
        """Rows of each step where nothing is kept: the whole sequence every time, (steps,)."""
        return np.arange(self.prompt, self.prompt + self.steps, dtype=np.float64)

    def shape(self, layer: Layer, hidden: int, step: int) -> Shape:
        """One step of the run (0 is the prefill) in one block.

        Raises
        ------
        ConfigError: for a step that the run does not have.
        """
        if not 0 <= step < self.steps:
            raise ConfigError("step", step, f"a step from 0 to {self.steps - 1}")
        new, cached = (1, self.prompt + step - 1) if step else (self.prompt, 0)
        return Shape(layer, hidden, new, cached)

    def with_cache(self) -> tuple[Step, ...]:
        """Sweeps of its steps: the prefill, and the decodes if there are any."""
        decodes = (Step.decode(batch=1, context=self.cached[1:]),) if self.decodes else ()
        return (Step.prefill([self.prompt]), *decodes)

    def without_cache(self) -> tuple[Step, ...]:
        """Sweep of its steps where nothing is kept: prefills that grow by one token each."""
        return (Step.prefill(self.rows_without_cache),)


@dataclass(frozen=True, eq=False)
class Bill:
    """What each step of a run costs, (steps,) each: bytes, FLOPs, and seconds (a floor or an estimate, as priced).

    ``expects_experts``: whether its floor rests on the expected number of distinct experts.
    """

    rows: Array
    bytes: Array
    flops: Array
    seconds: Array
    expects_experts: NDArray[np.bool_]

    def so_far(self, name: str) -> Array:
        """Running total of one column, (steps,)."""
        total: Array = np.cumsum(getattr(self, name))
        return total

    def prefill(self, name: str) -> float:
        """What the first step costs."""
        return float(getattr(self, name)[0])

    def decode(self, name: str) -> float:
        """What all the other steps cost together."""
        return float(getattr(self, name)[1:].sum())

    def total(self, name: str) -> float:
        """What the run costs."""
        return float(getattr(self, name).sum())


def bill(sweeps: Sequence[Step], price: Callable[[Step], Cost]) -> Bill:
    """Price the steps of a run, a call of ``price`` a sweep.

    >>> import costmodel as cm
    >>> model, h100 = cm.model("qwen3-0.6b"), cm.hardware("h100-sxm")
    >>> run = Run(prompt=20, generate=200)
    >>> kept = bill(run.with_cache(), lambda step: cm.price(model, h100, step, count="weights"))
    >>> round(kept.total("seconds") * 1e3, 1), round(kept.prefill("seconds") / kept.total("seconds"), 3)
    (71.2, 0.005)
    """
    costs = [price(step) for step in sweeps]
    rows = np.concatenate([np.broadcast_to(step.tokens, step.shape) for step in sweeps])
    return Bill(
        rows=rows,
        bytes=np.concatenate([cost.bytes for cost in costs]),
        flops=np.concatenate([cost.flops for cost in costs]),
        seconds=np.concatenate([cost.seconds for cost in costs]),
        expects_experts=np.concatenate([cost.expects_experts for cost in costs]),
    )


def _check_tokens(key: str, value: object, *, at_least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not at_least <= value <= LONGEST:
        raise ConfigError(key, value, f"a whole number of tokens from {at_least} to {LONGEST:,}")
