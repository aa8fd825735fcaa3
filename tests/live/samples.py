"""Models and profiles that the tests of `live/` share: small, made up, and with known answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import costmodel as cm
from costmodel.hardware import GIB
from costmodel.model import Attention, Experts, Layer, Mlp, Model
from costmodel.rates import Fit, Rates
from live.device import Device
from live.fitting import form_of
from live.plans import PLANS, Plan
from live.points import Case, Point
from live.probes import PROBES
from live.probes.base import Task
from live.profile import Profile
from live.runner import cases_of
from live.subject import Subject

H100_NAME = "NVIDIA H100 80GB HBM3"
TRUTH = {
    ("matmul", "bf16"): Fit(eb=0.8, ef=0.7, overhead=4e-6, serial=2e-10),
    ("attention_decode", "bf16"): Fit(eb=0.7, overhead=8e-6, ramp=1e-5, per_item=3e-9),
    ("attention_prefill", "bf16"): Fit(eb=0.5, ef=0.6, overhead=1e-5, serial=5e-9),
    ("elementwise", "bf16"): Fit(eb=0.6, overhead=3e-6),
    ("moe", "bf16"): Fit(eb=0.6, ef=0.5, overhead=3e-5, per_item=1e-8),
}
"""What the made-up devices achieve."""


SMALL_CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 256,
    "intermediate_size": 768,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "vocab_size": 2048,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
}
"""The config of a model that any machine measures in seconds."""


def small_model(*, experts: bool = False, window: int | None = None, layers: int = 12, hidden: int = 512) -> Model:
    """A decoder of Qwen3's shape that any machine can hold."""
    mlp = Experts(experts=16, top_k=2, width=hidden) if experts else Mlp(width=3 * hidden)
    mixer = Attention(q_heads=hidden // 64, kv_heads=hidden // 128, head_dim=64, window=window)
    layer = Layer(mixer=mixer, mlp=mlp, other_params=2 * hidden + 2 * 64)
    return Model(id="small", name="Small", hidden=hidden, vocab=4096, layers=((layer, layers),), tied=True)


def tiny_plan(**changes: object) -> Plan:
    """A plan of a few seconds."""
    plan = replace(
        PLANS["quick"],
        name="tiny",
        seconds=3,
        longest=1.0,
        squares=(1024,),
        tokens=(1, 16),
        decode=((1, 64),),
        prefill=((1, 32, 0),),
        block_decode=(),
        block_prefill=(),
    )
    return replace(plan, **changes)


def h100(**changes: object) -> Device:
    """An H100 as its driver describes it."""
    facts = {"id": "cuda:0", "kind": "cuda", "name": H100_NAME, "memory": 79.1 * GIB, "cache": 50e6, "units": 132}
    return Device(**{**facts, **changes})


def processor(**changes: object) -> Device:
    """A processor of four threads."""
    facts = {"id": "cpu", "kind": "cpu", "name": "Some CPU", "memory": 16 * GIB, "cache": 32e6, "units": 4}
    return Device(**{**facts, **changes})


CPU_FIGURES = cm.Hardware(id="truth", name="truth", bandwidth=20e9, peak={"bf16": 4e11, "fp32": 1e11})


_ACHIEVED = {"block": 0.5, "whole": 0.5}


def seconds_of(case: Case, rates: Rates) -> float:
    """What a case takes on a device of these rates; what no rate prices, at its figures themselves."""
    probe, hw = PROBES[case.probe], rates.hardware
    if probe.target is not None:
        columns = {name: np.array([value], dtype=float) for name, value in case.shape.items()}
        return float(np.ravel(probe.target.seconds(rates, columns, case.dtype))[0])
    return max(case.bytes / hw.bandwidth, case.flops / hw.peak.get(case.dtype, 1e30), 2e-6) / _ACHIEVED.get(
        case.probe, 1
    )


def made_up(
    device: Device | None = None,
    model: Model | None = None,
    *,
    plan: Plan = PLANS["full"],
    noise: float = 0.0,
    modes: tuple[str, ...] = ("eager",),
    truth: cm.Hardware | None = None,
    **changes: object,
) -> Profile:
    """A profile of a device that obeys `TRUTH`, up to a random factor of relative size `noise`."""
    device = device or h100()
    hw = truth or device.match.hardware or CPU_FIGURES
    rates = Rates(hw, TRUTH, form_of(device), "live")
    subject = Subject.of(model or small_model())
    generator = np.random.default_rng(1)
    points = []
    for mode in modes:
        for case in cases_of(Task(subject, plan, "bf16")):
            factor = float(np.exp(noise * generator.standard_normal()))
            points.append(point_of(case, mode, seconds_of(case, rates) * factor))
    facts = {
        "device": device,
        "hardware_id": None,
        "software": {"torch": "2.13.0"},
        "measured_at": "2026-11-20T12:00:00+00:00",
        "plan": plan.name,
        "subject": subject,
        "dtype": "bf16",
        "points": tuple(points),
        "seconds": 12.0,
    }
    return Profile.measured(**{**facts, **changes})


def point_of(case: Case, mode: str, seconds: float) -> Point:
    """The point of a case that took so long."""
    return Point(
        probe=case.probe,
        mode=mode,
        shape=case.shape,
        dtype=case.dtype,
        flops=case.flops,
        bytes=case.bytes,
        seconds=seconds,
        low=seconds * 0.99,
        high=seconds * 1.01,
        confidence=0.95,
        spread=0.01,
        repeats=20,
        settled=True,
        model=case.model,
    )
