"""When requests come: an arrival process makes the times, two distributions of lengths make the rest.

``PROCESSES`` is the list to extend: a process turns a number of requests into their times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from costmodel.errors import ConfigError
from costmodel.serving.lengths import Lengths, Rows, from_trace, lengths
from costmodel.serving.workload import ARRIVAL, OUTPUT, PROMPT

Floats = NDArray[np.float64]
Spec = int | tuple[int, int] | Lengths

_MOST_REQUESTS = 10_000_000
_HIGHEST_RATE = 1e9  # requests a second; far above any


def poisson(*, rate: float, count: int, seed: int = 0, **sizes: Any) -> pd.DataFrame:
    """Requests that come independently of each other, ``rate`` a second.

    All processes take ``count``, ``seed`` (the same seed, the same table), and the sizes: ``prompt`` and ``output``,
    each a number of tokens, a range (low, high) or a distribution of ``serving.lengths``; or ``like``, a trace whose
    rows are drawn, prompt and output together. They return a table with id, arrival_s, prompt_tokens, output_tokens.

    Raises
    ------
    ConfigError: for a rate, a count or a length that cannot be.

    >>> poisson(rate=2.0, count=3, prompt=100, output=(10, 20), seed=1).round(3)[["arrival_s", "output_tokens"]].values
    array([[ 1.371, 11.   ],
           [ 1.39 , 16.   ],
           [ 1.682, 18.   ]])
    """
    return generate("poisson", count=count, seed=seed, rate=rate, **sizes)


def gamma(*, rate: float, burstiness: float, count: int, seed: int = 0, **sizes: Any) -> pd.DataFrame:
    """Requests with gamma-distributed gaps, ``rate`` a second on average.

    ``burstiness`` is the shape, as in vLLM's benchmark: 1 is Poisson, less comes in bursts, more is more even. The
    gaps' coefficient of variation is ``burstiness ** -0.5`` (a variation of 13, as in Azure's code trace, is 0.0059).
    """
    return generate("gamma", count=count, seed=seed, rate=rate, burstiness=burstiness, **sizes)


def constant(*, rate: float, count: int, seed: int = 0, **sizes: Any) -> pd.DataFrame:
    """Requests at equal distances, the first at 0."""
    return generate("constant", count=count, seed=seed, rate=rate, **sizes)


def at_once(*, count: int, seed: int = 0, **sizes: Any) -> pd.DataFrame:
    """Requests that all come at 0 (an offline batch)."""
    return generate("at_once", count=count, seed=seed, **sizes)


def closed_loop(*, users: int, count: int, seed: int = 0, **sizes: Any) -> pd.DataFrame:
    """Requests of ``users`` users, each of whom issues the next one when the last has finished.

    ``serving.simulate`` finds the number of users in the table's ``attrs``, unless it is given another.
    """
    _check_count("users", users)
    table = generate("at_once", count=count, seed=seed, **sizes)
    table.attrs["users"] = users
    return table


def generate(process: str, *, count: int, seed: int = 0, **parameters: Any) -> pd.DataFrame:
    """Return a table of requests from a process by name, with its parameters and the sizes; see ``poisson``.

    Raises
    ------
    ConfigError: for a process that is not known, or a figure that it cannot have.
    """
    if process not in PROCESSES:
        raise ConfigError("process", process, f"one of {', '.join(PROCESSES)}")
    _check_count("count", count)
    times, sizes = np.random.default_rng(seed).spawn(2)
    size_names = ("prompt", "output", "like")
    asked = {name: parameters.pop(name, None) for name in size_names}
    arrival = PROCESSES[process](count, times, **parameters)
    prompt, output = _sizes(count, sizes, **asked)
    ids = [f"r{i}" for i in range(count)]
    return pd.DataFrame({"id": ids, ARRIVAL: arrival, PROMPT: prompt, OUTPUT: output})


def _sizes(
    count: int, rng: np.random.Generator, prompt: Spec | None, output: Spec | None, like: pd.DataFrame | Rows | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if like is not None:
        rows = like if isinstance(like, Rows) else from_trace(like)
        return rows.draw(count, rng)
    if prompt is None or output is None:
        missing = "prompt" if prompt is None else "output"
        raise ConfigError(missing, None, "a length, a range of lengths, or a distribution (or a trace as `like`)")
    first, second = rng.spawn(2)
    return lengths(prompt).draw(count, first), lengths(output).draw(count, second)


# ---- processes -----------------------------------------------------------------------------------------------------


def _poisson(count: int, rng: np.random.Generator, *, rate: float) -> Floats:
    return np.cumsum(rng.exponential(1 / _rate(rate), count))


def _gamma(count: int, rng: np.random.Generator, *, rate: float, burstiness: float) -> Floats:
    if not 0 < burstiness < _MOST_REQUESTS:
        raise ConfigError("burstiness", burstiness, "a number above 0 (1: Poisson, less: in bursts)")
    return np.cumsum(rng.gamma(burstiness, 1 / (_rate(rate) * burstiness), count))


def _constant(count: int, rng: np.random.Generator, *, rate: float) -> Floats:  # noqa: ARG001  # nothing to draw
    return np.arange(count) / _rate(rate)


def _at_once(count: int, rng: np.random.Generator) -> Floats:  # noqa: ARG001  # nothing to draw
    return np.zeros(count)


PROCESSES: Mapping[str, Callable[..., Floats]] = {
    "poisson": _poisson,
    "gamma": _gamma,
    "constant": _constant,
    "at_once": _at_once,
}
"""Arrival processes: count, generator and their own parameters to times in seconds, in order."""


def _rate(rate: object) -> float:
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate <= _HIGHEST_RATE:
        raise ConfigError("rate", rate, "requests a second above 0")
    return float(rate)


def _check_count(name: str, count: object) -> None:
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MOST_REQUESTS:
        raise ConfigError(name, count, f"a whole number from 1 to {_MOST_REQUESTS:,}")
