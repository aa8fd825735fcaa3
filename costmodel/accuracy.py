"""How far floor and estimate can be trusted: the errors published with the fits, and those on one's own steps.

An error is ``|predicted - measured| / measured``. The published ones are those of ``python -m costmodel.calibration``,
on measurements that the fit had not seen.

Sources: the column ``source`` of ``catalog/accuracy.csv``.
"""

from __future__ import annotations

import csv
import difflib
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from costmodel.catalog import model as catalogue_model
from costmodel.errors import ConfigError
from costmodel.hardware import Hardware, hardware
from costmodel.model import Model
from costmodel.operations import MOST_GPUS
from costmodel.precision import Precision
from costmodel.price import Cost, price
from costmodel.step import Step

STEP, HOST, UNSEEN = "step", "host", "general"
"""Operation of whole steps; of engines' own time; and the "GPU" of errors on GPUs that a fit had not seen."""


@cache
def _published() -> pd.DataFrame:
    with (resources.files("costmodel") / "catalog" / "accuracy.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file)


def published() -> pd.DataFrame:
    """Errors by class of measurement, as shipped.

    Columns: gpu (an id of the catalogue, "general" for GPUs that the fit had not seen, "all"), operation, dtype (an
    engine where operation is "host", a model where it is "step"), regime, n (measurements), floor_median_error (of
    the floor; for "host", of the kernels alone), median_error and p90_error (of the estimate), source.

    >>> steps = published().query("operation == 'step' and gpu == 'all' and regime == 'dense' and dtype == 'all'")
    >>> bool(steps.median_error.item() < 0.09 < steps.floor_median_error.item())
    True
    """
    return _published().copy()


def gpus() -> tuple[str, ...]:
    """Ids of the GPUs whose errors were published, in the order of the catalogue of machines."""
    found = set(_published().gpu)
    return tuple(id_ for id_ in hardware() if id_ in found)


def operations() -> tuple[str, ...]:
    """Operations whose errors were published: whole steps first, then kernels; without engines' own time.

    >>> operations()[:3]
    ('step', 'matmul', 'attention_decode')
    """
    kernels = dict.fromkeys(name for name in _published().operation if name not in {STEP, HOST})
    return (STEP, *kernels)


# ---- a table of one's own measurements --------------------------------------------------------------------------

MOST_BYTES = 2_000_000
MOST_ROWS = 5_000
COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "model": "id of a model",
        "hardware": "id of a machine",
        "seconds": "what one step took",
        "phase": "decode, prefill or mixed; blank: by the cells that are filled",
        "new": "prompt tokens in the step (prefill, mixed)",
        "cached": "tokens of that prompt already cached; blank: 0",
        "batch": "sequences; blank: 1",
        "context": "cached tokens of each sequence that decodes (decode, mixed)",
        "precision": "format of the weights; blank: as stored",
        "compute": "format of the arithmetic; blank: that of the weights where the chip has a unit for it",
        "kv": "format of the caches; blank: as stored",
        "tensor_parallel": "GPUs that share each layer; blank: 1",
        "host": "engine whose own time is in the measurement; blank: none",
        "note": "anything; it is shown beside the row",
    }
)
"""Columns of a table of measured steps, and what they hold. The first three are needed."""

_NEEDED = tuple(COLUMNS)[:3]
_MOST_TOKENS = 1e9
_MOST_SECONDS = 1e6


@dataclass(frozen=True)
class Measured:
    """One measured step, as its line says; ``line`` counts from 1 at the heading."""

    line: int
    model: Model
    hardware: Hardware
    seconds: float
    phase: str
    new: int
    cached: int
    batch: int
    context: int
    precision: Precision
    tensor_parallel: int
    host: str | None
    note: str

    @property
    def kind(self) -> tuple[object, ...]:
        """What steps must share to be priced together."""
        return self.model.name, self.model, self.hardware, self.phase, self.precision, self.tensor_parallel, self.host


def read_steps(text: str | bytes, models: Mapping[str, Model] | None = None) -> list[Measured]:
    r"""Read a table of measured steps: CSV with a heading, columns of ``COLUMNS`` in any order.

    Parameters
    ----------
    text: the file; it is not trusted.
    models: further models by the id that the table may name them with.

    Raises
    ------
    ConfigError: for what is no such table; it names the line.

    >>> [row] = read_steps("model,hardware,context,seconds\nqwen3-0.6b,h100-sxm,2048,0.0013")
    >>> row.phase, row.batch, row.context
    ('decode', 1, 2048)
    """
    rows = [_measured(line, cells, models or {}) for line, cells in _lines(_decoded(text))]
    if not rows:
        raise ConfigError("table", "no line below the heading", "a line for each measured step")
    return rows


def _decoded(text: str | bytes) -> str:
    if len(text) > MOST_BYTES:
        raise ConfigError("table", f"{len(text):,} bytes", f"at most {MOST_BYTES:,}")
    if isinstance(text, str):
        return text.removeprefix("\ufeff")
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError("table", "bytes that are not UTF-8", "a CSV file in UTF-8") from None


def _lines(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """(line number, cells by column) of each line that holds something."""
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    heading: list[str] = []
    for count, cells in enumerate(_safely(reader)):
        stripped = [cell.strip() for cell in cells]
        if not heading:
            heading = _heading(stripped)
        elif any(stripped):
            if count > MOST_ROWS:
                raise ConfigError("table", f"more than {MOST_ROWS:,} lines", "fewer")
            if len(stripped) != len(heading):
                expected = f"{len(heading)}, as the heading has"
                raise ConfigError(f"line {reader.line_num}", f"{len(stripped)} cells", expected)
            yield reader.line_num, dict(zip(heading, stripped, strict=True))


def _safely(reader: Any) -> Iterator[list[str]]:
    try:
        yield from reader
    except csv.Error as error:
        raise ConfigError(f"line {reader.line_num}", str(error), "cells with commas between") from None


def _heading(cells: Sequence[str]) -> list[str]:
    names = [cell.lower() for cell in cells]
    missing = [name for name in _NEEDED if name not in names]
    if missing:
        raise ConfigError("line 1", ", ".join(names) or "nothing", f"a heading with {', '.join(_NEEDED)}")
    for name in names:
        if name not in COLUMNS or names.count(name) > 1:
            raise ConfigError("line 1", name, f"each column once, of {', '.join(COLUMNS)}")
    return names


def _measured(line: int, cells: Mapping[str, str], models: Mapping[str, Model]) -> Measured:
    row = _Row(line, cells)
    machine = row.named("hardware", {id_: id_ for id_ in hardware()})
    known = {id_: id_ for id_ in (*catalogue_model(), *models)}
    name = row.named("model", known)
    hw = hardware(machine)
    phase = row.phase()
    return Measured(
        line=line,
        model=models[name] if name in models else catalogue_model(name),
        hardware=hw,
        seconds=row.seconds(),
        phase=phase,
        new=row.whole("new", 1, _MOST_TOKENS, None) if "new" in _SIZES[phase] else 0,
        cached=row.whole("cached", 0, _MOST_TOKENS, 0) if "cached" in _SIZES[phase] else 0,
        batch=row.whole("batch", 1, _MOST_TOKENS, 1),
        context=row.whole("context", 0, _MOST_TOKENS, None) if "context" in _SIZES[phase] else 0,
        precision=row.precision(hw),
        tensor_parallel=row.whole("tensor_parallel", 1, MOST_GPUS, 1),
        host=row.cell("host") or None,
        note=row.cell("note"),
    )


_SIZES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "decode": ("batch", "context"),
        "prefill": ("new", "cached", "batch"),
        "mixed": ("new", "cached", "batch", "context"),
    }
)
"""The sizes that a phase has."""


@dataclass(frozen=True)
class _Row:
    """One line's cells, read with its number in every complaint."""

    line: int
    cells: Mapping[str, str]

    def cell(self, name: str) -> str:
        return self.cells.get(name, "")

    def error(self, name: str, expected: str) -> ConfigError:
        return ConfigError(f"line {self.line}, {name}", self.cell(name) or "nothing", expected)

    def named(self, name: str, known: Mapping[str, str]) -> str:
        found = known.get(self.cell(name).lower())
        if found is None:
            near = difflib.get_close_matches(self.cell(name)[:80].lower(), list(known), n=3, cutoff=0.4)
            such = near or list(known)[:3]
            raise self.error(name, f"an id of the catalogue, such as {', '.join(such)}")
        return found

    def seconds(self) -> float:
        try:
            value = float(self.cell("seconds"))
        except ValueError:
            value = math.nan
        if not 0 < value <= _MOST_SECONDS:
            raise self.error("seconds", f"seconds above 0 and at most {_MOST_SECONDS:,.0f}, with a point")
        return value

    def whole(self, name: str, low: int, high: float, default: int | None) -> int:
        text = self.cell(name)
        if not text and default is not None:
            return default
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (low <= value <= high and value == round(value)):
            raise self.error(name, f"a whole number from {low} to {high:,.0f}")
        return int(value)

    def phase(self) -> str:
        filled = {name for name in ("new", "context") if self.cell(name)}
        phase = self.cell("phase").lower() or _PHASES[frozenset(filled)]
        if phase not in _SIZES:
            raise self.error("phase", "decode (with a context), prefill (with new tokens) or mixed (with both)")
        extra = [name for name in ("new", "cached", "context") if self.cell(name) and name not in _SIZES[phase]]
        if extra:
            raise self.error(extra[0], f"nothing there in a {phase} step")
        return phase

    def precision(self, hw: Hardware) -> Precision:
        weights, kv, compute = (self.cell(name).lower() or None for name in ("precision", "kv", "compute"))
        try:
            asked = Precision(weights=weights, kv=kv, compute=compute)
        except ConfigError as error:
            raise ConfigError(f"line {self.line}, {error.key}", error.found, error.expected) from None
        if compute is None and weights in hw.compute_dtypes:
            return Precision(weights=weights, kv=kv, compute=weights)
        return asked


_PHASES: Mapping[frozenset[str], str] = MappingProxyType(
    {
        frozenset(): "",
        frozenset({"new"}): "prefill",
        frozenset({"context"}): "decode",
        frozenset({"new", "context"}): "mixed",
    }
)


# ---- judging it --------------------------------------------------------------------------------------------------


def judge(rows: Iterable[Measured]) -> pd.DataFrame:
    """Price each measured step as a floor and as an estimate.

    Returns
    -------
    A row a step, in order, with its line, model and hardware (names), weights (their format, "" as stored), phase,
    new, cached, batch, context, tensor_parallel, note; measured, floor, estimate, low and high in seconds; floor_error
    and estimate_error as signed fractions of what was measured; and beats_floor: faster than anything can be, so that
    the measurement or its line must be wrong. The floor of a mixture reads the expected number of experts, and a step
    may beat it whose tokens went to fewer; nothing beats the one in which all went to the same.

    Raises
    ------
    ConfigError: for a step that cannot be priced; it names the line.
    """
    groups: dict[tuple[object, ...], list[Measured]] = {}
    for row in rows:
        groups.setdefault(row.kind, []).append(row)
    judged = pd.concat([_judged(group) for group in groups.values()])
    return judged.sort_values("line", ignore_index=True)


_SHOWN = ("line", "phase", "new", "cached", "batch", "context", "tensor_parallel", "note")
_ROUNDING = 1e-9


def _judged(group: Sequence[Measured]) -> pd.DataFrame:
    one = group[0]
    table = pd.DataFrame({name: [getattr(row, name) for row in group] for name in _SHOWN})
    table["model"], table["hardware"], table["weights"] = one.model.name, one.hardware.name, one.precision.weights or ""
    table["measured"] = [row.seconds for row in group]
    floor, estimate = _priced(group, "datasheet", None), _priced(group, "calibrated", one.host)
    table = table.assign(floor=floor.seconds, estimate=estimate.seconds, low=estimate.low, high=estimate.high)
    for name in ("floor", "estimate"):
        table[f"{name}_error"] = table[name] / table["measured"] - 1
    table["beats_floor"] = floor.least_seconds / table["measured"] - 1 > _ROUNDING
    return table


def _priced(group: Sequence[Measured], rates: str, host: str | None) -> Cost:
    one = group[0]
    sizes = {name: np.array([getattr(row, name) for row in group], float) for name in _SIZES["mixed"]}
    try:
        return price(
            one.model,
            one.hardware,
            _STEPS[one.phase](**sizes),
            precision=one.precision,
            rates=rates,
            tensor_parallel=one.tensor_parallel,
            host=host,
        )
    except ConfigError as error:
        raise ConfigError(f"line {one.line}, {error.key}", error.found, error.expected) from None


def _decode(new: Any, cached: Any, batch: Any, context: Any) -> Step:  # noqa: ARG001
    return Step.decode(batch, context)


def _prefill(new: Any, cached: Any, batch: Any, context: Any) -> Step:  # noqa: ARG001
    return Step.prefill(new, cached, batch=batch)


def _mixed(new: Any, cached: Any, batch: Any, context: Any) -> Step:
    return Step.mixed(new, cached, batch, context)


_STEPS = MappingProxyType({"decode": _decode, "prefill": _prefill, "mixed": _mixed})


@dataclass(frozen=True)
class Summary:
    """What a judged table comes to.

    Attributes
    ----------
    rows: steps that count: all that do not beat the floor.
    impossible: steps that do.
    unexpected: of those that count, steps faster than a floor that rests on the expected number of experts.
    floor, estimate: median absolute errors. estimate_p90: nine in ten of the estimates are within this.
    in_band: share of the steps that lie in the estimate's own band.
    """

    rows: int
    impossible: int
    unexpected: int
    floor: float
    estimate: float
    estimate_p90: float
    in_band: float


def faster_than_expected(judged: pd.DataFrame) -> pd.Series:
    """Which steps of a judged table are faster than the expected floor of a mixture, and may be: they count."""
    faster: pd.Series = (judged.floor_error > _ROUNDING) & ~judged.beats_floor
    return faster


def summarise(judged: pd.DataFrame) -> Summary:
    """Sum up a judged table; errors are NaN where no step counts."""
    counts = judged[~judged.beats_floor]
    inside = (counts.low <= counts.measured) & (counts.measured <= counts.high)
    floor, estimate = counts.floor_error.abs(), counts.estimate_error.abs()
    rows = len(counts)
    return Summary(
        rows,
        len(judged) - rows,
        unexpected=int(faster_than_expected(judged).sum()),
        floor=float(floor.median()),
        estimate=float(estimate.median()),
        estimate_p90=float(estimate.quantile(0.9)),
        in_band=float(inside.mean()) if rows else math.nan,
    )


SAMPLE = """\
model,hardware,phase,batch,context,seconds,precision,note
llama-2-7b,a100-sxm-80,decode,1,105,0.009533,bf16,gpt-fast: 104.9 tokens/s
llama-2-7b,a100-sxm-80,decode,1,105,0.006428,int8,gpt-fast: 155.58 tokens/s
llama-2-7b,a100-sxm-80,decode,1,105,0.005081,int4,gpt-fast: 196.8 tokens/s
llama-3.1-8b,a100-sxm-80,decode,1,105,0.010651,bf16,gpt-fast: 93.89 tokens/s
llama-3.1-8b,a100-sxm-80,decode,1,105,0.007265,int8,gpt-fast: 137.64 tokens/s
llama-2-7b,a10,decode,1,154,0.027,fp16,TurboMind: 27 ms a token
"""
"""A table to start from: public measurements at batch 1 (pytorch-labs/gpt-fast README; InternLM/lmdeploy issue 210)."""
