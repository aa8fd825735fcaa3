"""What goes with a page in the browser, drawn after it: one element for all of it, as each one costs a move its time.

It names the pictures and has them follow the sliders, keeps derivations open and copies them, shows the hint of a first
visit, and holds the address to the controls.
"""

from __future__ import annotations

import streamlit as st

from pages.parts import address, ahead, folded, hints, speaking, state
from pages.parts.copying import COPY

_KEY = "companion"

_companion = st.components.v2.component(
    "companion",
    html=hints.HTML + '<span class="followed" hidden></span>',
    css=hints.CSS,
    js=COPY
    + speaking.JS
    + folded.JS
    + hints.JS
    + address.JS
    + ahead.JS
    + """
const watching = new WeakMap();           // one set of listeners for each place where the component stands

export default function ({ data, parentElement, setTriggerValue }) {
  if (!watching.has(parentElement)) {
    const stop = new AbortController();
    namePictures(stop.signal);
    keepOpenAndCopy(stop.signal);
    const follower = followSliders(parentElement.querySelector(".followed"), stop.signal);
    watching.set(parentElement, { stop, follower });
  }
  const { follower } = watching.get(parentElement);
  showHint(parentElement.querySelector(".hint"), data.hint);
  if (data.address) keepAddress(data.address);
  follower(data.ahead, (asked) => setTriggerValue("asked", asked));
  return () => { watching.get(parentElement).stop.abort(); watching.delete(parentElement); };
}
""",
)


@st.fragment
def draw() -> None:
    """Send the companion along; last, for the address is that of the controls as the page has left them.

    By itself it is run when the browser asks for what is ahead, or misses the answer to a move. It then says nothing of
    the address: the next move may be on its way.
    """
    alone = not state.in_whole_page()
    if alone and ahead.lost():
        st.rerun()
    data = {
        "hint": hints.shown(),
        "address": None if alone else address.wanted(),
        "ahead": ahead.answer(alone=alone),
    }
    _companion(key=_KEY, data=data, on_asked_change=_ask)


def _ask() -> None:
    ahead.ask(getattr(st.session_state.get(_KEY), "asked", None))  # None: the page has been left meanwhile
