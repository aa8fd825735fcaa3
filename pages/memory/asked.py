"""What the Memory page asks for: how the engine allocates, a memory that no datasheet gives, and remedies to take."""

from __future__ import annotations

import streamlit as st

from costmodel.hardware import GIB
from pages.memory.numbers import Memory, Remedy
from pages.parts import codec, controls, state
from pages.parts.components import complaint, note, row_button
from pages.parts.format import gibibytes, many, marketed
from pages.parts.scenario import Scenario
from pages.parts.shared import shared

UTILIZATION = "Of the usable memory. vLLM takes 0.9 unless told otherwise (gpu_memory_utilization)."
RESERVE = (
    "For activations, graphs and the runtime. vLLM's log for Llama-3.1-8B on an RTX 3090, at 20,000 tokens a step, has "
    "2.1 GiB of activations and 0.35 GiB outside torch (vLLM issue 10517)."
)
_REMEDIES = "What would make it fit"
_ALLOCATION = {"windowed": "windows kept only", "full": "full pages for every layer"}
_PARALLEL = {"tensor": "heads over the GPUs", "data": "sequences over the GPUs"}


def memory(scenario: Scenario) -> Memory:
    """The page's numbers, from its controls."""
    given = codec.unpack_memory(state.value("own_memory")) if state.value("own_memory") else ("", None)
    return shared(
        Memory(
            scenario,
            batch=state.value("batch"),
            context=state.value("context"),
            utilization=state.value("utilization"),
            reserve_bytes=state.value("reserve_gib") * GIB,
            block_size=int(state.value("kv_block")),
            allocation=state.value("allocation"),
            attention_parallel=state.value("attention_parallel"),
            own_memory=given[1] if given[0] == scenario.hardware.id else None,
        )
    )


def how_it_allocates(m: Memory) -> None:
    """The choices that only some models and groups have."""
    controls.choice("kv_block", "Tokens a cache block", help="Caches are rounded up to whole blocks.")
    if m.windowed:
        controls.choice("allocation", "Layers with a window", text=_ALLOCATION.__getitem__)
    if m.gpus > 1:
        controls.choice("attention_parallel", "Attention divides", text=_PARALLEL.__getitem__)


def own_memory(m: Memory) -> None:
    """A field for the usable memory of a chip for which none is published."""
    hw = m.scenario.hardware
    whole = hw.memory_marketed
    if not m.known:
        box = f" On the box: {marketed(whole)}, which is {gibibytes(whole)}." if whole else ""
        complaint(f"Give the usable memory of {hw.name} to see what fits.{box}")

    def given() -> None:
        gib = st.session_state["own_memory_gib"]
        state.put(own_memory=codec.pack_memory(hw.id, gib) if gib else "")

    st.session_state["own_memory_gib"] = m.own_memory / GIB if m.own_memory else None
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="own_memory_row"):
        st.number_input(
            f"Usable memory of {hw.name}, GiB", 0.0, float(codec.LARGEST_MEMORY_GIB), key="own_memory_gib",
            on_change=given, placeholder="not published", format="%.4g", width=320,
        )  # fmt: skip
        if whole and not m.own_memory:
            packed = codec.pack_memory(hw.id, whole / GIB)
            st.button(f"Take all {marketed(whole)}", on_click=state.put, kwargs={"own_memory": packed})


def remedies(m: Memory) -> None:
    """Changes that make it fit, each with a button that makes it.

    They open over the page, from a button that is there when it fits too: so nothing moves when it no longer does.
    """
    if m.fit.fits:
        st.popover(_REMEDIES, disabled=True, width="stretch", key="memory_no_remedies")
        return
    with st.popover(_REMEDIES, type="primary", width="stretch", key="memory_remedies"):
        found = m.remedies()
        if not found:
            complaint("No single change in reach makes it fit: not 64 GPUs, no chip of the catalogue, no format.")
            return
        note("Each change alone, tried; the smallest one of its kind.")
        for number, remedy in enumerate(found):
            row_button(_then(m, remedy), f"Set {remedy.short}", remedy.controls, key=f"remedy_{number}_set")


def _then(m: Memory, remedy: Remedy) -> str:
    now, then = m.fit, remedy.then.fit
    weights = ""
    if then.weight_bytes != now.weight_bytes:
        gpu = " on each GPU" if remedy.then.gpus > 1 else ""
        weights = f"The weights take {gibibytes(then.weight_bytes)}{gpu}. "
    few = "Only " if remedy.then.batch < m.batch else "Up to "
    length = many(remedy.then.context, "token")
    most = many(then.max_batch, f"sequence of {length} fits", f"sequences of {length} fit")
    return f"{remedy.change}. {weights}{few}{most}."
