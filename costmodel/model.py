"""A language model as the sizes of its parts: enough to count parameters, bytes and arithmetic, and nothing else.

A model is runs of layers; a layer is a *mixer* (the part where tokens meet: ``Attention``, ``LatentAttention`` or
``Recurrent``) and an MLP (``Mlp`` or ``Experts``), either of which may be missing. Each part says which matrices it
applies to a token; everything else (parameters, weight bytes, the operations of a step) is derived from those.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal

from costmodel.dtypes import DTYPES, FULL_WIDTH, dtype
from costmodel.errors import ConfigError

LARGEST = 10**9  # of one dimension: far above any model, small enough that products stay exact in a float
MOST_LAYERS = 10_000

Split = Literal["column", "row", "kv", "expert", "none"]
"""How tensor parallelism divides a matrix: over its outputs, its inputs, the KV heads, inside each expert, or not."""


@dataclass(frozen=True)
class Matrix:
    """A weight matrix that is applied once to each token.

    Attributes
    ----------
    name: what it is ("q", "gate", ...).
    role: the launch it belongs to; matrices of one role read the same input and are usually fused
        ("qkv", "o", "gate_up", "down", "router", "experts_up", ...).
    inputs, outputs: its two dimensions.
    split: how tensor parallelism divides it.
    stored, active: copies in memory, and copies applied to one token (they differ for routed experts).
    """

    name: str
    role: str
    inputs: int
    outputs: int
    split: Split = "column"
    stored: int = 1
    active: int = 1

    @property
    def params(self) -> int:
        """Parameters in memory."""
        return self.inputs * self.outputs * self.stored

    @property
    def active_params(self) -> int:
        """Parameters applied to one token."""
        return self.inputs * self.outputs * self.active


@dataclass(frozen=True, kw_only=True)
class Attention:
    """Softmax attention: multi-head, grouped-query or multi-query, over everything, a window, or a chunk.

    Attributes
    ----------
    q_heads, kv_heads: query heads and key/value heads.
    head_dim, v_head_dim: width of a query/key head, and of a value head (the same when None).
    window: keys that a token sees, itself counted; None: all.
    chunk: a token sees its own aligned chunk of this many positions only; None: no chunks.
    output_gate: a gate as wide as the queries is projected beside them (Qwen3-Next).
    shares_kv: reads the keys and values of an earlier layer and has none of its own (Gemma 3n).
    values_from_keys: one projection gives keys and values; both are cached (Gemma 4).
    """

    q_heads: int
    kv_heads: int
    head_dim: int
    v_head_dim: int | None = None
    window: int | None = None
    chunk: int | None = None
    output_gate: bool = False
    shares_kv: bool = False
    values_from_keys: bool = False

    def __post_init__(self) -> None:
        _whole(self, "q_heads", "kv_heads", "head_dim")
        _whole_or_none(self, "v_head_dim", "window", "chunk")
        if self.q_heads % self.kv_heads:
            raise ConfigError("kv_heads", self.kv_heads, f"a divisor of the {self.q_heads} query heads")
        if self.window and self.chunk:
            raise ConfigError("chunk", self.chunk, "None where there is a window")

    @property
    def v_dim(self) -> int:
        """Width of a value head."""
        return self.v_head_dim or self.head_dim

    @property
    def kv_values_per_token(self) -> int:
        """Values that a token leaves in the cache of this layer."""
        return 0 if self.shares_kv else self.kv_heads * (self.head_dim + self.v_dim)

    @property
    def state_values(self) -> int:
        """Values of recurrent state a sequence: none."""
        return 0

    def matrices(self, hidden: int) -> tuple[Matrix, ...]:
        """The projections of one layer."""
        wide = 2 if self.output_gate else 1
        keys = Matrix("k", "qkv", hidden, self.kv_heads * self.head_dim, "kv")
        values = Matrix("v", "qkv", hidden, self.kv_heads * self.v_dim, "kv")
        own = (keys,) if self.values_from_keys else (keys, values)
        return (
            Matrix("q", "qkv", hidden, wide * self.q_heads * self.head_dim),
            *(() if self.shares_kv else own),
            Matrix("o", "o", self.q_heads * self.v_dim, hidden, "row"),
        )

    def kv_tokens(self, tokens: float) -> float:
        """Tokens of a sequence of ``tokens`` that this layer must keep (a window or chunk clips)."""
        limit = self.window or self.chunk
        return min(tokens, limit) if limit else tokens


@dataclass(frozen=True, kw_only=True)
class LatentAttention:
    """Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): one latent a token and layer is cached.

    Attributes
    ----------
    heads: query heads. q_rank: width of the compressed query, None for a plain query projection.
    kv_rank: width of the cached latent. rope_dim: width of the shared rotary key cached beside it.
    nope_dim, v_dim: width of a head's unrotated key part and of its values.
    """

    heads: int
    kv_rank: int
    rope_dim: int
    nope_dim: int
    v_dim: int
    q_rank: int | None = None

    def __post_init__(self) -> None:
        _whole(self, "heads", "kv_rank", "rope_dim", "nope_dim", "v_dim")
        _whole_or_none(self, "q_rank")

    @property
    def q_heads(self) -> int:
        """Query heads, under the name that the other attention uses."""
        return self.heads

    @property
    def kv_values_per_token(self) -> int:
        """Values a token leaves in the cache: the latent and the rotary key, once for all heads."""
        return self.kv_rank + self.rope_dim

    @property
    def state_values(self) -> int:
        """Values of recurrent state a sequence: none."""
        return 0

    def matrices(self, hidden: int) -> tuple[Matrix, ...]:
        """The projections of one layer."""
        q_width = self.heads * (self.nope_dim + self.rope_dim)
        queries = (
            (Matrix("q", "q_up", hidden, q_width),)
            if self.q_rank is None
            else (
                Matrix("q down", "qkv_down", hidden, self.q_rank, "none"),
                Matrix("q up", "q_up", self.q_rank, q_width),
            )
        )
        return (
            *queries,
            Matrix("latent down", "qkv_down", hidden, self.kv_rank + self.rope_dim, "none"),
            Matrix("latent up", "kv_up", self.kv_rank, self.heads * (self.nope_dim + self.v_dim)),
            Matrix("o", "o", self.heads * self.v_dim, hidden, "row"),
        )

    def kv_tokens(self, tokens: float) -> float:
        """Tokens of a sequence that this layer must keep: all."""
        return tokens


@dataclass(frozen=True, kw_only=True)
class Recurrent:
    """A layer with a state of fixed size a sequence instead of a cache: linear attention or a state-space model.

    Attributes
    ----------
    kind: "mamba", "mamba2", "gated_deltanet", "linear" ...
    projections: its matrices.
    heads: heads that tensor parallelism can divide.
    state_values: values of the recurrence a sequence, kept in fp32. conv_values: values of the convolution's tail.
    flops_per_token: arithmetic of the recurrence a token, beyond the projections.
    source: where ``flops_per_token`` comes from.
    """

    kind: str
    projections: tuple[Matrix, ...]
    heads: int
    recurrence_values: int
    conv_values: int
    flops_per_token: float
    source: str

    def __post_init__(self) -> None:
        _whole(self, "heads")

    @property
    def q_heads(self) -> int:
        """Heads, under the name that attention uses."""
        return self.heads

    @property
    def kv_values_per_token(self) -> int:
        """Values a token leaves in a cache: none."""
        return 0

    @property
    def state_values(self) -> int:
        """Values of state a sequence."""
        return self.recurrence_values + self.conv_values

    @property
    def state_bytes(self) -> float:
        """Bytes of state a sequence: the recurrence in fp32, the convolution's tail in bf16."""
        return 4.0 * self.recurrence_values + 2.0 * self.conv_values

    def matrices(self, hidden: int) -> tuple[Matrix, ...]:  # noqa: ARG002  # the same call for every mixer
        """The projections of one layer."""
        return self.projections

    def kv_tokens(self, tokens: float) -> float:  # noqa: ARG002  # the same call for every mixer
        """Tokens of a sequence that this layer must keep: none."""
        return 0.0


Mixer = Attention | LatentAttention | Recurrent


@dataclass(frozen=True, kw_only=True)
class Mlp:
    """A dense MLP: two matrices, or three when a gate multiplies the first."""

    width: int
    gated: bool = True

    def __post_init__(self) -> None:
        _whole(self, "width")

    @property
    def active_width(self) -> int:
        """Values between its matrices for one token."""
        return self.width

    def matrices(self, hidden: int) -> tuple[Matrix, ...]:
        """Its matrices."""
        gate = (Matrix("gate", "gate_up", hidden, self.width),) if self.gated else ()
        return (
            *gate,
            Matrix("up", "gate_up", hidden, self.width),
            Matrix("down", "down", self.width, hidden, "row"),
        )


@dataclass(frozen=True, kw_only=True)
class Experts:
    """A mixture of experts: a router picks ``top_k`` of ``experts`` MLPs for each token; shared ones always run.

    Attributes
    ----------
    width: width of one expert. shared_width: summed width of the shared experts, 0 without any.
    shared_gate: the shared expert has a gate of one output (Qwen2-MoE).
    """

    experts: int
    top_k: int
    width: int
    gated: bool = True
    shared_width: int = 0
    shared_gate: bool = False

    def __post_init__(self) -> None:
        _whole(self, "experts", "top_k", "width")
        if self.top_k > self.experts:
            raise ConfigError("top_k", self.top_k, f"at most the {self.experts} experts")
        if self.shared_width < 0:
            raise ConfigError("shared_width", self.shared_width, "0 or more")

    @property
    def active_width(self) -> int:
        """Values between the matrices for one token: in the experts that it is sent to, and in the shared ones."""
        return self.top_k * self.width + self.shared_width

    def matrices(self, hidden: int) -> tuple[Matrix, ...]:
        """Its matrices: router, routed experts, shared experts."""
        return (
            Matrix("router", "router", hidden, self.experts, "none"),
            *self.routed(hidden),
            *self.shared(hidden),
        )

    def routed(self, hidden: int) -> tuple[Matrix, ...]:
        """The matrices of the routed experts, stored ``experts`` times and applied ``top_k`` times."""
        up = tuple(
            Matrix(name, "experts", hidden, self.width, "expert", self.experts, self.top_k)
            for name in (("expert gate", "expert up") if self.gated else ("expert up",))
        )
        return (*up, Matrix("expert down", "experts", self.width, hidden, "expert", self.experts, self.top_k))

    def shared(self, hidden: int) -> tuple[Matrix, ...]:
        """The matrices of the shared experts, which see every token."""
        if not self.shared_width:
            return ()
        inner = Mlp(width=self.shared_width, gated=self.gated).matrices(hidden)
        gate = (Matrix("shared gate", "router", hidden, 1, "none"),) if self.shared_gate else ()
        return (*(replace(m, name=f"shared {m.name}", role=f"shared_{m.role}") for m in inner), *gate)


@dataclass(frozen=True, kw_only=True)
class Layer:
    """One layer: a mixer, an MLP, and parameters that are no matrix.

    Attributes
    ----------
    other_params: norms, biases, convolutions and the like: resident, not part of P.
    other_active_params: those of them that one token uses (per-expert biases make the difference); None: all.
    quantized: roles of its matrices that the model's quantization covers.
    extra: matrices beside mixer and MLP that each token goes through (low-rank residuals, per-layer inputs).
    """

    mixer: Mixer | None = None
    mlp: Mlp | Experts | None = None
    other_params: int = 0
    other_active_params: int | None = None
    quantized: frozenset[str] = frozenset()
    extra: tuple[Matrix, ...] = ()

    def matrices(self, hidden: int) -> tuple[Matrix, ...]:
        """All its matrices."""
        mixer = self.mixer.matrices(hidden) if self.mixer else ()
        return mixer + (self.mlp.matrices(hidden) if self.mlp else ()) + self.extra


@dataclass(frozen=True, kw_only=True)
class Quantization:
    """How a checkpoint stores its quantized matrices.

    Attributes
    ----------
    method: "fp8", "gptq", "awq", "mxfp4", "bitsandbytes", "modelopt" ...
    dtype: name in the table of formats.
    bits: bits a weight with its scales, when the checkpoint's differ from the table's; None: the table's.
    head: the LM head is quantized too.
    """

    method: str
    dtype: str
    bits: float | None = None
    head: bool = False

    @property
    def bits_per_weight(self) -> float:
        """Bits a quantized weight, scales included."""
        return self.bits if self.bits is not None else dtype(self.dtype).bits


HEAD = "head"
"""Role of the LM head."""


@dataclass(frozen=True, kw_only=True)
class Model:
    """A decoder-only language model.

    Attributes
    ----------
    hidden, vocab: width of the residual stream, and rows of the embedding.
    layers: runs of equal layers in order, ``((layer, how many), ...)``.
    tied: the LM head is the input embedding (read once more by each step, stored once).
    embed_dim: width of an embedding row when it is projected to ``hidden``; None: ``hidden``.
    extra_matrices: matrices outside the layers, besides the head (projections beside a narrow embedding).
    other_params: learned positions, final norm, biases of the head and the like.
    position_params: those of ``other_params`` that are a table of positions (one row a token is read).
    lookup_width: width of a further row that each token looks up in a table among ``other_params`` (Gemma 3n).
    dtype: format of the unquantized weights.
    max_context: tokens that the model was made for, None when its config does not say.
    left_out: parts of the checkpoint that are not modelled (a vision tower), in words.
    warnings: where a naive reading of its config would have differed, and by how much.
    """

    id: str
    name: str
    hidden: int
    vocab: int
    layers: tuple[tuple[Layer, int], ...]
    tied: bool = False
    embed_dim: int | None = None
    extra_matrices: tuple[Matrix, ...] = ()
    other_params: int = 0
    position_params: int = 0
    lookup_width: int = 0
    dtype: str = "bf16"
    kv_dtype: str | None = None
    quantization: Quantization | None = None
    max_context: int | None = None
    family: str = ""
    left_out: str = ""
    warnings: tuple[str, ...] = ()
    source: str = ""

    def __post_init__(self) -> None:
        _whole(self, "hidden", "vocab")
        _whole_or_none(self, "embed_dim", "max_context")
        if self.dtype not in FULL_WIDTH:
            raise ConfigError("dtype", self.dtype, f"one of {', '.join(FULL_WIDTH)}")
        if self.kv_dtype is not None:
            dtype(self.kv_dtype)
        if not 0 < self.num_layers <= MOST_LAYERS:
            raise ConfigError("layers", self.num_layers, f"1 to {MOST_LAYERS:,}")

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        # Prices are cached by model, so its hash is asked for at each step; the parts never change.
        return hash(tuple(getattr(self, f.name) for f in fields(self)))

    @staticmethod
    def from_config(config: object, quantization: object = None) -> Model:
        """Read a Hugging Face ``config.json`` (a dict, JSON text, or a path), and its ``hf_quant_config.json``.

        Raises
        ------
        ConfigError: for a family that is not known, or a key that is missing or impossible; it names the key.
        """
        from costmodel.config import read_config  # noqa: PLC0415  # the reader builds Models: it imports this module

        return read_config(config, quantization)

    def replace(self, **changes: Any) -> Model:
        """Return the same model with some fields changed."""
        return replace(self, **changes)

    # ---- counting -------------------------------------------------------------------------------------------

    @property
    def num_layers(self) -> int:
        """Layers in all."""
        return sum(count for _, count in self.layers)

    @cached_property
    def distinct_layers(self) -> tuple[tuple[Layer, int], ...]:
        """Each different layer once, with how many of it there are, in order of first appearance."""
        counts: dict[Layer, int] = {}
        for layer, count in self.layers:
            counts[layer] = counts.get(layer, 0) + count
        return tuple(counts.items())

    @property
    def head_matrix(self) -> Matrix:
        """The LM head."""
        return Matrix("LM head", HEAD, self.embed_dim or self.hidden, self.vocab)

    @property
    def embedding_params(self) -> int:
        """Parameters of the input embedding (a look-up, never multiplied unless it is tied to the head)."""
        return self.vocab * (self.embed_dim or self.hidden)

    def matrices(self) -> Iterator[tuple[Matrix, int, bool]]:
        """Yield each matrix with how many there are and whether the checkpoint stores it quantized; the head last."""
        for layer, count in self.distinct_layers:
            for matrix in layer.matrices(self.hidden):
                yield matrix, count, self.quantization is not None and matrix.role in layer.quantized
        for matrix in self.extra_matrices:
            yield matrix, 1, False
        yield self.head_matrix, 1, self.quantization is not None and self.quantization.head

    @cached_property
    def matrix_params(self) -> int:
        """P: every matrix of every layer with all experts, and the LM head once, tied or not."""
        return sum(matrix.params * count for matrix, count, _ in self.matrices())

    @cached_property
    def active_matrix_params(self) -> int:
        """P of one token: as ``matrix_params``, with only the experts that a token is sent to."""
        return sum(matrix.active_params * count for matrix, count, _ in self.matrices())

    @cached_property
    def vector_params(self) -> int:
        """Parameters that are no matrix: norms, biases, position tables, convolutions."""
        return self.other_params + sum(layer.other_params * count for layer, count in self.distinct_layers)

    @property
    def total_params(self) -> int:
        """Parameters in memory: a tied head counts once."""
        shared = self.head_matrix.params if self.tied else 0
        return self.matrix_params + self.embedding_params - shared + self.vector_params

    @property
    def active_params(self) -> int:
        """Parameters of the parts that one token passes through, the embedding table among them."""
        shared = self.head_matrix.params if self.tied else 0
        idle = sum(
            (layer.other_params - layer.other_active_params) * count
            for layer, count in self.distinct_layers
            if layer.other_active_params is not None
        )
        return self.active_matrix_params + self.embedding_params - shared + self.vector_params - idle

    @property
    def block_params(self) -> int:
        """Parameters in the matrices of the first layer, as the post counts a block."""
        return sum(matrix.params for matrix in self.layers[0][0].matrices(self.hidden))

    # ---- memory ---------------------------------------------------------------------------------------------

    @cached_property
    def kv_values_per_token(self) -> int:
        """Values that a token leaves in the caches of all layers, windows ignored."""
        return sum(layer.mixer.kv_values_per_token * count for layer, count in self.distinct_layers if layer.mixer)

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes a token in the cache at bf16: all layers, windows ignored."""
        return 2 * self.kv_values_per_token

    def kv_bytes(self, tokens: float, dtype: str = "bf16") -> float:
        """Bytes in the caches of one sequence of ``tokens``; windows and chunks clip.

        >>> from costmodel.catalog import model
        >>> model("qwen3-0.6b").kv_bytes(2048)
        234881024.0
        """
        values = sum(
            layer.mixer.kv_values_per_token * layer.mixer.kv_tokens(tokens) * count
            for layer, count in self.distinct_layers
            if layer.mixer
        )
        return values * _dtype_bytes(dtype)

    @cached_property
    def state_bytes(self) -> float:
        """Bytes of recurrent state a sequence (fp32 recurrence, bf16 convolution), all layers."""
        return sum(
            layer.mixer.state_bytes * count
            for layer, count in self.distinct_layers
            if isinstance(layer.mixer, Recurrent)
        )

    @cached_property
    def weight_bytes(self) -> float:
        """Resident bytes of the weights as the checkpoint stores them, scales included."""
        wide = DTYPES[self.dtype].bytes
        narrow = self.quantization.bits_per_weight / 8 if self.quantization else wide
        tied_twice = self.head_matrix.params if self.tied else 0
        matrices = sum(m.params * count * (narrow if quantized else wide) for m, count, quantized in self.matrices())
        return matrices + (self.embedding_params - tied_twice + self.vector_params) * wide


def _dtype_bytes(name: str) -> float:
    return dtype(name).bytes


def _whole(owner: object, *names: str) -> None:
    """Check that the named fields are whole numbers of believable size."""
    for name in names:
        value = getattr(owner, name)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= LARGEST:
            raise ConfigError(name, value, f"a whole number from 1 to {LARGEST:,}")


def _whole_or_none(owner: object, *names: str) -> None:
    _whole(owner, *(name for name in names if getattr(owner, name) is not None))


def by_mixer(model: Model) -> Mapping[Mixer, int]:
    """How many layers have each different mixer."""
    counts: dict[Mixer, int] = {}
    for layer, count in model.distinct_layers:
        if layer.mixer:
            counts[layer.mixer] = counts.get(layer.mixer, 0) + count
    return counts
