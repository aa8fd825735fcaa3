"""Random workloads, policies, pools and prices, small enough that the plain engine is quick."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

import costmodel as cm
from costmodel import serving

MODELS = ("qwen3-0.6b", "gemma-3-27b", "qwen3-30b-a3b", "gpt-oss-20b", "llama-4-scout", "deepseek-v2-lite")
"""Dense, windows, experts, experts and windows, experts and chunks, latent attention and experts."""


@dataclass(frozen=True)
class RandomRun:
    """One simulation: ``serving.simulate(requests, policy, **options)``."""

    requests: pd.DataFrame
    policy: serving.Policy
    options: Mapping[str, Any]

    def by(self, engine: str) -> serving.Run:
        return serving.simulate(self.requests, self.policy, engine=engine, **self.options)

    @property
    def priced(self) -> bool:
        return "model" in self.options


def random_run(seed: int) -> RandomRun:
    rng = random.Random(seed)
    requests = _requests(rng)
    block_size = rng.choice([1, 2, 4, 16])
    longest = int((requests["prompt_tokens"] + requests["output_tokens"]).max())
    tight = -(-longest // block_size) + 2
    options: dict[str, Any] = {
        "block_size": block_size,
        "num_blocks": rng.choice([tight, int(tight * 1.3) + 1, tight * 3, 10**6]),
        "lag": rng.choice([0, 0, 0, 1, 2]),
        "users": rng.choice([None, None, None, 1, 3]),
        "oversize": rng.choice(["reject", "reject", "truncate", "admit"]),
    }
    if rng.random() < 0.4:
        options["step_seconds"] = rng.choice([1.0, 0.1, 0.37])
    else:
        options["model"], options["hardware"] = cm.model(rng.choice(MODELS)), cm.hardware("h100-sxm")
        options["rates"] = rng.choice(["datasheet", "datasheet", "calibrated"])
        requests["arrival_s"] *= rng.choice([1e-3, 1e-2])
    return RandomRun(requests, _policy(rng), options)


def _requests(rng: random.Random) -> pd.DataFrame:
    arrive = rng.choice([lambda: 0, lambda: rng.uniform(0, 60), lambda: rng.choice([0, 0, 5, 20, 20.5])])
    scale = rng.choice([1, 10, 100, 1000])
    rows = [(f"r{i}", arrive(), rng.randint(1, 4 * scale), rng.randint(1, 60)) for i in range(rng.randint(1, 25))]
    return pd.DataFrame(rows, columns=["id", "arrival_s", "prompt_tokens", "output_tokens"])


def _policy(rng: random.Random) -> serving.Policy:
    name = rng.choice(["vllm_v1"] * 3 + ["sarathi"] * 2 + ["vllm_v0", "orca", "static"])
    knobs: dict[str, dict[str, Any]] = {
        "vllm_v1": {
            "max_num_batched_tokens": rng.choice([3, 8, 32, 128, 2048]),
            "long_prefill_token_threshold": rng.choice([0, 0, 0, 2, 8, 64]),
            "reserve_full_isl": rng.random() < 0.7,
            "watermark": rng.choice([0, 0, 0.05, 0.2]),
            "chunked_prefill": rng.random() < 0.9,
        },
        "sarathi": {"chunk_size": rng.choice([8, 32, 128, 512]), "watermark": rng.choice([0, 0.01, 0.1])},
        "vllm_v0": {"max_num_batched_tokens": rng.choice([64, 512, 8192]), "watermark": rng.choice([0, 0.01, 0.1])},
    }
    return serving.policy(name, max_num_seqs=rng.choice([1, 2, 4, 8, 32]), **knobs.get(name, {}))
