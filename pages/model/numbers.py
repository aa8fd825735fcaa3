"""The numbers of the Model page: what was read from a config, layer by layer, all of it from ``cm.Model``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import pandas as pd

import costmodel as cm
from costmodel.dtypes import DTYPES
from costmodel.model import Experts, Layer
from pages.parts.layers import mixer_name, mixer_sizes, mlp_name, mlp_sizes
from pages.parts.scenario import Scenario


@dataclass(frozen=True)
class Kind:
    """Layers that are alike: how many, where, and what one of them has.

    Attributes
    ----------
    places: their positions, counted from 1.
    params, active_params: of one layer; of those one token uses. weight_bytes: as stored.
    active_bytes: of those, what one token's experts and everything else take.
    kv_bytes: of one token in its cache, windows ignored. state_bytes: of one sequence.
    """

    layer: Layer
    places: tuple[int, ...]
    params: float
    active_params: float
    weight_bytes: float
    active_bytes: float
    kv_bytes: float
    state_bytes: float

    @property
    def count(self) -> int:
        return len(self.places)


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

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """The different layers in order of first appearance."""
        places: dict[Layer, list[int]] = {}
        position = 0
        for layer, count in self.model.layers:
            places.setdefault(layer, []).extend(range(position + 1, position + count + 1))
            position += count
        return tuple(self._kind(layer, where) for layer, where in places.items())

    def _kind(self, layer: Layer, places: list[int]) -> Kind:
        return Kind(
            layer,
            tuple(places),
            params=self._one_more(layer, lambda m: m.total_params),
            active_params=self._one_more(layer, lambda m: m.active_params),
            weight_bytes=self._one_more(layer, lambda m: m.weight_bytes),
            active_bytes=self._one_more(_of_one_token(layer), lambda m: m.weight_bytes),
            kv_bytes=self._one_more(layer, lambda m: m.kv_values_per_token) * DTYPES[self.kv_dtype].bytes,
            state_bytes=self._one_more(layer, lambda m: m.state_bytes),
        )

    def _one_more(self, layer: Layer, figure: Callable[[cm.Model], float]) -> float:
        """What one more such layer adds to a figure of the model: so a layer is counted as the model counts it."""
        return figure(self.model.replace(layers=((layer, 2),))) - figure(self.model.replace(layers=((layer, 1),)))

    def kept_bytes(self, kind: Kind) -> float:
        """What one such layer keeps of a sequence at the page's context: its cache, or its state."""
        cache = self._one_more(kind.layer, lambda m: m.kv_bytes(self.context, self.kv_dtype))
        return cache + kind.state_bytes

    @property
    def outside_bytes(self) -> tuple[float, float]:
        """Stored bytes before the layers (embedding, positions, final norm) and of a head of its own after them."""
        layers = sum(kind.weight_bytes * kind.count for kind in self.kinds)
        head = self.model.weight_bytes - self.model.replace(tied=True).weight_bytes
        return self.model.weight_bytes - layers - head, head

    # ---- what the picture is drawn from ----------------------------------------------------------------------

    @property
    def lanes(self) -> list[tuple[str, str, tuple[int, ...]]]:
        """Rows of the picture: a text, a short one, and the layers in it; first how tokens meet, then the MLPs."""
        found: dict[tuple[str, str], list[int]] = {}
        for part in ("mixer", "mlp"):
            for kind in self.kinds:
                piece = getattr(kind.layer, part)
                if piece is not None:
                    name, sizes = (mixer_name, mixer_sizes) if part == "mixer" else (mlp_name, mlp_sizes)
                    found.setdefault((name(piece), sizes(piece)), []).extend(kind.places)
        return [(f"{name}: {sizes}", name, tuple(sorted(places))) for (name, sizes), places in found.items()]

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
            {"lane": row, "text": text, "short": short, "count": len(places)}
            for row, (text, short, places) in enumerate(self.lanes)
        ]
        cells = [{"lane": row, "at": at} for row, (_, _, places) in enumerate(self.lanes) for at in places]
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
