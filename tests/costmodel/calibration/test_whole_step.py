"""Whole serving steps: the closed-loop formula, and which formats a deployment ran."""

import numpy as np
import pandas as pd
import pytest

from costmodel.calibration.whole_step import MODELS, precision_of, serving_rows, tpot
from costmodel.catalog import model
from costmodel.errors import ConfigError
from costmodel.hardware import hardware
from costmodel.precision import Precision
from costmodel.price import price
from costmodel.rates import calibrated
from costmodel.step import Step

H100 = hardware("h100-sxm")


def row(**changes) -> pd.DataFrame:
    return pd.DataFrame([{"isl": 1000, "osl": 100, "concurrency": 8, "tp_size": 1, "is_inferencex": 0, **changes}])


def test_tpot_is_a_decode_step_and_the_others_prefills():
    llama, rates = model("llama-3.1-8b"), calibrated(H100)
    decode = price(llama, H100, Step.decode(8, 1050), rates=rates).seconds
    prefill = price(llama, H100, Step.prefill(1000), rates=rates).seconds
    assert tpot(llama, H100, rates, row(), Precision())[0] == pytest.approx(decode + 7 / 100 * prefill)


def test_inferencex_lengths_are_nine_tenths():
    llama, rates = model("llama-3.1-8b"), calibrated(H100)
    nominal = tpot(llama, H100, rates, row(isl=900, osl=90), Precision())
    assert tpot(llama, H100, rates, row(is_inferencex=1), Precision()) == pytest.approx(nominal)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("llama-3.1-8b", "h100-sxm", np.nan, np.nan), Precision()),
        (("llama-3.1-70b", "b200", "fp8", "fp8"), Precision("fp8", "fp8", "fp8")),
        (("llama-3.1-70b", "b200", "fp4", "nvfp4"), Precision("nvfp4", "fp8", "nvfp4")),
        (("deepseek-v3", "b200", "fp8", "fp8"), Precision("fp8_block", "fp8", "fp8_block")),
        (("gpt-oss-120b", "b200", "fp4", "nvfp4"), Precision(None, "fp8", "fp8")),
        (("gpt-oss-120b", "h100-sxm", "fp4", "nvfp4"), Precision(None, "fp8", "bf16")),
    ],
)
def test_formats_of_a_deployment(arguments, expected):
    assert precision_of(*arguments) == expected


def test_rows_are_those_that_were_encoded_as_they_ran(reference_data):
    rows = serving_rows(reference_data / "measured")
    assert (rows.parallel_ok == 1).all()
    assert (rows.duplicate == 0).all()
    assert set(rows.model) == set(MODELS.values())
    assert not rows[rows.judged].model_path.str.contains("R1").any()
    assert rows[~rows.judged].model_path.str.contains("R1|V3.1").all()


def test_a_folder_without_serving_rows_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="whole_step_inferencex"):
        serving_rows(tmp_path)
