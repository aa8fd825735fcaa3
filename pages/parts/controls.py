"""The sidebar that all pages share, and the widgets that pages put beside it, each bound to the URL by its key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import streamlit as st

import costmodel as cm
import live
from costmodel.dtypes import DTYPES, KV_DTYPES
from pages.parts import codec, live_rates, state
from pages.parts.components import caption, complaint, markup
from pages.parts.scenario import Scenario, what_if

_SCENARIO = "_scenario"
_SOURCES = {
    "datasheet": ("○ datasheet", "the floor: no step can be faster"),
    "calibrated": ("◐ calibrated", "an estimate, fitted to published measurements"),
    "live": ("● live", "this machine, not measured yet"),
}
_FALLBACK = "h100-sxm"


def scenario() -> Scenario:
    """What the sidebar says in this run; for pages."""
    found: Scenario = st.session_state[_SCENARIO]
    return found


def sidebar() -> None:
    """Read the URL, draw the shared controls and settle the scenario; call it once a run, before the page."""
    state.restore()
    live_rates.collect()
    with st.sidebar:
        model = _model()
        live_rates.greet(model)
        profile = live_rates.speaking(model)
        hw = _measured(profile) if profile else _hardware()
        precision, tensor_parallel = _precision(model, hw)
        factors = _what_if(hw)
        hw = what_if(hw, **factors)
        source = _source(model, _catalogued() if profile else hw)
    asked = replace(Scenario(model, hw, precision, tensor_parallel, rates=source, source=source), **factors)
    if profile:
        asked = replace(asked, rates=profile.rates, measured=live_rates.described(profile))
    st.session_state[_SCENARIO] = _settled(asked)


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
    hw = own or cm.hardware("h100-sxm").replace(id=state.CUSTOM, name="My accelerator", base=None)
    _custom_form(hw)
    return hw


def _measured(profile: live.Profile) -> cm.Hardware:
    """Say which device was measured: while its rates speak, no other can be chosen."""
    st.selectbox("Hardware", [profile.hardware.name], disabled=True, help="Measured. Another source asks for another.")
    return profile.hardware


def _catalogued() -> cm.Hardware:
    """The hardware that was chosen, while a measured device takes its place."""
    packed, chosen = state.value("accelerator"), state.value("hardware")
    if chosen != state.CUSTOM:
        return cm.hardware(chosen)
    return codec.unpack_hardware(packed) if packed else cm.hardware(_FALLBACK)


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


def _precision(model: cm.Model, hw: cm.Hardware) -> tuple[cm.Precision, int]:
    grid = st.grid(2, min_column_width=90)
    stored = model.quantization.dtype if model.quantization else _wide(hw)
    with grid:
        weights = choice("weights", "Weights", _default_first(DTYPES, stored), _shown(stored))
        cache = model.kv_dtype or _wide(hw)
        kv = choice("kv", "KV cache", _default_first(KV_DTYPES, cache), _shown(cache))
        _only_computable(hw)
        compute = choice(
            "compute", "Compute", _default_first(hw.compute_dtypes, _wide(hw)), _shown(_wide(hw)), _no_unit(hw)
        )
        sizes = [str(n) for n in (1, 2, 4, 8, 16, 32, 64) if _divides(model, n)]
        _only_divisible(model, sizes)
        gpus = choice("tensor_parallel", "GPUs", sizes, help="Tensor parallel: costs are those of one GPU.")
    if weights != state.AUTO and DTYPES[weights].unit not in hw.peak:
        st.caption(f"{weights} is storage only here: {hw.name} has no unit for it, so it is unpacked to {_wide(hw)}.")
    asked = {"weights": weights, "kv": kv, "compute": compute}
    return cm.Precision(**{k: None if v == state.AUTO else v for k, v in asked.items()}), int(gpus)


def _wide(hw: cm.Hardware) -> str:
    """The 16-bit format that the chip computes in; bf16 where it has neither (the price then says what is missing)."""
    return "fp16" if "bf16" not in hw.peak and "fp16" in hw.peak else "bf16"


def _default_first(names: Iterable[str], default: str) -> list[str]:
    """What the model or the chip asks for, in the place of its name, then the others."""
    return [state.AUTO, *(name for name in names if name != default)]


def _shown(default: str) -> Callable[[str], str]:
    return lambda name: default if name == state.AUTO else name


def _only_computable(hw: cm.Hardware) -> None:
    asked = state.value("compute")
    if asked not in (state.AUTO, *hw.compute_dtypes):
        state.notice("compute", f"{hw.name} has no unit that computes in {asked}, so {_wide(hw)} is used instead.")


def _only_divisible(model: cm.Model, sizes: Sequence[str]) -> None:
    asked = state.value("tensor_parallel")
    if asked not in sizes:
        state.notice(
            "tensor_parallel", f"The heads of {model.name} do not divide over {asked} GPUs, so one is used instead."
        )


def _no_unit(hw: cm.Hardware) -> str:
    absent = [name for name in DTYPES if name not in hw.compute_dtypes]
    if not absent:
        return "Every format has a unit on this chip."
    return f"{hw.name} has no unit for {', '.join(absent)}: these are offered for storage (weights, KV cache) only."


@lru_cache(maxsize=512)
def _divides(model: cm.Model, n: int) -> bool:
    try:
        cm.price(model, cm.hardware(_FALLBACK), cm.Step.decode(batch=1, context=1), tensor_parallel=n)
    except cm.ConfigError:
        return False
    return True


def _what_if(hw: cm.Hardware) -> dict[str, Any]:
    caption("What if")
    factors = {
        "bandwidth_x": slider("bandwidth_x", "Bandwidth ×"),
        "compute_x": slider("compute_x", "Compute ×"),
        "memory_x": slider("memory_x", "Memory ×", "How much fits. It does not change how long a step takes."),
    }
    if any(factor != 1 for factor in factors.values()):
        label = f"Back to {'your own' if hw.id == state.CUSTOM else 'datasheet'} figures"
        st.button(label, on_click=lambda: state.put(bandwidth_x=1.0, compute_x=1.0, memory_x=1.0), width="stretch")
    return factors


def _source(model: cm.Model, hw: cm.Hardware) -> str:
    """Ask who answers; ``hw`` is the catalogue's device, or the user's own, never a measured one."""
    caption("Who answers")
    profile = live_rates.profile()
    missing = live_rates.obstacle(profile, model) if profile else _SOURCES["live"][1]
    captions = {"datasheet": _SOURCES["datasheet"][1]}
    if _calibrated(model, hw):
        captions["calibrated"] = _SOURCES["calibrated"][1]
    if profile and not missing:
        captions["live"] = live_rates.described(profile)
    asked = state.value("rates")
    if asked not in captions:
        state.notice("rates", _unanswered(asked, hw, missing))
    st.session_state.setdefault("rates", "datasheet")
    chosen: str = st.radio(
        "Who answers",
        list(captions),
        key="rates",
        format_func=lambda name: _SOURCES[name][0],
        captions=list(captions.values()),
        label_visibility="collapsed",
        persist_state="session",
    )
    if live_rates.pending():
        live_rates.watch()
    elif missing:
        note = markup(missing if profile is None else f"not for this model: {missing}")
        st.html(f'<p class="sc-later muted">{_SOURCES["live"][0]}<br><small>{note}</small></p>')
    return chosen


def _unanswered(asked: str, hw: cm.Hardware, missing: str) -> str:
    """Why a source that was asked for does not answer."""
    if asked == "live":
        return f"There are no live rates ({missing}), so the datasheet answers."
    return f"There are no {asked} rates for {hw.name}, so the datasheet answers."


@lru_cache(maxsize=512)
def _calibrated(model: cm.Model, hw: cm.Hardware) -> bool:
    """Whether fitted rates can price this model on this machine."""
    try:
        cm.price(model, hw, cm.Step.decode(batch=1, context=1), rates="calibrated")
    except ValueError:
        return False
    return True


def _settled(asked: Scenario) -> Scenario:
    """Return the scenario if it can be priced, else the nearest one that can, and say why."""
    candidates = (
        asked,
        replace(asked, precision=cm.Precision()),
        replace(asked, precision=cm.Precision(), tensor_parallel=1),
        Scenario(asked.model, cm.hardware(_FALLBACK), cm.Precision()),
        Scenario(cm.model("qwen3-0.6b"), cm.hardware(_FALLBACK), cm.Precision()),
    )
    reason = ""
    for candidate in candidates:
        try:
            candidate.price(cm.Step.decode(batch=1, context=1))
        except ValueError as error:
            reason = reason or str(error)
            continue
        if reason:
            state.say(f"{reason}. What you see is {candidate.label}.")
        return candidate
    raise AssertionError(reason)
