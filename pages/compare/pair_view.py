"""A against B: the difference in a sentence, a table, and every picture with both."""

from __future__ import annotations

from pages.compare import asked, words
from pages.parts import components


def show() -> None:
    """The view, from top to bottom."""
    asked.settle()
    pair, said = asked.pair()
    components.top(pair.a.scenario, *words.headline(pair))
    for sentence in said:
        components.complaint(sentence)
    asked.other()
