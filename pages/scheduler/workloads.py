"""Requests as the page's controls describe them: when they come and how long they are, or an uploaded trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from costmodel import serving
from costmodel.errors import ConfigError
from pages.parts import state

MOST_ROWS = 2000  # of an uploaded trace: what the page's engine replays while somebody waits

ARRIVALS: Mapping[str, str] = {
    "poisson": "independent (Poisson)",
    "gamma": "in bursts (gamma)",
    "constant": "evenly spaced",
    "at_once": "all at once",
    "closed_loop": "closed loop of users",
}
LENGTHS: Mapping[str, str] = {
    "fixed": "all equal",
    "uniform": "uniform, half to one and a half",
    "lognormal": "lognormal",
    "azure_conv": "as Azure conversations 2023",
    "azure_code": "as Azure code completion 2023",
}
_SPREAD = 0.6  # sigma of the lognormal: two in three within a factor of 1.8


@dataclass(frozen=True)
class Workload:
    """What the controls ask for; equal settings give equal requests."""

    arrivals: str
    rate: float
    burstiness: float
    users: int
    count: int
    prompt: str
    prompt_tokens: int
    output: str
    output_tokens: int
    seed: int
    shared_prefix: int

    @classmethod
    def asked(cls) -> Workload:
        """The workload of the controls in this run."""
        value = state.value
        return cls(
            arrivals=value("arrivals"),
            rate=float(value("rate")),
            burstiness=value("burstiness"),
            users=value("users"),
            count=value("requests"),
            prompt=value("prompt_kind"),
            prompt_tokens=value("prompt_length"),
            output=value("output_kind"),
            output_tokens=value("output_length"),
            seed=value("seed"),
            shared_prefix=value("shared_prefix"),
        )

    def table(self, rate: float | None = None, count: int | None = None) -> pd.DataFrame:
        """The requests; at another rate or in another number where one is given."""
        arguments = self.arguments() | {"count": count or self.count}
        if "rate" in arguments and rate is not None:
            arguments["rate"] = rate
        requests: pd.DataFrame = getattr(serving, self.arrivals)(**arguments)
        return self._with_prefix(requests) if self.shared_prefix else requests

    def arguments(self) -> dict[str, Any]:
        """What the process of the arrivals is called with."""
        return {
            **{name: getattr(self, name) for name in _PARAMETERS[self.arrivals]},
            "count": self.count,
            "seed": self.seed,
            "prompt": _lengths(self.prompt, self.prompt_tokens, _AZURE_PROMPTS),
            "output": _lengths(self.output, self.output_tokens, _AZURE_OUTPUTS),
        }

    def _with_prefix(self, requests: pd.DataFrame) -> pd.DataFrame:
        """Let every prompt begin with the same tokens (a system prompt), as far as it is long enough."""
        own = range(len(requests))
        ids = [
            [(0, i) if i < self.shared_prefix else (request + 1, i) for i in range(tokens)]
            for request, tokens in zip(own, requests["prompt_tokens"], strict=True)
        ]
        attrs = dict(requests.attrs)
        requests = requests.assign(token_ids=pd.Series(ids, index=requests.index))
        requests.attrs.update(attrs)
        return requests


_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "poisson": ("rate",),
    "gamma": ("rate", "burstiness"),
    "constant": ("rate",),
    "at_once": (),
    "closed_loop": ("users",),
}
"""What each process takes beside the sizes; a field of the workload each."""
_AZURE_PROMPTS = {"azure_conv": serving.AZURE_CONV_PROMPTS, "azure_code": serving.AZURE_CODE_PROMPTS}
_AZURE_OUTPUTS = {"azure_conv": serving.AZURE_CONV_OUTPUTS, "azure_code": serving.AZURE_CODE_OUTPUTS}


def _lengths(kind: str, tokens: int, traced: Mapping[str, serving.Quantiles]) -> Any:
    if kind in traced:
        return traced[kind]
    if kind == "uniform":
        return (max(1, tokens // 2), tokens + tokens // 2)
    return serving.Lognormal(tokens, _SPREAD) if kind == "lognormal" else tokens


def read_upload(content: bytes) -> pd.DataFrame:
    """The requests of an uploaded trace, the first ``MOST_ROWS`` of them.

    Raises
    ------
    ConfigError: for a file that is no trace; it names the line.
    """
    table = serving.read_trace(content).head(MOST_ROWS).reset_index(drop=True)
    if table.empty:
        raise ConfigError("trace", "no request with a prompt and an output", "one at least")
    if "id" not in table:
        table = table.assign(id=[f"r{i}" for i in range(len(table))])
    return table
