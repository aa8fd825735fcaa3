"""What surrounds every page: navigation, style and the sidebar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import streamlit as st
from streamlit.navigation.page import StreamlitPage
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import StopException

from pages.parts import (
    ahead,
    companion,
    controls,
    hints,
    live_rates,
    lost,
    offers,
    presenting,
    remembered,
    share,
    state,
    theme,
)
from pages.parts.heap import HEAP

remembered.remember()

# Because there is a folder pages/, Streamlit looks there for the page that the very first visit to a server asks for,
# before app.py can say what pages there are, and shows a box "Page not found" over the page that it then runs. Nothing
# takes a message back that is on its way, so this presses the button of the box, and leaves when that is done.
_dismiss = st.components.v2.component(
    "dismiss_page_not_found",
    html="<span></span>",
    css="span {display: none}\n",
    js="""
export default function () {
  const press = () => {
    for (const box of document.querySelectorAll('[role="dialog"]')) {
      if (!box.textContent.startsWith("Page not found")) continue;
      box.querySelector("button[aria-label=Close]")?.click();
      watcher.disconnect();
    }
  };
  const watcher = new MutationObserver(press);
  watcher.observe(document.body, { childList: true, subtree: true });
  press();
  return () => watcher.disconnect();
}
""",
)


_PAGES, _SEEN = "_pages", "_seen"


def pages() -> list[StreamlitPage]:
    """The pages that there are, the first one included; for a page that leads to the others."""
    found: list[StreamlitPage] = st.session_state[_PAGES]
    return found


def run(pages: Sequence[StreamlitPage]) -> None:
    """Run the page that the address names, between the shared parts."""
    st.session_state[_PAGES] = list(pages)
    with _charts_loading():
        _run(pages)


@contextmanager
def _charts_loading() -> Iterator[None]:
    """Have a new visitor's browser load what draws charts before all else, and the first chart comes 0.2 s sooner.

    It loads the parts of a page in the order in which it meets them, and a chart comes after thirty others. So it meets
    one that nobody sees, and that is gone when the run ends.
    """
    place = st.sidebar.empty()
    if new := _SEEN not in st.session_state:
        place.vega_lite_chart(_NOTHING)
    yield
    if new:
        place.empty()


_NOTHING = {"mark": "point", "data": {"values": []}, "width": 1, "height": 1}


def _run(pages: Sequence[StreamlitPage]) -> None:
    first_of_server = bool(PagesManager.uses_pages_directory)
    page = st.navigation(list(pages), position="top")
    boxed = first_of_server and page.url_path  # a page that does exist; the default one has no path
    state.restore()
    hidden = ".stDialog {visibility: hidden;}" if boxed else ""  # until the button is pressed
    theme.apply(presenting.sheet() + hidden)
    controls.sidebar()
    with st.sidebar:
        presenting.offer()
    presenting.exit_button()
    state.shared_part_ends()
    st.session_state[_SEEN] = _what_the_sidebar_shows()
    corner = st.container(key="share_corner")
    _body(page)
    with corner:
        share.menu()
    lost.watch()
    if boxed:  # last, so that nothing changes its place when it is gone in the next run
        _dismiss(key="dismiss_page_not_found")


@st.fragment
def _body(page: StreamlitPage) -> None:
    """The page and what goes with it. Its own controls run it alone: a quarter of a move is spared without the sidebar.

    What a page sets of the sidebar's controls runs everything, and so does a move while the Share menu is open.
    """
    if state.alone() and (share.is_open() or st.session_state[_SEEN] != _what_the_sidebar_shows()):
        st.rerun()
    offers.begin(page.title.lower())
    hints.begin()
    ahead.begin()
    page._can_be_called = True  # noqa: SLF001  # once a run, says Streamlit, and does not count a fragment's as one
    with state.whole_page():
        with suppress(StopException):  # of a page that has said all that there is to say
            page.run()
        with state.settled():
            state.publish()
            companion.draw()
    HEAP.settle()


def _what_the_sidebar_shows() -> list[Any]:
    found = [state.value(key) for key in (*state.SCENARIO, "pinned", "present")]
    return [*found, live_rates.profile(), live_rates.pending()]
