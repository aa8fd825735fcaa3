"""The figures of the Accuracy page as a program, and what the estimate says of the scenario's own steps."""

from __future__ import annotations

from costmodel import accuracy
from pages.accuracy import words
from pages.parts import snippets
from pages.parts.scenario import Scenario


def code(scenario: Scenario, batch: int, context: int, prompt: int, packed: str = "") -> str:
    """The program; ``packed`` is the user's own model. ``scenario`` may be one that has no estimate."""
    body = [
        "table = accuracy.published()",
        'whole = table[(table.gpu == "all") & (table.dtype == "all")]',
        f"whole = whole[whole.operation == {snippets.literal(accuracy.STEP)}]",
        'dense, moe = (whole[whole.regime == kind].iloc[0] for kind in ("dense", "MoE"))',
        f"beside = [{snippets.literal(accuracy.STEP)}, {snippets.literal(accuracy.HOST)}]",
        f"kernels = table[~table.operation.isin(beside) & (table.gpu != {snippets.literal(accuracy.UNSEEN)})]",
    ]
    expressions = [
        "dense.median_error",
        "dense.p90_error",
        "moe.median_error",
        "moe.p90_error",
        "dense.n + moe.n",
        "kernels.n.sum()",
    ]
    figures = snippets.figures(words.figures(), expressions)
    if _estimated(scenario, batch, context, prompt):
        body += [
            f"decode = price(cm.Step.decode({batch}, {context}))",
            f"prefill = price(cm.Step.prefill({prompt}))",
        ]
        for name in ("decode", "prefill"):
            figures[f"{name}, estimated"] = f"({name}.seconds, {name}.low, {name}.high)  # s, and its band"
    return snippets.program(
        "Accuracy",
        scenario,
        body=body,
        figures=figures,
        packed=packed,
        imports=["from costmodel import accuracy"],
    )


def _estimated(scenario: Scenario, *sizes: int) -> bool:
    try:
        words.estimates(scenario, *sizes)
    except ValueError:
        return False
    return True
