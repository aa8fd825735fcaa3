"""Checks of values that came from outside: from a file, an upload, or a process that may have gone wrong."""

from __future__ import annotations

from typing import Any

from costmodel.errors import ConfigError

_LONGEST = 400  # characters of one text
_LARGEST = 1e30


def mapping(key: str, value: object, allowed: set[str]) -> dict[str, Any]:
    """Return ``value`` when it is a dict whose keys are all among ``allowed``.

    Raises
    ------
    ConfigError: when it is not.
    """
    if not isinstance(value, dict):
        raise ConfigError(key, value, "an object")
    strange = sorted(str(name) for name in value if name not in allowed)
    if strange:
        raise ConfigError(f"{key}.{strange[0][:40]}", "a key that is not known", f"one of {', '.join(sorted(allowed))}")
    return value


def sequence(key: str, value: object, most: int) -> list[Any]:
    """Return ``value`` when it is a list of at most ``most`` entries.

    Raises
    ------
    ConfigError: for anything but a list that is short enough.
    """
    if not isinstance(value, list) or len(value) > most:
        found = f"{len(value)} entries" if isinstance(value, list) else value
        raise ConfigError(key, found, f"a list of at most {most:,} entries")
    return value


def text(key: str, value: object, *, empty: bool = True) -> str:
    """Return ``value`` when it is a short printable text.

    Raises
    ------
    ConfigError: for anything but a short printable text.
    """
    if not isinstance(value, str) or len(value) > _LONGEST or not value.isprintable() or not (value or empty):
        raise ConfigError(key, value, f"a printable text of at most {_LONGEST} characters")
    return value


def printable(value: str) -> str:
    """``value`` as ``text`` accepts it: what a driver or an error says, without control characters, cut to length."""
    return "".join(letter if letter.isprintable() else " " for letter in value)[:_LONGEST]


def number(key: str, value: object) -> float:
    """Return ``value`` as a float when it is a finite number that is not negative.

    Raises
    ------
    ConfigError: for anything but a finite number.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigError(key, value, "a number")
    if not 0 <= value < _LARGEST:  # compared before it becomes a float: JSON's whole numbers may be larger than any
        raise ConfigError(key, value, "a finite number that is not negative")
    return float(value)


def whole(key: str, value: object) -> int:
    """Return ``value`` when it is a whole number that is not negative.

    Raises
    ------
    ConfigError: for anything else.
    """
    number(key, value)
    if not isinstance(value, int):
        raise ConfigError(key, value, "a whole number")
    return value


def flag(key: str, value: object) -> bool:
    """Return ``value`` when it is true or false.

    Raises
    ------
    ConfigError: for anything else.
    """
    if not isinstance(value, bool):
        raise ConfigError(key, value, "true or false")
    return value


def positive(key: str, value: object) -> float:
    """Return ``value`` as a float when it is a finite number above 0.

    Raises
    ------
    ConfigError: for anything but a number above 0.
    """
    found = number(key, value)
    if found <= 0:
        raise ConfigError(key, value, "a number above 0")
    return found
