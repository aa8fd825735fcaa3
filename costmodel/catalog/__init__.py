"""The catalogue of models: the few keys of each config that its reading needs, with where they are published.

The sizes are facts of ``models.json``; the same reader reads them that reads any config. Nothing is opened until a
model is asked for.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, overload

from costmodel.errors import UnknownModel
from costmodel.model import Model

_FILE = Path(__file__).with_name("models.json")


@overload
def model() -> tuple[str, ...]: ...
@overload
def model(name: str) -> Model: ...


def model(name: str | None = None) -> Model | tuple[str, ...]:
    """Return the model called ``name``, or the ids of all models.

    Raises
    ------
    UnknownModel: when the catalogue has no such id; it names the nearest ones.

    >>> model("qwen3-0.6b").matrix_params
    595984384
    >>> "llama-3.1-8b" in model()
    True
    """
    if name is None:
        return tuple(_rows())
    if not isinstance(name, str) or name not in _rows():
        raise UnknownModel(name, _rows())
    return _read(name)


@cache
def _rows() -> dict[str, dict[str, Any]]:
    """Rows of the catalogue by id, in the order of the file."""
    rows = json.loads(_FILE.read_text(encoding="utf-8"))
    return {row["id"]: row for row in rows}


@cache
def _read(name: str) -> Model:
    """Read one row as a model, once."""
    from costmodel.config import read_config  # noqa: PLC0415  # the reader is needed only when a model is asked for

    row = _rows()[name]
    return read_config(row["config"]).replace(id=name, name=row["name"], source=row["source"])
