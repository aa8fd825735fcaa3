"""One's own measured steps: a table is uploaded, judged and kept for the session; a bad one changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import pandas as pd
import streamlit as st

from costmodel import accuracy
from pages.accuracy import charts, words
from pages.parts import chart, codec, components, prose, state
from pages.parts.datasets import Dataset, of_frames

_KEPT, _REFUSED = "_own_steps", "_own_steps_refused"
_UPLOAD_MB = 2
_FEW = 200  # highest over lowest


class File(Protocol):
    """What an upload is, as far as it is read here."""

    def getvalue(self) -> bytes: ...


@lru_cache(maxsize=8)
def judged(table: bytes, packed_model: str) -> pd.DataFrame:
    """Judge a table; a model named "custom" is the one of ``packed_model``.

    Raises
    ------
    ConfigError: for a table that cannot be read or priced; it names the line.
    """
    models = {state.CUSTOM: codec.own_model(packed_model)} if packed_model else {}
    return accuracy.judge(accuracy.read_steps(table, models))


def ask() -> None:
    """Ask for a table, offer one to start from, and say what was wrong with the last one."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="own_steps_row"):
        st.file_uploader(
            "A CSV of measured steps", type=["csv"], key="own_steps", on_change=_read, max_upload_size=_UPLOAD_MB
        )
        st.download_button(
            "Download a table to start from",
            accuracy.SAMPLE.encode(),
            "measured_steps.csv",
            "text/csv",
            on_click="ignore",
            key="own_steps_template",
        )
        if _KEPT in st.session_state:
            st.button("Forget them", on_click=_forget, key="own_steps_forget")
    if refused := st.session_state.get(_REFUSED):
        components.complaint(refused)
    with st.expander("What the columns hold", key="own_steps_columns"), prose.together():
        for name, holds in accuracy.COLUMNS.items():
            components.note([components.Ink(name, "ink", strong=True), f": {holds}"])


def show() -> None:
    """What the table comes to: a sentence, the picture, and the steps that are furthest off."""
    kept = st.session_state.get(_KEPT)
    table = kept or accuracy.SAMPLE.encode()
    try:
        shown = _shown(table, state.value("model_config"), sample=kept is None)
    except ValueError as error:  # it names the own model, which was forgotten since, or is another
        components.complaint(f"Your table cannot be judged any more. {str(error).rstrip('.')}.")
        return
    components.note(shown.sentence)
    if shown.impossible:
        components.complaint(shown.impossible)
    if shown.unexpected:
        components.note(shown.unexpected)
    spec = charts.own_spec(shown.ticks)
    chart.draw(spec, shown.data, key="own_steps_picture", alt=shown.alt, title="Predicted against measured steps")
    shown.furthest.draw()


@dataclass(frozen=True)
class _Shown:
    """What a judged table comes to, in words, in figures and as a picture."""

    sentence: components.Text
    impossible: str
    unexpected: str
    data: Mapping[str, Dataset]
    ticks: tuple[float, ...]
    alt: str
    furthest: components.Table


@lru_cache(maxsize=8)
def _shown(content: bytes, packed_model: str, *, sample: bool) -> _Shown:
    table = judged(content, packed_model)
    summary, data = accuracy.summarise(table), own_data(table)
    return _Shown(
        words.own_sentence(summary, sample=sample),
        words.impossible(table),
        words.unexpected(table),
        of_frames(data),
        ticks(data["frame"]),
        words.own_alt(table, summary),
        words.own_table(table),
    )


def own_data(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Data of the picture: the steps, the line on which they are equal, and the corners of the plane."""
    values = table[["measured", "floor", "estimate", "low", "high"]].to_numpy()
    low, high = float(np.min(values)) / 1.5, float(np.max(values)) * 1.5
    steps = table.assign(
        said=[words.step_name(row) for row in table.itertuples()],
        floor_off=table.floor_error.abs(),
        estimate_off=table.estimate_error.abs(),
    )
    return {
        "frame": pd.DataFrame([{"left": low, "right": high, "bottom": low, "top": high}]),
        "line": pd.DataFrame({"same": [low, high]}),
        "steps": steps,
    }


def ticks(frame: pd.DataFrame) -> tuple[float, ...]:
    """Ticks between the corners: 1, 2 and 5 of each decade while they are few, else the decades."""
    low, high = float(frame.left.iloc[0]), float(frame.right.iloc[0])
    decades = [10.0**power for power in range(-9, 7)]
    steps = (1, 2, 5) if high / low < _FEW else (1,)
    return tuple(step * decade for decade in decades for step in steps if low <= step * decade <= high)


# ---- callbacks -------------------------------------------------------------------------------------------------------


def _read() -> None:
    file: File | None = st.session_state["own_steps"]
    if file is None:
        return
    table = file.getvalue()
    st.session_state[_REFUSED] = ""
    try:
        judged(table, state.value("model_config"))
    except ValueError as error:
        st.session_state[_REFUSED] = f"Not taken over. {str(error).rstrip('.')}."
        return
    st.session_state[_KEPT] = table


def _forget() -> None:
    del st.session_state[_KEPT]
