"""The address in the browser, held to what the controls say.

Streamlit writes a slider's value into the address itself, in the browser, and forgets to where the answer to an earlier
move arrives in the same moment as the next move (seen in 1.67 when keys are pressed quickly): the page goes on, and its
link stays behind. So every run says what belongs into the address, and the browser mends what differs, without a new
entry in the history.
"""

from __future__ import annotations

import time
from typing import Any

import streamlit as st

from pages.parts import state

JS = """
const keepAddress = ({ keys, values }) => {
  const here = new URL(window.location.href);
  let differs = false;
  for (const key of keys) {
    const wanted = values[key] ?? null;
    if (here.searchParams.get(key) === wanted) continue;
    differs = true;
    if (wanted === null) here.searchParams.delete(key); else here.searchParams.set(key, wanted);
  }
  if (differs) window.history.replaceState(window.history.state, "", here.toString());
};
"""

_mend = st.components.v2.component(
    "keep_address",
    html="<span></span>",
    css="span {display: none}\n",
    js=JS
    + """
export default function ({ data }) {
  keepAddress(data);
  document.dispatchEvent(new CustomEvent("server-says", { detail: data.at }));
}
""",
)


def wanted() -> dict[str, Any]:
    """What the browser holds its address to.

    The time makes each run different from the one before, of a server that was started again too, for the browser looks
    only at what has changed.
    """
    return {"keys": list(state.CONTROLS), "values": state.address(), "run": str(time.time_ns())}


def keep(where: str) -> None:
    """Hold the address to the controls of this run; last in a fragment that has sliders.

    ``where`` tells these places apart. Where the whole page is run, its companion does it.
    """
    if not state.in_whole_page():
        _mend(key=f"keep_address_{where}", data={**wanted(), "at": state.shown_since()})
