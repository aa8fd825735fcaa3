"""The Roofline page: what one step costs, and why. Reads top to bottom as the page does."""

import streamlit as st

from pages.parts import ahead, chart, components, controls, dragging, hints, live_rates, offers, prose, state
from pages.parts.shared import shared
from pages.roofline import arithmetic, snippet, table, words
from pages.roofline.numbers import Roofline
from pages.roofline.roof_chart import roof_spec
from pages.roofline.roof_data import roof_data
from pages.roofline.time_chart import time_spec
from pages.roofline.time_data import time_data


def look() -> Roofline:
    """The numbers of the scenario and the workload that the controls say."""
    return shared(
        Roofline(
            controls.scenario(),
            batch=state.value("batch"),
            prompt=state.value("prompt"),
            context=state.value("context"),
            count=state.value("count"),
        )
    )


numbers = look()
components.top(numbers.scenario, *words.headline(numbers))

chart.draw(time_spec(), time_data(numbers), key="time", alt=words.time_alt(numbers), title=words.TIME)
dragging.bridge(["time", "roof"])
hints.show("roofline", "Drag bandwidth or compute under the picture: it follows while you drag.")

with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="workload"):
    controls.slider("batch", "Sequences decoding, B")
    controls.slider("prompt", "Prompt, tokens")
    controls.slider("context", "Context of each, tokens")
    controls.switch("count", "Count the caches", off="weights", on="attention")

with prose.together():
    components.figures(words.figures(numbers))
    components.note(words.below_picture(numbers))
    components.derivation(arithmetic.arithmetic(numbers), key="arithmetic")
    components.section("The same step under the roof", words.under_the_roof(numbers))
chart.draw(roof_spec(), roof_data(numbers), key="roof", alt=words.roof_alt(numbers), title=words.ROOF)

components.section("Where the step goes")
with st.container(horizontal=True, horizontal_alignment="distribute", key="table_controls"):
    shown = controls.segments("step", "Step", table.STEPS)
    sort = controls.segments("sort", "Sorted by", table.SORTS)
profile = live_rates.speaking(numbers.scenario.model)
measured = table.ratios(numbers.scenario, numbers.steps[shown], profile)
with prose.together():
    table.of_step(numbers.cost_of(shown), sort, measured).draw()
    components.note(words.below_table(numbers, shown))

components.questions(words.questions(numbers), key="roofline_question")
pictures = {"time": ahead.chart(time_data, words.time_alt), "roof": ahead.chart(roof_data, words.roof_alt)}
ahead.follow(ahead.Pictures(look, pictures))
offers.python(lambda: snippet.code(numbers, shown, state.own_model()))
