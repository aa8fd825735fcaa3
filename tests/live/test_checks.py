"""Figures that cannot be."""

import pytest

import costmodel as cm
from live.checks import impossible
from live.points import Point
from live.probes.bandwidth import READ
from live.probes.base import Task
from live.probes.matmul import case
from live.subject import Subject
from tests.live.samples import point_of, small_model, tiny_plan

RTX4090 = cm.hardware("rtx4090")


def multiply(size, seconds, dtype="fp32"):
    return point_of(case(size, size, size, dtype, "peak"), "eager", seconds)


def test_tor01_a_clock_that_does_not_wait_is_given_away_by_the_datasheet():
    # MatMul on an RTX 4090: 1.36 ms with synchronize, 0.03 ms without
    assert list(impossible([multiply(3584, 1.36e-3)], RTX4090)) == []
    bandwidth, arithmetic = impossible([multiply(3584, 0.03e-3)], RTX4090)
    assert "RTX 4090 delivers 1008 GB/s at most" in bandwidth
    assert "RTX 4090 delivers 82.6 TFLOP/s at most" in arithmetic


def test_tor01_times_that_do_not_depend_on_the_work_are_given_away_without_a_datasheet():
    enqueued = [multiply(256, 21e-6), multiply(1024, 25e-6), multiply(4096, 30e-6)]
    (reason,) = impossible(enqueued, None)
    assert "did not wait for the device" in reason
    waited = [multiply(256, 21e-6), multiply(1024, 300e-6), multiply(4096, 9e-3)]
    assert list(impossible(waited, None)) == []


@pytest.mark.parametrize(("share", "refused"), [(0.9, 0), (1.25, 0), (1.35, 1)])
def test_bandwidth_up_to_a_third_above_the_datasheet_is_believed(share, refused):
    (read,) = READ.cases(Task(Subject.of(small_model()), tiny_plan(), "bf16"))
    point = point_of(read, "eager", read.bytes / (share * RTX4090.bandwidth))
    assert len(list(impossible([point], RTX4090))) == refused


def test_a_device_without_a_datasheet_is_held_to_what_any_device_can_do():
    assert list(impossible([multiply(4096, 1e-9)], None))


def test_a_time_must_be_positive():
    with pytest.raises(cm.ConfigError, match="seconds"):
        Point(probe="peak", mode="eager", shape={"m": 1}, dtype="fp32", flops=1, bytes=1, seconds=-1.0, low=-1, high=-1)
