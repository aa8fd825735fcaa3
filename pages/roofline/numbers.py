"""The numbers of the Roofline page: everything that it says or draws, each from one call of the cost model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

import costmodel as cm
from pages.parts import format
from pages.parts.scenario import Scenario

CHUNK = 256  # tokens of the prompt in the mixed step, at most
_VAST = 1e9  # sequences: so many that the weights no longer count
_PER_DECADE = 40  # points of a curve


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
    count: str

    @property
    def counts_caches(self) -> bool:
        return self.count == "attention"

    @property
    def floor(self) -> Scenario:
        """The scenario priced from the datasheet, whoever else speaks."""
        return self.scenario.datasheet()

    def price(self, step: cm.Step) -> cm.Cost:
        """Floor of a step at the page's count."""
        return self.floor.price(step, self.count)

    @cached_property
    def decode(self) -> cm.Cost:
        return self.price(cm.Step.decode(self.batch, self.context))

    @cached_property
    def decode_with_caches(self) -> cm.Cost:
        """The same decode step with its caches counted, whatever the page counts."""
        return self.floor.price(cm.Step.decode(self.batch, self.context), "attention")

    @cached_property
    def token(self) -> cm.Cost:
        """A step of one token: what each further one adds in arithmetic."""
        return self.price(cm.Step.decode(1, self.context))

    @cached_property
    def prefill(self) -> cm.Cost:
        return self.price(cm.Step.prefill(self.prompt))

    @property
    def chunk(self) -> int:
        return min(CHUNK, self.prompt)

    @cached_property
    def mixed(self) -> cm.Cost:
        """One chunk of the prompt beside the decodes; its logits only when it ends the prompt."""
        ends = int(self.chunk == self.prompt)
        return self.price(cm.Step.mixed(self.chunk, 0, self.batch, self.context, chunk_logits=ends))

    @cached_property
    def weight_bytes(self) -> float:
        """Bytes of weights that a decode step of this batch streams."""
        cost: float = self.floor.price(cm.Step.decode(self.batch, self.context), "weights").bytes
        return cost

    @cached_property
    def cache_bytes(self) -> float:
        """Bytes of caches read and written by the decode step, counted or not."""
        table = self.decode_with_caches.operations
        return float(table["kv_bytes"].sum())

    @property
    def ridge(self) -> float:
        """B*, in the format that the arithmetic is done in."""
        return cm.ridge(self.scenario.hardware, self.scenario.formats.compute)

    def _crossing(self, phase: str) -> float | None:
        s = self.scenario
        context = self.context if phase == "decode" else 0
        found: float | None = cm.crossing(
            s.model, s.hardware, context, self.count, phase, s.precision, s.tensor_parallel
        )
        return found

    @cached_property
    def crossing(self) -> float | None:
        """T* of decode steps: the batch at which they turn compute-bound."""
        return self._crossing("decode")

    @cached_property
    def prefill_crossing(self) -> float | None:
        """T* of a prompt."""
        return self._crossing("prefill")

    @cached_property
    def asymptote(self) -> float:
        """FLOP a byte that decode steps at this context tend to as the batch grows, caches counted."""
        cost = self.floor.price(cm.Step.decode(_VAST, max(self.context, 1)), "attention")
        return float(cost.intensity)

    @property
    def waiting_for_memory(self) -> bool:
        return bool(self.decode.bound == "memory")

    # ---- what the charts are drawn from ----------------------------------------------------------------------

    @property
    def last_token(self) -> float:
        """Right end of the axis of tokens."""
        return 1.4 * 10 ** max(4, math.ceil(math.log10(max(self.prompt, self.batch))))

    def curves(self) -> pd.DataFrame:
        """Steps over T, at the datasheet's own bandwidth and peaks: the browser multiplies.

        The "step" curve is one prompt of T tokens; "decode" is T sequences over the context, where caches count.
        """
        decades = math.log10(self.last_token)
        tokens = np.geomspace(1, self.last_token, round(decades * _PER_DECADE))
        frames = [_rows("step", tokens, self._plain(cm.Step.prefill(tokens)), self._base)]
        if self.counts_caches:
            frames.append(_rows("decode", tokens, self._plain(cm.Step.decode(tokens, self.context)), self._base))
        return pd.concat(frames, ignore_index=True)

    @property
    def _base(self) -> cm.Hardware:
        return self.floor.without_what_if().hardware

    def _plain(self, step: cm.Step) -> cm.Cost:
        return self.floor.without_what_if().price(step, self.count)

    def marks(self) -> pd.DataFrame:
        """One row: the decode step and the prefill of the page, and the steps by which their labels find room."""
        prompt, batch = float(self.prompt), float(self.batch)
        left = max(1.0, 0.15 * prompt)
        decodes = {"decode": batch, "ahead": 16 * batch, "beside": left, "over": prompt, "beyond": 16 * prompt}
        prompts = {"prefill": prompt, "later": 16 * prompt}
        priced = [
            *zip(decodes, _points(self._plain(cm.Step.decode(np.array([*decodes.values()]), self.context))), strict=True),
            *zip(prompts, _points(self._plain(cm.Step.prefill(np.array([*prompts.values()])))), strict=True),
        ]
        note, short = self._decode_note()
        row: dict[str, Any] = {
            "bandwidth": self._base.bandwidth, "caches": self.counts_caches, "context": self.context,
            "note": note, "short_note": short,
        }  # fmt: skip
        for name, cost in priced:
            row[f"{name}_t"] = {**decodes, **prompts}[name]
            row |= {f"{name}_{what}": value for what, value in cost.items()}
        return pd.DataFrame([row])

    def _decode_note(self) -> tuple[str, str]:
        """What the label of the decode step says besides its batch, in full and for a phone."""
        if not self.counts_caches:
            return "", ""
        if self.crossing is not None:
            return "", ""
        return f"never crosses, tends to {format.significant(self.asymptote, 2)} FLOP/B", "never crosses"

    def frame(self) -> pd.DataFrame:
        """One row: the corners of the picture, and the multipliers of the sidebar."""
        bottom, top = self._times()
        s = self.scenario
        row = {"left": 0.7, "right": self.last_token, "bottom": bottom, "top": top}
        return pd.DataFrame([{**row, "bandwidth_x": s.bandwidth_x, "compute_x": s.compute_x}])

    def _times(self) -> tuple[float, float]:
        """Shortest and longest time on the axis, the same under every what-if.

        The corner at the top left stays empty for the name of the memory-bound region, the one at the bottom right for
        the other.
        """
        ends = self._plain(cm.Step.prefill(np.array([1.0, self.last_token])))
        memory, (first, last) = float(np.max(ends.memory_seconds)), ends.compute_seconds
        tops = [6 * last, 300 * memory]
        if self.counts_caches:
            tops.append(30 * float(self._plain(cm.Step.decode(512, self.context)).seconds))
        return min(first / 2.4, memory / 800), max(tops)


def _rows(curve: str, tokens: Any, cost: cm.Cost, hw: cm.Hardware) -> pd.DataFrame:
    peak = cost.flops / cost.compute_seconds  # of several formats together, where a step has several
    columns = {"curve": curve, "t": tokens, "flops": cost.flops, "bytes": cost.bytes, "peak": peak}
    return pd.DataFrame({**columns, "bandwidth": hw.bandwidth})


def _points(cost: cm.Cost) -> list[dict[str, float]]:
    """FLOPs, bytes and effective peak of each point of a sweep."""
    peaks = cost.flops / cost.compute_seconds
    return [
        {"flops": float(f), "bytes": float(b), "peak": float(p)}
        for f, b, p in zip(cost.flops, cost.bytes, peaks, strict=True)
    ]
