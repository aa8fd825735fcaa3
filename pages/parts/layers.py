"""The parts of a layer in words, the same on every page: how tokens meet in it, and what it is made of."""

from __future__ import annotations

from costmodel.model import Attention, Experts, LatentAttention, Mixer, Mlp, Model, Recurrent
from costmodel.operations import Shard
from pages.parts.format import count, many

_RECURRENT = {
    "mamba": "Mamba",
    "mamba2": "Mamba-2",
    "gated_deltanet": "gated DeltaNet",
    "kimi_delta_attention": "Kimi delta attention",
    "lightning_attention": "lightning attention",
    "gated_convolution": "gated convolution",
    "rg_lru": "RG-LRU",
}


def mixer_name(mixer: Mixer | None) -> str:
    """How tokens meet in a layer, in two or three words.

    >>> mixer_name(Attention(q_heads=8, kv_heads=2, head_dim=64, window=512))
    'window of 512 tokens'
    """
    if mixer is None:
        return "no attention"
    if isinstance(mixer, LatentAttention):
        return "latent attention"
    if isinstance(mixer, Recurrent):
        return _RECURRENT.get(mixer.kind, mixer.kind.replace("_", " "))
    return _attention_name(mixer)


def _attention_name(attention: Attention) -> str:
    seen = "full attention"
    if attention.window:
        seen = f"window of {many(attention.window, 'token')}"
    elif attention.chunk:
        seen = f"chunks of {many(attention.chunk, 'token')}"
    return f"{seen}, shared cache" if attention.shares_kv else seen


def mixer_sizes(mixer: Mixer | None) -> str:
    """The heads of a layer and their widths.

    >>> mixer_sizes(Attention(q_heads=16, kv_heads=8, head_dim=128))
    '16 query heads on 8 KV heads, 128 wide'
    """
    if mixer is None:
        return ""
    if isinstance(mixer, LatentAttention):
        return f"{many(mixer.heads, 'head')} on one latent of {mixer.kv_rank} and a rotary key of {mixer.rope_dim}"
    if isinstance(mixer, Recurrent):
        return f"a state of {count(mixer.state_values)} values a sequence, no cache"
    wide = f"{mixer.head_dim} wide"
    if mixer.v_dim != mixer.head_dim:
        wide = f"keys {mixer.head_dim} and values {mixer.v_dim} wide"
    if mixer.q_heads == mixer.kv_heads:
        return f"{many(mixer.q_heads, 'head')}, {wide}"
    return f"{many(mixer.q_heads, 'query head')} on {many(mixer.kv_heads, 'KV head')}, {wide}"


def mlp_name(mlp: Mlp | Experts | None) -> str:
    """The MLP of a layer in a few words.

    >>> mlp_name(Experts(experts=8, top_k=2, width=14336))
    '8 experts, 2 a token'
    """
    if mlp is None:
        return "no MLP"
    if isinstance(mlp, Experts):
        shared = " and a shared one" if mlp.shared_width else ""
        return f"{many(mlp.experts, 'expert')}, {mlp.top_k} a token{shared}"
    return "gated MLP" if mlp.gated else "MLP of two matrices"


def mlp_sizes(mlp: Mlp | Experts | None) -> str:
    """The width of an MLP, or of an expert.

    >>> mlp_sizes(Mlp(width=14336))
    '14,336 wide'
    """
    if mlp is None:
        return ""
    if isinstance(mlp, Experts) and mlp.shared_width:
        return f"{count(mlp.width)} wide, shared {count(mlp.shared_width)}"
    return f"{count(mlp.width)} wide"


def is_sparse(model: Model) -> bool:
    """Whether a token uses a part of the matrices only: its experts."""
    return model.active_matrix_params != model.matrix_params


def keeps(model: Model, context: float | None = None, *, number: float = 1) -> str:
    """What so many sequences keep, in words, with the tokens of a cache (None: without); a state has no length.

    >>> from costmodel.catalog import model
    >>> keeps(model("qwen3-0.6b"), 2048), keeps(model("jamba-1.5-mini"), 1, number=8), keeps(model("mamba-2.8b"), 2048)
    ('cache of 2,048 tokens', 'caches of 1 token and states', 'state')
    """
    plural = "" if number == 1 else "s"
    length = "" if context is None else f" of {many(context, 'token')}"
    cache = f"cache{plural}{length}" if model.kv_values_per_token else ""
    state = f"state{plural}" if model.state_bytes else ""
    return " and ".join(part for part in (cache, state) if part)


def block(model: Model) -> str:
    """The name of a block, in which an engine counts its room: a model with states alone puts no KV into it.

    >>> from costmodel.catalog import model
    >>> block(model("qwen3-0.6b")), block(model("jamba-1.5-mini")), block(model("mamba-2.8b"))
    ('KV block', 'KV block', 'block')
    """
    return "KV block" if model.kv_values_per_token else "block"


def over(model: Model, context: float) -> str:
    """What a decode step goes over, after its name: nothing where no layer has a cache.

    >>> from costmodel.catalog import model
    >>> over(model("qwen3-0.6b"), 2048), over(model("mamba-2.8b"), 2048)
    (' over 2,048 cached tokens', '')
    """
    return f" over {many(context, 'cached token')}" if model.kv_values_per_token else ""


def cached_values(mixer: Attention | LatentAttention, gpus: int = 1) -> str:
    """The expression of the values that a token leaves in one layer, on one of ``gpus`` that divide the heads.

    >>> cached_values(Attention(q_heads=32, kv_heads=8, head_dim=128), gpus=16)
    '1 KV head (max(1, 8 ÷ 16)) × (128 + 128)'
    """
    if isinstance(mixer, LatentAttention):
        return f"({mixer.kv_rank} of latent + {mixer.rope_dim} of rotary key)"
    shared = "" if gpus == 1 else f" (max(1, {mixer.kv_heads} ÷ {gpus}))"
    return f"{many(Shard(gpus).kv_heads(mixer.kv_heads), 'KV head')}{shared} × ({mixer.head_dim} + {mixer.v_dim})"
