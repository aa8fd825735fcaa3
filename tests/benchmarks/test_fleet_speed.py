"""How fast one model is priced on every accelerator, and over a plane of two axes. Figures, not assertions.

The goal: 74 accelerators x 500 points within 50 ms.
"""

from __future__ import annotations

import numpy as np
import pytest

import costmodel as cm
from costmodel.fleet import fleet, what_ifs

ALL = [cm.hardware(name) for name in cm.hardware()]
POINTS = 500
BATCHES = np.arange(1, POINTS + 1)


@pytest.mark.parametrize("model", ["qwen3-0.6b", "qwen3-30b-a3b", "deepseek-v3"])
def test_every_accelerator_over_500_points(benchmark, figure, model):
    asked = cm.model(model)
    priced = benchmark(lambda: fleet(asked, ALL, cm.Step.decode(BATCHES, 2048)))
    assert priced.seconds.shape == (len(ALL), POINTS)
    assert np.isfinite(priced.seconds).any()
    _note(benchmark, figure, f"{len(ALL)} accelerators x {POINTS} points")


def test_a_plane_of_batch_and_context(benchmark, figure):
    model, hw = cm.model("qwen3-0.6b"), cm.hardware("h100-sxm")
    batch, context = np.geomspace(1, 1024, 48), np.geomspace(1, 131072, 32)[:, None]
    floors = benchmark(lambda: what_ifs(model, hw, cm.Step.decode(batch, context)))
    assert floors.seconds.shape == (32, 48)
    _note(benchmark, figure, "48 x 32 cells")


def test_a_plane_of_bandwidth_and_compute(benchmark, figure):
    model, hw = cm.model("qwen3-0.6b"), cm.hardware("h100-sxm")
    factors = np.geomspace(0.25, 4, 48)
    step = cm.Step.decode(64, 2048)
    floors = benchmark(lambda: what_ifs(model, hw, step, bandwidth_x=factors, compute_x=factors[:32, None]))
    assert floors.seconds.shape == (32, 48)
    _note(benchmark, figure, "48 x 32 cells")


def _note(benchmark, figure, what: str) -> None:
    if benchmark.stats is not None:
        figure(f"{what} in {benchmark.stats.stats.median * 1e3:.2f} ms")
