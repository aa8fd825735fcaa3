"""The figures of the Roofline page as a program."""

from __future__ import annotations

from pages.parts import snippets
from pages.roofline import words
from pages.roofline.numbers import Roofline


def code(r: Roofline, packed: str = "") -> str:
    """The program; ``packed`` is the user's own model."""
    floor, how = snippets.floor(r.scenario), f'count="{r.count}"'
    body = [
        f"decode_step = cm.Step.decode({r.batch}, {r.context})",
        f"prefill_step = cm.Step.prefill({r.prompt})",
        f"decode = price(decode_step, {how}{floor})",
        f"prefill = price(prefill_step, {how}{floor})",
        f'crossing = cm.crossing(model, hardware, {r.context}, "{r.count}", "decode", precision, gpus)',
    ]
    if r.counts_caches:
        body.append(f'weights = price(decode_step, count="weights"{floor}).bytes')
    if r.estimates:
        body += ["estimate, prefill_estimate = price(decode_step), price(prefill_step)"]
    idle = "decode.idle" if r.waiting_for_memory else "1 - decode.memory_seconds / decode.seconds"
    expressions = [
        "(weights, decode.bytes - weights)" if r.counts_caches else "decode.bytes",
        "decode.seconds",
        "prefill.seconds",
        *(["estimate.seconds", "prefill_estimate.seconds"] if r.estimates else []),
        "crossing",
        idle,
    ]
    figures = snippets.figures(words.figures(r), expressions)
    return snippets.program("Roofline", r.scenario, body=body, figures=figures, packed=packed)
