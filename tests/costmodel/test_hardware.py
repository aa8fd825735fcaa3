"""Accelerators: the catalogue, what-ifs, and figures that make no sense."""

from __future__ import annotations

import copy
import csv
import math
import pickle

import numpy as np
import pytest

import costmodel as cm
from costmodel.dtypes import UNITS

H100 = cm.hardware("h100-sxm")


def test_the_catalogue_has_sixty_rows_each_with_its_source():
    rows = [cm.hardware(name) for name in cm.hardware()]
    assert len(rows) >= 60
    assert all(hw.source and hw.confidence in {"A", "B", "C"} for hw in rows)


def test_the_h100_is_the_posts():
    assert H100.bandwidth == pytest.approx(3.35e12)
    assert H100.peak["bf16"] == pytest.approx(989e12, rel=1e-3)
    assert cm.ridge(H100) == pytest.approx(295, abs=0.5)
    assert H100.link == pytest.approx(450e9)
    assert H100.memory == pytest.approx(79.65 * 2**30)


def test_what_is_not_known_is_none_or_absent_never_zero():
    assert cm.hardware("mi325x").memory is None
    assert cm.hardware("orin-64").link is None
    assert "bf16" not in cm.hardware("t4").peak
    assert not cm.hardware("m5-max").peak
    for name in cm.hardware():
        hw = cm.hardware(name)
        assert all(rate > 0 for rate in hw.peak.values())


def test_the_figures_are_those_of_the_reference_table(reference_data):
    with (reference_data / "hardware.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == cm.hardware()
    for row in rows:
        hw = cm.hardware(row["id"])
        assert hw.bandwidth == pytest.approx(float(row["bandwidth_GBps"]) * 1e9)
        assert dict(hw.peak) == pytest.approx({u: float(row[u]) * 1e12 for u in UNITS if row[u]})
        assert hw.memory == (pytest.approx(float(row["usable_gib"]) * 2**30) if row["usable_gib"] else None)
        both = row["interconnect_GBps"]
        assert hw.link == (pytest.approx(float(both) * 1e9 / 2) if both else None)
        assert hw.confidence == row["conf"]


def test_a_what_if_remembers_whose_figures_they_were():
    twice = H100.replace(bandwidth=2 * H100.bandwidth)
    assert twice.root is H100
    assert twice.replace(memory=1e9).root is H100
    assert twice.ridge() == pytest.approx(H100.ridge() / 2)
    with pytest.raises(cm.ConfigError, match="bandwith"):
        H100.replace(bandwith=1)


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, 1e30, 10**400, "fast", None, True, [1]])
def test_bandwidth_that_makes_no_sense_is_refused(bad):
    with pytest.raises(cm.ConfigError, match="bandwidth"):
        H100.replace(bandwidth=bad)


@pytest.mark.parametrize("peak", [{"bf16": 0}, {"bf17": 1e12}, {"bf16": math.nan}, None, 5])
def test_peaks_that_make_no_sense_are_refused(peak):
    with pytest.raises(cm.ConfigError, match="peak"):
        H100.replace(peak=peak)


def test_numpy_numbers_are_numbers():
    assert H100.replace(bandwidth=np.float32(1e12)).bandwidth == pytest.approx(1e12)


def test_a_device_can_be_hashed_compared_copied_and_pickled():
    again = pickle.loads(pickle.dumps(H100))  # noqa: S301  # our own bytes
    assert again == H100 == copy.copy(H100)
    assert hash(again) == hash(H100)
    assert H100.replace(bandwidth=1e12) != H100


def test_a_format_without_a_unit_is_refused_with_those_that_have_one():
    with pytest.raises(cm.ConfigError, match="nvfp4.*bf16"):
        H100.peak_of("nvfp4")
    with pytest.raises(cm.ConfigError, match="int4"):
        H100.peak_of("int4")
    with pytest.raises(cm.ConfigError, match="none that is published"):
        cm.hardware("m5-max").peak_of("bf16")
