"""How a floor is said: a bound as one, and a floor that rests on the expected number of experts as expected."""

from __future__ import annotations

from costmodel.price import Cost
from pages.parts import format
from pages.parts.components import Ink, Part

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


def of_prompt(counted: Cost, bound: Cost, tokens: int) -> list[Part]:
    """Whether the post's count of a prompt is a bound: its head on all positions may ask for more than is needed.

    ``counted``: the prompt in that count. ``bound``: with its square, and the head only where logits are needed.
    """
    count, least = (Ink(format.seconds(cost.seconds), "prefill") for cost in (counted, bound))
    same, where = count == least, spread(expects=bound.expects_experts)
    if counted.seconds <= bound.seconds:
        more: list[Part] = [] if same else ["; with all that it needs counted, the bound is ", least]
        return ["For the prompt this count's ", count, f" is a bound too{where}", *more, "."]
    head = f"For the prompt this count has the LM head on all {format.many(tokens, 'position')}, so its "
    end: list[Part] = ["hardly less"] if same else [least]
    return [head, count, " is the post's count and no bound; the bound is ", *end, f"{where}."]
