"""The list of traps in a config: what holds, and what a naive reading would make of it."""

from __future__ import annotations

from collections.abc import Sequence

from pages.parts import prose
from pages.parts.components import markup, note


def draw(differences: Sequence[tuple[str, str]]) -> None:
    """Put the list into the page; the texts are of the reader, their values of the config: all of it is escaped."""
    if not differences:
        note("Nothing: this config has none of the traps that calculators fall into.")
        return
    rows = "".join(
        f'<div style="padding: .45rem 0; border-bottom: 1px solid var(--rule)"><div>{markup(what)}</div>'
        f'<div class="muted">{markup(instead)}</div></div>'
        for what, instead in differences
    )
    prose.put(f'<div class="sc" style="font-size: .9375rem; border-top: 1px solid var(--ink)">{rows}</div>')
