"""The numbers of the Memory page: what fits, by how much, and what would make it fit, all from ``cm.memory``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
import pandas as pd

import costmodel as cm
from costmodel.dtypes import DTYPES, KV_DTYPES
from costmodel.hardware import GIB
from costmodel.memory import resident_bytes
from costmodel.model import LatentAttention, by_mixer
from pages.parts.format import many
from pages.parts.layers import keeps
from pages.parts.scenario import Scenario
from pages.parts.state import GROUPS

Allocation = Literal["windowed", "full"]
AttentionParallel = Literal["tensor", "data"]

_PER_DECADE = 16  # contexts of the curve in each factor of ten
_FLOOR = 0.1  # sequences: below the axis, where the curve ends
_STAIRS = 24  # batches up to here are drawn as the steps that they are
_SHORTEST, _LONGEST = 256, 1_048_576  # tokens: the ends of the axis of contexts
_MOST_TICKS = 80  # sequences drawn apart in the bar; more would be a grey mist

_ALMOST_ALL = 0.97  # of the usable memory: what an engine alone on its chip can be told to take


@dataclass(frozen=True)
class Part:
    """A stretch of the bar: what it is, and its bytes."""

    kind: Literal["weights", "reserve", "caches", "room", "kept"]
    bytes: float


@dataclass(frozen=True)
class Remedy:
    """A change that makes it fit: what it is, in short for a button, what then holds, and the controls that it sets."""

    change: str
    short: str
    then: Memory
    controls: dict[str, Any]


@dataclass(frozen=True)
class Memory:
    """A scenario and a workload in the memory of one GPU of the group.

    Attributes
    ----------
    batch: sequences, of ``context`` tokens each. own_memory: usable bytes that the user gave for a chip whose own are
    not published. The rest as ``cm.memory`` takes it.
    """

    scenario: Scenario
    batch: int
    context: int
    utilization: float = 0.9
    reserve_bytes: float = 0.0
    block_size: int = 16
    allocation: Allocation = "windowed"
    attention_parallel: AttentionParallel = "tensor"
    own_memory: float | None = None

    @property
    def model(self) -> cm.Model:
        return self.scenario.model

    @property
    def gpus(self) -> int:
        return self.scenario.tensor_parallel

    @cached_property
    def hardware(self) -> cm.Hardware:
        """The chip, with the user's figure where its usable memory is not published."""
        hw = self.scenario.hardware
        if hw.memory is not None or self.own_memory is None:
            return hw
        return hw.replace(memory=self.own_memory * self.scenario.memory_x)

    @property
    def known(self) -> bool:
        """Whether there is a memory to fit into."""
        return self.hardware.memory is not None

    @cached_property
    def fit(self) -> cm.Fit:
        """What fits. Raises ``ConfigError`` while the memory is not ``known``."""
        return _fit(self)

    @property
    def all_weight_bytes(self) -> float:
        """Weights of the whole model, as one GPU alone would hold them."""
        return resident_bytes(self.model, self.scenario.formats)

    @property
    def sequences_on_gpu(self) -> int:
        """Sequences whose caches lie on one GPU: all, or its share where attention is data parallel."""
        return math.ceil(self.batch / self.fit.pools)

    @property
    def _most_on_gpu(self) -> int:
        return self.fit.max_batch // self.fit.pools

    @property
    def more_on_gpu(self) -> int:
        """Sequences that would still fit beside those."""
        return max(0, self._most_on_gpu - self.sequences_on_gpu)

    @property
    def cache_bytes(self) -> float:
        """Caches and states of those sequences."""
        return self.sequences_on_gpu * self.fit.sequence_bytes

    @property
    def needed_bytes(self) -> float:
        """What must be there: weights, reserve and the caches of the batch."""
        return self.fit.weight_bytes + self.fit.reserve_bytes + self.cache_bytes

    @property
    def over_bytes(self) -> float:
        """Bytes by which it does not fit; 0 when it does."""
        return max(0.0, self.needed_bytes - self.fit.budget_bytes)

    @property
    def weights_alone_fit(self) -> bool:
        return self.fit.kv_pool_bytes > 0

    @property
    def windowed(self) -> bool:
        """Whether some layer keeps less than the whole context, so that the two ways of allocating differ."""
        return any(getattr(mixer, "window", None) or getattr(mixer, "chunk", None) for mixer in by_mixer(self.model))

    @property
    def has_cache(self) -> bool:
        """Whether some layer keeps a cache that grows with the sequence."""
        return self.model.kv_values_per_token > 0

    def allocated(self, allocation: Allocation) -> Memory:
        """The same under one of the two ways of allocating."""
        return replace(self, allocation=allocation)

    @property
    def block_tokens(self) -> int:
        """Tokens that the blocks of one sequence have room for."""
        return math.ceil(self.context / self.block_size) * self.block_size

    # ---- what the pictures are drawn from --------------------------------------------------------------------

    def parts(self) -> list[Part]:
        """The bar from left to right; together the usable memory, or more where it does not fit."""
        fit = self.fit
        room = max(0.0, fit.budget_bytes - self.needed_bytes)
        kept = fit.usable_bytes - fit.budget_bytes
        return [
            Part("weights", fit.weight_bytes),
            Part("reserve", fit.reserve_bytes),
            Part("caches", self.cache_bytes),
            *([Part("room", room), Part("kept", kept)] if not self.over_bytes else []),
        ]

    def bar_data(self) -> dict[str, pd.DataFrame]:
        """Rows of the bar, in GiB."""
        fit, rows, start = self.fit, [], 0.0
        for part in self.parts():
            end = start + part.bytes / GIB
            rows.append({"kind": part.kind, "start": start, "end": end})
            start = end
        frame = {
            "usable": fit.usable_bytes / GIB, "budget": fit.budget_bytes / GIB, "needed": self.needed_bytes / GIB,
            "right": max(fit.usable_bytes, self.needed_bytes) / GIB, "over": self.over_bytes / GIB,
            "batch": self.sequences_on_gpu, "more": self.more_on_gpu,
            "keeps": keeps(self.model, number=self.sequences_on_gpu),
        }  # fmt: skip
        ticks = pd.DataFrame({"at": list(self._ticks())}, dtype=float)
        return {"frame": pd.DataFrame([frame]), "parts": pd.DataFrame(rows), "ticks": ticks}

    def _ticks(self) -> Iterator[float]:
        """GiB at which one sequence ends and the next begins, while they are few enough to be told apart."""
        count = max(self.sequences_on_gpu, self._most_on_gpu)
        if count > _MOST_TICKS:
            return
        first = (self.fit.weight_bytes + self.fit.reserve_bytes) / GIB
        for sequence in range(1, count):
            yield first + sequence * self.fit.sequence_bytes / GIB

    def curve_data(self) -> dict[str, pd.DataFrame]:
        """Rows of the curve of the largest batch against the context, and its frame with the page's own point.

        There are none where the weights alone do not fit.
        """
        ways: list[Allocation] = ["windowed", "full"] if self.windowed else [self.allocation]
        plain = replace(self, scenario=self.scenario.datasheet(), batch=1, context=1)
        rows = pd.concat([_curve(plain.allocated(way)).assign(way=way) for way in ways], ignore_index=True)
        highest = max([12 * self.batch, *(4 * rows["batch"])])  # corners stay empty for the names of the regions
        frame = {
            "left": math.log10(min(_SHORTEST, self.context)), "right": math.log10(max(_LONGEST, self.context)),
            "bottom": math.log10(0.7), "top": math.log10(highest), "context": self.context, "batch": self.batch,
            "fits": self.fit.fits, "some": self.weights_alone_fit, "way": self.allocation, "both": len(ways) > 1,
        }  # fmt: skip
        return {"frame": pd.DataFrame([frame]), "curve": rows}

    # ---- what would make it fit ------------------------------------------------------------------------------

    def remedies(self) -> list[Remedy]:
        """Changes that make it fit, each tried: the smallest one of its kind, whole ones before partial ones."""
        found = [_choose(self, candidates(self)) for candidates in _KINDS_OF_CHANGE]
        return sorted((r for r in found if r is not None), key=lambda r: r.then.batch < self.batch)

    def with_precision(self, **formats: str) -> Memory:
        """The same with other formats."""
        asked = replace(self.scenario.precision, **formats)
        return replace(self, scenario=replace(self.scenario, precision=asked))


def _fit(m: Memory, weight_bytes: float | None = None) -> cm.Fit:
    return cm.memory(
        m.model,
        m.hardware,
        context=m.context,
        batch=m.batch,
        precision=m.scenario.precision,
        utilization=m.utilization,
        reserve_bytes=m.reserve_bytes,
        block_size=m.block_size,
        allocation=m.allocation,
        weight_bytes=weight_bytes,
        attention_parallel=m.attention_parallel,
        tensor_parallel=m.gpus,
    )


@lru_cache(maxsize=64)
def _curve(m: Memory) -> pd.DataFrame:
    """Corners of the largest batch over the context: each step while batches are few, a grid of contexts above."""
    weights = m.fit.weight_bytes

    def longest(batch: int) -> float:
        return max(1.0, min(_fit(replace(m, batch=batch), weights).max_context, _LONGEST))

    ends = {batch: longest(batch) for batch in range(1, _STAIRS + 2)}
    contexts = np.unique(np.geomspace(1, _LONGEST, round(math.log10(_LONGEST) * _PER_DECADE)).round())
    grid = ((c, _fit(replace(m, context=int(c)), weights).max_batch) for c in contexts)
    rows = [(float(context), float(batch)) for context, batch in grid if batch > _STAIRS]
    for batch in range(_STAIRS, 0, -1):
        start, end = ends[batch + 1], ends[batch]
        if start < end:
            rows += [(start, batch), (end, batch)]
    if rows and rows[-1][0] < _LONGEST:
        rows.append((rows[-1][0], _FLOOR))
    return pd.DataFrame(rows, columns=["context", "batch"], dtype=float)


# ---- remedies ---------------------------------------------------------------------------------------------------


def _choose(m: Memory, candidates: Iterable[Remedy]) -> Remedy | None:
    """The first that fits; where none does and now not even one sequence fits, the one that lets the most in."""
    possible = [candidate for candidate in candidates if _possible(candidate.then)]
    whole = next((candidate for candidate in possible if candidate.then.fit.fits), None)
    if whole or m.fit.max_batch or not possible:
        return whole
    most = max(possible, key=lambda candidate: candidate.then.fit.max_batch)
    batch = most.then.fit.max_batch
    return replace(most, then=replace(most.then, batch=batch), controls={**most.controls, "batch": batch})


def _possible(m: Memory) -> bool:
    try:
        return m.fit.max_batch > 0
    except cm.ConfigError:  # heads that this many GPUs cannot share
        return False


_DATA_PARALLEL = {"attention_parallel": "data"}


def _take_more(m: Memory) -> Iterator[Remedy]:
    if m.utilization < _ALMOST_ALL:
        then = replace(m, utilization=_ALMOST_ALL)
        yield Remedy(f"Let the engine use {_ALMOST_ALL:.0%}", f"{_ALMOST_ALL:.0%}", then, {"utilization": _ALMOST_ALL})


def _windows_only(m: Memory) -> Iterator[Remedy]:
    if m.windowed and m.allocation == "full":
        yield Remedy("Keep the windows only", "windows", m.allocated("windowed"), {"allocation": "windowed"})


def _whole_heads(m: Memory) -> Iterator[Remedy]:
    """Attention data parallel: no cache is kept twice, so more sequences share the group."""
    if m.gpus > 1 and m.attention_parallel == "tensor":
        then = replace(m, attention_parallel="data")
        yield Remedy("Divide sequences, not heads, over the GPUs", "sequences over GPUs", then, _DATA_PARALLEL)


def _fewer_sequences(m: Memory) -> Iterator[Remedy]:
    most = m.fit.max_batch
    if 1 <= most < m.batch:
        number = many(most, "sequence")
        yield Remedy(f"{number} instead of {m.batch:,}", number, replace(m, batch=most), {"batch": most})


def _shorter_context(m: Memory) -> Iterator[Remedy]:
    longest = m.fit.max_context
    if m.weights_alone_fit and 1 <= longest < m.context:
        context = int(longest)
        short = many(context, "token")
        change = f"{short} each instead of {m.context:,}"
        yield Remedy(change, short, replace(m, context=context), {"context": context})


def _narrow_cache(m: Memory) -> Iterator[Remedy]:
    for name in _narrower(KV_DTYPES, m.scenario.formats.kv):
        yield Remedy(f"The cache in {name}", f"{name} cache", m.with_precision(kv=name), {"kv": name})


def _narrow_weights(m: Memory) -> Iterator[Remedy]:
    for name in _narrower(DTYPES, m.scenario.stored_weights):
        yield Remedy(f"Weights in {name}", f"{name} weights", m.with_precision(weights=name), {"weights": name})


def _narrow_both(m: Memory) -> Iterator[Remedy]:
    if any(alone.then.fit.fits for alone in (*_narrow_cache(m), *_narrow_weights(m))):
        return
    for cache, weights in zip(_narrow_cache(m), _narrow_weights(m), strict=False):
        change = f"{weights.change}, the cache in {cache.controls['kv']}"
        then = weights.then.with_precision(**cache.controls)
        yield Remedy(change, f"{weights.short}, {cache.short}", then, {**weights.controls, **cache.controls})


def _narrower(names: Iterable[str], than: str) -> list[str]:
    """Formats of fewer bits, from wide to narrow; those of as many in the order of the table."""
    fewer = [name for name in names if DTYPES[name].bits < min(DTYPES[than].bits, 16)]
    return sorted(fewer, key=lambda name: -round(DTYPES[name].bits))


def _more_gpus(m: Memory) -> Iterator[Remedy]:
    for count in GROUPS:
        if count > m.gpus:
            then = replace(m, scenario=replace(m.scenario, tensor_parallel=count))
            gpus, controls = f"{count} GPUs", {"tensor_parallel": str(count)}
            yield Remedy(gpus, gpus, then, controls)
            if latent(m.model):  # each GPU keeps the whole latent, unless it has sequences of its own
                then = replace(then, attention_parallel="data")
                yield Remedy(f"{gpus}, the sequences divided over them", gpus, then, {**controls, **_DATA_PARALLEL})


def _larger_chip(m: Memory) -> Iterator[Remedy]:
    """The chips of the catalogue with more memory, the smallest first; preliminary ones are not proposed."""
    chips = [cm.hardware(name) for name in cm.hardware()]
    larger = [hw for hw in chips if hw.memory and hw.memory > m.fit.usable_bytes and hw.confidence != "C"]
    for hw in sorted(larger, key=lambda hw: (hw.memory or 0.0, hw.name)):
        scenario = replace(m.scenario.without_what_if(), hardware=hw)
        name = f"{m.gpus} × {hw.name}" if m.gpus > 1 else f"One {hw.name}"
        then = replace(m, scenario=scenario, own_memory=None)
        yield Remedy(name, hw.name, then, {"hardware": hw.id, "memory_x": 1.0})


_KINDS_OF_CHANGE = (
    _take_more, _windows_only, _whole_heads, _fewer_sequences, _shorter_context, _narrow_cache, _narrow_weights,
    _narrow_both, _more_gpus, _larger_chip,
)  # fmt: skip


def latent(model: cm.Model) -> bool:
    """Whether some layer caches a latent, which every GPU of a group then keeps whole."""
    return any(isinstance(mixer, LatentAttention) for mixer in by_mixer(model))
