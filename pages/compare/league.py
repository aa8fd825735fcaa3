"""The numbers of the league: one model and one workload on every accelerator of the catalogue, and on the sidebar's."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

import costmodel as cm
from costmodel import batching
from costmodel.fleet import Fleet, fleet
from costmodel.operations import Count
from costmodel.precision import settle
from costmodel.rates import GENERAL
from pages.memory.numbers import Memory
from pages.parts import borrowed
from pages.parts.scenario import Scenario


@dataclass(frozen=True)
class Estimate:
    """What fitted rates say of the decode step, and the band around it: seconds; and what each rate rests on."""

    seconds: float
    low: float
    high: float
    rests_on: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Row:
    """One accelerator.

    Attributes
    ----------
    current: whether it is the sidebar's, with its what-if.
    obstacle: why it has no price; "" where it has one.
    decode, prefill: floors of a decode step of the whole batch, and of one prompt, in seconds; nan without a price.
    decode_expects, prefill_expects: whether those rest on the expected number of experts.
    hourly: price of one of them for an hour; ``own_hourly``: whether it was given for this one.
    """

    league: League
    hardware: cm.Hardware
    current: bool
    obstacle: str
    decode: float
    prefill: float
    decode_expects: bool
    prefill_expects: bool
    hourly: float
    own_hourly: bool

    @property
    def priced(self) -> bool:
        return not self.obstacle

    @property
    def memory(self) -> Memory:
        """The workload in its memory, allocated as the Memory page says."""
        league = self.league
        given = league.own_memory[1] if league.own_memory[0] == self.hardware.id else None
        scenario = replace(league.scenario, hardware=self.hardware)
        return replace(league.memory, scenario=scenario, own_memory=given)

    @cached_property
    def fit(self) -> cm.Fit | None:
        """What fits; None where the usable memory is not published, or the format that it would be kept in is not."""
        return self.league.fit_of(self.memory) if self.memory.known and self.priced else None

    @property
    def does_not_fit(self) -> bool:
        """Whether it is known that the batch does not fit."""
        return self.fit is not None and not self.fit.fits

    @property
    def box(self) -> float | None:
        """Bytes of memory on the box, or, where none are printed there, those that can be used."""
        return self.hardware.memory_marketed or self.hardware.memory

    @property
    def ridge(self) -> float:
        """B*: the ridge, in FLOP a byte, in the format that the model is computed in; nan without a price."""
        if not self.priced:
            return math.nan
        s = self.league.scenario
        return self.hardware.ridge(settle(s.model, self.hardware, s.precision).compute)

    @property
    def tokens_per_second(self) -> float:
        """Tokens that a group of them gives in a second, at most; nan where the batch does not fit."""
        return math.nan if self.does_not_fit else self.league.batch / self.decode

    @property
    def million(self) -> float:
        """Price of a million tokens, at least; nan where the batch does not fit."""
        if self.does_not_fit:
            return math.nan
        gpus = self.league.scenario.tensor_parallel
        return float(batching.price_of_a_million(self.decode / self.league.batch, self.hourly * gpus))

    @property
    def estimate(self) -> Estimate | None:
        """An estimate of the decode step, where this accelerator or a near relative was measured; None elsewhere."""
        s = self.league.scenario
        if not self.priced or not _measured(self.hardware):
            return None
        return _estimate(s.model, self.hardware, s.precision, s.tensor_parallel, self.league.batch, self.league.context)


@dataclass(frozen=True)
class League:
    """A workload on every accelerator.

    Attributes
    ----------
    scenario: the sidebar's, priced as a floor. batch, context: of the decode step. prompt: of the prefill step.
    memory: the same workload in the memory of the sidebar's accelerator, allocated as the Memory page says.
    own_memory: the accelerator for which the user gave the usable memory, and those bytes.
    count: what the floors of the decode step count.
    hourly: price of an hour of each accelerator that has none in ``prices`` (by id).
    order, vendor, least: how the rows are sorted, whose they are ("all"), and the GB that they have at least.
    chosen: id of the row that is looked into; "" for the sidebar's.
    """

    scenario: Scenario
    batch: int
    context: int
    prompt: int
    count: Count
    hourly: float
    memory: Memory
    own_memory: tuple[str, float | None] = ("", None)
    prices: tuple[tuple[str, float], ...] = ()
    order: str = "decode"
    vendor: str = "all"
    least: float = 0
    chosen: str = ""

    @cached_property
    def machines(self) -> list[cm.Hardware]:
        """The catalogue, and the sidebar's accelerator, should it be none of the catalogue."""
        catalogue = [cm.hardware(name) for name in cm.hardware()]
        return catalogue if self.scenario.hardware in catalogue else [*catalogue, self.scenario.hardware]

    @cached_property
    def decodes(self) -> Fleet:
        """The decode step, with and without the caches counted as ``count`` says, on each."""
        return self._priced(cm.Step.decode(self.batch, self.context), self.count)

    @cached_property
    def prefills(self) -> Fleet:
        """The step of one prompt on each, all counted: the post's count is no bound of a prompt."""
        return self._priced(cm.Step.prefill(self.prompt), "attention")

    @cached_property
    def expects_experts(self) -> tuple[bool, bool]:
        """Whether on one of them the floor of the decode step, and of the prompt, rests on the expected experts."""
        return bool(self.decodes.expects_experts.any()), bool(self.prefills.expects_experts.any())

    def _priced(self, step: cm.Step, count: Count) -> Fleet:
        s = self.scenario
        return fleet(
            s.model,
            self.machines,
            step,
            precision=s.precision,
            count=count,
            tensor_parallel=s.tensor_parallel,
        )

    @cached_property
    def everyone(self) -> list[Row]:
        """All rows, in the order of the catalogue."""
        prices = dict(self.prices)
        decodes, prefills = self.decodes, self.prefills
        steps = zip(decodes.obstacles, decodes.seconds, prefills.seconds, strict=True)
        expects = zip(decodes.expects_experts, prefills.expects_experts, strict=True)
        return [
            Row(
                self,
                hw,
                current=hw == self.scenario.hardware,
                obstacle=obstacle,
                decode=float(decode),
                prefill=float(prefill),
                decode_expects=bool(decode_expects),
                prefill_expects=bool(prefill_expects),
                hourly=prices.get(hw.id, self.hourly),
                own_hourly=hw.id in prices,
            )
            for hw, (obstacle, decode, prefill), (decode_expects, prefill_expects) in zip(
                self.machines, steps, expects, strict=True
            )
        ]

    @cached_property
    def _fits(self) -> dict[tuple[object, ...], cm.Fit]:
        return {}

    def fit_of(self, memory: Memory) -> cm.Fit:
        """What fits: the same on all that settle to the same formats and have as much memory."""
        s = memory.scenario
        key = (memory.hardware.memory, settle(s.model, s.hardware, s.precision))
        if key not in self._fits:
            self._fits[key] = memory.fit
        return self._fits[key]

    @cached_property
    def rows(self) -> list[Row]:
        """Those of the vendor with enough memory, sorted; what cannot be sorted comes last."""
        kept = [row for row in self.everyone if self.vendor in ("all", row.hardware.vendor) and self._large(row)]
        return sorted(kept, key=_KEYS[self.order])

    def _large(self, row: Row) -> bool:
        return not self.least or (row.box is not None and row.box >= self.least * 1e9)

    @property
    def without_memory(self) -> list[Row]:
        """Rows of the vendor that are left out because no memory is known, while some is asked for."""
        rows = [row for row in self.everyone if row.box is None and self.vendor in ("all", row.hardware.vendor)]
        return rows if self.least else []

    @cached_property
    def current(self) -> Row:
        """The sidebar's accelerator, whether it is among the rows or not."""
        return next(row for row in self.everyone if row.current)

    @cached_property
    def row(self) -> Row:
        """The row that is looked into."""
        named = [row for row in self.everyone if row.hardware.id == self.chosen and not row.hardware.base]
        return named[0] if named else self.current

    @cached_property
    def fastest(self) -> Row | None:
        """Of the rows that are shown and are known to hold the batch, the one with the shortest decode step."""
        able = [row for row in self.rows if row.fit is not None and row.fit.fits]
        return min(able, key=lambda row: row.decode, default=None)

    def placed(self, row: Row) -> tuple[int, int]:
        """Place of a row by its decode step among all that have a price, and how many those are."""
        times = self.decodes.seconds
        return int((times < row.decode).sum()) + 1, int(np.isfinite(times).sum())


def _last(value: float | None, *, falling: bool = False) -> tuple[bool, float]:
    """Sort by a number, the largest first if ``falling``; what is not known comes last."""
    if value is None or math.isnan(value):
        return True, 0.0
    return False, -value if falling else value


def _most(row: Row) -> tuple[bool, float]:
    return _last(row.fit.max_batch if row.fit is not None else None, falling=True)


_KEYS: Mapping[str, Callable[[Row], Any]] = {
    "decode": lambda row: _last(row.decode),
    "prefill": lambda row: _last(row.prefill),
    "cost": lambda row: _last(row.million),
    "most": _most,
    "memory": lambda row: _last(row.box, falling=True),
    "ridge": lambda row: _last(row.ridge, falling=True),
    "name": lambda row: row.hardware.name.casefold(),
}


@lru_cache(maxsize=256)
def _measured(hw: cm.Hardware) -> bool:
    """Whether there are rates of this accelerator or of a near relative, not only the general ones of all GPUs."""
    return cm.calibrated(hw).fit("matmul", "bf16").device != GENERAL


@lru_cache(maxsize=4096)
def _estimate(  # one call, by position, for the cache
    model: cm.Model, hw: cm.Hardware, precision: cm.Precision, gpus: int, batch: int, context: int
) -> Estimate | None:
    try:
        cost = cm.price(model, hw, cm.Step.decode(batch, context), precision, rates="calibrated", tensor_parallel=gpus)
    except cm.ConfigError:  # no fit for one of its operations
        return None
    return Estimate(float(cost.seconds), float(cost.low), float(cost.high), borrowed.rates_of(cost))


def priced_at(prices: Mapping[str, float], hardware_id: str, hourly: float | None) -> dict[str, float]:
    """The prices with that of one accelerator set, or taken back."""
    others = {name: price for name, price in prices.items() if name != hardware_id}
    return others if hourly is None else {**others, hardware_id: hourly}
