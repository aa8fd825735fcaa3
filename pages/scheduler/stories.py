"""Stories: settings of the controls that show one thing each. A new one is one more entry here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pages.parts import state

OWN = "own"

TOLD_BY = (
    "policy",
    "against",
    "token_budget",
    "token_budget_b",
    "max_seqs",
    "kv_blocks",
    "arrivals",
    "rate",
    "burstiness",
    "users",
    "requests",
    "prompt_kind",
    "prompt_length",
    "output_kind",
    "output_length",
    "seed",
    "watermark",
    "reserve",
    "long_prefill",
    "chunked",
    "prefix",
    "queue",
    "lag",
    "padded",
    "pools",
    "link",
    "shared_prefix",
)
"""The controls that a story sets: those that it does not name go to their defaults."""


@dataclass(frozen=True)
class Story:
    """A name, what to look at, and the controls that differ from their defaults."""

    name: str
    look_at: str
    controls: Mapping[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Any]:
        """Every control that a story sets."""
        return {key: self.controls.get(key, state.CONTROLS[key].default) for key in TOLD_BY}


STORIES: Mapping[str, Story] = {
    "stall": Story(
        "A prompt stalls the decodes",
        "Prefill first gives a new prompt a step of its own: everybody who was decoding waits that long for one token. "
        "A budget of tokens a step cuts the prompt instead.",
    ),
    "straggler": Story(
        "The straggler of a static batch",
        "Nobody joins a static batch until its last member is done; batching by iteration fills each place at once.",
        {
            "policy": "static",
            "against": "orca",
            "arrivals": "at_once",
            "requests": 24,
            "max_seqs": 8,
            "prompt_kind": "fixed",
            "prompt_length": 100,
            "output_kind": "lognormal",
            "output_length": 60,
        },
    ),
    "chunked": Story(
        "One long prompt, chunked",
        "A prompt of thousands of tokens beside short requests: chunks let the decodes ride along, and the prompt "
        "itself takes a little longer.",
        {
            "policy": "sarathi",
            "against": "vllm_v0",
            "token_budget": 512,
            "requests": 24,
            "rate": 100,
            "prompt_kind": "lognormal",
            "prompt_length": 2000,
            "output_kind": "uniform",
            "output_length": 80,
        },
    ),
    "pressure": Story(
        "Memory pressure and preemption",
        "Too few blocks: somebody loses what it keeps, and has it computed again.",
        {
            "policy": "vllm_v1",
            "against": "vllm_v0",
            "token_budget": 512,
            "kv_blocks": 560,
            "reserve": "off",
            "requests": 30,
            "rate": 400,
            "output_kind": "uniform",
            "output_length": 150,
        },
    ),
    "watermark": Story(
        "The watermark that is best in the middle",
        "Admitting to the last block ends in preemptions, and prompts are computed again; keeping many blocks free "
        "leaves places empty. Sweep the watermark below: most output tokens a second come in between.",
        {
            "policy": "vllm_v1",
            "against": "sarathi",
            "token_budget": 2048,
            "kv_blocks": 560,
            "watermark": "0.05",
            "reserve": "off",
            "arrivals": "at_once",
            "requests": 60,
            "prompt_kind": "lognormal",
            "prompt_length": 1000,
            "output_kind": "uniform",
            "output_length": 500,
        },
    ),
    "bursts": Story(
        "A bursty hour, in small",
        "Code completions come in bursts: long prompts, short answers. The queue decides what the first token costs.",
        {
            "policy": "vllm_v1",
            "against": "vllm_v0",
            "token_budget": 2048,
            "arrivals": "gamma",
            "burstiness": 0.05,
            "requests": 100,
            "rate": 200,
            "prompt_kind": "azure_code",
            "output_kind": "azure_code",
        },
    ),
}


def look_at(told: str) -> str:
    """What to look at in a story; where none is told, that there are some."""
    return "These settings tell no story. One that you choose sets its own." if told == OWN else STORIES[told].look_at


def told() -> str:
    """The story that the controls tell, or ``OWN``."""
    current = {key: state.value(key) for key in TOLD_BY}
    return next((id_ for id_, story in STORIES.items() if story.settings == current), OWN)
