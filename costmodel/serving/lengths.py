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
    """Between quantiles, linear in the logarithm: a trace's lengths in a few numbers.

    Attributes
    ----------
    tokens: the quantiles, from the least to the greatest length.
    shares: of all requests, those that are not longer, from 0 to 1; None: equally spaced.
    """

    tokens: tuple[int, ...]
    shares: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        _check("tokens", min(self.tokens, default=0))
        if len(self.tokens) < 2 or list(self.tokens) != sorted(self.tokens):  # noqa: PLR2004  # two ends at least
            raise ConfigError("tokens", self.tokens, "two or more lengths in ascending order")
        shares = self.tokens if self.shares is None else self.shares
        if len(shares) != len(self.tokens) or list(shares) != sorted(shares):
            raise ConfigError("shares", self.shares, "a share for each length, in ascending order")

    def draw(self, count: int, rng: np.random.Generator) -> Ints:
        """Return ``count`` lengths."""
        shares = np.linspace(0, 1, len(self.tokens)) if self.shares is None else np.array(self.shares)
        drawn = np.exp(np.interp(rng.random(count), shares, np.log(self.tokens)))
        return np.rint(drawn).astype(np.int64)


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


# Quantiles of the first 5,000 and 3,000 requests of the Azure LLM inference traces of 2023 (github.com/Azure/
# AzurePublicDataset, CC-BY 4.0; Patel et al., Splitwise, ISCA 2024), every twentieth and four in the upper tail.
# Prompts and outputs are hardly tied there: their rank correlations are 0.05 and -0.05.
_SHARES = (*(i / 20 for i in range(20)), 0.97, 0.99, 0.997, 1.0)
# fmt: off
AZURE_CONV_PROMPTS = Quantiles((
    2, 181, 238, 382, 396, 407, 843, 983, 1010, 1029, 1046, 1065, 1085, 1106, 1135, 1164, 1234, 1351, 2314, 4080,
    4087, 4107, 4185, 7930,
), _SHARES)
AZURE_CONV_OUTPUTS = Quantiles((
    10, 40, 55, 69, 82, 91, 99, 114, 142, 171, 217, 376, 390, 396, 398, 405, 413, 421, 431, 487, 534, 638, 907, 1000,
), _SHARES)
AZURE_CODE_PROMPTS = Quantiles((
    6, 76, 156, 250, 406, 622, 799, 931, 1060, 1201, 1404, 1691, 1892, 2168, 2411, 2689, 3165, 3758, 4822, 6586,
    7433, 7436, 7436, 7437,
), _SHARES)
AZURE_CODE_OUTPUTS = Quantiles((
    6, 6, 7, 7, 8, 9, 9, 10, 11, 12, 13, 14, 15, 17, 19, 22, 27, 37, 55, 89, 131, 253, 697, 1899,
), _SHARES)
# fmt: on
