"""The public reports of mistimed kernels (TOR01 to TOR12 of the reference cases): what of each holds here.

In the names of the tests beside this file: TOR01 (a clock that does not wait) in test_checks and test_backends; TOR03
and TOR04 (data that are still in a cache) in test_clock, test_network and test_backends; TOR06 and TOR10 (launched one
by one or captured) in test_fitting; TOR07 (the host's share) in test_compare; TOR09 (MIG slices) in test_matching;
TOR12 (capacity of a cache) in test_network. Below: the figures of those that follow from the cost model.

Out of reach without the GPU that was measured: how much a hot L2 flatters a GB200 (TOR03), the 42 and 159 tokens a
second of an A100 (TOR06), the 4.2 and 2.7 ms with and without CUDA graphs (TOR10), the 11.3 and 26.9 ms of an H200
(TOR12). That a fixed cost a step fits one batch size only (TOR10) is why an overhead here belongs to a launch of an
operation, in the mode in which it was measured, and why whole blocks are measured too. Weight-only int8 in eager mode
(TOR06) is not measured: its two passes are a missing kernel; the format is priced with the fit of the 16-bit
multiplies, and the source says so.
"""

import json

import pytest

import costmodel as cm
from live.checks import impossible
from live.probes.base import Task
from live.subject import Subject
from tests.live.samples import made_up, point_of, tiny_plan

LLAMA = cm.model("llama-3.1-8b")


@pytest.fixture
def case(reference_data):
    rows = json.loads((reference_data / "cases" / "cases.json").read_text(encoding="utf-8"))["cases"]
    return {row["id"]: row["right_value"] for row in rows}.__getitem__


def test_tor01_every_unsynchronised_figure_is_refused_and_every_synchronised_one_believed(case):
    from live.probes.matmul import case as matmul_case

    figures = case("TOR01")["MatMul_ms"]
    multiply = matmul_case(3584, 3584, 3584, "fp32", "peak")
    card = cm.hardware("rtx4090")
    assert list(impossible([point_of(multiply, "eager", figures["no_sync"] * 1e-3)], card))
    assert not list(impossible([point_of(multiply, "eager", figures["sync"] * 1e-3)], card))


def test_tor03_the_rotation_obeys_the_rule(case):
    from live.lab import _COLD

    assert f"at least {_COLD:.0f}x L2" in case("TOR03")["rule"]


def test_tor06_the_weights_bound_of_int8_and_the_eager_measurement_far_above_it(case):
    right = case("TOR06")
    model, card = cm.model("llama-2-7b"), cm.hardware("a100-sxm-80")
    cost = cm.price(model, card, cm.Step.decode(1, 128), cm.Precision(weights="int8"))
    assert 1 / cost.seconds == pytest.approx(right["weights_bound_tok_s"], rel=0.03)
    assert cost.seconds < right["ms_per_token"]["compiled"] * 1e-3 < right["ms_per_token"]["eager"] * 1e-3
    stand_in = made_up(model=model, plan=tiny_plan(tokens=(1, 16, 256))).rates.source("matmul", "int8").text
    assert "standing in for int8" in stand_in


def test_tor12_the_floor_and_what_even_a_full_cache_would_add(case):
    right = case("TOR12")
    h200 = cm.hardware("h200-sxm")
    floor = cm.price(LLAMA, h200, cm.Step.decode(1, 300), count="weights").seconds
    assert floor == pytest.approx(right["floor_ms"] * 1e-3, rel=0.02)
    full = LLAMA.kv_bytes(131_072) / h200.bandwidth
    assert full == pytest.approx(right["full_capacity_kv_read_ms"] * 1e-3, rel=0.02)
    # either measurement is above weights and full capacity together: a defect of the kernel, not of the model
    assert floor + full < right["ms"]["4096"] * 1e-3


def test_tor12_decode_points_ask_for_the_length_that_they_attend_to():
    from live.probes.attention import DECODE

    plan = tiny_plan(decode=((1, 128), (1, 4096)))
    short, long = DECODE.cases(Task(Subject.of(LLAMA), plan, "bf16"))
    assert long.bytes > 25 * short.bytes
    assert short.resident == 128 * 2 * 8 * 128 * 2
