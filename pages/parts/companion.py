"""What goes with a page in the browser, drawn after it: one element for all of it, as each one costs a move its time.

It names the pictures, keeps derivations open and copies them, shows the hint of a first visit, and holds the address to
the controls.
"""

from __future__ import annotations

import streamlit as st

from pages.parts import address, folded, hints, speaking
from pages.parts.copying import COPY

_companion = st.components.v2.component(
    "companion",
    html=hints.HTML,
    css=hints.CSS,
    js=COPY
    + speaking.JS
    + folded.JS
    + hints.JS
    + address.JS
    + """
const watching = new WeakMap();           // one set of listeners for each place where the component stands

export default function ({ data, parentElement }) {
  if (!watching.has(parentElement)) {
    const stop = new AbortController();
    watching.set(parentElement, stop);
    namePictures(stop.signal);
    keepOpenAndCopy(stop.signal);
  }
  showHint(parentElement.querySelector(".hint"), data.hint);
  keepAddress(data.address);
  return () => { watching.get(parentElement).abort(); watching.delete(parentElement); };
}
""",
)


def draw() -> None:
    """Send the companion along; last, for the address is that of the controls as the page has left them."""
    _companion(key="companion", data={"hint": hints.shown(), "address": address.wanted()})
