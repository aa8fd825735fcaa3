"""Watching a run: the timeline with its cursor, play, pause, step and scrub, and the step under the cursor.

It is a fragment: while it plays, only this part of the page runs again. The browser keeps the time.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.parts import components, offers, prose, speaking, state
from pages.parts.layers import block
from pages.scheduler import charts, frames, runs, step_view, transport, words
from pages.scheduler.words import Side

STEP, ZOOM = "sched_step", "zoom"
_PLAYING = "_sched_playing"


@st.fragment
def watch(side: Side, crossing: float | None) -> None:
    """Draw the run and the step under the cursor."""
    steps = side.steps
    if steps == 0:
        components.note("No step was made: no request could be served.")
        return
    number = min(int(state.value(STEP)), steps - 1)
    st.session_state[STEP] = number
    view = runs.stepped(side.run).explain(number)
    _timeline(side, crossing, view.start_s, number)
    with st.container(horizontal=True, vertical_alignment="bottom", key="transport"):
        transport.buttons(number, steps, on_move=_go_to)
        if steps > 1:
            st.slider("Step", 0, steps - 1, key=STEP)
    components.figures(step_view.figures(view))
    _opened(side, view, crossing)
    components.derivation(words.arithmetic(side, view), key="scheduler_sums")
    if not state.in_whole_page() and not st.session_state.get(_PLAYING):
        state.publish()


def _go_to(step: int, *, playing: bool) -> None:
    """The buttons moved the cursor; while it plays, the link is left alone."""
    st.session_state[STEP], st.session_state[_PLAYING] = step, playing


def _timeline(side: Side, crossing: float | None, start: float, number: int) -> None:
    window = frames.Window.of(side.run, state.value(ZOOM))
    drawn = frames.datasets(side.run, window, crossing, block(side.plan.scenario.model))
    data = {**drawn, "cursor": frames.cursor(start, number)}
    zoomed = tuple(state.value(ZOOM)) != state.CONTROLS[ZOOM].default
    offers.picture("timeline", "Timeline of A and its steps")
    with st.container(key="timeline"):
        event = st.vega_lite_chart(
            speaking.said(charts.timeline_spec(), data, words.timeline_alt(side, number)),
            key=f"timeline_{'_'.join(map(str, state.value(ZOOM)))}",  # a new window is a new picture, without a brush
            on_select="rerun",
            selection_mode=["brush"],
            width="stretch",
        )
    _zoom(event, side)
    hint = "Drag across the picture to see a part of it in full width."
    if zoomed:
        st.button("Show the whole run", on_click=lambda: state.put(zoom=state.CONTROLS[ZOOM].default))
    else:
        components.note(hint)


def _zoom(event: Any, side: Side) -> None:
    """Take over the span that was marked, in thousandths of the run."""
    marked = (event or {}).get("selection", {}).get("brush", {}).get("t0")
    if not marked or len(marked) != 2:  # noqa: PLR2004
        return
    first, last = frames.run_span(side.run)
    low, high = (round(1000 * (min(max(float(t), first), last) - first) / (last - first)) for t in sorted(marked))
    if high - low >= 2 and (low, high) != tuple(state.value(ZOOM)):  # noqa: PLR2004  # less is a click, not a span
        state.put(zoom=(low, high))
        st.rerun(scope="fragment")


def _opened(side: Side, view: Any, crossing: float | None) -> None:
    """Who is in the step, who is not, and the blocks."""
    model = side.plan.scenario.model
    left, right = st.columns(2, gap="large")
    with left, prose.together():
        components.section("In the step")
        prose.put(step_view.budget_bar(view, crossing).markup)
        step_view.members(view, model).draw()
    with right, prose.together():
        components.section("Not in it, and why")
        table = step_view.outsiders(view)
        if table.rows:
            table.draw()
        else:
            components.note("Everybody who is here is in this step.")
        prose.put(step_view.block_map(view, side.plan.block_size, model).markup)
