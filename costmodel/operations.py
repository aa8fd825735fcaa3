"""The operations of a step, each linear in a handful of sums over its sequences.

A ``Plan`` is the list of operations of one model (with its formats and its share of a tensor-parallel group), as
coefficients. A step is a vector of features: tokens, logit positions, query-key pairs, cached tokens read, distinct
experts. Work is coefficients times features, for one step or a million.

Sources: two FLOPs a parameter and token, Kaplan et al. 2020 (arXiv 2001.08361), section 2.1; caches read once a
sequence, Pope et al. 2022 (arXiv 2211.05102); what an architecture changes stands with its function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from costmodel.dtypes import DTYPES
from costmodel.errors import ConfigError
from costmodel.model import (
    HEAD,
    Attention,
    Experts,
    LatentAttention,
    Layer,
    Matrix,
    Mixer,
    Mlp,
    Model,
    Recurrent,
)
from costmodel.precision import Formats
from costmodel.step import Phase, Step, causal_pairs

Count = Literal["weights", "attention", "everything"]
COUNTS: tuple[Count, ...] = ("weights", "attention", "everything")
PHASES: tuple[Phase, ...] = ("prefill", "decode")

MOST_GPUS = 1024  # of a tensor-parallel group: far above any that is sold

ACTIVATION_BYTES = 2  # engines keep activations in 16 bits whatever the weights are
KERNELS_PER_BLOCK = 5  # two norms, rope, activation, residual


# ---- features: what a step is, as far as a price can tell -----------------------------------------------------


@dataclass(frozen=True)
class Feature:
    """One number of a step. ``kind`` picks the rule in ``_RULES``; ``args`` are its parameters."""

    kind: str
    args: tuple[Any, ...] = ()


ONE = Feature("one")
TOKENS = Feature("tokens")
LOGITS = Feature("logits")
HAS_LOGITS = Feature("has logits")
SEQUENCES = Feature("sequences")


def tokens_of(phase: Phase) -> Feature:
    """New tokens of one phase."""
    return Feature("tokens of", (phase,))


def pairs(mixer: Attention, phase: Phase) -> Feature:
    """Query-key pairs that exist under the mixer's mask."""
    return Feature("pairs", (mixer.window, mixer.chunk, phase))


def reads(mixer: Attention | LatentAttention, phase: Phase) -> Feature:
    """Cached tokens read."""
    view = (mixer.window, mixer.chunk) if isinstance(mixer, Attention) else (None, None)
    return Feature("reads", (*view, phase))


def distinct_experts(experts: int, top_k: int) -> Feature:
    """Distinct experts that the tokens of the step are expected to hit."""
    return Feature("experts", (experts, top_k))


def expected_experts(tokens: Any, experts: int, top_k: int) -> Any:
    """Distinct experts hit by ``tokens`` tokens under uniform routing: E * (1 - (1 - k/E)^T).

    An expectation, between ``top_k`` and min(E, k*T); real routers are less even and hit fewer.

    >>> float(expected_experts(1, 128, 8)), round(float(expected_experts(64, 128, 8)), 2)
    (8.0, 125.94)
    """
    # -expm1(T * log1p(-k/E)) keeps its digits where the power would round to 1
    with np.errstate(divide="ignore"):
        return experts * -np.expm1(tokens * np.log1p(-top_k / experts))


def latent_flops(mixer: LatentAttention, pairs: Any, cached: Any) -> Any:
    """FLOPs of latent attention for one sequence and layer: the cheaper of two ways.

    Absorbed: scores and sums against the latent itself, ``2 * heads * (2 * kv_rank + rope)`` a pair. Expanded: keys
    and values are rebuilt for the cached tokens first (DeepSeek-V2, arXiv 2405.04434, section 2.1).
    """
    absorbed = 2 * mixer.heads * (2 * mixer.kv_rank + mixer.rope_dim) * pairs
    rebuilt = 2 * mixer.kv_rank * mixer.heads * (mixer.nope_dim + mixer.v_dim) * cached
    expanded = 2 * mixer.heads * (mixer.nope_dim + mixer.rope_dim + mixer.v_dim) * pairs + rebuilt
    return np.minimum(absorbed, expanded)


def _latent(step: Step, mixer: LatentAttention, phase: Phase) -> Any:
    flops: Any = step.total(latent_flops(mixer, causal_pairs(step.new, step.cached), step.cached), phase)
    return flops


_RULES: Mapping[str, Callable[..., Any]] = {
    "one": lambda step: np.ones(step.shape),
    "tokens": lambda step: step.tokens,
    "tokens of": lambda step, phase: step.tokens_of(phase),
    "logits": lambda step: step.logit_positions,
    "has logits": lambda step: np.asarray(step.logit_positions > 0, dtype=np.float64),
    "sequences": lambda step: step.sequences,
    "pairs": lambda step, window, chunk, phase: step.pairs(window, chunk, phase),
    "reads": lambda step, window, chunk, phase: step.reads(window, chunk, phase),
    "latent flops": _latent,
    "experts": lambda step, experts, top_k: expected_experts(step.tokens, experts, top_k),
}


def feature_values(step: Step, features: Sequence[Feature]) -> NDArray[np.float64]:
    """The features of a step, shape (features, points)."""
    points = int(np.prod(step.shape))
    values = np.empty((len(features), points))
    for row, feature in zip(values, features, strict=True):
        row[:] = np.ravel(_RULES[feature.kind](step, *feature.args))
    return values


# ---- operations -----------------------------------------------------------------------------------------------

FORMS = ("flops", "weight_bytes", "kv_bytes", "activation_bytes")
"""The linear forms of an operation."""

Terms = Mapping[Feature, float]
"""A linear form: the sum of each feature times its coefficient."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Operation:
    """One row of a step's bill: what it does in all its launches, as linear forms of the features.

    Attributes
    ----------
    name: what the table calls it.
    kind: which rate prices it: "matmul", "attention", "latent", "experts", "recurrent", "elementwise", "all_reduce".
    count: launches in a step (layers that have it).
    dtype: format of its arithmetic. stored: format in which its weights (of attention: its cache) are stored.
    flops, weight_bytes, kv_bytes, activation_bytes: linear forms, for all launches together.
    phase: the phase whose sequences it serves, None for all.
    shape: what its rate needs to know of it; see ``price``.
    """

    name: str
    kind: str
    count: int
    dtype: str
    stored: str = ""
    flops: Terms = field(default_factory=dict)
    weight_bytes: Terms = field(default_factory=dict)
    kv_bytes: Terms = field(default_factory=dict)
    activation_bytes: Terms = field(default_factory=dict)
    phase: Phase | None = None
    shape: Any = None


@dataclass(frozen=True, eq=False)
class Plan:
    """The operations of a step of one model, and their coefficients as arrays (operations, features)."""

    operations: tuple[Operation, ...]
    counts_activations: bool

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """Every feature that some operation depends on."""
        seen: dict[Feature, None] = {ONE: None, TOKENS: None}
        for op in self.operations:
            for name in FORMS:
                seen.update(dict.fromkeys(getattr(op, name)))
        return tuple(seen)

    @cached_property
    def matrices(self) -> Mapping[str, NDArray[np.float64]]:
        """Coefficients of each linear form, (operations, features)."""
        column = {feature: i for i, feature in enumerate(self.features)}
        tables = {name: np.zeros((len(self.operations), len(column))) for name in FORMS}
        for name, table in tables.items():
            for row, op in zip(table, self.operations, strict=True):
                for feature, coefficient in getattr(op, name).items():
                    row[column[feature]] += coefficient
        return tables

    @cached_property
    def name_dtype(self) -> pd.CategoricalDtype:
        """The operations' names as a pandas type, which is slow to make."""
        return pd.CategoricalDtype(list(self.names))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the operations, each different."""
        return tuple(op.name for op in self.operations)

    @property
    def flops(self) -> NDArray[np.float64]:
        """FLOPs, (operations, features)."""
        return self.matrices["flops"]

    @cached_property
    def bytes(self) -> NDArray[np.float64]:
        """Bytes that count at this level, (operations, features)."""
        counted = self.matrices["weight_bytes"] + self.matrices["kv_bytes"]
        return counted + self.matrices["activation_bytes"] if self.counts_activations else counted

    @cached_property
    def total_bytes(self) -> NDArray[np.float64]:
        """Bytes of the whole step, (features,)."""
        total: NDArray[np.float64] = self.bytes.sum(axis=0)
        return total

    @cached_property
    def flops_by_dtype(self) -> Mapping[str, NDArray[np.float64]]:
        """FLOPs of the whole step by the format they are done in, (features,) each."""
        totals: dict[str, NDArray[np.float64]] = {}
        for op, row in zip(self.operations, self.flops, strict=True):
            totals[op.dtype] = totals.get(op.dtype, 0) + row
        return {name: row for name, row in totals.items() if row.any()}

    def work(self, features: NDArray[np.float64]) -> Work:
        """What a sweep moves and computes; ``features`` as ``feature_values`` gives them for this plan's features."""
        return Work(self.total_bytes @ features, {name: row @ features for name, row in self.flops_by_dtype.items()})

    def least_bytes(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bytes of each step where all its tokens are sent to the same experts: no routing moves fewer, (points,)."""
        fewest = features.copy()
        for row, feature in zip(fewest, self.features, strict=True):
            if feature.kind == "experts":
                _, top_k = feature.args
                np.minimum(row, top_k, out=row)
        least: NDArray[np.float64] = self.total_bytes @ fewest
        return least


@dataclass(frozen=True, eq=False)
class Work:
    """What each step of a sweep moves and computes, whichever machine does it.

    Attributes
    ----------
    bytes: bytes moved, (points,). flops_by_dtype: FLOPs by the format they are done in, (points,) each.
    """

    bytes: NDArray[np.float64]
    flops_by_dtype: Mapping[str, NDArray[np.float64]]

    @property
    def flops(self) -> NDArray[np.float64]:
        """FLOPs in all formats, (points,)."""
        return sum(self.flops_by_dtype.values(), np.zeros_like(self.bytes))

    def sides(self, bandwidth: Any, peak_of: Callable[[str], Any]) -> tuple[Any, Any]:
        """The two sides of the floor, in seconds: bytes over the bandwidth, FLOPs over the peak of their format.

        ``bandwidth`` in B/s and what ``peak_of`` gives for a format in FLOP/s are numbers, or arrays that broadcast
        against (points,): a column of them prices a machine a row.
        """
        compute = sum(flops / peak_of(name) for name, flops in self.flops_by_dtype.items())
        return self.bytes / bandwidth, compute


def plan(model: Model, formats: Formats, tensor_parallel: int, count: Count) -> Plan:
    """The operations of a step of ``model`` on one GPU of ``tensor_parallel``, at one level of counting.

    Raises
    ------
    ConfigError: when the heads cannot be divided that way.
    """
    # Checked before the cache is asked: to it, True and 2.0 are 1 and 2.
    return _plan(model, formats, _group_size(tensor_parallel), count)


@lru_cache(maxsize=256)
def _plan(model: Model, formats: Formats, tensor_parallel: int, count: Count) -> Plan:
    builder = _Builder(model, formats, Shard.of(model, tensor_parallel), count)
    return Plan(tuple(builder.operations()), counts_activations=count == "everything")


def _group_size(n: object) -> int:
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or not 1 <= n <= MOST_GPUS:
        raise ConfigError("tensor_parallel", n, f"a whole number from 1 to {MOST_GPUS}")
    return int(n)


@dataclass(frozen=True)
class Shard:
    """One GPU's share under tensor parallelism."""

    n: int

    @classmethod
    def of(cls, model: Model, n: object) -> Shard:
        """Check that ``n`` GPUs can divide the heads of every layer."""
        size = _group_size(n)
        for layer, _ in model.distinct_layers:
            if layer.mixer:
                _check_heads(layer.mixer, size)
        return cls(size)

    def kv_heads(self, kv_heads: int) -> int:
        """KV heads on one GPU: divided, or replicated where there are fewer than GPUs."""
        return max(1, kv_heads // self.n)

    def params(self, matrix: Matrix, mixer: Mixer | None) -> tuple[float, float]:
        """(inputs, outputs) of this GPU's part of a matrix; for experts, of one expert."""
        n = self.n
        if matrix.split == "column" or (matrix.split == "expert" and matrix.name != "expert down"):
            return matrix.inputs, matrix.outputs / n
        if matrix.split in ("row", "expert"):
            return matrix.inputs / n, matrix.outputs
        if matrix.split == "kv" and isinstance(mixer, Attention):
            return matrix.inputs, matrix.outputs * self.kv_heads(mixer.kv_heads) / mixer.kv_heads
        return matrix.inputs, matrix.outputs


def _check_heads(mixer: Mixer, n: int) -> None:
    if mixer.q_heads % n:
        raise ConfigError("tensor_parallel", n, f"a divisor of the {mixer.q_heads} heads")
    if isinstance(mixer, Attention) and mixer.kv_heads % n and n % mixer.kv_heads:
        raise ConfigError("tensor_parallel", n, f"a divisor or a multiple of the {mixer.kv_heads} KV heads")


_ROLE_NAMES = {
    "qkv": "q, k, v projections",
    "qkv_down": "q, latent down",
    "q_up": "q projection",
    "kv_up": "latent up",
    "o": "o projection",
    "gate_up": "gate, up",
    "down": "down",
    "router": "router",
    "experts": "experts",
    "shared_gate_up": "shared gate, up",
    "shared_down": "shared down",
    HEAD: "LM head",
}


@dataclass(frozen=True)
class _Builder:
    """Collects the operations of a model, layer kind by layer kind."""

    model: Model
    formats: Formats
    shard: Shard
    count: Count

    def operations(self) -> list[Operation]:
        ops = [] if self.count == "weights" else [self.embedding()]
        for layer, layers in self.model.distinct_layers:
            ops += self.layer(layer, layers)
        for matrix in self.model.extra_matrices:
            ops.append(self.matmul((matrix,), (TOKENS, ONE)))
        ops.append(self.head())
        return _merge(ops)

    def layer(self, layer: Layer, layers: int) -> list[Operation]:
        ops: list[Operation] = []
        if layer.mixer:
            projections = layer.mixer.matrices(self.model.hidden)
            before, after = _around_mixer(projections)
            ops += self.matmuls(before, layer, layers)
            if self.count != "weights":
                ops += _MIXERS[type(layer.mixer)](self, layer.mixer, layers)
            ops += self.matmuls(after, layer, layers)
        if layer.mlp:
            ops += self.matmuls(_dense(layer.mlp, self.model.hidden), layer, layers)
        if isinstance(layer.mlp, Experts):
            ops.append(self.experts(layer.mlp, layer, layers))
        ops += self.matmuls(layer.extra, layer, layers)
        if self.count != "weights":
            ops.append(self.elementwise(layer, layers))
        if self.count == "everything" and self.shard.n > 1:
            ops.append(self.all_reduce(layer, layers))
        return ops

    # ---- matrices

    def matmuls(self, matrices: Sequence[Matrix], layer: Layer, layers: int) -> list[Operation]:
        """One operation a role: matrices that read the same input go in one launch."""
        roles = dict.fromkeys(matrix.role for matrix in matrices)
        return [
            self.matmul(
                tuple(matrix for matrix in matrices if matrix.role == role),
                (TOKENS, ONE),
                layers=layers,
                mixer=layer.mixer,
                stored=role in layer.quantized,
            )
            for role in roles
        ]

    def matmul(
        self,
        matrices: tuple[Matrix, ...],
        when: tuple[Feature, Feature],
        *,
        layers: int = 1,
        mixer: Mixer | None = None,
        stored: bool = False,
    ) -> Operation:
        """One launch of matrices; ``when``: the rows that go through, and whether any does."""
        model, formats, first = self.model, self.formats, matrices[0]
        rows, present = when
        parts = [self.shard.params(matrix, mixer) for matrix in matrices]
        params = layers * sum(inputs * outputs for inputs, outputs in parts)
        inputs, outputs = parts[0][0], sum(outputs for _, outputs in parts)
        return Operation(
            name=_ROLE_NAMES.get(first.role, first.role.replace("_", " ")),
            kind="matmul",
            count=layers,
            dtype=formats.compute_dtype(model, first, stored=stored),
            stored=formats.weight_dtype(model, first, stored=stored),
            flops={rows: 2.0 * params},
            weight_bytes={present: params * formats.weight_bytes(model, first, stored=stored)},
            activation_bytes={rows: float(layers * ACTIVATION_BYTES * (inputs + outputs))},
            shape=(rows, outputs, inputs),
        )

    def head(self) -> Operation:
        # Counting as the post does, every position goes through the head; in truth only those that need logits do.
        when = (TOKENS, ONE) if self.count == "weights" else (LOGITS, HAS_LOGITS)
        quantization = self.model.quantization
        stored = quantization is not None and quantization.head
        return self.matmul((self.model.head_matrix,), when, stored=stored)

    def experts(self, mlp: Experts, layer: Layer, layers: int) -> Operation:
        routed = mlp.routed(self.model.hidden)
        stored, first = "experts" in layer.quantized, routed[0]
        shares = [self.shard.params(matrix, layer.mixer) for matrix in routed]
        params = layers * sum(inputs * outputs for inputs, outputs in shares)
        model, formats = self.model, self.formats
        traffic = layers * ACTIVATION_BYTES * mlp.top_k * sum(inputs + outputs for inputs, outputs in shares)
        return Operation(
            name=_ROLE_NAMES["experts"],
            kind="experts",
            count=layers,
            dtype=formats.compute_dtype(model, first, stored=stored),
            stored=formats.weight_dtype(model, first, stored=stored),
            flops={TOKENS: 2.0 * params * mlp.top_k},
            weight_bytes={
                distinct_experts(mlp.experts, mlp.top_k): params * formats.weight_bytes(model, first, stored=stored)
            },
            activation_bytes={TOKENS: float(traffic)},
            shape=(model.hidden, mlp.width / self.shard.n, mlp.experts, mlp.top_k, len(routed)),
        )

    # ---- where tokens meet

    def attention(self, mixer: Attention, layers: int) -> list[Operation]:
        if self.count == "everything":
            return [self.fused_attention(mixer, layers, phase) for phase in PHASES]
        label = _view_label(mixer)
        heads = layers * mixer.q_heads / self.shard.n
        kv_heads = layers * self.shard.kv_heads(mixer.kv_heads) * DTYPES[self.formats.kv].bytes
        halves = (("scores", mixer.head_dim), ("weighted sum", mixer.v_dim))
        return [
            Operation(
                name=name + label,
                kind="attention",
                count=layers,
                dtype=self.formats.wide,
                flops={pairs(mixer, phase): 2.0 * heads * width for phase in PHASES},
                kv_bytes=self.kv_traffic(mixer, kv_heads * width, PHASES),
            )
            for name, width in halves
        ]

    def fused_attention(self, mixer: Attention, layers: int, phase: Phase) -> Operation:
        heads = layers * mixer.q_heads / self.shard.n
        kv_bytes = layers * self.shard.kv_heads(mixer.kv_heads) * DTYPES[self.formats.kv].bytes
        width = mixer.head_dim + mixer.v_dim
        return Operation(
            name=f"attention, {phase}{_view_label(mixer)}",
            kind="attention",
            count=layers,
            dtype=self.formats.wide,
            flops={pairs(mixer, phase): 2.0 * heads * width},
            kv_bytes=self.kv_traffic(mixer, kv_bytes * width, (phase,)),
            stored=self.formats.kv,
            activation_bytes={tokens_of(phase): float(heads * ACTIVATION_BYTES * width)},
            phase=phase,
            shape=(mixer, mixer.q_heads / self.shard.n, self.shard.kv_heads(mixer.kv_heads)),
        )

    def kv_traffic(self, mixer: Attention | LatentAttention, bytes_a_token: float, phases: Sequence[Phase]) -> Terms:
        """Cached tokens are read; new ones are written, unless the layer borrows another's cache."""
        read = {reads(mixer, phase): bytes_a_token for phase in phases}
        if isinstance(mixer, Attention) and mixer.shares_kv:
            return read
        return {**read, **{tokens_of(phase): bytes_a_token for phase in phases}}

    def latent(self, mixer: LatentAttention, layers: int) -> list[Operation]:
        bytes_a_token = layers * mixer.kv_values_per_token * DTYPES[self.formats.kv].bytes  # one latent: replicated
        phases = [(phase,) for phase in PHASES] if self.count == "everything" else [PHASES]
        return [
            Operation(
                name="latent attention" if len(group) > 1 else f"latent attention, {group[0]}",
                kind="latent",
                count=layers,
                dtype=self.formats.wide,
                stored=self.formats.kv,
                flops={Feature("latent flops", (mixer, phase)): layers / self.shard.n for phase in group},
                kv_bytes=self.kv_traffic(mixer, bytes_a_token, group),
                phase=group[0] if len(group) == 1 else None,
                shape=(mixer, mixer.heads / self.shard.n),
            )
            for group in phases
        ]

    def recurrent(self, mixer: Recurrent, layers: int) -> list[Operation]:
        state = 2.0 * layers * mixer.state_bytes / self.shard.n  # read and written each step
        return [
            Operation(
                name=f"{mixer.kind.replace('_', ' ')} state",
                kind="recurrent",
                count=layers,
                dtype=self.formats.wide,
                flops={TOKENS: layers * mixer.flops_per_token / self.shard.n},
                kv_bytes={SEQUENCES: state},
            )
        ]

    # ---- the rest

    def embedding(self) -> Operation:
        each = DTYPES[self.formats.wide].bytes
        rows = 2 if self.model.position_params else 1
        values = rows * (self.model.embed_dim or self.model.hidden) + self.model.lookup_width
        return Operation(
            name="embedding",
            kind="elementwise",
            count=1,
            dtype=self.formats.wide,
            weight_bytes={TOKENS: values * each},
            shape=1,
        )

    def elementwise(self, layer: Layer, layers: int) -> Operation:
        """Norms, rope, activation and residual: read and written once a kernel, replicated but for the activation."""
        hidden, n = self.model.hidden, self.shard.n
        rotated = 0.0
        if isinstance(layer.mixer, Attention):
            rotated = (layer.mixer.q_heads + layer.mixer.kv_heads) * layer.mixer.head_dim / n
        width = (layer.mlp.active_width if layer.mlp else 0) / n
        values = 10 * hidden + 2 * rotated + 3 * width
        return Operation(
            name="norms, rope, activation, residual",
            kind="elementwise",
            count=layers,
            dtype=self.formats.wide,
            activation_bytes={TOKENS: layers * ACTIVATION_BYTES * values},
            shape=KERNELS_PER_BLOCK * layers,
        )

    def all_reduce(self, layer: Layer, layers: int) -> Operation:
        each = sum(part is not None for part in (layer.mixer, layer.mlp))
        return Operation(
            name=f"all-reduce over {self.shard.n}",
            kind="all_reduce",
            count=layers * each,
            dtype=self.formats.wide,
            shape=(self.shard.n, ACTIVATION_BYTES * self.model.hidden),
        )


_MIXERS: Mapping[type, Callable[[_Builder, Any, int], list[Operation]]] = {
    Attention: _Builder.attention,
    LatentAttention: _Builder.latent,
    Recurrent: _Builder.recurrent,
}


def _around_mixer(projections: tuple[Matrix, ...]) -> tuple[list[Matrix], list[Matrix]]:
    """The projections before tokens meet, and those after."""
    after = [m for m in projections if m.role == "o"]
    return [m for m in projections if m.role != "o"], after


def _dense(mlp: Mlp | Experts, hidden: int) -> list[Matrix]:
    """The matrices of an MLP that every token goes through."""
    return [m for m in mlp.matrices(hidden) if m.role != "experts"]


def _view_label(mixer: Attention) -> str:
    if mixer.window:
        return f", window {mixer.window:,}"
    return f", chunk {mixer.chunk:,}" if mixer.chunk else ""


def _merge(operations: Sequence[Operation]) -> list[Operation]:
    """Add up operations that differ in nothing but the layers they come from, keeping the first one's place."""
    groups: dict[tuple[Any, ...], list[Operation]] = {}
    for op in operations:
        groups.setdefault((op.name, op.kind, op.dtype, op.stored, _merge_shape(op)), []).append(op)
    return _distinguished([_added(group) for group in groups.values()])


def _distinguished(operations: list[Operation]) -> list[Operation]:
    """Give operations that share a name (layers of different widths) their sizes as a suffix."""
    names = [op.name for op in operations]
    return [
        replace(op, name=op.name + _size_label(op, i)) if names.count(op.name) > 1 else op
        for i, op in enumerate(operations)
    ]


def _size_label(op: Operation, position: int) -> str:
    if op.kind == "matmul":
        _, outputs, inputs = op.shape
        return f", {inputs:,.0f} to {outputs:,.0f}"
    return f" ({position})"


def _merge_shape(op: Operation) -> Any:
    return None if op.kind == "elementwise" else op.shape


def _added(group: Sequence[Operation]) -> Operation:
    if len(group) == 1:
        return group[0]
    first = group[0]
    forms: dict[str, Any] = {name: _sum_terms([getattr(op, name) for op in group]) for name in FORMS}
    shape = sum(op.shape for op in group) if first.kind == "elementwise" else first.shape
    return replace(first, count=sum(op.count for op in group), shape=shape, **forms)


def _sum_terms(forms: Sequence[Terms]) -> Terms:
    total: dict[Feature, float] = {}
    for terms in forms:
        for feature, coefficient in terms.items():
            total[feature] = total.get(feature, 0.0) + coefficient
    return total
