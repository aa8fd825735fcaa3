"""Schedules worked by hand from the rules of each policy; they need no reference data.

Written as ``A4 B2 | A1 | -``: tokens of each request, step by step, ``-`` for an idle step.
"""

from __future__ import annotations

import pytest

from costmodel import serving
from tests.costmodel.serving.schedules import free, table, written

A5_3, B2_1_LATER = ("A", 0, 5, 3), ("B", 1, 2, 2)


def schedule(policy: serving.Policy, *rows: tuple[object, ...], **options: object) -> str:
    return written(serving.simulate(table(*rows), policy, step_seconds=1.0, engine="steps", **options))


@pytest.mark.parametrize(
    ("name", "knobs", "expected"),
    [
        # A static batch of A alone runs to its end; B comes second.
        ("static", {"max_num_seqs": 4}, "A5 | A1 | A1 | B2 | B1"),
        # Orca lets B in with its whole prompt beside A's second token.
        ("orca", {"max_num_seqs": 4}, "A5 | A1 B2 | A1 B1"),
        # Prefill first: B's prompt has a step of its own, and A waits for it.
        ("vllm_v0", {"max_num_batched_tokens": 8}, "A5 | B2 | A1 B1 | A1"),
        # A chunk of 3: A reads 3 + 2, the one token left goes to B, then A's token goes before B's last one.
        ("sarathi", {"chunk_size": 3, "max_num_seqs": 3}, "A3 | A2 B1 | A1 B1 | A1 B1"),
        # The same from a budget of 3.
        ("vllm_v1", {"max_num_batched_tokens": 3, "max_num_seqs": 3}, "A3 | A2 B1 | A1 B1 | A1 B1"),
        # Prompts have steps of their own, in chunks of 3; B uses what A's second chunk leaves.
        ("sglang", {"chunked_prefill_size": 3}, "A3 | A2 B1 | B1 | A1 B1 | A1"),
    ],
)
def test_two_requests_under_each_policy(name: str, knobs: dict[str, int], expected: str) -> None:
    assert schedule(serving.policy(name, **knobs), A5_3, B2_1_LATER) == expected


def test_idle_steps_are_shown() -> None:
    assert schedule(serving.policy("orca"), ("A", 0, 2, 1), ("B", 3, 2, 1)) == "A2 | - | - | B2"


def test_requests_come_in_order_of_arrival_and_those_of_one_moment_in_order_of_the_table() -> None:
    rows = (("late", 1, 2, 1), ("first", 0, 2, 1), ("second", 0, 2, 1))
    assert schedule(serving.policy("static", max_num_seqs=1), *rows) == "first2 | second2 | late2"


def test_v1_preempts_the_last_admitted_and_reads_its_prompt_and_output_again() -> None:
    # 5 blocks of 2: A and B hold 2 each after step 0 (4 tokens). Step 1: both need a third; A gets the free one
    # and B goes. A needs no more (5 and 6 tokens in 3 blocks) and ends at step 2; B reads 4 + 1 tokens and goes on.
    policy = serving.policy("vllm_v1")
    run = serving.simulate(
        table(("A", 0, 4, 3), ("B", 0, 4, 3)), policy, step_seconds=1.0, num_blocks=5, block_size=2, engine="steps"
    )
    assert written(run) == "A4 B4 | A1 | A1 | B5 | B1"
    assert free(run) == [1, 2, 5, 2, 5]
    assert run.requests["preemptions"].tolist() == [0, 1]


def test_v1_cap_on_long_prompts_needs_company() -> None:
    policy = serving.policy("vllm_v1", max_num_batched_tokens=8, long_prefill_token_threshold=2)
    assert schedule(policy, ("A", 0, 8, 1)) == "A8"
    assert schedule(policy, ("A", 0, 8, 1), ("B", 0, 4, 1)) == "A2 B2 | A2 B2 | A4"


def test_v1_reads_prompts_only_in_every_third_step_while_somebody_decodes() -> None:
    policy = serving.policy("vllm_v1", prefill_schedule_interval=3)
    assert schedule(policy, ("A", 0, 2, 5), ("B", 1, 2, 1)) == "A2 | A1 | A1 | A1 B2 | A1"


def test_a_finished_request_keeps_its_place_for_a_step_with_asynchronous_scheduling() -> None:
    policy = serving.policy("vllm_v1", max_num_batched_tokens=100, max_num_seqs=2)
    rows = (("A", 0, 2, 3), ("B", 0, 2, 2), ("C", 1, 2, 1))
    assert schedule(policy, *rows) == "A2 B2 | A1 B1 | A1 C2"
    assert schedule(policy, *rows, lag=1) == "A2 B2 | A1 B1 | A1 | C2"


def test_a_padded_batch_pays_for_its_longest_prompt_and_its_last_member() -> None:
    rows = table(("A", 0, 6, 3), ("B", 0, 2, 1))
    run = serving.simulate(rows, serving.policy("static", padded=True), step_seconds=1.0, engine="steps")
    assert written(run) == "A6 B2 | A1 | A1"
    assert run.steps["padding_tokens"].tolist() == [4, 1, 1]
    assert run.explain(0).prompts == ((6, 0, 1), (6, 0, 1))
    assert run.explain(2).caches == (7, 7)


def test_users_issue_the_next_request_when_their_last_has_finished() -> None:
    requests = serving.closed_loop(users=2, count=4, prompt=2, output=2)
    run = serving.simulate(requests, serving.policy("orca"), step_seconds=1.0, engine="steps")
    assert written(run) == "r02 r12 | r01 r11 | r22 r32 | r21 r31"
    assert run.requests["arrival_s"].tolist() == [0, 0, 2, 2]


def test_sglang_admits_nobody_after_a_refusal_until_somebody_leaves() -> None:
    # 20 pages: A keeps 6 + 8. B (5 + 8 + 1) does not fit beside it, and the batch counts as full. C would fit when it
    # comes, but nobody is let in before A is done at step 8.
    policy = serving.policy("sglang")
    rows = table(("A", 0, 6, 8), ("B", 1, 5, 8), ("C", 2, 1, 1))
    run = serving.simulate(rows, policy, step_seconds=1.0, num_blocks=20, engine="steps")
    assert run.requests["scheduled_s"].tolist() == [0, 8, 8]
    assert [m.reason for m in run.explain(3).waiting] == ["policy", "policy"]


def test_sglang_takes_the_longest_cached_prefix_first_when_asked() -> None:
    shared = list(range(10))
    rows = table(("first", 0, 10, 3), ("other", 1, 10, 1), ("same", 1, 12, 1)).assign(
        token_ids=[shared, list(range(50, 60)), [*shared, 70, 71]]
    )
    order = {}
    for schedule_policy in ("fcfs", "lpm"):
        knobs = {"prefix_caching": True, "max_num_seqs": 2, "schedule_policy": schedule_policy}
        run = serving.simulate(rows, serving.policy("sglang", **knobs), step_seconds=1.0, num_blocks=99, engine="steps")
        order[schedule_policy] = run.requests.sort_values("first_token_s")["id"].tolist()
        assert run.requests["cached_tokens"].tolist() == [0, 0, 10]
    assert order == {"fcfs": ["first", "other", "same"], "lpm": ["first", "same", "other"]}


def test_sglang_reads_no_second_prompt_beyond_its_limit_of_new_prompts() -> None:
    policy = serving.policy("sglang", max_prefill_tokens=5)
    assert schedule(policy, ("A", 0, 8, 1), ("B", 0, 4, 1)) == "A8 | B4"


def test_sglang_retracts_who_has_written_least() -> None:
    # 23 pages of one token. At step 3 A holds 8 and may write 9 more, for which a ratio of 0.07 keeps 0.63 pages, so
    # that B (5 + 8 + 1 of 15 free) is let in. After five decodes of both all pages are taken: B goes, with 6 tokens to
    # A's 8. It comes back when A is done, for it is too large beside A, and reads 5 + 6 tokens.
    policy = serving.policy("sglang", schedule_conservativeness=0.1)
    requests = table(("A", 0, 6, 12), ("B", 3, 5, 8))
    run = serving.simulate(requests, policy, step_seconds=1.0, num_blocks=23, engine="steps")
    both, alone = " | ".join(["A1 B1"] * 5), " | ".join(["A1"] * 4)
    assert written(run) == f"A6 | A1 | A1 | B5 | {both} | {alone} | B11 | B1"
    assert run.requests["preemptions"].tolist() == [0, 1]


def test_sglang_cuts_a_prompt_as_often_as_it_takes() -> None:
    assert schedule(serving.policy("sglang", chunked_prefill_size=3), ("A", 0, 8, 2)) == "A3 | A3 | A2 | A1"
