"""Whether a model and its caches fit: resident bytes against what an accelerator's memory can hold.

Source of the blocks and of the share of memory that an engine takes: vLLM, Kwon et al. 2023 (arXiv 2309.06180).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from costmodel.dtypes import DTYPES, FULL_WIDTH
from costmodel.errors import ConfigError
from costmodel.hardware import Hardware
from costmodel.model import Attention, LatentAttention, Matrix, Mixer, Model, by_mixer
from costmodel.operations import Shard
from costmodel.precision import Formats, Precision, settle

Allocation = Literal["windowed", "full"]
AttentionParallel = Literal["tensor", "data"]
LatentCache = Literal["latent", "heads"]
_LONGEST = 1e12  # tokens; a model without a cache that grows has no longest context


@dataclass(frozen=True, kw_only=True)
class LayerCaches:
    """The cache of one sequence in all layers of one kind, on one GPU of the group.

    Attributes
    ----------
    mixer: where tokens meet in these layers. layers: how many there are.
    token_bytes: bytes that a token leaves in all of them together.
    tokens: tokens of the sequence that each of them keeps. places: tokens that its whole blocks have room for.
    """

    mixer: Mixer
    layers: int
    token_bytes: float
    tokens: float
    places: int

    @property
    def bytes(self) -> float:
        """Bytes of the blocks in all of these layers."""
        return self.token_bytes * self.places


@dataclass(frozen=True, kw_only=True)
class Fit:
    """What one GPU of the group holds. All bytes are resident bytes on one GPU.

    Attributes
    ----------
    usable_bytes: memory of the GPU that a program can use. budget_bytes: the fraction of it that may be used.
    weight_bytes: weights of this GPU's share. reserve_bytes: kept for activations, graphs and the runtime.
    kv_pool_bytes: what is left for caches and states; negative when the weights alone do not fit.
    sequence_bytes: cache and state of one sequence of ``context`` tokens, rounded up to blocks.
    state_bytes: recurrent state of one sequence.
    caches: what that cache is made of, an entry for each kind of layer that keeps one.
    pools: GPUs that keep sequences of their own: the whole group where attention is data parallel; else 1, as each GPU
        keeps its part of every sequence.
    kv_tokens: tokens of cache that one pool holds, in sequences of ``context``.
    blocks: blocks of ``block_size`` tokens that one pool holds.
    max_batch: sequences of ``context`` tokens that fit together (over the whole group where attention is data
        parallel). max_context: longest context that fits at ``batch``; inf for a model whose cache does not grow.
    fits: whether ``batch`` sequences of ``context`` tokens fit.
    """

    usable_bytes: float
    budget_bytes: float
    weight_bytes: float
    reserve_bytes: float
    kv_pool_bytes: float
    sequence_bytes: float
    state_bytes: float
    caches: tuple[LayerCaches, ...]
    pools: int
    kv_tokens: int
    blocks: int
    block_size: int
    max_batch: int
    max_context: float
    fits: bool


def memory(
    model: Model,
    hw: Hardware,
    *,
    context: float,
    batch: int | None = None,
    precision: Precision | None = None,
    utilization: float = 0.9,
    reserve_bytes: float = 0,
    block_size: int = 16,
    allocation: Allocation = "windowed",
    weight_bytes: float | None = None,
    attention_parallel: AttentionParallel = "tensor",
    tensor_parallel: int = 1,
    latent_cache: LatentCache = "latent",
) -> Fit:
    """Say what fits into the memory of one GPU.

    Parameters
    ----------
    context: tokens of each sequence, prompt and output together. batch: sequences that shall fit; None: one.
    utilization: fraction of the usable memory that the engine may take.
    reserve_bytes: kept free of weights and caches (activations: see ``activation_bytes``; graphs, the runtime).
    block_size: tokens a cache block; caches are rounded up to blocks.
    allocation: "windowed": a layer with a window keeps its window only; "full": it gets pages for the whole context.
    weight_bytes: resident weight bytes on this GPU where they are known; None: from the model.
    attention_parallel: "tensor": heads are divided over the group (KV heads replicated where there are fewer than
        GPUs); "data": each GPU has whole heads and sequences of its own, the rest of the model is still divided.
    latent_cache: "latent": latent attention keeps its latent, once on each GPU; "heads": the keys and values of each
        head, padded to a power of two, as vLLM's first support of DeepSeek-V2 did (its pull request 4650).

    Raises
    ------
    ConfigError: for a chip whose usable memory is not known, or values out of range.

    >>> import costmodel as cm
    >>> fit = cm.memory(cm.model("llama-3.1-8b"), cm.hardware("h100-sxm"), context=8192)
    >>> fit.fits, fit.max_batch
    (True, 56)
    """
    _check(context=context, batch=batch, utilization=utilization, reserve_bytes=reserve_bytes, block_size=block_size)
    _check_choices(allocation=allocation, attention_parallel=attention_parallel, latent_cache=latent_cache)
    Shard.of(model, tensor_parallel)
    formats, usable = settle(model, hw, precision), _usable(hw)
    if weight_bytes is None:
        weight_bytes = resident_bytes(model, formats, tensor_parallel, attention_parallel)
    pools = tensor_parallel if attention_parallel == "data" else 1
    shard, kv = Shard(tensor_parallel // pools), DTYPES[formats.kv].bytes
    cache = _Cache(model, shard, kv, block_size, allocation, latent_cache)
    pool = usable * utilization - weight_bytes - reserve_bytes
    return Fit(
        usable_bytes=usable,
        budget_bytes=usable * utilization,
        weight_bytes=weight_bytes,
        reserve_bytes=reserve_bytes,
        block_size=block_size,
        **cache.filling(pool, context, batch or 1, pools),
    )


def activation_bytes(model: Model, tokens: float) -> float:
    """Peak bytes of activations of a pass of ``tokens`` on one GPU: what an engine keeps free beside its caches.

    The peak is in the MLP: its one or two inputs, their product, and three copies of the residual stream, at 2 bytes.
    It is an estimate: it gives 2.06 and 2.99 GiB where vLLM logged 2.07 and 2.99 GiB over the weights of
    Llama-3.1-8B in passes of 20,000 and 29,000 tokens (vLLM issue 10517). Engines profile with their largest pass:
    the longest context, or one chunk when prefill is chunked.

    >>> from costmodel.catalog import model
    >>> round(activation_bytes(model("llama-3.1-8b"), 20_000) / 2**30, 2)
    2.06
    """
    mlps = [layer.mlp for layer, _ in model.distinct_layers if layer.mlp]
    widths = [mlp.active_width * (3 if mlp.gated else 2) for mlp in mlps]  # values a token that an MLP holds at once
    return 2.0 * tokens * (3 * model.hidden + max(widths, default=0))


def resident_bytes(
    model: Model, formats: Formats, tensor_parallel: int = 1, attention_parallel: AttentionParallel = "tensor"
) -> float:
    """Weight bytes that one GPU of the group holds, at these formats.

    Embedding and head are divided over the vocabulary, matrices as tensor parallelism divides them, everything else
    is on each GPU. A float32 checkpoint counts 4 bytes a weight here, though a step is priced as 16-bit.
    """
    wide = DTYPES[_resident_wide(model, formats)].bytes
    shard, attention_shard = Shard(tensor_parallel), Shard(1 if attention_parallel == "data" else tensor_parallel)
    total = 0.0
    for layer, count in model.distinct_layers:
        stored = model.quantization is not None
        parts = [(matrix, attention_shard) for matrix in (layer.mixer.matrices(model.hidden) if layer.mixer else ())]
        parts += [(matrix, shard) for matrix in (layer.mlp.matrices(model.hidden) if layer.mlp else ()) + layer.extra]
        for matrix, on in parts:
            inputs, outputs = on.params(matrix, layer.mixer)
            each = _resident_weight(model, formats, matrix, wide, stored=stored and matrix.role in layer.quantized)
            total += count * matrix.stored * inputs * outputs * each
        total += count * layer.other_params * wide
    head, head_stored = model.head_matrix, model.quantization is not None and model.quantization.head
    head_bytes = 0.0 if model.tied else head.params * _resident_weight(model, formats, head, wide, stored=head_stored)
    outside = sum(matrix.params for matrix in model.extra_matrices) + model.other_params
    return total + (model.embedding_params * wide + head_bytes) / tensor_parallel + outside * wide


def _resident_wide(model: Model, formats: Formats) -> str:
    """Format of what is not quantized: as asked, else as stored."""
    if formats.weights in FULL_WIDTH and formats.weights is not None:
        return formats.weights
    return model.dtype if formats.weights is None else formats.wide


def _resident_weight(model: Model, formats: Formats, matrix: Matrix, wide: float, *, stored: bool) -> float:
    """Bytes a weight in memory: narrow where the formats say so, else the wide format's."""
    name = formats.weight_dtype(model, matrix, stored=stored)
    return wide if name in FULL_WIDTH else formats.weight_bytes(model, matrix, stored=stored)


@dataclass(frozen=True)
class _Cache:
    """Caches and states of one sequence on one GPU."""

    model: Model
    shard: Shard
    bytes_a_value: float
    block_size: int
    allocation: Allocation
    latent_cache: LatentCache = "latent"

    def filling(self, pool: float, context: float, wanted: int, pools: int) -> dict[str, Any]:
        """How far ``pool`` bytes go on each of ``pools`` GPUs with sequences of their own."""
        each = self.sequence_bytes(context)
        held = max(pool, 0.0) / each if each else math.inf
        blocks = _floor(held * math.ceil(context / self.block_size))
        return {
            "kv_pool_bytes": pool,
            "sequence_bytes": each,
            "state_bytes": self.state_bytes,
            "caches": self.of_sequence(context),
            "pools": pools,
            "kv_tokens": blocks * self.block_size,
            "blocks": blocks,
            "max_batch": _floor(held) * pools,
            "max_context": self.longest(pool, math.ceil(wanted / pools)),
            "fits": pool > 0 and wanted <= _floor(held) * pools,
        }

    @cached_property
    def state_bytes(self) -> float:
        """Recurrent state of one sequence."""
        return self.model.state_bytes / self.shard.n

    def of_sequence(self, context: float) -> tuple[LayerCaches, ...]:
        """The cache of one sequence of ``context`` tokens, by kind of layer."""
        layers = by_mixer(self.model)
        return tuple(
            LayerCaches(
                mixer=mixer,
                layers=layers[mixer],
                token_bytes=each,
                tokens=self._kept(mixer, context),
                places=self._places(mixer, context),
            )
            for mixer, each in self._bytes_by_mixer
        )

    def sequence_bytes(self, context: float) -> float:
        """Cache in whole blocks, and state, of one sequence of ``context`` tokens."""
        # Not the sum over of_sequence: a search asks this for dozens of contexts.
        return sum(each * self._places(mixer, context) for mixer, each in self._bytes_by_mixer) + self.state_bytes

    @cached_property
    def _bytes_by_mixer(self) -> list[tuple[Mixer, float]]:
        """Bytes a token leaves on this GPU in all layers of each kind that has a cache: looked up once for a search."""
        kinds = by_mixer(self.model).items()
        return [(mixer, self._token_bytes(mixer) * layers) for mixer, layers in kinds if mixer.kv_values_per_token]

    def _kept(self, mixer: Mixer, context: float) -> float:
        """Tokens of a sequence that a layer is given room for."""
        return mixer.kv_tokens(context) if self.allocation == "windowed" else context

    def _places(self, mixer: Mixer, context: float) -> int:
        """The same in whole blocks."""
        return math.ceil(self._kept(mixer, context) / self.block_size) * self.block_size

    def _token_bytes(self, mixer: Mixer) -> float:
        """Bytes a token leaves in one layer's cache on this GPU; a latent is on every GPU whole."""
        if isinstance(mixer, Attention):
            on_gpu = self.shard.kv_heads(mixer.kv_heads) / mixer.kv_heads
            return mixer.kv_values_per_token * on_gpu * self.bytes_a_value
        if isinstance(mixer, LatentAttention) and self.latent_cache == "heads":
            padded = 1 << (mixer.nope_dim + mixer.rope_dim - 1).bit_length()
            return 2 * padded * mixer.heads / self.shard.n * self.bytes_a_value
        return mixer.kv_values_per_token * self.bytes_a_value

    def longest(self, pool: float, batch: int) -> float:
        """Longest context of which ``batch`` sequences fit into ``pool`` bytes; inf when the cache stops growing."""
        room = pool / batch
        if self.sequence_bytes(_LONGEST) <= room:
            return math.inf
        low, high = 0, int(_LONGEST / self.block_size)  # blocks: the largest that fits is in [low, high)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.sequence_bytes(middle * self.block_size) <= room else (low, middle)
        return float(low * self.block_size)


def _floor(value: float) -> int:
    """Whole part, forgiving the last digits of a float; unbounded counts are capped at 2**31."""
    return int(min(value * (1 + 1e-12), 2**31))


def _usable(hw: Hardware) -> float:
    if hw.memory is None:
        raise ConfigError("memory", None, f"the usable memory of {hw.name}, which is not published: give it")
    return hw.memory


_LIMITS: Mapping[str, tuple[float, float, str]] = {
    "context": (1, _LONGEST, "tokens, 1 or more"),
    "batch": (1, _LONGEST, "sequences, 1 or more"),
    "utilization": (1e-6, 1, "a fraction above 0 and up to 1"),
    "reserve_bytes": (0, 1e18, "bytes, 0 or more"),
    "block_size": (1, 1e6, "tokens a block, 1 or more"),
}


def _check(**values: float | None) -> None:
    for key, value in values.items():
        low, high, expected = _LIMITS[key]
        if value is not None and not low <= value <= high:
            raise ConfigError(key, value, expected)


_CHOICES: Mapping[str, tuple[str, ...]] = {
    "allocation": ("windowed", "full"),
    "attention_parallel": ("tensor", "data"),
    "latent_cache": ("latent", "heads"),
}


def _check_choices(**values: str) -> None:
    for key, value in values.items():
        if value not in _CHOICES[key]:
            raise ConfigError(key, value, " or ".join(_CHOICES[key]))
