"""The Overview: the current scenario in a sentence and a picture, and the way into the pages."""

import streamlit as st

from pages.overview import leads, snippet, words
from pages.overview.chart import ride_spec
from pages.overview.numbers import Overview
from pages.parts import chart, components, controls, dragging, hints, live_rates, offers, prose, state

numbers = Overview(
    controls.scenario(),
    batch=state.value("batch"),
    prompt=state.value("prompt"),
    context=state.value("context"),
    profile=live_rates.profile(),
)

components.top(numbers.floor, *words.headline(numbers), *words.answer(numbers), context=words.CONTEXT)

datasets = {"frame": numbers.frame, "lines": numbers.lines}
chart.draw(ride_spec(), datasets, key="ride", alt=words.alt(numbers), title="Memory and arithmetic of a step")
dragging.bridge(["ride"], {"batch": words.SLIDER}, most={"batch": numbers.most}, key="ride_along")
hints.show("overview", "Drag the slider under the picture: tokens join the step while you drag.")
with prose.together():
    components.note(words.BELOW)
    components.section("From here", words.ONWARD)
st.html(f"<style>{leads.STYLE}</style>")
leads.draw(numbers)
offers.python(lambda: snippet.code(numbers, state.own_model()))
