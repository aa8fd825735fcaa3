"""What the page of this run has to take along: its pictures, tables and files, and its figures as Python.

Parts that draw something note it here while the page is run, and the Share menu offers it. Nothing is written out
before somebody asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import streamlit as st

_KEPT = "_offers"


@dataclass(frozen=True)
class Picture:
    """A picture: the key of the container that it stands in, its part there where it has several, and its title."""

    key: str
    title: str
    part: str = ""


@dataclass(frozen=True)
class File:
    """Something to download: its title, its kind (of the file's name), and the function that writes it."""

    title: str
    kind: str
    write: Callable[[], str]


@dataclass
class Offers:
    """What one page offers.

    Attributes
    ----------
    page: the page's name in the address.
    section: the heading under which the page stands while it is run.
    """

    page: str = ""
    section: str = ""
    pictures: dict[str, Picture] = field(default_factory=dict)
    files: dict[str, File] = field(default_factory=dict)
    python: Callable[[], str] | None = None


def begin(page: str) -> None:
    """Forget what was offered before: ``page`` is about to be run."""
    st.session_state[_KEPT] = Offers(page)


def current() -> Offers:
    """What the page has offered so far."""
    found: Offers = st.session_state.setdefault(_KEPT, Offers())
    return found


def picture(key: str, title: str, part: str = "") -> None:
    """Offer a picture."""
    current().pictures[f"{key} {part}"] = Picture(key, title, part)


def file(title: str, kind: str, write: Callable[[], str]) -> None:
    """Offer a file; without a title of its own it has that of its section."""
    offers = current()
    named = title or offers.section or offers.page
    offers.files[f"{named} {kind}"] = File(named, kind, write)


def python(write: Callable[[], str]) -> None:
    """Offer the page's figures as a program."""
    current().python = write


def file_name(page: str, title: str, kind: str = "") -> str:
    """Name of a file that says what it is of.

    >>> file_name("roofline", "Time of a step, B = 1", "svg")
    'stepcost-roofline-time-of-a-step-b-1.svg'
    """
    words = re.sub(r"[^a-z0-9]+", "-", f"{page} {title}".lower()).strip("-")
    return f"stepcost-{words}{'.' if kind else ''}{kind}"
