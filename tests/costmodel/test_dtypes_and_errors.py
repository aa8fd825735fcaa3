"""Number formats, and the sentences that errors make."""

from __future__ import annotations

import pytest

import costmodel as cm
from costmodel.dtypes import DTYPES, UNITS, dtype


def test_each_format_has_the_bits_that_its_scales_add():
    bits = {name: d.bits for name, d in DTYPES.items()}
    assert bits == {
        "fp32": 32, "tf32": 32, "bf16": 16, "fp16": 16, "fp8": 8, "fp8_block": 8.002,
        "int8": 8, "int4": 4.16, "mxfp4": 4.25, "nvfp4": 4.5, "nf4": 4.127,
    }  # fmt: skip


def test_every_unit_is_a_key_that_hardware_knows():
    assert {d.unit for d in DTYPES.values()} - {None} <= set(UNITS)


@pytest.mark.parametrize("name", ["bf17", "", None, 3, ["bf16"], "<b>bf16</b>"])
def test_an_unknown_format_is_refused_with_the_list(name):
    with pytest.raises(cm.ConfigError, match="bf16"):
        dtype(name)


def test_an_unknown_id_offers_the_nearest():
    with pytest.raises(cm.UnknownHardware, match="h100-sxm"):
        cm.hardware("h100sxm")
    with pytest.raises(cm.UnknownModel, match=r"qwen3-0\.6b"):
        cm.model("qwen3-06b")


def test_a_hostile_value_cannot_fill_the_page():
    assert len(str(cm.ConfigError("name", "x" * 10_000_000, "a short name"))) < 200


def test_all_errors_are_value_errors():
    for kind in (cm.ConfigError, cm.UnknownHardware, cm.UnknownModel):
        assert issubclass(kind, ValueError)
