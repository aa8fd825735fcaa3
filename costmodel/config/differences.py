"""Differences: where a naive reading of a config would have gone wrong, and by how much.

Each rule looks at one trap and gives a sentence with figures, or nothing. Public calculators fall into all of them.

Source of the right figures: ``costmodel.model``, which the config was read into.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from costmodel.config.keys import ALIASES, Keys
from costmodel.model import HEAD, Attention, Experts, LatentAttention, Mlp, Model, Recurrent

_LONG = 131_072  # tokens, where a config does not say how long its contexts are
_BF16 = 2


@dataclass(frozen=True)
class Reading:
    """A config and what was read from it.

    Attributes
    ----------
    values: the whole config. keys: those of its language part. model: the model that was read.
    """

    values: Mapping[str, Any]
    keys: Keys
    model: Model

    @property
    def attentions(self) -> list[tuple[Attention, int]]:
        """Each kind of softmax attention, and how many layers have it."""
        layers = self.model.distinct_layers
        return [(layer.mixer, count) for layer, count in layers if isinstance(layer.mixer, Attention)]

    @property
    def first(self) -> Attention | None:
        """The softmax attention of the first layer that has one."""
        return next((mixer for mixer, _ in self.attentions), None)

    def kv(self, why: str, naive: float) -> str:
        """The sentence about a naive size of the cache."""
        real = self.model.kv_bytes_per_token
        return (
            f"{why}: a naive reading would give {naive:,.0f} bytes of KV a token instead of {real:,}, "
            f"{_times(naive / real)}."
        )

    def params(self, why: str, naive: float) -> str:
        """The sentence about a naive number of parameters."""
        more = naive / self.model.total_params - 1
        return f"{why}: a naive reading would give {_billions(naive)} parameters, {abs(more):.1%} too {_many(more)}."


Rule = Callable[[Reading], str | None]


# ---- caches -------------------------------------------------------------------------------------------------


def wide_heads(reading: Reading) -> str | None:
    """Heads wider or narrower than hidden size over heads."""
    keys, mixer, hidden = reading.keys, reading.first, reading.model.hidden
    if mixer is None or mixer.q_heads * mixer.head_dim == hidden:
        return None
    divided = hidden / keys.heads
    naive = reading.model.kv_bytes_per_token * divided / mixer.head_dim
    return reading.kv(f"A head is {mixer.head_dim} wide, not hidden size / heads = {divided:g}", naive)


def grouped_heads(reading: Reading) -> str | None:
    """Fewer KV heads than query heads."""
    mixer = reading.first
    if mixer is None or mixer.q_heads == mixer.kv_heads:
        return None
    naive = reading.model.kv_bytes_per_token * mixer.q_heads / mixer.kv_heads
    heads = "1 head" if mixer.kv_heads == 1 else f"{mixer.kv_heads} heads"
    return reading.kv(f"Keys and values have {heads}, queries {mixer.q_heads}", naive)


def all_heads(reading: Reading) -> str | None:
    """No number of KV heads means as many as query heads, not one."""
    mixer, keys = reading.first, reading.keys
    if mixer is None or mixer.kv_heads == 1 or mixer.q_heads != mixer.kv_heads or keys.says("num_key_value_heads"):
        return None
    naive = reading.model.kv_bytes_per_token / mixer.kv_heads
    return reading.kv(f"Without a number of KV heads, all {mixer.q_heads} heads have keys and values", naive)


def latent(reading: Reading) -> str | None:
    """A latent is cached once, neither doubled nor a head."""
    model = reading.model
    for layer, _ in model.distinct_layers:
        if isinstance(layer.mixer, LatentAttention):
            mixer = layer.mixer
            naive = _BF16 * 2 * mixer.heads * mixer.v_dim * model.num_layers
            why = f"Latent attention caches {mixer.kv_values_per_token} values a layer, once for all heads"
            return reading.kv(why, naive)
    return None


def layers_without_cache(reading: Reading) -> str | None:
    """Recurrent layers, MLP blocks and layers that share a cache."""
    model, kinds = reading.model, reading.model.distinct_layers
    own = sum(count for layer, count in kinds if layer.mixer and layer.mixer.kv_values_per_token)
    recurrent = any(isinstance(layer.mixer, Recurrent) for layer, _ in kinds)
    if own == model.num_layers:
        return None
    if not own:
        state = f"a fixed state of {model.state_bytes / 1e6:.1f} MB a sequence"
        return f"No layer has a KV cache; the {model.num_layers} layers keep {state}, whatever the context."
    state = f", the others a fixed state of {model.state_bytes / 1e6:.1f} MB a sequence" if recurrent else ""
    naive = model.kv_bytes_per_token * model.num_layers / own
    return reading.kv(f"Only {own} of {model.num_layers} layers keep keys and values{state}", naive)


def windows(reading: Reading) -> str | None:
    """Layers that see a window or a chunk only."""
    model = reading.model
    clipped = [(mixer, count) for mixer, count in reading.attentions if mixer.window or mixer.chunk]
    if not clipped:
        return None
    mixer, layers = clipped[0][0], sum(count for _, count in clipped)
    limit = mixer.window or mixer.chunk or 0
    what, context = "a window" if mixer.window else "a chunk", model.max_context or _LONG
    if limit >= context:
        return f"That layers see {what} of {limit:,} tokens never acts: the longest context is {context:,} tokens."
    full, real = model.kv_bytes_per_token * context / 1e9, model.kv_bytes(context) / 1e9
    return (
        f"{layers} of {model.num_layers} layers see {what} of {limit:,} tokens only: at {context:,} tokens a naive "
        f"reading would give {full:,.2f} GB of KV a sequence instead of {real:,.2f} GB, {_times(full / real)}."
    )


def idle_window(reading: Reading) -> str | None:
    """A window that the config states and the model does not use."""
    values, model = reading.keys.values, reading.model
    if not _number(values, "sliding_window") or any(mixer.window for mixer, _ in reading.attentions):
        return None
    window = values["sliding_window"]
    kept = model.kv_bytes_per_token * min(window, model.max_context or window)
    return (
        f"sliding_window is {window:,} and not in use here: every layer sees everything. Clipping "
        f"would keep {kept / 1e9:,.2f} GB of KV a sequence at most, too little."
    )


def broken_pattern(reading: Reading) -> str | None:
    """A number of layers that does not complete the pattern of attention and linear layers."""
    last = reading.model.layers[-1][0].mixer
    if reading.keys.says("layer_types") or not isinstance(last, Recurrent) or last.kind != "gated_deltanet":
        return None
    layers = reading.model.num_layers
    return f"The pattern of attention and linear layers breaks off at layer {layers}, which no known model does."


_SILENT = ", which is what the class does where the config is silent"


# ---- parameters ---------------------------------------------------------------------------------------------


def tied_head(reading: Reading) -> str | None:
    """The head is the embedding: stored once."""
    model = reading.model
    if not model.tied:
        return None
    said = "" if reading.keys.says("tie_word_embeddings") else _SILENT
    return reading.params(f"The LM head is the embedding{said}", model.total_params + model.head_matrix.params)


def untied_head(reading: Reading) -> str | None:
    """The head is a matrix of its own although the config is silent."""
    model = reading.model
    if model.tied or reading.keys.says("tie_word_embeddings"):
        return None
    return reading.params(f"The LM head is a matrix of its own{_SILENT}", model.total_params - model.head_matrix.params)


def two_matrices(reading: Reading) -> str | None:
    """An MLP without a gate."""
    model = reading.model
    added = 0
    for layer, count in model.distinct_layers:
        if isinstance(layer.mlp, (Mlp, Experts)) and not layer.mlp.gated:
            up = [m for m in layer.mlp.matrices(model.hidden) if m.name.endswith("up")]
            added += count * sum(matrix.params for matrix in up)
    return reading.params("The MLPs have two matrices, no gate", model.total_params + added) if added else None


def experts(reading: Reading) -> str | None:
    """All experts are resident, few are used."""
    model = reading.model
    mlp = next((layer.mlp for layer, _ in model.distinct_layers if isinstance(layer.mlp, Experts)), None)
    if mlp is None:
        return None
    return (
        f"A token uses {mlp.top_k} of {mlp.experts} experts: {_billions(model.active_params)} of "
        f"{_billions(model.total_params)} parameters are active, and all of them are resident."
    )


def unused_width(reading: Reading) -> str | None:
    """A width of a dense MLP that no layer has."""
    kinds = [layer.mlp for layer, _ in reading.model.distinct_layers]
    width = reading.keys.values.get("intermediate_size")
    used = {m.width for m in kinds if m} | {m.shared_width for m in kinds if isinstance(m, Experts)}
    if not isinstance(width, int) or not any(isinstance(m, Experts) for m in kinds) or width in used:
        return None
    mlp = next(m for m in kinds if isinstance(m, Experts))
    return f"intermediate_size {width:,} belongs to no layer: the experts are {mlp.width:,} wide."


# ---- bytes --------------------------------------------------------------------------------------------------


def stored_bits(reading: Reading) -> str | None:
    """Not every weight is quantized, and scales count."""
    model, how = reading.model, reading.model.quantization
    if how is None:
        return None
    covered = sum(matrix.params * count for matrix, count, quantized in model.matrices() if quantized)
    naive = model.total_params * int(how.bits_per_weight) / 8
    return (
        f"{covered / model.total_params:.1%} of the parameters are stored in {how.dtype} ({how.method}, "
        f"{how.bits_per_weight:.3g} bits each with scales): {model.weight_bytes / 1e9:,.2f} GB in all, where "
        f"{int(how.bits_per_weight)} bits each would give {naive / 1e9:,.2f} GB."
    )


def wide_head(reading: Reading) -> str | None:
    """A quantized LM head is the exception."""
    how = reading.model.quantization
    return f"The LM head ({HEAD}) is quantized too." if how is not None and how.head else None


def stored_width(reading: Reading) -> str | None:
    """No format in the config, or a wide one."""
    weights = "weights" if reading.model.quantization is None else "weights that are not quantized"
    if reading.model.dtype == "fp32":
        return f"The {weights} are stored in float32, 4 bytes each; a step is priced as engines serve it, in 16 bits."
    if reading.keys.says("torch_dtype"):
        return None
    return f"The config names no format of the {weights}: bfloat16 is assumed."


# ---- what was not in the config -----------------------------------------------------------------------------


def defaults(reading: Reading) -> str | None:
    """Sizes that came from the class."""
    filled = {k: v for k, v in reading.keys.filled.items() if isinstance(v, int) and not isinstance(v, bool)}
    if not filled:
        return None
    listed = ", ".join(f"{name} {value:,}" for name, value in filled.items())
    return f"Not in the config, so what its class means by that is used: {listed}."


def contradictions(reading: Reading) -> str | None:
    """Two spellings of one size with different values."""
    values = reading.keys.values
    for name, others in ALIASES.items():
        for other in others:
            if _number(values, name) and _number(values, other) and values[name] != values[other]:
                return f"{other} says {values[other]:,} and {name} says {values[name]:,}: {name} counts."
    return None


def draft_layers(reading: Reading) -> str | None:
    """Layers for multi-token prediction are extra and not loaded by default."""
    names = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")
    for name in names:
        count = reading.keys.values.get(name)
        if _number(reading.keys.values, name):
            layers, are = ("layer", "is") if count == 1 else ("layers", "are")
            return f"{count} further {layers} for multi-token prediction ({name}) {are} left out."
    return None


RULES: tuple[Rule, ...] = (
    wide_heads,
    grouped_heads,
    all_heads,
    latent,
    layers_without_cache,
    broken_pattern,
    windows,
    idle_window,
    tied_head,
    untied_head,
    two_matrices,
    experts,
    unused_width,
    stored_bits,
    wide_head,
    stored_width,
    defaults,
    contradictions,
    draft_layers,
)


def differences(reading: Reading) -> Iterator[str]:
    """Yield a sentence for each trap of this config."""
    for rule in RULES:
        sentence = rule(reading)
        if sentence:
            yield sentence


# ---- words --------------------------------------------------------------------------------------------------


def _times(ratio: float) -> str:
    return f"{ratio:.3g} times as much" if ratio >= 1 else f"{1 / ratio:.3g} times too little"


def _many(more: float) -> str:
    return "many" if more > 0 else "few"


def _billions(params: float) -> str:
    return f"{params / 1e9:,.2f} B" if params >= 1e9 else f"{params / 1e6:,.1f} M"  # noqa: PLR2004


def _number(values: Mapping[str, Any], name: str) -> bool:
    """Whether the config holds a whole number above 0 there."""
    value = values.get(name)
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
