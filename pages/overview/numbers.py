"""The numbers of the Overview: the two lines of the post for the current scenario, and one figure a page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

import costmodel as cm
import live
from pages.memory.numbers import Memory
from pages.parts.scenario import Scenario
from pages.parts.state import MOST_SEQUENCES

_FREE = 0.45  # of the width: where the crossing stands, if nothing needs more room
_FAR = 6.0  # crossings: a prompt up to here is drawn, a longer one is named at the edge
_BEYOND = 300  # points of the lines past the largest batch
_ACROSS = 60  # points of the drawn lines, evenly, and as many closer together where the batch is small


@dataclass(frozen=True)
class Overview:
    """A scenario and a workload, priced as a floor from the datasheet in the post's count: weights and arithmetic.

    Attributes
    ----------
    batch: sequences decoding together. prompt: tokens of the prompt. context: tokens in each sequence's cache.
    memory: the same workload in memory, as the Memory page allocates it.
    profile: what this machine measured, if it did.
    """

    scenario: Scenario
    batch: int
    prompt: int
    context: int
    memory: Memory
    profile: live.Profile | None = None

    @property
    def floor(self) -> Scenario:
        """The scenario priced from the datasheet, whoever else speaks."""
        return self.scenario.datasheet()

    @property
    def speaking(self) -> Scenario:
        """The scenario whose source the page's times have."""
        return self.floor if self.scenario.published else self.scenario

    @cached_property
    def token(self) -> cm.Cost:
        """A step of one token."""
        return self._decode(1)

    @cached_property
    def decode(self) -> cm.Cost:
        """The decode step of the batch."""
        return self._decode(self.batch)

    @cached_property
    def prefill(self) -> cm.Cost:
        """The prompt in one step."""
        return self.floor.price(cm.Step.prefill(self.prompt), "weights")

    @cached_property
    def prefill_with_caches(self) -> cm.Cost:
        """The same with its square counted and the LM head only where logits are needed: a bound."""
        return self.floor.price(cm.Step.prefill(self.prompt), "attention")

    def _decode(self, batch: int) -> cm.Cost:
        return self.floor.price(cm.Step.decode(batch, self.context), "weights")

    @cached_property
    def crossing(self) -> float | None:
        """T*, the tokens at which a step turns compute-bound."""
        return self.scenario.crossing()

    @property
    def ridge(self) -> float:
        """B* of the machine, in the format that the arithmetic is done in."""
        return cm.ridge(self.scenario.hardware, self.scenario.formats.compute)

    @cached_property
    def weights_vary(self) -> bool:
        """Whether more tokens read more weights: experts that only some of them ask for."""
        return bool(self._decode(MOST_SEQUENCES).bytes > self.token.bytes)

    # ---- the picture -----------------------------------------------------------------------------------------

    @cached_property
    def right(self) -> float:
        """Right end of the axis of tokens: room for the crossing, the batch and, unless it is far off, the prompt."""
        crossing = self.crossing or 1.0
        prompt = self.prompt if self.prompt <= _FAR * crossing else 0
        return max(crossing / _FREE, 1.12 * prompt, 1.05 * self.batch, 24.0)

    @property
    def most(self) -> int:
        """The largest batch that stands in the picture."""
        return min(int(self.right), MOST_SEQUENCES)

    @cached_property
    def lines(self) -> pd.DataFrame:
        """Steps of 1, 2, 3, ... tokens: what memory and arithmetic take, and the longer of the two (seconds)."""
        last = int(self.right)
        each = np.arange(1, min(last, MOST_SEQUENCES) + 1)
        beyond = np.linspace(MOST_SEQUENCES, max(last, MOST_SEQUENCES), _BEYOND).round()
        tokens = np.unique(np.concatenate([each, beyond[beyond <= last]]))
        cost = self.floor.price(cm.Step.decode(tokens, self.context), "weights")
        columns = {"memory": cost.memory_seconds, "arithmetic": cost.compute_seconds, "seconds": cost.seconds}
        return pd.DataFrame({"t": tokens, **columns, "idle": cost.idle})

    @cached_property
    def curve(self) -> pd.DataFrame:
        """Of the lines what a picture needs to look the same: a row each some pixels, and those about the crossing."""
        last, crossing = self.lines.t.iloc[-1], int(self.crossing or 1)
        even, early = np.linspace(1, last, _ACROSS), np.geomspace(1, last, _ACROSS)
        wanted = np.concatenate([even, early, [crossing, crossing + 1, crossing + 2, last]])
        return self.lines.iloc[np.unique(np.searchsorted(self.lines.t, np.clip(wanted, 1, last)))]

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row: the corners of the picture, and what stands in it at rest."""
        shares = np.array([0.3, 0.6, 1.0])  # of the width
        left, middle, last = np.interp(shares * self.right, self.lines.t, self.lines.seconds)
        top = max(1.06 * last, middle / 0.66, left / 0.52)  # the corner at the top left stays empty
        drawn = self.crossing is not None and self.crossing > 1
        row = {
            "right": self.right,
            "top": top,
            "batch": self.batch,
            "crossing": self.crossing if drawn else None,
            "crossing_s": np.interp(self.crossing or 0, self.lines.t, self.lines.seconds) if drawn else None,
            "plateau": float(self.lines.memory.iloc[-1]),
            "token_arithmetic": self.token.compute_seconds,
            "varies": self.weights_vary,
            "prompt": self.prompt,
            "prefill": self.prefill.seconds,
        }
        return pd.DataFrame([row])

    # ---- one figure a page -----------------------------------------------------------------------------------

    @cached_property
    def with_caches(self) -> cm.Cost:
        """The decode step of the batch with its caches counted."""
        return self.floor.price(cm.Step.decode(self.batch, self.context), "attention")

    @cached_property
    def never_crosses(self) -> bool:
        """Whether no batch makes a decode step over this context compute-bound, its caches counted."""
        return self.scenario.crossing(self.context, "attention") is None

    @cached_property
    def stall(self) -> float:
        """How many times as long a decode step takes when the whole prompt goes along, caches counted."""
        together = self.floor.price(cm.Step.mixed(self.prompt, 0, self.batch, self.context), "attention")
        return float(together.seconds / self.with_caches.seconds)

    @cached_property
    def gain(self) -> float:
        """How many times as fast the decode step gets on a machine with twice the bandwidth, caches counted."""
        s = self.floor
        wider = replace(s, hardware=s.hardware.replace(bandwidth=2 * s.hardware.bandwidth))
        after = wider.price(cm.Step.decode(self.batch, self.context), "attention")
        return float(self.with_caches.seconds / after.seconds)

    @cached_property
    def fit(self) -> cm.Fit | None:
        """What fits beside the weights at this context; None where the usable memory is neither published nor given."""
        return self.memory.fit if self.memory.known else None

    @cached_property
    def estimate(self) -> cm.Cost | None:
        """The decode step by the source that speaks, else by published measurements; None where there are none."""
        s = self.scenario
        if s.source != "datasheet":
            return s.price(cm.Step.decode(self.batch, self.context))
        try:
            return cm.price(
                s.model,
                s.hardware,
                cm.Step.decode(self.batch, self.context),
                precision=s.precision,
                rates="calibrated",
                tensor_parallel=s.tensor_parallel,
            )
        except ValueError:
            return None

    @cached_property
    def measured(self) -> cm.Cost | None:
        """The decode step on this machine, by the rates that were measured on it; None without any for this model."""
        if self.profile is None:
            return None
        step = cm.Step.decode(self.batch, self.context)
        try:
            return cm.price(self.scenario.model, self.profile.hardware, step, rates=self.profile.rates)
        except ValueError:
            return None
