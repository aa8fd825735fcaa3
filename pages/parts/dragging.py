"""Dragging a value inside a chart, without a trip to the server until the hand lets go.

The charts hold parameters named as controls are; Vega draws a slider for each below the chart and recomputes the
picture as it moves. This bridge, an invisible component, does three things in the browser: it carries a move from one
chart (or from the sidebar's slider) to every chart; it reports the value when the hand lets go, so that the control of
that name, which owns it, takes it over; and it shows the owner's value on the charts' sliders whenever that changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from pages.parts import state

WHAT_IF = {
    "bandwidth_x": "Bandwidth, times the datasheet's",
    "compute_x": "Compute, times the datasheet's",
}
"""What a screen reader says of each slider."""

_bridge = st.components.v2.component(
    "what_if_bridge",
    html="<span></span>",
    css="span {display: none}\n",
    js="""
const running = new WeakMap();            // one set of listeners for each place where the component stands

export default function ({ data, parentElement, setTriggerValue }) {
  running.get(parentElement)?.abort();
  const stop = new AbortController(), options = { capture: true, signal: stop.signal };
  running.set(parentElement, stop);
  const names = Object.keys(data.values), shown = { ...data.values };
  let forwarding = false, moved = null;

  const inputs = (name) => data.charts.flatMap((chart) =>
    [...document.querySelectorAll(`.st-key-${chart} form.vega-bindings input[name="${name}"]`)]);
  const show = (name, value) => {
    shown[name] = value;
    forwarding = true;
    for (const input of inputs(name)) {
      if (data.most[name]) input.max = data.most[name];
      if (input.dataset.shown === String(value)) continue;
      input.dataset.shown = String(value);
      input.value = value;
      input.setAttribute("aria-label", data.labels[name]);
      input.dispatchEvent(new Event("input", { bubbles: true }));
    }
    forwarding = false;
  };
  const nameOf = (target) => target.closest?.("form.vega-bindings") && names.includes(target.name) ? target.name : null;

  document.addEventListener("input", (event) => {
    const name = nameOf(event.target);
    if (!name || forwarding) return;
    event.target.dataset.shown = event.target.value;
    show(name, event.target.value);
    moved = { [name]: Number(event.target.value) };
  }, options);
  // Vega writes the value back into its slider as it moves, and browsers then keep the "change" event to themselves.
  const release = () => {
    if (moved) setTriggerValue("released", moved);
    moved = null;
  };
  for (const end of ["pointerup", "pointercancel", "keyup", "change"]) document.addEventListener(end, release, options);

  // The sidebar's own sliders tell the server on release, and wait for it; the pictures follow the one in hand at once.
  const mover = new MutationObserver((changes) => {
    const slider = changes.map(({ target }) => target).find((target) => target === document.activeElement);
    const name = slider && names.find((name) => slider.closest(`.st-key-${name}`));
    if (name) show(name, slider.value);
  });
  mover.observe(document.body, { subtree: true, attributeFilter: ["aria-valuetext"] });

  // Charts come after this component, and come anew when they are rebuilt: their sliders then get the owner's values.
  const sync = () => { for (const name of names) show(name, shown[name]); };
  const watcher = new MutationObserver((changes) => {
    const fresh = (node) => node.nodeType === 1 && (node.matches(".vega-bind") || node.querySelector(".vega-bind"));
    if (changes.some((change) => [...change.addedNodes].some(fresh))) sync();
  });
  watcher.observe(document.body, { childList: true, subtree: true });
  stop.signal.addEventListener("abort", () => { watcher.disconnect(); mover.disconnect(); });
  sync();
  return () => stop.abort();
}
""",
)


def bridge(
    charts: Sequence[str],
    labels: Mapping[str, str] = WHAT_IF,
    *,
    most: Mapping[str, int] | None = None,
    key: str = "what_if",
) -> None:
    """Join the sliders of the charts with these keys, the controls of their names and each other.

    ``labels``: the names, and what a screen reader says of each; ``most``: where a slider of the chart ends earlier
    than its control.
    """

    def released() -> None:
        new = st.session_state[key].released or {}
        state.put(**{name: _stop(name, value) for name, value in new.items() if name in labels})

    _bridge(
        key=key,
        data={
            "charts": list(charts),
            "values": {name: f"{state.value(name):g}" for name in labels},
            "labels": dict(labels),
            "most": dict(most or {}),
        },
        on_released_change=released,
    )


def _stop(name: str, value: float) -> float:
    """The value of a control nearest to what the browser sent."""
    control = state.CONTROLS[name]
    if not isinstance(control, state.Number):
        raise TypeError(f"{name} is no number")
    nearest = round(float(value) / control.step) * control.step
    kept = min(max(nearest, control.low), control.high)
    return int(kept) if control.whole else round(kept, 2)
