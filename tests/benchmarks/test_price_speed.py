"""How fast steps are priced: one, and a sweep with all its operations. Figures, not assertions."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

import costmodel as cm

QWEN, H100 = cm.model("qwen3-0.6b"), cm.hardware("h100-sxm")
BATCHES = np.arange(1, 513)


def test_price_of_one_decode_step(benchmark):
    cost = benchmark(lambda: cm.price(QWEN, H100, cm.Step.decode(batch=1, context=2048)))
    assert cost.bound == "memory"


def test_sweep_of_512_batches(benchmark, figure):
    cost = benchmark(lambda: cm.price(QWEN, H100, cm.Step.decode(batch=BATCHES, context=2048)))
    assert cost.seconds.shape == (512,)
    _note_rate(benchmark, figure)


def test_sweep_of_512_batches_with_the_table_of_all_operations(benchmark, figure):
    table = benchmark(lambda: cm.price(QWEN, H100, cm.Step.decode(batch=BATCHES, context=2048)).operations)
    assert len(table) == 512 * 9
    _note_rate(benchmark, figure)


def test_sweep_of_512_batches_with_calibrated_rates(benchmark, figure):
    cost = benchmark(lambda: cm.price(QWEN, H100, cm.Step.decode(batch=BATCHES, context=2048), rates="calibrated"))
    assert cost.seconds.shape == (512,)
    _note_rate(benchmark, figure)


def test_import_of_costmodel(benchmark):
    command = [sys.executable, "-c", "import costmodel"]
    done = benchmark.pedantic(lambda: subprocess.run(command, check=True), rounds=5)
    assert done.returncode == 0


def _note_rate(benchmark, figure) -> None:
    if benchmark.stats is not None:
        figure(f"{BATCHES.size / benchmark.stats.stats.median:,.0f} steps a second")
