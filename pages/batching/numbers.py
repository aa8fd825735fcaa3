"""The numbers of the Batching page: everything that it says or draws, each worked out from prices of the cost model."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

import costmodel as cm
from costmodel import batching
from costmodel.memory import Fit
from costmodel.operations import Count
from pages.memory.numbers import Memory
from pages.parts import format
from pages.parts.layers import keeps
from pages.parts.scenario import Scenario

LEFT, RIGHT = 0.85, 4096.0  # ends of every axis of batches, in sequences
CONTEXTS = (100, 1_000, 10_000, 100_000)  # of the curves of intensity, beside the page's own
_PER_DECADE = 24  # points of a curve
_APART = 3  # factor by which two contexts must differ to have a curve each


@dataclass(frozen=True)
class Batching:
    """One scenario and one batch of sequences that decode.

    Attributes
    ----------
    batch: sequences decoding together. context: tokens in each sequence's cache.
    count: what a floor counts, "weights" (the post's count) or "attention" (with the caches).
    hourly: price of one GPU for an hour.
    memory: the same load in the memory of a GPU.
    """

    scenario: Scenario
    batch: int
    context: int
    count: Count
    hourly: float
    memory: Memory

    @property
    def estimates(self) -> bool:
        """Whether fitted or measured rates speak: they always count everything."""
        return self.scenario.source != "datasheet"

    @property
    def counts_caches(self) -> bool:
        return self.estimates or self.count == "attention"

    def price(self, step: cm.Step) -> cm.Cost:
        """The price of a step as the page counts it."""
        return self.scenario.price(step, None if self.estimates else self.count)

    @property
    def floor(self) -> Callable[[cm.Step], cm.Cost]:
        """Prices as a floor with the caches counted."""
        return partial(self.scenario.datasheet().price, count="attention")

    @property
    def weights_alone(self) -> Callable[[cm.Step], cm.Cost]:
        """Prices as the post counts them."""
        return partial(self.scenario.datasheet().price, count="weights")

    def beside(self, step: cm.Step) -> cm.Cost:
        """The count that is shown beside the page's own: the floor of an estimate, else the other of the two."""
        if self.estimates or self.count == "weights":
            return self.floor(step)
        return self.weights_alone(step)

    # ---- the page's own step ---------------------------------------------------------------------------------

    @cached_property
    def step(self) -> cm.Cost:
        return self.price(cm.Step.decode(self.batch, self.context))

    @cached_property
    def beside_step(self) -> cm.Cost:
        """The same step in the count that is shown beside."""
        return self.beside(cm.Step.decode(self.batch, self.context))

    @cached_property
    def alone(self) -> cm.Cost:
        """The step of one sequence."""
        return self.price(cm.Step.decode(1, self.context))

    @cached_property
    def beside_alone(self) -> cm.Cost:
        """The step of one sequence in the count that is shown beside."""
        return self.beside(cm.Step.decode(1, self.context))

    @property
    def latency(self) -> float:
        """Seconds that each sequence waits for its token."""
        return float(self.step.seconds)

    @property
    def cost(self) -> float:
        """Seconds of the machine that a token costs."""
        return self.latency / self.batch

    @property
    def slower(self) -> float:
        """Latency against that of a sequence alone."""
        return float(self.step.seconds / self.alone.seconds)

    @property
    def cheaper(self) -> float:
        """Cost of a token alone against its cost now."""
        return float(self.alone.seconds) / self.cost

    @cached_property
    def million(self) -> float:
        """Price of a million tokens, now."""
        return float(self.million_at(self.cost))

    def million_at(self, seconds_a_token: Any) -> Any:
        """Price of a million tokens on all GPUs of the group, for tokens of so many seconds each."""
        return batching.price_of_a_million(seconds_a_token, self.hourly * self.scenario.tensor_parallel)

    @cached_property
    def stretch(self) -> batching.Stretch | None:
        return _stretch(self.scenario, None if self.estimates else self.count, self.context)

    @property
    def weights_stretch(self) -> batching.Stretch | None:
        """The same in the post's count."""
        return _stretch(self.scenario.datasheet(), "weights", self.context)

    # ---- memory ----------------------------------------------------------------------------------------------

    @property
    def fit(self) -> Fit | None:
        """What fits, allocated as the Memory page says; None where the memory of the machine is not known."""
        return self.memory.fit if self.memory.known else None

    @property
    def most(self) -> int | None:
        """Sequences of this context that fit; None: not known."""
        return None if self.fit is None else self.fit.max_batch

    @property
    def fits_whole_caches(self) -> bool:
        """Whether what fits is counted with attention data parallel, while steps are priced with its heads divided."""
        return self.memory.attention_parallel == "data" and self.scenario.tensor_parallel > 1

    # ---- the two bills ---------------------------------------------------------------------------------------

    @property
    def kept(self) -> str:
        """What a sequence brings of its own: "cache", "state", or both."""
        return keeps(self.scenario.model)

    @cached_property
    def state_bytes(self) -> float:
        """Bytes of a sequence's recurrent state on a GPU, which a step reads and writes; 0 without one."""
        return self.scenario.model.state_bytes / self.scenario.tensor_parallel

    @cached_property
    def bills(self) -> batching.Bills:
        return batching.bills(self.floor, self.batch, self.context)

    @cached_property
    def even_context(self) -> float | None:
        return _even_context(self.scenario.datasheet(), self.batch)

    @cached_property
    def even_batch(self) -> float | None:
        return _even_batch(self.scenario.datasheet(), self.context)

    # ---- intensity -------------------------------------------------------------------------------------------

    @property
    def ridge(self) -> float:
        """B*, in the format that the arithmetic is done in."""
        return cm.ridge(self.scenario.hardware, self.scenario.formats.compute)

    @cached_property
    def counted_step(self) -> cm.Cost:
        """The page's step as a floor with its caches counted, whatever the page counts."""
        return self.floor(cm.Step.decode(self.batch, self.context))

    @property
    def intensity(self) -> float:
        """FLOP a byte of that step."""
        return float(self.counted_step.intensity)

    @property
    def balance(self) -> float:
        """FLOP a byte at which that step would be compute-bound, with its arithmetic in the formats that it is in."""
        return float(batching.balance(self.counted_step))

    @property
    def two_peaks(self) -> bool:
        """Whether some of its arithmetic has another peak than the ridge is made of."""
        return not math.isclose(self.balance, self.ridge, rel_tol=1e-9)

    def crossing(self, context: float) -> float | None:
        """Batch at which decode steps over this context turn compute-bound, the caches counted."""
        return self.scenario.crossing(context, "attention")

    @property
    def weights_crossing(self) -> float | None:
        """T*: the same in the post's count."""
        return self.scenario.crossing(self.context)

    def asymptote(self, context: float) -> float:
        return self.scenario.asymptote(context)

    @cached_property
    def contexts(self) -> list[float]:
        """Contexts that get a curve of intensity: the page's own first, and those whose curves end clear of it."""
        kept = [float(self.context)]
        for context in CONTEXTS:
            apart = all(not 1 / _APART < self.asymptote(context) / self.asymptote(other) < _APART for other in kept)
            if apart:
                kept.append(float(context))
        return kept

    # ---- experts ---------------------------------------------------------------------------------------------

    @cached_property
    def experts(self) -> Any:
        """The mixture of experts of the model, or None."""
        return batching.mixture(self.scenario.model)

    @cached_property
    def hit(self) -> batching.Hit:
        return batching.experts_hit(self.experts, self.batch)

    def weight_bytes(self, batch: Any) -> Any:
        """Bytes of weights that decode steps of these batches stream."""
        return self.weights_alone(cm.Step.decode(batch, self.context)).bytes

    # ---- axes ------------------------------------------------------------------------------------------------

    @cached_property
    def right(self) -> float:
        """Right end of the axes of batches: it shows the crossing of the post's count, and the page's own batch."""
        return max(RIGHT, 1.6 * min(self.weights_crossing or 0, 1e6), 1.6 * self.batch)

    @cached_property
    def batches(self) -> Any:
        """Batches of the curves: evenly spaced, and where something turns."""
        decades = math.log10(self.right / LEFT)
        grid = np.geomspace(1, self.right, round(decades * _PER_DECADE))
        turns = [self.weights_crossing, self.crossing(self.context)]
        return np.unique(np.concatenate([grid, [t for t in turns if t and 1 < t < self.right]]))

    @cached_property
    def last_context(self) -> float:
        """Right end of the axis of contexts: it shows where the bills are even, and the page's own context."""
        return float(max(64, 2.2 * min(self.even_context or 0, 1e6), 1.3 * self.context))

    @property
    def beside_name(self) -> str:
        """What the curve beside the page's own counts."""
        if self.estimates:
            return "its floor"
        return "weights alone" if self.count == "attention" else f"with {format.count(self.context)} cached each"


@dataclass(frozen=True)
class Arrival:
    """A prompt that arrives while a batch decodes, and the ways to give both their steps.

    Attributes
    ----------
    load: the sequences that decode. prompt: tokens of the prompt. chunk: tokens of it in a step, at most.
    """

    load: Batching
    prompt: int
    chunk: int

    @cached_property
    def ways(self) -> dict[str, batching.Way]:
        """A step each, one together, and chunks."""
        return self._ways(self.load.price)

    @cached_property
    def bounds(self) -> dict[str, batching.Way]:
        """The same as floors with the caches counted."""
        return self._ways(self.load.floor)

    def _ways(self, price: Callable[[cm.Step], cm.Cost]) -> dict[str, batching.Way]:
        where = self.prompt, self.load.batch, self.load.context
        return {
            "apart": batching.apart(price, *where),
            "together": batching.together(price, *where),
            "chunked": batching.chunked(price, *where, chunk=self.chunk),
        }

    @cached_property
    def room(self) -> float:
        """Prompt tokens beside the decodes until arithmetic is the longer side, caches counted; of the floor."""
        return _memory_bound_chunk(self.load.scenario.datasheet(), "attention", self.load.batch, self.load.context)

    @cached_property
    def room_of_weights(self) -> float:
        """The same in the post's count: T* - B."""
        return _memory_bound_chunk(self.load.scenario.datasheet(), "weights", self.load.batch, self.load.context)

    @cached_property
    def with_room(self) -> cm.Cost:
        """Floor of the step with that chunk, in whole tokens, its caches counted."""
        return self.mixed(self.load.floor, math.floor(self.room))

    @cached_property
    def is_bound(self) -> bool:
        """Whether no way can be faster than it says: the post's count has the LM head on all of the prompt."""
        if self.load.counts_caches:
            return not self.load.estimates
        return all(bool(np.all(way.seconds <= self.bounds[name].seconds)) for name, way in self.ways.items())

    @cached_property
    def expects_experts(self) -> bool:
        """Whether what is a bound of the ways, or is with the caches counted, rests on the expected experts."""
        ways = self.ways if self.is_bound else self.bounds
        return any(bool(way.expects_experts.any()) for way in ways.values())

    def mixed(self, price: Callable[[cm.Step], cm.Cost], chunk: Any) -> cm.Cost:
        """Price of the first chunk beside the decodes."""
        return price(cm.Step.mixed(chunk, 0, self.load.batch, self.load.context, chunk_logits=0))

    @property
    def largest(self) -> float:
        """Right end of the axis of chunks."""
        ends = [self.room_of_weights, self.room, self.chunk, 500]
        return 8 * max(end for end in ends if end < 1e6)  # noqa: PLR2004  # room without end has no place there


@dataclass(frozen=True)
class Drafting:
    """Speculative decoding: each sequence guesses ``drafts`` tokens ahead, and one step verifies them all.

    Attributes
    ----------
    load: the sequences that decode. draft_cost: what a draft for all of them costs, as a share of a decode step.
    """

    load: Batching
    drafts: int
    draft_cost: float

    @property
    def tokens(self) -> int:
        """T of the step that verifies."""
        return self.load.batch * (self.drafts + 1)

    @cached_property
    def verify(self) -> cm.Cost:
        """The step that verifies."""
        return self.load.price(cm.Step.decode(self.load.batch, self.load.context, self.drafts + 1))

    def steps(self, batch: Any, price: Callable[[cm.Step], cm.Cost] | None = None) -> Any:
        """What drafting and verifying cost, in plain decode steps."""
        price = price or self.load.price
        return batching.verification(price, batch, self.load.context, drafts=self.drafts, draft_cost=self.draft_cost)

    def break_even(self, batch: Any, price: Callable[[cm.Step], cm.Cost] | None = None) -> Any:
        """Acceptance at which drafting pays for itself; 1 where it does at best, nan where it never does."""
        return batching.break_even_acceptance(self.steps(batch, price), self.drafts)

    @property
    def pays(self) -> bool:
        """Whether drafting gains anything where enough drafts are accepted."""
        return self.needed < 1

    @cached_property
    def needed(self) -> float:
        """Break-even acceptance of the page's batch."""
        return float(self.break_even(self.load.batch))


# ---- searches, which do not change with every move of a slider -------------------------------------------------


@lru_cache(maxsize=256)
def _stretch(scenario: Scenario, count: Count | None, context: int) -> batching.Stretch | None:
    return batching.flat_stretch(partial(scenario.price, count=count), context)


@lru_cache(maxsize=256)
def _even_context(floor: Scenario, batch: int) -> float | None:
    return batching.even_context(partial(floor.price, count="attention"), batch)


@lru_cache(maxsize=256)
def _even_batch(floor: Scenario, context: int) -> float | None:
    return batching.even_batch(partial(floor.price, count="attention"), context)


@lru_cache(maxsize=256)
def _memory_bound_chunk(floor: Scenario, count: Count, batch: int, context: int) -> float:
    return batching.memory_bound_chunk(partial(floor.price, count=count), batch, context)
