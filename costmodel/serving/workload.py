"""The table of requests, checked once, and what becomes of requests that no engine could ever finish."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from costmodel.errors import ConfigError
from costmodel.serving.policies.base import Limits
from costmodel.serving.request import Request
from costmodel.serving.words import are, many

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Oversize = Literal["reject", "truncate", "error", "admit"]

ARRIVAL, PROMPT, OUTPUT = "arrival_s", "prompt_tokens", "output_tokens"
_LARGEST = 10**9  # tokens of one request: far above any, and sums of many stay exact


@dataclass(frozen=True)
class Refusal:
    """Why a request could never be finished.

    Attributes
    ----------
    what: its prompt, or what has to be stored of prompt and output. tokens: of it. limit: what they are above.
    """

    what: Literal["prompt", "stored"]
    tokens: int
    limit: str

    def __str__(self) -> str:
        """The reason in words.

        >>> print(Refusal("prompt", 2000, "the 64 KV blocks of 16"))
        its prompt of 2,000 tokens is above the 64 KV blocks of 16
        """
        return self.of_several([self])

    @staticmethod
    def of_several(alike: Sequence[Refusal]) -> str:
        """The reason of refusals that differ in their tokens alone.

        >>> Refusal.of_several([Refusal("stored", tokens, "the 64 KV blocks of 16") for tokens in (2000, 1400, 1700)])
        'their 1,400 to 2,000 tokens to store are above the 64 KV blocks of 16'
        """
        least, most = min(one.tokens for one in alike), max(one.tokens for one in alike)
        tokens = many(most, "token") if least == most else f"{least:,} to {many(most, 'token')}"
        whose = "its" if len(alike) == 1 else "their"
        if alike[0].what == "prompt":
            return f"{whose} prompt{'s' * (len(alike) > 1)} of {tokens} {are(len(alike))} above {alike[0].limit}"
        return f"{whose} {tokens} to store {are(most)} above {alike[0].limit}"


@dataclass(frozen=True)
class Workload:
    """Requests as arrays, in the order of their table.

    Attributes
    ----------
    arrival: seconds (or steps). prompt, output: tokens. names: what they are called, unique.
    priority: lower goes first, where a policy asks. token_ids, prefix_ids: per request, or None.
    refused: why a request is not served, None where it is. notes: what was changed about it, "" for nothing.
    """

    arrival: Floats
    prompt: Ints
    output: Ints
    names: list[str]
    priority: Floats
    token_ids: Sequence[Any] | None = None
    prefix_ids: Sequence[Any] | None = None
    refused: list[Refusal | None] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def longest(self) -> int:
        """P + O of the longest request; 1 without any."""
        return int((self.prompt + self.output).max()) if len(self) else 1

    @property
    def served(self) -> Ints:
        """Places of the requests that are served, in order of arrival, those of one moment in order of the table."""
        order = np.argsort(self.arrival, kind="stable")
        return order[~self.turned_away[order]] if len(self) else order

    @property
    def turned_away(self) -> NDArray[np.bool_]:
        """Which requests are refused."""
        return np.array([refusal is not None for refusal in self.refused], dtype=bool)

    def requests(self) -> list[Request]:
        """Return the served requests as the schedulers' own objects."""
        columns = (self.arrival.tolist(), self.prompt.tolist(), self.output.tolist(), self.priority.tolist())
        arrival, prompt, output, priority = columns
        return [
            Request(
                i,
                self.names[i],
                arrival[i],
                prompt[i],
                output[i],
                priority=priority[i],
                token_ids=_entry(self.token_ids, i, prompt[i]),
                prefix_ids=_entry(self.prefix_ids, i, None),
            )
            for i in self.served.tolist()
        ]


def _entry(column: Sequence[Any] | None, i: int, cut: int | None) -> Any:
    """Return a request's ids, or None where it has none."""
    if column is None or column[i] is None:
        return None
    return column[i] if cut is None else column[i][:cut]


# ---- from a table ----------------------------------------------------------------------------------------------


def workload(table: object) -> Workload:
    """Check a table of requests.

    Parameters
    ----------
    table: a DataFrame (or what makes one) with ``arrival_s``, ``prompt_tokens`` and ``output_tokens``, and if wanted
        ``id``, ``priority``, ``token_ids`` (the prompt's tokens) or ``prefix_ids`` (one id for each 512 tokens).

    Raises
    ------
    ConfigError: for a missing column or a value that is no request, naming the row.
    """
    frame = table if isinstance(table, pd.DataFrame) else pd.DataFrame(cast("Any", table))
    for name in (ARRIVAL, PROMPT, OUTPUT):
        if name not in frame:
            raise ConfigError("requests", f"columns {', '.join(map(str, frame.columns))}", f"a column {name}")
    count = len(frame)
    prompt = _whole_column(frame, PROMPT)
    ids = {name: _id_column(frame, name) for name in ("token_ids", "prefix_ids")}
    _check_lengths(ids["token_ids"], prompt)
    return Workload(
        arrival=_number_column(frame, ARRIVAL, least=0.0),
        prompt=prompt,
        output=_whole_column(frame, OUTPUT),
        names=_names(frame),
        priority=_number_column(frame, "priority") if "priority" in frame else np.zeros(count),
        token_ids=ids["token_ids"],
        prefix_ids=ids["prefix_ids"],
        refused=[None] * count,
        notes=[""] * count,
    )


def _number_column(frame: pd.DataFrame, name: str, least: float = -np.inf) -> Floats:
    """Return a column of finite numbers from ``least`` on."""
    values = pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=np.float64)
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= least)))
    if wrong.size:
        row = int(wrong[0])
        expected = "a number" if least == -np.inf else f"a number from {least:g} on"
        raise ConfigError(f"{name} of row {row + 1}", frame[name].iloc[row], expected)
    return values


def _whole_column(frame: pd.DataFrame, name: str) -> Ints:
    """Return a column of whole numbers from 1 on."""
    values = _number_column(frame, name)
    wrong = np.flatnonzero((values < 1) | (values > _LARGEST) | (values != np.floor(values)))
    if wrong.size:
        row = int(wrong[0])
        raise ConfigError(f"{name} of row {row + 1}", frame[name].iloc[row], f"a whole number from 1 to {_LARGEST:,}")
    return values.astype(np.int64)


def _names(frame: pd.DataFrame) -> list[str]:
    """Return the ids as text, or the row numbers."""
    if "id" not in frame:
        return [str(i) for i in range(len(frame))]
    names = [str(name) for name in frame["id"]]
    if len(set(names)) < len(names):
        twice = pd.Series(names).duplicated().to_numpy().argmax()
        raise ConfigError("id", names[twice], "a different id for each request")
    return names


def _id_column(frame: pd.DataFrame, name: str) -> list[Any] | None:
    """Return a column of id lists, None where a cell is empty."""
    if name not in frame:
        return None
    return [None if _missing(cell) else cell for cell in frame[name]]


def _missing(cell: object) -> bool:
    return cell is None or (isinstance(cell, float) and np.isnan(cell))


def _check_lengths(token_ids: list[Any] | None, prompt: Ints) -> None:
    for i, ids in enumerate(token_ids or []):
        if ids is not None and len(ids) != prompt[i]:
            raise ConfigError(f"token_ids of row {i + 1}", f"{len(ids)} tokens", f"the prompt's {prompt[i]}")


# ---- requests that cannot be finished -----------------------------------------------------------------------------


def fitted(work: Workload, limits: Limits, length: int, oversize: Oversize) -> Workload:
    """Deal with requests that the engine could not finish even if they were alone.

    Outputs end at ``length`` tokens in all, as engines do. A prompt (or what has to be stored) above the limits is
    refused with the reason, cut to fit, raised as an error, or let in ("admit": what a real engine without a check
    does, to its cost).

    Raises
    ------
    ConfigError: for an unknown way, or, with "error", for the first request that does not fit.
    """
    if oversize not in ("reject", "truncate", "error", "admit"):
        raise ConfigError("oversize", oversize, "reject, truncate, error or admit")
    if oversize == "truncate":
        work = _truncated(work, limits)
    work = _ending_at(work, length)
    if oversize == "admit":
        return work
    refused = list(work.refused)
    asked: tuple[tuple[Literal["prompt", "stored"], Ints, int, str], ...] = (
        ("prompt", work.prompt, limits.prompt, limits.prompt_reason),
        ("stored", _stored(work), limits.stored, limits.stored_reason),
    )
    for what, values, limit, reason in asked:
        for i in np.flatnonzero(values > limit).tolist():
            refused[i] = refused[i] or Refusal(what, int(values[i]), reason)
    first = next((i for i, refusal in enumerate(refused) if refusal), None)
    if oversize == "error" and first is not None:
        raise ConfigError(f"request {work.names[first]}", str(refused[first]), "a request that fits")
    return replace(work, refused=refused)


def _stored(work: Workload) -> Ints:
    """Tokens that have to be stored to decode: P + O - 1, and none where the prompt's own token is all."""
    return np.where(work.output > 1, work.prompt + work.output - 1, 0)


def _truncated(work: Workload, limits: Limits) -> Workload:
    """Cut prompts, and where that is not enough outputs, to what fits."""
    if min(limits.prompt, limits.stored) < 1:
        return work
    prompt = np.maximum(np.minimum(work.prompt, np.minimum(limits.prompt, limits.stored - work.output + 1)), 1)
    output = np.minimum(work.output, limits.stored - prompt + 1)
    return _changed(work, prompt, output, "cut to fit")


def _ending_at(work: Workload, length: int) -> Workload:
    """Let outputs end where prompt and output together reach ``length``."""
    output = np.where(work.prompt < length, np.minimum(work.output, length - work.prompt), work.output)
    return _changed(work, work.prompt, output, f"ends at max_model_len {length:,}")


def _changed(work: Workload, prompt: Ints, output: Ints, why: str) -> Workload:
    """Return the workload with other lengths, and a note for each request that has others now."""
    notes = list(work.notes)
    for i in np.flatnonzero((prompt != work.prompt) | (output != work.output)).tolist():
        before, after = (f"{p[i]:,} + {o[i]:,}" for p, o in ((work.prompt, work.output), (prompt, output)))
        notes[i] = f"{why}: {before} tokens became {after}"
    return replace(work, prompt=prompt, output=output, notes=notes)
