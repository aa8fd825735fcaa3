"""The errors that a user can cause. All are ``ValueError``; each message says what to change."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import numpy as np


class ConfigError(ValueError):
    """A value that cannot be used: which key, what was found there, what is expected.

    >>> str(ConfigError("num_hidden_layers", -3, "a whole number from 1 to 10,000"))
    'num_hidden_layers: found -3, expected a whole number from 1 to 10,000'
    """

    def __init__(self, key: str, found: object, expected: str) -> None:
        self.key, self.found, self.expected = key, found, expected
        super().__init__(f"{_readable(key)}: found {_short(found)}, expected {expected}")


class _UnknownName(ValueError):
    """A name that no catalogue row has; the message offers the nearest ones."""

    kind = "name"

    def __init__(self, name: object, known: Iterable[str]) -> None:
        self.name = name
        near = difflib.get_close_matches(str(name)[:80].lower(), list(known), n=3, cutoff=0.4)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        super().__init__(f"unknown {self.kind} {_short(name)}{hint}")


class UnknownModel(_UnknownName):
    """No model of the catalogue has this id."""

    kind = "model"


class UnknownHardware(_UnknownName):
    """No accelerator of the catalogue has this id."""

    kind = "hardware"


def _readable(key: str) -> str:
    """Return the key as it is, or quoted and cut when a hostile config made it long or unprintable."""
    return key if len(key) <= 80 and key.isprintable() else _short(key)  # noqa: PLR2004


def _short(value: object, limit: int = 80) -> str:
    """Return ``repr(value)``, cut so that a hostile value cannot fill the page.

    >>> _short(np.float64("nan")), _short("x" * 100, limit=5)
    ('nan', "'xxx…")
    """
    if isinstance(value, np.generic):  # a number is meant, and not its type
        value = value.item()
    text = repr(value if not isinstance(value, str) else value[: limit + 1])
    return text if len(text) <= limit else text[: limit - 1] + "…"
