"""The figures of the Shapes page as a program."""

from __future__ import annotations

from pages.parts import snippets
from pages.shapes import words
from pages.shapes.numbers import Shapes


def code(n: Shapes, packed: str = "") -> str:
    """The program; ``packed`` is the user's own model."""
    how = f', count="{n.count}"' if n.is_floor else ""
    body = [
        f"layer = layer_kinds(model)[{n.kind}][0]",
        f"tokens, rows = {n.tokens}, {n.other.new}",
        "first, second = Shape(layer, model.hidden, tokens), Shape(layer, model.hidden, rows, tokens - rows)",
        f"prefill = price(cm.Step.prefill(tokens){how})",
        f"other = price(cm.Step(new=second.new, cached=second.cached){how})",
        "",
        "",
        "def cached(shape):",
        '    return (shape.cells("latent") or shape.cells("keys")).get("cached", 0)',
        "",
    ]
    expressions = [
        "(first.new, second.new)",
        "(cached(first), cached(second))",
        "(prefill.bytes, other.bytes)",
        "(prefill.seconds, other.seconds)",
        "(prefill.flops, other.flops)",
    ]
    return snippets.program(
        "Shapes",
        n.scenario,
        body=body,
        figures=snippets.figures(words.figures(n), expressions),
        packed=packed,
        imports=["from costmodel.shapes import Shape, layer_kinds"],
    )
