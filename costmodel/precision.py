"""Which number format the weights are stored in, the caches are kept in, and the arithmetic is done in.

Three things, not one: int4 weights are unpacked and multiplied in bf16; fp8 weights may be multiplied in fp8 or be
unpacked too; a cache may be narrower than both.
"""

from __future__ import annotations

from dataclasses import dataclass

from costmodel.dtypes import DTYPES, FULL_WIDTH, KV_DTYPES, dtype
from costmodel.errors import ConfigError
from costmodel.hardware import Hardware
from costmodel.model import HEAD, Matrix, Model

_KEPT_WIDE = frozenset({HEAD, "router", "embedding_projection"})
"""Roles that engines leave unquantized unless a checkpoint says otherwise."""


@dataclass(frozen=True)
class Precision:
    """Formats by name; None means the stored one for weights, and bf16 (fp16 on a chip without) for the others.

    Raises
    ------
    ConfigError: for a name that the table of formats does not have.
    """

    weights: str | None = None
    kv: str | None = None
    compute: str | None = None

    def __post_init__(self) -> None:
        for name in (self.weights, self.kv, self.compute):
            if name is not None:
                dtype(name)
        if self.kv is not None and self.kv not in KV_DTYPES:
            raise ConfigError("kv dtype", self.kv, f"one of {', '.join(KV_DTYPES)}")
        if self.compute is not None and DTYPES[self.compute].unit is None:
            raise ConfigError(
                "compute dtype", self.compute, "a format that a unit multiplies; this one is unpacked first"
            )


@dataclass(frozen=True)
class Formats:
    """A ``Precision`` settled for one model on one chip: no None left but "as the checkpoint stores it".

    Attributes
    ----------
    weights: override of the stored format, or None.
    kv, compute: formats of the caches and of the arithmetic.
    wide: the 16-bit (or wider) format of everything that is not quantized: attention, router, LM head.
    """

    weights: str | None
    kv: str
    compute: str
    wide: str

    def covers(self, model: Model, matrix: Matrix, *, stored: bool) -> bool:
        """Whether the narrow format applies to this matrix: as the checkpoint has it, else every block matrix.

        ``stored``: the checkpoint stores this matrix quantized.
        """
        quantization = model.quantization
        if quantization is not None and self.weights in (None, quantization.dtype):
            return stored
        return matrix.role not in _KEPT_WIDE

    def weight_dtype(self, model: Model, matrix: Matrix, *, stored: bool) -> str:
        """Name of the format that the matrix is read in; float32 checkpoints are priced as the wide format."""
        if self.weights is None:
            return model.quantization.dtype if model.quantization is not None and stored else self.wide
        if self.weights in FULL_WIDTH or self.covers(model, matrix, stored=stored):
            return self.weights
        return self.wide

    def weight_bytes(self, model: Model, matrix: Matrix, *, stored: bool) -> float:
        """Bytes that one weight of the matrix takes, scales included."""
        name, quantization = self.weight_dtype(model, matrix, stored=stored), model.quantization
        if quantization is not None and stored and name == quantization.dtype:
            return quantization.bits_per_weight / 8
        return DTYPES[name].bytes

    def compute_dtype(self, model: Model, matrix: Matrix, *, stored: bool) -> str:
        """Format in which the matrix is multiplied."""
        if self.compute in FULL_WIDTH or self.covers(model, matrix, stored=stored):
            return self.compute
        return self.wide


def settle(model: Model, hw: Hardware, precision: Precision | None = None) -> Formats:
    """Fill in what ``precision`` leaves open, for this model on this chip.

    Raises
    ------
    ConfigError: when the chip has no unit for what is to be computed, or no 16-bit format at all.
    """
    asked = precision or Precision()
    wide = asked.compute if asked.compute in FULL_WIDTH and asked.compute else _sixteen_bit(hw)
    compute = asked.compute or wide
    hw.peak_of(compute)
    hw.peak_of(wide)
    return Formats(
        weights=asked.weights, kv=asked.kv or model.kv_dtype or _sixteen_bit_kv(wide), compute=compute, wide=wide
    )


def sixteen_bit(hw: Hardware) -> str | None:
    """The 16-bit format that the chip computes in: bf16, or fp16 on a chip without it; None where it has neither."""
    return next((name for name in ("bf16", "fp16") if name in hw.peak), None)


def _sixteen_bit(hw: Hardware) -> str:
    if name := sixteen_bit(hw):
        return name
    raise ConfigError("compute dtype", "bf16", f"a rate that is published for {hw.name}; its bf16 and fp16 are not")


def _sixteen_bit_kv(wide: str) -> str:
    return wide if wide in ("bf16", "fp16") else "bf16"
