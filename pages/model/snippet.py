"""The figures of the Model page as a program."""

from __future__ import annotations

from pages.model import words
from pages.model.numbers import Understood
from pages.parts import snippets
from pages.parts.components import Figure, plain

_EXPRESSIONS = {
    "parameters": "model.total_params",
    "used by one token": "model.active_params",
    "weights as stored": "model.weight_bytes",
    "cache a token": "model.kv_values_per_token * DTYPES[kv].bytes",
    "state a sequence": "model.state_bytes",
    "kept at": "model.kv_bytes(context, kv) + model.state_bytes",
    "P, in matrices": "model.matrix_params",
}
"""By how a figure's name begins."""


def code(u: Understood, packed: str = "") -> str:
    """The program; ``packed`` is the user's own model."""
    figures = words.figures(u)
    return snippets.program(
        "Model",
        u.scenario,
        body=[f"kv, context = {snippets.literal(u.kv_dtype)}, {u.context}"],
        figures=snippets.figures(figures, [_expression(figure) for figure in figures]),
        packed=packed,
        imports=["from costmodel.dtypes import DTYPES"],
    )


def _expression(figure: Figure) -> str:
    name = plain(figure.name)
    return next(code for start, code in _EXPRESSIONS.items() if name.startswith(start))
