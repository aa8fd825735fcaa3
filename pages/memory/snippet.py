"""The figures of the Memory page as a program."""

from __future__ import annotations

from pages.memory import words
from pages.memory.numbers import Memory
from pages.parts import snippets


def code(m: Memory, packed: str = "") -> str:
    """The program, for a machine whose memory is known; ``packed`` is the user's own model."""
    fitting = "fit.kv_tokens * fit.pools" if m.has_cache else snippets.literal("any number")
    expressions = ["fit.weight_bytes", "fit.kv_pool_bytes", fitting, "fit.max_batch", "fit.max_context"]
    figures = snippets.figures(words.figures(m), expressions)
    return snippets.program("Memory", m.scenario, body=fit_lines(m), figures=figures, packed=packed)


def fit_lines(m: Memory, suffix: str = "") -> list[str]:
    """Lines that work out what fits, of the model and the machine whose names end in ``suffix``."""
    machine = f"hardware{suffix}"
    if m.hardware.memory != m.scenario.hardware.memory:
        machine += f".replace(memory={m.hardware.memory!r})"  # as the user gave it
    return [
        f"fit{suffix} = cm.memory(",
        f"    model{suffix}, {machine}, precision=precision{suffix}, tensor_parallel=gpus{suffix},",
        f"    batch={m.batch}, context={m.context}, block_size={m.block_size}, utilization={m.utilization!r},",
        f"    reserve_bytes={m.reserve_bytes!r}, allocation={snippets.literal(m.allocation)},",
        f"    attention_parallel={snippets.literal(m.attention_parallel)},",
        ")",
    ]
