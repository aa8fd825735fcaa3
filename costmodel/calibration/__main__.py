"""Refit the shipped rates: ``python -m costmodel.calibration FOLDER [--write]``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pandas as pd

from costmodel.calibration.hosts import host_outcomes
from costmodel.calibration.report import (
    CATALOG,
    accuracy_table,
    bars_table,
    calibration_table,
    shown,
    step_bars_table,
    steps_table,
)
from costmodel.calibration.study import as_sets, study
from costmodel.calibration.whole_step import serving_steps
from costmodel.errors import ConfigError
from costmodel.rates import GENERAL


def main(arguments: list[str] | None = None) -> int:
    """Fit, print the errors beside the bars, and write the catalogue files when asked; 1 when a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m costmodel.calibration", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder with the measured tables (gemm_<gpu>.csv.gz and so on)")
    parser.add_argument("--write", action="store_true", help="write catalog/calibration.csv and catalog/accuracy.csv")
    options = parser.parse_args(arguments)
    try:
        kernels = study(options.folder)
        sets = as_sets(kernels)
        steps = serving_steps(options.folder, sets)
        outcomes = kernels + host_outcomes(options.folder, sets, steps)
    except ConfigError as error:
        parser.error(str(error))
    accuracy = pd.concat([accuracy_table(outcomes), steps_table(steps)], ignore_index=True)
    bars, step_bars = bars_table(accuracy), step_bars_table(accuracy)
    general = accuracy.gpu == GENERAL
    print("Absolute error on held-out shapes, by GPU\n" + shown(accuracy[~general]))
    print("\nAbsolute error of the general set on held-out GPUs\n" + shown(accuracy[general]))
    print("\nMean over the data-centre GPUs of their median errors, beside the bars\n" + shown(bars))
    print(
        "\nWhole serving steps, nothing fitted to them (fp8 caches where the weights are fp8 or fp4)\n"
        + shown(step_bars)
    )
    if options.write:
        calibration_table(outcomes).to_csv(CATALOG / "calibration.csv", index=False)
        accuracy.to_csv(CATALOG / "accuracy.csv", index=False)
    return int(not (bars.met.all() and step_bars.met.all()))


if __name__ == "__main__":
    sys.exit(main())
