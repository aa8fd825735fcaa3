"""How a floor is said: a bound as one, and a floor that rests on the expected number of experts as expected."""

from __future__ import annotations

from pages.parts.components import Part

SPREAD = "where tokens spread over the experts as expected"


def spread(*, expects: bool) -> str:
    """What a floor supposes, for the end of a sentence; "" where it is a bound whatever a router does."""
    return f" {SPREAD}" if expects else ""


def or_more(take: str, bound: str, *floor: Part, expects: bool) -> list[Part]:
    """The rest of a sentence about a floor; ``expects``: one that a step with fewer experts than expected may beat.

    >>> or_more("takes ", "cannot finish sooner than ", "356 µs", expects=False)
    ['cannot finish sooner than ', '356 µs']
    >>> "".join(or_more("takes ", "cannot finish sooner than ", "8.20 ms", expects=True))
    'takes 8.20 ms or more where tokens spread over the experts as expected'
    """
    return [take, *floor, f" or more{spread(expects=True)}"] if expects else [bound, *floor]


def limit(words: str, *, expects: bool) -> str:
    """The same for the name of a figure.

    >>> limit("at least", expects=True), limit("at most", expects=False), limit("floor of the step", expects=True)
    ('expected at least', 'at most', 'expected floor of the step')
    """
    return f"expected {words}" if expects else words


def no_faster(*, expects: bool) -> str:
    """The same as a clause of its own.

    >>> no_faster(expects=False)
    'no step can be faster'
    """
    return f"no step {'is' if expects else 'can be'} faster{spread(expects=expects)}"
