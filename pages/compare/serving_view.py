"""The part of the pair view that simulates: last on the page, so that nothing waits for it."""

from __future__ import annotations

import streamlit as st

from pages.compare import charts, deltas, serving
from pages.compare.numbers import Pair
from pages.parts import chart_layers as layers
from pages.parts import components, controls
from pages.scheduler.workloads import Workload

TITLE = "The same requests on both"


@st.fragment
def show(pair: Pair) -> None:
    """Requests as the Scheduler page has them, served by A and by B."""
    workload = Workload.asked()
    components.section(TITLE, serving.requests_said(workload))
    runs = _runs(pair, workload)
    if len(runs) == len(pair.sides):
        _drawn(pair, serving.Both(runs["A"], runs["B"]))
    for side in pair.sides:
        if [side.name] == list(runs):
            components.note(serving.alone(side, runs[side.name]))
    if workload.arrivals in serving.PACED:
        controls.slider("rate", "Requests a second")


def _runs(pair: Pair, workload: Workload) -> dict[str, serving.Served]:
    """The runs by side; a sentence for a side that cannot serve."""
    runs, waiting = {}, st.empty()
    for side in pair.sides:
        try:  # a control that moves ends the run where it shows its progress
            run = serving.served(side, workload, progress=lambda _: waiting.empty())
            if len(run.finished):
                runs[side.name] = run
            else:
                components.complaint(serving.none(side, run))
        except ValueError as error:
            components.complaint(serving.refused(side, error))
    return runs


def _drawn(pair: Pair, both: serving.Both) -> None:
    picture = serving.picture(pair, both)
    alt = picture.said("Requests finished against time")
    layers.draw(charts.served_spec(), picture.data(), key="pair_served", message=alt)
    with st.container(key="reasons_served"):
        deltas.table(serving.deltas(both), TITLE).draw()
