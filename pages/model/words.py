"""What the Model page says, as text made of the model's numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import costmodel as cm
from costmodel.dtypes import DTYPES
from costmodel.model import Attention, Experts, LatentAttention
from pages.model.numbers import Kind, Understood, ranges
from pages.parts.components import BREAK, Column, Figure, Ink, Line, Part, Question, Table, Text
from pages.parts.format import Quantity, capitalised, count, gigabytes, many, parameters, significant, width
from pages.parts.layers import cached_values, mixer_name, mixer_sizes, mlp_name, mlp_sizes

_FIGURES = 5
_MOST_KINDS = 12  # rows for kinds of layers: pruned models have dozens, a hostile config thousands
_MOST_IN_FULL = 4  # kinds whose matrices are all listed


@dataclass(frozen=True)
class Item:
    """Something that was understood: its name with the number, and the arithmetic behind it."""

    key: str
    title: str
    lines: Sequence[Line]


def _strong(value: object, meaning: str = "") -> Ink:
    return Ink(value, meaning, strong=True)


def _layers(number: int) -> str:
    return many(number, "layer")


def _bytes(value: float) -> Quantity:
    return Quantity(count(value), "B", value, "B")


# ---- headline and figures --------------------------------------------------------------------------------------


def headline(u: Understood) -> list[Part]:
    """The sentence of numbers that the page opens with."""
    model = u.model
    said: list[Part] = [
        f"{model.name} has ",
        _strong(parameters(model.total_params)),
        f" parameters in {_layers(model.num_layers)}",
    ]
    if u.is_sparse:
        said += [", of which a token uses ", _strong(parameters(model.active_params))]
    return [
        *said,
        ". ",
        *_keeps(u),
        " and has ",
        _strong(gigabytes(model.weight_bytes), "memory"),
        f" of weights in {_stored(model)}.",
    ]


def _keeps(u: Understood) -> list[Part]:
    cache: list[Part] = [_strong(gigabytes(u.kv_bytes_a_token), "memory"), " for each token of a sequence"]
    if not u.model.state_bytes:
        return ["It keeps ", *cache]
    state: list[Part] = [_strong(gigabytes(u.model.state_bytes), "memory"), " for each sequence, however long"]
    return ["It keeps ", *([*cache, " and "] if u.kv_bytes_a_token else []), *state, ","]


def _stored(model: cm.Model) -> str:
    return model.dtype if model.quantization is None else f"{model.quantization.dtype} and {model.dtype}"


def figures(u: Understood) -> list[Figure]:
    """The five numbers of the page: what a model lacks gives its place to what else there is to say."""
    model = u.model
    parameter_counts = [
        Figure("parameters", parameters(model.total_params)),
        *([Figure("used by one token", parameters(model.active_params))] if u.is_sparse else []),
    ]
    kept = [
        Figure("weights as stored", gigabytes(model.weight_bytes), "memory"),
        *([Figure(f"cache a token, {u.kv_dtype}", gigabytes(u.kv_bytes_a_token))] if u.kv_bytes_a_token else []),
        *([Figure("state a sequence", gigabytes(model.state_bytes))] if model.state_bytes else []),
    ]
    if len(parameter_counts) + len(kept) < _FIGURES:
        whole = gigabytes(u.cache_bytes + model.state_bytes)
        kept.append(Figure(f"kept at {many(u.context, 'token')}", whole))
    if len(parameter_counts) + len(kept) < _FIGURES:
        parameter_counts.append(Figure("P, in matrices", parameters(model.matrix_params)))
    return [*parameter_counts, *kept]


def read_from(u: Understood) -> str:
    """Where the figures come from, and what they leave out."""
    model = u.model
    source = f"Sizes as published: {model.source}. " if model.source else "Read from the config that you gave. "
    longest = f" Made for contexts of up to {many(model.max_context, 'token')}." if model.max_context else ""
    return f"{source}Family: {model.family}.{longest}"


def left_out(u: Understood) -> str:
    """What the checkpoint holds that is not modelled; empty where nothing is."""
    return f"Left out: {u.model.left_out}. All figures are of the language model alone." if u.model.left_out else ""


# ---- the table of kinds ----------------------------------------------------------------------------------------


def kinds_table(u: Understood) -> Table:
    """One row for each kind of layer."""
    states = u.model.state_bytes > 0
    return Table(
        columns=[
            Column("layers", lambda k: _stacked(count(k.count), ranges(k.places)), left=True),
            Column(
                "tokens meet in", lambda k: _stacked(mixer_name(k.layer.mixer), mixer_sizes(k.layer.mixer)), left=True
            ),
            Column("then", lambda k: _stacked(mlp_name(k.layer.mlp), mlp_sizes(k.layer.mlp)), left=True),
            Column("parameters", lambda k: parameters(k.params)),
            Column("as stored", lambda k: gigabytes(k.weight_bytes)),
            *([Column("kept a token", lambda k: _or_nothing(u.kv_bytes(k), _bytes))] if u.kv_bytes_a_token else []),
            *([Column("state a sequence", lambda k: _or_nothing(k.state_bytes, gigabytes))] if states else []),
        ],
        rows=u.kinds[:_MOST_KINDS],
    )


def more_kinds(u: Understood) -> str:
    """What the table leaves out; empty where it shows every kind."""
    more = len(u.kinds) - _MOST_KINDS
    return f"and {count(more)} further kinds of layers, as the picture shows." if more > 0 else ""


def _stacked(name: str, below: str) -> Text:
    return [name, BREAK, Ink(below, "muted")] if below else name


def _or_nothing(size: float, text: Callable[[float], Part]) -> Part:
    return text(size) if size else "nothing"


# ---- what was understood, each with its arithmetic -------------------------------------------------------------


def understood(u: Understood) -> list[Item]:
    """What was read, in the order in which a reader would check it."""
    model = u.model
    items = [
        Item("total", f"{parameters(model.total_params)} parameters", _total(u)),
        Item("matrices", f"P = {parameters(model.matrix_params)} parameters in matrices", _matrices(u)),
        Item("active", f"{parameters(model.active_params)} parameters used by one token", _active(u))
        if u.is_sparse
        else None,
        Item("outside", f"Embedding and head: {_head(model)}", _outside(model)),
        Item("cache", f"{gigabytes(u.kv_bytes_a_token)} of cache a token", _cache(u)) if u.kv_bytes_a_token else None,
        Item("state", f"{gigabytes(model.state_bytes)} of state a sequence", _state(u)) if model.state_bytes else None,
        Item("stored", f"{gigabytes(model.weight_bytes)} of weights as stored", _stored_bytes(u)),
    ]
    return [item for item in items if item is not None]


def _head(model: cm.Model) -> str:
    return "one table for both" if model.tied else "a matrix each"


def _called(u: Understood, kind: Kind) -> str:
    """A kind of layer in a word or two, for the lines of a derivation."""
    if len(u.kinds) == 1:
        return "a layer"
    return f"layer {ranges(kind.places, most=1).removesuffix(', …')}" + (" and so on" if len(kind.places) > 1 else "")


def _by_kind(u: Understood, name: Callable[[Kind], str], expression: Callable[[Kind], str],
             amount: Callable[[Kind], float], text: Callable[[float], object] = count) -> list[Line]:  # fmt: skip
    """A line for each kind of layer that has an amount, and one for those beyond what anybody would read."""
    kinds = [kind for kind in u.kinds if amount(kind)]
    shown, rest = kinds[:_MOST_KINDS], kinds[_MOST_KINDS:]
    lines = [Line(name(kind), expression(kind), str(text(amount(kind) * kind.count))) for kind in shown]
    if rest:
        layers = _layers(sum(kind.count for kind in rest))
        whole = sum(amount(kind) * kind.count for kind in rest)
        lines.append(Line(f"{count(len(rest))} further kinds", layers, str(text(whole))))
    return lines


def _total(u: Understood) -> list[Line]:
    model = u.model
    lines: list[Line] = []
    if len(u.kinds) <= _MOST_IN_FULL:
        for kind in u.kinds:
            lines += _layer(u, kind, gap=bool(lines))
        layers = " + ".join(f"{count(kind.count)} × {count(kind.params)}" for kind in u.kinds)
    else:
        lines += _by_kind(
            u, lambda k: _called(u, k), lambda k: f"{_layers(k.count)} × {count(k.params)}", lambda k: k.params
        )
        layers = "all layers"
    outside = f" + {count(_outside_params(u))} outside the layers"
    return [*lines, Line("parameters", layers + outside, _strong(count(model.total_params)), gap=True)]


def _outside_params(u: Understood) -> float:
    return u.model.total_params - sum(kind.params * kind.count for kind in u.kinds)


def _layer(u: Understood, kind: Kind, *, gap: bool) -> list[Line]:
    """Each matrix of a layer, what is no matrix, and their sum."""
    name, layer = _called(u, kind), kind.layer
    lines = [
        Line(matrix.name, _shape(matrix), count(matrix.params), gap=gap and not number)
        for number, matrix in enumerate(layer.matrices(u.model.hidden))
    ]
    if layer.other_params:
        lines.append(Line("vectors", "norms, biases and the like", count(layer.other_params)))
    return [*lines, Line(name, f"together, in each of {_layers(kind.count)}", Ink(count(kind.params), "", strong=True))]


def _shape(matrix: cm.model.Matrix) -> str:  # type: ignore[name-defined]
    copies = f" × {count(matrix.stored)} experts" if matrix.stored > 1 else ""
    return f"{count(matrix.inputs)} × {count(matrix.outputs)}{copies}"


def _matrices(u: Understood) -> list[Line]:
    model = u.model
    head = model.head_matrix
    lines = _by_kind(
        u,
        lambda kind: _called(u, kind),
        lambda kind: f"its matrices × {_layers(kind.count)}",
        lambda kind: _matrix_params(u, kind),
    )
    lines += [Line(matrix.name, _shape(matrix), count(matrix.params)) for matrix in model.extra_matrices]
    lines.append(Line("LM head", f"{_shape(head)}, once, tied or not", count(head.params)))
    expression = "every matrix that is applied to each token; not the embedding, which is a look-up"
    return [*lines, Line("P", expression, _strong(count(model.matrix_params)), gap=True)]


def _matrix_params(u: Understood, kind: Kind) -> int:
    return sum(matrix.params for matrix in kind.layer.matrices(u.model.hidden))


def _active(u: Understood) -> list[Line]:
    model = u.model
    lines = _by_kind(
        u,
        lambda kind: _called(u, kind),
        lambda kind: f"{_used(kind)} × {_layers(kind.count)}",
        lambda kind: kind.active_params,
    )
    rest = model.active_params - sum(kind.active_params * kind.count for kind in u.kinds)
    lines.append(Line("outside", "embedding, head, final norm", count(rest)))
    return [*lines, Line("one token", "uses together", _strong(count(model.active_params)), gap=True)]


def _used(kind: Kind) -> str:
    mlp = kind.layer.mlp
    return f"{mlp.top_k} of {mlp.experts} experts" if isinstance(mlp, Experts) else "all of it"


def _outside(model: cm.Model) -> list[Line]:
    width = model.embed_dim or model.hidden
    table = f"{count(model.vocab)} rows × {count(width)}"
    lines = [Line("embedding", table, count(model.embedding_params))]
    if model.tied:
        lines.append(Line("LM head", "the same table, read once more by each step", "0 more"))
    else:
        lines.append(
            Line("LM head", f"{_shape(model.head_matrix)}, a matrix of its own", count(model.head_matrix.params))
        )
    lines += [Line(matrix.name, _shape(matrix), count(matrix.params)) for matrix in model.extra_matrices]
    if model.position_params:
        lines.append(Line("positions", "a learned table", count(model.position_params)))
    rest = model.other_params - model.position_params
    return [*lines, *([Line("vectors", "final norm and the like", count(rest))] if rest else [])]


def _cache(u: Understood) -> list[Line]:
    size = DTYPES[u.kv_dtype].bytes

    def expression(kind: Kind) -> str:
        mixer = kind.layer.mixer
        assert isinstance(mixer, (Attention, LatentAttention))  # noqa: S101  # only these have a cache
        return f"{_layers(kind.count)} × {cached_values(mixer)} × {width(size)}"

    at = f"at {many(u.context, 'token')}"
    clipped = "windows clip" if u.cache_bytes < u.kv_bytes_a_token * u.context else _all_keep(u)
    return [
        *_by_kind(u, lambda kind: mixer_name(kind.layer.mixer), expression, u.kv_bytes, _bytes),
        Line("a token", f"in {u.kv_dtype}, all layers", _strong(_bytes(u.kv_bytes_a_token)), gap=True),
        Line("a sequence", f"{at}: {clipped}", _strong(gigabytes(u.cache_bytes, 4))),
    ]


def _all_keep(u: Understood) -> str:
    """Who keeps the whole context: every layer, or those that have a cache."""
    caching = sum(kind.count for kind in u.kinds if kind.kv_values)
    if caching == u.model.num_layers:
        return "every layer keeps all of them"
    return f"the {_layers(caching)} with a cache {'keeps' if caching == 1 else 'keep'} all of them"


def _state(u: Understood) -> list[Line]:
    lines = _by_kind(
        u,
        lambda kind: mixer_name(kind.layer.mixer),
        lambda kind: f"{_layers(kind.count)} × {_bytes(kind.state_bytes)}: recurrence in fp32, convolution in bf16",
        lambda kind: kind.state_bytes,
        gigabytes,
    )
    return [*lines, Line("a sequence", "however long", _strong(gigabytes(u.model.state_bytes)), gap=True)]


def _stored_bytes(u: Understood) -> list[Line]:
    model, how = u.model, u.model.quantization
    wide, narrow = DTYPES[model.dtype].bytes, u.quantized_params
    rest = model.total_params - narrow
    lines = []
    if how is not None:
        bits = f"{significant(how.bits_per_weight, 4, trim=True)} bits, scales included"
        expression = f"{count(narrow)} parameters × {bits} ({how.method})"
        lines.append(Line(how.dtype, expression, Ink(gigabytes(narrow * how.bits_per_weight / 8, 4), "memory")))
    lines.append(
        Line(model.dtype, f"{count(rest)} parameters × {width(wide)}", Ink(gigabytes(rest * wide, 4), "memory"))
    )
    return [
        *lines,
        Line("weights", "resident, as the checkpoint stores them", _strong(gigabytes(model.weight_bytes, 4)), gap=True),
    ]


# ---- naive readings --------------------------------------------------------------------------------------------


def caches_of_naive(u: Understood) -> str:
    """In which format the readings below have their caches, where the page has them in another; else empty."""
    told = any(" of KV " in warning for warning in u.model.warnings)
    if not told or u.kv_bytes_a_token == u.model.kv_bytes_per_token:
        return ""
    return f"Caches are in bf16 in these sentences, everywhere else on this page in {u.kv_dtype}."


def naive(u: Understood) -> list[tuple[str, str]]:
    """Each difference as what holds, and what follows or what a naive reading would make of it ("" for nothing)."""
    split = (warning.split(": ", maxsplit=1) for warning in u.model.warnings)
    return [(what, _sentence(rest[0]) if rest else "") for what, *rest in split]


def _sentence(text: str) -> str:
    """Begin with a capital, unless the first word is a key of the config."""
    return text if "_" in text.split(" ", maxsplit=1)[0] else capitalised(text)


# ---- alt text and questions ------------------------------------------------------------------------------------


def stack_alt(u: Understood) -> str:
    """The message of the picture."""
    model = u.model
    lanes = "; ".join(f"{lane.text} in {_layers(len(lane.places))}" for lane in u.lanes)
    heaviest = max(u.kinds, key=lambda kind: kind.weight_bytes)
    kept = max(u.kinds, key=u.kept_bytes)
    return (
        f"The {_layers(model.num_layers)} of {model.name} from the input to the output. {lanes}. "
        f"A layer holds up to {gigabytes(heaviest.weight_bytes)} of weights and keeps up to "
        f"{gigabytes(u.kept_bytes(kept))} of a sequence of {many(u.context, 'token')}."
    )


def questions() -> list[Question]:
    """What a reader may want to try next; the answers set the controls."""
    latent, windows, hybrid = cm.model("deepseek-v3"), cm.model("gemma-3-27b"), cm.model("nemotron-3-nano-30b-a3b")
    caching = sum(n for layer, n in hybrid.distinct_layers if layer.mixer and layer.mixer.kv_values_per_token)
    share: Quantity = parameters(latent.total_params)
    return [
        Question(
            f"{latent.name} has {share} parameters. How much does it keep for a token?",
            f"{count(latent.kv_bytes_per_token)} bytes: show it",
            {"model": latent.id},
        ),
        Question(
            f"At 131,072 tokens, which layers of {windows.name} hold most of its cache?",
            "Every sixth: show them",
            {"model": windows.id, "context": 131072},
        ),
        Question(
            f"Only {caching} of the {hybrid.num_layers} layers of {hybrid.name} keep a cache. What do the others keep?",
            f"{gigabytes(hybrid.state_bytes)} of state: show it",
            {"model": hybrid.id},
        ),
    ]
