"""Back, play or pause, on. The browser keeps the time: it asks for the next step when the last one is there.

So a pause is heard at once, however busy the server is, and a slow server plays slower instead of falling behind.
"""

from __future__ import annotations

from typing import Protocol

import streamlit as st

_KEY = "transport_buttons"
_BETWEEN_MS = 200  # a step is looked at for so long before the next one is asked for


class Move(Protocol):
    """What is called when the cursor moves."""

    def __call__(self, step: int, *, playing: bool) -> None: ...


_buttons = st.components.v2.component(
    "transport",
    html="<div><button type='button'></button><button type='button'></button><button type='button'></button></div>",
    css="""
div {display: flex; gap: .5rem;}
button {font: inherit; font-size: .9375rem; min-width: 4.2rem; color: var(--st-text-color); background: transparent;
  cursor: pointer; border: 1px solid var(--st-border-color); border-radius: 4px; padding: .45rem .7rem;}
button:hover:enabled {border-color: var(--st-text-color);}
button:disabled {opacity: .4; cursor: default;}
""",
    js="""
const clocks = new WeakMap();             // one for each place where the component stands

export default function ({ data, parentElement, setTriggerValue }) {
  const clock = clocks.get(parentElement) ?? { playing: false, timer: 0 };
  clocks.set(parentElement, clock);
  clearTimeout(clock.timer);
  const [back, play, on] = parentElement.querySelectorAll("button");
  const last = data.steps - 1;
  const go = (step) => setTriggerValue("move", { step: Math.min(Math.max(step, 0), last), playing: clock.playing });
  const draw = () => {
    play.textContent = clock.playing ? "Pause" : "Play";
    back.disabled = data.step <= 0;
    on.disabled = play.disabled = data.step >= last;
  };
  const pause = () => { clock.playing = false; clearTimeout(clock.timer); draw(); };
  back.textContent = "Back";
  on.textContent = "On";
  back.onclick = () => { pause(); go(data.step - 1); };
  on.onclick = () => { pause(); go(data.step + 1); };
  play.onclick = () => {
    if (clock.playing) { pause(); go(data.step); return; }
    clock.playing = true;
    draw();
    go(data.step + 1);
  };
  if (clock.playing && data.step >= last) { pause(); go(last); }
  draw();
  if (clock.playing) clock.timer = setTimeout(() => go(data.step + 1), data.between);
  return () => clearTimeout(clock.timer);
}
""",
)


def buttons(step: int, steps: int, *, on_move: Move) -> None:
    """Draw the buttons; ``on_move(step, playing=...)`` is called before the next run."""

    def moved() -> None:
        move = (st.session_state.get(_KEY) or {}).get("move") or {}
        asked = move.get("step")
        if isinstance(asked, int) and not isinstance(asked, bool) and 0 <= asked < steps:
            on_move(asked, playing=bool(move.get("playing")))

    _buttons(
        key=_KEY, data={"step": step, "steps": steps, "between": _BETWEEN_MS}, on_move_change=moved, width="content"
    )
