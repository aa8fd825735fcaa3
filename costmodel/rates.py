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
``moe``                 sum over the expected distinct experts; ``per_item`` for each routed token (permute, reduce)
``all_reduce``          overhead + per_item * (n - 1) + 2 (n - 1) / n * bytes / (eb * link); ``ramp``
``elementwise``         overhead a kernel, and its bytes
``host``                overhead + per_item * sequences a step, by engine
======================  ===========================================================================================
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property, lru_cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from costmodel.dtypes import DTYPES, dtype
from costmodel.errors import ConfigError
from costmodel.hardware import Hardware
from costmodel.operations import ACTIVATION_BYTES, expected_experts

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
    """How work becomes time, the same on every device: which operations overlap, and the rows of a tile.

    Attributes
    ----------
    tile: rows that a matrix multiply is done in at a time, once there are that many.
    overlapped, mixed: how the memory and the arithmetic of matmul-like, and of the other operations, combine.
    quantizes: a matmul in 8 or 4 bits quantizes its input in a pass of its own.
    """

    tile: int
    overlapped: np.ufunc
    mixed: np.ufunc
    quantizes: bool


KERNELS = Form(tile=128, overlapped=np.hypot, mixed=np.add, quantizes=True)
"""Kernels of serving engines on GPUs."""
BOUND = Form(tile=1, overlapped=np.maximum, mixed=np.maximum, quantizes=False)
"""Perfect overlap and no waste: nothing can be faster."""


class Source(NamedTuple):
    """Where a figure comes from, in words, and its median absolute error as a fraction (None: a bound has none)."""

    text: str
    error: float | None


@dataclass(frozen=True, kw_only=True)
class Latent:
    """Widths of multi-head latent attention; the defaults are DeepSeek-V3's (arXiv 2412.19437)."""

    kv_rank: int = 512
    rope: int = 64
    nope: int = 128
    value: int = 128


DEEPSEEK = Latent()


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
        """The fit that serves an operation in a format, by the order of ``nearest_formats``.

        Raises
        ------
        ConfigError: for an operation or a format that does not exist.
        """
        if self.form is BOUND:
            return _PERFECT
        for key in nearest_formats(format_key(name, weights)):
            found = self.fits.get((operation, key))
            if found is not None:
                return found
        raise ConfigError("operation", operation, f"one of {', '.join(sorted({op for op, _ in self.fits}))}")

    def source(self, operation: str, name: str = "bf16") -> Source:
        """Where the figure for an operation in a format comes from, and its median error on held-out measurements."""
        if self.form is BOUND:
            return Source(f"datasheet of {self.hardware.name}: a bound, not an estimate", None)
        key = name if operation == "host" else format_key(name)
        found = self.host_fit(name) if operation == "host" else self.fit(operation, name)
        served = next((k for (op, k), fit in self.fits.items() if op == operation and fit is found), key)
        return Source(_sentence(self, operation, key, served, found), found.median)

    def band(self, operation: str, name: str = "bf16") -> tuple[float, float]:
        """(low, high): factors on the estimate between which 80 % of held-out measurements lie; (1, 1) of a bound."""
        if self.form is BOUND:
            return 1.0, 1.0
        found = self.host_fit(name) if operation == "host" else self.fit(operation, name)
        return found.low, found.high

    # ---- operations --------------------------------------------------------------------------------------------

    def matmul(self, m: Any, n: Any, k: Any, dtype: str, weights: str | None = None) -> Seconds:
        """Seconds of C[m, n] = A[m, k] W[k, n], multiplied in ``dtype``, with W stored as ``weights`` (None: as dtype).

        Weights in a format that no unit multiplies ("int4") are unpacked to 16 bits first.
        """
        compute, stored = self.formats(dtype, weights)
        fit = self.fit("matmul", compute, stored)
        narrow = DTYPES[compute].bytes
        traffic = k * (n * DTYPES[stored].bytes) + m * (k * min(narrow, ACTIVATION_BYTES) + n * ACTIVATION_BYTES)
        tile = np.clip(m, 1, self.form.tile)
        rows = np.ceil(m / tile) * tile
        bandwidth = fit.eb * self.hardware.bandwidth
        flops = 2.0 * rows * n * k
        busy = self.form.overlapped(traffic / bandwidth, flops / (fit.ef * self.hardware.peak_of(compute)))
        if self.form.quantizes and narrow < ACTIVATION_BYTES:
            busy = busy + m * k * ((ACTIVATION_BYTES + narrow) / bandwidth)
        return (busy + (fit.overhead + fit.serial * k)) * (m > 0)

    def attention_decode(
        self, batch: Any, kv_len: Any, q_heads: Any, kv_heads: Any, head_dim: Any, kv_dtype: str
    ) -> Seconds:
        """Seconds of one layer's attention for ``batch`` sequences of one new token over ``kv_len`` keys each."""
        fit = self.fit("attention_decode", kv_dtype)
        sequence = kv_heads * head_dim * 2 * dtype(kv_dtype).bytes * kv_len + q_heads * head_dim * 2 * ACTIVATION_BYTES
        memory = batch * sequence / (fit.eb * self.hardware.bandwidth)
        return (_ramped(memory, fit.ramp) + fit.per_item * batch * kv_heads + fit.overhead) * (batch > 0)

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
        causal = seq_len * (cached + (seq_len + 1) / 2)
        pairs = causal if pairs is None else pairs
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
        latent: Latent = DEEPSEEK,
        cached: Any = 0,
    ) -> Seconds:
        """Seconds of one layer's latent attention kernel for ``batch`` sequences (DeepSeek-V2, arXiv 2405.04434).

        Decode: one new token over ``tokens`` latents each, absorbed. Prefill: ``tokens`` new ones over ``cached``, with
        keys and values expanded by a matmul that is not part of it. ``heads`` are those of one device.

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
        fit = self.fit("moe", compute, stored)
        routed = tokens * top_k
        hit = expected_experts(tokens, experts, top_k)
        values = routed * (2 * hidden + matrices * width) + 2 * tokens * hidden
        weight_bytes = hit * hidden * width * (matrices * DTYPES[stored].bytes)
        memory = (weight_bytes + ACTIVATION_BYTES * values) / (fit.eb * self.hardware.bandwidth)
        flops = 2.0 * matrices * routed * hidden * width
        busy = self.form.mixed(memory, flops / (fit.ef * self.hardware.peak_of(compute)))
        return (busy + fit.per_item * routed + fit.overhead) * (tokens > 0)

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
        fit = self.host_fit(engine)
        return fit.overhead + fit.per_item * np.asarray(sequences)

    def host_fit(self, engine: str) -> Fit:
        """The constants of an engine.

        Raises
        ------
        ConfigError: for an engine without constants.
        """
        if self.form is BOUND:
            return _PERFECT
        found = self.fits.get(("host", engine))
        if found is None:
            raise ConfigError("host", engine, f"one of {', '.join(self.engines)}, or None")
        return found

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

    >>> format_key("bf16"), format_key("fp16", "bf16"), format_key("fp8", "fp8_block"), format_key("bf16", "int4")
    ('bf16', 'bf16', 'fp8_block', 'int4@bf16')
    """
    compute_, stored = dtype(compute), dtype(weights or compute)
    if stored.unit is None and weights is None:
        compute_ = dtype("bf16")
    names = ["bf16" if d.unit in ("bf16", "fp16") else d.name for d in (stored, compute_)]
    return names[0] if stored.unit == compute_.unit or names[0] == names[1] else "@".join(names)


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


def _absorbed(
    form: Form, tokens: Any, cached: Any, heads: Any, latent: Latent, width: float
) -> tuple[Any, Any, np.ufunc]:
    """Values moved in bytes and FLOPs of one sequence's decode step against its latents."""
    latents = (tokens + cached) * (latent.kv_rank + latent.rope) * width
    queries = heads * (2 * latent.kv_rank + latent.rope) * ACTIVATION_BYTES
    flops = 2.0 * heads * (2 * latent.kv_rank + latent.rope) * (tokens + cached)
    return latents + queries, flops, form.overlapped


def _expanded(
    form: Form, tokens: Any, cached: Any, heads: Any, latent: Latent, width: float
) -> tuple[Any, Any, np.ufunc]:
    """The same of one prompt, with its keys and values expanded to heads before; ``width`` is that of the cache."""
    head = latent.nope + latent.rope + latent.value
    values = heads * head * (2 * tokens + cached) * ACTIVATION_BYTES
    written = tokens * (latent.kv_rank + latent.rope) * width
    flops = 2.0 * heads * head * tokens * (cached + (tokens + 1) / 2)
    return values + written, flops, form.mixed


_MLA = MappingProxyType({"decode": _absorbed, "prefill": _expanded})


# ---- the shipped fits --------------------------------------------------------------------------------------------

_COLUMN_UNITS = {"overhead_us": 1e-6, "serial_ns": 1e-9, "per_item_ns": 1e-9, "ramp_us": 1e-6}


@lru_cache(maxsize=256)
def calibrated(hw: Hardware) -> Rates:
    """Rates fitted to published measurements: those of the device, or of its nearest relative, or the general ones.

    For each operation and format the first of these that has one serves: the device's own fits, those of a measured
    device of the same architecture, and the set ``general``, fitted to all measured devices. ``source`` says which.
    """
    own = hw.root.id
    sets = (GENERAL, _relatives().get(own, ""), own)  # later ones override
    fits = {key: fit for name in sets for key, fit in _shipped().get(name, {}).items()}
    return Rates(hw, fits)


@cache
def _shipped() -> Mapping[str, Mapping[tuple[str, str], Fit]]:
    """Every fit of the catalogue: device id to (operation, format key) to ``Fit``."""
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
        parts.append(f"median error {fit.median:.0%}, nine in ten within {fit.p90:.0%} on held-out shapes")
    return ", ".join(parts) + (f" ({fit.source})" if fit.source else "")


def _whose(rates: Rates, fit: Fit) -> str:
    mine = rates.hardware.root
    if fit.device in ("", mine.id):
        return f"measured on {mine.name}"
    if fit.device == GENERAL:
        return f"general fractions of all measured GPUs: {mine.name} has none of its own for it"
    return f"measured on {fit.device}, of the same architecture as {mine.name}, which has none of its own for it"
