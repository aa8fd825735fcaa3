"""The Model page: what was understood of a config, part by part, and what a naive reading would get wrong."""

from functools import partial

import streamlit as st

from pages.model import charts, naive, own, snippet, words
from pages.model.numbers import Understood
from pages.parts import ahead, chart, components, controls, offers, prose, state
from pages.parts.datasets import once
from pages.parts.shared import shared

stack = partial(once, Understood.stack_data)


def look() -> Understood:
    """The model of the scenario, and what a sequence of this context keeps of it."""
    return shared(Understood(controls.scenario().counted(), state.value("context")))


numbers = look()
scenario = numbers.scenario

components.top(scenario, *words.headline(numbers), context="counted from the config; nothing measured")
if words.left_out(numbers):
    components.complaint(words.left_out(numbers))

alt = words.stack_alt(numbers)
chart.draw(charts.stack_spec(len(numbers.lanes)), stack(numbers), key="stack", alt=alt, title="The layers of the model")
with st.container(width=420, key="model_context"):
    controls.slider("context", "Context of a sequence, tokens", "Windows stop growing, full layers do not.")
own.ask()

with prose.together():
    components.figures(words.figures(numbers))
    components.note(words.read_from(numbers))
    components.section("How a naive reading would differ", words.caches_of_naive(numbers))
    naive.draw(words.naive(numbers))
    components.section("The layers", "Each kind of layer, counted from 1 at the input.")
    words.kinds_table(numbers).draw()
    if words.more_kinds(numbers):
        components.note(words.more_kinds(numbers))
    components.section("What was understood", "Open any number to see where it comes from.")
    for item in words.understood(numbers):
        components.derivation(item.lines, key=f"understood_{item.key}", title=item.title)

components.questions(words.questions(), key="model_question")
ahead.follow(ahead.Pictures(look, {"stack": ahead.chart(stack, words.stack_alt)}))
offers.python(lambda: snippet.code(numbers, state.own_model()))
