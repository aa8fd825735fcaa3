"""A scenario as a file: every control that differs from its default, as a link writes it, and what no link can carry.

A file is untrusted as a link is: its size is bounded, and each value goes through the check of its control. It is taken
as a whole or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import costmodel as cm
from pages.parts import state

FORMAT = "stepcost scenario"
VERSION = 1
LONGEST = 5_000_000  # bytes
_THIS = "a file that Share downloaded"


def write(values: Mapping[str, Any]) -> str:
    """The file of these values of controls, by key.

    >>> write({"batch": 8, "context": 2048})
    '{"format": "stepcost scenario", "version": 1, "controls": {"batch": "8"}}'
    """
    controls = {}
    for key, control in state.CONTROLS.items():
        if key in values and values[key] != control.default:
            controls[key] = state.whole_text(control, values[key])
    return json.dumps({"format": FORMAT, "version": VERSION, "controls": controls}, ensure_ascii=False)


def read(content: bytes | str) -> dict[str, Any]:
    """Undo ``write``: the values of the controls that the file sets.

    Raises
    ------
    ValueError: for anything that is no such file, or that sets what no control can be, in a sentence.
    """
    if len(content) > LONGEST:
        raise ValueError(f"It has {len(content):,} bytes; a scenario has at most {LONGEST:,}.")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise ValueError(f"It is no JSON; choose {_THIS}.") from None
    try:
        return {key: state.parse_whole(state.CONTROLS[key], text) for key, text in _texts(document).items()}
    except cm.ConfigError as error:
        raise ValueError(f"{error}.") from error


def _texts(document: Any) -> dict[str, str]:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"It is JSON of something else; choose {_THIS}.")
    if document.get("version") != VERSION:
        raise ValueError(f"It is of another version than {VERSION}, the one that this dashboard reads.")
    controls = document.get("controls")
    if not isinstance(controls, dict) or document.keys() - {"format", "version", "controls"}:
        raise ValueError(f"It has other parts than format, version and controls; choose {_THIS}.")
    for key in controls.keys() - state.CONTROLS.keys():
        raise cm.ConfigError("controls", key, "keys of this dashboard's controls alone")
    return {key: _text(key, value) for key, value in controls.items()}


def _text(key: str, value: Any) -> str:
    """The text of a value: a number that was written by hand will do."""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise ValueError(f"{key} has to be text or a number.")
