"""What batching buys: figures of steps as sequences are added, each worked out from prices of steps.

Nothing here knows a model or a machine. Each function takes ``price``, whatever prices a step, such as
``partial(cm.price, model, hw, rates="calibrated")``: a floor and an estimate answer the same questions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from costmodel.errors import ConfigError
from costmodel.model import Experts, Model
from costmodel.operations import expected_experts
from costmodel.price import Cost, first_sign_change
from costmodel.step import Step

Array = NDArray[np.float64]
Price = Callable[[Step], Cost]

_MOST = 1e7  # sequences or tokens; where nothing has happened by then, it never does
_VAST = 1e9  # sequences: so many that the weights no longer count
_STEEP = 0.5  # slope from which a stretch no longer counts as flat
_POINTS = 400  # of a search, each round
_SAME = 1e-12  # relative difference of two costs that only the last digits of a float tell apart


# ---- latency and cost of a token -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Stretch:
    """Batches from ``start`` to ``end`` (inf: without end)."""

    start: float
    end: float

    def __contains__(self, batch: float) -> bool:
        return self.start <= batch <= self.end


def slope(price: Price, batch: ArrayLike, context: float) -> Any:
    """How steeply a decode step's time grows around a batch: d log(seconds) / d log(batch), from half of it to twice.

    It is what one more sequence adds to the step, as a share of what each costs already: 0 where it rides along free,
    1 where the step grows as fast as the batch. ``batch`` from 2 on.
    """
    batches = np.asarray(batch, dtype=np.float64)
    seconds = price(Step.decode(np.stack([batches / 2, batches * 2]), context)).seconds
    return np.log2(seconds[1] / seconds[0]) / 2


def flat_stretch(price: Price, context: float) -> Stretch | None:
    """Batches at which one more sequence adds less than half of what each costs already; None where there are none.

    In a count of weights it ends at T*, where the arithmetic catches up with the weights; with the caches counted,
    where they take as long as the weights, unless the arithmetic takes over before. In a mixture of experts it begins
    only when most of the experts are read anyway. Of several stretches (estimates have steps) the longest.

    >>> from functools import partial
    >>> import costmodel as cm
    >>> count_weights = partial(cm.price, cm.model("qwen3-0.6b"), cm.hardware("h100-sxm"), count="weights")
    >>> stretch = flat_stretch(count_weights, context=2048)
    >>> round(stretch.start), round(stretch.end)
    (1, 295)
    """
    grid = np.geomspace(2, _MOST, 300)
    steep = slope(price, grid, context) >= _STEEP
    firsts, lasts = _runs(~steep)
    if not firsts.size:
        return None
    longest = np.argmax(np.log(grid[lasts] / grid[firsts]))
    first, last = firsts[longest], lasts[longest]

    def beyond(batch: Array) -> Array:
        excess: Array = slope(price, batch, context) - _STEEP
        return excess

    start = 1.0 if first == 0 else _reached(lambda batch: -beyond(batch), grid[first - 1], grid[first])
    end = np.inf if last == grid.size - 1 else _reached(beyond, grid[last], grid[last + 1])
    return Stretch(start or grid[first], end or grid[last])


def _runs(flags: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First and last position of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return edges[::2], edges[1::2] - 1


def price_of_a_million(seconds_a_token: Any, hourly: float) -> Any:
    """Price of a million tokens on machines of ``hourly`` (in its currency), ``seconds_a_token`` of them each.

    >>> round(price_of_a_million(seconds_a_token=356e-6, hourly=2.0), 3)
    0.198
    """
    return seconds_a_token * 1e6 * hourly / 3600


# ---- the two memory bills ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bills:
    """Bytes moved for each token of output: its share of the weights, and its own sequence's cache (and state)."""

    weights: Any
    caches: Any

    @property
    def total(self) -> Any:
        """Both."""
        return self.weights + self.caches


def bills(price: Price, batch: ArrayLike, context: ArrayLike) -> Bills:
    """The two memory bills of a decode step, a token. Arrays broadcast.

    The weights are read once and split ``batch`` ways; the caches are read ``batch`` times and split no ways.
    """
    cost = price(Step.decode(batch, context))
    return Bills(cost.weight_bytes / batch, cost.kv_bytes / batch)


def even_context(price: Price, batch: float) -> float | None:
    """Context at which a sequence's cache costs as many bytes as its share of the weights; None: at none.

    None for a price that counts no caches, and where the caches stop growing too soon (a window, a recurrent state).
    """
    return _reached(lambda context: _excess(bills(price, batch, context)))


def even_batch(price: Price, context: float) -> float | None:
    """Batch at which a sequence's cache costs as many bytes as its share of the weights; None: at none."""
    return _reached(lambda batch: _excess(bills(price, batch, context)))


def _excess(both: Bills) -> Array:
    excess: Array = both.caches - both.weights
    return excess


def asymptote(price: Price, context: float) -> float:
    """Arithmetic intensity that decode steps tend to as the batch grows: FLOP a byte of one more sequence.

    inf where a further sequence moves no bytes at all, in a count of weights.
    """
    cost = price(Step.decode(np.array([1.0, 2.0]) * _VAST, context))
    flops, nbytes = (float(values[1] - values[0]) for values in (cost.flops, cost.bytes))
    return flops / nbytes if nbytes > 0 else float("inf")


def balance(cost: Cost) -> Any:
    """FLOP a byte at which a step with this one's mix of formats would compute for as long as it waits for memory.

    It is the ridge where all its arithmetic is in one format; where some is in a format of another peak (narrow
    matrices, attention in 16 bits), the step turns compute-bound here, and not at the ridge of either.
    """
    return cost.intensity * cost.memory_seconds / cost.compute_seconds


# ---- mixtures of experts -------------------------------------------------------------------------------------


def mixture(model: Model) -> Experts | None:
    """The model's mixture of experts (the first, should its layers differ); None for a dense model."""
    return next((layer.mlp for layer, _ in model.layers if isinstance(layer.mlp, Experts)), None)


@dataclass(frozen=True)
class Hit:
    """Distinct experts of a layer that the tokens of a step are sent to: the fewest, expected, and the most."""

    least: Any
    expected: Any
    most: Any


def experts_hit(mlp: Experts, tokens: ArrayLike) -> Hit:
    """Distinct experts hit by ``tokens`` tokens: ``expected`` under uniform routing, between the two bounds.

    >>> mlp = Experts(experts=128, top_k=8, width=768)
    >>> hit = experts_hit(mlp, 4)
    >>> float(hit.least), round(float(hit.expected), 1), float(hit.most)
    (8.0, 29.1, 32.0)
    """
    many = np.asarray(tokens, dtype=np.float64)
    least, most = np.full_like(many, mlp.top_k), np.minimum(mlp.experts, mlp.top_k * many)
    return Hit(least, expected_experts(many, mlp.experts, mlp.top_k), most)


# ---- a prompt beside sequences that decode -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Way:
    """Steps, one after the other, in which a prompt goes through while other sequences decode.

    Attributes
    ----------
    seconds, low, high: of each step, and its band.
    prompt: tokens of the prompt in each step. decoding: whether the other sequences are in it, a token each.
    expects_experts: whether the floor of each rests on the expected number of distinct experts.
    """

    seconds: Array
    low: Array
    high: Array
    prompt: Array
    decoding: NDArray[np.bool_]
    expects_experts: NDArray[np.bool_]

    @property
    def longest_wait(self) -> float:
        """Longest time that a decoding sequence waits from one token to the next: TPOT at its worst."""
        return self._gap(self.seconds)

    @property
    def wait_band(self) -> tuple[float, float]:
        """Band of the longest wait."""
        return self._gap(self.low), self._gap(self.high)

    @property
    def first_token(self) -> float:
        """Time from the start until the prompt's first token is out: TTFT without queueing."""
        return float(np.cumsum(self.seconds)[np.flatnonzero(self.prompt)[-1]])

    def behind(self, alone: float) -> float:
        """Time that the decoding sequences lose, against steps of ``alone`` seconds without the prompt."""
        return float(self.seconds.sum() - alone * self.decoding.sum())

    def _gap(self, seconds: Array) -> float:
        tokens = np.cumsum(seconds)[self.decoding]
        return float(np.max(np.diff(tokens, prepend=0.0)))


def apart(price: Price, prompt: float, batch: float, context: float) -> Way:
    """Give the prompt a step, then the ``batch`` sequences over ``context`` cached tokens theirs."""
    costs = price(Step.prefill(prompt)), price(Step.decode(batch, context))
    columns = ("seconds", "low", "high", "expects_experts")
    seconds, low, high, expects = (np.array([getattr(cost, name) for cost in costs]) for name in columns)
    return Way(seconds, low, high, np.array([prompt, 0.0]), np.array([False, True]), expects)


def together(price: Price, prompt: float, batch: float, context: float) -> Way:
    """Put the whole prompt into one step with the decodes."""
    return chunked(price, prompt, batch, context, chunk=prompt)


def chunked(price: Price, prompt: float, batch: float, context: float, *, chunk: float) -> Way:
    """Cut the prompt into chunks, each in a step with the decodes, whose contexts grow by a token a step.

    Raises
    ------
    ConfigError: for a chunk below one token.
    """
    if not chunk >= 1:
        raise ConfigError("chunk", chunk, "tokens, 1 or more")
    steps = np.arange(int(np.ceil(prompt / chunk)))
    done = steps * chunk
    new = np.minimum(chunk, prompt - done)
    ends = (done + new >= prompt).astype(float)
    cost = price(Step.mixed(new, done, batch, context + steps, chunk_logits=ends))
    decoding = np.ones(new.shape, dtype=bool)
    return Way(cost.seconds, cost.low, cost.high, new.astype(float), decoding, cost.expects_experts)


def memory_bound_chunk(price: Price, batch: float, context: float, cached: float = 0) -> float:
    """Prompt tokens beside ``batch`` decodes until arithmetic becomes the longer side of the step: T of the chunk.

    Up to there their arithmetic takes no time of its own. What they move does, little of it in a dense model (their
    own cache), much in a mixture of experts (those that they are sent to): what the step then takes is its price.
    ``cached`` tokens of the prompt are in the cache already. In a count of weights it is T* - B. With the caches
    counted, each byte of cache that the step reads buys more arithmetic: with long contexts far more fit. 0 where one
    token is too many, inf where no number is.
    """

    def excess(chunk: Array) -> Array:
        cost = price(Step.mixed(chunk, cached, batch, context, chunk_logits=0))
        beyond: Array = cost.compute_seconds - cost.memory_seconds
        return beyond

    reached = _reached(excess)
    return np.inf if reached is None else 0.0 if reached == 1 else reached


# ---- speculative decoding ------------------------------------------------------------------------------------


def expected_tokens(acceptance: Any, drafts: int) -> Any:
    """Tokens that one verification of ``drafts`` drafts yields, each accepted with probability ``acceptance``.

    1 + a + ... + a^k, with the token that the model itself adds (Leviathan et al. 2023, arXiv 2211.17192, equation 1).

    >>> expected_tokens(0.5, drafts=3), expected_tokens(1.0, drafts=3)
    (1.875, 4.0)
    """
    tokens = 1.0
    for _ in range(drafts):
        tokens = 1 + acceptance * tokens
    return tokens


def verification(price: Price, batch: ArrayLike, context: ArrayLike, *, drafts: int, draft_cost: float = 0.0) -> Any:
    """What drafting and verifying cost, in plain decode steps: a step of T = batch * (drafts + 1) tokens.

    ``draft_cost``: what making one draft for every sequence costs, as a share of a decode step. Arrays broadcast.
    """
    plain, verified = (price(Step.decode(batch, context, new)) for new in (1, drafts + 1))
    return verified.seconds / plain.seconds + drafts * draft_cost


def break_even_acceptance(steps: ArrayLike, drafts: int) -> Any:
    """Acceptance at which drafting pays for itself when it costs ``steps`` plain decode steps; nan: it never does.

    0 where it costs no more than a plain step: then any accepted draft is a gain. 1 where it costs as many steps as
    all accepted would yield: then none is.

    >>> round(float(break_even_acceptance(1.75, drafts=2)), 6), float(break_even_acceptance(3.1, drafts=2))
    (0.5, nan)
    """
    wanted = np.asarray(steps, dtype=np.float64)
    low, high = np.zeros_like(wanted), np.ones_like(wanted)
    for _ in range(60):  # halvings: to the last digit of a float
        middle = (low + high) / 2
        enough = expected_tokens(middle, drafts) >= wanted
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    never, at_best = wanted > (drafts + 1) * (1 + _SAME), wanted >= (drafts + 1) * (1 - _SAME)
    return np.where(never, np.nan, np.where(at_best, 1.0, np.where(gains_always(wanted), 0.0, high)))


def gains_always(steps: ArrayLike) -> Any:
    """Whether any accepted draft is a gain: drafting costs no more than one of the plain decode ``steps``."""
    return np.asarray(steps) <= 1 + _SAME


def _reached(excess: Callable[[Array], Array], low: float = 1.0, high: float = _MOST) -> float | None:
    return first_sign_change(excess, low, high, points=_POINTS)
