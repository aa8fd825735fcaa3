"""Everything that can be measured, in the order in which it is."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from live.probes.attention import DECODE, PREFILL
from live.probes.bandwidth import COPY, READ
from live.probes.base import Probe
from live.probes.block import BLOCK, WHOLE
from live.probes.elementwise import ELEMENTWISE, LAUNCH
from live.probes.experts import EXPERTS
from live.probes.matmul import MATMUL, PEAK

PROBES: Mapping[str, Probe] = MappingProxyType(
    {
        probe.name: probe
        for probe in (READ, COPY, PEAK, LAUNCH, MATMUL, DECODE, PREFILL, ELEMENTWISE, EXPERTS, BLOCK, WHOLE)
    }
)
"""The probes by name."""
