"""The Shapes page: one step of one block in cells, prefill beside decode. Reads top to bottom as the page does."""

from functools import partial

import streamlit as st

from pages.parts import ahead, components, controls, hints, offers, prose, spreadsheet, state
from pages.shapes import drawing, moves, scenes, snippet, words, words_batch, words_run
from pages.shapes.numbers import Shapes


def look() -> Shapes:
    """The steps that the controls say."""
    return moves.numbers(controls.scenario())


numbers = look()
equal = state.value("cells") == "equal"

components.top(numbers.scenario, *words.headline(numbers))

drawing.step(key="shapes_step", data=scenes.step(numbers, equal=equal))

hints.show(
    "shapes", "Point at any cell, or reach the picture with Tab and move with the arrow keys: it says what it is."
)

with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="shapes_controls"):
    controls.slider("tokens", "Tokens of the sentence")
    controls.slider("rows", "Rows of the second step")
    moves.layers(numbers)
    with st.container(width="content", gap=None):
        controls.switch("cells", "Equal cells", off="true", on="equal")
        controls.switch("count", "Count the caches", off="weights", on="attention")

with prose.together():
    components.figures(words.figures(numbers))
    components.note(words.below_picture(numbers, equal=equal))
    components.derivation(words.arithmetic(numbers), key="shapes_arithmetic")
    components.section("What does a whole run cost?", words_run.intro(numbers))
drawing.run(
    key="shapes_run",
    data=scenes.run(numbers, equal=equal, measure=state.value("run_measure")),
    on_step_change=moves.step_moved,
)
with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="run_controls"):
    controls.slider("run_prompt", "Tokens of the prompt")
    controls.slider("run_tokens", "Tokens to generate")
    controls.segments("run_measure", "Triangle of", {"rows": "rows", "flops": "FLOPs", "seconds": "time"})
offers.file("Bill of the run, a row a step", "csv", lambda: spreadsheet.frame(numbers.run_table()))

with prose.together():
    components.note(words_run.triangle(numbers))
    components.section(words_batch.title(numbers), words_batch.gathered(numbers))
drawing.gathered(key="shapes_gathered", data=scenes.gathered(numbers), on_lengths_change=moves.lengths_moved)

components.section("A chunk of a prompt beside decodes", words_batch.mixed(numbers))
drawing.gathered(key="shapes_mixed", data=scenes.mixed(numbers))
with st.container(horizontal=True, gap="medium", key="mixed_controls"):
    controls.slider("chunk", "Tokens of the chunk")
    controls.slider("chunk_cached", "Tokens of its prompt that went before")

components.section("Who reads whose keys?", words_batch.who_reads(numbers))
if groups := scenes.head_groups(numbers):
    drawing.heads(key="shapes_heads", data=groups)

components.questions(words.questions(), key="shapes_question")
pictures = {"shapes_step": ahead.whole(partial(scenes.step, equal=equal)), "shapes_mixed": ahead.whole(scenes.mixed)}
if groups:
    pictures["shapes_heads"] = ahead.whole(scenes.head_groups)
ahead.follow(ahead.Pictures(look, pictures))
offers.python(lambda: snippet.code(numbers, state.own_model()))
