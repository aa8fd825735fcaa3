"""Text of a page, one element for all that stands together: each one more costs a move of a slider a millisecond."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import streamlit as st

_gathered: ContextVar[list[str] | None] = ContextVar("gathered", default=None)


def put(markup: str) -> None:
    """Put HTML into the page, or to what is gathered with it."""
    gathered = _gathered.get()
    if gathered is None:
        st.html(markup)
    else:
        gathered.append(markup)


@contextmanager
def together() -> Iterator[None]:
    """Draw all text of the block as one element, at its end; nothing but text may be drawn in it."""
    gathered: list[str] = []
    token = _gathered.set(gathered)
    try:
        yield
    finally:
        _gathered.reset(token)
    if gathered:
        st.html(f'<div class="sc-prose">{"".join(f"<div>{markup}</div>" for markup in gathered)}</div>')
