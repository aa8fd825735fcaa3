"""Lines of a derivation worked out as a reader would: from the numbers as they are written, rounding included.

A written number stands for all that would be written so. An expression then gives a range of results, and a line holds
when what it claims lies in that range. Lines that say in words how a number comes about are not worked out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from pages.parts import format
from pages.parts.components import Line
from pages.parts.components import plain as words_of
from tests.pages.opened import plain

_UNITS = {"%": 0.01, "bytes": 1.0, "byte": 1.0, "bits": 0.125, "M parameters": 1e6, "B parameters": 1e9} | {
    unit: scale
    for ladder in (format.SECONDS, format.BYTES, format.BINARY_BYTES, format.FLOP, format.FLOP_RATE, format.BYTE_RATE)
    for scale, unit in ladder
}
_EXACT = {"", "bytes", "byte", "bits"}  # counts, and sizes of formats: nothing is rounded
_UNIT = "|".join(re.escape(unit) for unit in sorted(_UNITS, key=len, reverse=True))
_TOKEN = re.compile(rf"(?<![\w.])(\d[\d,]*(?:\.\d+)?)(?: ?({_UNIT})(?![\w/]))?|([-+−×÷()])|[^\s()]+")
_OPERATORS = {"−": "-", "×": "*", "÷": "/"}


@dataclass(frozen=True)
class Range:
    """All numbers from ``low`` to ``high``."""

    low: float
    high: float

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Range) -> Range:
        return Range(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Range) -> Range:
        corners = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Range(min(corners), max(corners))

    def __truediv__(self, other: Range) -> Range:
        assert other.low > 0, "divided by what may be nothing"
        return self * Range(1 / other.high, 1 / other.low)

    def whole(self) -> Range:
        return Range(math.floor(self.low), math.floor(self.high))

    def holds(self, other: Range) -> bool:
        """Whether a number may be in both."""
        slack = 1e-9 * max(abs(self.high), abs(other.high))
        return self.low <= other.high + slack and other.low <= self.high + slack


def longer(a: Range, b: Range) -> Range:
    return Range(max(a.low, b.low), max(a.high, b.high))


def written(number: str, unit: str) -> Range:
    """What a written number stands for.

    >>> written("356", "µs"), written("1,024", "")
    (Range(low=0.0003555, high=0.0003565), Range(low=1024.0, high=1024.0))
    """
    value, scale = float(number.replace(",", "")), _UNITS.get(unit, 1.0)
    half = 0.0 if unit in _EXACT else 0.5 * 10.0 ** _last(number, unit)
    return Range((value - half) * scale, (value + half) * scale)


def _last(number: str, unit: str) -> int:
    """Power of ten of the last digit that is known: zeros at the end of a whole number may stand for others."""
    whole, _, decimals = number.replace(",", "").partition(".")
    if unit.endswith("/s"):  # four digits, without zeros at the end
        return len(whole) - 4
    if unit == "tokens":  # whole ones, or four digits
        return max(len(whole) - 4, 0)
    return -len(decimals) if decimals else len(whole) - max(len(whole.rstrip("0")), 2)


def worked_out(text: str) -> Range | None:
    """The result of an expression; None for one that is words."""
    if whole := re.fullmatch(r"(.+), whole ones(?: on each × (\d+) GPUs)?", text):
        quotient = worked_out(whole[1])
        return quotient and quotient.whole() * Range(*[float(whole[2] or 1)] * 2)
    text = re.sub(r" \(max\([^)]*\)\)", "", text)  # what a number of heads comes from
    text = re.split(r", (?=as |which |scales )", text.rpartition(": ")[2])[0]
    if longest := re.fullmatch(r"the longer of (.+?) and (.+)", text):
        sides = [worked_out(f"{side} + 0") for side in longest.groups()]
        return None if None in sides else longer(*sides)  # type: ignore[arg-type]
    code, values = [], {}
    for number, unit, operator in _TOKEN.findall(text.replace("× T", "")):
        if number:
            values[f"v{len(values)}"] = written(number, unit)
            code.append(f"v{len(values) - 1}")
        elif operator:
            code.append(_OPERATORS.get(operator, operator))
    if len(code) < 3:
        return None
    try:
        result: Range = eval("".join(f" {part}" for part in code), {}, values)  # noqa: S307  # names and operators alone
    except (SyntaxError, TypeError):  # words between numbers, or in brackets
        return None
    return result


def wrong(lines: Iterable[Line], *always: str) -> list[str]:
    """The lines that do not come to what they claim, and names of ``always`` with nothing to work out."""
    found, done = [], set()
    for line in lines:
        expression, claimed = plain(words_of(line.expression)), plain(words_of(line.result))
        result = re.match(rf"(−?)(\d[\d,]*(?:\.\d+)?)(?: ({_UNIT})(?![\w/]))?", claimed)
        if not result:
            continue
        value = written(result[2], result[3] or ("tokens" if claimed.endswith(("token", "tokens")) else ""))
        value = value * Range(*[-1.0 if result[1] else 1.0] * 2)
        for part in expression.split(", which is "):
            came_to = worked_out(part)
            if came_to is not None:
                done.add(line.name)
                if not came_to.holds(value):
                    found.append(f"{line.name}: {expression} = {claimed}, but it is {came_to}")
    return found + [f"{name}: nothing to work out" for name in always if name not in done]
