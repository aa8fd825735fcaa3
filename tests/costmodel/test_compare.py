"""Ratios and differences of costs, taken apart: exactly, and for the right reason."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import costmodel as cm
from costmodel import compare

IDS = ("h100-sxm", "h200-sxm", "a100-sxm-80", "b200", "l4", "mi300x")
MODELS = ("qwen3-0.6b", "llama-3.1-8b", "qwen3-30b-a3b", "deepseek-v3", "mamba-2.8b")


@st.composite
def costs(draw, rates="datasheet"):
    """A price of some step of some model on some machine, what-ifs included."""
    hw = cm.hardware(draw(st.sampled_from(IDS)))
    hw = hw.replace(
        bandwidth=hw.bandwidth * draw(st.floats(0.25, 4)),
        peak={unit: rate * factor for factor in [draw(st.floats(0.25, 4))] for unit, rate in hw.peak.items()},
    )
    batch, context = draw(st.integers(1, 1024)), draw(st.integers(1, 100_000))
    step = draw(st.sampled_from([cm.Step.decode(batch, context), cm.Step.prefill(context)]))
    count = draw(st.sampled_from(["weights", "attention"])) if rates == "datasheet" else None
    return cm.price(cm.model(draw(st.sampled_from(MODELS))), hw, step, rates=rates, count=count)


@given(costs(), costs())
def test_factors_multiply_to_the_ratio(a, b):
    found = compare.floors(a, b)
    assert found.speedup == pytest.approx(a.seconds / b.seconds, rel=1e-15)
    assert compare.product(found.factors) == pytest.approx(found.speedup, rel=1e-12)
    assert found.memory.speedup == pytest.approx(a.memory_seconds / b.memory_seconds, rel=1e-12)
    assert found.compute.speedup == pytest.approx(a.compute_seconds / b.compute_seconds, rel=1e-12)
    assert (found.bound_a, found.bound_b) == (a.bound, b.bound)
    assert found.side(a.bound) is (found.memory if a.bound == "memory" else found.compute)


@given(costs(), costs())
def test_a_limit_speaks_only_where_the_bound_switches_and_only_takes_away(a, b):
    limits = [factor for factor in compare.floors(a, b).factors if factor.cause == "limit"]
    assert bool(limits) == (a.bound != b.bound)
    assert all(0 < limit.speedup <= 1 for limit in limits)


@given(costs(), costs())
def test_the_way_back_is_the_inverse(a, b):
    there, back = compare.floors(a, b), compare.floors(b, a)
    assert there.speedup * back.speedup == pytest.approx(1, rel=1e-12)
    assert there.memory.rate * back.memory.rate == pytest.approx(1, rel=1e-12)
    assert there.compute.amount * back.compute.amount == pytest.approx(1, rel=1e-12)


@given(costs())
def test_a_cost_against_itself_has_no_cause(a):
    found = compare.floors(a, a)
    assert found.speedup == 1
    assert [factor.speedup for factor in found.factors] == pytest.approx([1, 1], rel=1e-15)
    assert all(c.difference == 0 for c in compare.contributions(a, a))


@given(costs("calibrated"), costs("calibrated"))
def test_contributions_sum_to_the_difference(a, b):
    found = compare.contributions(a, b)
    scale = max(a.seconds, b.seconds)
    assert math.fsum(c.difference for c in found) == pytest.approx(b.seconds - a.seconds, rel=1e-12, abs=1e-12 * scale)
    assert [abs(c.difference) for c in found] == sorted((abs(c.difference) for c in found), reverse=True)
    assert {c.name for c in found} == set(a.operations["name"]) | set(b.operations["name"])


def decode(hw, batch=1, model="qwen3-0.6b", **more):
    return cm.price(cm.model(model), hw, cm.Step.decode(batch, 2048), count="weights", **more)


H100 = cm.hardware("h100-sxm")


def test_both_wait_for_memory():
    found = compare.floors(decode(H100), decode(H100.replace(bandwidth=2 * H100.bandwidth)))
    assert (found.bound_a, found.bound_b, found.speedup) == ("memory", "memory", pytest.approx(2))
    assert [(f.cause, f.speedup) for f in found.factors] == [
        ("bytes", pytest.approx(1)),
        ("bandwidth", pytest.approx(2)),
    ]
    assert found.compute.speedup == pytest.approx(1)


def test_both_wait_for_arithmetic():
    faster = H100.replace(peak={unit: 2 * rate for unit, rate in H100.peak.items()})
    found = compare.floors(decode(H100, 1024), decode(faster, 1024))
    assert (found.bound_a, found.bound_b) == ("compute", "compute")
    assert [(f.cause, f.speedup) for f in found.factors] == [("flops", pytest.approx(1)), ("peak", pytest.approx(2))]


def test_from_memory_to_arithmetic_the_gain_ends_where_the_other_side_takes_over():
    a, b = decode(H100, 200), decode(H100.replace(bandwidth=4 * H100.bandwidth), 200)
    found = compare.floors(a, b)
    assert (found.bound_a, found.bound_b) == ("memory", "compute")
    gained, limit = found.factors[1], found.factors[2]
    assert (gained.cause, gained.speedup) == ("bandwidth", pytest.approx(4))
    assert limit.speedup == pytest.approx(b.memory_seconds / b.compute_seconds)
    assert found.speedup == pytest.approx(a.memory_seconds / a.compute_seconds)  # up to the ridge and no further


def test_eight_times_the_batch_costs_what_the_arithmetic_takes():
    a, b = decode(H100, 128), decode(H100, 1024)
    found = compare.floors(a, b)
    assert (found.bound_a, found.bound_b) == ("memory", "compute")
    assert found.memory.speedup == pytest.approx(1)
    assert found.speedup == pytest.approx(b.memory_seconds / b.compute_seconds)
    assert found.compute.amount == pytest.approx(1 / 8)


def test_an_operation_that_only_one_step_has_counts_whole():
    a, b = (decode_estimate(gpus) for gpus in (1, 8))
    found = {c.name: c for c in compare.contributions(a, b)}
    reduces = [c for name, c in found.items() if "all-reduce" in name]
    assert reduces
    assert all(c.before == 0 and c.difference == c.after > 0 for c in reduces)


def decode_estimate(gpus):
    model = cm.model("llama-3.1-8b")
    return cm.price(model, H100, cm.Step.decode(8, 2048), rates="calibrated", tensor_parallel=gpus)
