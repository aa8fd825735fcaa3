"""Work that is done once for everybody: sessions that look at the same thing share what was worked out for it."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")


def shared(numbers: T) -> T:
    """The numbers equal to these that somebody else has already, with all that they have worked out; else these.

    For frozen dataclasses whose ``cached_property`` values depend on their fields alone.

    >>> shared((1, 2)) is shared(tuple([1, 2]))
    True
    """
    found: T = _first(numbers)
    return found


@lru_cache(maxsize=128)
def _first(numbers: T) -> T:
    return numbers
