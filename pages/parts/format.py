"""Numbers as people read them: three significant digits, a unit that switches by itself, a no-break space between.

Each ladder of units serves Python (``seconds(3.558e-4)``) and, as a Vega expression, the labels that move inside a
chart while a hand drags (``vega(SECONDS, "datum.s")``). A test holds the two together.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import NamedTuple, Self

NBSP = "\u00a0"
Ladder = tuple[tuple[float, str], ...]

SECONDS: Ladder = ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s"), (3600.0, "h"), (86400.0, "d"))
BYTES: Ladder = ((1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB"), (1e15, "PB"))
BINARY_BYTES: Ladder = ((1.0, "B"), (2.0**10, "KiB"), (2.0**20, "MiB"), (2.0**30, "GiB"), (2.0**40, "TiB"))
FLOP: Ladder = tuple((10.0 ** (3 * i), f"{prefix}FLOP") for i, prefix in enumerate(("", "k", "M", "G", "T", "P", "E")))
FLOP_RATE: Ladder = tuple((scale, f"{unit}/s") for scale, unit in FLOP)
BYTE_RATE: Ladder = tuple((scale, f"{unit}/s") for scale, unit in BYTES)
PARAMETERS: Ladder = ((1.0, ""), (1e6, "M"), (1e9, "B"), (1e12, "T"))


class _Written(NamedTuple):
    value: str
    unit: str


class Quantity(_Written):
    """A number and its unit, apart, so that a page may set the unit smaller; ``str`` joins them.

    It remembers what it was written from: ``raw``, in ``base`` (the unit without a prefix, "" for a plain number), for
    a table that goes to a file. Two that read the same are equal, whatever they were written from.
    """

    raw: float | None
    base: str

    def __new__(cls, value: str, unit: str, raw: float | None = None, base: str = "") -> Self:
        self = super().__new__(cls, value, unit)
        self.raw, self.base = raw, base
        return self

    def __str__(self) -> str:
        return f"{self.value}{NBSP}{self.unit}" if self.unit else self.value


class Number(str):
    """A number as text that remembers what it was written from, as a ``Quantity`` without a unit does."""

    __slots__ = ("raw",)
    raw: float
    base = ""

    def __new__(cls, text: str, raw: float) -> Self:
        self = super().__new__(cls, text)
        self.raw = raw
        return self

    def __reduce__(self) -> tuple[type, tuple[str, float]]:
        return type(self), (str(self), self.raw)


def significant(value: float, digits: int = 3, *, trim: bool = False) -> Number:
    """Round to ``digits`` significant digits, halves away from zero, with thousands separators.

    ``trim`` drops zeros after the point: what a datasheet says ("2 TB/s"), not what was computed ("2.00 ms").

    >>> significant(355.8), significant(1.1919), significant(0.0), significant(2.0, trim=True), significant(123456.0)
    ('356', '1.19', '0', '2', '123,000')
    """
    return Number(_rounded(float(value), digits, trim), value)


@lru_cache(maxsize=4096)  # a table's figures come again with each move, and twice where a picture says them too
def _rounded(value: float, digits: int, trim: bool) -> str:  # noqa: FBT001  # by position, for the cache
    if not math.isfinite(value) or value == 0:
        return _not_a_number(value)
    exact = Decimal(value)
    rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), ROUND_HALF_UP)
    decimals = max(0, digits - 1 - rounded.adjusted())
    text = f"{rounded:,.{decimals}f}".replace("-", "−")
    return text.rstrip("0").rstrip(".") if trim and decimals else text


def quantity(value: float, ladder: Ladder, digits: int = 3, *, trim: bool = False) -> Quantity:
    """Choose the unit in which the rounded number is at least 1 (the smallest unit for anything below).

    >>> str(quantity(9.9996e-4, SECONDS)).replace(NBSP, " "), str(quantity(2**30, BYTES)).replace(NBSP, " ")
    ('1.00 ms', '1.07 GB')
    """
    return _quantity(float(value), ladder, digits, trim)


@lru_cache(maxsize=4096)
def _quantity(value: float, ladder: Ladder, digits: int, trim: bool) -> Quantity:  # noqa: FBT001  # as above
    base = ladder[_home(ladder)][1]
    if not math.isfinite(value) or value == 0:
        return Quantity(_not_a_number(value), "" if math.isnan(value) else base, value, base)
    scale, unit = ladder[0]
    for next_scale, next_unit in ladder[1:]:
        if abs(value) < next_scale * _almost_one(digits):
            break
        scale, unit = next_scale, next_unit
    return Quantity(significant(value / scale, digits, trim=trim), unit, value, base)


def seconds(value: float, digits: int = 3) -> Quantity:
    """A time: ns, µs, ms, s, h, d."""
    return quantity(value, SECONDS, digits)


def gigabytes(value: float, digits: int = 3) -> Quantity:
    """Bytes in powers of ten: traffic, weights."""
    return quantity(value, BYTES, digits)


def gibibytes(value: float, digits: int = 3) -> Quantity:
    """Bytes in powers of two: what memory holds."""
    return quantity(value, BINARY_BYTES, digits)


def flop(value: float, digits: int = 3) -> Quantity:
    """An amount of arithmetic."""
    return quantity(value, FLOP, digits)


def flop_rate(value: float, digits: int = 4) -> Quantity:
    """A peak or an achieved rate: "989 TFLOP/s"."""
    return quantity(value, FLOP_RATE, digits, trim=True)


def byte_rate(value: float, digits: int = 4) -> Quantity:
    """A bandwidth: "3.35 TB/s"."""
    return quantity(value, BYTE_RATE, digits, trim=True)


def parameters(value: float, digits: int = 4) -> Quantity:
    """A count of parameters: "15.73 M", "8.03 B"."""
    return quantity(value, PARAMETERS, digits, trim=True)


def count(value: float) -> Number:
    """A whole number with thousands separators.

    >>> count(595984384), count(295.24)
    ('595,984,384', '295')
    """
    return Number(f"{round(value):,}" if math.isfinite(value) else _not_a_number(value), value)


def tokens(value: float) -> Quantity:
    """A count of tokens, to the token below ten thousand and to four digits above."""
    written = count(value) if value < 1e4 else significant(value, 4)  # noqa: PLR2004
    return Quantity(written, "token" if round(value) == 1 else "tokens", value, "tokens")


def per_second(rate: float) -> Quantity:
    """Tokens a second."""
    return Quantity(significant(rate), "tokens/s", rate, "tokens/s")


def dollars(price: float) -> Number:
    """A price, to three digits however small."""
    return Number(f"${significant(price)}", price)


def many(number: float, one: str, several: str = "") -> str:
    """A number of things, in words; ``several`` where the plural is more than an s.

    >>> many(1, "token"), many(2048, "token"), many(2, "class", "classes")
    ('1 token', '2,048 tokens', '2 classes')
    """
    return f"{count(number)} {one if round(number) == 1 else several or f'{one}s'}"


def capitalised(words: str) -> str:
    """Words as a sentence or a label begins: the first letter large, the others as they are.

    >>> capitalised("KV blocks"), capitalised("blocks"), capitalised("")
    ('KV blocks', 'Blocks', '')
    """
    return words[:1].upper() + words[1:]


def width(size: float) -> str:
    """Bytes that one value takes.

    >>> width(2.0), width(1.0), width(0.5)
    ('2 bytes', '1 byte', '0.5 bytes')
    """
    return f"{size:g} byte{'' if size == 1 else 's'}"


def sequences(number: float) -> str:
    """A count of sequences."""
    return many(number, "sequence")


def marketed(memory: float) -> Quantity:
    """Bytes as they stand on the box: a datasheet's round figure."""
    return quantity(memory, BYTES, trim=True)


def times(value: float) -> Number:
    """A factor: "1.43×"."""
    return Number(f"{significant(value)}×", value)


def percent(share: float) -> Quantity:
    """A share of one (or a ratio, which may be above it), with as many decimals as it takes not to claim 0 or 100.

    >>> percent(0.99662).value, percent(0.999996).value, percent(1.0).value, percent(0.0).value, percent(1.5).value
    ('99.7', '99.9996', '100', '0', '150.0')
    """
    if share in {0, 1} or not math.isfinite(share):
        return percentage(count(100 * share), share)
    for decimals in (1, 2, 3, 4):
        if round(100 * share, decimals) not in {0, 100}:
            return percentage(f"{100 * share:,.{decimals}f}".replace("-", "−"), share)
    return percentage(_hardly(share), share)


def _hardly(share: float) -> str:
    """What is so close to nothing or all that four decimals do not tell it from these."""
    if share > 0.5:  # noqa: PLR2004
        return "< 100.0001" if share > 1 else "> 99.9999"
    return "< 0.0001" if share > 0 else "> −0.0001"


def percentage(written: str, share: float) -> Quantity:
    """A share of one, written in percent with digits of one's own choice."""
    return Quantity(written, "%", float(share), "share of 1")


def vega(ladder: Ladder, expression: str, digits: int = 3, *, trim: bool = False) -> str:
    """Return the Vega expression that writes ``expression`` as ``str(quantity(...))`` would."""
    pattern = f",.{digits}{'~' if trim else ''}r"
    text = ""
    for (scale, unit), following in zip(ladder, [*ladder[1:], None], strict=True):
        written = f"format(({expression})/{scale!r},'{pattern}')+'{NBSP}{unit}'"
        text += (
            f"({written})"
            if following is None
            else f"({expression})<{following[0] * _almost_one(digits)!r}?({written}):"
        )
    return f"({text})"


def _almost_one(digits: int) -> float:
    """The smallest number that rounds to 1.00 in its own unit, so that 999.6 µs is written 1.00 ms."""
    return 1 - 0.5 * 10.0**-digits


def _home(ladder: Ladder) -> int:
    return next((i for i, (scale, _) in enumerate(ladder) if scale == 1.0), 0)


def _not_a_number(value: float) -> str:
    if math.isnan(value):
        return "–"
    return "0" if value == 0 else ("∞" if value > 0 else "−∞")
