"""The Overview: the current scenario in a sentence and a picture, and the way into the pages."""

import streamlit as st

from pages.memory import asked
from pages.overview import leads, snippet, words
from pages.overview.chart import ride_spec
from pages.overview.numbers import Overview
from pages.parts import ahead, chart, components, controls, dragging, hints, live_rates, offers, prose, state
from pages.parts.datasets import Dataset, of_frames


def look() -> Overview:
    """The scenario and the workload that the controls say."""
    return Overview(
        controls.scenario(),
        batch=state.value("batch"),
        prompt=state.value("prompt"),
        context=state.value("context"),
        memory=asked.memory(controls.scenario().counted()),
        profile=live_rates.profile(),
    )


def ride(numbers: Overview) -> dict[str, Dataset]:
    """What the picture is drawn from."""
    return of_frames({"frame": numbers.frame, "lines": numbers.lines, "curve": numbers.curve})


numbers = look()

headline = (*words.headline(numbers), *words.answer(numbers))
components.top(numbers.speaking, *headline, context=words.context(numbers))

chart.draw(ride_spec(), ride(numbers), key="ride", alt=words.alt(numbers), title="Memory and arithmetic of a step")
dragging.bridge(["ride"], {"batch": words.SLIDER}, most={"batch": numbers.most}, key="ride_along")
hints.show("overview", "Drag the slider under the picture: tokens join the step while you drag.")
with prose.together():
    components.note(words.below(numbers))
    components.section("From here", words.ONWARD)
st.html(f"<style>{leads.STYLE}</style>")
leads.draw(numbers)
ahead.follow(ahead.Pictures(look, {"ride": ahead.chart(ride, words.alt)}))
offers.python(lambda: snippet.code(numbers, state.own_model()))
