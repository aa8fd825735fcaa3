"""The numbers of the Roofline page: everything that it says or draws, each from one call of the cost model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import costmodel as cm
from costmodel.operations import Count
from pages.parts.scenario import Scenario

CHUNK = 256  # tokens of the prompt in the mixed step, at most


@dataclass(frozen=True)
class Roofline:
    """One scenario and one workload, counted one way.

    Attributes
    ----------
    batch: sequences decoding together. prompt: tokens of the prompt. context: tokens in each sequence's cache.
    count: "weights" (the post's count) or "attention" (with the caches).
    """

    scenario: Scenario
    batch: int
    prompt: int
    context: int
    count: Count

    @property
    def counts_caches(self) -> bool:
        return self.count == "attention"

    @property
    def floor(self) -> Scenario:
        """The scenario priced from the datasheet, whoever else speaks."""
        return self.scenario.datasheet()

    @property
    def base(self) -> Scenario:
        """The floor on the machine as it is, without the what-if: the browser multiplies."""
        return self.floor.without_what_if()

    def price_base(self, step: cm.Step) -> cm.Cost:
        """Floor of a step, or of a sweep, at the page's count, without the what-if."""
        return self.base.price(step, self.count)

    @cached_property
    def base_costs(self) -> dict[str, cm.Cost]:
        """Floors of the page's three steps without the what-if."""
        if self.base.hardware == self.scenario.hardware:
            return {"decode": self.decode, "prefill": self.prefill, "mixed": self.mixed}
        return {name: self.price_base(step) for name, step in self.steps.items()}

    # ---- the page's three steps ------------------------------------------------------------------------------

    @property
    def chunk(self) -> int:
        """Tokens of the prompt in the mixed step."""
        return min(CHUNK, self.prompt)

    @cached_property
    def steps(self) -> dict[str, cm.Step]:
        ends = int(self.chunk == self.prompt)  # only the last chunk of a prompt needs logits
        return {
            "decode": cm.Step.decode(self.batch, self.context),
            "prefill": cm.Step.prefill(self.prompt),
            "mixed": cm.Step.mixed(self.chunk, 0, self.batch, self.context, chunk_logits=ends),
        }

    @cached_property
    def decode(self) -> cm.Cost:
        return self.floor.price(self.steps["decode"], self.count)

    @cached_property
    def prefill(self) -> cm.Cost:
        return self.floor.price(self.steps["prefill"], self.count)

    @cached_property
    def mixed(self) -> cm.Cost:
        return self.floor.price(self.steps["mixed"], self.count)

    @cached_property
    def token(self) -> cm.Cost:
        """A decode step of one token: what each further one adds in arithmetic."""
        return self.floor.price(cm.Step.decode(1, self.context), self.count)

    @cached_property
    def decode_with_caches(self) -> cm.Cost:
        """The same decode step with its caches counted, whatever the page counts."""
        return self.floor.price(self.steps["decode"], "attention")

    @cached_property
    def prefill_with_caches(self) -> cm.Cost:
        """The same prefill with its square counted and the LM head only where logits are needed: a bound."""
        return self.floor.price(self.steps["prefill"], "attention")

    @cached_property
    def weight_bytes(self) -> float:
        """Bytes of weights that the decode step streams."""
        return float(self.floor.price(self.steps["decode"], "weights").bytes)

    @cached_property
    def whole_weight_bytes(self) -> float:
        """The same of one GPU that holds the whole model."""
        alone = replace(self.floor, tensor_parallel=1)
        return float(alone.price(self.steps["decode"], "weights").bytes)

    @property
    def waiting_for_memory(self) -> bool:
        return bool(self.decode.bound == "memory")

    # ---- by the source that speaks ---------------------------------------------------------------------------

    @property
    def estimates(self) -> bool:
        """Whether another source than the datasheet speaks."""
        return self.scenario.source != "datasheet"

    @cached_property
    def estimate(self) -> cm.Cost:
        """The decode step by the source that speaks, overheads and activations included."""
        return self.scenario.price(self.steps["decode"])

    @cached_property
    def prefill_estimate(self) -> cm.Cost:
        """The prefill by the source that speaks."""
        return self.scenario.price(self.steps["prefill"])

    def cost_of(self, step: str) -> cm.Cost:
        """One of the page's three steps by the source that speaks: a floor at the page's count, or an estimate."""
        if self.estimates:
            return self.scenario.price(self.steps[step])
        return {"decode": self.decode, "prefill": self.prefill, "mixed": self.mixed}[step]

    # ---- where memory and arithmetic meet --------------------------------------------------------------------

    @property
    def ridge(self) -> float:
        """B*, in the format that the arithmetic is done in."""
        return cm.ridge(self.scenario.hardware, self.scenario.formats.compute)

    @cached_property
    def crossing(self) -> float | None:
        """T* of decode steps: the batch at which they turn compute-bound."""
        return self.scenario.crossing(self.context, self.count)

    @cached_property
    def prefill_crossing(self) -> float | None:
        """T* of a prompt."""
        return self.scenario.crossing(0, self.count, "prefill")

    @cached_property
    def crossing_of_weights(self) -> float | None:
        """T* of decode steps in the post's count, whatever the page counts."""
        return self.scenario.crossing(self.context)

    @cached_property
    def asymptote(self) -> float:
        """FLOP a byte that decode steps at this context tend to as the batch grows, caches counted."""
        return self.scenario.asymptote(self.context)
