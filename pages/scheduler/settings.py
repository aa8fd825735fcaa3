"""The widgets of the page, in its order: the story, the policy and its knobs, the workload, the memory."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.parts import components, controls, format, state
from pages.parts.layers import block, keeps
from pages.scheduler import runs, stories, sweep_view, workloads

_UPLOADER, _TRACE, _REFUSED = "sched_upload", "_sched_trace", "_sched_trace_refused"
_ON_OFF = {"on": "on", "off": "off"}


def main() -> None:
    """The four selects above the picture."""
    with st.container(key="scheduler_main"):
        columns = st.columns(4)
        with columns[0]:
            _story()
        with columns[1]:
            controls.choice("policy", "Policy A", list(runs.POLICIES), runs.POLICIES.__getitem__)
        with columns[2]:
            names = {"none": "none", **runs.POLICIES}
            controls.choice("against", "Against, B", list(names), names.__getitem__)
        with columns[3]:
            controls.slider("token_budget", "Tokens a step, at most (A)")
    components.note(stories.look_at(stories.told()), lines=2)


def _story() -> None:
    options = [*stories.STORIES, stories.OWN]
    st.session_state["_story"] = stories.told()
    st.selectbox(
        "Story", options, key="_story", on_change=_tell,
        format_func=lambda id_: "your own settings" if id_ == stories.OWN else stories.STORIES[id_].name,
    )  # fmt: skip


def _tell() -> None:
    chosen = st.session_state["_story"]
    if chosen != stories.OWN:
        state.put(
            **stories.STORIES[chosen].settings,
            sched_step=state.CONTROLS["sched_step"].default,
            zoom=state.CONTROLS["zoom"].default,
        )


def more() -> None:
    """Everything else, folded away, and drawn when it is opened: it would be two fifths of what a move sends."""
    folded = st.expander("Workload, memory and knobs", key="scheduler_more", on_change="rerun")
    if folded.open:
        with folded:
            _workload()
            _memory()
            _knobs()


def _workload() -> None:
    components.caption("Who comes")
    with st.container(horizontal=True, gap="medium"):
        controls.choice("arrivals", "Arrivals", list(workloads.ARRIVALS), workloads.ARRIVALS.__getitem__)
        arrivals = state.value("arrivals")
        controls.slider("requests", "Requests")
        if arrivals == "closed_loop":
            controls.slider("users", "Users")
        elif arrivals != "at_once":
            controls.slider("rate", "Requests a second")
        if arrivals == "gamma":
            controls.slider("burstiness", "Burstiness", "1 is Poisson, less comes in bursts, more is more even.")
    with st.container(horizontal=True, gap="medium"):
        for side, word in (("prompt", "Prompts"), ("output", "Outputs")):
            controls.choice(f"{side}_kind", word, list(workloads.LENGTHS), workloads.LENGTHS.__getitem__)
            if not state.value(f"{side}_kind").startswith("azure"):
                controls.slider(
                    f"{side}_length", f"{word}, tokens", "The median of a lognormal, the mean of the others."
                )
        controls.slider("seed", "Seed")
    _upload()


def _upload() -> None:
    file = st.file_uploader(
        "Or a trace of your own (Azure, Mooncake, BurstGPT, or arrival_s, prompt_tokens, output_tokens)",
        type=["csv", "jsonl", "txt"], max_upload_size=5, key=_UPLOADER, on_change=_take,
    )  # fmt: skip
    if file is not None:
        if refused := st.session_state.get(_REFUSED):
            components.complaint(f"This trace was not taken: {refused}.")
    elif kept := st.session_state.get(_TRACE):  # folded away since, and its widget with it
        components.note(f"The requests are those of {kept[1]}.")
        st.button("Leave the trace out", key="sched_trace_out", on_click=lambda: st.session_state.pop(_TRACE, None))


def _take() -> None:
    """Keep what was uploaded, apart from the widget: it outlives it."""
    file: Any = st.session_state[_UPLOADER]
    st.session_state.pop(_TRACE, None)
    st.session_state.pop(_REFUSED, None)
    if file is None:
        return
    try:
        st.session_state[_TRACE] = (file.file_id, file.name, workloads.read_upload(file.getvalue()))
    except ValueError as error:
        st.session_state[_REFUSED] = str(error)


def _memory() -> None:
    model = controls.scenario().model
    components.caption(f"Where the {keeps(model, number=2)} are")
    with st.container(horizontal=True, gap="medium"):
        whose = " in each pool" if state.value("pools") == "2" else ""
        label = format.capitalised(f"{block(model)}s{whose}")
        controls.slider("kv_blocks", label, "0: as many as fit, as the Memory page says.")
        controls.choice("kv_block", "Tokens a block")
        controls.choice("pools", "Pools", ["1", "2"], {"1": "one", "2": "prefill apart from decode"}.__getitem__)
        if state.value("pools") == "2":
            controls.slider("link", "Link between the pools, GB/s")


def _knobs() -> None:
    components.caption("How the policies decide")
    with st.container(horizontal=True, gap="medium"):
        controls.slider("max_seqs", "Requests running, at most")
        controls.slider("token_budget_b", "Tokens a step, at most (B)")
        controls.choice("watermark", "Watermark", None, _watermark, _own_watermarks())
        controls.slider("long_prefill", "Tokens of one prompt a step", "0: no such limit (vLLM V1).")
        controls.slider("shared_prefix", "Tokens that all prompts begin with", "Found again with prefix caching on.")
    with st.container(horizontal=True, gap="medium"):
        for key, label, texts in (
            ("chunked", "Chunked prefill", _ON_OFF),
            ("reserve", "Reserve whole prompts", _ON_OFF),
            ("prefix", "Prefix caching", _ON_OFF),
            ("padded", "Padded static batch", _ON_OFF),
            ("queue", "Queue", {"fcfs": "first come", "priority": "by priority"}),
            ("lag", "Scheduling", {"0": "in step", "1": "one step ahead"}),
        ):
            controls.choice(key, label, list(texts), texts.__getitem__)


def _watermark(asked: str) -> str:
    """An option of the watermark in words."""
    return "the engine's own" if asked == state.AUTO else sweep_view.WATERMARK.written(float(asked))


def _own_watermarks() -> str:
    """What a watermark is, and which ones the engines have where none is asked for."""
    written = sweep_view.WATERMARK.written
    own = ", ".join(f"{runs.POLICIES[name]} {written(share)}" for name, share in runs.OWN_WATERMARK.items())
    return f"Share of the pool that an admission has to leave free. Of their own: {own}."


def requests() -> tuple[Any, Any]:
    """(what names the workload in a plan, a function that gives its table)."""
    uploaded = st.session_state.get(_TRACE)
    if uploaded is not None:
        file_id, name, table = uploaded
        return f"{name} {file_id}", lambda: table
    workload = workloads.Workload.asked()
    return workload, workload.table
