"""A step: the tokens that go through the model together, as a few sums over its sequences.

A sequence takes part with ``new`` tokens over ``cached`` ones. Prefill and decode are not two kinds of step but two
sizes of ``new``; a step may hold both. Everything that a price needs of the sequences is a sum over them, so a price
does not depend on how many there are.

Source of the pairs: the causal mask of Vaswani et al. 2017 (arXiv 1706.03762), counted; windows as in Mistral 7B (arXiv
2310.06825).
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from costmodel.errors import ConfigError

Array = NDArray[np.float64]
Phase = Literal["prefill", "decode"]

_LARGEST = 1e12  # tokens; far above any step, and its square still counts exactly enough in a float


def visible_pairs(tokens: Any, window: float | None = None, chunk: float | None = None) -> Any:
    """Query-key pairs among the first ``tokens`` positions of a sequence, under a causal mask.

    A token sees itself and all before it; with a window of W, the last W of those; with chunks of C, those of its own
    aligned chunk. Plain arithmetic, so arrays broadcast.

    >>> [float(visible_pairs(6, **mask)) for mask in ({}, {"window": 2}, {"chunk": 4})]
    [21.0, 11.0, 13.0]
    """
    if chunk:
        whole, rest = np.divmod(tokens, chunk)
        return whole * (chunk * (chunk + 1) / 2) + rest * (rest + 1) / 2
    if window:
        ramp = np.minimum(tokens, window)
        return ramp * (ramp + 1) / 2 + (tokens - ramp) * window
    return tokens * (tokens + 1) / 2


def causal_pairs(new: Any, cached: Any) -> Any:
    """Query-key pairs of ``new`` tokens over ``cached`` ones without a mask but the causal one. Arrays broadcast.

    >>> causal_pairs(1, 2048), causal_pairs(3, 10)
    (2049.0, 36.0)
    """
    return new * (cached + (new + 1) / 2)


def cached_reads(cached: Any, window: float | None = None, chunk: float | None = None) -> Any:
    """Cached tokens that a sequence's next token reads: all, the last W - 1 of a window, or its chunk's so far.

    >>> cached_reads(2048), float(cached_reads(2048, window=128)), float(cached_reads(2050, chunk=2048))
    (2048, 127.0, 2.0)
    """
    if chunk:
        return np.mod(cached, chunk)
    if window:
        return np.minimum(cached, window - 1)
    return cached


class Step:
    """One step, or a sweep of them: sequences (or groups of equal ones) along the first axis, points along the rest.

    Parameters
    ----------
    new: new tokens of each sequence, a number or a list of them.
    cached: tokens of each already in the cache.
    logits: positions of each that need logits: 1 for a sequence that samples, 0 for an unfinished chunk, k + 1 when
        k drafts are verified.

    Raises
    ------
    ConfigError: for numbers that are negative, not finite or absurd, or a step without a token.

    >>> step = Step(new=[500, 1, 1], cached=[0, 2048, 900])
    >>> int(step.tokens), int(step.sequences), int(step.pairs())
    (502, 3, 128200)
    """

    __slots__ = ("_decoding", "_sums", "cached", "count", "logits", "new", "shape")

    def __init__(self, new: ArrayLike, cached: ArrayLike = 0, logits: ArrayLike = 1) -> None:
        named = (("new", new), ("cached", cached), ("logits", logits))
        new_, cached_, logits_ = _broadcast([np.atleast_1d(_numbers(name, value)) for name, value in named])
        if new_.ndim != 1:
            raise ConfigError("new", f"{new_.ndim} dimensions", "a number or a flat list, one entry a sequence")
        decoding = (new_ == 1) & (cached_ > 0)
        self._fill(new_, cached_, np.ones_like(new_), logits_, decoding)

    def _fill(self, new: Array, cached: Array, count: Array, logits: Array, decoding: NDArray[np.bool_]) -> None:
        if np.any((new < 1) & (count > 0)):
            raise ConfigError("new", float(np.min(new)), "at least one new token a sequence")
        if np.any(logits > new):
            raise ConfigError("logits", float(np.max(logits)), "at most the new tokens of the sequence")
        if np.any((new * count).sum(axis=0) < 1):
            raise ConfigError("step", "no tokens", "at least one token in the step")
        self.new, self.cached, self.count, self.logits = new, cached, count, logits
        self.shape: tuple[int, ...] = new.shape[1:]
        self._decoding = decoding
        self._sums: dict[tuple[object, ...], Any] = {}

    @classmethod
    def _groups(cls, *groups: tuple[str, ArrayLike, ArrayLike, ArrayLike, ArrayLike]) -> Step:
        """Build a sweep from groups of equal sequences: (phase, count, new, cached, logits a sequence) each."""
        names = ("count", "new", "cached", "logits")
        flat = _broadcast([_numbers(n, v) for _, *group in groups for n, v in zip(names, group, strict=True)])
        count, new, cached, logits = (np.stack(flat[i::4]) for i in range(4))
        step = object.__new__(cls)
        step._fill(new, cached, count, logits, np.array([phase == "decode" for phase, *_ in groups]))
        return step

    @classmethod
    def prefill(cls, tokens: ArrayLike, cached: ArrayLike = 0, logits: ArrayLike = 1, batch: ArrayLike = 1) -> Step:
        """``batch`` prompts of ``tokens`` new tokens each, over ``cached`` ones (a later chunk, a found prefix).

        Arrays broadcast. ``logits=0`` for a chunk that does not end its prompt.
        """
        return cls._groups(("prefill", batch, tokens, cached, logits))

    @classmethod
    def decode(cls, batch: ArrayLike, context: ArrayLike, new: ArrayLike = 1) -> Step:
        """``batch`` sequences of one new token each over ``context`` cached ones. Arrays broadcast to a sweep.

        ``new`` above 1 verifies ``new - 1`` drafts a sequence, each with logits.
        """
        return cls._groups(("decode", batch, new, context, new))

    @classmethod
    def mixed(
        cls,
        chunk: ArrayLike,
        chunk_cached: ArrayLike = 0,
        batch: ArrayLike = 1,
        context: ArrayLike = 0,
        chunk_logits: ArrayLike = 1,
    ) -> Step:
        """One prefill chunk over ``chunk_cached`` tokens, beside ``batch`` decodes over ``context`` ones.

        ``chunk_logits=0`` for a chunk that does not end its prompt. Arrays broadcast.
        """
        return cls._groups(("prefill", 1, chunk, chunk_cached, chunk_logits), ("decode", batch, 1, context, 1))

    def without_logits(self) -> Step:
        """The same step where no position goes through the LM head: of a part of a model that ends before it."""
        step = object.__new__(Step)
        step._fill(self.new, self.cached, self.count, np.zeros_like(self.logits), self._decoding)
        return step

    # ---- sums over the sequences, each an array of the points' shape (a float for one step) -------------------

    def total(self, values: Any, phase: Phase | None = None) -> Any:
        """Sum ``values`` (an entry a sequence) over the sequences, or over those of one phase."""
        weighted = values * self.count
        if phase is not None:
            weighted = weighted[self._decoding == (phase == "decode")]
        return weighted.sum(axis=0)

    def _sum(self, name: str, values: Any, phase: Phase | None, *view: object) -> Any:
        key = (name, phase, *view)
        if key not in self._sums:
            self._sums[key] = self.total(values(), phase)
        return self._sums[key]

    @property
    def tokens(self) -> Any:
        """T: new tokens in the step."""
        return self.tokens_of(None)

    def tokens_of(self, phase: Phase | None) -> Any:
        """New tokens of one phase."""
        return self._sum("tokens", lambda: self.new, phase)

    @property
    def sequences(self) -> Any:
        """Sequences in the step."""
        return self.sequences_of(None)

    def sequences_of(self, phase: Phase | None) -> Any:
        """Sequences of one phase."""
        return self._sum("sequences", lambda: np.ones_like(self.count), phase)

    @property
    def logit_positions(self) -> Any:
        """Positions that go through the LM head."""
        return self._sum("logits", lambda: self.logits, None)

    def pairs(self, window: int | None = None, chunk: int | None = None, phase: Phase | None = None) -> Any:
        """Query-key pairs that exist: ``new * cached + new * (new + 1) / 2`` where nothing clips."""

        def values() -> Any:
            before = visible_pairs(self.cached, window, chunk)
            return visible_pairs(self.cached + self.new, window, chunk) - before

        return self._sum("pairs", values, phase, window, chunk)

    def reads(self, window: int | None = None, chunk: int | None = None, phase: Phase | None = None) -> Any:
        """Cached tokens read, summed over the sequences: no two share a cache."""
        return self._sum("reads", lambda: cached_reads(self.cached, window, chunk), phase, window, chunk)


def _broadcast(arrays: list[Array]) -> tuple[Array, ...]:
    try:
        return tuple(np.broadcast_arrays(*arrays))
    except ValueError:
        found = " and ".join(dict.fromkeys(str(array.shape) for array in arrays))
        raise ConfigError("step", f"arrays of shapes {found}", "shapes that broadcast") from None


def _numbers(key: str, value: ArrayLike) -> Array:
    """Return ``value`` as float64 after checking that all of it is finite, not negative and believable."""
    expected = f"a number from 0 to {_LARGEST:.0e}, or an array of them"
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ConfigError(key, value, expected) from None
    if array.size == 0:
        raise ConfigError(key, "an empty array", expected)
    low, high = float(array.min()), float(array.max())
    if not (low >= 0 and high <= _LARGEST):  # also false for NaN
        raise ConfigError(key, low if not low >= 0 else high, expected)
    return array
