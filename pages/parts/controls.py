"""The sidebar that all pages share, and the widgets that pages put beside it, each bound to the URL by its key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

import costmodel as cm
import live
from costmodel.dtypes import DTYPES, KV_DTYPES
from pages.parts import codec, live_rates, resolve, state
from pages.parts.components import caption, complaint, markup
from pages.parts.expected import no_faster
from pages.parts.layers import is_sparse
from pages.parts.scenario import Scenario, what_if

_SCENARIO = "_scenario"
_SOURCES = {
    "datasheet": "○ datasheet",
    "calibrated": "◐ calibrated",
    "live": "● live",
}


def scenario() -> Scenario:
    """What the sidebar says in this run, or what it would say; for pages."""
    found: Scenario = st.session_state[_SCENARIO]
    if state.supposed(state.SCENARIO):
        found, _ = resolve.scenario_of(_values(), live_rates.speaking(found.model))
    return found


def sidebar() -> None:
    """Draw the shared controls and settle the scenario; call it once a run, after the URL is read, before the page."""
    live_rates.collect()
    with st.sidebar:
        model = _model()
        live_rates.greet(model)
        profile = live_rates.speaking(model)
        hw = _measured(profile) if profile else _hardware()
        _precision(model, hw)
        factors = _what_if(hw)
        asked = resolve.hardware_of(_values()) if profile else hw
        _source(model, what_if(asked, **factors))
        _pin()
    scenario, said = resolve.scenario_of(_values(), profile)
    for sentence in said:
        state.say(sentence)
    st.session_state[_SCENARIO] = scenario


def _values() -> dict[str, Any]:
    return {key: state.value(key) for key in state.SCENARIO}


# ---- widgets for pages ---------------------------------------------------------------------------------------


def slider(key: str, label: str, help: str | None = None) -> Any:  # noqa: A002  # Streamlit's word
    """A slider for the ``Number`` of this key: over its grid where it has one, else evenly."""
    control = state.CONTROLS[key]
    if not isinstance(control, state.Number):
        raise TypeError(f"{key} is no slider")
    state.drawn(key)
    if control.grid:
        stops = state.options(control)
        return st.select_slider(label, stops, control.default, key=key, help=help, bind="query-params")
    low, high, step = control.low, control.high, control.step
    return st.slider(label, low, high, control.default, step, key=key, help=help, bind="query-params")


def choice(
    key: str,
    label: str,
    options: Sequence[Any] | None = None,
    text: Callable[[Any], str] = str,
    help: str | None = None,  # noqa: A002
) -> Any:
    """A select for the ``Choice`` of this key; the URL carries the option itself, the page shows ``text(option)``."""
    control = state.CONTROLS[key]
    if options is None:
        options = control.options() if isinstance(control, state.Choice) else ()
    if state.value(key) not in options:
        st.session_state[key] = control.default
    st.session_state.setdefault(key, control.default)
    return st.selectbox(label, options, key=key, format_func=text, help=help, persist_state="session")


def segments(key: str, label: str, texts: Mapping[str, str]) -> str:
    """The options of a ``Choice`` side by side, one of them chosen: ``texts`` says how each reads."""
    st.session_state.setdefault(key, state.CONTROLS[key].default)
    chosen = st.segmented_control(
        label, list(texts), key=key, format_func=texts.__getitem__, required=True, label_visibility="collapsed",
        persist_state="session",
    )  # fmt: skip
    return str(chosen)


def switch(key: str, label: str, off: str, on: str, help: str | None = None) -> bool:  # noqa: A002
    """A toggle between two options of a ``Choice``."""

    def moved() -> None:
        st.session_state[key] = on if st.session_state[widget] else off

    widget = f"{key}_switch"
    st.session_state[widget] = state.value(key) == on
    return st.toggle(label, key=widget, on_change=moved, help=help)


# ---- the sidebar, from top to bottom -------------------------------------------------------------------------


def _model() -> cm.Model:
    packed = state.value("model_config")
    if state.value("model") == state.CUSTOM and not packed:
        state.notice("model", "The link names a model of its own but does not carry one. The default is used instead.")
    ids = [*cm.model(), *([state.CUSTOM] if packed else [])]
    own = codec.own_model(packed) if packed else None
    chosen = choice("model", "Model", ids, lambda id_: _model_name(id_, own))
    return own if own and chosen == state.CUSTOM else cm.model(chosen)


def _model_name(id_: str, own: cm.Model | None) -> str:
    return f"{own.name} (your own)" if own and id_ == state.CUSTOM else cm.model(id_).name


def _hardware() -> cm.Hardware:
    packed = state.value("accelerator")
    own = codec.unpack_hardware(packed) if packed else None
    ids = [*cm.hardware(), state.CUSTOM]
    chosen = choice("hardware", "Hardware", ids, lambda id_: _hardware_name(id_, own))
    if chosen != state.CUSTOM:
        hw = cm.hardware(chosen)
        _confidence(hw)
        return hw
    hw = resolve.own_accelerator(packed)
    _custom_form(hw)
    return hw


def _measured(profile: live.Profile) -> cm.Hardware:
    """Say which device was measured: while its rates speak, no other can be chosen."""
    st.selectbox("Hardware", [profile.hardware.name], disabled=True, help="Measured. Another source asks for another.")
    return profile.hardware


def _hardware_name(id_: str, own: cm.Hardware | None) -> str:
    if id_ == state.CUSTOM:
        return f"{own.name} (your own)" if own else "Your own …"
    hw = cm.hardware(id_)
    return f"{hw.name} ◇" if hw.confidence == "C" else hw.name


def _confidence(hw: cm.Hardware) -> None:
    if hw.confidence == "C":
        st.caption("◇ preliminary or recalled figures: not confirmed by a vendor's sheet")


def _custom_form(hw: cm.Hardware) -> None:
    """Figures of the user's own accelerator, starting from ``hw``; taken over when the button is pressed."""
    with st.form("own_accelerator", border=True):
        name = st.text_input("Name", hw.name, max_chars=80)
        grid = st.grid(2, min_column_width=90)
        memory = grid.number_input("Memory, GB", 0.0, value=(hw.memory or 0.0) / 1e9, format="%.4g")
        bandwidth = grid.number_input("Bandwidth, GB/s", 0.0, value=hw.bandwidth / 1e9, format="%.5g")
        peaks = {
            unit: grid.number_input(f"{unit}, TFLOP/s", 0.0, value=hw.peak.get(unit, 0.0) / 1e12, format="%.5g")
            for unit in codec.PEAK_UNITS
        }
        st.caption("Dense rates. 0 means that there is no such unit.")
        if not st.form_submit_button("Use these figures", width="stretch"):
            return
    try:
        own = codec.custom_hardware(
            name,
            bandwidth=bandwidth * 1e9,
            memory=memory * 1e9 or None,
            peak={unit: rate * 1e12 for unit, rate in peaks.items() if rate},
        )
    except ValueError as error:
        complaint(f"Not taken over. {error}")
        return
    st.session_state["accelerator"] = codec.pack_hardware(own)
    st.rerun()


def _precision(model: cm.Model, hw: cm.Hardware) -> None:
    grid = st.grid(2, min_column_width=90)
    stored, cache, wide = resolve.stored_weights(model, hw), resolve.stored_cache(model, hw), resolve.wide(hw)
    with grid:
        weights = choice("weights", "Weights", resolve.default_first(DTYPES, stored), _shown(stored))
        choice("kv", "KV cache", resolve.default_first(KV_DTYPES, cache), _shown(cache))
        _only_computable(hw)
        formats = resolve.default_first(hw.compute_dtypes, wide)
        choice("compute", "Compute", formats, _shown(wide), _no_unit(hw))
        sizes = resolve.group_sizes(model)
        _only_divisible(model, sizes)
        choice("tensor_parallel", "GPUs", sizes, help="Tensor parallel: costs are those of one GPU.")
    if weights != state.AUTO and DTYPES[weights].unit not in hw.peak:
        st.caption(f"{weights} is storage only here: {hw.name} has no unit for it, so it is unpacked to {wide}.")


def _shown(default: str) -> Callable[[str], str]:
    return lambda name: default if name == state.AUTO else name


def _only_computable(hw: cm.Hardware) -> None:
    asked = state.value("compute")
    if asked not in (state.AUTO, *hw.compute_dtypes):
        state.notice("compute", resolve.no_unit(hw, asked))


def _only_divisible(model: cm.Model, sizes: Sequence[str]) -> None:
    asked = state.value("tensor_parallel")
    if asked not in sizes:
        state.notice("tensor_parallel", f"{resolve.undivided(model, asked)}, so one is used instead.")


def _no_unit(hw: cm.Hardware) -> str:
    absent = [name for name in DTYPES if name not in hw.compute_dtypes]
    if not absent:
        return "Every format has a unit on this chip."
    return f"{hw.name} has no unit for {', '.join(absent)}: these are offered for storage (weights, KV cache) only."


def _what_if(hw: cm.Hardware) -> dict[str, Any]:
    caption("What if")
    factors = {
        "bandwidth_x": slider("bandwidth_x", "Bandwidth ×"),
        "compute_x": slider("compute_x", "Compute ×"),
        "memory_x": slider("memory_x", "Memory ×", "How much fits. It does not change how long a step takes."),
    }
    label = f"Back to {'your own' if hw.id == state.CUSTOM else 'datasheet'} figures"
    back = {"bandwidth_x": 1.0, "compute_x": 1.0, "memory_x": 1.0}
    st.button(label, on_click=state.put, kwargs=back, disabled=factors == back, width="stretch", key="back_to_figures")
    return factors


def _source(model: cm.Model, hw: cm.Hardware) -> None:
    """Ask who answers; ``hw`` is the catalogue's device, or the user's own, never a measured one."""
    caption("Who answers")
    profile = live_rates.profile()
    missing = resolve.unmeasured(profile, model)
    captions = {"datasheet": f"the floor: {no_faster(expects=is_sparse(model))}"}
    if resolve.calibrated(model, hw):
        captions["calibrated"] = "an estimate, fitted to published measurements"
    if profile and not missing:
        captions["live"] = live_rates.described(profile)
    asked = state.value("rates")
    if asked not in captions:
        state.notice("rates", resolve.unanswered(asked, hw, missing))
    st.session_state.setdefault("rates", "datasheet")
    st.radio(
        "Who answers",
        list(captions),
        key="rates",
        format_func=_SOURCES.__getitem__,
        captions=list(captions.values()),
        label_visibility="collapsed",
        persist_state="session",
    )
    if live_rates.pending():
        live_rates.watch()
    elif missing:
        note = markup(missing if profile is None else f"not for this model: {missing}")
        st.html(f'<p class="sc-later muted">{_SOURCES["live"]}<br><small>{note}</small></p>')


def _pin() -> None:
    """Keep this scenario and its workload, to be held against another on the Compare page."""
    caption("Compare")
    st.button(
        "Pin as B", key="pin", width="stretch", on_click=lambda: state.put(pinned=state.pack(), other="pinned"),
        help="Keeps this scenario and workload as B: change what you like, and the Compare page shows both.",
    )  # fmt: skip
    if packed := state.value("pinned"):
        pinned, _ = resolve.scenario_of(state.unpack_own(packed), live_rates.profile())
        st.html(f'<p class="sc sc-note">B: {markup(pinned.label)}</p>')
