"""The map on the Compare page: one scenario over a plane of two axes. Reads as the view does."""

from __future__ import annotations

import streamlit as st

from pages.compare import map_charts, map_frames, snippet
from pages.compare import map_words as words
from pages.compare.map_numbers import Map
from pages.parts import ahead, components, controls, offers, prose, state
from pages.parts import chart_layers as layers
from pages.parts.shared import shared

_CONTEXT = "floors from the datasheet; nothing measured"


def show() -> None:
    """Draw the view."""
    drawn = _map()
    if refusal := words.refusal(drawn):
        components.top(drawn.scenario, "A map needs two axes that go together.", context=_CONTEXT)
        components.complaint(refusal)
        _axes()
        return
    components.top(drawn.scenario, *words.headline(drawn), context=_CONTEXT)
    spec = map_charts.map_spec(drawn.x, drawn.y, drawn.shown)
    layers.draw(spec, map_frames.picture(drawn), key="map_picture", message=words.alt(drawn))
    _axes()
    _workload(drawn)
    with prose.together():
        components.figures(words.figures(drawn))
        components.note(words.below_picture(drawn))
        components.derivation(words.arithmetic(drawn), key="map_sums")
    components.questions(words.questions(drawn), key="map_question")
    ahead.follow(ahead.Pictures(_map, {"map_picture": ahead.chart(map_frames.picture, words.alt)}))
    offers.python(lambda: snippet.plane(drawn, state.own_model()))


def _map() -> Map:
    return shared(
        Map(
            controls.scenario().datasheet(),
            batch=state.value("batch"),
            context=state.value("context"),
            prompt=state.value("prompt"),
            count=state.value("count"),
            hourly=state.value("hourly"),
            x=state.value("map_x"),
            y=state.value("map_y"),
            shown=state.value("map_value"),
        )
    )


def _axes() -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="map_axes"):
        for key, label, texts in (
            ("map_x", "Across", words.AXES),
            ("map_y", "Up", words.AXES),
            ("map_value", "The colour is", words.VALUES),
        ):
            with st.container(width=240):
                controls.choice(key, label, text=texts.__getitem__)


def _workload(drawn: Map) -> None:
    """The page's own step, as far as this map's steps are made of it."""
    axes = (drawn.x, drawn.y)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="map_workload"):
        if not drawn.prefill or "batch" in axes:
            controls.slider("batch", "Prompts together" if drawn.prefill else "Sequences decoding, B")
        if not drawn.prefill or "context" in axes:
            controls.slider("context", "Cached already, tokens" if drawn.prefill else "Context of each, tokens")
        if drawn.prefill:
            controls.slider("prompt", "Prompt, tokens")
        if drawn.shown == "cost":
            controls.slider("hourly", "A GPU for an hour, $", "In any currency: the price of a million is in the same.")
        if not drawn.prefill:
            controls.switch("count", "Count the caches", off="weights", on="attention")
