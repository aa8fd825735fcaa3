"""The report: catalogue rows that read back as they were, errors, and bars."""

import numpy as np
import pandas as pd
import pytest

from costmodel.calibration.report import (
    BARS,
    STEP_BARS,
    accuracy_table,
    bars_table,
    calibration_table,
    shown,
    step_bars_table,
    steps_table,
)
from costmodel.calibration.study import Outcome
from costmodel.rates import Fit, _fit_of


def outcome(gpu="h100-sxm", operation="matmul", name="bf16", errors=(0.1, -0.2, 0.3), **numbers) -> Outcome:
    measured = np.ones(len(errors))
    rows = pd.DataFrame({"gpu": gpu, "regime": "decode", "measured": measured, "floor": measured / 2})
    rows["predicted"] = measured * (1 + np.asarray(errors))
    return Outcome(operation, name, gpu, Fit(**numbers), 30, rows, "somewhere")


def test_a_row_of_the_catalogue_reads_back_as_the_fit(tmp_path):
    numbers = {"eb": 0.8123, "overhead": 4.321e-6, "per_item": 2.5e-9, "ramp": 1.25e-5}
    calibration_table([outcome(**numbers)]).to_csv(tmp_path / "fits.csv", index=False)
    (row,) = pd.read_csv(tmp_path / "fits.csv", dtype=str, keep_default_na=False).to_dict("records")
    fit = _fit_of(row)
    assert fit.numbers == pytest.approx(numbers, rel=1e-4)
    assert (fit.rows, fit.median, fit.p90) == (30, 0.2, 0.28)
    assert (fit.device, fit.source) == ("h100-sxm", "somewhere")


def test_accuracy_holds_median_and_p90_of_floor_and_estimate():
    (row,) = accuracy_table([outcome()]).to_dict("records")
    assert row["n"] == 3
    assert row["floor_median_error"] == 0.5
    assert row["median_error"] == 0.2
    assert row["p90_error"] == pytest.approx(0.28)


def test_a_bar_is_met_by_the_mean_of_the_medians():
    accuracy = accuracy_table(
        [outcome("h100-sxm", errors=[0.02]), outcome("b200", errors=[0.1]), outcome("l40s", errors=[5])]
    )
    table = bars_table(accuracy)
    mine = table[(table.operation == "matmul") & (table.dtype == "bf16") & (table.regime == "decode")].iloc[0]
    assert mine.gpus == 2, "the L40S is not one that is judged"
    assert mine.mean_error == pytest.approx(0.06)
    assert mine.met
    assert not table[table.operation == "moe"].met.any(), "nothing measured is not met"


def test_whole_steps_are_met_by_median_and_p90_together():
    steps = pd.DataFrame(
        {"gpu": "b200", "model": "m", "regime": ["dense"] * 3 + ["MoE"] * 3, "measured": 1.0, "floor": 0.4}
    )
    steps["predicted"] = [1.05, 0.95, 1.06, 1.01, 1.02, 1.9]
    table = step_bars_table(steps_table(steps.assign(judged=True))).set_index("regime")
    assert bool(table.met["dense"])
    assert not bool(table.met["MoE"]), "its p90 is too high"


def test_steps_that_are_not_judged_are_shown():
    steps = pd.DataFrame({"gpu": "b200", "model": "m", "regime": "MoE", "measured": 1.0, "floor": 0.4}, index=range(2))
    steps = steps.assign(predicted=[1.1, 3.0], judged=[True, False])
    table = steps_table(steps).set_index("dtype")
    assert table.n.to_dict() == {"m": 1, "all": 1, "all, and those not judged": 2}
    assert table.p90_error["all"] == pytest.approx(0.1)
    assert table.p90_error["all, and those not judged"] > 1


def test_the_bars_are_the_issues():
    asked = {(bar.operation, bar.format, bar.regime): bar.limit for bar in BARS}
    assert asked["matmul", "bf16", "decode"] == 0.08
    assert asked["attention_prefill", "bf16", "prefill"] == 0.15
    assert asked["all_reduce", "bf16", "all"] == 0.20
    assert [(bar.regime, bar.median, bar.p90) for bar in STEP_BARS] == [("dense", 0.09, 0.30), ("MoE", 0.17, 0.40)]


def test_shown_speaks_percent_and_leaves_sources_out():
    text = shown(accuracy_table([outcome()]))
    assert "20.0%" in text
    assert "somewhere" not in text
