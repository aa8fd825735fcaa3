"""The pictures as components of the page: style sheet and scripts are files beside this one, read once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from pages.parts import beside, offers

TITLES: Mapping[str, Mapping[str, str]] = {
    "shapes_step": {"prefill-and-decode": "Prefill and decode, one step of one block"},
    "shapes_run": {"run": "One step of a run", "cache-triangle": "What a cache saves, step by step"},
    "shapes_gathered": {"gathered": "Sequences gathered in one step"},
    "shapes_mixed": {"gathered": "A chunk of a prompt beside decodes"},
    "shapes_heads": {"heads": "Query heads, and the keys that each reads"},
}
"""What each picture is called where it is taken along, by the key of its component and its name there."""


def _component(name: str, *scripts: str) -> Callable[..., Any]:
    component = st.components.v2.component(
        f"shapes_{name}",
        html=f"<style data-cells>{beside.read(__file__, 'cells.css')}</style>\n<div class='shapes'></div>\n",
        css=beside.read(__file__, "frame.css"),
        js=beside.read(__file__, "cells.js", *scripts),
    )

    def draw(*, key: str, **more: Any) -> Any:
        for part, title in TITLES[key].items():
            offers.picture(key, title, part)
        return component(key=key, **more)

    return draw


step = _component("step", "panel.js", "step.js")
run = _component("run", "panel.js", "run.js")
gathered = _component("gathered", "panel.js", "gather.js")
heads = _component("heads", "panel.js", "heads.js")
