"""How tests write schedules down: requests as rows, steps as the tokens of each request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from costmodel import serving

POOL = ("num_blocks", "block_size")


def table(*rows: tuple[Any, ...]) -> pd.DataFrame:
    """Requests as (id, arrival, prompt, output)."""
    return pd.DataFrame(rows, columns=["id", "arrival_s", "prompt_tokens", "output_tokens"])


def run_case(case: Mapping[str, Any], **options: Any) -> serving.Run:
    """Run a case in the form of the reference schedules, in unit steps."""
    knobs = {name: value for name, value in case["knobs"].items() if name not in POOL}
    pool = {name: value for name, value in case["knobs"].items() if name in POOL}
    names = {"arrival": "arrival_s", "prompt": "prompt_tokens", "output": "output_tokens"}
    requests = pd.DataFrame(case["requests"]).rename(columns=names)
    policy = serving.policy(case["policy"], **knobs)
    return serving.simulate(requests, policy, step_seconds=1.0, **pool, **{"engine": "steps", **options})


def tokens(run: serving.Run) -> list[dict[str, int]]:
    """Tokens of each request in each step, idle ones too."""
    return [step for step, _ in run.schedule]


def written(run: serving.Run) -> str:
    """The schedule as a person writes it: ``A4 B2 | A1 | -``."""
    steps = (" ".join(f"{name}{n}" for name, n in step.items()) or "-" for step in tokens(run))
    return " | ".join(steps)


def free(run: serving.Run) -> Sequence[int]:
    """Free blocks after each step."""
    return [blocks for _, blocks in run.schedule]
