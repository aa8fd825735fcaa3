"""Runs of the simulator for the page: the policy that the controls describe, simulated once for everybody."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

import pandas as pd
import streamlit as st

import costmodel as cm
from costmodel import serving
from pages.memory import asked
from pages.memory.numbers import Allocation
from pages.parts import state
from pages.parts.scenario import Scenario

POLICIES: Mapping[str, str] = {
    "vllm_v1": "Token budget (vLLM V1)",
    "vllm_v0": "Prefill first (vLLM V0)",
    "sarathi": "Chunked prefill (Sarathi)",
    "sglang": "Prompts first, in chunks (SGLang)",
    "orca": "By iteration (Orca)",
    "static": "Static batches",
}
SHORT: Mapping[str, str] = {
    "vllm_v1": "token budget",
    "vllm_v0": "prefill first",
    "sarathi": "chunked prefill",
    "sglang": "prompts in chunks",
    "orca": "batching by iteration",
    "static": "static batches",
}
BUDGETED: Mapping[str, str] = {
    "vllm_v1": "max_num_batched_tokens",
    "sarathi": "chunk_size",
    "sglang": "chunked_prefill_size",
}
"""Policies to which the tokens of a step are a knob, and its name (SGLang's bounds the prompts of a step alone)."""
OWN_WATERMARK: Mapping[str, float] = {
    name: getattr(serving.policy(name), "watermark")  # noqa: B009  # of these policies, not of all
    for name in ("vllm_v1", "vllm_v0", "sarathi")
}
"""Policies to which a watermark is a knob, and the engine's own."""

_LONG_RUN = 400  # requests from which the plain loop would take longer than a moment
_KEPT = 32  # runs, for all sessions together: equal plans give equal runs


@dataclass(frozen=True)
class Knobs:
    """What the controls say about a policy; each policy takes what it knows.

    Attributes
    ----------
    watermark: share of the pool that an admission has to leave free; None: the engine's own.
    """

    policy: str
    token_budget: int
    max_seqs: int
    watermark: float | None
    reserve: bool
    long_prefill: int
    chunked: bool
    prefix: bool
    queue: str
    padded: bool

    @classmethod
    def asked(cls, policy: str, budget_key: str = "token_budget") -> Knobs:
        """The knobs of the controls in this run."""
        value = state.value
        return cls(
            policy=policy,
            token_budget=value(budget_key),
            max_seqs=value("max_seqs"),
            watermark=None if value("watermark") == state.AUTO else float(value("watermark")),
            reserve=value("reserve") == "on",
            long_prefill=value("long_prefill"),
            chunked=value("chunked") == "on",
            prefix=value("prefix") == "on",
            queue=value("queue"),
            padded=value("padded") == "on",
        )

    def build(self, longest_prompt: int) -> serving.Policy:
        """The policy; ``longest_prompt``: what a policy that cannot cut prompts has to take whole."""
        return serving.policy(self.policy, **self.arguments(longest_prompt))

    def arguments(self, longest_prompt: int) -> dict[str, Any]:
        """What the policy is built with."""
        taken = {"max_num_seqs": self.max_seqs, **_TAKES[self.policy](self, longest_prompt)}
        if self.policy in OWN_WATERMARK and self.watermark is not None:
            taken["watermark"] = self.watermark
        return taken


def whole_prompt_budget(longest_prompt: int) -> int:
    """Budget of a policy that rejects what is longer: vLLM V0's own default, or the longest prompt."""
    return max(2048, longest_prompt)


def _vllm_v1(k: Knobs, longest: int) -> dict[str, Any]:
    return {
        "max_num_batched_tokens": k.token_budget if k.chunked else max(k.token_budget, longest),
        "long_prefill_token_threshold": k.long_prefill,
        "chunked_prefill": k.chunked,
        "prefix_caching": k.prefix,
        "reserve_full_isl": k.reserve,
        "policy": k.queue,
    }


def _vllm_v0(_: Knobs, longest: int) -> dict[str, Any]:
    return {"max_num_batched_tokens": whole_prompt_budget(longest)}


def _sarathi(k: Knobs, _: int) -> dict[str, Any]:
    return {"chunk_size": max(k.token_budget, k.max_seqs)}


def _sglang(k: Knobs, _: int) -> dict[str, Any]:
    return {"chunked_prefill_size": k.token_budget, "prefix_caching": k.prefix}


_TAKES: Mapping[str, Callable[[Knobs, int], dict[str, Any]]] = {
    "vllm_v1": _vllm_v1,
    "vllm_v0": _vllm_v0,
    "sarathi": _sarathi,
    "sglang": _sglang,
    "orca": lambda *_: {},
    "static": lambda k, _: {"padded": k.padded},
}


@dataclass(frozen=True)
class Room:
    """What a KV pool may have of a GPU's memory, as the Memory page says.

    Attributes
    ----------
    utilization, reserve_bytes, allocation: as ``cm.memory`` takes them.
    own_memory: usable bytes of a chip for which none are published, as the user gave them; None: the chip's own.
    """

    utilization: float = 0.9
    reserve_bytes: float = 0.0
    allocation: Allocation = "windowed"
    own_memory: float | None = None

    @classmethod
    def asked(cls, scenario: Scenario) -> Room:
        """What the Memory page's controls say in this run."""
        memory = asked.memory(scenario)
        own = memory.hardware.memory if scenario.hardware.memory is None else None
        return cls(memory.utilization, memory.reserve_bytes, memory.allocation, own)

    def machine(self, hardware: cm.Hardware) -> cm.Hardware:
        """The machine with the user's figure where its usable memory is not published."""
        return hardware if self.own_memory is None else hardware.replace(memory=self.own_memory)

    @property
    def arguments(self) -> dict[str, Any]:
        """What ``serving.simulate`` is told of it."""
        return {
            "utilization": self.utilization,
            "reserve_bytes": self.reserve_bytes,
            "allocation": self.allocation,
        }


@dataclass(frozen=True)
class Plan:
    """One simulation: who comes, who decides, and what a step costs."""

    scenario: Scenario
    workload: Any  # a Workload, or the name of an uploaded trace
    knobs: Knobs
    kv_blocks: int  # of each pool; 0: as many as fit
    block_size: int
    lag: int
    link: float  # bytes a second to a second pool; 0: one pool
    room: Room = Room()  # for a pool of as many blocks as fit

    @classmethod
    def asked(cls, scenario: Scenario, workload: Any, knobs: Knobs) -> Plan:
        """The plan of the controls in this run."""
        two = state.value("pools") == "2"
        return cls(
            scenario=scenario,
            workload=workload,
            knobs=knobs,
            kv_blocks=state.value("kv_blocks"),
            block_size=int(state.value("kv_block")),
            lag=int(state.value("lag")),
            link=state.value("link") * 1e9 if two else 0.0,
            room=Room.asked(scenario),
        )

    def options(self) -> dict[str, Any]:
        """What ``serving.simulate`` is told beside the requests and the policy."""
        s = self.scenario
        blocks = self.kv_blocks or None
        pool = serving.PrefillPool(bandwidth=self.link, num_blocks=blocks) if self.link else None
        return {
            "model": s.model,
            "hardware": self.room.machine(s.hardware),
            "precision": s.precision,
            "rates": s.rates,
            "tensor_parallel": s.tensor_parallel,
            "num_blocks": blocks,
            "block_size": self.block_size,
            **self.room.arguments,
            "lag": self.lag,
            "prefill_pool": pool,
        }

    def simulate(self, requests: pd.DataFrame, **more: Any) -> serving.Run:
        """Run these requests."""
        policy = self.knobs.build(int(requests["prompt_tokens"].max()))
        return serving.simulate(requests, policy, **{**self.options(), "engine": engine(len(requests)), **more})


def engine(requests: int) -> Literal["steps", "jump"]:
    """The engine that so many requests are simulated by."""
    return "steps" if requests <= _LONG_RUN else "jump"


def run(plan: Plan, requests: Callable[[], pd.DataFrame]) -> serving.Run:
    """The run of a plan, simulated unless somebody has asked for the same one lately."""
    return _kept(_Asked(plan, requests))


@dataclass(frozen=True)
class _Asked:
    """A plan, and where its requests come from: equal plans have equal requests."""

    plan: Plan
    requests: Callable[[], pd.DataFrame] = field(compare=False)


@lru_cache(maxsize=_KEPT)
def _kept(asked: _Asked) -> serving.Run:
    return _with_progress(asked.plan, asked.requests())


def stepped(shared: serving.Run) -> serving.Run:
    """This session's own copy of a run, to step through: it remembers where it stands."""
    kept = st.session_state.get("_stepped")
    if kept is None or kept[0] is not shared:
        kept = st.session_state["_stepped"] = (shared, replace(shared))
    return kept[1]


def _with_progress(plan: Plan, requests: pd.DataFrame) -> serving.Run:
    """Simulate, with a bar for what takes more than a moment; any control that moves stops it."""
    if len(requests) <= _LONG_RUN:
        return plan.simulate(requests)
    bar = st.progress(0.0, "Simulating …")
    try:
        return plan.simulate(requests, progress=lambda share: bar.progress(min(share, 1.0), "Simulating …"))
    finally:
        bar.empty()
