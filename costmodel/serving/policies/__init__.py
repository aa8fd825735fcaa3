"""Scheduling policies, by name. A new one is a new module in this folder: its knobs and its scheduler."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import fields
from typing import Any

from costmodel.errors import ConfigError
from costmodel.hardware import Hardware
from costmodel.serving.policies.base import Policy

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")


def policies() -> list[str]:
    """Return the names of the policies."""
    return sorted(Policy.registry)


def knobs_on(name: str, hw: Hardware, *, offline: bool = False) -> dict[str, Any]:
    """Return the knobs that the engine which a policy copies sets by itself on a device.

    For a server, or for an ``offline`` batch. They go into ``policy(name, **knobs)``.

    Raises
    ------
    ConfigError: for a policy that does not exist.
    """
    return _kind(name).knobs_on(hw, offline=offline)


def policy(name: str, /, **knobs: Any) -> Policy:
    """Return a scheduling policy with its knobs.

    Raises
    ------
    ConfigError: for a name or a knob that does not exist, or a knob that is out of range.

    >>> policy("vllm_v1", max_num_batched_tokens=512).max_num_batched_tokens
    512
    >>> policy("sarathi").copies
    'sarathi-serve 96f9911, Sarathi scheduler (without its stale-progress quirk)'
    """
    kind = _kind(name)
    known = [field.name for field in fields(kind)]
    for knob, value in knobs.items():
        if knob not in known:
            raise ConfigError(knob, value, f"no such knob; {name} has {', '.join(known)}")
    return kind(**knobs)


def _kind(name: str) -> type[Policy]:
    if name not in Policy.registry:
        raise ConfigError("policy", name, f"one of {', '.join(policies())}")
    return Policy.registry[name]
