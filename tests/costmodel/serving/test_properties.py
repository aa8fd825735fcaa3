"""What holds for every policy and every workload."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import costmodel as cm
from costmodel import serving

POLICIES = ("static", "orca", "vllm_v0", "sarathi", "vllm_v1", "sglang")
BUDGETS = {"vllm_v0": "max_num_batched_tokens", "sarathi": "chunk_size", "vllm_v1": "max_num_batched_tokens"}

requests = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 40), st.integers(1, 25)), min_size=1, max_size=12).map(
    lambda rows: pd.DataFrame(rows, columns=["arrival_s", "prompt_tokens", "output_tokens"])
)


@st.composite
def simulations(draw: st.DrawFn) -> tuple[pd.DataFrame, serving.Policy, dict[str, Any]]:
    """A workload, a policy, and a pool that is tight or not."""
    table = draw(requests)
    name = draw(st.sampled_from(POLICIES))
    seqs = draw(st.integers(1, 8))
    knobs: dict[str, Any] = {"max_num_seqs": seqs}
    if name in BUDGETS:
        knobs[BUDGETS[name]] = draw(st.integers(max(seqs, 40 if name == "vllm_v0" else 1), 80))
    block_size = draw(st.sampled_from([1, 4, 16]))
    longest = int((table["prompt_tokens"] + table["output_tokens"]).max())
    blocks = -(-longest // block_size) + 2 + draw(st.sampled_from([0, 3, 1000]))
    options = {"num_blocks": blocks, "block_size": block_size, "lag": draw(st.sampled_from([0, 0, 1]))}
    return table, serving.policy(name, **knobs), options


def steps_of(case: tuple[pd.DataFrame, serving.Policy, dict[str, Any]]) -> serving.Run:
    table, policy, options = case
    return serving.simulate(table, policy, step_seconds=1.0, engine="steps", **options)


@given(simulations())
def test_every_request_is_accounted_for(case: Any) -> None:
    summary = steps_of(case).summary
    assert summary["conserved"]
    assert summary["arrived"] == summary["finished"] + summary["rejected"] + summary["unfinished"] == len(case[0])
    assert (summary["unfinished"] > 0) == (summary["livelock"] is not None)


@given(simulations())
def test_no_step_is_above_its_budget_and_no_pool_below_nothing(case: Any) -> None:
    run = steps_of(case)
    steps, policy = run.steps, case[1]
    if policy.name in BUDGETS and len(steps):
        budget = getattr(policy, BUDGETS[policy.name])
        assert (steps["prefill_tokens"] + steps["decode_tokens"]).max() <= budget
    assert steps["sequences"].max() <= policy.max_num_seqs if len(steps) else True
    assert (steps["blocks_used"] <= run.summary["num_blocks"]).all()
    assert all(0 <= blocks <= run.summary["num_blocks"] for _, blocks in run.schedule)


@given(simulations())
def test_requests_are_first_admitted_in_order_of_arrival(case: Any) -> None:
    admitted = steps_of(case).requests.query("outcome != 'rejected'").sort_values("arrival_s", kind="stable")
    assert (np.diff(admitted["scheduled_s"].dropna()) >= 0).all()


@given(simulations())
def test_a_request_processes_its_prompt_and_its_output_less_one_token(case: Any) -> None:
    run = steps_of(case)
    summary, served = run.summary, run.requests.query("outcome == 'finished'")
    if summary["preemptions"] == 0 and summary["finished"] == summary["arrived"]:
        expected = (served["prompt_tokens"] + served["output_tokens"] - 1).sum()
        assert summary["processed_tokens"] == expected
        assert summary["recomputed_tokens"] == 0
    assert summary["output_tokens"] == served["output_tokens"].sum() + run.outcome.sampled[run.finished == 0].sum()


@given(simulations())
def test_tokens_of_a_schedule_add_up_for_each_request(case: Any) -> None:
    run = steps_of(case)
    processed: dict[str, int] = {}
    for step, _ in run.schedule:
        for name, tokens in step.items():
            processed[name] = processed.get(name, 0) + tokens
    for row in run.requests.query("outcome == 'finished' and preemptions == 0").itertuples():
        assert processed[row.id] == row.prompt_tokens + row.output_tokens - 1


@given(simulations())
def test_times_are_in_order_and_spans_of_a_request_fill_its_life(case: Any) -> None:
    run = steps_of(case)
    done = run.requests.query("outcome == 'finished'")
    order = done[["arrival_s", "scheduled_s", "first_token_s", "finish_s"]].to_numpy()
    assert (np.diff(order, axis=1) >= 0).all()
    spans = run.timeline
    for row in done.itertuples():
        mine = spans[spans["id"] == row.id].sort_values("start_s")
        assert mine["start_s"].iloc[0] == row.arrival_s
        assert mine["end_s"].iloc[-1] == row.finish_s
        assert (mine["end_s"].to_numpy()[:-1] == mine["start_s"].to_numpy()[1:]).all()


def test_ttft_is_not_reset_by_a_preemption() -> None:
    # B loses its blocks in step 1, after its first token, and gets its second one in step 3.
    table = pd.DataFrame({"arrival_s": [0, 0], "prompt_tokens": [4, 4], "output_tokens": [3, 3]})
    policy = serving.policy("vllm_v1")
    run = serving.simulate(table, policy, step_seconds=1.0, num_blocks=5, block_size=2, engine="steps")
    last = run.requests.iloc[1]
    assert last[["preemptions", "ttft_s", "worst_itl_s", "finish_s"]].tolist() == [1, 1.0, 3.0, 5.0]


@pytest.mark.parametrize("policy", POLICIES)
def test_littles_law_holds_on_a_long_run(policy: str) -> None:
    count = 3_000 if policy == "sglang" else 20_000  # it goes step by step
    table = serving.poisson(rate=6.0, count=count, prompt=(100, 900), output=(20, 180), seed=5)
    run = serving.simulate(table, serving.policy(policy), model=cm.model("qwen3-0.6b"), hardware=cm.hardware("l4"))
    rate = count / run.summary["duration_s"]
    assert run.summary["in_system"] == pytest.approx(rate * run.summary["latency_s"])


pools = st.one_of(
    st.none(),
    st.builds(
        serving.PrefillPool,
        bandwidth=st.sampled_from([0.5, 3.0, 1e6]),
        latency=st.sampled_from([0.0, 4.5]),
        num_blocks=st.sampled_from([None, 41, 200]),
        kv_bytes_per_token=st.just(1.0),
    ),
)


@given(simulations(), pools, st.sampled_from(["reject", "admit"]), st.sampled_from([None, 1, 3]))
def test_whoever_is_there_runs_or_waits_or_crosses_the_link(case: Any, pool: Any, oversize: str, users: Any) -> None:
    table, policy, options = case
    if oversize == "admit":
        options = {**options, "num_blocks": max(1, options["num_blocks"] // 3)}
    run = serving.simulate(
        table, policy, step_seconds=0.7, prefill_pool=pool, oversize=oversize, users=users, engine="steps", **options
    )
    check_presence(run)
    assert run.summary["arrived"] == run.summary["finished"] + run.summary["rejected"] + run.summary["unfinished"]


def check_presence(run: serving.Run) -> None:
    """Requests that are there, by what they are at, against the spans of the timeline; and Little's law."""
    s, spans = run.summary, run.timeline
    if not s["duration_s"]:
        return
    end = run.segments.end.max()  # of what is summed up: a cache may be on its way to a stuck pool still
    within = spans["end_s"].clip(upper=end) - spans["start_s"].clip(upper=end)
    length = within.groupby(spans["phase"]).sum().to_dict()
    parts = {"running": ("prefill", "decode"), "waiting": ("queued", "preempted"), "on_link": ("transfer",)}
    # Whoever is stuck stands in its last phase, and waits: nothing runs without a step.
    for part, phases in () if s["livelock"] else parts.items():
        expected = sum(length.get(phase, 0.0) for phase in phases) / s["duration_s"]
        assert s[f"mean_{part}"] == pytest.approx(expected, abs=1e-9), part
    assert s["mean_running"] + s["mean_waiting"] + s["mean_on_link"] == pytest.approx(s["in_system"])
    assert s["in_system"] == pytest.approx((s["arrived"] - s["rejected"]) / s["duration_s"] * s["stay_s"])


def test_a_run_is_the_same_twice() -> None:
    table = serving.poisson(rate=2.0, count=200, prompt=(10, 500), output=(5, 50), seed=9)
    runs = [serving.simulate(table, serving.policy("vllm_v1"), step_seconds=0.05, num_blocks=100) for _ in range(2)]
    pd.testing.assert_frame_equal(runs[0].requests, runs[1].requests)
    pd.testing.assert_frame_equal(runs[0].steps, runs[1].steps)
