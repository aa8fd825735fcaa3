"""The document: JSON text, a path or a dict becomes a plain mapping of bounded size, or a ``ConfigError``.

A config comes from strangers, so its size, depth and numbers are bounded before anything reads it.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from costmodel.errors import ConfigError

MAX_BYTES = 4_000_000
"""Largest document: a real config.json has 1 to 60 kB, with every label of a classifier a megabyte."""

MAX_DEPTH = 8
"""Deepest nesting: the scheme of a quantization group inside ``text_config`` is seven deep."""

_MAX_VALUES = 200_000
_QUANTIZATION_FILE = "hf_quant_config.json"


def parse(text: str) -> dict[str, Any]:
    """Read JSON text, and only text: no path is followed, so it is safe for what a stranger pasted.

    Raises
    ------
    ConfigError: for text that is too long, not JSON, not one object, too deep, or with NaN in it.

    >>> parse('{"model_type": "llama"}')
    {'model_type': 'llama'}
    """
    if len(text) > MAX_BYTES:
        raise ConfigError("config", f"{len(text):,} characters", f"at most {MAX_BYTES:,}")
    try:
        values = json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        where = f"{error.msg} at line {error.lineno}, column {error.colno}"
        raise ConfigError("config", where, "valid JSON, as in a config.json") from None
    except RecursionError:
        raise ConfigError("config", "hundreds of levels of nesting", f"at most {MAX_DEPTH} levels") from None
    except ValueError as error:
        if isinstance(error, ConfigError):
            raise
        # Python refuses to turn more than 4,300 digits into a number.
        raise ConfigError("config", "a number of thousands of digits", "numbers of believable size") from None
    return _checked(values)


def load(config: object) -> tuple[dict[str, Any], object]:
    """Return the values of a config (dict, JSON text or path) and those of the quantization file beside a path.

    Raises
    ------
    ConfigError: when there is no such file, or its content cannot be used.
    """
    if isinstance(config, Mapping):
        return _checked(dict(config)), None
    if isinstance(config, str) and (config.lstrip()[:1] in ("{", "[", "") or len(config) > MAX_BYTES):
        return parse(config), None
    if not isinstance(config, (str, os.PathLike)):
        raise ConfigError("config", config, "a dict, JSON text or the path of a config.json")
    path = _file(config)
    beside = path.with_name(_QUANTIZATION_FILE)
    return parse(_text(path)), beside if path.name == "config.json" and beside.is_file() else None


def _file(name: str | os.PathLike[str]) -> Path:
    path = Path(name)
    try:
        path = path / "config.json" if path.is_dir() else path
        known = path.is_file()
    except (OSError, ValueError):
        known = False
    if not known:
        raise ConfigError("config", str(name), "JSON text that begins with {, or the path of a config.json")
    return path


def _text(path: Path) -> str:
    try:
        if (size := path.stat().st_size) > MAX_BYTES:
            raise ConfigError("config", f"{size:,} bytes", f"at most {MAX_BYTES:,}")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ConfigError("config", "bytes that are not UTF-8", "the text of a config.json") from None
    except OSError as error:
        raise ConfigError("config", error.strerror or "an unreadable file", "a file that can be read") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ConfigError(twice, "the key twice", "each key once")
    return values


def _checked(values: object) -> dict[str, Any]:
    """Return ``values`` when it is an object within the bounds, without NaN."""
    if not isinstance(values, dict):
        raise ConfigError("config", values, "one JSON object, as in a config.json")
    for key, value, depth in _walk(values):
        if depth > MAX_DEPTH:
            raise ConfigError(key, f"more than {MAX_DEPTH} levels of nesting", f"at most {MAX_DEPTH} levels")
        if isinstance(value, float) and math.isnan(value):
            raise ConfigError(key, value, "a number")
    return values


def _walk(values: dict[str, Any]) -> Iterator[tuple[str, object, int]]:
    """Yield every value with the nearest key above it and its depth, without recursion."""
    waiting: list[tuple[str, object, int]] = [("config", values, 1)]
    count = 1
    while waiting:
        key, value, depth = waiting.pop()
        yield key, value, depth
        if not isinstance(value, (Mapping, list, tuple)):
            continue
        count += len(value)
        if count > _MAX_VALUES:
            raise ConfigError(key, f"more than {_MAX_VALUES:,} values", "the few hundred of a config.json")
        named = value.items() if isinstance(value, Mapping) else ((key, inner) for inner in value)
        waiting.extend((str(name), inner, depth + 1) for name, inner in named)
