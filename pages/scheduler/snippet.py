"""The figures of the Scheduler page as a program: the requests, the policies, and what became of them."""

from __future__ import annotations

from typing import Any

from costmodel import serving
from pages.parts import snippets
from pages.scheduler import runs, step_view, workloads
from pages.scheduler.words import MEASURES, Side

_AZURE = {
    id(getattr(serving, name)): f"serving.{name}"
    for name in ("AZURE_CONV_PROMPTS", "AZURE_CODE_PROMPTS", "AZURE_CONV_OUTPUTS", "AZURE_CODE_OUTPUTS")
}
"""The lengths of the traces, by the names that ``serving`` has for them."""


_OF_STEP = ("tokens", "prefill_tokens", "decode_tokens", "seconds", "bound")


def code(a: Side, b: Side | None, step: int, packed: str = "") -> str:
    """The program; ``step`` is the one under the cursor, ``packed`` the user's own model."""
    sides = {"a": a, **({"b": b} if b is not None else {})}
    body = list(_requests(a))
    figures = {}
    for letter, side in sides.items():
        body += ["", *_run(side, letter)]
        for measure in MEASURES:
            name = f"{letter.upper()}, {measure.name}"
            figures[name] = f"{letter}.summary[{snippets.literal(measure.key)}]{snippets.unit(measure.text(1.0))}"
    if a.steps:
        number = min(step, a.steps - 1)
        body += ["", f"step = a.explain({number})"]
        shown = step_view.figures(runs.stepped(a.run).explain(number))
        figures |= snippets.figures(shown, [f"step.{name}" for name in _OF_STEP])
    uploaded = isinstance(a.plan.workload, str)
    imports = [
        "from costmodel import serving",
        *(["from pathlib import Path"] if uploaded else []),
        *(["import pandas as pd"] if not uploaded and a.plan.workload.shared_prefix else []),
    ]
    return snippets.program("Scheduler", a.plan.scenario, body=body, figures=figures, packed=packed, imports=imports)


def _requests(side: Side) -> list[str]:
    workload = side.plan.workload
    if isinstance(workload, str):
        name = workload.rsplit(" ", 1)[0]
        return [
            f"requests = serving.read_trace(Path({snippets.literal(name)}).read_bytes())  # the trace that you gave",
            f"requests = requests.head({workloads.MOST_ROWS}).reset_index(drop=True)",
            'if "id" not in requests:',
            '    requests["id"] = [f"r{number}" for number in range(len(requests))]',
        ]
    given = [f"{name}={_argument(value)}" for name, value in workload.arguments().items()]
    return [*snippets.call(f"requests = serving.{workload.arrivals}", given), *_prefix(workload.shared_prefix)]


def _prefix(tokens: int) -> list[str]:
    """Lines that let all prompts begin with the same tokens."""
    if not tokens:
        return []
    return [
        "facts = dict(requests.attrs)",
        "ids = [",
        f"    [(0, i) if i < {tokens} else (number + 1, i) for i in range(length)]",
        '    for number, length in enumerate(requests["prompt_tokens"])',
        "]",
        "requests = requests.assign(token_ids=pd.Series(ids, index=requests.index))",
        "requests.attrs.update(facts)",
    ]


def _run(side: Side, letter: str) -> list[str]:
    plan, requests = side.plan, side.run.requests
    arguments = plan.knobs.arguments(int(requests["prompt_tokens"].max()))
    given = [f"{name}={snippets.literal(value)}" for name, value in arguments.items()]
    blocks = plan.kv_blocks or None
    pool = f"serving.PrefillPool(bandwidth={plan.link!r}, num_blocks={blocks})" if plan.link else "None"
    room = ", ".join(f"{name}={snippets.literal(value)}" for name, value in plan.room.arguments.items())
    own = plan.room.own_memory
    machine = "hardware" if own is None else f"hardware.replace(memory={own!r})"
    return [
        *snippets.call("policy = serving.policy", [snippets.literal(plan.knobs.policy), *given]),
        f"{letter} = serving.simulate(",
        f"    requests, policy, model=model, hardware={machine}, precision=precision, rates=rates,",
        f"    tensor_parallel=gpus, num_blocks={blocks}, block_size={plan.block_size},",
        f"    {room},",
        f"    lag={plan.lag}, prefill_pool={pool}, engine={snippets.literal(runs.engine(len(requests)))},",
        ")",
    ]


def _argument(value: Any) -> str:
    """A value as an expression over ``serving``."""
    if isinstance(value, (int, float, tuple)):
        return repr(value)
    return _AZURE.get(id(value)) or f"serving.{value!r}"
