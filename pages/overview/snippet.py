"""The figures of the Overview as a program."""

from __future__ import annotations

from pages.overview.numbers import Overview
from pages.parts import snippets


def code(o: Overview, packed: str = "") -> str:
    """The program; ``packed`` is the user's own model."""
    body = [
        f'token = price(cm.Step.decode(1, {o.context}), count="weights")',
        f'decode = price(cm.Step.decode({o.batch}, {o.context}), count="weights")',
        f'with_caches = price(cm.Step.decode({o.batch}, {o.context}), count="attention")',
        f'prefill = price(cm.Step.prefill({o.prompt}), count="weights")',
    ]
    figures = {
        "bytes that a step of one token reads": "token.bytes  # B",
        "which takes": "token.memory_seconds  # s",
        "arithmetic of a token": "token.compute_seconds  # s",
        "crossing T*": 'cm.crossing(model, hardware, 0, "weights", "decode", precision, gpus)  # tokens',
        f"decode step, B = {o.batch:,}": "decode.seconds  # s",
        "with caches": "with_caches.seconds  # s",
        f"prefill of {o.prompt:,}": "prefill.seconds  # s",
        "ridge of the machine": f"cm.ridge(hardware, {snippets.literal(o.scenario.formats.compute)})  # FLOP a byte",
        "parameters in matrices": "model.matrix_params",
    }
    return snippets.program("Overview", o.floor, body=body, figures=figures, packed=packed)
