"""What can be measured, with which plan, and how far a measurement is: it runs in a process of its own."""

from __future__ import annotations

import streamlit as st

import costmodel as cm
import live
from pages.measure import words
from pages.parts import components, live_rates, state
from pages.parts.scenario import Scenario

_LOOK = 0.5  # seconds between looks at what runs elsewhere


def ask(model: cm.Model, profile: live.Profile | None) -> None:
    """Offer a measurement, or show the one under way; say how the last one ended."""
    bench = live_rates.bench()
    if bench.busy:
        _watch()
        return
    _say_how_it_ended(bench)
    search = live_rates.search()
    if search.alive:
        _wait()
    elif search.error or not search.devices:
        components.complaint(search.error or "No device was found.")
        components.note(words.NO_TORCH)
        _look_again()
    else:
        _offer(model, search.devices, measured=profile is not None)


def offer_to_speak(scenario: Scenario, profile: live.Profile) -> None:
    """One click to the measured rates, while another source answers."""
    if scenario.source == "live":
        return
    if missing := live_rates.obstacle(profile, scenario.model):
        components.note(f"These rates cannot answer for {scenario.model.name}: {missing}.")
        return
    with st.container(horizontal=True, vertical_alignment="center", key="measure_speak_row"):
        components.note(f"On the other pages {scenario.source} rates answer, for {scenario.hardware.name}.")
        st.button("Let this profile answer", on_click=state.put, kwargs={"rates": "live"}, key="measure_speak")


def _say_how_it_ended(bench: live_rates.Bench) -> None:
    if bench.job is None:
        return
    if bench.job.state == "failed":
        components.complaint(f"Nothing was measured. {bench.job.error}")
    elif bench.job.state == "stopped":
        components.note("The measurement was stopped. Nothing is left running, and nothing of it was kept.")


@st.fragment(run_every=_LOOK)
def _wait() -> None:
    """The search for devices; the page runs again when it has ended."""
    if not live_rates.search().alive:
        st.rerun()
    components.note("Looking for devices that PyTorch can use here …")


@st.fragment(run_every=_LOOK)
def _watch() -> None:
    """The measurement under way; the page runs again when it has ended."""
    bench = live_rates.bench()
    if bench.job is None or not bench.job.alive:
        st.rerun()
    progress = bench.job.progress
    with st.container(horizontal=True, vertical_alignment="bottom", key="measure_progress"):
        st.progress(progress.fraction if progress else 0.0, words.progress(progress))
        st.button("Stop", on_click=bench.stop, key="measure_stop")


def _look_again() -> None:
    st.button("Look again", on_click=live_rates.look_again, key="measure_look")


def _offer(model: cm.Model, devices: tuple[live.Device, ...], *, measured: bool) -> None:
    """Ask for device and plan, and start."""
    by_id = {device.id: device for device in devices}
    with st.container(horizontal=True, vertical_alignment="bottom", key="measure_row"):
        chosen = st.selectbox("Device", list(by_id), format_func=lambda id_: by_id[id_].name, key="measure_device")
        row = _which(by_id[chosen])
        plan = st.segmented_control(
            "Plan", list(live.PLANS), default="quick", format_func=words.plan, key="measure_plan", required=True
        )
        st.button(
            "Measure again" if measured else "Measure",
            on_click=live_rates.bench().start,
            args=(model, chosen, plan, row),
            type="primary",
            key="measure_start",
        )
    components.note(words.what_it_does(model, by_id[chosen]))
    with st.expander("What is known of the device", key="measure_facts"):
        for name, fact in live.describe(by_id[chosen]).items():
            components.note([components.Ink(f"{name}: ", "ink", strong=True), fact])
        _look_again()


def _which(device: live.Device) -> str | None:
    """The row of the catalogue, asked for where the device's name leaves it open."""
    if device.match.hardware is not None or not device.match.candidates:
        return None
    rows = [None, *device.match.candidates]
    return st.selectbox(
        "Which of these is it?",
        rows,
        format_func=lambda id_: "I do not know" if id_ is None else cm.hardware(id_).name,
        key="measure_which",
        help=device.match.reason,
    )
