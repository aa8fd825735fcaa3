"""What a step costs, asked hundreds of thousands of times: the cost model's own coefficients, prepared once.

Engines see a ``Pricer`` and know nothing of models or accelerators. A step reaches it as a few sums over its sequences,
kept apart by *view* (what a layer's mask lets a token see: everything, a window, or a chunk).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from costmodel.errors import ConfigError
from costmodel.hardware import Hardware
from costmodel.model import LatentAttention, Model
from costmodel.operations import Feature, expected_experts, latent_flops, plan
from costmodel.precision import Precision, settle
from costmodel.rates import Rates
from costmodel.serving.clock import Clock, PricedClock, StepClock
from costmodel.serving.policies.base import Piece
from costmodel.step import cached_reads, visible_pairs

View = tuple[int | None, int | None]
"""What a token sees of its sequence: (window, chunk), of which at most one is set."""

FULL: View = (None, None)


class StepPrice(NamedTuple):
    """Seconds of a step, and the two sides of its floor: bytes over bandwidth and FLOPs over peaks."""

    seconds: float
    memory_seconds: float
    compute_seconds: float


class Line(NamedTuple):
    """The price of decode steps that follow each other with the same sequences: linear in the step's index k.

    Attributes
    ----------
    seconds, growth: of step 0, and by how much each further step takes longer.
    memory_seconds, memory_growth, compute_seconds, compute_growth: the same for the two sides of the floor.
    steps: for how many steps it holds (until the other side binds).
    """

    seconds: float
    growth: float
    memory_seconds: float
    memory_growth: float
    compute_seconds: float
    compute_growth: float
    steps: float


class Pricer(Protocol):
    """Prices steps.

    Attributes
    ----------
    words: what prices them, for people. priced: whether steps have a floor, and so a side that binds.
    views: the views whose sums a price depends on. step_seconds: of every step, where all are equal, else None.
    """

    words: str
    priced: bool
    views: tuple[View, ...]
    step_seconds: float | None

    def clock(self) -> Clock:
        """Return a clock that tells the time in this pricer's steps."""

    def price(self, prompts: Sequence[Piece], caches: Sequence[int]) -> StepPrice:
        """Price one step: prompts, beside sequences that decode over so many cached tokens each."""

    def mixed(self, prompts: Sequence[Piece], batch: int, reads: Sequence[float]) -> StepPrice:
        """Price one step: prompts, beside ``batch`` sequences that decode.

        ``reads``: cached tokens that these read together, an entry a view.
        """

    def line(self, batch: int, reads: Sequence[float], growth: Sequence[float]) -> Line:
        """Price decode steps in a row: ``batch`` sequences, ``reads`` growing by ``growth`` each step."""


def bound_of(pricer: Pricer, memory_seconds: float, compute_seconds: float) -> str:
    """Return the side of the floor that a step waits for, or "" where steps have no price."""
    if not pricer.priced:
        return ""
    return "compute" if compute_seconds > memory_seconds else "memory"


class EqualSteps:
    """Every step takes the same time, whatever is in it."""

    priced = False
    views: tuple[View, ...] = (FULL,)

    def __init__(self, step_seconds: object) -> None:
        if isinstance(step_seconds, bool) or not isinstance(step_seconds, int | float) or not 0 < step_seconds < 1e9:
            raise ConfigError("step_seconds", step_seconds, "a number of seconds above 0")
        self.step_seconds = float(step_seconds)
        self.words = f"every step takes {step_seconds:g} s"
        self._price = StepPrice(float(step_seconds), 0.0, 0.0)
        self._line = Line(float(step_seconds), 0.0, 0.0, 0.0, 0.0, 0.0, np.inf)

    def clock(self) -> StepClock:
        """Return a clock that counts steps."""
        return StepClock(self._price.seconds)

    def price(self, prompts: Sequence[Piece], caches: Sequence[int]) -> StepPrice:  # noqa: ARG002  # the same for any
        """Return the one price."""
        return self._price

    def mixed(self, prompts: Sequence[Piece], batch: int, reads: Sequence[float]) -> StepPrice:  # noqa: ARG002  # as above
        """Return the one price."""
        return self._price

    def line(self, batch: int, reads: Sequence[float], growth: Sequence[float]) -> Line:  # noqa: ARG002  # as above
        """Return the one price, for ever."""
        return self._line


# ---- priced by the cost model --------------------------------------------------------------------------------------


def priced_steps(  # noqa: PLR0917  # the order is that of ``costmodel.price``
    model: Model,
    hw: Hardware,
    precision: Precision | None = None,
    rates: str | Rates = "datasheet",
    host: str | None = None,
    tensor_parallel: int = 1,
) -> Pricer:
    """Return what prices steps of a model on a machine as ``costmodel.price`` does, only faster."""
    if rates == "datasheet":
        return FloorSteps(model, hw, precision, tensor_parallel)
    raise ConfigError("rates", rates, "datasheet")


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


@dataclass
class _Form:
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
        seconds += self.logits * logits + self.sequences * sequences + (self.has_logits if logits else 0.0)
        for sizes, each in self.experts.items():
            seconds += each * _experts(*sizes).hit(tokens)
        return seconds

    def of_prompts(
        self, pairs: Mapping[View, float], reads: Mapping[View, float], latent: Mapping[LatentAttention, float]
    ) -> float:
        """What the squares and the caches of prompts cost."""
        seconds = sum(each * pairs[view] for view, each in self.pairs.items())
        seconds += sum(each * reads[view] for view, each in self.reads.items())
        return seconds + sum(each * latent[mixer] for mixer, each in self.latent.items())

    def take_plain(self, name: str, coefficient: float) -> None:
        setattr(self, name, getattr(self, name) + coefficient)

    def take_tokens_of(self, coefficient: float, phase: str) -> None:
        self.take_plain("batch" if phase == "decode" else "prefill_tokens", coefficient)

    def take_pairs(self, coefficient: float, window: int | None, chunk: int | None, phase: str) -> None:
        if phase == "decode":
            self.batch += coefficient
        _increase(self.decode_reads if phase == "decode" else self.pairs, (window, chunk), coefficient)

    def take_reads(self, coefficient: float, window: int | None, chunk: int | None, phase: str) -> None:
        _increase(self.decode_reads if phase == "decode" else self.reads, (window, chunk), coefficient)

    def take_latent(self, coefficient: float, mixer: LatentAttention, phase: str) -> None:
        if phase == "decode":
            self.take_pairs(coefficient * _absorbed_flops(mixer), *FULL, phase)
        else:
            _increase(self.latent, mixer, coefficient)

    def take_experts(self, coefficient: float, experts: int, top_k: int) -> None:
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
    "tokens of": _Form.take_tokens_of,
    "logits": lambda form, c: form.take_plain("logits", c),
    "has logits": lambda form, c: form.take_plain("has_logits", c),
    "sequences": lambda form, c: form.take_plain("sequences", c),
    "pairs": _Form.take_pairs,
    "reads": _Form.take_reads,
    "latent flops": _Form.take_latent,
    "experts": _Form.take_experts,
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


_NOTHING = StepPrice(0.0, 0.0, 0.0)


class FloorSteps:
    """Steps at their datasheet floor: one maximum over the whole step."""

    priced = True
    step_seconds = None

    def __init__(self, model: Model, hw: Hardware, precision: Precision | None, tensor_parallel: int) -> None:
        the_plan = plan(model, settle(model, hw, precision), tensor_parallel, "attention")
        self.words = f"datasheet floor of {model.name} on {hw.name}"
        memory, compute = _Form(), _Form()
        memory.add(the_plan.features, the_plan.total_bytes / hw.bandwidth)
        for dtype, row in the_plan.flops_by_dtype.items():
            compute.add(the_plan.features, row / hw.peak_of(dtype))
        self._sides = memory, compute
        self._prepare()

    def _prepare(self) -> None:
        """Turn the forms into what loops can walk fast."""
        sides = self._sides
        self.views = _union(side.decode_reads for side in sides) or (FULL,)
        self._readers = [reader(view) for view in self.views]
        self._decode = [tuple(side.decode_reads.get(view, 0.0) for side in sides) for view in self.views]
        self._pairs, self._reads = _union(side.pairs for side in sides), _union(side.reads for side in sides)
        self._latent = _union(side.latent for side in sides)
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
        return StepPrice(memory if memory >= compute else compute, memory, compute)

    def line(self, batch: int, reads: Sequence[float], growth: Sequence[float]) -> Line:
        """Price decode steps in a row: ``batch`` sequences, ``reads`` growing by ``growth`` each step."""
        memory, compute = self._of_batch(batch)
        memory_growth = compute_growth = 0.0
        for amount, more, (memory_each, compute_each) in zip(reads, growth, self._decode, strict=True):
            memory += amount * memory_each
            compute += amount * compute_each
            memory_growth += more * memory_each
            compute_growth += more * compute_each
        if compute > memory:
            first, each, ahead, behind = compute, compute_growth, compute - memory, memory_growth - compute_growth
        else:
            first, each, ahead, behind = memory, memory_growth, memory - compute, compute_growth - memory_growth
        # The side that binds is overtaken when the other grows faster: at most once.
        steps = ahead // behind + 1 if behind > 0 else math.inf
        return Line(first, each, memory, memory_growth, compute, compute_growth, steps)

    def _of_batch(self, batch: int) -> tuple[float, float]:
        """Both sides of a decode step of ``batch`` sequences, without what their caches cost."""
        found = self._batches.get(batch)
        if found is None:
            memory, compute = (side.fixed(batch, 0, batch, batch) for side in self._sides)
            found = self._batches[batch] = memory, compute
        return found

    def _with_prompts(self, pieces: Sequence[Piece], batch: int) -> tuple[float, float]:
        """Both sides of a step of prompts (or chunks of them) and ``batch`` decodes, without these decodes' caches."""
        # To the cost model, one token over a cache is a sequence that decodes, also when it is a prompt's last chunk.
        single = [cached for new, cached, _ in pieces if new == 1 and cached]
        prompts = [piece for piece in pieces if piece[0] != 1 or not piece[1]] if single else pieces
        pairs = {view: sum(_pairs(new, cached, view) for new, cached, _ in prompts) for view in self._pairs}
        reads = {view: sum(float(cached_reads(cached, *view)) for _, cached, _ in prompts) for view in self._reads}
        latent = {
            mixer: sum(float(latent_flops(mixer, _pairs(new, cached, FULL), cached)) for new, cached, _ in prompts)
            for mixer in self._latent
        }
        tokens, logits = sum(piece[0] for piece in prompts), batch + sum(piece[2] for piece in pieces)
        sizes = (batch + len(single), tokens, logits, batch + len(pieces))
        memory, compute = (side.fixed(*sizes) + side.of_prompts(pairs, reads, latent) for side in self._sides)
        for read, (memory_each, compute_each) in zip(self._readers, self._decode, strict=True):
            more = sum(map(read, single))
            memory, compute = memory + more * memory_each, compute + more * compute_each
        return memory, compute


def _pairs(new: int, cached: int, view: View) -> float:
    """Query-key pairs of one sequence."""
    return float(visible_pairs(cached + new, *view) - visible_pairs(cached, *view))
