"""A model of one's own: pasted, uploaded or fetched, it becomes the sidebar's; what cannot be read changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import streamlit as st

import costmodel as cm
from costmodel.config import parse
from pages.parts import codec, hub, state
from pages.parts.components import caption, complaint, note

_REFUSED = "_own_model_refused"
_UPLOAD_MB = 4
_LONGEST = 360  # characters of a refusal
_LONGEST_KEPT = 100_000  # characters left in the box to be mended: the browser sends them along with every move
_QUANTIZATION = "hf_quant_config.json"
_EXAMPLE = '{"model_type": "llama", "hidden_size": 8192, "num_hidden_layers": 80, …}'


class File(Protocol):
    """What an upload is, as far as it is read here."""

    name: str

    def getvalue(self) -> bytes: ...


def ask() -> None:
    """Three ways to bring a model, what was wrong with the last one, and where the present one lives."""
    caption("Your own model")
    paste, upload, fetch = st.tabs(["Paste a config.json", "Upload it", "From the hub"])
    with paste:
        _paste()
    with upload:
        _upload()
    with fetch:
        _fetch()
    if refused := st.session_state.get(_REFUSED):
        complaint(refused)
    _where_it_lives()


def _paste() -> None:
    with st.form("own_model_form", border=False):
        st.text_area("config.json", key="own_config", height=130, placeholder=_EXAMPLE)
        with st.expander(f"It has an {_QUANTIZATION} too", key="own_quantization_box"):
            st.text_area(_QUANTIZATION, key="own_quantization", height=90, label_visibility="collapsed")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.text_input(
                "What to call it", key="own_name", max_chars=codec.LONGEST_NAME, placeholder="optional", width=260
            )
            st.form_submit_button("Read it", on_click=_read_pasted)


def _upload() -> None:
    st.file_uploader(
        f"config.json, and {_QUANTIZATION} where there is one",
        type=["json"],
        accept_multiple_files=True,
        key="own_files",
        on_change=_read_uploaded,
        max_upload_size=_UPLOAD_MB,
    )


def _fetch() -> None:
    with (
        st.form("own_hub_form", border=False),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        st.text_input(
            "Id on the Hugging Face hub", key="own_hub_id", placeholder="Qwen/Qwen3-0.6B", max_chars=200, width=360
        )
        st.form_submit_button("Fetch it", on_click=_read_fetched)
    note("Only config.json is fetched, without a token: a gated model has to be pasted.")


def _where_it_lives() -> None:
    packed = state.value("model_config")
    if not packed or state.value("model") != state.CUSTOM:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="own_model_row"):
        if len(packed) > codec.LONGEST_TEXT:
            complaint(
                f"It is too large for a link: {len(packed):,} characters packed, at most {codec.LONGEST_TEXT:,}. "
                "It stays in this session and is gone after a reload."
            )
        else:
            note("It is in the address of this page: a reload keeps it, and a link shares it.")
        st.button("Forget it", on_click=_forget)


# ---- callbacks: they run before anything is drawn, so the sidebar shows the new model at once --------------------


def _read_pasted() -> None:
    text = st.session_state["own_config"]
    _adopt(lambda: (text, st.session_state["own_quantization"], st.session_state["own_name"]))
    if not st.session_state.get(_REFUSED) or len(text) > _LONGEST_KEPT:
        for key in ("own_config", "own_quantization", "own_name"):
            st.session_state[key] = ""


def _read_uploaded() -> None:
    files: Sequence[File] = st.session_state["own_files"]
    if files:
        _adopt(lambda: (*sort_files(files), ""))


def _read_fetched() -> None:
    def fetched() -> tuple[str, str, str]:
        with st.spinner("Asking the hub …"):
            found = hub.fetch(st.session_state["own_hub_id"])
        return found.config, found.quantization or "", found.name

    _adopt(fetched)


def _forget() -> None:
    state.put(model=state.CONTROLS["model"].default, model_config="")


def _adopt(texts: Callable[[], tuple[str, str, str]]) -> None:
    """Make the model of these texts (config, its quantization, a name) the sidebar's; say why where it cannot be."""
    st.session_state[_REFUSED] = ""
    try:
        packed = packed_model(*texts())
    except ValueError as error:
        st.session_state[_REFUSED] = f"Not taken over. {_cut(str(error).rstrip('.'))}. The model stays as it was."
        return
    state.put(model=state.CUSTOM, model_config=packed)


def _cut(sentence: str) -> str:
    """The beginning of a sentence that lists everything that would have been right."""
    return sentence if len(sentence) <= _LONGEST else f"{sentence[:_LONGEST].rsplit(' ', maxsplit=1)[0]} …"


def packed_model(config: str, quantization: str, name: str) -> str:
    """Read a model from what a user gave, and pack it.

    Raises
    ------
    ConfigError: for what is no config, or no config of a family that can be read.
    """
    if not config.strip():
        raise cm.ConfigError("config", "nothing", "the text of a config.json")
    packed = codec.pack_model(parse(config), parse(quantization) if quantization.strip() else None, name)
    codec.own_model(packed)
    return packed


def sort_files(files: Sequence[File]) -> tuple[str, str]:
    """Return the texts of the config and of its quantization ("" without one) among uploaded files.

    Raises
    ------
    ConfigError: when there is not exactly one config, or a file is no text.
    """
    quantizations = [file for file in files if file.name.endswith(_QUANTIZATION)]
    configs = [file for file in files if file not in quantizations]
    if len(configs) != 1 or len(quantizations) > 1:
        found = ", ".join(file.name for file in files)
        raise cm.ConfigError("upload", found, f"one config.json, and at most one {_QUANTIZATION}")
    return _text(configs[0]), _text(quantizations[0]) if quantizations else ""


def _text(file: File) -> str:
    try:
        return file.getvalue().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise cm.ConfigError(file.name, "bytes that are not UTF-8", "the text of a config.json") from None
