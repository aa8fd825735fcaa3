"""What of a model is measured: the shapes of its operations, as plain numbers that travel to the worker as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from costmodel.errors import ConfigError
from costmodel.hardware import Hardware
from costmodel.model import Attention, Experts, Layer, Mlp, Model
from costmodel.operations import Operation, plan
from costmodel.precision import Precision, settle
from live import untrusted

_MOST_SHAPES = 64


@dataclass(frozen=True)
class Matmul:
    """A weight matrix of ``n`` outputs and ``k`` inputs; ``head``: it sees one row a sequence, not one a token."""

    n: int
    k: int
    head: bool = False


@dataclass(frozen=True, kw_only=True)
class Block:
    """One kind of block: grouped-query attention, and a gated MLP or experts.

    Attributes
    ----------
    count: blocks of this kind in the model. window: keys that a token sees, None for all.
    qk_norm: queries and keys are normalized by head. width: of the dense (or shared) MLP, 0 without one.
    experts, top_k, expert_width: 0 without experts.
    """

    count: int
    q_heads: int
    kv_heads: int
    head_dim: int
    window: int | None = None
    qk_norm: bool = False
    gated: bool = True
    width: int = 0
    experts: int = 0
    top_k: int = 0
    expert_width: int = 0

    @property
    def qkv_width(self) -> int:
        """Outputs of the fused projection of queries, keys and values."""
        return (self.q_heads + 2 * self.kv_heads) * self.head_dim

    @property
    def up_width(self) -> int:
        """Outputs of the dense MLP's first matrices."""
        return self.width * (2 if self.gated else 1)

    @property
    def expert_up_width(self) -> int:
        """Outputs of one expert's first matrices."""
        return self.expert_width * (2 if self.gated else 1)

    def params(self, hidden: int) -> int:
        """Parameters in its matrices."""
        attention = hidden * (self.qkv_width + self.q_heads * self.head_dim)
        dense = hidden * (self.up_width + self.width)
        routed = self.experts * hidden * (1 + self.expert_up_width + self.expert_width)
        return attention + dense + routed

    def kv_values(self, tokens: int) -> int:
        """Values in the cache of one sequence of ``tokens``."""
        return 2 * self.kv_heads * self.head_dim * tokens


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A model, as far as it is measured.

    Attributes
    ----------
    matmuls: its distinct matrices, in the order of a step.
    blocks: its kinds of block, the most frequent first; none where the probes cannot build one: ``unbuilt`` says why.
    kernels, elementwise_values: elementwise kernels of the most frequent block, and values that they move a token.
    """

    id: str
    name: str
    hidden: int
    vocab: int
    tied: bool
    matmuls: tuple[Matmul, ...]
    blocks: tuple[Block, ...]
    kernels: int
    elementwise_values: float
    unbuilt: str = ""

    @property
    def layers(self) -> int:
        """Blocks in all."""
        return sum(block.count for block in self.blocks)

    @property
    def params(self) -> int:
        """Parameters of a whole model of these blocks, with its embedding and head."""
        tables = self.vocab * self.hidden * (1 if self.tied else 2)
        return tables + sum(block.count * block.params(self.hidden) for block in self.blocks)

    @property
    def block_params(self) -> int:
        """Parameters in the matrices of one block; of the whole list of matrices where no block can be built."""
        if self.blocks:
            return self.blocks[0].params(self.hidden)
        return sum(matrix.n * matrix.k for matrix in self.matmuls if not matrix.head)

    @classmethod
    def of(cls, model: Model) -> Subject:
        """Read off a model what can be measured of it."""
        layers = sorted(model.distinct_layers, key=lambda pair: -pair[1])
        reasons = dict.fromkeys(reason for layer, _ in layers if (reason := _cannot_build(layer)))
        if model.extra_matrices or model.embed_dim:
            reasons["it projects beside its embedding"] = None
        operations = _operations(model)
        kernels, values = _elementwise(model, operations)
        return cls(
            id=model.id,
            name=model.name,
            hidden=model.hidden,
            vocab=model.vocab,
            tied=model.tied,
            matmuls=_matmuls(operations),
            blocks=() if reasons else tuple(_block(layer, count, model.hidden) for layer, count in layers),
            kernels=kernels,
            elementwise_values=values,
            unbuilt="; ".join(reasons),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values, for ``from_json``."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: object) -> Subject:
        """Read what ``to_json`` wrote, or an untrusted imitation.

        Raises
        ------
        ConfigError: for anything else.
        """
        values = dict(untrusted.mapping("model", data, {f.name for f in fields(cls)}))
        for key in ("id", "name", "unbuilt"):
            untrusted.text(f"model.{key}", values.get(key))
        for key in ("hidden", "vocab", "kernels"):
            untrusted.whole(f"model.{key}", values.get(key))
        untrusted.number("model.elementwise_values", values.get("elementwise_values"))
        untrusted.flag("model.tied", values.get("tied"))
        return cls(**{**values, **{key: _parts(key, values.get(key)) for key in _PARTS}})


_PARTS: Mapping[str, type[Matmul | Block]] = {"matmuls": Matmul, "blocks": Block}


_FLAGS = ("head", "qk_norm", "gated")  # of them; all else are whole numbers


def _parts(key: str, value: object) -> tuple[Any, ...]:
    kind = _PARTS[key]
    names = {f.name for f in fields(kind)}
    parts = []
    for entry in untrusted.sequence(f"model.{key}", list(value) if isinstance(value, tuple) else value, _MOST_SHAPES):
        numbers = untrusted.mapping(f"model.{key}", entry, names)
        for name, found in numbers.items():
            if not (name == "window" and found is None):
                check = untrusted.flag if name in _FLAGS else untrusted.whole
                check(f"model.{key}.{name}", found)
        try:
            parts.append(kind(**numbers))
        except TypeError:
            raise ConfigError(f"model.{key}", sorted(numbers), f"the numbers {', '.join(sorted(names))}") from None
    return tuple(parts)


_ANY = Hardware(id="any", name="any", bandwidth=1.0, peak={"bf16": 1.0})


def _operations(model: Model) -> tuple[Operation, ...]:
    """The operations of a step in 16 bits: what the probes multiply, whatever the checkpoint stores."""
    formats = settle(model, _ANY, Precision(weights="bf16", kv="bf16", compute="bf16"))
    return plan(model, formats, 1, "everything").operations


def _matmuls(operations: tuple[Operation, ...]) -> tuple[Matmul, ...]:
    found: dict[Matmul, None] = {}
    for op in operations:
        if op.kind == "matmul":
            rows, outputs, inputs = op.shape
            found[Matmul(int(outputs), int(inputs), head=rows.kind == "logits")] = None
    return tuple(found)[:_MOST_SHAPES]


def _elementwise(model: Model, operations: tuple[Operation, ...]) -> tuple[int, float]:
    """Kernels and values a token of one block, averaged over the blocks."""
    ops = [op for op in operations if op.kind == "elementwise" and op.activation_bytes]
    kernels = sum(op.shape for op in ops) / model.num_layers
    moved = sum(sum(op.activation_bytes.values()) for op in ops)
    return round(kernels), moved / model.num_layers / 2  # 2 bytes a value


def _cannot_build(layer: Layer) -> str:
    """Why the probes have no such block; nothing when they have."""
    mixer = layer.mixer
    if not isinstance(mixer, Attention):
        kind = type(mixer).__name__ if mixer else "no"
        return f"it has {kind} layers, and the probes build blocks of grouped-query attention"
    if mixer.v_dim != mixer.head_dim or mixer.chunk or mixer.output_gate or mixer.shares_kv:
        return "its attention is of a kind that the probes do not build"
    return "" if layer.mlp else "it has layers without an MLP"


def _block(layer: Layer, count: int, hidden: int) -> Block:
    mixer, mlp = layer.mixer, layer.mlp
    if not isinstance(mixer, Attention) or not isinstance(mlp, (Mlp, Experts)):
        raise ConfigError("layer", type(mixer).__name__, "grouped-query attention and an MLP")
    per_head = layer.other_params - 2 * mixer.head_dim
    routed = isinstance(mlp, Experts)
    return Block(
        count=count,
        q_heads=mixer.q_heads,
        kv_heads=mixer.kv_heads,
        head_dim=mixer.head_dim,
        window=mixer.window,
        # two norms as wide as the residual stream and two as wide as a head, nothing else
        qk_norm=per_head > 0 and per_head % hidden == 0,
        gated=mlp.gated,
        width=mlp.shared_width if isinstance(mlp, Experts) else mlp.width,
        experts=mlp.experts if isinstance(mlp, Experts) else 0,
        top_k=mlp.top_k if isinstance(mlp, Experts) else 0,
        expert_width=mlp.width if routed else 0,
    )
