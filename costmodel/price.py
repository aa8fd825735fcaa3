"""What a step costs: its operations priced on a machine, as a floor (datasheet) or an estimate (fitted rates).

Source of the floor: the roofline, Williams, Waterman and Patterson 2009 (Communications of the ACM 52, 4). An estimate
adds up operations as ``costmodel.rates`` says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from costmodel.errors import ConfigError
from costmodel.hardware import Hardware
from costmodel.model import Model
from costmodel.operations import COUNTS, Count, Operation, Plan, feature_values, plan
from costmodel.precision import Formats, Precision, settle
from costmodel.rates import Rates, calibrated, format_key
from costmodel.step import Phase, Step

Array = NDArray[np.float64]

_BOUND = pd.CategoricalDtype(["memory", "compute"])
_SETTLED = 1e-13  # relative width at which a search ends
_ROUNDING = 1e-9  # relative difference of two floors that are one


def step_seconds(
    flops: Any, nbytes: Any, peak: Any, bandwidth: Any, maximum: Callable[[Any, Any], Any] = np.maximum
) -> Any:
    """The floor of a step: it cannot finish before its bytes have arrived, nor before its arithmetic is done.

    Plain arithmetic on whatever overloads it: numbers, arrays, or chart expressions (with ``maximum=alt.expr.max``),
    so that one formula serves Python and the browser.

    >>> float(step_seconds(flops=2e9, nbytes=1e9, peak=1e12, bandwidth=1e12))
    0.002
    """
    return maximum(flops / peak, nbytes / bandwidth)


def is_shorter(least: Any, floor: Any) -> Any:
    """Whether a floor with the fewest experts is shorter than ``floor`` (seconds), with the expected number of them.

    >>> is_shorter(2.3e-3, 8.2e-3), is_shorter(8.2e-3, 8.2e-3)
    (True, False)
    """
    return least < floor * (1 - _ROUNDING)


@dataclass(frozen=True, eq=False)
class Cost:
    """The price of one step (plain floats and strings) or of a sweep (arrays of its shape), on one GPU of the group.

    Attributes
    ----------
    seconds: how long the step takes: a floor for datasheet rates, an estimate otherwise.
    memory_seconds, compute_seconds: the two sides of the floor: bytes over bandwidth, FLOPs over peaks.
    bytes, flops: what the step moves and computes, at the level that was counted.
    low, high: the band of ``seconds``: equal to it for a floor.
    source: "datasheet", "calibrated" or "live".
    warnings: what was read otherwise than stored, in words.
    """

    seconds: Any
    memory_seconds: Any
    compute_seconds: Any
    bytes: Any
    flops: Any
    low: Any
    high: Any
    source: str
    warnings: tuple[str, ...]
    _bill: _Bill = field(repr=False)

    @property
    def intensity(self) -> Any:
        """FLOPs for each byte moved."""
        return self.flops / self.bytes

    @property
    def weight_bytes(self) -> Any:
        """Bytes of weights among those moved, the embedding's rows included."""
        return self._bill.total("weight_bytes", np.shape(self.seconds))

    @property
    def kv_bytes(self) -> Any:
        """Bytes of caches and recurrent states among those moved."""
        return self._bill.total("kv_bytes", np.shape(self.seconds))

    @property
    def state_bytes(self) -> Any:
        """Of ``kv_bytes``, those of recurrent states: a state is read and written by each step."""
        return self._bill.total("kv_bytes", np.shape(self.seconds), kind="recurrent")

    @property
    def activation_bytes(self) -> Any:
        """Bytes of activations that move through memory; they count among ``bytes`` at the level "everything" only."""
        return self._bill.total("activation_bytes", np.shape(self.seconds))

    @property
    def bound(self) -> Any:
        """The side of the floor that the step waits for: "memory" (also where they are equal) or "compute"."""
        return _which(self.memory_seconds, self.compute_seconds)

    @cached_property
    def least_seconds(self) -> Any:
        """The floor where all tokens are sent to the same experts: no step is faster, wherever its router sends them.

        Of a dense model, and of one token, it is the floor.
        """
        memory = self._bill.least_bytes(np.shape(self.seconds)) / self._bill.hw.bandwidth
        return _longer(memory, self.compute_seconds)

    @property
    def expects_experts(self) -> Any:
        """Whether the floor rests on the expected number of distinct experts: a step that hits fewer may be faster.

        >>> import costmodel as cm
        >>> mixture, h100 = cm.model("qwen3-30b-a3b"), cm.hardware("h100-sxm")
        >>> [cm.price(mixture, h100, cm.Step.decode(batch, 100)).expects_experts for batch in (1, 8)]
        [False, True]
        """
        return is_shorter(self.least_seconds, _longer(self.memory_seconds, self.compute_seconds))

    @property
    def idle(self) -> Any:
        """Share of the step in which the arithmetic units have nothing to do, were they to run at their peak."""
        return 1 - self.compute_seconds / self.seconds

    @cached_property
    def provenance(self) -> tuple[str, ...]:
        """Where the figures come from, a line each: the model, the machine, and each rate with its error."""
        return self._bill.provenance()

    @property
    def fitted_on(self) -> tuple[str, ...]:
        """Whose measurements its rates were fitted to: ids of accelerators, and ``GENERAL`` for those of all together.

        Only rates that took part count. Nobody's for a bound.

        >>> import costmodel as cm
        >>> step = cm.Step.decode(8, 2048)
        >>> cm.price(cm.model("qwen3-0.6b"), cm.hardware("h200-sxm"), step, rates="calibrated").fitted_on
        ('h100-sxm',)
        """
        return self._bill.fitted_on()

    @cached_property
    def operations(self) -> pd.DataFrame:
        """The bill: a row an operation (and a point, for a sweep).

        Columns: name, count, flops, weight_bytes, kv_bytes, activation_bytes, bytes (those that count at this level),
        seconds, bound, share. Seconds are each operation's own; for a floor they may sum to more than the step, and
        ``share`` is the share of their sum.
        """
        return self._bill.table(with_points=np.ndim(self.seconds) > 0)

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of ``operations`` as plain values, without a table: a tenth of the time for a single step."""
        return self._bill.rows(with_points=np.ndim(self.seconds) > 0)


@dataclass(frozen=True, eq=False)
class _Bill:
    """What is needed to itemise a cost when somebody asks."""

    model: Model
    plan: Plan
    features: Array
    hw: Hardware
    rates: Rates | None  # None: one floor under the whole step
    seconds: Array | None  # (operations, points) where rates priced each; None: the floor's own maximum

    def provenance(self) -> tuple[str, ...]:
        model, hw = self.model, self.hw
        lines = [
            f"{model.name}: {model.source or 'sizes given by the user'}",
            f"{hw.name}: {hw.source or 'figures given by the user'}",
        ]
        if hw.base is not None:
            lines.append(f"a what-if of {hw.base.name}: its figures were changed by hand")
        lines += [rates.source(*fit).text for rates, fit in self._fits()]
        return tuple(dict.fromkeys(lines))

    def fitted_on(self) -> tuple[str, ...]:
        devices = (rates.fit(*fit).device or rates.hardware.root.id for rates, fit in self._fits())
        return tuple(dict.fromkeys(devices))

    def _fits(self) -> list[tuple[Rates, tuple[str, str]]]:
        """The rates, and operation and format of each of their fits that took part; none for a floor."""
        rates = self.rates
        if rates is None or self.seconds is None:
            return []
        rows = zip(self.plan.operations, self.seconds, strict=True)
        # a decode step rests on no fit of prefill
        return [(rates, _fit_of(op)) for op, seconds in rows if seconds.any()]

    def total(self, form: str, shape: tuple[int, ...], kind: str | None = None) -> Any:
        """Amount of one linear form in the whole step, or in its operations of one kind."""
        rows = [i for i, op in enumerate(self.plan.operations) if kind in (None, op.kind)]
        return _shaped(self.plan.matrices[form][rows].sum(axis=0) @ self.features, shape)

    def least_bytes(self, shape: tuple[int, ...]) -> Any:
        """Bytes of the step with the fewest experts."""
        return _shaped(self.plan.least_bytes(self.features), shape)

    def table(self, *, with_points: bool) -> pd.DataFrame:
        columns = self._columns(with_points=with_points)
        columns["name"] = pd.Categorical.from_codes(columns["name"], dtype=self.plan.name_dtype)
        columns["bound"] = pd.Categorical.from_codes(columns["bound"], dtype=_BOUND)
        return pd.DataFrame(columns, copy=False)

    def rows(self, *, with_points: bool) -> list[dict[str, Any]]:
        columns = {name: values.tolist() for name, values in self._columns(with_points=with_points).items()}
        columns["name"] = [self.plan.names[code] for code in columns["name"]]
        columns["bound"] = [_BOUND.categories[code] for code in columns["bound"]]
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _columns(self, *, with_points: bool) -> dict[str, Any]:
        """Columns of the bill, point by point; names and bounds as their numbers among all that there are."""
        operations, points = len(self.plan.names), self.features.shape[1]
        # (points, operations), so that flattening goes point by point without a copy
        amounts = {name: self.features.T @ self.plan.matrices[name].T for name in self.plan.matrices}
        nbytes = self.features.T @ self.plan.bytes.T
        memory, compute = nbytes / self.hw.bandwidth, amounts["flops"] / _peaks(self.plan, self.hw)
        seconds = np.maximum(memory, compute) if self.seconds is None else self.seconds.T
        columns: dict[str, Any] = {"point": np.repeat(np.arange(points), operations)} if with_points else {}
        columns["name"] = np.tile(np.arange(operations), points)
        columns["count"] = np.tile([op.count for op in self.plan.operations], points)
        columns |= {name: amount.ravel() for name, amount in amounts.items()}
        columns["bytes"] = nbytes.ravel()
        columns["seconds"] = seconds.ravel()
        columns["bound"] = (compute > memory).ravel().astype(np.int8)
        columns["share"] = (seconds / seconds.sum(axis=1, keepdims=True)).ravel()
        return columns


def price(  # noqa: PLR0917  # the order is the interface's
    model: Model,
    hw: Hardware,
    step: Step,
    precision: Precision | None = None,
    rates: str | Rates = "datasheet",
    count: Count | None = None,
    tensor_parallel: int = 1,
    host: str | None = None,
) -> Cost:
    """Price a step, or a sweep of steps, of ``model`` on ``hw``. With tensor parallel, costs are per GPU.

    Parameters
    ----------
    precision: formats; None: what the model's config stores, caches and arithmetic in bf16.
    rates: "datasheet" (a floor), "calibrated" (fitted to published measurements), or a ``Rates``.
    count: "weights" (every matrix on every token: the post's count), "attention" (adds the caches, the squares and
        the embedding rows, and the LM head only where logits are needed), "everything" (adds activations and prices
        each operation by itself). None: "attention" for a floor, "everything" for an estimate.
    host: engine whose own time a step is added, "everything" only.

    Raises
    ------
    ConfigError: for a format that the chip has no unit for, heads that cannot be divided, rates of another device.

    >>> import costmodel as cm
    >>> cost = cm.price(cm.model("qwen3-0.6b"), cm.hardware("h100-sxm"), cm.Step.decode(batch=1, context=2048))
    >>> f"{cost.bytes / 1e9:.3f} GB, {cost.seconds * 1e6:.0f} us, {cost.bound}"
    '1.427 GB, 426 us, memory'
    """
    level = _level(count, rates)
    formats = settle(model, hw, precision)
    the_plan = plan(model, formats, tensor_parallel, level)
    features = feature_values(step, the_plan.features)
    work = the_plan.work(features)
    memory, compute = work.sides(hw.bandwidth, hw.peak_of)
    fitted = _rates_for(rates, hw) if level == "everything" else None
    own: Array | None = None
    if fitted is not None:
        own, seconds, low, high = _estimate(the_plan, formats, fitted, step, features, host)
    else:
        seconds = low = high = np.maximum(memory, compute)
    shaped = {
        name: _shaped(value, step.shape)
        for name, value in (
            ("seconds", seconds),
            ("memory_seconds", memory),
            ("compute_seconds", compute),
            ("bytes", work.bytes),
            ("flops", work.flops),
            ("low", low),
            ("high", high),
        )
    }
    bill = _Bill(model, the_plan, features, hw, fitted, own)
    source = rates if isinstance(rates, str) else rates.kind
    return Cost(**shaped, source=source, warnings=_warnings(model, formats), _bill=bill)


def crossing(  # noqa: PLR0917  # the order is the interface's
    model: Model,
    hw: Hardware,
    context: float = 0,
    count: Count = "weights",
    phase: str = "decode",
    precision: Precision | None = None,
    tensor_parallel: int = 1,
) -> float | None:
    """T*: the tokens at which a step turns from memory-bound to compute-bound; None when it never does.

    ``phase="decode"``: T sequences of one token over ``context`` cached ones each. ``phase="prefill"``: one prompt of T
    tokens over ``context`` cached ones. The caches of a decode step grow with its tokens, so under "attention" it may
    never cross: each further sequence brings more bytes than its arithmetic can hide.

    Raises
    ------
    ConfigError: for a phase that is neither decode nor prefill, and as ``price``.

    >>> import costmodel as cm
    >>> qwen, h100 = cm.model("qwen3-0.6b"), cm.hardware("h100-sxm")
    >>> round(cm.crossing(qwen, h100)), cm.crossing(qwen, h100, context=2048, count="attention")
    (295, None)
    """
    if phase not in ("decode", "prefill"):
        raise ConfigError("phase", phase, "decode or prefill")
    formats = settle(model, hw, precision)
    the_plan = plan(model, formats, tensor_parallel, _level(count, "datasheet"))

    def excess(tokens: Array) -> Array:
        """Arithmetic seconds beyond memory seconds: negative while memory-bound."""
        step = Step.decode(tokens, context) if phase == "decode" else Step.prefill(tokens, context)
        memory, compute = the_plan.work(feature_values(step, the_plan.features)).sides(hw.bandwidth, hw.peak_of)
        beyond: Array = compute - memory
        return beyond

    return first_sign_change(excess)


def first_sign_change(
    excess: Callable[[Array], Array], low: float = 1.0, high: float = 1e9, points: int = 1000
) -> float | None:
    """Where ``excess`` first reaches 0 between ``low`` and ``high``; ``low`` when it starts above, None when never.

    Narrows the bracket to one of ``points`` a round, until it is settled to the last digits of a float.
    """
    while high > low * (1 + _SETTLED):
        grid = np.geomspace(low, high, points)
        above = np.flatnonzero(excess(grid) >= 0)
        if above.size == 0:
            return None
        if above[0] == 0:
            return float(grid[0])
        low, high = float(grid[above[0] - 1]), float(grid[above[0]])
    return high


class CacheSums(Protocol):
    """What attention asks of a step: sums over its sequences, by phase; numbers, or arrays with an entry a point."""

    def sequences_of(self, phase: Phase | None, /) -> Any:
        """Sequences of a phase."""

    def tokens_of(self, phase: Phase | None, /) -> Any:
        """New tokens of a phase."""

    def reads(self, window: int | None, chunk: int | None, phase: Phase | None, /) -> Any:
        """Cached tokens read under a mask."""

    def pairs(self, window: int | None, chunk: int | None, phase: Phase | None, /) -> Any:
        """Query-key pairs under a mask."""


def attention_seconds(op: Operation, formats: Formats, rates: Rates, step: CacheSums) -> Array:
    """Seconds that fitted rates give an attention operation (one of ``ATTENTION_KINDS``), an entry a point.

    ``step`` may be a ``Step``, or anything that knows its sums: a simulation prices hundreds of thousands of steps,
    and has these sums at hand. The formulas are those of ``Rates.attention_decode``, ``attention_prefill`` and ``mla``,
    asked for the mean sequence of the step; 0 where no sequence is in the operation's phase.
    """
    return _ATTENTION[op.kind](op, formats, rates, step)


# ---- inside ---------------------------------------------------------------------------------------------------


def _level(count: Count | None, rates: str | Rates) -> Count:
    if count is None:
        return "attention" if rates == "datasheet" else "everything"
    if count not in COUNTS:
        raise ConfigError("count", count, f"one of {', '.join(COUNTS)}")
    if rates != "datasheet" and count != "everything":
        raise ConfigError("count", count, '"everything" with fitted rates: they price whole operations')
    return count


def _peaks(the_plan: Plan, hw: Hardware) -> Array:
    """Peak FLOP/s of each operation's format, (operations,)."""
    return np.array([hw.peak_of(op.dtype) for op in the_plan.operations])


def _rates_for(rates: str | Rates, hw: Hardware) -> Rates:
    if isinstance(rates, Rates):
        return rates.for_hardware(hw)
    known: Mapping[str, Callable[[Hardware], Rates]] = {"datasheet": Rates.datasheet, "calibrated": calibrated}
    if rates not in known:
        raise ConfigError("rates", rates, "datasheet, calibrated, or a Rates")
    return known[rates](hw)


def _estimate(
    the_plan: Plan, formats: Formats, rates: Rates, step: Step, features: Array, host: str | None
) -> tuple[Array, Array, Array, Array]:
    """Seconds of each operation (operations, points), and of the step with its band."""
    points = features.shape[1]
    column = dict(zip(the_plan.features, features, strict=True))
    amounts = {name: matrix @ features for name, matrix in the_plan.matrices.items()}
    moved = amounts["weight_bytes"] + amounts["kv_bytes"] + amounts["activation_bytes"]
    own = np.zeros((len(the_plan.operations), points))
    low, high = np.zeros(points), np.zeros(points)
    for i, op in enumerate(the_plan.operations):
        context = _Context(op, formats, rates, step, column, moved[i], amounts["flops"][i])
        own[i] = _TIMES[op.kind](context)
        below, above = rates.band(*_fit_of(op))
        low, high = low + own[i] * below, high + own[i] * above
    extra = np.ravel(rates.host(host, step.sequences)) if host else 0.0
    return own, own.sum(axis=0) + extra, low + extra, high + extra


@dataclass(frozen=True, eq=False)
class _Context:
    """One operation beside all that its rate may need: arrays have one entry a point."""

    op: Operation
    formats: Formats
    rates: Rates
    step: Step
    features: Mapping[Any, Array]
    nbytes: Array
    flops: Array


def _matmul_seconds(c: _Context) -> Array:
    rows_feature, outputs, inputs = c.op.shape
    rows = c.features[rows_feature]
    one: Array = c.rates.matmul(np.maximum(rows, 1), outputs, inputs, c.op.dtype, c.op.stored)
    return np.where(rows > 0, c.op.count * one, 0.0)


def _experts_seconds(c: _Context) -> Array:
    hidden, width, experts, top_k, matrices = c.op.shape
    one: Array = c.rates.moe(
        np.ravel(c.step.tokens), hidden, width, experts, top_k, c.op.dtype, c.op.stored, matrices=matrices
    )
    return c.op.count * one


def _attention_seconds(op: Operation, formats: Formats, rates: Rates, step: CacheSums) -> Array:
    mixer, q_heads, kv_heads = op.shape
    sequences = np.ravel(step.sequences_of(op.phase)).astype(float)
    batch = np.maximum(sequences, 1)
    cached = np.ravel(step.reads(mixer.window, mixer.chunk, op.phase)) / batch
    new = np.ravel(step.tokens_of(op.phase)) / batch
    dims = (q_heads, kv_heads, mixer.head_dim)
    if op.phase == "decode":
        one = rates.attention_decode(batch, cached + new, *dims, formats.kv, queries=new)
    else:
        pairs = np.ravel(step.pairs(mixer.window, mixer.chunk, op.phase)) / batch
        one = rates.attention_prefill(batch, np.maximum(new, 1), *dims, op.dtype, cached=cached, pairs=pairs)
    return np.where(sequences > 0, op.count * one, 0.0)


def _latent_seconds(op: Operation, formats: Formats, rates: Rates, step: CacheSums) -> Array:
    mixer, heads = op.shape
    sequences = np.ravel(step.sequences_of(op.phase)).astype(float)
    batch = np.maximum(sequences, 1)
    new = np.ravel(step.tokens_of(op.phase)) / batch
    cached = np.ravel(step.reads(None, None, op.phase)) / batch
    tokens, over = (new + cached, 0) if op.phase == "decode" else (np.maximum(new, 1), cached)
    one: Array = rates.mla(
        op.phase or "decode", batch, np.maximum(tokens, 1), heads, formats.kv, latent=mixer, cached=over
    )
    return np.where(sequences > 0, op.count * one, 0.0)


def _elementwise_seconds(c: _Context) -> Array:
    seconds: Array = c.rates.elementwise(c.op.shape, c.nbytes)
    return seconds


def _recurrent_seconds(c: _Context) -> Array:
    # No published kernel times to fit: its state traffic as an elementwise pass, its arithmetic at the peak.
    streamed: Array = c.rates.elementwise(c.op.count, c.nbytes)
    return streamed + c.flops / c.rates.hardware.peak_of(c.op.dtype)


def _all_reduce_seconds(c: _Context) -> Array:
    n, bytes_a_token = c.op.shape
    one: Array = c.rates.all_reduce(np.ravel(c.step.tokens) * bytes_a_token, n)
    return c.op.count * one


_ATTENTION: Mapping[str, Callable[[Operation, Formats, Rates, CacheSums], Array]] = {
    "attention": _attention_seconds,
    "latent": _latent_seconds,
}
ATTENTION_KINDS = frozenset(_ATTENTION)
"""Kinds of operations whose time depends on the caches of a step."""

_TIMES: Mapping[str, Callable[[_Context], Array]] = {
    "matmul": _matmul_seconds,
    "experts": _experts_seconds,
    "attention": lambda c: attention_seconds(c.op, c.formats, c.rates, c.step),
    "latent": lambda c: attention_seconds(c.op, c.formats, c.rates, c.step),
    "elementwise": _elementwise_seconds,
    "recurrent": _recurrent_seconds,
    "all_reduce": _all_reduce_seconds,
}

_RATE_NAMES = {"experts": "moe", "recurrent": "elementwise", "latent": "mla"}


def _fit_of(op: Operation) -> tuple[str, str]:
    """The name and the format under which rates keep the fit that serves an operation."""
    name = _RATE_NAMES.get(op.kind, op.kind)
    if op.kind in ("matmul", "experts"):
        return name, format_key(op.dtype, op.stored)
    if op.phase is None:
        return name, op.dtype
    return f"{name}_{op.phase}", op.stored if op.kind == "latent" or op.phase == "decode" else op.dtype


def _which(memory: Any, compute: Any) -> Any:
    names = np.where(np.asarray(compute) > np.asarray(memory), "compute", "memory")
    return names if names.ndim else str(names)


def _longer(memory: Any, compute: Any) -> Any:
    longer = np.maximum(memory, compute)
    return longer if longer.ndim else float(longer)


def _shaped(values: Array, shape: tuple[int, ...]) -> Any:
    """An array of the points' shape, or a plain float for one step."""
    return values.reshape(shape) if shape else float(values[0])


def _warnings(model: Model, formats: Formats) -> tuple[str, ...]:
    if model.dtype == "fp32" and formats.weights is None:
        return (f"{model.name} is stored in float32; it is priced as {formats.wide}, as engines load it.",)
    return ()
