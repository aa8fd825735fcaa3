"""A profile as a file: down to keep or to take elsewhere, up from a machine that has no browser."""

from __future__ import annotations

import re

import streamlit as st

import live
from pages.parts import components, live_rates

_REFUSED = "_profile_refused"
_UPLOAD_MB = 5


def exchange(profile: live.Profile | None) -> None:
    """Offer the profile for download and take another one; one that cannot be is refused with the reason."""
    components.section(
        "Profiles",
        "All measured points and what was fitted to them, in a file: measure on a machine without a browser with "
        "python -m live measure --model qwen3-0.6b --out profile.json, and look at it here.",
    )
    with st.container(horizontal=True, vertical_alignment="bottom", key="profile_row"):
        st.file_uploader(
            "A profile (JSON)", type=["json"], key="profile_upload", on_change=_read, max_upload_size=_UPLOAD_MB
        )
        if profile is not None:
            st.download_button(
                "Download this profile",
                live_rates.as_file(profile),
                file_name(profile),
                "application/json",
                on_click="ignore",
                key="profile_download",
            )
    if refused := st.session_state.get(_REFUSED):
        components.complaint(refused)


def file_name(profile: live.Profile) -> str:
    """A name that says of what and when it is."""
    words = f"{profile.hardware.name} {profile.dtype} {profile.taken:%Y-%m-%d}".lower()
    return re.sub(r"[^a-z0-9]+", "-", words).strip("-") + ".json"


def _read() -> None:
    file = st.session_state["profile_upload"]
    st.session_state[_REFUSED] = ""
    if file is None:
        return
    try:
        live_rates.use(live_rates.read(file.getvalue()))
    except ValueError as error:
        st.session_state[_REFUSED] = f"Not taken over. {str(error).rstrip('.')}."
