"""What a picture says to whoever cannot see it: a sentence with the figures of the run.

Streamlit's own ``alt`` becomes part of the spec in the browser, and a chart whose spec has changed is compiled and
drawn anew, at many times the cost of new data. So the sentence travels with the data, as the description of a mark that
nobody sees, and in the browser it becomes the name of the whole picture.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pages.parts.datasets import row

DATASET = "message"
_ROLE = "message"
_MARK = {
    "data": {"name": DATASET},
    "mark": {"type": "point", "opacity": 0, "size": 1, "ariaRoleDescription": _ROLE},
    "encoding": {
        "x": {"value": 0},
        "y": {"value": 0},
        "description": {"field": "message", "type": "nominal"},
    },
}

JS = """
const namePictures = (signal) => {
  const name = () => {
    for (const said of document.querySelectorAll("[aria-roledescription=message]")) {
      const picture = said.closest("[role=graphics-document]"), text = said.getAttribute("aria-label");
      if (picture && picture.getAttribute("aria-label") !== text) picture.setAttribute("aria-label", text);
      if (!said.hasAttribute("aria-hidden")) said.setAttribute("aria-hidden", "true");   // it is read once, as the name
    }
    // Vega calls a group without marks, and the frame of a selection, a symbol, and gives it no name.
    for (const group of document.querySelectorAll("g[role=graphics-symbol][aria-roledescription$=container]")) {
      group.removeAttribute("aria-roledescription");
      if (!group.hasAttribute("aria-label")) group.removeAttribute("role");
    }
  };
  const watcher = new MutationObserver(name);
  watcher.observe(document.body, { childList: true, subtree: true, attributeFilter: ["aria-label"] });
  name();
  signal.addEventListener("abort", () => watcher.disconnect());
};
"""
"""What the browser does for it."""


def said(spec: Mapping[str, Any], datasets: Mapping[str, Any], message: str) -> dict[str, Any]:
    """A layered spec with its data and with the sentence that it says."""
    title = {"description": spec.get("description", "Chart")}  # until the sentence is there
    return {
        **spec,
        **title,
        "layer": [*spec["layer"], _MARK],
        "datasets": with_sentence(datasets, message),
    }


def with_sentence(datasets: Mapping[str, Any], message: str) -> dict[str, Any]:
    """The data of a chart and the sentence that it says."""
    return {**datasets, DATASET: row(message=message)}
