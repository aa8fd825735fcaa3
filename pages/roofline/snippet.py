"""The figures of the Roofline page as a program."""

from __future__ import annotations

from pages.parts import snippets
from pages.roofline import words
from pages.roofline.numbers import Roofline


def code(r: Roofline, shown: str, packed: str = "") -> str:
    """The program; ``shown`` is the step whose operations are printed, ``packed`` the user's own model."""
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
    counted = "" if r.estimates else f", {how}"
    body.append(f"operations = price({_step(r, shown)}{counted}).operations")
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
    after = ["print(operations)"]
    return snippets.program("Roofline", r.scenario, body=body, figures=figures, packed=packed, after=after)


def _step(r: Roofline, shown: str) -> str:
    """One of the page's three steps."""
    if shown != "mixed":
        return f"{shown}_step"
    ends = int(r.chunk == r.prompt)
    return f"cm.Step.mixed({r.chunk}, 0, {r.batch}, {r.context}, chunk_logits={ends})"
