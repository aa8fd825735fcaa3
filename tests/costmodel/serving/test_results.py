"""A run's tables and figures: worked by hand where they can be, and against each other where not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import costmodel as cm
from costmodel import serving
from costmodel.serving.summary import Lines
from tests.costmodel.serving.schedules import table

TWO = table(("A", 0, 5, 3), ("B", 1, 5, 1))
H100, QWEN = cm.hardware("h100-sxm"), cm.model("qwen3-0.6b")


def unit(requests: Any = TWO, policy: str = "orca", **options: Any) -> serving.Run:
    return serving.simulate(requests, serving.policy(policy), **{"step_seconds": 2.0, "engine": "steps", **options})


def priced(count: int = 100, **options: Any) -> serving.Run:
    requests = serving.poisson(rate=20.0, count=count, prompt=(50, 500), output=(5, 60), seed=4)
    return serving.simulate(requests, serving.policy("vllm_v1"), model=QWEN, hardware=H100, **options)


def test_the_requests_of_a_small_run_by_hand() -> None:
    # Steps of 2 s: A5 | A1 B5 | A1. B comes at 1 s, and is seen when step 1 starts, at 2 s.
    rows = unit().requests.set_index("id")
    a, b = rows.loc["A"], rows.loc["B"]
    times = ["scheduled_s", "first_token_s", "finish_s", "ttft_s", "tpot_s", "latency_s"]
    assert a[times].tolist() == [0, 2, 6, 2, 2, 6]
    assert b[["queued_s", "ttft_s", "finish_s", "outcome"]].tolist() == [1, 3, 4, "finished"]
    assert math.isnan(b["tpot_s"])
    assert math.isnan(b["worst_itl_s"])
    assert a["worst_itl_s"] == 2


def test_the_steps_of_a_small_run_by_hand() -> None:
    steps = unit().steps
    assert steps[["start_s", "prefill_tokens", "decode_tokens", "sequences"]].to_numpy().tolist() == [
        [0, 5, 0, 1],
        [2, 5, 1, 2],
        [4, 0, 1, 1],
    ]
    assert set(steps["bound"]) == {""}


def test_refusals_are_counted_by_kind_the_commonest_first() -> None:
    requests = table(("A", 0, 90, 3), ("B", 1, 70, 1), ("C", 2, 20, 60), ("D", 3, 20, 2))
    run = unit(requests, "vllm_v0", num_blocks=4, block_size=16)
    assert run.requests["outcome"].tolist() == ["rejected"] * 3 + ["finished"]
    (two, prompts), (one, stored) = run.refusals
    assert (two, one) == (2, 1)
    assert prompts.startswith("their prompts of 70 to 90 tokens are above the 4 KV blocks of 16")
    assert stored == run.requests["reason"][2]


def test_the_summary_of_a_small_run_by_hand() -> None:
    summary = unit(slo={"ttft_s": 2.5}).summary
    expected = {
        "arrived": 2,
        "finished": 2,
        "duration_s": 6,
        "busy_s": 6,
        "requests_per_s": 2 / 6,
        "output_tokens_per_s": 4 / 6,
        "total_tokens_per_s": 14 / 6,
        "goodput": 1 / 6,
        "slo_share": 0.5,
        "ttft_s": 2.5,
        "ttft_p50_s": 2.5,
        "tpot_s": 2,
        "itl_s": 2,
        "itl_p99_s": 2,
        "worst_itl_s": 2,
        "mean_running": (1 + 2 + 1) * 2 / 6,
        "mean_waiting": 1 / 6,
        "mean_on_link": 0,
        "in_system": (6 + 3) / 6,
        "stay_s": 4.5,
        "processed_tokens": 12,
        "preemptions": 0,
    }
    assert {name: summary[name] for name in expected} == pytest.approx(expected)
    assert math.isnan(summary["mfu"])


def test_the_timeline_of_a_small_run_by_hand() -> None:
    spans = unit().timeline
    assert spans.to_numpy().tolist() == [
        ["A", "prefill", 0, 2],
        ["A", "decode", 2, 6],
        ["B", "queued", 1, 2],
        ["B", "prefill", 2, 4],
    ]


def test_what_waits_to_the_end_is_queued_to_the_end() -> None:
    rows = table(("A", 0, 10, 8), ("B", 1, 2, 2), ("C", 1, 2, 2))
    run = unit(rows, "vllm_v1", num_blocks=4, block_size=4, oversize="admit")
    last = run.timeline.query("id == 'A'").iloc[-1]
    assert last["phase"] == "preempted"
    assert last["end_s"] == pytest.approx(run.segments.end.max())


def test_goodput_counts_requests_that_keep_every_limit() -> None:
    loose, tight = priced(slo={"ttft_s": 1e3, "tpot_s": 1e3}), priced(slo=serving.Slo(ttft_s=1e-9))
    assert loose.summary["goodput"] == pytest.approx(loose.summary["requests_per_s"])
    assert (tight.summary["goodput"], tight.summary["slo_share"]) == (0, 0)


def test_utilisation_is_what_the_cost_model_says_of_all_steps() -> None:
    run = priced()
    busy = run.summary["busy_s"]
    costs = [cm.price(QWEN, H100, run.composition(i)) for i in range(int(run.summary["steps"]))]
    assert sum(cost.seconds for cost in costs) == pytest.approx(busy, rel=1e-9)
    nbytes, flops = sum(cost.bytes for cost in costs), sum(cost.flops for cost in costs)
    duration = run.summary["duration_s"]
    assert run.summary["mbu"] == pytest.approx(nbytes / H100.bandwidth / duration, rel=1e-9)
    assert run.summary["mfu"] == pytest.approx(flops / H100.peak["bf16"] / duration, rel=1e-9)


def test_segments_expand_to_the_steps_that_they_stand_for() -> None:
    run = priced()
    assert len(run.expand()) == run.summary["steps"] > len(run.steps)
    assert run.expand()["seconds"].sum() == pytest.approx(run.steps["seconds"].sum())
    assert (run.expand()["steps"] == 1).all()


def test_kv_blocks_are_what_fits_beside_the_weights() -> None:
    fit = cm.memory(QWEN, H100, context=560)
    assert priced().summary["num_blocks"] == fit.blocks
    half = cm.memory(QWEN, H100, context=560, utilization=0.5)
    assert priced(utilization=0.5).summary["num_blocks"] == half.blocks
    with pytest.raises(cm.ConfigError, match="room for"):
        serving.simulate(TWO, serving.policy("orca"), model=cm.model("llama-3.1-405b"), hardware=H100)


def test_kv_blocks_leave_a_reserve_free_and_give_windows_their_pages() -> None:
    asked = {"reserve_bytes": 20e9, "allocation": "full", "utilization": 0.8}
    rows, gemma, h200 = table(("A", 0, 5000, 3)), cm.model("gemma-3-27b"), cm.hardware("h200-sxm")
    run = serving.simulate(rows, serving.policy("orca"), model=gemma, hardware=h200, **asked)
    assert run.summary["num_blocks"] == cm.memory(gemma, h200, context=5003, **asked).blocks
    with pytest.raises(cm.ConfigError, match=r"weights and caches; 22\.0 GB are there"):
        serving.simulate(
            rows, serving.policy("orca"), model=gemma, hardware=h200.replace(memory=60e9), reserve_bytes=32e9
        )


def test_a_model_bounds_the_length_of_requests() -> None:
    requests = table(("long", 0, 1020, 100), ("too long", 0, 5000, 1))
    run = serving.simulate(requests, serving.policy("vllm_v1"), model=cm.model("gpt2"), hardware=H100)
    assert run.requests["output_tokens"].iloc[0] == 1024 - 1020
    assert "max_model_len 1,024" in run.requests["reason"].iloc[1]


@pytest.mark.parametrize("engine", ["steps", "jump"])
def test_progress_is_told(engine: str) -> None:
    told: list[float] = []
    priced(count=1000, engine=engine, progress=told.append)
    assert told == sorted(told)
    assert 0 < told[0] < told[-1] == 1.0


@pytest.mark.parametrize("engine", ["steps", "jump"])
def test_a_run_can_be_ended(engine: str) -> None:
    run = priced(count=2000, engine=engine, cancel=lambda: True)
    assert (run.summary["cancelled"], run.summary["conserved"]) == (True, True)
    assert run.summary["finished"] < 2000
    assert "not arrived" in set(run.requests["outcome"])

    requests = serving.at_once(count=2000, prompt=200, output=(100, 300))
    policy = serving.policy("vllm_v1", max_num_seqs=8)
    run = serving.simulate(requests, policy, step_seconds=1.0, engine=engine, cancel=lambda: True)
    cut = run.requests.query("outcome == 'unfinished'")
    assert len(cut) + run.summary["finished"] == run.summary["arrived"] == 2000
    assert cut["reason"].str.contains("cancelled").all()
    written = run.outcome.sampled[cut.index]
    assert 1 < written.max() < 300
    assert sum(written > 0) <= 8


def test_an_empty_run_has_a_summary_too() -> None:
    run = unit(TWO.head(0))
    assert (run.summary["arrived"], run.summary["conserved"], run.summary["duration_s"]) == (0, True, 0)
    assert math.isnan(run.summary["ttft_s"])
    assert len(run.steps) == len(run.requests) == len(run.timeline) == len(run.expand()) == 0


@given(
    st.lists(
        st.tuples(st.floats(0.1, 10), st.floats(0, 1), st.integers(1, 20), st.integers(0, 5)), min_size=1, max_size=20
    ),
    st.floats(0.01, 0.99),
)
def test_quantiles_of_runs_are_those_of_their_values(runs: list[tuple[float, float, int, int]], share: float) -> None:
    values = np.concatenate([np.repeat(np.linspace(a, a + w, n) if n > 1 else [a], k) for a, w, n, k in runs])
    if not values.size:
        return
    first, last, count, weight = (
        np.array(column, dtype=float)
        for column in zip(*((a, a + w if n > 1 else a, n, k) for a, w, n, k in runs), strict=True)
    )
    (found,) = Lines(first, last, count, weight).quantiles([share])
    expected = np.quantile(values, share, method="inverted_cdf")
    close = np.isclose(found, expected, rtol=1e-9)
    # At a share that falls between two values, rounding decides for one of them.
    edge = np.isclose((share * len(values)) % 1, [0, 1], atol=1e-6).any()
    assert close or edge
