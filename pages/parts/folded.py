"""Text that is folded away under a line that opens it, in one element, with a button that copies it.

A page has up to a dozen of these, and every move of a slider brings each of them anew. What was open stays open: the
browser remembers it by a key, before the new text is seen.
"""

from __future__ import annotations

import html

from pages.parts import prose

JS = """
const opened = new Set();
const keepOpenAndCopy = (signal) => {
  const options = { capture: true, signal };
  const keep = () => {
    if (opened.size) for (const it of document.querySelectorAll("details[data-kept]:not([open])"))
      it.open = opened.has(it.dataset.kept);
  };
  document.addEventListener("toggle", ({ target }) => {
    const key = target.dataset?.kept;
    if (key === undefined || !target.isConnected) return;
    if (target.open) opened.add(key); else opened.delete(key);
  }, options);
  document.addEventListener("click", ({ target }) => {
    const button = target.closest?.("details[data-kept] button");
    if (button) copy(button.parentElement.querySelector("[data-text]").dataset.text, button, "Copy");
  }, options);
  const watcher = new MutationObserver(keep);
  watcher.observe(document.body, { childList: true, subtree: true });
  keep();
  signal.addEventListener("abort", () => watcher.disconnect());
};
"""
"""What the browser does for them, with the ``copy`` of ``copying``."""


def draw(title: str, content: str, *, copied: str, key: str) -> None:
    """Draw ``content`` (HTML) under a title; ``copied`` is what its button copies, ``key`` what it is kept open by."""
    prose.put(
        f'<details class="sc sc-folded" data-kept="{html.escape(key)}"><summary>{html.escape(title)}</summary>'
        f'<div data-text="{html.escape(copied)}">{content}</div>'
        '<button type="button"><span aria-live="polite">Copy</span></button></details>'
    )
