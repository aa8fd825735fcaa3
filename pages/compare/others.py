"""What scenario A is compared with: presets that change one thing of it, or what was pinned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import costmodel as cm
from pages.parts import format, resolve, state
from pages.parts.scenario import Scenario

NAMES: Mapping[str, str] = {
    "hardware": "another accelerator",
    "bandwidth": "twice the bandwidth",
    "compute": "twice the arithmetic",
    "weights": "fp8 weights",
    "kv": "fp8 KV cache",
    "gpus": "8 GPUs, tensor parallel",
    "model": "another model",
    "batch": "8 times the batch",
    "pinned": "what is pinned as B",
}
_LEADS: Mapping[str, str] = {
    "bandwidth": "With twice the bandwidth",
    "compute": "With twice the arithmetic",
    "weights": "With fp8 weights",
    "kv": "With an fp8 KV cache",
    "pinned": "As pinned",
}
_GROUP = 8


@dataclass(frozen=True)
class Change:
    """Values of controls that differ from those of A, and what is to be said about them."""

    values: Mapping[str, Any]
    said: str = ""


@dataclass(frozen=True)
class Asked:
    """A as its controls say, and the accelerator and the model that B may have instead."""

    values: Mapping[str, Any]
    scenario: Scenario
    hardware: str
    model: str


def values_of(preset: str, asked: Asked) -> tuple[dict[str, Any], str]:
    """Controls of B, and a sentence where the preset could not be had as its name says."""
    change = _PRESETS[preset](asked)
    return {**asked.values, **change.values}, change.said


def lead(preset: str, b: Scenario, batch: int) -> str:
    """How a sentence about B begins."""
    said = {
        "hardware": f"On {b.hardware.name}",
        "gpus": f"On {format.many(b.tensor_parallel, 'GPU')}",
        "model": f"For {b.model.name}",
        "batch": f"With {format.sequences(batch)}",
    }
    return said.get(preset) or _LEADS[preset]


def _hardware(asked: Asked) -> Change:
    return Change({"hardware": asked.hardware, **_without_measurement(asked)})


def _model(asked: Asked) -> Change:
    return Change({"model": asked.model})


def _without_measurement(asked: Asked) -> dict[str, str]:
    """What was measured answers for one device alone."""
    return {"rates": "datasheet"} if asked.values["rates"] == "live" else {}


def _doubled(key: str, what: str) -> Callable[[Asked], Change]:
    def change(asked: Asked) -> Change:
        control = state.CONTROLS[key]
        most = control.high if isinstance(control, state.Number) else 1.0
        now = asked.values[key]
        new = min(2 * now, most)
        said = f"The {what} of A is × {now:g} already and a what-if ends at × {most:g}, so B has × {new:g}."
        return Change({key: new}, said if new < 2 * now else "")

    return change


def _weights(asked: Asked) -> Change:
    hw = asked.scenario.hardware
    if "fp8" in hw.peak:
        return Change({"weights": "fp8", "compute": "fp8"})
    said = (
        f"{hw.name} has no fp8 unit: weights are stored and read in fp8 and unpacked to {resolve.wide(hw)}, "
        "so their bytes shrink and the arithmetic stays as it is."
    )
    return Change({"weights": "fp8"}, said)


def _cache(_: Asked) -> Change:
    return Change({"kv": "fp8"})


def _gpus(asked: Asked) -> Change:
    model, now = asked.scenario.model, asked.scenario.tensor_parallel
    sizes = [int(size) for size in resolve.group_sizes(model)]
    if _GROUP in sizes:
        return Change({"tensor_parallel": str(_GROUP)})
    most = max(size for size in sizes if size <= _GROUP)
    then = f"B has {most}, the most that does" if most > now else "B is A"
    return Change(
        {"tensor_parallel": str(max(most, now))}, f"{resolve.undivided(model, str(_GROUP))} ({_why(model)}): {then}."
    )


def _why(model: cm.Model) -> str:
    """The reason why heads do not divide, as the cost model gives it."""
    try:
        cm.price(model, cm.hardware("h100-sxm"), cm.Step.decode(batch=1, context=1), tensor_parallel=_GROUP)
    except cm.ConfigError as error:
        return str(error)
    return ""


def _batch(asked: Asked) -> Change:
    now, most = asked.values["batch"], state.MOST_SEQUENCES
    new = min(8 * now, most)
    said = (
        f"A has {format.count(now)} sequences and a batch ends at {format.count(most)}, so B has {format.count(new)}."
    )
    return Change({"batch": new}, said if new < 8 * now else "")


_PRESETS: Mapping[str, Callable[[Asked], Change]] = {
    "hardware": _hardware,
    "bandwidth": _doubled("bandwidth_x", "bandwidth"),
    "compute": _doubled("compute_x", "arithmetic"),
    "weights": _weights,
    "kv": _cache,
    "gpus": _gpus,
    "model": _model,
    "batch": _batch,
}
