"""The figures of the Batching page as a program, and what a prompt that arrives does to the batch."""

from __future__ import annotations

from pages.batching import words
from pages.batching.numbers import Arrival
from pages.parts import snippets


def code(arrival: Arrival, packed: str = "") -> str:
    """The program; ``packed`` is the user's own model."""
    b = arrival.load
    how = "" if b.estimates else f', count="{b.count}"'
    body = [
        f"batch, context, hourly = {b.batch}, {b.context}, {b.hourly!r}",
        f"latency = price(cm.Step.decode(batch, context){how}).seconds",
        "cost = latency / batch",
        "",
        "",
        "def counted(step):",
        f"    return price(step{how})",
        "",
        "",
        f"prompt = {arrival.prompt}",
        "ways = {",
        '    "a step each": batching.apart(counted, prompt, batch, context),',
        '    "one step together": batching.together(counted, prompt, batch, context),',
        f'    "in chunks": batching.chunked(counted, prompt, batch, context, chunk={arrival.chunk}),',
        "}",
    ]
    expressions = [
        "latency",
        "cost",
        "1 / latency",
        "1 / cost",
        "batching.price_of_a_million(cost, hourly * gpus)",
    ]
    after = [
        "for name, way in ways.items():",
        '    print(f"{name}: a token waits up to {way.longest_wait} s, the prompt for {way.first_token} s")',
    ]
    return snippets.program(
        "Batching",
        b.scenario,
        body=body,
        figures=snippets.figures(words.figures(b), expressions),
        packed=packed,
        imports=["from costmodel import batching"],
        after=after,
    )
