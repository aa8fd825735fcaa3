"""Steps priced with fitted rates: a sum over operations, each with its own overhead and its own achieved rates.

What depends on the tokens of a step alone (every matrix, the experts, elementwise passes, all-reduces) is looked up in
tables that ``costmodel.price`` fills; what depends on the caches is asked of the cost model's own functions, one call
for a whole row of decode steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costmodel.errors import ConfigError
from costmodel.hardware import Hardware
from costmodel.model import Model
from costmodel.operations import LOGITS, Operation, plan
from costmodel.precision import Precision, settle
from costmodel.price import ATTENTION_KINDS, attention_seconds, price
from costmodel.rates import Rates, calibrated
from costmodel.serving.floor import FloorSteps, floor_steps, sides
from costmodel.serving.policies.base import Piece
from costmodel.serving.pricing import Pricer, StepPrice, Stretch, View
from costmodel.step import Phase, Step, cached_reads, visible_pairs

_LONGEST_STRETCH = 4096  # steps priced in one call
_STEPS_AHEAD, _MOST_AHEAD = 64, 100_000  # decode steps worked out ahead of need, and how many are kept


@lru_cache(maxsize=32)
def priced_steps(  # the order is that of ``costmodel.price``
    model: Model,
    hw: Hardware,
    precision: Precision | None = None,
    rates: str | Rates = "datasheet",
    host: str | None = None,
    tensor_parallel: int = 1,
) -> Pricer:
    """Return what prices steps of a model on a machine as ``costmodel.price`` does, only faster.

    It is kept: what it has looked up once serves the next simulation too.

    Raises
    ------
    ConfigError: for rates that are not known, or of another device.
    """
    if rates == "datasheet":
        return floor_steps(model, hw, precision, tensor_parallel)
    if rates != "calibrated" and not isinstance(rates, Rates):
        raise ConfigError("rates", rates, "datasheet, calibrated, or a Rates")
    fitted = rates.for_hardware(hw) if isinstance(rates, Rates) else calibrated(hw)
    return EstimatedSteps(model, hw, precision, fitted, host, tensor_parallel)


class EstimatedSteps(FloorSteps):
    """Steps priced with fitted rates; the two sides of the floor count activations too."""

    def __init__(  # as ``priced_steps``
        self,
        model: Model,
        hw: Hardware,
        precision: Precision | None,
        rates: Rates,
        host: str | None,
        tensor_parallel: int,
    ) -> None:
        formats = settle(model, hw, precision)
        the_plan = plan(model, formats, tensor_parallel, "everything")
        super().__init__(*sides(the_plan, hw), f"{rates.kind} rates of {hw.name} for {model.name}")
        ask = _Questions(model, hw, precision, rates, tensor_parallel, the_plan.operations)
        self._of_tokens, self._of_logits, self._of_sequences = (
            _Table(ask.tokens),
            _Table(ask.logits),
            _Table(ask.sequences),
        )
        self._of_host = _Table(lambda sequences: np.asarray(rates.host(host, sequences)) + np.zeros(len(sequences)))
        self._operations = [op for op in the_plan.operations if op.kind in ATTENTION_KINDS]
        self._formats, self._rates = formats, rates
        self._ahead: dict[tuple[int, tuple[float, ...]], float] = {}

    def mixed(self, prompts: Sequence[Piece], batch: int, reads: Sequence[float]) -> StepPrice:
        """Price one step: prompts, beside ``batch`` sequences that decode over ``reads`` cached tokens together."""
        floor, memory, compute = super().mixed(prompts, batch, reads)
        if not floor:
            return 0.0, 0.0, 0.0
        sums = _Sums()
        sums.add_decodes(batch, dict(zip(self.views, reads, strict=True)))
        for new, cached, _ in prompts:
            sums.add_prompt(new, cached, self.views)
        tokens, sequences = (int(sum(counts.values())) for counts in (sums.tokens, sums.sequences))
        seconds = self._without_caches(tokens, batch + sum(piece[2] for piece in prompts), sequences)
        if sums.sequences["decode"]:
            seconds += self._of_decodes(sums)
        if sums.sequences["prefill"]:
            seconds += float(self._of_caches(sums, "prefill")[0])
        return seconds, memory, compute

    def stretch(self, batch: int, reads: Sequence[float], growth: Sequence[float], steps: int, gap: float) -> Stretch:
        """Price up to ``steps`` decode steps in a row, each by itself, in one call."""
        most = super().stretch(batch, reads, growth, min(steps, _LONGEST_STRETCH), np.inf)[0]
        index = np.arange(most, dtype=np.float64)
        sums = _Sums()
        sums.add_decodes(
            batch, {view: now + more * index for view, now, more in zip(self.views, reads, growth, strict=True)}
        )
        seconds = self._without_caches(batch, batch, batch) + self._of_caches(sums, "decode") + np.zeros(most)
        ends = np.cumsum(seconds)
        steps = min(int(np.searchsorted(ends, gap)) + 1, most)
        _, _, _, memory, compute, _ = super().stretch(batch, reads, growth, steps, np.inf)
        return steps, float(seconds[0]), float(ends[steps - 1]), memory, compute, seconds[:steps]

    def _without_caches(self, tokens: int, logits: int, sequences: int) -> float:
        """Seconds of what does not depend on the caches, and of the host."""
        return (
            self._of_tokens[tokens] + self._of_logits[logits] + self._of_sequences[sequences] + self._of_host[sequences]
        )

    def _of_decodes(self, sums: _Sums) -> float:
        """Seconds of the attention of sequences that decode.

        Their caches mostly grow by a token a step, so the steps to come are worked out in the same call.
        """
        batch, reads = sums.sequences["decode"], tuple(sums.read("decode", view) for view in self.views)
        found = self._ahead.get((batch, reads))
        if found is None:
            if len(self._ahead) > _MOST_AHEAD:
                self._ahead.clear()
            index = np.arange(_STEPS_AHEAD, dtype=np.float64)
            several = _Sums()
            several.add_decodes(batch, {v: now + batch * index for v, now in zip(self.views, reads, strict=True)})
            seconds = (self._of_caches(several, "decode") + np.zeros(_STEPS_AHEAD)).tolist()
            later = (tuple(now + batch * k for now in reads) for k in range(_STEPS_AHEAD))
            self._ahead.update(zip(((batch, amounts) for amounts in later), seconds, strict=True))
            found = seconds[0]
        return found

    def _of_caches(self, sums: _Sums, phase: Phase) -> NDArray[np.float64]:
        """Seconds of the attention of one phase, an entry a step."""
        total = np.zeros(1)
        for op in self._operations:
            if op.phase == phase:
                total = total + attention_seconds(op, self._formats, self._rates, sums)
        return total


class _Sums:
    """The sums of a step (or, as arrays, of many) that the cost model asks a ``Step`` for."""

    def __init__(self) -> None:
        self.sequences: dict[Phase | None, Any] = {"prefill": 0, "decode": 0}
        self.tokens: dict[Phase | None, Any] = {"prefill": 0, "decode": 0}
        self._reads: dict[tuple[Phase | None, View], Any] = {}
        self._pairs: dict[View, float] = {}

    def add_decodes(self, sequences: int, reads: dict[View, Any]) -> None:
        """Add sequences that decode, a token each."""
        self.sequences["decode"] += sequences
        self.tokens["decode"] += sequences
        for view, amount in reads.items():
            self._reads["decode", view] = self._reads.get(("decode", view), 0) + amount

    def add_prompt(self, new: int, cached: int, views: Sequence[View]) -> None:
        """Add a prompt, or a chunk of one; a single token over a cache decodes, to the cost model."""
        reads = {view: float(cached_reads(cached, *view)) for view in views}
        if new == 1 and cached:
            self.add_decodes(1, reads)
            return
        self.sequences["prefill"] += 1
        self.tokens["prefill"] += new
        for view in views:
            more = float(visible_pairs(cached + new, *view) - visible_pairs(cached, *view))
            self._reads["prefill", view] = self._reads.get(("prefill", view), 0) + reads[view]
            self._pairs[view] = self._pairs.get(view, 0.0) + more

    def read(self, phase: Phase | None, view: View) -> Any:
        """Cached tokens read under a view."""
        return self._reads.get((phase, view), 0)

    # What ``costmodel.price.attention_seconds`` asks of a step:

    def sequences_of(self, phase: Phase | None) -> Any:
        """Sequences of a phase."""
        return self.sequences[phase]

    def tokens_of(self, phase: Phase | None) -> Any:
        """New tokens of a phase."""
        return self.tokens[phase]

    def reads(self, window: int | None, chunk: int | None, phase: Phase | None) -> Any:
        """Cached tokens read."""
        return self.read(phase, (window, chunk))

    def pairs(self, window: int | None, chunk: int | None, phase: Phase | None) -> Any:  # noqa: ARG002  # only prompts are asked for
        """Query-key pairs."""
        return self._pairs.get((window, chunk), 0)


class _Table:
    """A function of a whole number, worked out for many at once and looked up."""

    def __init__(self, fill: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> None:
        self._fill = fill
        self._values: list[float] = [0.0]  # of nothing

    def __getitem__(self, at: int) -> float:
        if at >= len(self._values):
            first = len(self._values)
            more = np.arange(first, max(2 * at, 1024) + 1, dtype=np.float64)
            self._values += self._fill(more).tolist()
        return self._values[at]


@dataclass(frozen=True)
class _Questions:
    """Asks ``costmodel.price`` what the operations without caches cost."""

    model: Model
    hw: Hardware
    precision: Precision | None
    rates: Rates
    tensor_parallel: int
    operations: Sequence[Operation]

    def tokens(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Everything but the LM head, for one sequence of so many tokens."""
        chosen = [i for i, op in enumerate(self.operations) if op.kind not in ATTENTION_KINDS and not _is_head(op)]
        return _added(self._seconds(Step.prefill(counts)), chosen)

    def logits(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The LM head, for so many positions."""
        head = [i for i, op in enumerate(self.operations) if _is_head(op)]
        return _added(self._seconds(Step.decode(counts, context=1)), head)

    def sequences(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """What more than one sequence adds: states of recurrent layers."""
        states = [i for i, op in enumerate(self.operations) if op.kind == "recurrent"]
        together = _added(self._seconds(Step.prefill(1, batch=counts)), states)
        return together - _added(self._seconds(Step.prefill(counts)), states)

    def _seconds(self, sweep: Step) -> NDArray[np.float64]:
        """Seconds of each operation, (points, operations)."""
        cost = price(self.model, self.hw, sweep, self.precision, self.rates, tensor_parallel=self.tensor_parallel)
        seconds = cost.operations["seconds"].to_numpy(dtype=np.float64)
        return seconds.reshape(-1, len(self.operations))


def _added(seconds: NDArray[np.float64], operations: Sequence[int]) -> NDArray[np.float64]:
    """Add up the chosen operations of each point."""
    total: NDArray[np.float64] = seconds[:, list(operations)].sum(axis=1)
    return total


def _is_head(op: Operation) -> bool:
    return op.kind == "matmul" and op.shape[0] == LOGITS
