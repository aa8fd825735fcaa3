"""What an estimate rests on, and whose measurements where they are not the machine's own: said where it is named."""

from __future__ import annotations

from functools import lru_cache

import costmodel as cm
from costmodel.rates import GENERAL
from pages.parts.scenario import Scenario


def rests_on(cost: cm.Cost, hw: cm.Hardware) -> str:
    """What an estimate goes by instead of measurements of this machine, for the end of a sentence; "" where of nothing.

    >>> epyc = cm.hardware("epyc-9654")
    >>> rests_on(cm.price(cm.model("qwen3-0.6b"), epyc, cm.Step.decode(1, 2048), rates="calibrated"), epyc)
    "by the general rates of NVIDIA's GPUs, as EPYC 9654 (1 socket) was not measured"
    """
    if cost.source != "calibrated":
        return ""
    own = hw.root
    listed = " and ".join(_rates(name) for name in cost.fitted_on if name != own.id)
    if not listed or own.id in cost.fitted_on:
        return listed and f"in part by {listed}"
    return f"by {listed}, as {own.name} was not measured"


def _rates(name: str) -> str:
    return "the general rates of NVIDIA's GPUs" if name == GENERAL else f"rates of {cm.hardware(name).name}"


def rates_of(cost: cm.Cost) -> tuple[str, ...]:
    """What each rate of an estimate rests on, a line each."""
    return tuple(line for line in cost.provenance if ", fitted to " in line)


@lru_cache(maxsize=256)
def of_scenario(scenario: Scenario) -> str:
    """The same of a scenario that an estimate speaks for: of a step with everything in it, a prompt beside a decode."""
    try:
        return rests_on(scenario.price(cm.Step.mixed(1, 0, 1, 1)), scenario.hardware)
    except cm.ConfigError:  # it can price no step, and the page says why
        return ""
