"""The figures of the Memory page as a program."""

from __future__ import annotations

from pages.memory import words
from pages.memory.numbers import Memory
from pages.parts import snippets


def code(m: Memory, packed: str = "") -> str:
    """The program, for a machine whose memory is known; ``packed`` is the user's own model."""
    own = m.hardware.memory != m.scenario.hardware.memory
    body = [
        *([f"hardware = hardware.replace(memory={m.hardware.memory!r})  # as you gave it"] if own else []),
        "fit = cm.memory(",
        "    model, hardware, precision=precision, tensor_parallel=gpus,",
        f"    batch={m.batch}, context={m.context}, block_size={m.block_size}, utilization={m.utilization!r},",
        f"    reserve_bytes={m.reserve_bytes!r}, allocation={snippets.literal(m.allocation)},",
        f"    attention_parallel={snippets.literal(m.attention_parallel)},",
        ")",
    ]
    fitting = "fit.kv_tokens * fit.pools" if m.has_cache else snippets.literal("any number")
    expressions = ["fit.weight_bytes", "fit.kv_pool_bytes", fitting, "fit.max_batch", "fit.max_context"]
    figures = snippets.figures(words.figures(m), expressions)
    return snippets.program("Memory", m.scenario, body=body, figures=figures, packed=packed)
