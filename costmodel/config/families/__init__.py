"""The registry: every family by ``model_type``, and the wrappers that hold a language model as a part."""

from __future__ import annotations

from collections.abc import Mapping

from costmodel.config.families import dense, experts
from costmodel.config.family import Family

FAMILIES: Mapping[str, Family] = {
    name: family for module in (dense, experts) for family in module.FAMILIES for name in family.types
}
"""Every family by each of its ``model_type`` values."""

WRAPPERS: Mapping[str, str] = {
    "gemma3": "gemma3_text",
}
"""Multimodal types by the type of their language part, where that part does not name its own."""
