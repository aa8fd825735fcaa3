"""What is said when the server no longer answers: a bar at the foot of the window, drawn by the browser alone."""

from __future__ import annotations

SENTENCE = (
    "The server does not answer. What is shown stays, and the page goes on by itself when the server is back; if it "
    "was stopped, start it again."
)
PATIENCE_MS = 2000  # a short break is nobody's business

HTML = "<p class='lost' role='status'></p>"
CSS = """
.lost {position: fixed; left: 0; right: 0; bottom: 0; z-index: 20; margin: 0; padding: .6rem 1.2rem;
  font-size: .9375rem; color: var(--st-background-color); background: var(--st-text-color);}
.lost:empty {display: none;}
"""
JS = """
const watchServer = (bar, { sentence, patience }, signal) => {
  const app = document.querySelector(".stApp");
  let timer = 0;
  const look = () => {
    clearTimeout(timer);
    if (app.dataset.testConnectionState === "CONNECTED") { bar.textContent = ""; return; }
    timer = setTimeout(() => { bar.textContent = sentence; }, patience);
  };
  const watcher = new MutationObserver(look);
  watcher.observe(app, { attributes: true, attributeFilter: ["data-test-connection-state"] });
  look();
  signal.addEventListener("abort", () => { watcher.disconnect(); clearTimeout(timer); });
};
"""
DATA = {"sentence": SENTENCE, "patience": PATIENCE_MS}
