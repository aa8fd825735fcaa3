"""Tables as files: numbers as numbers, and text that no spreadsheet takes for a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a text begins that a spreadsheet would compute."""


def written(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A CSV of these rows: numbers as they are, everything else as text.

    >>> written(["name", "time (s)"], [["=1+1", 0.5], ["QKV", 2]]).splitlines()
    ['name,time (s)', "'=1+1,0.5", 'QKV,2']
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([cell(name) for name in header])
    writer.writerows([cell(value) for value in row] for row in rows)
    return file.getvalue()


def frame(table: pd.DataFrame) -> str:
    """A CSV of a table whose columns say their units."""
    return written([str(name) for name in table.columns], table.itertuples(index=False, name=None))


def cell(value: Any) -> Any:
    """A value as it goes into a cell."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (int, float)):
        return value
    text = " ".join(str(value).replace("\u00a0", " ").split())
    return f"'{text}" if str(value).startswith(_FORMULA) or text.startswith(_FORMULA) else text
