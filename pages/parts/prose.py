"""Text of a page, one element for all that stands together: each one more costs a move of a slider two milliseconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType
from typing import Any

import streamlit as st

from pages.parts import offers
from pages.parts.shared import Identity, identities

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
    with _gathering() as gathered:
        yield
    if gathered:
        st.html(_joined(gathered))


def kept(*about: Any) -> Callable[[Callable[[], None]], None]:
    """Draw the text of a function at once, as one element; written once for all sessions that look at the same.

    ``about``: all that the text depends on, shared numbers (see ``shared``) and plain values.
    """

    def draw(write: Callable[[], None]) -> None:
        markup, offered = _written(_Text(write.__code__, identities(about), write))
        offers.add(offered)
        st.html(markup)

    return draw


@dataclass(eq=True, unsafe_hash=True)
class _Text:
    """A text to look up: the code that writes it, and what it is about."""

    code: CodeType
    about: tuple[Identity, ...]
    write: Callable[[], None] | None = field(compare=False)


@lru_cache(maxsize=1024)
def _written(text: _Text) -> tuple[str, offers.Offers]:
    write, text.write = text.write, None  # the look-up keeps its key, and a function would keep its page
    if write is None:
        raise TypeError("a text that is not kept has a function that writes it")
    with offers.recorded() as offered, _gathering() as gathered:
        write()
    return _joined(gathered), offered


@contextmanager
def _gathering() -> Iterator[list[str]]:
    gathered: list[str] = []
    token = _gathered.set(gathered)
    try:
        yield gathered
    finally:
        _gathered.reset(token)


def _joined(gathered: list[str]) -> str:
    return f'<div class="sc-prose">{"".join(f"<div>{markup}</div>" for markup in gathered)}</div>'
