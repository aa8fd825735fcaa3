"""A family: the rules by which one kind of config is read. A new family is one more entry in ``families``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from costmodel.config.attention import Grouped
from costmodel.config.embedding import RMS, Norms, Outside
from costmodel.config.keys import Keys
from costmodel.config.mlp import Dense
from costmodel.config.parts import Rule


@dataclass(frozen=True, kw_only=True)
class Family:
    """How the configs of one family are read.

    Attributes
    ----------
    types: the values of ``model_type`` that are read by these rules.
    mixers, mlps: from the keys to one part a layer.
    norms: norms of the residual stream, or the rule that gives them.
    outside: embedding, head and positions.
    defaults: what a key means that the config leaves out, as in the family's config class.
    aliases: names of sizes that only this family uses.
    refused: from the keys to nothing; raises ``ConfigError`` for what these rules do not cover.
    """

    types: tuple[str, ...]
    mixers: Rule = field(default_factory=Grouped)
    mlps: Rule = field(default_factory=Dense)
    norms: Norms | Callable[[Keys], Norms] = RMS
    outside: Outside = field(default_factory=Outside)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    refused: Callable[[Keys], None] = lambda _: None

    def norms_for(self, keys: Keys) -> Norms:
        """The norms of the residual stream."""
        return self.norms(keys) if callable(self.norms) else self.norms
