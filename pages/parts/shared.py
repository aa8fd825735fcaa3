"""Work that is done once for everybody: sessions that look at the same thing share what was worked out for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

T = TypeVar("T")


def shared(numbers: T) -> T:
    """The numbers equal to these that somebody else has already, with all that they have worked out; else these.

    For frozen dataclasses whose ``cached_property`` values depend on their fields alone.

    >>> shared((1, 2)) is shared(tuple([1, 2]))
    True
    """
    found: T = _first(numbers)
    return found


@lru_cache(maxsize=256)
def _first(numbers: T) -> T:
    return numbers


def kept(make: Callable[..., T], *about: Any) -> T:
    """What ``make(*about)`` gives, worked out once: for shared numbers, and for texts and other plain values.

    What is given must not be changed.

    >>> kept(divmod, 7, 2)
    (3, 1)
    """
    found: T = _made(make, *identities(about))
    return found


@lru_cache(maxsize=2048)
def _made(make: Callable[..., T], *about: Identity) -> T:
    return make(*(one.it for one in about))


class Identity:
    """Something to look up by: plain values are equal as always, anything else to itself alone.

    To hash numbers by what they hold takes as long as some of what is worked out from them.
    """

    __slots__ = ("it", "key")

    def __init__(self, it: Any) -> None:
        self.it = it
        self.key = (type(it), it) if isinstance(it, (str, int, float, type(None))) else id(it)  # held by ``it``

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.key == other.key


def identities(about: tuple[Any, ...]) -> tuple[Identity, ...]:
    """The identity of each."""
    return tuple(Identity(one) for one in about)
