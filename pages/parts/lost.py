"""What happens when the server no longer answers: a bar at the foot of the window, and a run when it is back.

Both are the browser's work. A server that was started again knows nothing of this page, and a control of the page,
which runs its fragment alone, would find nobody there; so the page is run as a whole first.
"""

from __future__ import annotations

import time

import streamlit as st

SENTENCE = (
    "The server does not answer. What is shown stays, and the page goes on by itself when the server is back; if it "
    "was stopped, start it again."
)
_PATIENCE_MS = 2000  # a short break is nobody's business

_watch = st.components.v2.component(
    "lost_server",
    html="<p role='status'></p>",
    css="""
p {position: fixed; left: 0; right: 0; bottom: 0; z-index: 20; margin: 0; padding: .6rem 1.2rem; font-size: .9375rem;
  color: var(--st-background-color); background: var(--st-text-color);}
p:empty {display: none;}
""",
    js="""
const watches = new WeakMap();            // one for each place where the component stands, over all of its runs

export default function ({ data, parentElement, setTriggerValue }) {
  const watch = watches.get(parentElement) ?? { lost: false, stop: () => {} };
  watches.set(parentElement, watch);
  watch.stop();
  const bar = parentElement.querySelector("p"), app = document.querySelector(".stApp");
  bar.dataset.run = data.run;
  let timer = 0;
  const look = () => {
    clearTimeout(timer);
    if (app.dataset.testConnectionState === "CONNECTED") {
      bar.textContent = "";
      if (watch.lost) setTriggerValue("back", data.run);
      watch.lost = false;
      return;
    }
    watch.lost = true;
    timer = setTimeout(() => { bar.textContent = data.sentence; }, data.patience);
  };
  const watcher = new MutationObserver(look);
  watch.stop = () => { watcher.disconnect(); clearTimeout(timer); };
  watcher.observe(app, { attributes: true, attributeFilter: ["data-test-connection-state"] });
  look();
  return watch.stop;
}
""",
)


def watch() -> None:
    """Keep an eye on the server; last in a run of everything, for the page's fragment is then known."""
    data = {"sentence": SENTENCE, "patience": _PATIENCE_MS, "run": str(time.time_ns())}
    _watch(key="lost", data=data, on_back_change=lambda: None)
