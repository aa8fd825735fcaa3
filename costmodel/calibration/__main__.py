"""Refit the shipped rates: ``python -m costmodel.calibration FOLDER [--write]``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from costmodel.calibration.report import CATALOG, accuracy_table, bars_table, calibration_table, shown
from costmodel.calibration.study import study
from costmodel.errors import ConfigError
from costmodel.rates import GENERAL


def main(arguments: list[str] | None = None) -> int:
    """Fit, print the errors beside the bars, and write the catalogue files when asked; 1 when a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m costmodel.calibration", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder with the measured tables (gemm_<gpu>.csv.gz and so on)")
    parser.add_argument("--write", action="store_true", help="write catalog/calibration.csv and catalog/accuracy.csv")
    options = parser.parse_args(arguments)
    try:
        outcomes = study(options.folder)
    except ConfigError as error:
        parser.error(str(error))
    accuracy = accuracy_table(outcomes)
    bars = bars_table(accuracy)
    general = accuracy.gpu == GENERAL
    print("Absolute error on held-out shapes, by GPU\n" + shown(accuracy[~general]))
    print("\nAbsolute error of the general set on held-out GPUs\n" + shown(accuracy[general]))
    print("\nMean over the data-centre GPUs of their median errors, beside the bars\n" + shown(bars))
    if options.write:
        calibration_table(outcomes).to_csv(CATALOG / "calibration.csv", index=False)
        accuracy.to_csv(CATALOG / "accuracy.csv", index=False)
    return int(not bars.met.all())


if __name__ == "__main__":
    sys.exit(main())
