"""Host constants: found from steps that were made with known ones, and refused without measurements."""

import numpy as np
import pandas as pd
import pytest

from costmodel.calibration.hosts import _constants, _outcome, host_outcomes
from costmodel.errors import ConfigError


def steps(overhead: float, per_sequence: float) -> pd.DataFrame:
    batch = np.tile([1.0, 8, 32, 64], 6)
    decode = np.repeat([2e-3, 3e-3, 5e-3, 8e-3, 1e-2, 2e-2], 4)
    names = {"model": np.repeat(["a", "b", "c"], 8), "tp": "1", "gpu": "h100-sxm", "source": "somewhere"}
    return pd.DataFrame(
        {"batch": batch, "decode": decode, "measured": decode + overhead + per_sequence * batch, **names}
    )


def test_constants_are_found():
    fit = _constants(steps(2e-3, 5e-5))
    assert fit.overhead == pytest.approx(2e-3, rel=0.01)
    assert fit.per_item == pytest.approx(5e-5, rel=0.01)


def test_nothing_beyond_the_kernels_is_nothing():
    fit = _constants(steps(0, 0))
    assert (fit.overhead, fit.per_item) == (0, 0)


def test_predictions_hold_out_the_setting_they_are_for():
    rows = steps(2e-3, 5e-5)
    rows.loc[rows.model == "c", "measured"] *= 3
    outcome = _outcome("engine", "h100-sxm", rows)
    errors = outcome.error.groupby(rows.model).median()
    assert errors["c"] > 0.5
    assert outcome.fit().rows == 24


def test_a_folder_without_batches_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="whole_step_llm_inference_bench"):
        host_outcomes(tmp_path, {}, pd.DataFrame())
