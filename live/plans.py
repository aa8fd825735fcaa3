"""What is measured, and how long that may take: a quick look, or a table worth keeping."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from types import MappingProxyType
from typing import Any

from costmodel.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One way to spend time on a measurement.

    Attributes
    ----------
    seconds: what it should take, on a device where no single call is slow.
    longest: seconds of one call above which a shape is left out, and said to be.
    half_width, confidence: how well each median should be known.
    squares: sizes of the square multiplies that show the peak.
    tokens: rows of the matrix multiplies and of the elementwise kernels.
    decode: (batch, context) of decode attention. prefill: (batch, new, cached) of prefill attention.
    block_decode, block_prefill: the same for whole blocks.
    whole: also run the whole model, where it fits.
    """

    name: str
    seconds: float
    longest: float
    half_width: float
    confidence: float = 0.95
    squares: tuple[int, ...] = (1024, 2048, 4096, 8192)
    tokens: tuple[int, ...]
    decode: tuple[tuple[int, int], ...]
    prefill: tuple[tuple[int, int, int], ...]
    block_decode: tuple[tuple[int, int], ...]
    block_prefill: tuple[tuple[int, int, int], ...]
    whole: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain values, for ``from_json``."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Plan:
        """Read what ``to_json`` wrote."""
        return cls(**{f.name: _tuples(data[f.name]) for f in fields(cls)})


_QUICK = Plan(
    name="quick",
    seconds=15,
    longest=0.3,
    half_width=0.05,
    tokens=(1, 4, 16, 64, 256, 1024),
    decode=((1, 512), (1, 2048), (1, 8192), (4, 1024), (16, 256), (16, 2048)),
    prefill=((1, 64, 0), (1, 256, 0), (1, 1024, 0), (1, 128, 1024), (4, 128, 0)),
    block_decode=((1, 512), (8, 1024)),
    block_prefill=((1, 128, 0), (1, 512, 0)),
)
_FULL = Plan(
    name="full",
    seconds=150,
    longest=2.0,
    half_width=0.02,
    tokens=(1, 2, 4, 8, 16, 32, 64, 128, 192, 256, 512, 1024, 2048, 4096),
    decode=tuple((batch, context) for batch in (1, 4, 16, 64) for context in (128, 512, 2048, 8192)),
    prefill=(
        *((1, tokens, 0) for tokens in (64, 128, 256, 512, 1024, 2048, 4096)),
        *((4, tokens, 0) for tokens in (128, 512, 1024)),
        *((1, 256, cached) for cached in (512, 2048, 8192)),
    ),
    block_decode=((1, 128), (1, 2048), (4, 512), (16, 512), (16, 2048), (64, 1024)),
    block_prefill=((1, 64, 0), (1, 256, 0), (1, 1024, 0), (1, 4096, 0), (1, 256, 2048)),
    whole=True,
)

PLANS: Mapping[str, Plan] = MappingProxyType({plan.name: plan for plan in (_QUICK, _FULL)})
"""The plans by name."""


def plan_named(name: object) -> Plan:
    """The plan called ``name``, or the plan itself.

    Raises
    ------
    ConfigError: when there is none.
    """
    found = name if isinstance(name, Plan) else PLANS.get(name) if isinstance(name, str) else None
    if found is None:
        raise ConfigError("plan", name, f"one of {', '.join(PLANS)}")
    return found


def _tuples(value: Any) -> Any:
    return tuple(_tuples(entry) for entry in value) if isinstance(value, list) else value
