"""A against B: the difference in a sentence, a table, and every picture with both."""

from __future__ import annotations

import streamlit as st

from pages.compare import asked, charts, deltas, frames, frames_batching, serving_view, snippet, words
from pages.compare.numbers import Pair
from pages.parts import chart_layers as layers
from pages.parts import components, controls, offers, prose

DIFFERENCES = "What differs"
MORE = "What batching buys each: price against speed, the two bills, intensity"


def show() -> None:
    """The view, from top to bottom."""
    asked.settle()
    pair, said = asked.pair()
    components.top(pair.a.scenario, *words.headline(pair, asked.lead(pair)))
    with prose.together():
        for sentence in said:
            components.complaint(sentence)
        components.note(words.sides(pair))
    picture = frames.time(pair)
    alt = picture.said("Time of a step against the tokens in it")
    layers.draw(charts.time_spec(), picture.data(), key="pair_time", message=alt)
    asked.other()
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="workload"):
        controls.slider("batch", "Sequences decoding")
        controls.slider("prompt", "Prompt, tokens")
        controls.slider("context", "Context of each, tokens")
        controls.switch("count", "Count the caches", off="weights", on="attention")
    with prose.together():
        components.note(words.below_picture(pair))
        components.section(DIFFERENCES)
    with st.container(key="reasons_pair"):
        deltas.table(deltas.deltas(pair), DIFFERENCES).draw()
    components.derivation(words.arithmetic(pair), key="pair_sums", title="Show the arithmetic of the differences")
    with st.container(horizontal=True, gap="medium", key="prices"):
        controls.slider("hourly", "A GPU of A for an hour, $")
        controls.slider("hourly_b", "A GPU of B for an hour, $", "0: the same as A's.")
    _pictures(pair)
    _batching(pair)
    serving_view.show(pair)
    offers.python(lambda: snippet.pair(pair, *asked.own_models()))


def _pictures(pair: Pair) -> None:
    """The other pictures of the dashboard, each with both."""
    components.section("Under the roof")
    picture = frames.roof(pair)
    alt = picture.said("What the arithmetic reaches against the FLOPs for each byte")
    layers.draw(charts.roof_spec(), picture.data(), key="pair_roof", message=alt)

    components.section("As the batch grows")
    left, right = st.columns(2, gap="medium")
    with left:
        picture = frames.latency(pair)
        alt = picture.said("Latency of a token against the batch")
        layers.draw(charts.latency_spec(), picture.data(), key="pair_latency", message=alt)
    with right:
        picture = frames.speed(pair)
        alt = picture.said("Tokens a second of all sequences against the batch")
        layers.draw(charts.speed_spec(), picture.data(), key="pair_speed", message=alt)

    components.section("As the context grows")
    picture = frames.context(pair)
    alt = picture.said("Time of a decode step against the context, caches counted")
    layers.draw(charts.context_spec(), picture.data(), key="pair_context", message=alt)

    components.section("In memory")
    layers.draw(charts.memory_spec(), frames.memory(pair), key="pair_memory", message=frames.memory_said(pair))


@st.fragment
def _batching(pair: Pair) -> None:
    """The pictures of the Batching page with both: many, and so drawn when somebody opens them."""
    box = st.expander(MORE, key="pair_more", on_change="rerun")
    if not box.open:
        return
    with box:
        for name, said, spec, frame in _BATCHING:
            if name != "streamed" or frames_batching.with_experts(pair):
                picture = frame(pair)
                layers.draw(spec(), picture.data(), key=f"pair_{name}", message=picture.said(said))


_PRICE = "Price of a million tokens against the speed of each sequence"
_BATCHING = (
    ("market", _PRICE, charts.market_spec, frames_batching.market),
    ("bills", "Bytes that a token moves against the batch", charts.bills_spec, frames_batching.bills),
    ("intensity", "FLOPs for each byte against the batch", charts.intensity_spec, frames_batching.intensity),
    ("streamed", "Weights that a step streams against the batch", charts.streamed_spec, frames_batching.streamed),
)
"""Key of each, what it shows in words, its spec and its data."""
