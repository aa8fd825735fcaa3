"""Achieved rates: how long each operation of a step takes on a device, as fractions of its datasheet and a few times.

An operation takes ``overhead + combine(bytes / (eb * bandwidth), flops / (ef * peak))`` and, where the operation has
it, one or two of three small terms (see ``Fit``). Each (device, operation, format) has a ``Fit`` of at most four
numbers. The same ``Rates`` serves a bound (``Rates.datasheet``), published measurements (``calibrated``) and live ones.

The form and where it comes from:

======================  ===========================================================================================
``matmul``              rows in tiles of 128; memory and arithmetic overlap but not wholly, so their hypotenuse rather
                        than their maximum; ``serial`` for each of the k steps that a tile accumulates one after the
                        other; a pass that quantizes activations adds its bytes
``attention_decode``    memory term; ``ramp`` until the transfer runs at full bandwidth; ``per_item`` for each KV head
                        of each sequence, the unit of work of split-KV kernels
``attention_prefill``   sum; ``serial`` for each key that the last query tile walks past
``mla_decode``          hypotenuse; ``ramp``
``mla_prefill``         sum; ``serial`` for each key
``moe``                 sum over the expected distinct experts, rows in tiles of 8 to 128 an expert; ``per_item`` for
                        each 32 rows of each of them
``all_reduce``          overhead + per_item * (n - 1) + 2 (n - 1) / n * bytes / (eb * link); ``ramp``
``elementwise``         overhead a kernel, and its bytes
``host``                overhead + per_item * sequences a step, by engine and its generation
======================  ===========================================================================================

Sources: of the numbers, the measurements that each row of ``catalog/calibration.csv`` names; of an all-reduce's bytes,
the ring algorithm (Patarasu and Yuan 2009).
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property, lru_cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from costmodel.dtypes import DTYPES, dtype
from costmodel.errors import ConfigError
from costmodel.hardware import Hardware, hardware
from costmodel.model import LatentAttention
from costmodel.operations import ACTIVATION_BYTES, expected_experts, latent_flops
from costmodel.step import causal_pairs

GENERAL = "general"
"""Name of the set of fractions that serves any device without its own."""

OPERATIONS = (
    "matmul",
    "attention_decode",
    "attention_prefill",
    "mla_decode",
    "mla_prefill",
    "moe",
    "all_reduce",
    "elementwise",
    "host",
)

Seconds = Any
"""A float, or an array of the arguments' broadcast shape."""


@dataclass(frozen=True, kw_only=True)
class Fit:
    """What one operation in one format achieves on one device.

    Attributes
    ----------
    eb, ef: fractions of the bandwidth (or of the link) and of the peak, above 0 and at most 1.
    overhead: seconds a launch.
    serial: seconds for each element that one tile must walk one after the other.
    per_item: seconds for each independent item of work.
    ramp: seconds lost before a transfer runs at full bandwidth; a shorter one loses in proportion.
    rows, median, p90: measurements that it was fitted to, and its absolute error on held-out ones, as fractions.
    low, high: 10 % and 90 % quantiles of measured over estimated seconds, on held-out ones.
    device: id of the device that it was fitted on. source: where the measurements come from.

    Raises
    ------
    ConfigError: for a fraction outside (0, 1], a negative time, or more than four numbers that are not neutral.
    """

    eb: float = 1.0
    ef: float = 1.0
    overhead: float = 0.0
    serial: float = 0.0
    per_item: float = 0.0
    ramp: float = 0.0
    rows: int = 0
    median: float | None = None
    p90: float | None = None
    low: float = 1.0
    high: float = 1.0
    device: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        for name in ("eb", "ef"):
            if not 0 < getattr(self, name) <= 1:
                raise ConfigError(name, getattr(self, name), "a fraction above 0 and at most 1")
        for name in ("overhead", "serial", "per_item", "ramp"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(name, getattr(self, name), "seconds from 0 to below 1")
        if not 0 < self.low <= self.high:
            raise ConfigError("low", self.low, f"a factor above 0 and at most {self.high}")
        if len(self.numbers) > _MOST_NUMBERS:
            raise ConfigError("fit", ", ".join(self.numbers), f"at most {_MOST_NUMBERS} numbers")

    @property
    def numbers(self) -> dict[str, float]:
        """Its fitted numbers: those that are not neutral."""
        return {name: getattr(self, name) for name in NUMBERS if getattr(self, name) != _NEUTRAL[name]}


NUMBERS = ("eb", "ef", "overhead", "serial", "per_item", "ramp")
"""The numbers that a fit may have, at most four of them not neutral."""
_NEUTRAL = {f.name: f.default for f in fields(Fit) if f.name in NUMBERS}
_MOST_NUMBERS = 4


@dataclass(frozen=True)
class Form:
    """How work becomes time, the same on every device.

    Attributes
    ----------
    tile: most rows of a matrix multiply that one tile takes; None: rows cost what they are.
    overlapped, mixed: how the memory and the arithmetic of matmul-like, and of the other operations, combine.
    quantizes: a matmul in 8 or 4 bits quantizes its input in a pass of its own.
    """

    tile: int | None
    overlapped: np.ufunc
    mixed: np.ufunc
    quantizes: bool

    def rows(self, m: Any) -> Any:
        """Rows that a matmul of ``m`` rows computes: up to a tile as they are, then whole tiles."""
        if self.tile is None:
            return m
        tile = np.clip(m, 1, self.tile)
        return np.ceil(m / tile) * tile

    def expert_rows(self, each: Any) -> Any:
        """Rows computed for an expert with ``each`` tokens: tiles of the next power of two, from 8 to a whole one."""
        if self.tile is None:
            return each
        tile = np.clip(np.exp2(np.ceil(np.log2(each))), _LEAST_TILE, self.tile)
        return np.ceil(each / tile) * tile


_LEAST_TILE = 8
_ITEM_ROWS = 32  # of an expert; one item of its work

KERNELS = Form(tile=128, overlapped=np.hypot, mixed=np.add, quantizes=True)
"""Kernels of serving engines on GPUs."""
BOUND = Form(tile=None, overlapped=np.maximum, mixed=np.maximum, quantizes=False)
"""Perfect overlap and no waste: nothing can be faster."""


class Source(NamedTuple):
    """Where a figure comes from, in words, and its median absolute error as a fraction (None: a bound has none)."""

    text: str
    error: float | None


DEEPSEEK = LatentAttention(heads=128, kv_rank=512, rope_dim=64, nope_dim=128, v_dim=128)
"""Widths of DeepSeek-V3's latent attention (arXiv 2412.19437)."""


@dataclass(frozen=True)
class Rates:
    """How fast one device does each operation of a step.

    All methods take numbers or arrays, which broadcast, and return seconds on one device; no rows take no time.

    Attributes
    ----------
    hardware: the device that the fractions are of.
    fits: (operation, format key) to ``Fit``; see ``format_key``. What is missing falls back, see ``fit``.
    form: how work becomes time.
    kind: "datasheet", "calibrated" or "live".

    >>> from costmodel.hardware import hardware
    >>> rates = calibrated(hardware("h100-sxm"))
    >>> bound = Rates.datasheet(hardware("h100-sxm"))
    >>> bool(rates.matmul(1, 4096, 4096, "bf16") > bound.matmul(1, 4096, 4096, "bf16"))
    True
    """

    hardware: Hardware
    fits: Mapping[tuple[str, str], Fit] = field(default_factory=dict)
    form: Form = KERNELS
    kind: Literal["datasheet", "calibrated", "live"] = "calibrated"

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.hardware, frozenset(self.fits.items()), self.kind))

    @classmethod
    def datasheet(cls, hw: Hardware) -> Rates:
        """Bounds: every fraction 1, every time 0."""
        return cls(hw, {}, BOUND, "datasheet")

    def for_hardware(self, hw: Hardware) -> Rates:
        """Return the same fractions on a what-if of their device.

        Raises
        ------
        ConfigError: when ``hw`` is another device: achieved fractions do not carry over.
        """
        if hw == self.hardware:
            return self
        if hw.root != self.hardware.root:
            raise ConfigError("rates", f"those of {self.hardware.name}", f"rates of {hw.name}, the device to price on")
        return replace(self, hardware=hw)

    # ---- which figure serves, and how far it can be trusted ----------------------------------------------------

    def fit(self, operation: str, name: str, weights: str | None = None) -> Fit:
        """The fit that serves an operation in a format, by the order of ``nearest_formats``; for "host", an engine's.

        Raises
        ------
        ConfigError: for an operation, a format or an engine that does not exist.
        """
        return self._served(operation, name, weights)[2]

    def _served(self, operation: str, name: str, weights: str | None = None) -> tuple[str, str, Fit]:
        """(the key that was asked for, the key that serves it, the fit)."""
        if operation not in OPERATIONS:
            raise ConfigError("operation", operation, f"one of {', '.join(OPERATIONS)}")
        key = self._engine(name) if operation == "host" else self._key(operation, name, weights)
        if self.form is BOUND:
            return key, key, _PERFECT
        for near in (key,) if operation == "host" else nearest_formats(key):
            found = self.fits.get((operation, near))
            if found is not None:
                return key, near, found
        known = ", ".join(k for op, k in self.fits if op == operation) or "nothing: these rates have no fit of it"
        raise ConfigError(operation, name, known)

    def _engine(self, name: str) -> str:
        """The engine of that name, or, of a name without its generation, the latest: "vllm" is "vllm-2026"."""
        generations = sorted(engine for engine in self.engines if engine.startswith(f"{name}-"))
        return generations[-1] if generations else name

    def _key(self, operation: str, name: str, weights: str | None) -> str:
        """The format key of an operation, with what this chip has no unit for unpacked to 16 bits."""
        multiplies = operation in ("matmul", "moe") and "@" not in name
        return format_key(*self.formats(name, weights)) if multiplies else format_key(name, weights)

    def source(self, operation: str, name: str = "bf16") -> Source:
        """Where the figure for an operation in a format comes from, and its median error on held-out measurements."""
        if self.form is BOUND:
            return Source(f"datasheet of {self.hardware.name}: a bound, not an estimate", None)
        key, served, fit = self._served(operation, name)
        return Source(_sentence(self, operation, key, served, fit), fit.median)

    def band(self, operation: str, name: str = "bf16") -> tuple[float, float]:
        """(low, high): factors on the estimate between which 80 % of held-out measurements lie; (1, 1) of a bound."""
        fit = self.fit(operation, name)
        return fit.low, fit.high

    # ---- operations --------------------------------------------------------------------------------------------

    def matmul(self, m: Any, n: Any, k: Any, dtype: str, weights: str | None = None) -> Seconds:
        """Seconds of C[m, n] = A[m, k] W[k, n], multiplied in ``dtype``, with W stored as ``weights`` (None: as dtype).

        Weights in a format that no unit multiplies ("int4") are unpacked to 16 bits first.
        """
        compute, stored = self.formats(dtype, weights)
        fit = self.fit("matmul", dtype, weights)
        narrow = DTYPES[compute].bytes
        traffic = k * (n * DTYPES[stored].bytes) + m * (k * min(narrow, ACTIVATION_BYTES) + n * ACTIVATION_BYTES)
        bandwidth = fit.eb * self.hardware.bandwidth
        flops = 2.0 * self.form.rows(m) * n * k
        busy = self.form.overlapped(traffic / bandwidth, flops / (fit.ef * self.hardware.peak_of(compute)))
        if self.form.quantizes and narrow < ACTIVATION_BYTES:
            busy = busy + m * k * ((ACTIVATION_BYTES + narrow) / bandwidth)
        return (busy + (fit.overhead + fit.serial * k)) * (m > 0)

    def attention_decode(  # noqa: PLR0917  # the order is the interface's
        self, batch: Any, kv_len: Any, q_heads: Any, kv_heads: Any, head_dim: Any, kv_dtype: str, queries: Any = 1
    ) -> Seconds:
        """Seconds of one layer's attention for ``batch`` sequences of one new token over ``kv_len`` keys each.

        ``queries``: new tokens a sequence, above 1 when drafts are verified. Memory decides, unless so many queries
        share a key that not even the peak keeps up.
        """
        fit = self.fit("attention_decode", kv_dtype)
        cache = kv_heads * head_dim * 2 * dtype(kv_dtype).bytes * kv_len
        moved = batch * (cache + queries * q_heads * head_dim * 2 * ACTIVATION_BYTES)
        flops = 4.0 * batch * queries * q_heads * head_dim * kv_len
        busy = np.maximum(
            moved / (fit.eb * self.hardware.bandwidth), flops / self.hardware.peak_of(self._compute("bf16"))
        )
        return (_ramped(busy, fit.ramp) + fit.per_item * batch * kv_heads + fit.overhead) * (batch > 0)

    def attention_prefill(  # noqa: PLR0917  # the order is the interface's
        self,
        batch: Any,
        seq_len: Any,
        q_heads: Any,
        kv_heads: Any,
        head_dim: Any,
        dtype: str,
        cached: Any = 0,
        pairs: Any = None,
    ) -> Seconds:
        """Seconds of one layer's causal attention for ``batch`` prompts of ``seq_len`` new tokens over ``cached`` keys.

        ``pairs``: query-key pairs a sequence where a window or chunk makes them fewer than causal; ``cached`` is then
        the keys that are read.
        """
        fit = self.fit("attention_prefill", dtype)
        pairs = causal_pairs(seq_len, cached) if pairs is None else pairs
        width = min(DTYPES[dtype].bytes, ACTIVATION_BYTES)
        values = 2 * q_heads * seq_len + 2 * kv_heads * (seq_len + cached)
        memory = batch * head_dim * width * values / (fit.eb * self.hardware.bandwidth)
        arithmetic = 4.0 * batch * head_dim * q_heads * pairs / (fit.ef * self.hardware.peak_of(self._compute(dtype)))
        keys = np.minimum(cached + seq_len, 2 * pairs / np.maximum(seq_len, 1))
        return (self.form.mixed(memory, arithmetic) + fit.serial * keys + fit.overhead) * (batch * seq_len > 0)

    def mla(
        self,
        phase: Literal["prefill", "decode"],
        batch: Any,
        tokens: Any,
        heads: Any,
        kv_dtype: str,
        *,
        latent: LatentAttention = DEEPSEEK,
        cached: Any = 0,
    ) -> Seconds:
        """Seconds of one layer's latent attention kernel for ``batch`` sequences (DeepSeek-V2, arXiv 2405.04434).

        Decode: one new token over ``tokens`` latents each, absorbed. Prefill: ``tokens`` new ones over ``cached``, the
        cheaper way, without the matmul that expands the new ones. ``heads`` are those of one device.

        Raises
        ------
        ConfigError: for another phase.
        """
        if phase not in _MLA:
            raise ConfigError("phase", phase, "decode or prefill")
        fit = self.fit(f"mla_{phase}", kv_dtype)
        values, flops, combine = _MLA[phase](self.form, tokens, cached, heads, latent, dtype(kv_dtype).bytes)
        memory = batch * values / (fit.eb * self.hardware.bandwidth)
        busy = combine(memory, batch * flops / (fit.ef * self.hardware.peak_of(self._compute(kv_dtype))))
        return (_ramped(busy, fit.ramp) + fit.serial * (tokens + cached) + fit.overhead) * (batch * tokens > 0)

    def moe(  # noqa: PLR0917  # the order is the interface's
        self,
        tokens: Any,
        hidden: Any,
        width: Any,
        experts: Any,
        top_k: Any,
        dtype: str,
        weights: str | None = None,
        matrices: int = 3,
    ) -> Seconds:
        """Seconds of one layer's routed experts for ``tokens`` tokens: permute, grouped matmuls, activation, reduce.

        ``width`` is one expert's on this device. Under expert parallelism over n, ``experts`` and ``top_k`` are divided
        by n. ``matrices``: 3 with a gate, else 2. Distinct experts as expected under uniform routing.
        """
        compute, stored = self.formats(dtype, weights)
        fit = self.fit("moe", dtype, weights)
        tokens = np.asarray(tokens, dtype=float)
        routed = tokens * top_k
        hit = expected_experts(tokens, experts, top_k)
        each = np.divide(routed, hit, out=np.ones(np.shape(hit)), where=hit > 0)
        values = routed * (2 * hidden + matrices * width) + 2 * tokens * hidden
        weight_bytes = hit * hidden * width * (matrices * DTYPES[stored].bytes)
        memory = (weight_bytes + ACTIVATION_BYTES * values) / (fit.eb * self.hardware.bandwidth)
        flops = 2.0 * matrices * hit * self.form.expert_rows(each) * hidden * width
        busy = self.form.mixed(memory, flops / (fit.ef * self.hardware.peak_of(compute)))
        return (busy + fit.per_item * hit * np.ceil(each / _ITEM_ROWS) + fit.overhead) * (tokens > 0)

    def all_reduce(self, bytes: Any, n: Any) -> Seconds:
        """Seconds to add up ``bytes`` on each of ``n`` devices and give all of them the sum; 0 for one device.

        Raises
        ------
        ConfigError: when more than one device is asked for and the link is not known.
        """
        if self.hardware.link is None:
            if np.any(np.asarray(n) > 1):
                raise ConfigError("link", None, f"the speed of the link between several {self.hardware.name}")
            return np.zeros(np.broadcast_shapes(np.shape(bytes), np.shape(n)))
        fit = self.fit("all_reduce", "bf16")
        moved = 2 * (n - 1) / n * bytes / (fit.eb * self.hardware.link)
        return (_ramped(moved, fit.ramp) + fit.per_item * (n - 1) + fit.overhead) * (np.asarray(n) > 1)

    def elementwise(self, kernels: Any, bytes: Any) -> Seconds:
        """Seconds of ``kernels`` launches of norms, rotations, activations or additions that move ``bytes`` in all."""
        fit = self.fit("elementwise", "bf16")
        return kernels * fit.overhead + bytes / (fit.eb * self.hardware.bandwidth)

    def host(self, engine: str | None, sequences: Any) -> Seconds:
        """Seconds a step that the engine's scheduler, sampler and launches add; 0 without an engine.

        Raises
        ------
        ConfigError: for an engine without constants.
        """
        if engine is None:
            return np.zeros(np.shape(sequences))
        fit = self.fit("host", engine)
        return fit.overhead + fit.per_item * np.asarray(sequences)

    @property
    def engines(self) -> tuple[str, ...]:
        """Engines whose host constants are known."""
        return tuple(key for operation, key in self.fits if operation == "host")

    # ---- formats -----------------------------------------------------------------------------------------------

    def formats(self, name: str, weights: str | None = None) -> tuple[str, str]:
        """(format of the arithmetic, format that the weights are stored in) of a multiply asked for in ``name``.

        A format that this chip has no unit for is unpacked and multiplied in 16 bits.

        >>> from costmodel.hardware import hardware
        >>> calibrated(hardware("a100-sxm-80")).formats("fp8")
        ('bf16', 'fp8')
        """
        return self._compute(name), name if weights is None else dtype(weights).name

    def _compute(self, name: str) -> str:
        unit = dtype(name).unit
        if unit is not None and unit in self.hardware.peak:
            return name
        return "bf16" if "bf16" in self.hardware.peak else "fp16"


_PERFECT = Fit()


def format_key(compute: str, weights: str | None = None) -> str:
    """Name under which a fit for arithmetic in ``compute`` on weights stored as ``weights`` is kept.

    Weights that are unpacked before they are multiplied give "weights@compute"; such a name is returned as it is.

    Raises
    ------
    ConfigError: for a format that does not exist.

    >>> format_key("bf16"), format_key("fp16", "bf16"), format_key("fp8", "fp8_block"), format_key("bf16", "int4")
    ('bf16', 'bf16', 'fp8_block', 'int4@bf16')
    >>> format_key("int4"), format_key("int4@bf16")
    ('int4@bf16', 'int4@bf16')
    """
    if weights is None:
        weights, _, compute = str(compute).partition("@")
        compute = compute or (weights if dtype(weights).unit else "bf16")
    pair = dtype(weights), dtype(compute)
    stored, computed = ("bf16" if d.unit in ("bf16", "fp16") else d.name for d in pair)
    return stored if pair[0].unit == pair[1].unit or stored == computed else f"{stored}@{computed}"


_NEAREST: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "fp32": ("bf16",),
        "tf32": ("bf16",),
        "int8": ("fp8", "bf16"),
        "fp8": ("fp8_block", "bf16"),
        "fp8_block": ("fp8", "bf16"),
        "mxfp4": ("nvfp4", "fp8", "bf16"),
        "nvfp4": ("mxfp4", "fp8", "bf16"),
        "int4@bf16": ("mxfp4@bf16", "int8@bf16", "bf16"),
        "int8@bf16": ("int4@bf16", "bf16"),
    }
)


def nearest_formats(key: str) -> Iterator[str]:
    """Yield the formats whose fit may serve ``key``, nearest first; plain bf16 comes last.

    Weights that are unpacked first are served by int4 when they take under 6 bits, else by int8; then as if they were
    not narrow at all.

    >>> list(nearest_formats("nf4@bf16"))
    ['nf4@bf16', 'int4@bf16', 'mxfp4@bf16', 'int8@bf16', 'bf16']
    """
    yield key
    stored, _, _ = key.partition("@")
    if "@" in key and key not in _NEAREST:
        similar = "int4@bf16" if DTYPES[stored].bits < _NARROW_BITS else "int8@bf16"
        yield from (similar, *_NEAREST[similar]) if DTYPES[stored].bits < _WIDE_BITS else ("bf16",)
    else:
        yield from _NEAREST.get(key, ())


_NARROW_BITS, _WIDE_BITS = 6, 16


def _ramped(seconds: Any, ramp: float) -> Any:
    """Seconds of a transfer that runs at half its bandwidth while short, and loses ``ramp`` in all when long."""
    return seconds * (1 + ramp / (seconds + ramp + _TINY)) if ramp else seconds


_TINY = 1e-30  # seconds; keeps an empty transfer from being divided by zero


# ---- latent attention --------------------------------------------------------------------------------------------


def _absorbed(form: Form, tokens: Any, cached: Any, heads: Any, mla: LatentAttention, width: float) -> _Work:
    """One sequence's decode step against its latents."""
    keys = tokens + cached
    queries = heads * (2 * mla.kv_rank + mla.rope_dim) * ACTIVATION_BYTES
    flops = 2.0 * heads * (2 * mla.kv_rank + mla.rope_dim) * keys
    return keys * (mla.kv_rank + mla.rope_dim) * width + queries, flops, form.overlapped


def _expanded(form: Form, tokens: Any, cached: Any, heads: Any, mla: LatentAttention, width: float) -> _Work:
    """One prompt, its new keys and values expanded to heads by a matmul that is not part of the kernel."""
    head = mla.nope_dim + mla.rope_dim + mla.v_dim
    values = heads * head * (2 * tokens + cached) * ACTIVATION_BYTES
    written = tokens * (mla.kv_rank + mla.rope_dim) * width
    flops = heads / mla.heads * latent_flops(mla, causal_pairs(tokens, cached), cached)
    return values + written, flops, form.mixed


_Work = tuple[Any, Any, np.ufunc]
"""Bytes, FLOPs, and how they combine."""
_MLA: Mapping[str, Callable[..., _Work]] = MappingProxyType({"decode": _absorbed, "prefill": _expanded})


# ---- the shipped fits --------------------------------------------------------------------------------------------

_COLUMN_UNITS = {"overhead_us": 1e-6, "serial_ns": 1e-9, "per_item_ns": 1e-9, "ramp_us": 1e-6}


Sets = Mapping[str, Mapping[tuple[str, str], Fit]]
"""Fits by (operation, format key), by the id of the device that they were fitted on, or "general"."""


@lru_cache(maxsize=256)
def calibrated(hw: Hardware) -> Rates:
    """Rates fitted to published measurements, as shipped; see ``serve`` for whose they are.

    >>> from costmodel.hardware import hardware
    >>> calibrated(hardware("h200-sxm")).source("matmul", "bf16").text[:70]
    'matmul in bf16, measured on H100 SXM, the nearest relative of H200 SXM'
    """
    return serve(hw, _shipped())


def serve(hw: Hardware, sets: Sets) -> Rates:
    """The fits that serve a device.

    For each operation and format the first of these that has one: the device's own fits, those of a measured device of
    the same architecture, and the set "general", fitted to all measured devices. ``Rates.source`` says which.
    """
    own = hw.root
    fits = {**sets.get(GENERAL, {}), **_borrowed(own, sets), **sets.get(own.id, {})}
    return Rates(hw, fits)


def _borrowed(own: Hardware, sets: Sets) -> dict[tuple[str, str], Fit]:
    """The fits of the nearest relative, with the share of its own peak that this device should reach."""
    name = _relatives().get(own.id, "")
    return {
        (operation, key): replace(fit, ef=borrowed_ef(fit.ef, own, hardware(name), key)) if "ef" in fit.numbers else fit
        for (operation, key), fit in sets.get(name, {}).items()
    }


def borrowed_ef(ef: float, own: Hardware, measured: Hardware, key: str) -> float:
    """The fraction of its peak that a device reaches where a measured relative of the same architecture reaches ``ef``.

    Two things make the fractions of relatives differ. A peak that was halved or capped on the same units (GeForce with
    FP32 accumulation, L40, H20) is far below what those could do, so they reach nearly all of it: as much arithmetic a
    unit as the relative, up to 0.95 of the peak, which is what fp8 matmuls reach on an H20 (fitted to 403 DeepGEMM
    times, alibaba/InferSim@f2293da). And a card with less power for each FLOP/s lowers its clock, the cube of which
    dynamic power goes with (voltage falls with it): reasoned, not measured.

    >>> l4, l40s, rtx4090, h200, h100 = map(hardware, ("l4", "l40s", "rtx4090", "h200-sxm", "h100-sxm"))
    >>> [round(borrowed_ef(0.63, own, l40s, "bf16"), 2) for own in (l4, rtx4090)], borrowed_ef(0.8, h200, h100, "bf16")
    ([0.54, 0.95], 0.8)
    """
    unit = DTYPES[key.rpartition("@")[2]].unit or ""
    mine, theirs = own.peak.get(unit), measured.peak.get(unit)
    if not mine or not theirs:
        return ef
    if own.units and measured.units:
        rate = (mine / own.units) / (theirs / measured.units)
        if rate < _CAPPED:
            return max(ef, min(_CAP_REACHED, ef / rate))
    if own.tdp_watts and measured.tdp_watts:
        return ef * min(1.0, float(np.cbrt((own.tdp_watts / mine) / (measured.tdp_watts / theirs))))
    return ef


_CAPPED, _CAP_REACHED = 0.6, 0.95


@cache
def _shipped() -> Sets:
    """Every fit of the catalogue."""
    found: dict[str, dict[tuple[str, str], Fit]] = {}
    for row in _rows("calibration.csv"):
        found.setdefault(row["gpu"], {})[row["operation"], row["dtype"]] = _fit_of(row)
    return found


@cache
def _relatives() -> Mapping[str, str]:
    """Device id to the measured device whose fits serve it."""
    return {row["gpu"]: row["served_by"] for row in _rows("calibration_relatives.csv")}


def _rows(name: str) -> list[dict[str, str]]:
    with (resources.files("costmodel") / "catalog" / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _fit_of(row: Mapping[str, str]) -> Fit:
    """Read a row of the catalogue (blank: neutral) in SI units."""
    numbers: dict[str, Any] = {name: float(row[name]) for name in ("eb", "ef", "low", "high") if row[name]}
    numbers |= {c.rpartition("_")[0]: float(row[c]) * unit for c, unit in _COLUMN_UNITS.items() if row[c]}
    numbers |= {name: float(row[f"{name}_error"]) for name in ("median", "p90") if row[f"{name}_error"]}
    return Fit(**numbers, rows=int(row["rows"]), device=row["gpu"], source=row["source"])


# ---- in words ----------------------------------------------------------------------------------------------------


def _sentence(rates: Rates, operation: str, key: str, served: str, fit: Fit) -> str:
    """One sentence: on what, to how many measurements, of what, with which error, and where it was borrowed from."""
    parts = [f"{operation.replace('_', ' ')} in {served}"]
    if served != key:
        parts.append(f"standing in for {key}")
    parts.append(_whose(rates, fit))
    if fit.rows:
        parts.append(f"fitted to {fit.rows:,} measurements")
    if fit.median is not None and fit.p90 is not None:
        unseen = "GPUs" if fit.device == GENERAL else "shapes"
        parts.append(
            f"median error {fit.median:.0%}, nine in ten within {fit.p90:.0%}, on {unseen} it was not fitted to"
        )
    return ", ".join(parts) + (f" ({fit.source})" if fit.source else "")


def _whose(rates: Rates, fit: Fit) -> str:
    mine = rates.hardware.root
    if fit.device in ("", mine.id):
        return f"measured on {mine.name}"
    if fit.device == GENERAL:
        return f"by the general fractions of all measured GPUs, as {mine.name} has none of its own"
    return f"measured on {hardware(fit.device).name}, the nearest relative of {mine.name}, which has none of its own"
