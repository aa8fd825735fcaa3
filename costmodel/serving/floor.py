"""The datasheet floor of a step, asked hundreds of thousands of times: the cost model's coefficients, prepared once.

No formula stands here a second time: coefficients, masks and experts come from ``costmodel.operations`` and
``costmodel.step``; this module only adds them up faster than arrays of one entry would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costmodel.errors import ConfigError
from costmodel.hardware import Hardware
from costmodel.model import LatentAttention, Model
from costmodel.operations import Feature, Plan, expected_experts, latent_flops, plan
from costmodel.precision import Precision, settle
from costmodel.serving.clock import PricedClock
from costmodel.serving.policies.base import Piece
from costmodel.serving.pricing import FULL, StepPrice, Stretch, View, lines
from costmodel.step import visible_pairs


def reader(view: View) -> Callable[[int], int]:
    """Return what says how many cached tokens the next token reads under a view, for one whole number at a time.

    The rule is ``costmodel.step.cached_reads``, whose arrays would be slow here.
    """
    window, chunk = view
    if chunk:
        return lambda cached: cached % chunk
    if window:
        most = window - 1
        return lambda cached: min(cached, most)
    return int


Amount = Callable[[int, int], float]
"""What a prompt of so many new tokens over so many cached ones adds to a sum."""


def pairs_of(view: View) -> Amount:
    """Query-key pairs of a prompt under a view."""

    def pairs(new: int, cached: int) -> float:
        return float(visible_pairs(cached + new, *view) - visible_pairs(cached, *view))

    return pairs


def reads_of(view: View) -> Amount:
    """Cached tokens that a prompt reads under a view."""
    read = reader(view)
    return lambda new, cached: read(cached)  # noqa: ARG005  # as the others


def latent_of(mixer: LatentAttention) -> Amount:
    """FLOPs of latent attention of one layer."""
    pairs = pairs_of(FULL)
    return lambda new, cached: float(latent_flops(mixer, pairs(new, cached), cached))


@dataclass
class Form:
    """A linear form of a step's sums: seconds of its bytes, or seconds of its arithmetic.

    ``batch`` counts the sequences that decode; for these, pairs are reads and one more, so that reads are enough.
    """

    one: float = 0.0
    tokens: float = 0.0
    prefill_tokens: float = 0.0
    batch: float = 0.0
    logits: float = 0.0
    has_logits: float = 0.0
    sequences: float = 0.0
    pairs: dict[View, float] = field(default_factory=dict)
    reads: dict[View, float] = field(default_factory=dict)
    decode_reads: dict[View, float] = field(default_factory=dict)
    latent: dict[LatentAttention, float] = field(default_factory=dict)
    experts: dict[tuple[int, int], float] = field(default_factory=dict)

    def add(self, features: Sequence[Feature], coefficients: NDArray[np.float64]) -> None:
        """Take in coefficients of the cost model."""
        for feature, coefficient in zip(features, coefficients.tolist(), strict=True):
            if coefficient:
                _TAKE[feature.kind](self, coefficient, *feature.args)

    def fixed(self, batch: int, prompt_tokens: int, logits: int, sequences: int) -> float:
        """What a step costs before anything that depends on its caches."""
        tokens = batch + prompt_tokens
        seconds = self.one + self.tokens * tokens + self.prefill_tokens * prompt_tokens + self.batch * batch
        seconds += self.logits * logits + self.sequences * sequences
        if logits:
            seconds += self.has_logits
        if self.experts:
            seconds += sum(each * _experts(*sizes).hit(tokens) for sizes, each in self.experts.items())
        return seconds

    @property
    def plain(self) -> bool:
        """Whether every layer sees everything, and nothing depends on more than a few sums."""
        views = {*self.pairs, *self.reads, *self.decode_reads}
        return views <= {FULL} and not self.latent and not self.experts

    def take_plain(self, name: str, coefficient: float) -> None:
        """Take in a coefficient of a number that every step has."""
        setattr(self, name, getattr(self, name) + coefficient)

    def take_tokens_of(self, coefficient: float, phase: str) -> None:
        """Take in a coefficient of the new tokens of a phase; a sequence that decodes has one."""
        self.take_plain("batch" if phase == "decode" else "prefill_tokens", coefficient)

    def take_pairs(self, coefficient: float, window: int | None, chunk: int | None, phase: str) -> None:
        """Take in a coefficient of query-key pairs; a token that decodes has one more than it reads."""
        if phase == "decode":
            self.batch += coefficient
        _increase(self.decode_reads if phase == "decode" else self.pairs, (window, chunk), coefficient)

    def take_reads(self, coefficient: float, window: int | None, chunk: int | None, phase: str) -> None:
        """Take in a coefficient of cached tokens read."""
        _increase(self.decode_reads if phase == "decode" else self.reads, (window, chunk), coefficient)

    def take_latent(self, coefficient: float, mixer: LatentAttention, phase: str) -> None:
        """Take in a coefficient of latent attention's arithmetic; what decodes is absorbed, so pairs are enough."""
        if phase == "decode":
            self.take_pairs(coefficient * _absorbed_flops(mixer), *FULL, phase)
        else:
            _increase(self.latent, mixer, coefficient)

    def take_experts(self, coefficient: float, experts: int, top_k: int) -> None:
        """Take in a coefficient of the distinct experts that are hit."""
        _increase(self.experts, (experts, top_k), coefficient)


def _increase(terms: dict[Any, float], key: Any, amount: float) -> None:
    terms[key] = terms.get(key, 0.0) + amount


def _absorbed_flops(mixer: LatentAttention) -> float:
    """FLOPs a pair of latent attention that decodes: absorbed, which is cheaper as soon as anything is cached."""
    one_pair = float(latent_flops(mixer, 1.0, _ENDLESS))
    if float(latent_flops(mixer, 2.0, 1.0)) < 2 * one_pair:
        raise ConfigError("model", mixer, "latent attention that decodes against its latents")
    return one_pair


_ENDLESS = 1e15  # cached tokens, so many that keys and values are not rebuilt from them

_TAKE: Mapping[str, Callable[..., None]] = {
    "one": lambda form, c: form.take_plain("one", c),
    "tokens": lambda form, c: form.take_plain("tokens", c),
    "tokens of": Form.take_tokens_of,
    "logits": lambda form, c: form.take_plain("logits", c),
    "has logits": lambda form, c: form.take_plain("has_logits", c),
    "sequences": lambda form, c: form.take_plain("sequences", c),
    "pairs": Form.take_pairs,
    "reads": Form.take_reads,
    "latent flops": Form.take_latent,
    "experts": Form.take_experts,
}


class _Experts:
    """Distinct experts that a step of T tokens is expected to hit, looked up."""

    def __init__(self, experts: int, top_k: int) -> None:
        self._sizes = experts, top_k
        self._table: list[float] = []

    def hit(self, tokens: int) -> float:
        """Return the expectation; ``costmodel.operations.expected_experts`` has the formula."""
        if tokens >= len(self._table):
            counts = np.arange(max(2 * tokens, 1024))
            self._table = np.asarray(expected_experts(counts, *self._sizes)).tolist()
        return self._table[tokens]


@cache
def _experts(experts: int, top_k: int) -> _Experts:
    return _Experts(experts, top_k)


def _union(terms: Iterable[Iterable[Any]]) -> tuple[Any, ...]:
    """Every different key, in order of appearance."""
    return tuple(dict.fromkeys(key for keys in terms for key in keys))


_NOTHING: StepPrice = (0.0, 0.0, 0.0)


def floor_steps(model: Model, hw: Hardware, precision: Precision | None, tensor_parallel: int) -> FloorSteps:
    """Return what prices steps of a model at their datasheet floor."""
    memory, compute = sides(plan(model, settle(model, hw, precision), tensor_parallel, "attention"), hw)
    kind = PlainFloorSteps if memory.plain and compute.plain else FloorSteps
    return kind(memory, compute, f"datasheet floor of {model.name} on {hw.name}")


def sides(the_plan: Plan, hw: Hardware) -> tuple[Form, Form]:
    """Return seconds of a step's bytes, and seconds of its arithmetic, as forms of its sums."""
    memory, compute = Form(), Form()
    memory.add(the_plan.features, the_plan.total_bytes / hw.bandwidth)
    for dtype, row in the_plan.flops_by_dtype.items():
        compute.add(the_plan.features, row / hw.peak_of(dtype))
    return memory, compute


class FloorSteps:
    """Steps at their datasheet floor: one maximum over the whole step.

    Parameters
    ----------
    memory, compute: seconds of a step's bytes and of its arithmetic.
    """

    priced = True
    step_seconds: float | None = None

    def __init__(self, memory: Form, compute: Form, words: str) -> None:
        self.words = words
        self._sides = sides = memory, compute
        self.views = _union(side.decode_reads for side in sides) or (FULL,)
        self._readers = [reader(view) for view in self.views]
        self._decode = [tuple(side.decode_reads.get(view, 0.0) for side in sides) for view in self.views]
        self._prompt_amounts: list[Amount] = []
        self._prompt: list[tuple[float, ...]] = []
        for name, make in (("pairs", pairs_of), ("reads", reads_of), ("latent", latent_of)):
            for key in _union(getattr(side, name) for side in sides):
                self._prompt_amounts.append(make(key))
                self._prompt.append(tuple(getattr(side, name).get(key, 0.0) for side in sides))
        self._batches: dict[int, tuple[float, float]] = {}

    def clock(self) -> PricedClock:
        """Return a clock that adds up seconds."""
        return PricedClock()

    def price(self, prompts: Sequence[Piece], caches: Sequence[int]) -> StepPrice:
        """Price one step: prompts, beside sequences that decode over so many cached tokens each."""
        return self.mixed(prompts, len(caches), [sum(map(read, caches)) for read in self._readers])

    def mixed(self, prompts: Sequence[Piece], batch: int, reads: Sequence[float]) -> StepPrice:
        """Price one step: prompts, beside ``batch`` sequences that decode over ``reads`` cached tokens together."""
        if not prompts and not batch:
            return _NOTHING
        memory, compute = self._with_prompts(prompts, batch) if prompts else self._of_batch(batch)
        for amount, (memory_each, compute_each) in zip(reads, self._decode, strict=True):
            memory += amount * memory_each
            compute += amount * compute_each
        return max(memory, compute), memory, compute

    def stretch(self, batch: int, reads: Sequence[float], growth: Sequence[float], steps: int, gap: float) -> Stretch:
        """Price up to ``steps`` decode steps in a row: both sides grow by equal amounts."""
        memory, compute = self._of_batch(batch)
        more_memory = more_compute = 0.0
        for amount, more, (memory_each, compute_each) in zip(reads, growth, self._decode, strict=True):
            memory += amount * memory_each
            compute += amount * compute_each
            more_memory += more * memory_each
            more_compute += more * compute_each
        return lines(memory, more_memory, compute, more_compute, steps, gap)

    def _of_batch(self, batch: int) -> tuple[float, float]:
        """Both sides of a decode step of ``batch`` sequences, without what their caches cost."""
        found = self._batches.get(batch)
        if found is None:
            memory, compute = (side.fixed(batch, 0, batch, batch) for side in self._sides)
            found = self._batches[batch] = memory, compute
        return found

    def _with_prompts(self, prompts: Sequence[Piece], batch: int) -> tuple[float, float]:
        """Both sides of a step of prompts (or chunks of them) and ``batch`` decodes, without these decodes' caches."""
        tokens = logits = singles = 0
        memory = compute = 0.0
        for new, cached, needs in prompts:
            logits += needs
            # To the cost model one token over a cache decodes, also where it is the last chunk of a prompt.
            if new == 1 and cached:
                singles += 1
                terms, amounts = self._decode, [float(read(cached)) for read in self._readers]
            else:
                tokens += new
                terms, amounts = self._prompt, [amount(new, cached) for amount in self._prompt_amounts]
            for amount, (memory_each, compute_each) in zip(amounts, terms, strict=True):
                memory += amount * memory_each
                compute += amount * compute_each
        sizes = (batch + singles, tokens, batch + logits, batch + len(prompts))
        return memory + self._sides[0].fixed(*sizes), compute + self._sides[1].fixed(*sizes)


class PlainFloorSteps(FloorSteps):
    """The same, faster, for models whose every layer attends to everything and applies all its weights."""

    def __init__(self, memory: Form, compute: Form, words: str) -> None:
        super().__init__(memory, compute, words)
        self._decode_each = self._decode[0]
        # What prompts add, side by side: a token, a position with logits, a sequence, a pair, a cached token read, and
        # the first position with logits of a step (the LM head's weights).
        self._prompt_each = tuple(
            (
                side.tokens + side.prefill_tokens,
                side.logits,
                side.sequences,
                side.pairs.get(FULL, 0.0),
                side.reads.get(FULL, 0.0),
                side.has_logits,
            )
            for side in (memory, compute)
        )

    def mixed(self, prompts: Sequence[Piece], batch: int, reads: Sequence[float]) -> StepPrice:
        """Price one step: prompts, beside ``batch`` sequences that decode over ``reads`` cached tokens together."""
        if not prompts and not batch:
            return _NOTHING
        memory, compute = self._with_prompts(prompts, batch) if prompts else self._of_batch(batch)
        memory_each, compute_each = self._decode_each
        memory += reads[0] * memory_each
        compute += reads[0] * compute_each
        return max(memory, compute), memory, compute

    def stretch(self, batch: int, reads: Sequence[float], growth: Sequence[float], steps: int, gap: float) -> Stretch:
        """Price up to ``steps`` decode steps in a row."""
        memory, compute = self._batches.get(batch) or self._of_batch(batch)
        memory_each, compute_each = self._decode_each
        amount, more = reads[0], growth[0]
        return lines(
            memory + amount * memory_each,
            more * memory_each,
            compute + amount * compute_each,
            more * compute_each,
            steps,
            gap,
        )

    def _with_prompts(self, prompts: Sequence[Piece], batch: int) -> tuple[float, float]:
        tokens = logits = read = 0
        pairs = 0.0
        for new, cached, needs in prompts:
            if new == 1 and cached:
                return super()._with_prompts(prompts, batch)
            tokens += new
            logits += needs
            read += cached
            pairs += visible_pairs(cached + new) - visible_pairs(cached) if cached else visible_pairs(new)
        (token, logit, sequence, pair, cache, head), compute_each = self._prompt_each
        memory, compute = self._of_batch(batch)
        count, first = len(prompts), logits and not batch
        memory += tokens * token + logits * logit + count * sequence + pairs * pair + read * cache
        if first:
            memory += head
        token, logit, sequence, pair, cache, head = compute_each
        compute += tokens * token + logits * logit + count * sequence + pairs * pair + read * cache
        return memory, compute + head if first else compute
