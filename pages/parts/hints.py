"""One short hint a page for whoever sees it for the first time; closed, it never comes back in this browser.

It lies over the page at the edge of the window, so that nothing moves when it comes or goes. An audience and paper get
none. Where the browser keeps nothing (storage is switched off), it stays away, for it could not be closed for good.
"""

from __future__ import annotations

import streamlit as st

from pages.parts import presenting

HTML = "<div class='hint' role='note' hidden><p></p><button aria-label='Close this hint for good'>×</button></div>"
CSS = """
.hint {position: fixed; right: 1.2rem; bottom: 1.2rem; z-index: 5; display: flex; align-items: start; gap: .6rem;
  max-width: min(24rem, calc(100vw - 2rem)); padding: .6rem .5rem .6rem .9rem; box-sizing: border-box;
  font-size: .9375rem; line-height: 1.4; color: var(--st-text-color); background: var(--st-background-color);
  border: 1px solid var(--st-text-color); border-radius: 4px;}
.hint[hidden] {display: none;}
.hint p {margin: 0;}
.hint button {font: inherit; font-size: 1.1rem; line-height: 1; min-width: 1.6rem; min-height: 1.6rem; cursor: pointer;
  color: inherit; background: none; border: 1px solid transparent; border-radius: 4px;}
.hint button:hover, .hint button:focus-visible {border-color: currentColor; outline: none;}
@media print {.hint {display: none;}}
"""
JS = """
const showHint = (note, hint) => {
  note.hidden = true;
  if (!hint) return;
  const key = `stepcost hint ${hint.name}`;
  let closed = true;
  try { localStorage.setItem("stepcost", "1"); closed = localStorage.getItem(key) !== null; } catch { /* no storage */ }
  note.querySelector("p").textContent = hint.text;
  note.hidden = closed;
  note.querySelector("button").onclick = () => {
    note.hidden = true;
    try { localStorage.setItem(key, "closed"); } catch { /* it comes back with the next visit */ }
  };
};
"""
_SHOWN = "_hint"


def begin() -> None:
    """Forget the hint of the page before; call it before a page is run."""
    st.session_state[_SHOWN] = None


def show(name: str, text: str) -> None:
    """Show the hint of a page; ``name`` is what the browser remembers it by."""
    if not presenting.on():
        st.session_state[_SHOWN] = {"name": name, "text": text}


def shown() -> dict[str, str] | None:
    """What the browser is told: name and text of the page's hint, or None."""
    found: dict[str, str] | None = st.session_state.get(_SHOWN)
    return found
