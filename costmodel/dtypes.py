"""One table of number formats: how many bits a value takes in memory, and which unit multiplies it.

Bits count the scales that travel with block formats, so that a weight of ``int4`` costs 4.16 bits, not 4.

Sources of the bits a weight: OCP Microscaling spec v1.0 (mxfp4: 32 values share an 8-bit scale, 4.25);
NVIDIA nvfp4 (16 values share an fp8 scale, 4.5); GPTQ with groups of 128 (an fp16 scale and a 4-bit zero, 4.16);
QLoRA double quantization (4.127); DeepSeek-V3 128 x 128 blocks with an fp32 scale (8.002).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from costmodel.errors import ConfigError


@dataclass(frozen=True)
class Dtype:
    """A number format.

    Attributes
    ----------
    name: the name used everywhere.
    bits: bits a stored value, scales included.
    unit: key of ``Hardware.peak`` whose matrix unit multiplies this format, or None when nothing multiplies it
        directly (it is unpacked first, "weight-only").
    """

    name: str
    bits: float
    unit: str | None

    @property
    def bytes(self) -> float:
        """Bytes a stored value."""
        return self.bits / 8


_TABLE = (
    Dtype("fp32", 32, "fp32"),
    Dtype("tf32", 32, "tf32"),
    Dtype("bf16", 16, "bf16"),
    Dtype("fp16", 16, "fp16"),
    Dtype("fp8", 8, "fp8"),
    Dtype("fp8_block", 8.002, "fp8"),
    Dtype("int8", 8, "int8"),
    Dtype("int4", 4.16, None),
    Dtype("mxfp4", 4.25, "fp4"),
    Dtype("nvfp4", 4.5, "fp4"),
    Dtype("nf4", 4.127, None),
)

DTYPES = MappingProxyType({dtype.name: dtype for dtype in _TABLE})
"""Every format by name."""

UNITS = ("fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4")
"""The keys that ``Hardware.peak`` may have."""

KV_DTYPES = ("bf16", "fp16", "fp32", "fp8", "int8", "int4", "nvfp4")
"""Formats in which engines keep a KV cache."""

FULL_WIDTH = ("bf16", "fp16", "fp32", "tf32")
"""Formats without scales: a model stored in one of these is not quantized."""


def dtype(name: object) -> Dtype:
    """Return the format called ``name``.

    Raises
    ------
    ConfigError: when there is none of that name.

    >>> dtype("nvfp4").bits
    4.5
    """
    found = DTYPES.get(name) if isinstance(name, str) else None
    if found is None:
        raise ConfigError("dtype", name, f"one of {', '.join(DTYPES)}")
    return found
