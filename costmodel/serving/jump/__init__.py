"""The event-jump engine, and which policies it serves. Rules for another policy are a new module in this folder."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from costmodel.serving.jump.engine import JumpEngine
from costmodel.serving.options import Setup
from costmodel.serving.policies.base import Policy

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")


def _engines() -> dict[type[Policy], type[JumpEngine[Any]]]:
    kinds: list[type[JumpEngine[Any]]] = JumpEngine.__subclasses__()
    found: dict[type[Policy], type[JumpEngine[Any]]] = {}
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        if "serves" in vars(kind):
            found[kind.serves] = kind
    return found


ENGINES = _engines()
"""Engines by the policy that they serve."""


def why_not(setup: Setup) -> str:
    """Say why the jump engine does not serve a simulation; "" when it does."""
    if type(setup.side.policy) not in ENGINES:
        return f"the policy {setup.side.policy.name} goes step by step"
    if setup.prefill is not None:
        return "two pools go step by step"
    return setup.side.policy.steps_only


def engine_for(setup: Setup) -> JumpEngine[Any]:
    """Return the engine of a simulation that it serves, before its first step."""
    return ENGINES[type(setup.side.policy)](setup)
