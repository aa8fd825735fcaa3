"""What surrounds every page: navigation, style, the sidebar, and a heap that the collector leaves alone."""

from __future__ import annotations

import gc
from collections.abc import Sequence

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from pages.parts import controls, state, theme


@st.cache_resource(show_spinner=False)
def settle_heap() -> None:
    """Keep what the imports left out of the full collection that Streamlit runs after each script run.

    It holds the interpreter for 30 to 120 ms on this heap, most of what a slider costs.
    """
    gc.collect()
    gc.freeze()


def run(pages: Sequence[StreamlitPage]) -> None:
    """Run the page that the address names, between the shared parts."""
    page = st.navigation(list(pages), position="top")
    theme.apply()
    controls.sidebar()
    page.run()
    state.publish()
    settle_heap()
