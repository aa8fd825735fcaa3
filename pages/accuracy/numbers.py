"""The published errors as rows of a picture: what is shown, grouped as the controls say, with each class beneath."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from types import MappingProxyType
from typing import Any

import pandas as pd

import costmodel as cm
from costmodel import accuracy
from costmodel.dtypes import DTYPES
from costmodel.model import Experts
from pages.parts.datasets import Dataset, of_frames

OPERATIONS: Mapping[str, str] = MappingProxyType(
    {
        "step": "Whole steps",
        "matmul": "Matrix multiply",
        "attention_decode": "Attention, decode",
        "attention_prefill": "Attention, prefill",
        "mla_decode": "Latent attention, decode",
        "mla_prefill": "Latent attention, prefill",
        "moe": "Experts",
        "all_reduce": "All-reduce",
        "elementwise": "Norms, activations",
    }
)
"""Operations in words, in the order of the picture."""

DATA_CENTRE = ("a100-sxm-80", "h100-sxm", "b200", "gb200")
_REGIMES = ("dense", "MoE", "decode", "prefill", "all")


@dataclass(frozen=True)
class Row:
    """One line of the picture: errors as fractions, each the mean over the classes beneath of their figure.

    ``regime``: "decode", "prefill", or for whole steps "dense" or "MoE"; "all" where there is one.
    """

    name: str
    regime: str
    floor: float
    estimate: float
    p90: float
    measurements: int
    classes: int

    @property
    def label(self) -> str:
        """Name and regime, unless the name has it already."""
        if self.regime == "all" or self.name.endswith(self.regime):
            return self.name
        return f"{self.name}, {self.regime}"


@dataclass(frozen=True)
class Errors:
    """Published errors as the controls ask for them.

    Attributes
    ----------
    rows_are: "operation", "gpu" or "dtype".
    gpu: an id, "all" (measured ones) or "general" (ones that the fit had not seen).
    operation: a key of ``OPERATIONS`` or "all".
    """

    rows_are: str = "operation"
    gpu: str = "all"
    operation: str = "all"

    @cached_property
    def classes(self) -> pd.DataFrame:
        """One row a class (GPU, operation, format, regime), with the ``name`` of the line that it belongs to."""
        table = accuracy.published()
        table = table[(table.operation != accuracy.HOST) & (table.gpu != "all")]
        table = table[table.gpu == self.gpu] if self.gpu != "all" else table[table.gpu != accuracy.UNSEEN]
        if self.operation != "all":
            table = table[table.operation == self.operation]
        elif self.rows_are != "operation":
            table = table[table.regime.isin(["decode", "prefill"])]
        key, order = _KEYS[self.rows_are]
        pairs = list(zip(table[key], table.regime, strict=True))
        rank = [(order(value), _REGIMES.index(regime)) for value, regime in pairs]
        names = [_name(key, value) for value, _ in pairs]
        return table.assign(name=names, rank=pd.Series(rank, index=table.index)).sort_values(
            "rank", kind="stable", ignore_index=True
        )

    @cached_property
    def rows(self) -> list[Row]:
        """The lines of the picture, from top to bottom."""
        return [_row(str(name), str(regime), part) for (name, regime), part in self._grouped()]

    def _grouped(self) -> Any:
        return self.classes.groupby(["name", "regime"], sort=False)

    def picture(self, pitch: float, top: float) -> dict[str, pd.DataFrame]:
        """Data of the chart: ``lines`` and ``dots`` (a class each) at their height in px, and the ``frame``."""
        heights = {(row.name, row.regime): top + pitch * i for i, row in enumerate(self.rows)}
        lines = pd.DataFrame(
            [
                {
                    "y": heights[row.name, row.regime],
                    "label": row.label,
                    "regime": row.regime,
                    "floor": row.floor,
                    "estimate": row.estimate,
                    "p90": row.p90,
                }
                for row in self.rows
            ]
        )
        dots = pd.DataFrame(
            {
                "y": [
                    heights[name, regime] for name, regime in zip(self.classes.name, self.classes.regime, strict=True)
                ],
                "regime": self.classes.regime,
                "floor": self.classes.floor_median_error,
                "estimate": self.classes.median_error,
                "said": [_class_name(row) for row in self.classes.itertuples()],
            }
        )
        return {"frame": pd.DataFrame([{"rows": len(lines)}]), "lines": lines, "dots": dots}


@lru_cache(maxsize=64)
def asked(rows_are: str, gpu: str, operation: str) -> Errors:
    """The published errors as asked for, grouped once for everybody."""
    return Errors(rows_are, gpu, operation)


@lru_cache(maxsize=64)
def drawn(errors: Errors, pitch: float, top: float) -> dict[str, Dataset]:
    """Data of the chart, made once for everybody."""
    return of_frames(errors.picture(pitch, top))


def _order(values: Any) -> Callable[[str], int]:
    known = list(values)
    return lambda value: known.index(value) if value in known else len(known)


_KEYS: Mapping[str, tuple[str, Callable[[str], int]]] = MappingProxyType(
    {
        "operation": ("operation", _order(OPERATIONS)),
        "gpu": ("gpu", _order(cm.hardware())),
        "dtype": ("dtype", _order([*DTYPES, *(f"{w}@{c}" for w in DTYPES for c in DTYPES), *cm.model()])),
    }
)
"""Column that a grouping goes by, and the order of its values."""


def _row(name: str, regime: str, part: pd.DataFrame) -> Row:
    of_all_steps = name == OPERATIONS[accuracy.STEP] and len(set(part.gpu)) > 1  # judged together too
    figures = whole_steps(regime) if of_all_steps else part[["floor_median_error", "median_error", "p90_error"]].mean()
    return Row(
        name=name,
        regime=regime,
        floor=float(figures.floor_median_error),
        estimate=float(figures.median_error),
        p90=float(figures.p90_error),
        measurements=int(part.n.sum()),
        classes=len(part),
    )


@cache
def whole_steps(regime: str) -> Any:
    """Errors on all judged whole steps of "dense" or "MoE" models, as one row."""
    table = accuracy.published()
    chosen = (table.operation == accuracy.STEP) & (table.gpu == "all") & (table.dtype == "all")
    return table[chosen & (table.regime == regime)].iloc[0]


def _name(key: str, value: str) -> str:
    if key == "operation":
        return OPERATIONS[value]
    if key == "gpu":
        return gpu_name(value)
    return cm.model(value).name if value in cm.model() else format_name(value)


def format_name(key: str) -> str:
    """A format key in words: "int4@bf16" is int4 unpacked to bf16.

    >>> format_name("int4@bf16"), format_name("fp8")
    ('int4 in bf16', 'fp8')
    """
    return key.replace("@", " in ")


def gpu_name(gpu: str) -> str:
    """Name of a GPU of the errors."""
    return {"all": "All measured GPUs", accuracy.UNSEEN: "A GPU it never saw"}.get(gpu) or cm.hardware(gpu).name


def _class_name(row: Any) -> str:
    return f"{gpu_name(row.gpu)}, {OPERATIONS[row.operation]}, {_name('dtype', row.dtype)}"


# ---- classes by name, for the words ------------------------------------------------------------------------------


@cache
def classes(operation: str, regime: str | None = None, gpus: tuple[str, ...] = ()) -> pd.DataFrame:
    """Published errors of an operation, of some GPUs (none given: all measured ones)."""
    table = accuracy.published()
    table = table[table.operation == operation]
    table = table[table.gpu.isin(gpus)] if gpus else table[~table.gpu.isin(["all", accuracy.UNSEEN])]
    return table if regime is None else table[table.regime == regime]


def kind_of(model: cm.Model) -> str:
    """Class of whole steps that a model belongs to."""
    routed = any(isinstance(layer.mlp, Experts) for layer, _ in model.distinct_layers)
    return "MoE" if routed else "dense"
