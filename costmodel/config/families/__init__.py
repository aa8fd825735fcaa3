"""The registry: every family by ``model_type``, the wrappers that hold one as a part, and those that are declined.

A new family is one more ``Family(...)`` in one of these modules.
"""

from __future__ import annotations

from collections.abc import Mapping

from costmodel.config.families import classic, dense, experts, gemma, hybrid, latent, pruned
from costmodel.config.families.declined import DECLINED
from costmodel.config.families.wrappers import WRAPPERS
from costmodel.config.family import Family

FAMILIES: Mapping[str, Family] = {
    name: family
    for module in (classic, dense, experts, gemma, hybrid, latent, pruned)
    for family in module.FAMILIES
    for name in family.types
}
"""Every family by each of its ``model_type`` values."""

__all__ = ["DECLINED", "FAMILIES", "WRAPPERS"]
