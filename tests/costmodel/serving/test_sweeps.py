"""One knob moved, all else held: rows against runs made one by one, and where a machine is full."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import costmodel as cm
from costmodel import serving
from costmodel.serving.sweeps import FIGURES

V1 = serving.policy("vllm_v1", max_num_batched_tokens=64)
UNIT = {"step_seconds": 0.5}


def test_each_row_is_the_summary_of_a_run_with_that_knob() -> None:
    requests = serving.poisson(rate=3.0, count=40, prompt=(20, 90), output=(2, 12), seed=3)
    rows = list(serving.sweep_knob(requests, V1, "max_num_batched_tokens", [16, 64, 256], **UNIT))
    assert [row["max_num_batched_tokens"] for row in rows] == [16, 64, 256]
    for row in rows:
        policy = serving.policy("vllm_v1", max_num_batched_tokens=row["max_num_batched_tokens"])
        summary = serving.simulate(requests, policy, **UNIT).summary
        assert {name: row[name] for name in FIGURES} == {name: summary[name] for name in FIGURES}
    assert rows[0]["ttft_p50_s"] > rows[1]["ttft_p50_s"] > rows[2]["ttft_p50_s"]


def test_a_value_that_the_policy_refuses_is_left_out() -> None:
    requests = serving.at_once(count=3, prompt=8, output=2)
    rows = serving.sweep_knob(requests, V1, "max_num_batched_tokens", [0, 8, -4, 16], **UNIT)
    assert [row["max_num_batched_tokens"] for row in rows] == [8, 16]


def test_what_is_wrong_with_the_requests_is_not_left_out() -> None:
    requests = serving.at_once(count=3, prompt=8, output=2).drop(columns="output_tokens")
    with pytest.raises(cm.ConfigError):
        list(serving.sweep_knob(requests, V1, "max_num_batched_tokens", [8], **UNIT))


def test_rows_come_as_they_are_done() -> None:
    asked: list[float] = []

    def requests_at(rate: float):
        asked.append(rate)
        return serving.constant(rate=rate, count=4, prompt=8, output=2)

    rows = serving.sweep_rate(requests_at, V1, [1.0, 2.0], **UNIT)
    assert not asked
    assert next(rows)["rate"] == 1.0
    assert asked == [1.0]
    assert [row["rate"] for row in rows] == [2.0]


@given(
    prompt=st.integers(1, 6),
    step_seconds=st.sampled_from([0.25, 0.5, 2.0]),
    seats=st.integers(1, 4),
    output=st.integers(1, 5),
)
def test_a_full_machine_finishes_as_many_as_its_seats_allow(prompt, step_seconds, seats, output) -> None:
    # Orca admits a prompt whole; each request holds its seat for `output` steps, and every seat is always taken.
    requests = serving.constant(rate=0.001, count=30 * seats, prompt=prompt, output=output)
    full = serving.saturation_rate(
        requests, serving.policy("orca", max_num_seqs=seats), step_seconds=step_seconds, num_blocks=10_000
    )
    assert full == pytest.approx(seats / (output * step_seconds), rel=0.1)


def test_too_few_requests_have_no_middle() -> None:
    assert math.isnan(serving.saturation_rate(serving.at_once(count=9, prompt=4, output=1), V1, **UNIT))
    together = serving.at_once(count=20, prompt=1, output=1)  # all of them in one step
    assert math.isnan(serving.saturation_rate(together, V1, **UNIT))
