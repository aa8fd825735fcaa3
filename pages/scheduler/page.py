"""The Scheduler page: who goes in a step, under one policy or two. Reads top to bottom as the page does."""

import json

import streamlit as st

from costmodel import serving
from pages.parts import chart, components, controls, hints, offers, prose, spreadsheet, state
from pages.scheduler import charts, frames, runs, settings, snippet, step_view, sweep_view, watch, words
from pages.scheduler.words import Side

scenario = controls.scenario()
st.html(f"<style>{step_view.STYLE}</style>")
workload, source = settings.requests()
try:
    plan = runs.Plan.asked(scenario, workload, runs.Knobs.asked(state.value("policy")))
    a = Side(plan, runs.run(plan, source))
    b = None
    if state.value("against") != "none":
        other = runs.Plan.asked(scenario, workload, runs.Knobs.asked(state.value("against"), "token_budget_b"))
        b = Side(other, runs.run(other, source))
    crossing = scenario.crossing()
except ValueError as error:
    components.top(scenario, "These settings cannot be simulated.", context="nothing was simulated")
    components.complaint(words.refused(error, scenario))
    settings.main()
    settings.more()
    st.stop()

components.top(scenario, *words.headline(a, b), context=words.context(a))
settings.main()
settings.more()
for side, letter in ((a, "A" if b is not None else ""), *([(b, "B")] if b is not None else [])):
    for sentence in words.rejected(side, letter):
        components.complaint(sentence)

st.html(step_view.legend(scenario.model))
watch.watch(a, crossing)
hints.show("scheduler", "Draw a stretch over the timeline to look closer. The buttons go through it step by step.")

with prose.together():
    components.note(words.conservation(a))
    if scenario.tensor_parallel > 1 and state.value("attention_parallel") == "data":
        components.note(words.HEADS_DIVIDED)
    if b is not None:
        components.section("Two policies, the same requests", f"● A: {a.name}. ○ B: {b.name}.")
        words.comparison(a, b).draw()
if b is not None:
    last = max(frames.run_span(side.run)[1] for side in (a, b))
    for column, side, letter in zip(st.columns(2), (a, b), "AB", strict=True):
        with column:
            start, end = frames.run_span(side.run)
            whole = frames.datasets(side.run, frames.Window(start, last), None)
            data = {name: whole[name] for name in charts.SMALL_READS}  # Vega raises on new data that it does not read
            components.note(f"{letter}, {side.name}")
            chart.draw(
                charts.small_spec(),
                {**data, "end": frames.cursor(end, 0)},
                key=f"small_{letter}",
                alt=words.small_alt(side),
                title=f"Timeline of {letter}",
            )

components.section(
    "Sweeps", "The same requests again and again, with one knob moved. Moving any control stops a sweep."
)
with st.container(horizontal=True, key="sweeps"):
    asked = [sweep for sweep in sweep_view.offered(plan) if st.button(sweep.title, key=f"sweep_{sweep.knob}_go")]
for sweep in asked:
    table, full = sweep_view.run(sweep, plan, source())
    st.session_state["_sweep"] = (sweep, plan, table, full)
if (kept := st.session_state.get("_sweep")) is not None and kept[1] == plan:
    now = plan.knobs.token_budget if kept[0] is sweep_view.BUDGET else None
    sweep_view.draw(kept[0], kept[2], kept[3], now)

offers.file("Requests of A", "csv", lambda: spreadsheet.frame(a.run.requests))
offers.file("Steps of A", "csv", lambda: spreadsheet.frame(a.run.steps))
offers.file("Trace of A for Perfetto", "json", lambda: json.dumps(serving.chrome_trace(a.run)))

components.questions(words.questions(scenario.model), key="scheduler_question")
offers.python(lambda: snippet.code(a, b, state.value("sched_step"), state.own_model()))
