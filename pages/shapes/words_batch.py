"""What the Shapes page says of several sequences in one step, and of the heads that share a store."""

from __future__ import annotations

import costmodel as cm
from costmodel.batching import mixture
from costmodel.model import LatentAttention, Recurrent
from costmodel.shapes import Gathered, Heads, Shape, heads
from pages.parts import format
from pages.parts.components import Ink, Part
from pages.parts.expected import or_more
from pages.parts.format import many
from pages.parts.layers import keeps
from pages.shapes.numbers import Shapes
from pages.shapes.words import counted, number


def _weights(n: Shapes, gathered: Gathered) -> float:
    return float(n.price(gathered.step).weight_bytes)


def _apart(n: Shapes) -> str:
    """What each sequence of a step has of its own in the layer that is drawn; "" where no token meets another."""
    if n.other.block("scores"):
        return "squares"
    return "states" if n.other.block("state") else ""


# ---- decodes together -----------------------------------------------------------------------------------------------


def title(n: Shapes) -> str:
    """What gathers in a step of several sequences, and what does not."""
    return f"The rows gather{f', the {_apart(n)} do not' if _apart(n) else ''}"


def apart_title(n: Shapes) -> str:
    """The heading of the half of the picture in which each sequence stands for itself."""
    return f"The {_apart(n)} do not gather" if _apart(n) else "Each sequence"


def gathered(n: Shapes) -> list[Part]:
    """The two halves of the block as the batch grows."""
    batch = len(n.lengths)
    model, stores = n.scenario.model, n.store_bytes(n.gathered.sequences)
    once = "read once" if mixture(model) is None else "read with the experts that turn up"
    each = "read and written" if model.state_bytes else "read"
    lengths = " at these lengths" if model.kv_values_per_token else ""
    return [
        f"{counted(batch, 'sequence').capitalize()}, one new token each. The weights, ",
        Ink(format.gigabytes(_weights(n, n.gathered)), "memory"),
        f", are {once} and split {counted(batch, 'way')}. The {keeps(model, number=2)}, ",
        Ink(format.gigabytes(stores), "memory"),
        f" through all layers{lengths}, are {each} {counted(batch, 'time')} and split no ways.",
        " Drag the end of a store to make it longer." if _apart(n) == "squares" else "",
    ]


def gathered_alt(n: Shapes, step: Gathered) -> str:
    """The picture of several sequences in words."""
    each = "; ".join(f"{many(s.new, 'row')}{_over(n, s)}" for s in step.sequences)
    own = {"squares": "; their squares and stores stay apart", "states": "; their states stay apart"}.get(_apart(n), "")
    reading = f"one reading of {format.gigabytes(_weights(n, step))}"
    return (
        f"{many(len(step.sequences), 'sequence')} in one step: {each}. Their {many(step.rows, 'row')} are one matrix "
        f"over {reading}{own}."
    )


def _over(n: Shapes, shape: Shape) -> str:
    """What a sequence goes over in a step."""
    return f" over {format.count(shape.cached)} cached" if n.scenario.model.kv_values_per_token else " over a state"


def weights_say(n: Shapes, step: Gathered) -> str:
    """What the block of weights says when it is pointed at."""
    weights = _weights(n, step)
    each = format.gigabytes(weights / step.rows)
    return f"the weights: {format.gigabytes(weights)} read once for {many(step.rows, 'row')}, {each} a row"


def rows_note(n: Shapes, step: Gathered) -> str:
    """What stands below the one matrix."""
    return f"one reading of {format.gigabytes(_weights(n, step))} for {counted(step.rows, 'row')}"


def stores_note(n: Shapes, step: Gathered) -> str:
    """What stands below the stores."""
    moved, count = format.gigabytes(n.store_bytes(step.sequences)), len(step.sequences)
    if _apart(n) == "states":
        return f"{counted(count, 'state')}, each read and written by its own sequence: {moved} through all layers"
    if not _apart(n):
        return f"nothing is kept in this layer; {moved} through all layers"
    return f"{counted(count, 'store')}, each read by its own rows: {moved} through all layers"


def sequence_tokens(n: Shapes, shape: Shape) -> str:
    """Tokens that one sequence brings to the step, and those that its cache holds."""
    cached = f", {format.count(shape.cached)} cached" if n.scenario.model.kv_values_per_token else ""
    return f"{format.count(shape.new)} new{cached}"


# ---- a chunk beside them --------------------------------------------------------------------------------------------


def mixed(n: Shapes) -> list[Part]:
    """What a step of both kinds costs, against a step for each."""
    chunk = cm.Step.prefill(n.chunk, cached=n.chunk_cached)
    together, first, second = (format.seconds(n.price(step).seconds) for step in (n.mixed.step, chunk, n.gathered.step))
    return [
        "A chunk of ",
        Ink(f"{many(n.chunk, 'token')} of a prompt", "prefill"),
        " and ",
        Ink(many(len(n.lengths), "decode"), "decode"),
        f" are a step of {format.count(n.mixed.rows)} rows: ",
        *_how_sure(n, together),
        ", against ",
        Ink(first, "prefill"),
        " for the chunk and ",
        Ink(second, "decode"),
        " for the decodes in a step each.",
        _computed_for_free(n),
    ]


def _how_sure(n: Shapes, time: format.Quantity) -> list[Part]:
    """How long the mixed step takes, and which kind of number that is."""
    if not n.is_floor:
        return ["about ", time]
    if not n.is_bound(n.mixed.step):
        return ["in the post's count ", time]
    return or_more("", "at least ", time, expects=n.price(n.mixed.step).expects_experts)


def _computed_for_free(n: Shapes) -> str:
    """What of the chunk takes no time, and what does."""
    if n.crossing is None or not n.is_floor:
        return ""
    if n.crossing <= 1:
        return " The arithmetic takes longer than the weights from the first row on, and nothing of the chunk is free."
    free = "the arithmetic of the chunk is free"
    if mixture(n.scenario.model) is not None:
        free += ", but not the experts of its own that it brings"
    return f" Up to {many(n.crossing, 'row')} the weights take longer than the arithmetic, and {free}."


# ---- heads ----------------------------------------------------------------------------------------------------------


def who_reads(n: Shapes) -> str:
    """Who reads whose keys, and what sharing saves."""
    mixer, found = n.layer.mixer, heads(n.layer.mixer)
    if isinstance(mixer, Recurrent):
        state = format.gigabytes(mixer.state_bytes)
        where = "in this layer, read and written at each step"
        return f"No token looks at another here: a sequence has a state of {state} {where}."
    if mixer is None or found is None:
        return "No token looks at another in this layer."
    values = format.count(mixer.kv_values_per_token)
    if isinstance(mixer, LatentAttention):
        apart = format.count(mixer.heads * (mixer.nope_dim + mixer.rope_dim + mixer.v_dim))
        return (
            f"All {format.count(found.queries)} query heads read one latent store: a token leaves {values} values in "
            f"this layer, once for all heads. A key and a value for each head would be {apart}."
        )
    groups = f"{many(found.queries, 'query head')} over {many(found.stores, 'KV head')}"
    if not mixer.kv_values_per_token:
        return f"{groups} of an earlier layer: this one keeps nothing."
    return f"{groups}: {_sharing(found)}. A token leaves {values} values in this layer."


def _sharing(found: Heads) -> str:
    if found.each == 1:
        return "each has keys and values of its own"
    each = number(found.each)
    return f"{each} read one store, so the cache is {each} times smaller than with a store for each"


def heads_alt(n: Shapes) -> str:
    """The picture of the heads in words."""
    found = heads(n.layer.mixer)
    if found is None:
        return ""
    groups = many(found.stores, "group")
    return (
        f"{many(found.queries, 'query head')} in {groups} of {format.count(found.each)}, each group reading one store."
    )
