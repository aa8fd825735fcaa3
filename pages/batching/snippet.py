"""The figures of the Batching page as a program."""

from __future__ import annotations

from pages.batching import words
from pages.batching.numbers import Batching
from pages.parts import snippets


def code(b: Batching, packed: str = "") -> str:
    """The program; ``packed`` is the user's own model."""
    how = "" if b.estimates else f', count="{b.count}"'
    body = [
        f"batch, context, hourly = {b.batch}, {b.context}, {b.hourly!r}",
        f"latency = price(cm.Step.decode(batch, context){how}).seconds",
        "cost = latency / batch",
    ]
    expressions = [
        "latency",
        "cost",
        "1 / latency",
        "1 / cost",
        "price_of_a_million(cost, hourly * gpus)",
    ]
    return snippets.program(
        "Batching",
        b.scenario,
        body=body,
        figures=snippets.figures(words.figures(b), expressions),
        packed=packed,
        imports=["from costmodel.batching import price_of_a_million"],
    )
