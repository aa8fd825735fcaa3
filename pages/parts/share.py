"""Taking along what a page shows: its link, its settings, its figures as Python, its pictures and its tables.

One menu for all pages, drawn after the page so that it knows what is there. It is a fragment with a lazy popover that
stands outside the page: closed it costs nothing, moves of the page leave it alone, opening it runs nothing else, and a
file is written when it is asked for.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.parts import beside, components, offers, scenario_file, state

_KEY = "share"
_LOADED, _REFUSED = "_scenario_loaded", "_scenario_refused"
_NAMES = {"model_config": "your own model", "accelerator": "your own accelerator", "pinned": "what is pinned"}

_pictures = st.components.v2.component(
    "share_pictures",
    html="<ul></ul><p role='status'></p>\n",
    css=beside.read(__file__, "share.css"),
    js=beside.read(__file__, "view_of.js", "share.js"),
)


@st.fragment
def menu() -> None:
    """The Share menu of the page that was just run."""
    if st.session_state.pop(_LOADED, False):
        st.rerun()
    popover = st.popover("Share", key=_KEY, on_change="rerun")
    if popover.open:
        with popover:
            with st.container(key="share_first"):
                _link()
            _scenario()
            _python()
            _files()


def is_open() -> bool:
    """Whether somebody has the menu before him."""
    return bool(st.session_state.get(_KEY))


def _link() -> None:
    components.caption("Link")
    components.copy_link("Copy link", key="share_link")
    missing = [_NAMES.get(key, key) for key in state.left_out_of_links()]
    if missing:
        components.note(f"The link leaves out {' and '.join(missing)}: too long for one. The scenario below has it.")


def _scenario() -> None:
    components.caption("Scenario, all settings as JSON")
    text = scenario_file.write(state.snapshot())  # now: what is written later cannot see the session
    st.download_button(
        "Download scenario",
        text,
        "stepcost-scenario.json",
        "application/json",
        on_click="ignore",
        key="share_scenario",
    )
    with st.expander("Load one", key="share_load"):
        st.file_uploader("A scenario (JSON)", type=["json"], key="share_upload", on_change=_uploaded, max_upload_size=5)
        with st.form("share_paste", border=False):
            st.text_area("Or paste it", key="share_pasted", max_chars=scenario_file.LONGEST, height=68)
            st.form_submit_button("Load", on_click=_pasted)
    if refused := st.session_state.get(_REFUSED):
        components.complaint(refused)


def _python() -> None:
    components.caption("The figures of this page as Python")
    write = offers.current().python
    if write is None:
        components.note("There are none here.")
        return
    code = write()
    st.html(f'<pre class="sc-code" role="group" tabindex="0" aria-label="Python">{components.markup(code)}</pre>')
    components.copy_button(code, key="share_python")


def _files() -> None:
    offered = offers.current()
    if offered.pictures:
        components.caption("Pictures")
        listed = [
            {"key": one.key, "part": one.part, "title": one.title, "file": _name(offered, one)}
            for one in offered.pictures.values()
        ]
        _pictures(key="share_pictures", data={"pictures": listed})
    if not offered.files:
        return
    components.caption("Tables, in full precision and SI units")
    with st.container(horizontal=True, gap="small", key="share_files"):
        for number, file in enumerate(offered.files.values()):
            st.download_button(
                f"{file.title}, {file.kind.upper()}",
                file.write,
                offers.file_name(offered.page, file.title, file.kind),
                _MIME.get(file.kind),
                on_click="ignore",
                key=f"share_file_{number}",
            )


_MIME = {"csv": "text/csv", "json": "application/json"}


def _name(offered: offers.Offers, picture: offers.Picture) -> str:
    name = f"{picture.key} {picture.part}".replace("_", " ").removeprefix(offered.page)
    return offers.file_name(offered.page, name)


# ---- loading a scenario ----------------------------------------------------------------------------------------------


def _uploaded() -> None:
    file: Any = st.session_state["share_upload"]
    if file is not None:
        _load(file.getvalue())


def _pasted() -> None:
    _load(st.session_state["share_pasted"] or "")


def _load(content: bytes | str) -> None:
    """Take a scenario over as a whole, or say why not."""
    st.session_state[_REFUSED] = ""
    try:
        state.replace(scenario_file.read(content))
    except ValueError as error:
        st.session_state[_REFUSED] = f"Not loaded. {error}"
        return
    st.session_state[_LOADED] = True
