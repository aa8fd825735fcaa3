"""Two pools with a link between them."""

from __future__ import annotations

import pandas as pd
import pytest

import costmodel as cm
from costmodel import serving
from tests.costmodel.serving.schedules import table

V1 = serving.policy("vllm_v1", max_num_batched_tokens=8)


def test_a_request_is_read_in_one_pool_crosses_the_link_and_is_written_in_the_other() -> None:
    # A: read in step 0 (its first token at 1), 4 tokens cross at 2 a second (to 3), written in steps 3, 4, 5.
    # B: read in step 1 (first token at 2), waits for the link (3 to 5), written in step 5.
    pool = serving.PrefillPool(bandwidth=2.0, kv_bytes_per_token=1.0)
    rows = table(("A", 0, 4, 4), ("B", 1, 4, 2))
    run = serving.simulate(rows, V1, step_seconds=1.0, prefill_pool=pool, num_blocks=50)
    a, b = (run.requests.set_index("id").loc[name] for name in "AB")
    assert a[["ttft_s", "worst_itl_s", "finish_s"]].tolist() == [1, 3, 6]
    assert b[["ttft_s", "worst_itl_s", "finish_s"]].tolist() == [1, 4, 6]
    assert run.timeline.query("id == 'B'")[["phase", "start_s", "end_s"]].to_numpy().tolist() == [
        ["prefill", 1, 2],
        ["transfer", 2, 5],
        ["decode", 5, 6],
    ]
    assert run.steps.groupby("pool")["prefill_tokens"].sum().to_dict() == {"decode": 0, "prefill": 8}
    assert run.summary["processed_tokens"] == (4 + 4 - 1) + (4 + 2 - 1)
    assert run.summary["conserved"]


def test_a_latency_is_added_to_each_transfer_but_does_not_hold_up_the_next() -> None:
    pool = serving.PrefillPool(bandwidth=4.0, kv_bytes_per_token=1.0, latency=10.0)
    rows = table(("A", 0, 4, 2), ("B", 0, 4, 2))
    run = serving.simulate(rows, V1, step_seconds=1.0, prefill_pool=pool)
    # Both are read in step 0; their transfers end at 2 + 10 and 3 + 10.
    assert run.requests["finish_s"].tolist() == [13, 14]


def test_blocks_of_the_prefill_pool_are_held_until_the_transfer_has_ended() -> None:
    pool = serving.PrefillPool(bandwidth=1.0, kv_bytes_per_token=1.0, num_blocks=1)
    rows = table(("A", 0, 4, 2), ("B", 0, 4, 2))
    run = serving.simulate(rows, V1, step_seconds=1.0, prefill_pool=pool, block_size=4)
    # A's block comes free at 1 + 4, so that B is read in step 5.
    assert run.requests["scheduled_s"].tolist() == [0, 5]


def test_a_request_waits_for_its_blocks_in_the_second_pool_and_is_read_again_there_when_it_loses_them() -> None:
    pool = serving.PrefillPool(bandwidth=1e9, kv_bytes_per_token=1.0)
    rows = table(("A", 0, 4, 6), ("B", 0, 4, 6))
    run = serving.simulate(rows, V1, step_seconds=1.0, prefill_pool=pool, num_blocks=4, block_size=4)
    assert run.requests["preemptions"].tolist() == [0, 1]
    assert run.steps.query("pool == 'decode'")["prefill_tokens"].sum() > 0
    assert run.summary["finished"] == 2


@pytest.mark.parametrize("name", ["orca", "sarathi", "sglang", "static", "vllm_v0", "vllm_v1"])
def test_any_policy_can_write_what_another_has_read(name: str) -> None:
    pool = serving.PrefillPool(bandwidth=100.0, kv_bytes_per_token=1.0, policy=V1)
    requests = serving.poisson(rate=0.5, count=30, prompt=(1, 40), output=(1, 20), seed=6)
    run = serving.simulate(requests, serving.policy(name), step_seconds=1.0, prefill_pool=pool)
    assert run.summary["finished"] == 30
    assert run.summary["processed_tokens"] == (requests["prompt_tokens"] + requests["output_tokens"] - 1).sum()
    assert run.steps.query("pool == 'prefill'")["decode_tokens"].sum() == 0


def test_one_token_is_finished_where_it_is_read() -> None:
    pool = serving.PrefillPool(bandwidth=1.0, kv_bytes_per_token=1.0)
    run = serving.simulate(table(("A", 0, 4, 1)), V1, step_seconds=1.0, prefill_pool=pool)
    assert run.requests["finish_s"].tolist() == [1]
    assert set(run.steps["pool"]) == {"prefill"}


def test_who_has_left_the_first_pool_has_come_though_the_second_is_stuck() -> None:
    pool = serving.PrefillPool(bandwidth=1.0, kv_bytes_per_token=1.0)
    rows = table(("A", 0, 4, 8), ("B", 900, 4, 8))
    run = serving.simulate(rows, V1, step_seconds=1.0, prefill_pool=pool, num_blocks=1, block_size=4, oversize="admit")
    assert run.summary["livelock"]
    assert run.requests["outcome"].tolist() == ["unfinished", "unfinished"]
    assert run.summary["arrived"] == 2


def test_users_go_through_both_pools() -> None:
    pool = serving.PrefillPool(bandwidth=1e9, kv_bytes_per_token=1.0)
    requests = serving.closed_loop(users=1, count=3, prompt=4, output=3)
    run = serving.simulate(requests, V1, step_seconds=1.0, prefill_pool=pool)
    finish = run.requests["finish_s"].tolist()
    assert run.requests["arrival_s"].tolist() == [0, *finish[:-1]]


def test_the_transfer_of_a_model_takes_its_cache_over_the_bandwidth() -> None:
    model, hw = cm.model("llama-3.1-8b"), cm.hardware("h100-sxm")
    rows = pd.DataFrame({"arrival_s": [0.0], "prompt_tokens": [1000], "output_tokens": [2]})
    run = serving.simulate(
        rows, serving.policy("vllm_v1"), model=model, hardware=hw, prefill_pool=serving.PrefillPool(bandwidth=1e9)
    )
    spans = run.timeline.set_index("phase")
    carried = spans.loc["transfer", "end_s"] - spans.loc["transfer", "start_s"]
    assert carried == pytest.approx(1000 * model.kv_bytes_per_token / 1e9)
    prefill, decode = (cm.price(model, hw, step).seconds for step in (cm.Step.prefill(1000), cm.Step.decode(1, 1000)))
    request = run.requests.iloc[0]
    assert request["ttft_s"] == pytest.approx(prefill)
    assert request["worst_itl_s"] == pytest.approx(carried + decode)


def test_decodes_are_not_stalled_by_prompts_any_more() -> None:
    requests = serving.poisson(rate=6.0, count=120, prompt=(500, 4000), output=(50, 150), seed=3)
    price = {"model": cm.model("llama-3.1-8b"), "hardware": cm.hardware("h100-sxm")}
    policy = serving.policy("vllm_v1", max_num_batched_tokens=8192)
    together = serving.simulate(requests, policy, **price)
    apart = serving.simulate(requests, policy, prefill_pool=serving.PrefillPool(bandwidth=400e9), **price)
    assert apart.summary["itl_p99_s"] < together.summary["itl_p99_s"] / 3
    assert apart.explain(0).pool == "prefill"


@pytest.mark.parametrize(
    "figures",
    [{"bandwidth": 0}, {"bandwidth": 1.0, "latency": -1}, {"bandwidth": 1.0, "num_blocks": 0}, {"bandwidth": "x"}],
)
def test_a_pool_checks_itself(figures: dict[str, object]) -> None:
    with pytest.raises(cm.ConfigError):
        serving.PrefillPool(**figures)
