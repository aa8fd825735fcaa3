"""The numbers of the Shapes page: the shapes it draws and what they cost, each from the cost model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd

import costmodel as cm
from costmodel.model import Layer
from costmodel.operations import Count
from costmodel.shapes import Bill, Gathered, Run, Shape, bill, gather, layer_kinds
from pages.parts.scenario import Scenario


@dataclass(frozen=True)
class Shapes:
    """One scenario, and what the controls of the page say.

    Attributes
    ----------
    tokens: tokens of the sentence. rows: those of them that the second step sends through, the others being cached.
    kind: which kind of layer is drawn, where the model has several.
    run: prompt and generated tokens of the run. step: the step of it that is shown.
    lengths: cached tokens of each sequence of the gathered step.
    chunk, chunk_cached: tokens of the prompt's chunk in the mixed step, and those of it that went before.
    count: "weights" (the post's count) or "attention" (with the caches).
    """

    scenario: Scenario
    tokens: int
    rows: int
    kind: int
    run: Run
    step: int
    lengths: tuple[int, ...]
    chunk: int
    chunk_cached: int
    count: Count

    # ---- what is drawn

    @cached_property
    def kinds(self) -> tuple[tuple[Layer, int], ...]:
        """Kinds of layers that look different, with how many of each."""
        return layer_kinds(self.scenario.model)

    @property
    def layer(self) -> Layer:
        return self.kinds[self.kind][0]

    @property
    def hidden(self) -> int:
        return self.scenario.model.hidden

    @cached_property
    def prefill(self) -> Shape:
        """The whole sentence at once."""
        return Shape(self.layer, self.hidden, self.tokens)

    @cached_property
    def other(self) -> Shape:
        """The last rows of the sentence over those that went before: a decode, or anything between."""
        return Shape(self.layer, self.hidden, self.rows, self.tokens - self.rows)

    @cached_property
    def gathered(self) -> Gathered:
        """One decode of each sequence."""
        return gather(self.layer, self.hidden, [(1, length) for length in self.lengths])

    @cached_property
    def mixed(self) -> Gathered:
        """The same, with a chunk of a prompt beside them."""
        chunk = (self.chunk, self.chunk_cached)
        return gather(self.layer, self.hidden, [chunk, *((1, length) for length in self.lengths)])

    # ---- what it costs

    @property
    def counts_caches(self) -> bool:
        return self.count == "attention"

    @property
    def is_floor(self) -> bool:
        """Whether the datasheet speaks, at the page's count. Fitted and measured rates count everything."""
        return self.scenario.source == "datasheet"

    def is_bound(self, step: cm.Step) -> bool:
        """Whether the step cannot be faster than the page's price: the post's count has the LM head on every token."""
        if not self.is_floor:
            return False
        return self.counts_caches or bool(self.price(step).seconds <= self.scenario.price(step, "attention").seconds)

    @property
    def steps_are_bounds(self) -> bool:
        """Whether that holds for both steps."""
        return self.is_bound(self.prefill_step) and self.is_bound(self.other_step)

    def price(self, step: cm.Step) -> cm.Cost:
        """Price of a step or a sweep by the source that speaks."""
        return self.scenario.price(step, self.count if self.is_floor else None)

    @property
    def prefill_step(self) -> cm.Step:
        return cm.Step.prefill(self.tokens)

    @property
    def other_step(self) -> cm.Step:
        return cm.Step(new=self.other.new, cached=self.other.cached)

    @cached_property
    def prefill_cost(self) -> cm.Cost:
        return self.price(self.prefill_step)

    @cached_property
    def other_cost(self) -> cm.Cost:
        return self.price(self.other_step)

    def store_bytes(self, shapes: Iterable[Shape]) -> float:
        """Bytes of keys, values and states that these sequences move in one step, through all layers."""
        return _store_bytes(self.scenario.datasheet(), tuple((s.new, s.cached) for s in shapes))

    def decode_bytes(self, lengths: Sequence[int]) -> list[float]:
        """The same for a decode over each of these lengths alone."""
        return [_store_bytes(self.scenario.datasheet(), ((1, length),)) for length in lengths]

    @cached_property
    def kept(self) -> Bill:
        """The run with a cache."""
        return _run_bills(self.scenario, self.run, self.count)[0]

    @cached_property
    def repeated(self) -> Bill:
        """The run without one: every step takes the whole sequence."""
        return _run_bills(self.scenario, self.run, self.count)[1]

    @property
    def run_bounds(self) -> tuple[Bill, Bill]:
        """Both runs with the caches counted: no step of a floor can be faster."""
        return _run_bills(self.scenario, self.run, "attention")

    @property
    def run_is_bound(self) -> bool:
        """Whether the run with a cache cannot be faster than the page says, as a whole."""
        return self.is_floor and self.kept.total("seconds") <= self.run_bounds[0].total("seconds")

    @cached_property
    def run_steps_are_bounds(self) -> bool:
        """Whether no step of either run can be."""
        pairs = zip((self.kept, self.repeated), self.run_bounds, strict=True)
        return self.is_floor and all(bool(np.all(one.seconds <= bound.seconds)) for one, bound in pairs)

    @cached_property
    def run_waits_for_weights(self) -> bool:
        """Whether steps are repeated at all, and none of them carries more tokens than the weights take to arrive."""
        return self.run.decodes > 0 and (self.crossing is None or self.run.context <= self.crossing)

    def run_table(self) -> pd.DataFrame:
        """Both runs, a row a step, in SI units."""
        columns: dict[str, Any] = {"step": range(self.run.steps)}
        for which, bill_ in (("with a cache", self.kept), ("without one", self.repeated)):
            columns[f"rows {which}"] = bill_.rows
            columns[f"bytes {which} (B)"] = bill_.bytes
            columns[f"arithmetic {which} (FLOP)"] = bill_.flops
            columns[f"time {which} (s)"] = bill_.seconds
        return pd.DataFrame(columns)

    @cached_property
    def crossing(self) -> float | None:
        """Tokens at which a step turns compute-bound, the caches left out."""
        return self.scenario.crossing()


@lru_cache(maxsize=512)
def _store_bytes(scenario: Scenario, sequences: tuple[tuple[int, int], ...]) -> float:
    """The same, of sequences of (new, cached) tokens."""
    step = cm.Step(new=[new for new, _ in sequences], cached=[cached for _, cached in sequences])
    return float(scenario.price(step, "attention").kv_bytes)


@lru_cache(maxsize=32)
def _run_bills(scenario: Scenario, run: Run, count: Count) -> tuple[Bill, Bill]:
    level = count if scenario.source == "datasheet" else None

    def price(step: cm.Step) -> cm.Cost:
        return scenario.price(step, level)

    return bill(run.with_cache(), price), bill(run.without_cache(), price)
