"""Gemma 3n and 4: caches that layers share, inputs of their own for each layer, residual streams side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from costmodel.config.attention import FULL, HEAD_NORM, SLIDING, Grouped, dividing, every, said
from costmodel.config.embedding import Norms, Outside, Surroundings
from costmodel.config.families.dense import BIASED, GEMMA_3_4B
from costmodel.config.family import Family
from costmodel.config.keys import Keys
from costmodel.config.mlp import Routed, stated
from costmodel.config.parts import Part
from costmodel.errors import ConfigError
from costmodel.model import Matrix, Mlp

# ---- layers that read an earlier layer's cache --------------------------------------------------------------


def sharing(keys: Keys, kinds: Sequence[str]) -> list[bool]:
    """Whether each layer reads the cache of an earlier layer of its kind: the last ``num_kv_shared_layers`` do.

    Raises
    ------
    ConfigError: when there is no layer to share with.
    """
    shared = keys.whole("num_kv_shared_layers", 0, low=0, high=keys.layers)
    own = keys.layers - shared
    if shared and set(kinds[own:]) - set(kinds[:own]):
        raise ConfigError("num_kv_shared_layers", shared, "a layer of each kind that keeps its own cache")
    return [layer >= own for layer in range(keys.layers)]


@dataclass(frozen=True, kw_only=True)
class Shared:
    """Rule of attention whose last layers borrow; full layers may have other heads than those with a window."""

    sliding: Grouped
    full: Grouped

    def __call__(self, keys: Keys) -> Sequence[Part]:
        """One part a layer."""
        kinds = self.sliding.windows(keys)
        places = list(zip(kinds, sharing(keys, kinds), strict=True))
        rules = {FULL: self.full, SLIDING: self.sliding}
        made = {
            (kind, borrows): replace(rules[kind], shares_kv=borrows).of_kind(kind)(keys)
            for kind, borrows in set(places)
        }
        return [made[place] for place in places]


# ---- Gemma 3n -----------------------------------------------------------------------------------------------


def per_layer_inputs(keys: Keys) -> tuple[Matrix, ...]:
    """The gate and projection of the input that each layer has of its own; none where its width is 0."""
    width = keys.whole("hidden_size_per_layer_input", 0, low=0)
    if not width:
        return ()
    return (
        Matrix("per-layer gate", "per_layer_gate", keys.hidden, width, "none"),
        Matrix("per-layer projection", "per_layer_projection", width, keys.hidden, "none"),
    )


def streams_of(keys: Keys) -> int:
    """Residual streams side by side."""
    return keys.whole("altup_num_inputs", 4, high=64)


def altup(keys: Keys) -> tuple[Matrix, ...]:
    """Alternating updates (arXiv 2301.13310) and the low-rank residual of each layer."""
    streams, rank, hidden = streams_of(keys), keys.whole("laurel_rank", 64), keys.hidden
    return (
        Matrix("stream router", "altup_router", hidden, streams, "none"),
        Matrix("stream prediction", "altup_predict", streams, streams * streams, "none"),
        Matrix("stream correction", "altup_correct", streams, streams, "none"),
        Matrix("residual down", "laurel_down", hidden, rank, "none"),
        Matrix("residual up", "laurel_up", rank, hidden, "none"),
    )


def gemma_3n_mlps(keys: Keys) -> Sequence[Part]:
    """The MLP's width may be a list, one a layer; its neighbours are the per-layer inputs and the streams."""
    widths = keys.raw("intermediate_size")
    listed = keys.each("intermediate_size", int, keys.layers) if isinstance(widths, list) else None
    each = listed or [keys.whole("intermediate_size")] * keys.layers
    extra = altup(keys) + per_layer_inputs(keys)
    # Norms of the router, the low-rank residual and the per-layer input, and a scale of the correction.
    made = {width: Part(Mlp(width=width), vectors=4 * keys.hidden, extra=extra) for width in set(each)}
    return [made[width] for width in each]


def per_layer_table(keys: Keys) -> Surroundings:
    """One table holds the inputs of all layers, a row a token; a projection of the embedding is added to it."""
    width, layers = keys.whole("hidden_size_per_layer_input", 0, low=0), keys.layers
    if not width:
        return Surroundings()
    return Surroundings(
        matrices=(Matrix("per-layer inputs", "embedding_projection", keys.hidden, layers * width, "none"),),
        vectors=width,
        lookup_width=layers * width,
        lookup_rows=keys.whole("vocab_size_per_layer_input"),
    )


def gemma_3n_surroundings(keys: Keys) -> Surroundings:
    """The table, and the projections into and out of the further streams."""
    table, streams = per_layer_table(keys), streams_of(keys)
    stream = Matrix("stream projection", "embedding_projection", keys.hidden, keys.hidden, "none")
    return replace(table, matrices=table.matrices + (stream,) * (2 * (streams - 1)))


# ---- Gemma 4 ------------------------------------------------------------------------------------------------


def gemma_4_windows(keys: Keys) -> Sequence[str]:
    """Every sixth layer sees everything, and the last always."""
    kinds = list(said(every(6))(keys))
    return [*kinds[:-1], FULL]


def gemma_4_global_kv_heads(keys: Keys) -> int:
    """Full layers have their own number of KV heads where values come from the keys."""
    name = "num_global_key_value_heads"
    if keys.flag("attention_k_eq_v") and keys.raw(name) is not None:
        return dividing(keys, name)
    return dividing(keys, "num_key_value_heads", keys.heads)


def gemma_4_mlps(keys: Keys) -> Sequence[Part]:
    """Layers that borrow may have MLPs of double width; experts, where there are any, run beside the MLP."""
    shared = sharing(keys, gemma_4_windows(keys))
    extra, norms = per_layer_inputs(keys), keys.hidden if per_layer_inputs(keys) else 0
    if keys.flag("enable_moe_block"):
        experts = Routed(shared=stated())
        part = experts.part(keys)
        # Three further norms, the router's scale, and a scale for each expert.
        vectors = part.vectors + 4 * keys.hidden + keys.whole("num_experts")
        return [replace(part, vectors=vectors + norms, extra=extra)] * keys.layers
    wide = 2 if keys.flag("use_double_wide_mlp") else 1
    made = {
        borrows: Part(Mlp(width=keys.whole("intermediate_size") * (wide if borrows else 1)), vectors=norms, extra=extra)
        for borrows in set(shared)
    }
    return [made[borrows] for borrows in shared]


_SLIDING_4 = replace(BIASED, qk_norm=HEAD_NORM, windows=gemma_4_windows)
_GEMMA_4 = Shared(
    sliding=_SLIDING_4,
    full=replace(
        _SLIDING_4,
        kv_heads=gemma_4_global_kv_heads,
        head_dim=lambda keys: keys.whole("global_head_dim", 512),
        values_from_keys="attention_k_eq_v",
    ),
)
_GEMMA_3N = replace(BIASED, qk_norm=HEAD_NORM, windows=said(every(5)))

FAMILIES = (
    Family(
        types=("gemma3n_text",),
        mixers=Shared(sliding=_GEMMA_3N, full=_GEMMA_3N),
        mlps=gemma_3n_mlps,
        norms=Norms(layer=4),
        outside=Outside(tied=True, more=gemma_3n_surroundings),
        defaults={
            "hidden_size": 2048,
            "num_hidden_layers": 35,
            "num_attention_heads": 8,
            "num_key_value_heads": 2,
            "head_dim": 256,
            "intermediate_size": 16384,
            "vocab_size": 262400,
            "sliding_window": 512,
            "num_kv_shared_layers": 15,
            "hidden_size_per_layer_input": 256,
            "vocab_size_per_layer_input": 262144,
            "max_position_embeddings": 32768,
        },
    ),
    Family(
        types=("gemma4_text",),
        mixers=_GEMMA_4,
        mlps=gemma_4_mlps,
        norms=Norms(layer=4),
        outside=Outside(tied=True, more=per_layer_table),
        defaults={
            **GEMMA_3_4B,
            "num_hidden_layers": 30,
            "vocab_size": 262144,
            "sliding_window": 512,
            "hidden_size_per_layer_input": 256,
            "vocab_size_per_layer_input": 262144,
        },
    ),
)
