"""From the controls to the page's numbers, and from a hand in a picture back to the controls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

import costmodel as cm
from costmodel.shapes import Run, layer_kinds
from pages.parts import state
from pages.parts.format import many
from pages.parts.scenario import Scenario
from pages.parts.shared import shared
from pages.shapes import words
from pages.shapes.numbers import Shapes


def numbers(scenario: Scenario) -> Shapes:
    """The page's numbers, with what does not go together (more rows than tokens, a step after the end) cut to fit."""
    run = Run(state.value("run_prompt"), state.value("run_tokens"))
    tokens, kinds = state.value("tokens"), len(layer_kinds(scenario.model))
    return shared(
        Shapes(
            scenario=scenario,
            tokens=tokens,
            rows=min(state.value("rows"), tokens),
            kind=min(state.value("layer"), kinds - 1),
            run=run,
            step=min(state.value("run_step"), run.steps - 1),
            lengths=tuple(state.value("lengths")),
            chunk=state.value("chunk"),
            chunk_cached=state.value("chunk_cached"),
            count=state.value("count"),
        )
    )


def layers(n: Shapes) -> None:
    """A select for the kind of layer, where there are several."""
    if len(n.kinds) < 2:  # noqa: PLR2004
        return

    def moved() -> None:
        state.put(layer=st.session_state["layer_choice"])

    st.session_state["layer_choice"] = n.kind
    st.selectbox(
        "Layer",
        range(len(n.kinds)),
        key="layer_choice",
        format_func=lambda i: f"{words.layer_name(n.kinds[i][0])} ({many(n.kinds[i][1], 'layer')})",
        on_change=moved,
        width=280,
    )


def step_moved() -> None:
    """Keep the step at which the run was stopped."""
    _take("shapes_run", "step", "run_step", str)


def lengths_moved() -> None:
    """Keep the lengths that the sequences were dragged to."""
    _take("shapes_gathered", "lengths", "lengths", lambda lengths: ".".join(str(length) for length in lengths))


def _take(component: str, name: str, control: str, write: Callable[[Any], str]) -> None:
    """Move a value that the browser sent into its control, checked as a link's would be; the impossible is let go."""
    sent = st.session_state[component].get(name)
    try:
        state.put(**{control: state.CONTROLS[control].parse(write(sent))})
    except (cm.ConfigError, TypeError):
        return
