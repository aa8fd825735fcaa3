"""The Accuracy page: how far off floor and estimate are, where not to lean on them, and one's own measured steps."""

from dataclasses import replace

import streamlit as st

from pages.accuracy import charts, own, snippet, words
from pages.accuracy.numbers import OPERATIONS, asked, drawn, gpu_name
from pages.parts import chart, components, controls, offers, prose, state

scenario = controls.scenario()
if scenario.source == "datasheet":
    scenario = replace(scenario, rates="calibrated", source="calibrated")
sizes = state.value("batch"), state.value("context"), state.value("prompt")
errors = asked(state.value("error_rows"), state.value("error_gpu"), state.value("error_operation"))

components.top(scenario, *words.headline(), context=words.CONTEXT)

if errors.rows:
    data = drawn(errors, charts.PITCH, charts.TOP)
    spec, alt = charts.errors_spec(len(errors.rows)), words.errors_alt(errors)
    chart.draw(spec, data, key="errors", alt=alt, title="Errors of floor and estimate")
else:
    components.complaint("Nobody measured that operation there: choose another GPU or another operation.")

with st.container(horizontal=True, vertical_alignment="bottom", key="errors_row"):
    controls.segments("error_rows", "Lines", words.ROWS)
    controls.choice("error_gpu", "Measured on", text=gpu_name)
    controls.choice("error_operation", "Operation", text=lambda name: OPERATIONS.get(name, "All operations"))

with prose.together():
    components.figures(words.figures())
    components.note(words.below_picture(errors))
with st.expander("The figures, and whose measurements they are", key="errors_figures"), prose.together():
    words.errors_table(errors).draw()
    components.note("Measured by others: " + "; ".join(words.sources(errors)) + ".")

with prose.together():
    components.section("Where it is weak")
    for weakness in words.weaknesses():
        components.note([components.Ink(f"{weakness.name}. ", "ink", strong=True), weakness.text])
    components.section("What the estimate for this model and machine rests on", words.nearest_steps(scenario))
with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="estimate_row"):
    controls.slider("batch", "Sequences decoding, B")
    controls.slider("context", "Context of each, tokens")
    controls.slider("prompt", "Prompt, tokens")
try:
    steps = words.estimates(scenario, *sizes)
except ValueError as error:
    steps = []
    components.complaint(f"There is no estimate for {scenario.label}: {error}.")
for number, step in enumerate(steps):
    components.note(step.sentence())
    title = f"Its {len(step.rests_on)} rates, and where each comes from"
    with st.expander(title, key=f"rests_on_{number}"), prose.together():
        for line in step.rests_on:
            components.note(line)

components.section("Try your own", "Steps that you measured: what the floor and the estimate say of them.", asks=True)
own.ask()
own.show()

components.questions(words.questions(), key="accuracy_question")
offers.python(lambda: snippet.code(scenario, *sizes, state.own_model()))
