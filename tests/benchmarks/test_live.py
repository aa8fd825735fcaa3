"""How well measured rates predict what they have not seen, and what measuring costs. Figures, not assertions."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import costmodel as cm
import live
from tests.live.samples import made_up
from tests.live.test_measure import MODEL, profile

QWEN = cm.model("qwen3-0.6b")


def test_held_out_points_of_a_small_model_on_this_processor(figure):
    _report(figure, profile(0))


def test_whole_steps_of_a_small_model_on_this_processor(figure):
    table = live.steps(profile(0), MODEL)
    for row in table[table.kind == "whole"].itertuples():
        sizes = f"{row.phase} of {row.batch} x {row.new} over {row.cached}"
        figure(
            f"{sizes}: {row.measured * 1e3:.1f} ms measured, {row.predicted * 1e3:.1f} ms modelled ({row.ratio:.2f})"
        )
    assert (table.predicted > 0).all()


def test_quick_plan_of_qwen3(benchmark, figure):
    if benchmark.disabled:
        pytest.skip("measures for half a minute: only with --benchmark-enable")
    found = benchmark.pedantic(lambda: live.measure(QWEN, "cpu", "quick"), rounds=1)
    figure(f"{len(found.points)} points in {found.seconds:.1f} s")
    _report(figure, found)


def test_import_of_live(benchmark):
    command = [sys.executable, "-c", "import live"]
    done = benchmark.pedantic(lambda: subprocess.run(command, check=True), rounds=5)
    assert done.returncode == 0


def test_reading_a_profile(benchmark):
    text = json.dumps(made_up(model=QWEN).to_json())
    found = benchmark(lambda: live.Profile.loads(text))
    assert found.fits


def test_fitting_a_profile(benchmark):
    found = made_up(model=QWEN, noise=0.05)
    assert benchmark.pedantic(found.refitted, rounds=3).fits


def _report(figure, found: live.Profile) -> None:
    for (mode, operation, name), fit in found.fits.items():
        figure(f"{operation} in {name}, {mode}: median error {fit.median:.1%} on held-out points, of {fit.rows}")
    figure(f"all: median error {found.error:.1%}")
    for note in found.notes:
        figure(note)
    assert found.error is not None
