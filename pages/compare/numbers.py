"""The numbers of the pair: two scenarios with their workloads, and what makes the difference between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import costmodel as cm
from costmodel import compare
from costmodel.operations import Count
from pages.batching.numbers import Batching
from pages.memory.numbers import Memory
from pages.parts.scenario import Scenario
from pages.roofline.numbers import Roofline


@dataclass(frozen=True)
class Side:
    """One of the two: a scenario and its workload.

    Attributes
    ----------
    batch, prompt, context, count: as on the Roofline page. hourly: price of one GPU for an hour.
    memory: the same load in the memory of a GPU.
    """

    name: str
    scenario: Scenario
    batch: int
    prompt: int
    context: int
    count: Count
    hourly: float
    memory: Memory

    @cached_property
    def roofline(self) -> Roofline:
        """The floors of its steps."""
        return Roofline(self.scenario, self.batch, self.prompt, self.context, self.count)

    @cached_property
    def batching(self) -> Batching:
        """What its batch buys."""
        return Batching(self.scenario, self.batch, self.context, self.count, self.hourly, self.memory)

    @property
    def crossing(self) -> float | None:
        """T* of decode steps at its count; kept while only the batch changes."""
        return self.batching.crossing(self.context) if self.roofline.counts_caches else self.batching.weights_crossing

    @property
    def estimates(self) -> bool:
        """Whether fitted or measured rates speak of it."""
        return self.roofline.estimates

    @property
    def gpus(self) -> int:
        return self.scenario.tensor_parallel


@lru_cache(maxsize=64)
def side(**fields: Any) -> Side:
    """A side, kept with the numbers that it has worked out: only one of the two changes with a slider."""
    return Side(**fields)


@dataclass(frozen=True)
class Pair:
    """A, what the sidebar says, and B, what it is compared with; both are counted one way."""

    a: Side
    b: Side

    @property
    def same(self) -> bool:
        """Whether the two are one and the same."""
        fields = ("scenario", "batch", "prompt", "context", "count", "hourly")
        return all(getattr(self.a, name) == getattr(self.b, name) for name in fields)

    @property
    def both_estimate(self) -> bool:
        """Whether both have an estimate, so that the two can be held against each other."""
        return self.a.estimates and self.b.estimates

    @property
    def other_model(self) -> bool:
        return self.a.scenario.model != self.b.scenario.model

    @cached_property
    def decode(self) -> compare.FloorRatio:
        """The floors of the decode steps."""
        return self._floors(lambda side: side.roofline.decode)

    @cached_property
    def prompts(self) -> compare.FloorRatio:
        """The floors of the prompts: bounds, with their squares and the LM head only where it is needed."""
        return self._floors(lambda side: side.roofline.prefill_with_caches)

    def _floors(self, cost: Callable[[Side], cm.Cost]) -> compare.FloorRatio:
        return compare.floors(cost(self.a), cost(self.b))

    @cached_property
    def decode_operations(self) -> list[compare.Contribution]:
        """What each operation adds to the difference of the estimated decode steps."""
        return compare.contributions(self.a.roofline.estimate, self.b.roofline.estimate)

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.a, self.b

    # ---- prices that can be held against each other ----------------------------------------------------------

    def price(self, side: Side, step: cm.Step) -> cm.Cost:
        """The price of a step of one side: an estimate where both have one, else the floor at its count."""
        if self.both_estimate:
            return side.scenario.price(step)
        return side.roofline.floor.price(step, side.count)

    def price_with_caches(self, side: Side, step: cm.Step) -> cm.Cost:
        """The same with the caches counted in any case."""
        return side.scenario.price(step) if self.both_estimate else side.roofline.floor.price(step, "attention")

    def decode_seconds(self, side: Side) -> float:
        """Seconds of its decode step: estimates where both have one, else floors."""
        return float((side.roofline.estimate if self.both_estimate else side.roofline.decode).seconds)

    def token_seconds(self, side: Side) -> float:
        """Seconds of the machine that a token costs."""
        return self.decode_seconds(side) / side.batch
