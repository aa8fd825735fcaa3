"""How long prompts and outputs are: fixed, uniform, lognormal, or as in a trace; always drawn from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from costmodel.errors import ConfigError
from costmodel.serving.workload import OUTPUT, PROMPT

Ints = NDArray[np.int64]

_MOST = 10**9


class Lengths(Protocol):
    """A distribution of lengths in tokens."""

    def draw(self, count: int, rng: np.random.Generator) -> Ints:
        """Return ``count`` lengths, 1 or more each."""


def _check(name: str, value: object, least: int = 1) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MOST:
        raise ConfigError(name, value, f"a whole number of tokens from {least:,} to {_MOST:,}")


@dataclass(frozen=True)
class Fixed:
    """Always the same."""

    tokens: int

    def __post_init__(self) -> None:
        _check("tokens", self.tokens)

    def draw(self, count: int, rng: np.random.Generator) -> Ints:  # noqa: ARG002  # the same call for all
        """Return ``count`` equal lengths."""
        return np.full(count, self.tokens, dtype=np.int64)


@dataclass(frozen=True)
class Uniform:
    """Every whole number from ``low`` to ``high``, both included, equally often."""

    low: int
    high: int

    def __post_init__(self) -> None:
        _check("low", self.low)
        _check("high", self.high, least=self.low)

    def draw(self, count: int, rng: np.random.Generator) -> Ints:
        """Return ``count`` lengths."""
        return rng.integers(self.low, self.high, size=count, endpoint=True)


@dataclass(frozen=True)
class Lognormal:
    """Lognormal by its median and its spread, rounded, and cut to ``low`` .. ``high``.

    Attributes
    ----------
    median: tokens. sigma: standard deviation of the logarithm (0.5: two in three within a factor of 1.65).
    """

    median: float
    sigma: float
    low: int = 1
    high: int = _MOST

    def __post_init__(self) -> None:
        if not 0 < self.median <= _MOST:
            raise ConfigError("median", self.median, "tokens above 0")
        if not 0 <= self.sigma <= 10:  # noqa: PLR2004  # e^10: four decades
            raise ConfigError("sigma", self.sigma, "a number from 0 to 10")
        _check("low", self.low)
        _check("high", self.high, least=self.low)

    def draw(self, count: int, rng: np.random.Generator) -> Ints:
        """Return ``count`` lengths."""
        drawn = self.median * np.exp(self.sigma * rng.standard_normal(count))
        return np.clip(np.rint(drawn), self.low, self.high).astype(np.int64)


@dataclass(frozen=True)
class Quantiles:
    """Between equally spaced quantiles, linear in the logarithm: a trace's lengths in a few numbers.

    Attributes
    ----------
    tokens: the quantiles, from the least to the greatest length.
    """

    tokens: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.tokens) < 2 or any(b < a for a, b in zip(self.tokens, self.tokens[1:], strict=False)):  # noqa: PLR2004
            raise ConfigError("tokens", self.tokens, "two or more lengths in ascending order")
        _check("tokens", self.tokens[0])

    def at(self, shares: NDArray[np.float64]) -> Ints:
        """Return the lengths below which these shares of all requests lie."""
        places = np.linspace(0, 1, len(self.tokens))
        return np.rint(np.exp(np.interp(shares, places, np.log(self.tokens)))).astype(np.int64)

    def draw(self, count: int, rng: np.random.Generator) -> Ints:
        """Return ``count`` lengths."""
        return self.at(rng.random(count))


@dataclass(frozen=True)
class Rows:
    """Prompts and outputs of a trace, drawn row by row with replacement: what belongs together stays together."""

    prompt: tuple[int, ...]
    output: tuple[int, ...]

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Return the prompts and the outputs of ``count`` rows."""
        rows = rng.integers(len(self.prompt), size=count)
        return np.array(self.prompt, dtype=np.int64)[rows], np.array(self.output, dtype=np.int64)[rows]


def from_trace(trace: pd.DataFrame) -> Rows:
    """Return the lengths of a trace, to be drawn at another rate.

    Raises
    ------
    ConfigError: for a trace without a request.
    """
    if not len(trace):
        raise ConfigError("trace", "no requests", "at least one")
    return Rows(tuple(trace[PROMPT].tolist()), tuple(trace[OUTPUT].tolist()))


def lengths(spec: int | tuple[int, int] | Lengths) -> Lengths:
    """Return a distribution: of one length, of those from low to high, or the one that is given."""
    if isinstance(spec, tuple):
        return Uniform(*spec)
    return Fixed(spec) if isinstance(spec, int) else spec


# Quantiles (0, 1/24, 2/24 ... 1) of the first 5,000 and 3,000 requests of the Azure LLM inference traces of 2023
# (github.com/Azure/AzurePublicDataset, CC-BY 4.0; Patel et al., Splitwise, ISCA 2024). Prompts and outputs are hardly
# tied there: their rank correlations are 0.05 and -0.05.
# fmt: off
AZURE_CONV_PROMPTS = Quantiles((
    2, 181, 206, 373, 387, 398, 407, 512, 965, 1000, 1018, 1032, 1046, 1061, 1079, 1094, 1114, 1139, 1164, 1219, 1315,
    1820, 2698, 4083, 7930,
))
AZURE_CONV_OUTPUTS = Quantiles((
    10, 37, 50, 62, 74, 84, 91, 98, 107, 130, 152, 177, 217, 375, 386, 394, 396, 399, 405, 411, 418, 427, 441, 507,
    1000,
))
AZURE_CODE_PROMPTS = Quantiles((
    6, 64, 132, 195, 304, 456, 622, 772, 894, 1016, 1111, 1260, 1404, 1635, 1803, 2076, 2276, 2437, 2689, 3053, 3577,
    4227, 5481, 6966, 7437,
))
AZURE_CODE_OUTPUTS = Quantiles((
    6, 6, 6, 7, 8, 8, 9, 9, 10, 10, 11, 12, 13, 14, 15, 16, 17, 19, 22, 26, 33, 46, 60, 103, 1899,
))
# fmt: on
