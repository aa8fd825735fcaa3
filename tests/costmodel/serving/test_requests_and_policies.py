"""What is asked for: the table of requests, the policies and their knobs, and requests that can never be finished."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
import pytest

import costmodel as cm
from costmodel import serving
from costmodel.serving.policies.base import Policy
from costmodel.serving.policies.reserving import Orca
from costmodel.serving.request import Request
from tests.costmodel.serving.schedules import table, written

ONE = table(("A", 0, 4, 2))


def simulate(requests: object = ONE, policy: serving.Policy | None = None, **options: Any) -> serving.Run:
    return serving.simulate(requests, policy or serving.policy("vllm_v1"), **{"step_seconds": 1.0, **options})


# ---- policies ---------------------------------------------------------------------------------------------------


def test_every_policy_says_which_engine_it_copies() -> None:
    assert serving.policies() == ["orca", "sarathi", "sglang", "static", "vllm_v0", "vllm_v1"]
    assert all(Policy.registry[name].copies for name in serving.policies())


@pytest.mark.parametrize("name", ["orca", "sarathi", "sglang", "static", "vllm_v0", "vllm_v1"])
def test_a_policy_finishes_what_it_is_given_with_its_defaults(name: str) -> None:
    requests = serving.poisson(rate=1.0, count=30, prompt=(1, 50), output=(1, 20), seed=2)
    run = simulate(requests, serving.policy(name))
    assert run.summary["finished"] == 30
    assert run.summary["copies"] == Policy.registry[name].copies


@pytest.mark.parametrize(
    ("name", "knobs"),
    [
        ("vllm_v2", {}),
        ("vllm_v1", {"chunk_size": 5}),
        ("vllm_v1", {"max_num_batched_tokens": 0}),
        ("vllm_v1", {"max_num_batched_tokens": 2.5}),
        ("vllm_v1", {"max_num_seqs": True}),
        ("vllm_v1", {"watermark": 1.0}),
        ("vllm_v1", {"watermark": -0.1}),
        ("vllm_v1", {"policy": "lifo"}),
        ("vllm_v1", {"chunked_prefill": 1}),
        ("vllm_v1", {"long_prefill_token_threshold": -1}),
        ("vllm_v1", {"max_model_len": 0}),
        ("sarathi", {"chunk_size": 0}),
        ("static", {"padded": "yes"}),
        ("sglang", {"schedule_policy": "random"}),
        ("sglang", {"schedule_conservativeness": 0}),
        ("vllm_v0", {"max_num_batched_tokens": -1}),
    ],
)
def test_a_wrong_name_or_knob_is_refused(name: str, knobs: dict[str, Any]) -> None:
    with pytest.raises(cm.ConfigError):
        serving.policy(name, **knobs)


@pytest.mark.parametrize(
    ("device", "server", "offline", "seqs", "chunk"),
    [
        ("h100-sxm", 8192, 16384, 1024, 8192),
        ("a100-sxm-80", 2048, 8192, 256, 8192),
        ("l4", 2048, 8192, 256, 4096),
        ("t4", 2048, 8192, 256, 2048),
        ("b200", 16384, 16384, 1024, 16384),
    ],
)
def test_engines_set_their_knobs_by_the_device(device: str, server: int, offline: int, seqs: int, chunk: int) -> None:
    hw = cm.hardware(device)
    served, batched = serving.knobs_on("vllm_v1", hw), serving.knobs_on("vllm_v1", hw, offline=True)
    assert (served["max_num_batched_tokens"], batched["max_num_batched_tokens"]) == (server, offline)
    assert served["max_num_seqs"] == seqs
    assert serving.knobs_on("sglang", hw)["chunked_prefill_size"] == chunk
    assert serving.knobs_on("orca", hw) == {}
    assert serving.policy("vllm_v1", **served).prefix_caching


def test_a_policy_of_one_module_is_found_by_its_name() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Solo(Orca):
        """One request after the other."""

        name = "solo"
        copies = "nobody"
        max_num_seqs: int = 1

    try:
        run = simulate(table(("A", 0, 2, 2), ("B", 0, 2, 1)), serving.policy("solo"))
        assert written(run) == "A2 | A1 | B2"
        assert run.summary["engine"] == "steps", "the jump engine serves the policies that it knows"
    finally:
        del Policy.registry["solo"]


def test_knobs_may_bring_the_pool_along_and_the_call_has_the_last_word() -> None:
    policy = serving.policy("vllm_v1", num_blocks=7, block_size=4)
    assert simulate(policy=policy).summary["num_blocks"] == 7
    assert simulate(policy=policy).summary["block_size"] == 4
    assert simulate(policy=policy, num_blocks=9).summary["num_blocks"] == 9


# ---- the table --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"prompt_tokens": [0]}, "prompt_tokens of row 1"),
        ({"output_tokens": [1.5]}, "output_tokens of row 1"),
        ({"output_tokens": [float("nan")]}, "output_tokens of row 1"),
        ({"arrival_s": [-1]}, "arrival_s of row 1"),
        ({"arrival_s": ["soon"]}, "arrival_s of row 1"),
        ({"token_ids": [[1, 2]]}, "token_ids of row 1"),
        ({"priority": ["high"]}, "priority of row 1"),
    ],
)
def test_a_row_that_is_no_request_is_refused(changes: dict[str, list[Any]], said: str) -> None:
    with pytest.raises(cm.ConfigError, match=said):
        simulate(ONE.assign(**changes))


def test_columns_and_ids_are_checked() -> None:
    with pytest.raises(cm.ConfigError, match="a column output_tokens"):
        simulate(ONE.drop(columns="output_tokens"))
    with pytest.raises(cm.ConfigError, match="a different id"):
        simulate(pd.concat([ONE, ONE]))


def test_any_table_will_do_and_ids_may_be_left_out() -> None:
    run = simulate([{"arrival_s": 0, "prompt_tokens": 4, "output_tokens": 2}])
    assert run.requests["id"].tolist() == ["0"]
    assert simulate(ONE.head(0)).summary["arrived"] == 0


@pytest.mark.parametrize(
    "options",
    [
        {"step_seconds": 0},
        {"step_seconds": None},
        {"step_seconds": None, "model": cm.model("gpt2")},
        {"model": cm.model("gpt2"), "hardware": cm.hardware("h100-sxm")},
        {"step_seconds": "1"},
        {"engine": "fast"},
        {"users": 0},
        {"lag": -1},
        {"num_blocks": 0},
        {"block_size": 1.5},
        {"oversize": "drop"},
        {"slo": {"ttft": 1.0}},
        {"slo": {"ttft_s": -1.0}},
        {"prefill_pool": serving.PrefillPool(bandwidth=1.0)},  # nothing says how many bytes a token has
    ],
)
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(cm.ConfigError):
        simulate(**options)


# ---- requests that are too large -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "knobs", "pool", "row", "said"),
    [
        ("vllm_v1", {}, 4, ("A", 0, 17, 1), "4 KV blocks of 4"),
        ("vllm_v1", {}, 4, ("A", 0, 10, 8), "17 tokens to store"),
        ("vllm_v1", {"max_model_len": 8}, 4, ("A", 0, 8, 1), "max_model_len 8"),
        ("vllm_v1", {"chunked_prefill": False, "max_num_batched_tokens": 8}, 9, ("A", 0, 9, 1), "batched_tokens 8"),
        ("vllm_v0", {"max_num_batched_tokens": 8}, 9, ("A", 0, 9, 1), "max_num_batched_tokens 8"),
        ("vllm_v0", {"watermark": 0.5}, 4, ("A", 0, 9, 1), "above the watermark"),
        ("sarathi", {"watermark": 0.0}, 4, ("A", 0, 12, 3), "one of them free"),
        ("orca", {"max_model_len": 17}, 4, ("A", 0, 2, 2), "a reservation of max_model_len 17"),
        ("static", {}, 4, ("A", 0, 10, 8), "a reservation"),
        ("sglang", {}, 4, ("A", 0, 10, 8), "one of them free"),
    ],
)
def test_a_request_that_can_never_be_finished_is_rejected_with_the_reason(
    name: str, knobs: dict[str, Any], pool: int, row: tuple[Any, ...], said: str
) -> None:
    options = {"policy": serving.policy(name, **knobs), "num_blocks": pool, "block_size": 4}
    run = simulate(table(row), **options)
    request = run.requests.iloc[0]
    assert (request["outcome"], run.summary["rejected"], run.summary["conserved"]) == ("rejected", 1, True)
    assert said in request["reason"]
    with pytest.raises(cm.ConfigError, match="request A"):
        simulate(table(row), **options, oversize="error")


@pytest.mark.parametrize(("name", "prompt"), [("vllm_v1", 9), ("sarathi", 6), ("vllm_v0", 6), ("sglang", 4)])
def test_a_truncated_request_is_as_long_as_it_can_be(name: str, prompt: int) -> None:
    run = simulate(table(("A", 0, 40, 8)), serving.policy(name), num_blocks=4, block_size=4, oversize="truncate")
    request = run.requests.iloc[0]
    assert (request["outcome"], request["prompt_tokens"], request["output_tokens"]) == ("finished", prompt, 8)
    assert "cut to fit" in request["reason"]


def test_what_cannot_be_cut_to_fit_is_rejected_also_where_cutting_is_asked_for() -> None:
    policy = serving.policy("orca", max_model_len=100)
    run = simulate(table(("A", 0, 40, 8)), policy, num_blocks=4, block_size=4, oversize="truncate")
    assert run.requests["outcome"].tolist() == ["rejected"]


def test_a_single_request_that_outgrows_the_pool_is_named_too() -> None:
    run = simulate(table(("A", 0, 10, 8)), serving.policy("sglang"), num_blocks=19, oversize="admit")
    assert run.summary["finished"] == 1
    run = simulate(table(("A", 0, 2, 9000)), serving.policy("sglang"), num_blocks=4200, oversize="admit")
    assert "no tokens for 1 running request:" in run.summary["livelock"]


def test_an_output_ends_at_the_models_length() -> None:
    run = simulate(table(("A", 0, 6, 9)), serving.policy("vllm_v1", max_model_len=10))
    assert run.requests.iloc[0][["outcome", "output_tokens"]].tolist() == ["finished", 4]
    assert "max_model_len" in run.requests.iloc[0]["reason"]


def test_what_is_let_in_without_a_check_ends_in_a_livelock_that_is_named() -> None:
    rows = table(("A", 0, 10, 8), ("B", 1, 2, 2))
    for engine in ("steps", "jump"):
        run = simulate(rows, num_blocks=4, block_size=4, oversize="admit", engine=engine)
        assert run.summary["livelock"]
        assert (run.summary["finished"], run.summary["unfinished"], run.summary["conserved"]) == (1, 1, True)
        assert "wait" in run.requests.iloc[0]["reason"]


def test_requests_that_take_each_others_blocks_for_ever_are_noticed() -> None:
    # Chunks are admitted one by one; A's grow until the pool is full, A goes, starts over, and so on.
    policy = serving.policy("vllm_v1", max_num_batched_tokens=4, reserve_full_isl=False)
    for engine in ("steps", "jump"):
        run = simulate(table(("A", 0, 30, 2)), policy, num_blocks=4, block_size=4, oversize="admit", engine=engine)
        assert "again and again" in run.summary["livelock"]
        assert run.summary["unfinished"] == 1


def test_a_starved_prompt_is_seen_beside_decodes_that_use_up_the_budget() -> None:
    policy = serving.policy("vllm_v1", max_num_batched_tokens=2, max_num_seqs=3)
    rows = (("A", 0, 1, 4), ("B", 0, 1, 4), ("C", 1, 2, 1))
    run = simulate(table(*rows), policy, engine="steps")
    assert written(run) == "A1 B1 | A1 B1 | A1 B1 | A1 B1 | C2"


def test_a_request_says_how_far_it_is() -> None:
    assert repr(Request(0, "A", 0.0, 8, 2)) == "Request(A: 0/8 of 8+2)"
