"""A against B: the difference in a sentence, a table, and every picture with both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.compare import asked, charts, deltas, frames, frames_batching, serving_view, snippet, words
from pages.compare.numbers import Pair
from pages.parts import ahead, components, controls, offers, prose
from pages.parts import chart_layers as layers
from pages.parts.chart import Spec

DIFFERENCES = "What differs"
MORE = "What batching buys each: price against speed, the two bills, intensity"


@dataclass(frozen=True)
class _Drawing:
    """A picture of the view: what it shows in words, its spec, and what draws it of both sides."""

    said: str
    spec: Callable[[], Spec]
    picture: Callable[[Pair], frames.Picture]

    def draw(self, pair: Pair, name: str) -> None:
        picture = self.picture(pair)
        layers.draw(self.spec(), picture.data(), key=f"pair_{name}", message=picture.said(self.said))

    def columns(self, pair: Pair) -> Mapping[str, Any]:
        """The same for a stop that a slider may come to."""
        picture = self.picture(pair)
        return ahead.columns(picture.data(), picture.said(self.said))


_DRAWINGS = {
    "time": _Drawing("Time of a step against the tokens in it", charts.time_spec, frames.time),
    "roof": _Drawing("What the arithmetic reaches against the FLOPs for each byte", charts.roof_spec, frames.roof),
    "latency": _Drawing("Latency of a token against the batch", charts.latency_spec, frames.latency),
    "speed": _Drawing("Tokens a second of all sequences against the batch", charts.speed_spec, frames.speed),
    "context": _Drawing(
        "Time of a decode step against the context, caches counted", charts.context_spec, frames.context
    ),
}
_BATCHING = {
    "market": _Drawing(
        "Price of a million tokens against the speed of each sequence", charts.market_spec, frames_batching.market
    ),
    "bills": _Drawing("Bytes that a token moves against the batch", charts.bills_spec, frames_batching.bills),
    "intensity": _Drawing("FLOPs for each byte against the batch", charts.intensity_spec, frames_batching.intensity),
    "streamed": _Drawing(
        "Weights that a step streams against the batch", charts.streamed_spec, frames_batching.streamed
    ),
}
"""The pictures of the Batching page with both: many, and so drawn when somebody opens them."""


def show() -> None:
    """The view, from top to bottom."""
    asked.settle()
    pair, said = asked.pair()
    components.top(pair.a.scenario, *words.headline(pair, asked.lead(pair)))
    with prose.together():
        for sentence in said:
            components.complaint(sentence)
        components.note(words.sides(pair))
    _DRAWINGS["time"].draw(pair, "time")
    asked.other()
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="workload"):
        controls.slider("batch", "Sequences decoding")
        controls.slider("prompt", "Prompt, tokens")
        controls.slider("context", "Context of each, tokens")
        controls.switch("count", "Count the caches", off="weights", on="attention")
    with prose.together():
        components.note(words.below_picture(pair))
        if stand_ins := words.stand_ins(pair):
            components.note(stand_ins)
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
    _ahead()
    offers.python(lambda: snippet.pair(pair, *asked.own_models()))


def _pictures(pair: Pair) -> None:
    """The other pictures of the dashboard, each with both."""
    components.section("Under the roof")
    _DRAWINGS["roof"].draw(pair, "roof")

    components.section("As the batch grows")
    left, right = st.columns(2, gap="medium")
    with left:
        _DRAWINGS["latency"].draw(pair, "latency")
    with right:
        _DRAWINGS["speed"].draw(pair, "speed")

    components.section("As the context grows")
    _DRAWINGS["context"].draw(pair, "context")

    components.section("In memory")
    layers.draw(charts.memory_spec(), frames.memory(pair), key="pair_memory", message=frames.memory_said(pair))


@st.fragment
def _batching(pair: Pair) -> None:
    box = st.expander(MORE, key="pair_more", on_change="rerun")
    if not box.open:
        return
    with box:
        for name, drawing in _BATCHING.items():
            if name != "streamed" or frames_batching.with_experts(pair):
                drawing.draw(pair, name)


def _ahead() -> None:
    """What follows a slider in the browser: all that is not drawn on demand, or simulated."""
    pictures: dict[str, Callable[[Pair], Mapping[str, Any]]] = {
        f"pair_{name}": drawing.columns for name, drawing in _DRAWINGS.items()
    }
    pictures["pair_memory"] = ahead.chart(frames.memory, frames.memory_said)
    ahead.follow(ahead.Pictures(lambda: asked.pair()[0], pictures))
