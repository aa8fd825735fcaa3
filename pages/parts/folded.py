"""Text that is folded away under a line that opens it, in one element, with a button that copies it.

A page has up to a dozen of these, and every move of a slider brings each of them anew. What was open stays open: the
browser remembers it by a key, before the new text is seen.
"""

from __future__ import annotations

import html

import streamlit as st

from pages.parts.copying import COPY

_watch = st.components.v2.component(
    "keep_open_and_copy",
    html="<span></span>",
    css="span {display: none}\n",
    js=COPY
    + """
const open = new Set();

export default function () {
  const stop = new AbortController(), options = { capture: true, signal: stop.signal };
  const keep = () => {
    if (open.size) for (const it of document.querySelectorAll("details[data-kept]:not([open])"))
      it.open = open.has(it.dataset.kept);
  };
  document.addEventListener("toggle", ({ target }) => {
    const key = target.dataset?.kept;
    if (key === undefined || !target.isConnected) return;
    if (target.open) open.add(key); else open.delete(key);
  }, options);
  document.addEventListener("click", ({ target }) => {
    const button = target.closest?.("details[data-kept] button");
    if (button) copy(button.parentElement.querySelector("[data-text]").dataset.text, button, "Copy");
  }, options);
  const watcher = new MutationObserver(keep);
  watcher.observe(document.body, { childList: true, subtree: true });
  keep();
  return () => { watcher.disconnect(); stop.abort(); };
}
""",
)


def watch() -> None:
    """Keep open what was opened, and copy what is asked for; call it once a run."""
    _watch(key="folded")


def draw(title: str, content: str, *, copied: str, key: str) -> None:
    """Draw ``content`` (HTML) under a title; ``copied`` is what its button copies, ``key`` what it is kept open by."""
    st.html(
        f'<details class="sc sc-folded" data-kept="{html.escape(key)}"><summary>{html.escape(title)}</summary>'
        f'<div data-text="{html.escape(copied)}">{content}</div>'
        '<button type="button"><span aria-live="polite">Copy</span></button></details>'
    )
