"""The numbers of the Model page: what was read from a config, layer by layer, all of it from ``cm.Model``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import pandas as pd

import costmodel as cm
from costmodel.dtypes import DTYPES
from costmodel.model import Experts, Layer
from pages.parts.layers import mixer_name, mixer_sizes, mlp_name, mlp_sizes
from pages.parts.scenario import Scenario

_MOST_SIZES = 3  # rows of the picture for one thing in several sizes (pruned models have dozens)


@dataclass(frozen=True)
class Kind:
    """Layers that are alike: how many, where, and what one of them has.

    Attributes
    ----------
    places: their positions, counted from 1.
    one, two: the model with one such layer and with two: what the second adds is what a layer has, counted as the
    model counts it. one_used, two_used: the same with only those routed experts that one token is sent to.
    """

    layer: Layer
    places: tuple[int, ...]
    one: cm.Model
    two: cm.Model
    one_used: cm.Model
    two_used: cm.Model

    @classmethod
    def of(cls, model: cm.Model, layer: Layer, places: Sequence[int]) -> Kind:
        """The kind of one layer of a model."""
        used = _of_one_token(layer)
        pairs = [model.replace(layers=((each, number),)) for each in (layer, used) for number in (1, 2)]
        return cls(layer, tuple(places), *pairs)

    @property
    def count(self) -> int:
        return len(self.places)

    @property
    def params(self) -> int:
        return self.two.total_params - self.one.total_params

    @property
    def active_params(self) -> int:
        """Parameters of one layer that one token uses."""
        return self.two.active_params - self.one.active_params

    @property
    def weight_bytes(self) -> float:
        """Bytes of one layer as stored."""
        return self.two.weight_bytes - self.one.weight_bytes

    @property
    def active_bytes(self) -> float:
        """Of those, what one token's experts and everything else take."""
        return self.two_used.weight_bytes - self.one_used.weight_bytes

    @property
    def state_bytes(self) -> float:
        """State of one sequence in one layer."""
        return self.two.state_bytes - self.one.state_bytes

    @property
    def kv_values(self) -> int:
        """Values that a token leaves in the cache of one layer, windows ignored."""
        return self.two.kv_values_per_token - self.one.kv_values_per_token

    def kept_bytes(self, context: int, kv_dtype: str) -> float:
        """What one layer keeps of a sequence: its cache, clipped by a window, or its state."""
        cache = self.two.kv_bytes(context, kv_dtype) - self.one.kv_bytes(context, kv_dtype)
        return cache + self.state_bytes


@lru_cache(maxsize=32)
def kinds_of(model: cm.Model) -> tuple[Kind, ...]:
    """The different layers of a model in order of first appearance."""
    places: dict[Layer, list[int]] = {}
    position = 0
    for layer, count in model.layers:
        places.setdefault(layer, []).extend(range(position + 1, position + count + 1))
        position += count
    return tuple(Kind.of(model, layer, where) for layer, where in places.items())


@dataclass(frozen=True)
class Understood:
    """A model as it was read, and the context at which its caches are shown."""

    scenario: Scenario
    context: int

    @property
    def model(self) -> cm.Model:
        return self.scenario.model

    @property
    def kv_dtype(self) -> str:
        """Format of the caches, as the sidebar has it."""
        return self.scenario.formats.kv

    @property
    def is_sparse(self) -> bool:
        """Whether a token uses a part of the parameters only."""
        return self.model.active_matrix_params != self.model.matrix_params

    @property
    def kv_bytes_a_token(self) -> float:
        """Bytes that a token leaves in the caches of all layers, windows ignored."""
        return self.model.kv_values_per_token * DTYPES[self.kv_dtype].bytes

    @property
    def cache_bytes(self) -> float:
        """Caches of one sequence at the page's context; windows clip."""
        return self.model.kv_bytes(self.context, self.kv_dtype)

    @property
    def quantized_params(self) -> int:
        """Parameters in the matrices that the checkpoint stores quantized."""
        return sum(matrix.params * count for matrix, count, quantized in self.model.matrices() if quantized)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The different layers in order of first appearance."""
        return kinds_of(self.model)

    def kv_bytes(self, kind: Kind) -> float:
        """Bytes that a token leaves in the cache of one layer, windows ignored."""
        return kind.kv_values * DTYPES[self.kv_dtype].bytes

    def kept_bytes(self, kind: Kind) -> float:
        """What one layer keeps of a sequence at the page's context."""
        return kind.kept_bytes(self.context, self.kv_dtype)

    @property
    def outside_bytes(self) -> tuple[float, float]:
        """Stored bytes before the layers (embedding, positions, final norm) and of a head of its own after them."""
        layers = sum(kind.weight_bytes * kind.count for kind in self.kinds)
        head = self.model.weight_bytes - self.model.replace(tied=True).weight_bytes
        return self.model.weight_bytes - layers - head, head

    # ---- what the picture is drawn from ----------------------------------------------------------------------

    @property
    def lanes(self) -> list[Lane]:
        """Rows of the picture: first how tokens meet, then the MLPs; many sizes of one thing share a row."""
        return [*self._lanes("mixer", mixer_name, mixer_sizes), *self._lanes("mlp", mlp_name, mlp_sizes)]

    def _lanes(self, part: str, name: Callable[[Any], str], sizes: Callable[[Any], str]) -> list[Lane]:
        found: dict[str, dict[str, list[int]]] = {}
        for kind in self.kinds:
            piece = getattr(kind.layer, part)
            if piece is not None:
                found.setdefault(name(piece), {}).setdefault(sizes(piece), []).extend(kind.places)
        lanes = []
        for what, by_size in found.items():
            rows = by_size
            if len(by_size) > _MOST_SIZES:
                together = [place for places in by_size.values() for place in places]
                rows = {f"{len(by_size)} different sizes": together}
            lanes += [Lane(f"{what}: {size}", what, tuple(sorted(places))) for size, places in rows.items()]
        return lanes

    def stack_data(self) -> dict[str, pd.DataFrame]:
        """Rows of the picture: bars of weights and of what is kept by layer, and the lanes of kinds."""
        layers, outside, head = self.model.num_layers, *self.outside_bytes
        bars = [{"at": 0, "weights": outside, "active": outside, "kept": 0.0, "name": "embedding"}]
        for kind in self.kinds:
            kept = self.kept_bytes(kind)
            row = {"weights": kind.weight_bytes, "active": kind.active_bytes, "kept": kept}
            bars += [{"at": place, **row, "name": f"layer {place}"} for place in kind.places]
        bars.append({"at": layers + 1, "weights": head, "active": head, "kept": 0.0, "name": "LM head"})
        lanes = [
            {"lane": row, "text": lane.text, "short": lane.short, "count": len(lane.places)}
            for row, lane in enumerate(self.lanes)
        ]
        cells = [{"lane": row, "at": at} for row, lane in enumerate(self.lanes) for at in lane.places]
        table = pd.DataFrame(bars)
        frame = {
            "layers": layers, "most_weights": table["weights"].max(), "most_kept": table["kept"].max(),
            "context": self.context, "tied": self.model.tied, "sparse": self.is_sparse, "outside": outside,
        }  # fmt: skip
        return {
            "frame": pd.DataFrame([frame]),
            "bars": table,
            "lanes": pd.DataFrame(lanes),
            "cells": pd.DataFrame(cells),
        }


class Lane(NamedTuple):
    """A row of the picture: its text, a short one for a phone, and the layers in it."""

    text: str
    short: str
    places: tuple[int, ...]


def _of_one_token(layer: Layer) -> Layer:
    """The layer with only those routed experts that one token is sent to."""
    if not isinstance(layer.mlp, Experts):
        return layer
    return replace(layer, mlp=replace(layer.mlp, experts=layer.mlp.top_k))


def ranges(places: tuple[int, ...], most: int = 3) -> str:
    """Positions as runs: "1–5, 7–11, 13–17, …".

    >>> ranges((1, 2, 3, 5)), ranges((2, 4, 6, 8, 10))
    ('1–3, 5', '2, 4, 6, …')
    """
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][-1] + 1:
            runs[-1][1:] = [place]
        else:
            runs.append([place])
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs]
    return ", ".join(texts[:most] + ["…"] * (len(texts) > most))
