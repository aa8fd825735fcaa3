"""Counts as the reasons of a run write them."""

from __future__ import annotations


def many(number: int, one: str) -> str:
    """A number of things.

    >>> many(1, "token"), many(2048, "free block")
    ('1 token', '2,048 free blocks')
    """
    return f"{number:,} {one}{'s' * (number != 1)}"


def are(number: int) -> str:
    """The verb before or after so many.

    >>> are(0), are(1)
    ('are', 'is')
    """
    return "is" if number == 1 else "are"
