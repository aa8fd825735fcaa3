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
// One for each place where the component stands: its listeners, what the sliders show, what has been moved and not been
// told yet, and what was told last.
const places = new WeakMap();
const LATE = 5;                           // answers to what was told before, at most

export default function ({ data, parentElement, setTriggerValue }) {
  const place = places.get(parentElement) ?? { shown: {}, moved: null, told: {} };
  places.set(parentElement, place);
  place.stop?.abort();
  const stop = place.stop = new AbortController(), options = { capture: true, signal: stop.signal };
  const names = Object.keys(data.values), { shown } = place;
  let forwarding = false;

  // The owner's value counts, unless the slider is in hand or the answer is one to what was told before the last.
  for (const [name, value] of Object.entries(data.values)) {
    const told = place.told[name];
    if (place.moved?.[name] !== undefined || (told && told.value !== value && told.late-- > 0)) continue;
    delete place.told[name];
    shown[name] = value;
  }

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
    place.moved = { [name]: Number(event.target.value) };
  }, options);
  // Vega writes the value back into its slider as it moves, and browsers then keep the "change" event to themselves.
  const release = () => {
    if (!place.moved) return;
    for (const [name, value] of Object.entries(place.moved))
      if (String(value) !== data.values[name]) place.told[name] = { value: String(value), late: LATE };
    setTriggerValue("released", place.moved);
    place.moved = null;
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
  // Until then they stand in the middle: a key that was pressed there counts from the value that the slider gets.
  const middle = ({ type, min, max, step }) =>
    Object.assign(document.createElement("input"), { type, min, max, step, value: "" }).value;
  const early = (name) => {
    const input = inputs(name).find((input) => !input.dataset.shown && input === document.activeElement);
    const by = input ? input.value - middle(input) : 0;
    if (!by) return false;
    const value = Math.min(Math.max(Number(shown[name]) + by, input.min), data.most[name] ?? input.max);
    shown[name] = String(Number(value.toFixed(4)));
    place.moved = { [name]: Number(shown[name]) };
    return true;
  };
  const sync = () => {
    const pressed = names.filter(early);
    for (const name of names) show(name, shown[name]);
    if (pressed.length) release();
  };
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
