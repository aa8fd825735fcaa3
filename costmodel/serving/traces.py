"""Read request traces in the layouts that people have, and refuse what cannot be read in one sentence with its line.

Layouts, found by their columns (or keys, for JSON lines); ``LAYOUTS`` is the list to extend:

- Azure LLM inference traces of 2023 and 2024, with images or without: TIMESTAMP, ContextTokens, GeneratedTokens
  (github.com/Azure/AzurePublicDataset);
- BurstGPT with 6 or 8 columns: Timestamp, Request tokens, Response tokens (github.com/HPMLL/BurstGPT);
- Mooncake, JSON lines: timestamp in milliseconds, input_length, output_length, hash_ids of 512-token blocks
  (github.com/kvcache-ai/Mooncake);
- recorded vLLM runs of LLMServingSim, JSON lines: queued_ts, input_toks, output_toks
  (github.com/casys-kaist/LLMServingSim);
- plain: arrival_s, prompt_tokens, output_tokens, and if wanted id and priority.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from costmodel.errors import ConfigError
from costmodel.serving.workload import ARRIVAL, OUTPUT, PROMPT

Source = str | Path | bytes | IO[bytes] | IO[str]
ZeroOutput = Literal["skip", "prefill"]

_MOST_TOKENS = 10**9


@dataclass(frozen=True)
class Layout:
    """One layout: which columns it needs, and what they mean.

    Attributes
    ----------
    arrival, prompt, output: its columns for these.
    seconds: turns its column of arrivals (as text or numbers) into seconds, NaN where it cannot.
    from_first: count arrivals from the first one on (its clock starts anywhere).
    extra: columns that are kept, under their names here.
    """

    name: str
    arrival: str
    prompt: str
    output: str
    seconds: Callable[[pd.Series], pd.Series]
    from_first: bool = True
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def needs(self) -> tuple[str, str, str]:
        """The columns without which it is another layout."""
        return self.arrival, self.prompt, self.output


def _numbers(column: pd.Series) -> pd.Series:
    if column.dtype == object:  # JSON may hold anything
        column = column.map(_number)
    return pd.to_numeric(column, errors="coerce").astype(np.float64)


def _number(cell: object) -> float | str:
    """A cell of JSON that can be a number; NaN for one that cannot, such as a whole number larger than any float."""
    try:
        return cell if isinstance(cell, str) else float(cell) if isinstance(cell, int | float) else np.nan
    except OverflowError:
        return np.nan


def _milliseconds(column: pd.Series) -> pd.Series:
    return _numbers(column) / 1000


def _stamps(column: pd.Series) -> pd.Series:
    """Seconds of ISO stamps with up to 9 digits of a fraction, with a zone or (taken as UTC) without."""
    texts = [cell if isinstance(cell, str) else None for cell in column]  # JSON may hold anything
    moments = pd.to_datetime(pd.Series(texts, dtype=object), format="ISO8601", utc=True, errors="coerce")
    first = moments.min()
    return (moments - first) / pd.Timedelta(seconds=1)


LAYOUTS = (
    Layout("azure", "TIMESTAMP", "ContextTokens", "GeneratedTokens", _stamps, extra={"images": "NumImages"}),
    Layout("burstgpt", "Timestamp", "Request tokens", "Response tokens", _numbers, extra={"session": "Session ID"}),
    Layout("mooncake", "timestamp", "input_length", "output_length", _milliseconds, extra={"prefix_ids": "hash_ids"}),
    Layout("llmservingsim", "queued_ts", "input_toks", "output_toks", _numbers, extra={"id": "request_id"}),
    Layout("plain", ARRIVAL, PROMPT, OUTPUT, _numbers, from_first=False, extra={"id": "id", "priority": "priority"}),
)


def read_trace(source: Source, *, zero_output: ZeroOutput = "skip") -> pd.DataFrame:
    """Read a trace.

    Parameters
    ----------
    source: a path, the file's bytes, or an open file. UTF-8, with a byte order mark or without; any line ends.
    zero_output: what a request without a generated token is: "skip" (in most traces a failure) or "prefill" (its prompt
        was read; it counts as one token, which the end of a prompt yields).

    Returns
    -------
    A table of arrival_s, prompt_tokens, output_tokens in order of arrival, and what else the layout has (id, priority,
    prefix_ids, images, session). ``attrs`` says the ``layout`` and, as ``skipped``, how many rows were left out and
    why: without token counts (failed requests), without a prompt, without an output.

    Raises
    ------
    ConfigError: in one sentence, with the line, for what is no trace: other columns, text for a number, a negative one.
    """
    if zero_output not in ("skip", "prefill"):
        raise ConfigError("zero_output", zero_output, "skip or prefill")
    frame, lines = _read(source)
    layout = _layout_of(frame)
    arrival = _arrivals(frame, layout, lines)
    prompt, output = (_tokens(frame[column], lines) for column in (layout.prompt, layout.output))
    table = pd.DataFrame({ARRIVAL: arrival, PROMPT: prompt, OUTPUT: output})
    for name, column in layout.extra.items():
        if column in frame:
            table[name] = _EXTRA.get(name, _as_it_is)(frame[column], lines)
    kept, skipped = _kept(table, zero_output)
    return _ordered(table[kept], layout, skipped)


# ---- from text to columns ------------------------------------------------------------------------------------------


def _read(source: Source) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Return a table of what stands in the file, and the line of each row; blank lines are left out."""
    data = _bytes(source)
    first = next(_filled_lines(io.BytesIO(data)), None)
    if first is None:
        raise ConfigError("trace", "an empty file", "a header and a line for each request")
    number, line = first
    try:
        return _read_json_lines(data) if line.startswith(b"{") else _read_csv(data, number)
    except UnicodeDecodeError:
        raise ConfigError("trace", "bytes that are no UTF-8", "text in UTF-8") from None


def _bytes(source: Source) -> bytes:
    """Return the file's bytes without a byte order mark."""
    if isinstance(source, str | Path):
        try:
            data: bytes | str = Path(source).read_bytes()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ConfigError("trace", str(source), f"a file that can be read ({reason})") from None
    else:
        data = source if isinstance(source, bytes) else source.read()
    return (data if isinstance(data, bytes) else data.encode()).removeprefix(b"\xef\xbb\xbf")


def _filled_lines(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their numbers."""
    for number, line in enumerate(file, start=1):
        if line.strip():
            yield number, line.strip()


def _read_csv(data: bytes, header_line: int) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    try:
        frame = pd.read_csv(
            io.BytesIO(data), skiprows=header_line - 1, dtype=str, skip_blank_lines=False, keep_default_na=False
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        found = str(error).strip().splitlines()[-1]
        raise ConfigError("trace", found, "lines of as many fields as the header has") from None
    frame.columns = [str(name).strip() for name in frame.columns]
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise ConfigError("trace", f"two columns {twice}", "each column once")
    lines = np.arange(len(frame)) + header_line + 1
    blank = np.ones(len(frame), dtype=bool)
    for name in frame:
        column = frame[name][blank]
        blank[blank] = (column.isna() | (column.str.strip() == "")).to_numpy()
    return frame[~blank].reset_index(drop=True), lines[~blank]


def _read_json_lines(data: bytes) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    numbered = list(_filled_lines(io.BytesIO(data)))
    try:
        rows = json.loads(b"[" + b",".join(line for _, line in numbered) + b"]")
    except (ValueError, RecursionError):
        rows = []
    if len(rows) != len(numbered) or not all(isinstance(row, dict) for row in rows):
        rows = [_json_line(number, line) for number, line in numbered]
    return pd.DataFrame(rows), np.array([number for number, _ in numbered], dtype=np.int64)


def _json_line(number: int, line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise ConfigError(f"line {number:,}", line.decode(errors="replace"), "a JSON object")
    return row


# ---- from columns to requests --------------------------------------------------------------------------------------


def _layout_of(frame: pd.DataFrame) -> Layout:
    """Find the layout by its columns."""
    for layout in LAYOUTS:
        if all(column in frame for column in layout.needs):
            return layout
    known = "; ".join(f"{layout.name}: {', '.join(layout.needs)}" for layout in LAYOUTS)
    raise ConfigError("trace", f"columns {', '.join(map(str, frame.columns))}", f"those of a known layout ({known})")


def _arrivals(frame: pd.DataFrame, layout: Layout, lines: NDArray[np.int64]) -> NDArray[np.float64]:
    column = frame[layout.arrival]
    seconds = layout.seconds(column).to_numpy(dtype=np.float64)
    _refuse(~np.isfinite(seconds), column, lines, "a moment in time")
    if layout.from_first and seconds.size:
        seconds = seconds - seconds.min()
    _refuse(seconds < 0, column, lines, "a moment from 0 on")
    return seconds


def _tokens(column: pd.Series, lines: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return a column of token counts, NaN where there is none."""
    absent = (column.isna() | (column == "")).to_numpy()
    counts = _numbers(column).to_numpy()
    wrong = ~absent & ~((counts >= 0) & (counts <= _MOST_TOKENS) & (counts == np.floor(counts)))
    _refuse(wrong, column, lines, f"a whole number of tokens from 0 to {_MOST_TOKENS:,}")
    return np.where(absent, np.nan, counts)


def _as_it_is(column: pd.Series, lines: NDArray[np.int64]) -> Any:  # noqa: ARG001  # others say where they fail
    return column.to_numpy()


def _finite(column: pd.Series, lines: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return a column of numbers."""
    numbers = _numbers(column).to_numpy()
    _refuse(~np.isfinite(numbers), column, lines, "a number")
    return numbers


def _prefix_ids(column: pd.Series, lines: NDArray[np.int64]) -> list[tuple[int, ...] | None]:
    """Return lists of block ids, None where there are none."""
    absent = np.array(
        [not isinstance(cell, str) and (cell == [] or pd.isna(cell) is True) for cell in column], dtype=bool
    )
    right = [isinstance(cell, list) and all(isinstance(i, int | str) for i in cell) for cell in column]
    _refuse(~absent & ~np.array(right, dtype=bool), column, lines, "a list of block ids")
    return [None if gone else tuple(cell) for cell, gone in zip(column, absent, strict=True)]


_EXTRA: Mapping[str, Callable[[pd.Series, NDArray[np.int64]], Any]] = {
    "prefix_ids": _prefix_ids,
    "priority": _finite,
    "images": _finite,
}


def _refuse(wrong: NDArray[np.bool_], column: pd.Series, lines: NDArray[np.int64], expected: str) -> None:
    """Refuse a trace for the first row that is wrong."""
    if wrong.any():
        row = int(wrong.argmax())
        raise ConfigError(f"line {lines[row]:,}, {column.name}", column.iloc[row], expected)


def _kept(table: pd.DataFrame, zero_output: ZeroOutput) -> tuple[NDArray[np.bool_], dict[str, int]]:
    """Which rows are requests, and how many are not, by reason."""
    prompt, output = table[PROMPT].to_numpy(), table[OUTPUT].to_numpy()
    failed = np.isnan(prompt) | np.isnan(output)
    no_prompt = ~failed & (prompt == 0)
    no_output = ~failed & ~no_prompt & (output == 0)
    if zero_output == "prefill":
        table[OUTPUT] = np.where(no_output, 1.0, output)
        no_output = np.zeros(len(table), dtype=bool)
    reasons = {"without token counts": failed, "without a prompt": no_prompt, "without an output": no_output}
    skipped = {reason: int(rows.sum()) for reason, rows in reasons.items() if rows.any()}
    return ~(failed | no_prompt | no_output), skipped


def _ordered(table: pd.DataFrame, layout: Layout, skipped: dict[str, int]) -> pd.DataFrame:
    """Return the requests in order of arrival."""
    table = table.sort_values(ARRIVAL, kind="stable", ignore_index=True)
    if layout.from_first and len(table):
        table[ARRIVAL] -= table[ARRIVAL].iloc[0]
    table = table.astype({PROMPT: np.int64, OUTPUT: np.int64})
    table.attrs = {"layout": layout.name, "skipped": skipped}
    return table
