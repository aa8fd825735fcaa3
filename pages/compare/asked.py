"""What the page asks for: which B to hold against A, and how to change places."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

import costmodel as cm
from pages.compare import others, words
from pages.compare.numbers import Pair, Side, side
from pages.memory import asked as memory_asked
from pages.parts import controls, live_rates, resolve, state
from pages.parts.scenario import Scenario

PINNED = "pinned"


def pair() -> tuple[Pair, list[str]]:
    """The two sides, and what is to be said about B."""
    values = {key: state.value(key) for key in state.PINNED}
    scenario = controls.scenario()
    theirs, said = _values(values, scenario)
    other, notes = resolve.scenario_of(theirs, live_rates.profile())
    a = _side("A", scenario, values, state.value("hourly"))
    b = _side("B", other, {**theirs, "count": values["count"]}, state.value("hourly_b") or state.value("hourly"))
    carried = words.carried(state.value("pinned"))
    return Pair(a, b), [*(sentence for sentence in (said, carried) if sentence), *(f"B: {note}" for note in notes)]


def _values(values: dict[str, Any], scenario: Scenario) -> tuple[dict[str, Any], str]:
    """Controls of B."""
    chosen, pinned = state.value("other"), state.value("pinned")
    if chosen == PINNED:
        defaults = {key: state.CONTROLS[key].default for key in state.PINNED}
        return {**defaults, **state.unpack_own(pinned)}, ""
    asked = others.Asked(values, scenario, state.value("other_hardware"), state.value("other_model"))
    return others.values_of(chosen, asked)


def _side(name: str, scenario: Scenario, values: dict[str, Any], hourly: float) -> Side:
    batch, context = values["batch"], values["context"]
    memory = replace(memory_asked.memory(scenario), batch=batch, context=context)
    return side(
        name=name, scenario=scenario, batch=batch, prompt=values["prompt"], context=context, count=values["count"],
        hourly=hourly, memory=memory,
    )  # fmt: skip


def own_models() -> tuple[str, str]:
    """The user's own models of A and of B, as a link packs them; "" where there is none."""
    mine, pinned = state.own_model(), state.value("pinned")
    if state.value("other") != PINNED or not pinned:
        return mine, mine
    return mine, str(state.unpack_own(pinned).get("model_config", ""))


def lead(p: Pair) -> str:
    """How a sentence about B begins."""
    return others.lead(state.value("other"), p.b.scenario, p.b.batch)


def other() -> None:
    """The widgets that say what B is, and the buttons that change places."""
    chosen = state.value("other")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="compare_other"):
        offered = [id_ for id_ in others.NAMES if id_ != PINNED or state.value("pinned")]
        controls.choice("other", "B is", offered, others.NAMES.__getitem__)
        if chosen == "hardware":
            controls.choice("other_hardware", "Accelerator of B", text=lambda id_: cm.hardware(id_).name)
        if chosen == "model":
            controls.choice("other_model", "Model of B", text=lambda id_: cm.model(id_).name)
        st.button("Change places", key="swap", on_click=_change_places, help="B goes to the sidebar, and A is pinned.")
        if state.value("pinned"):
            st.button("Unpin", key="unpin", on_click=_unpin, help="Forgets what is pinned.")


def _change_places() -> None:
    """B becomes what the sidebar says, A what is pinned."""
    values = {key: state.value(key) for key in state.PINNED}
    scenario, _ = resolve.scenario_of(values, live_rates.profile())
    theirs, _ = _values(values, scenario)
    packed = state.pack()
    state.put(**theirs, pinned=packed, other=PINNED)


def _unpin() -> None:
    chosen = state.value("other")
    state.put(pinned="", other=state.CONTROLS["other"].default if chosen == PINNED else chosen)


def settle() -> None:
    """Go back to a preset where a link asks for what is pinned and nothing is."""
    if state.value("other") == PINNED and not state.value("pinned"):
        state.notice("other", "Nothing is pinned, so B is A on another accelerator.")
