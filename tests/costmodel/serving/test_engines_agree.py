"""The jump engine gives the plain engine's run: every request, every step, every figure."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pandas as pd
import pytest

import costmodel as cm
from costmodel import serving
from tests.costmodel.serving.random_runs import random_run
from tests.costmodel.serving.schedules import table

RUNS, REPRICED = 500, 1000
ENOUGH = 5  # runs of a kind
PARTS = 5  # of the runs, so that several processors share them
SAME = {"rtol": 1e-9, "atol": 1e-12}
SERVED = ("static", "orca", "vllm_v0", "sarathi", "vllm_v1")


def assert_same_table(one: pd.DataFrame, two: pd.DataFrame) -> None:
    assert len(one) == len(two)
    for name in one:
        if one[name].dtype.kind in "fi":
            np.testing.assert_allclose(one[name], two[name], **SAME, err_msg=name)
        else:
            assert one[name].tolist() == two[name].tolist(), name


def assert_same_run(plain: serving.Run, jumped: serving.Run) -> None:
    assert (plain.summary["engine"], jumped.summary["engine"]) == ("steps", "jump")
    assert_same_table(plain.requests.drop(columns="reason"), jumped.requests.drop(columns="reason"))
    assert_same_table(plain.expand(), jumped.expand())
    order = ["id", "start_s", "end_s"]
    assert_same_table(*(run.timeline.sort_values(order, ignore_index=True) for run in (plain, jumped)))
    for name, value in plain.summary.items():
        if name == "livelock":
            assert (value is None) == (jumped.summary[name] is None)
        elif isinstance(value, float | int) and name != "iterations":
            np.testing.assert_allclose(jumped.summary[name], value, **SAME, err_msg=name)


@pytest.mark.timeout(900)  # four seconds on an idle core, and minutes where coverage is measured
@pytest.mark.parametrize("part", range(PARTS))
def test_five_hundred_random_runs_are_the_same_by_both_engines(part: int) -> None:
    for seed in range(part, RUNS, PARTS):
        case = random_run(seed)
        plain, jumped = case.by("steps"), case.by("jump")
        try:
            assert_same_run(plain, jumped)
        except AssertionError as error:
            pytest.fail(f"seed {seed}: {case.policy}, {dict(case.options)}: {error}")


def test_who_missed_a_step_and_is_preempted_before_the_next_leaves_no_gap() -> None:
    requests = table(("A", 0.23, 1, 3), ("B", 1.44, 3, 7), ("C", 2.7, 3, 4), ("D", 3.81, 2, 6))
    policy = serving.policy("vllm_v0", watermark=0.0)
    plain, jumped = (
        serving.simulate(requests, policy, step_seconds=1.0, num_blocks=9, block_size=1, engine=engine)
        for engine in ("steps", "jump")
    )
    assert plain.summary["preemptions"] > 0
    assert_same_run(plain, jumped)


@pytest.mark.timeout(900)
def test_the_random_runs_hold_enough_of_every_kind() -> None:
    kinds = dict.fromkeys(("preemption", "livelock", "windows", "experts", "curved"), 0)
    for case in map(random_run, range(RUNS)):
        summary = case.by("jump").summary
        model = case.options["model"].id if case.priced else ""
        kinds["preemption"] += summary["preemptions"] > 0
        kinds["livelock"] += summary["livelock"] is not None
        kinds["windows"] += any(name in model for name in ("gemma", "gpt-oss", "scout"))
        kinds["experts"] += any(name in model for name in ("a3b", "gpt-oss", "scout", "v2-lite"))
        kinds["curved"] += case.options.get("rates") == "calibrated"
        if min(kinds.values()) >= ENOUGH:
            return
    pytest.fail(f"of some kind there are too few: {kinds}")


@cache
def long_run(rate: float, policy: str, model: str = "llama-3.1-8b", rates: str = "datasheet") -> serving.Run:
    requests = serving.poisson(
        rate=rate, count=1000, prompt=serving.AZURE_CONV_PROMPTS, output=serving.AZURE_CONV_OUTPUTS, seed=1
    )
    return serving.simulate(
        requests, serving.policy(policy), model=cm.model(model), hardware=cm.hardware("h100-sxm"), rates=rates
    )


@pytest.mark.parametrize("policy", SERVED)
def test_at_one_request_a_second_iterations_are_less_than_a_tenth_of_the_steps(policy: str) -> None:
    summary = long_run(1.0, policy).summary
    print(f"{policy}: {summary['iterations']:,} iterations for {summary['steps']:,} steps")
    assert summary["iterations"] < summary["steps"] / 10


@pytest.mark.parametrize(
    ("model", "rates"), [("llama-3.1-8b", "datasheet"), ("gpt-oss-20b", "datasheet"), ("llama-3.1-8b", "calibrated")]
)
def test_a_thousand_sampled_steps_cost_what_the_cost_model_says(model: str, rates: str) -> None:
    run = long_run(4.0, "vllm_v1", model, rates)
    steps, rng = run.expand(), random.Random(0)
    priced = {"rates": rates}
    for step in rng.sample(range(len(steps)), REPRICED // 3 + 1):
        cost = cm.price(cm.model(model), cm.hardware("h100-sxm"), run.composition(step), **priced)
        assert cost.seconds == pytest.approx(steps["seconds"].iloc[step], rel=1e-9)
        assert cost.bound == steps["bound"].iloc[step]


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (serving.policy("vllm_v1", prefix_caching=True), "prefix cache"),
        (serving.policy("vllm_v1", policy="priority"), "priorities"),
        (serving.policy("vllm_v1", prefill_schedule_interval=2), "every few steps"),
        (serving.policy("static", padded=True), "padded"),
        (serving.policy("sglang"), "sglang"),
    ],
)
def test_what_the_jump_engine_does_not_serve_is_left_to_the_plain_one(policy: serving.Policy, said: str) -> None:
    requests = serving.at_once(count=3, prompt=4, output=2)
    summary = serving.simulate(requests, policy, step_seconds=1.0).summary
    assert (summary["engine"], summary["finished"]) == ("steps", 3)
    assert said in summary["note"]
