"""The Memory page: whether it fits, how much more would, and what would make it fit. Reads as the page does."""

from functools import partial

import streamlit as st

from pages.memory import asked, charts, snippet, words
from pages.memory.numbers import Memory
from pages.parts import ahead, chart, components, controls, offers, prose, state
from pages.parts.datasets import once

bar, curve = partial(once, Memory.bar_data), partial(once, Memory.curve_data)


def look() -> Memory:
    """What the controls say."""
    return asked.memory(controls.scenario().counted())


numbers = look()
scenario = numbers.scenario
context = words.context(numbers)

if not numbers.known:
    components.top(scenario, *words.not_published(numbers), context=context)
    asked.own_memory(numbers)
else:
    components.top(scenario, *words.headline(numbers), context=context, lines=3)
    chart.draw(charts.bar_spec(), bar(numbers), key="memory_bar", alt=words.bar_alt(numbers), title=words.BAR)

    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="memory_workload"):
        controls.slider("batch", "Sequences, B")
        controls.slider("context", "Context of each, tokens", "Prompt and output together.")
        controls.slider("utilization", "The engine may use", asked.UTILIZATION)
        controls.slider("reserve_gib", "Reserve, GiB", asked.RESERVE)
    with st.grid(3, min_column_width=210, vertical_alignment="bottom", key="memory_engine"):
        asked.how_it_allocates(numbers)
        asked.remedies(numbers)
    if scenario.hardware.memory is None:
        asked.own_memory(numbers)

    with prose.together():
        components.figures(words.figures(numbers))
        components.note(words.below_picture(numbers), lines=2)
        components.derivation(words.arithmetic(numbers), key="memory_sums")

    components.section("How many fit, by context", words.curve(numbers))
    alt = words.curve_alt(numbers)
    chart.draw(charts.curve_spec(), curve(numbers), key="memory_curve", alt=alt, title=words.MOST)

    with prose.together():
        components.section("What is where", words.rounding(numbers))
        words.parts_table(numbers).draw()
        if numbers.gpus > 1:
            components.note(words.parallel(numbers))
        if numbers.windowed:
            components.section("Windows: two bounds", words.TWO_WAYS)
            words.two_ways_table(numbers).draw()

    components.questions(words.questions(numbers), key="memory_question")
    pictures = {"memory_bar": ahead.chart(bar, words.bar_alt), "memory_curve": ahead.chart(curve, words.curve_alt)}
    ahead.follow(ahead.Pictures(look, pictures))
    offers.python(lambda: snippet.code(numbers, state.own_model()))
