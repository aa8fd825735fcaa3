"""The pictures as components of the page: style sheet and scripts are files beside this one, read once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

_FOLDER = Path(__file__).parent


def _read(*names: str) -> str:
    return "\n".join((_FOLDER / name).read_text(encoding="utf-8") for name in names)


def _component(name: str, *scripts: str) -> Callable[..., Any]:
    return st.components.v2.component(
        f"shapes_{name}",
        html=f"<style data-cells>{_read('cells.css')}</style>\n<div class='shapes'></div>\n",
        css=_read("frame.css"),
        js=_read("cells.js", *scripts),
    )


step = _component("step", "panel.js", "step.js")
run = _component("run", "panel.js", "run.js")
gathered = _component("gathered", "panel.js", "gather.js")
heads = _component("heads", "panel.js", "heads.js")
