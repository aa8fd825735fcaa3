"""Prices of one model on many machines at once: the same figures as one by one, and no machine left out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import costmodel as cm
from costmodel.dtypes import DTYPES, KV_DTYPES
from costmodel.fleet import fleet, what_ifs
from costmodel.frontier import Edge, crossings, frontier

QWEN, H100 = cm.model("qwen3-0.6b"), cm.hardware("h100-sxm")
ALL = [cm.hardware(name) for name in cm.hardware()]
SAME = 1e-12
FIELDS = ("seconds", "memory_seconds", "compute_seconds", "bytes", "flops", "intensity", "expects_experts")

COMPUTE = [name for name, dtype in DTYPES.items() if dtype.unit is not None]
MODELS = st.sampled_from(cm.model()).map(cm.model)
COUNT = st.sampled_from(["weights", "attention"])
GPUS = st.sampled_from([1, 2, 3, 8, 16])
PRECISION = st.builds(
    cm.Precision,
    weights=st.sampled_from([None, *DTYPES]),
    kv=st.sampled_from([None, *KV_DTYPES]),
    compute=st.sampled_from([None, *COMPUTE]),
)
BATCHES = st.lists(st.integers(1, 5000), min_size=1, max_size=4)
CONTEXT, PROMPT = st.integers(1, 300_000), st.integers(1, 300_000)


def steps(batches, context, prompt):
    return [
        cm.Step.decode(np.array(batches), context),
        cm.Step.decode(np.array(batches)[:, None], np.array([1, context])[None, :]),
        cm.Step.prefill(prompt, cached=context),
        cm.Step.mixed(prompt, 0, np.array(batches), context),
    ]


def one_by_one(model, hw, step, precision, count, gpus):
    """The price on one machine, or why there is none."""
    try:
        return cm.price(model, hw, step, precision, count=count, tensor_parallel=gpus), ""
    except cm.ConfigError as error:
        return None, str(error)


@settings(max_examples=60)
@given(MODELS, COUNT, GPUS, PRECISION, BATCHES, CONTEXT, PROMPT)
def test_a_fleet_has_the_floors_of_its_machines(model, count, gpus, precision, batches, context, prompt):
    for step in steps(batches, context, prompt):
        priced = fleet(model, ALL, step, precision=precision, count=count, tensor_parallel=gpus)
        assert priced.machines == tuple(ALL)
        assert priced.seconds.shape == (len(ALL), *step.shape)
        for i, hw in enumerate(ALL):
            cost, obstacle = one_by_one(model, hw, step, precision, count, gpus)
            assert priced.obstacles[i] == obstacle
            if cost is None:
                assert np.isnan(priced.seconds[i]).all()
                assert not priced.compute_bound[i].any()
                continue
            for name in FIELDS:
                np.testing.assert_allclose(getattr(priced, name)[i], getattr(cost, name), rtol=SAME, err_msg=name)
            assert (priced.compute_bound[i] == (np.asarray(cost.bound) == "compute")).all()


def test_every_kind_of_model_is_among_those_that_were_compared():
    kinds = {name: cm.model(name) for name in cm.model()}
    assert any(model.quantization for model in kinds.values())
    assert any("Experts" in repr(type(layer.mlp)) for model in kinds.values() for layer, _ in model.layers)
    assert any("Latent" in repr(type(layer.mixer)) for model in kinds.values() for layer, _ in model.layers)
    assert any(getattr(layer.mixer, "window", None) for model in kinds.values() for layer, _ in model.layers)


def test_a_machine_without_a_price_says_why_and_is_never_zero():
    names = ["h100-sxm", "rubin-r200", "m5-max", "t4"]
    priced = fleet(QWEN, [cm.hardware(name) for name in names], cm.Step.decode([1, 2], 100))
    assert [bool(obstacle) for obstacle in priced.obstacles] == [False, True, True, False]
    assert "its bf16 and fp16 are not" in priced.obstacles[1]
    assert np.isnan(priced.seconds[1:3]).all()
    assert np.isnan(priced.bytes[1:3]).all()
    assert (priced.seconds[[0, 3]] > 0).all()


def test_heads_that_do_not_divide_leave_every_machine_with_that_reason():
    priced = fleet(QWEN, ALL, cm.Step.decode(1, 100), tensor_parallel=5)
    assert np.isnan(priced.seconds).all()
    assert all(priced.obstacles)
    assert priced.obstacles[ALL.index(H100)] == "tensor_parallel: found 5, expected a divisor of the 16 heads"


def test_no_machines_are_an_empty_fleet():
    assert fleet(QWEN, [], cm.Step.decode([1, 2, 3], 100)).seconds.shape == (0, 3)


@pytest.mark.parametrize("price", [lambda **more: fleet(QWEN, ALL, cm.Step.decode(1, 1), **more),
                                   lambda **more: what_ifs(QWEN, H100, cm.Step.decode(1, 1), **more)])  # fmt: skip
def test_an_estimates_count_is_refused(price):
    with pytest.raises(cm.ConfigError, match="count: found 'everything', expected weights or attention"):
        price(count="everything")


# ---- what-ifs of one machine ---------------------------------------------------------------------------------


@settings(max_examples=60)
@given(MODELS, COUNT, PRECISION, BATCHES, CONTEXT, st.floats(0.05, 20), st.floats(0.05, 20))
def test_a_what_if_is_the_price_on_the_replaced_machine(model, count, precision, batches, context, memory, compute):
    step = cm.Step.decode(np.array(batches), context)
    hw = H100.replace(
        bandwidth=H100.bandwidth * memory, peak={unit: rate * compute for unit, rate in H100.peak.items()}
    )
    try:
        cost = cm.price(model, hw, step, precision, count=count)
    except cm.ConfigError:
        with pytest.raises(cm.ConfigError):
            what_ifs(model, H100, step, bandwidth_x=memory, precision=precision, count=count)
        return
    floors = what_ifs(model, H100, step, bandwidth_x=memory, compute_x=compute, precision=precision, count=count)
    for name in FIELDS:
        np.testing.assert_allclose(getattr(floors, name), getattr(cost, name), rtol=SAME, err_msg=name)


def test_factors_broadcast_against_the_sweep():
    bandwidth, compute, batch = np.array([0.5, 1, 2]), np.array([1.0, 4]), np.array([1, 64, 295, 1000])
    step = cm.Step.decode(batch[:, None, None], 2048)
    floors = what_ifs(QWEN, H100, step, bandwidth_x=bandwidth[:, None], compute_x=compute)
    assert floors.seconds.shape == floors.bytes.shape == floors.flops.shape == (4, 3, 2)
    for (b, m, c), seconds in np.ndenumerate(floors.seconds):
        hw = H100.replace(
            bandwidth=H100.bandwidth * bandwidth[m], peak={u: rate * compute[c] for u, rate in H100.peak.items()}
        )
        assert seconds == pytest.approx(cm.price(QWEN, hw, cm.Step.decode(int(batch[b]), 2048)).seconds, rel=SAME)


@pytest.mark.parametrize("factor", [0, -1, math.nan, math.inf, [1.0, 0.0]])
def test_factors_are_positive_numbers(factor):
    for key in ("bandwidth_x", "compute_x"):
        with pytest.raises(cm.ConfigError, match=f"{key}: found .*, expected a number above 0"):
            what_ifs(QWEN, H100, cm.Step.decode(1, 1), **{key: factor})


# ---- where the two sides are equal ---------------------------------------------------------------------------


@settings(max_examples=40)
@given(MODELS, COUNT, st.integers(1, 100_000))
def test_the_frontier_of_a_plane_is_where_both_sides_take_as_long(model, count, prompt):
    batches, factors = np.geomspace(1, 4096, 30), np.geomspace(0.25, 4, 12)

    def excess(batch, factor):
        floors = what_ifs(model, H100, cm.Step.decode(batch, prompt), bandwidth_x=factor, count=count)
        return floors.compute_seconds / floors.memory_seconds - 1

    pieces = frontier(excess, batches, factors, excess(*np.meshgrid(batches, factors)))
    if pieces.size:
        np.testing.assert_allclose(excess(pieces[..., 0], pieces[..., 1]), 0, atol=1e-9)
    signs = np.sign(excess(*np.meshgrid(batches, factors)))
    assert bool(pieces.size) == bool(signs.min() < 0 < signs.max())


def test_the_frontier_of_the_posts_count_is_t_star_at_every_context():
    batches, contexts = np.geomspace(1, 1024, 40), np.geomspace(1, 100_000, 10)

    def excess(batch, context):
        floors = what_ifs(QWEN, H100, cm.Step.decode(batch, context), count="weights")
        return floors.compute_seconds - floors.memory_seconds

    pieces = frontier(excess, batches, contexts, excess(*np.meshgrid(batches, contexts)))
    assert len(pieces) == len(contexts) - 1
    np.testing.assert_allclose(pieces[..., 0], cm.crossing(QWEN, H100), rtol=1e-10)
    np.testing.assert_allclose(np.sort(np.unique(pieces[..., 1])), contexts)


def test_a_saddle_gives_two_pieces_and_one_side_alone_gives_none():
    xs = ys = np.array([1.0, 4.0])

    def saddle(x, y):
        return (np.log(x) - np.log(2)) * (np.log(y) - np.log(2))

    pieces = frontier(saddle, xs, ys, saddle(*np.meshgrid(xs, ys)))
    assert sorted(np.round(pieces.reshape(-1, 2), 6).tolist()) == [[1, 2], [2, 1], [2, 4], [4, 2]]
    assert frontier(saddle, xs, ys, np.ones((2, 2))).shape == (0, 2, 2)


def test_a_jump_is_found_to_the_last_digits():
    """An excess that never is small, such as that of a chunked cache that begins anew."""
    xs, ys = np.array([1.0, 1000.0]), np.array([1.0, 2.0])

    def jumps(x, y):
        return np.where(x < 8 * 2**0.5, -1.0, 3.0) * y

    pieces = frontier(jumps, xs, ys, jumps(*np.meshgrid(xs, ys)))
    assert pieces.shape == (1, 2, 2)
    np.testing.assert_allclose(pieces[0, :, 0], 8 * 2**0.5, rtol=1e-9)


def test_crossings_can_be_searched_along_one_axis_alone():
    xs, ys = np.array([1.0, 10.0]), np.array([1.0, 10.0])

    def excess(x, y):
        return np.log(x * y) - 1.0

    sampled = excess(*np.meshgrid(xs, ys))
    both = crossings(excess, xs, ys, sampled)
    assert set(both) == {Edge("x", 0, 0), Edge("y", 0, 0)}
    assert both[Edge("x", 0, 0)] == pytest.approx((math.e, 1.0))
    assert set(crossings(excess, xs, ys, sampled, along="y")) == {Edge("y", 0, 0)}
    assert crossings(excess, xs, ys, sampled + 100, along="xy") == {}
