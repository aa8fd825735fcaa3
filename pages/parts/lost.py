"""What is said when the server no longer answers: a bar at the foot of the window, drawn by the browser alone."""

from __future__ import annotations

import streamlit as st

SENTENCE = (
    "The server does not answer. What is shown stays, and the page goes on by itself when the server is back; if it "
    "was stopped, start it again."
)

_watch = st.components.v2.component(
    "lost_server",
    html="<p role='status'></p>",
    css="""
p {position: fixed; left: 0; right: 0; bottom: 0; z-index: 20; margin: 0; padding: .6rem 1.2rem; font-size: .9375rem;
  color: var(--st-background-color); background: var(--st-text-color);}
p:empty {display: none;}
""",
    js="""
export default function ({ data, parentElement }) {
  const bar = parentElement.querySelector("p"), app = document.querySelector(".stApp");
  let timer = 0;
  const look = () => {
    clearTimeout(timer);
    if (app.dataset.testConnectionState === "CONNECTED") { bar.textContent = ""; return; }
    timer = setTimeout(() => { bar.textContent = data.sentence; }, data.patience);
  };
  const watcher = new MutationObserver(look);
  watcher.observe(app, { attributes: true, attributeFilter: ["data-test-connection-state"] });
  look();
  return () => { watcher.disconnect(); clearTimeout(timer); };
}
""",
)
_PATIENCE_MS = 2000  # a short break is nobody's business


def watch() -> None:
    """Keep an eye on the server; call it once a run."""
    _watch(key="lost", data={"sentence": SENTENCE, "patience": _PATIENCE_MS})
