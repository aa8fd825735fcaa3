"""One step at a time: who is in it, who is not and why, and which blocks each request holds."""

from __future__ import annotations

import random
from typing import Any

import pytest

import costmodel as cm
from costmodel import serving
from tests.costmodel.serving.schedules import table


def run_of(policy: serving.Policy, *rows: tuple[Any, ...], **options: Any) -> serving.Run:
    return serving.simulate(table(*rows), policy, **{"step_seconds": 1.0, "engine": "steps", **options})


def reasons(view: serving.StepView) -> dict[str, str]:
    return {member.id: member.reason for member in (*view.running, *view.waiting)}


def test_a_step_says_who_is_in_it_with_how_much() -> None:
    policy = serving.policy("vllm_v1", max_num_batched_tokens=4, max_num_seqs=4)
    view = run_of(policy, ("A", 0, 3, 4), ("B", 1, 9, 2)).explain(2)
    assert [(m.id, m.phase, m.tokens, m.computed, m.known) for m in view.running] == [
        ("A", "decode", 1, 4, 5),
        ("B", "prefill", 3, 3, 9),
    ]
    assert (view.tokens, view.prefill_tokens, view.decode_tokens, view.budget) == (4, 3, 1, 4)
    assert (view.start_s, view.seconds, view.bound) == (2.0, 1.0, "")


@pytest.mark.parametrize(
    ("policy", "rows", "options", "step", "expected"),
    [
        # The budget of 4 goes to A; B waits for tokens, and so does C behind it.
        (
            serving.policy("vllm_v1", max_num_batched_tokens=4, max_num_seqs=4),
            [("A", 0, 8, 1), ("B", 0, 2, 1), ("C", 0, 2, 1)],
            {},
            0,
            {"A": "", "B": "budget", "C": "budget"},
        ),
        # One place.
        (
            serving.policy("vllm_v1", max_num_seqs=1),
            [("A", 0, 8, 2), ("B", 0, 2, 1), ("C", 0, 2, 1)],
            {},
            0,
            {"A": "", "B": "seqs", "C": "seqs"},
        ),
        # B needs 4 of 3 blocks; C would fit but does not pass it.
        (
            serving.policy("vllm_v1"),
            [("A", 0, 8, 2), ("B", 0, 16, 1), ("C", 0, 4, 1)],
            {"num_blocks": 5, "block_size": 4},
            0,
            {"A": "", "B": "blocks", "C": "head of line"},
        ),
        # The running batch is closed.
        (
            serving.policy("static"),
            [("A", 0, 4, 3), ("B", 1, 2, 1)],
            {},
            1,
            {"A": "", "B": "policy"},
        ),
        # B's prompt stalls A.
        (
            serving.policy("vllm_v0", max_num_batched_tokens=16),
            [("A", 0, 4, 3), ("B", 1, 6, 2)],
            {},
            1,
            {"A": "policy", "B": ""},
        ),
        # A prompt that the decodes leave nothing for.
        (
            serving.policy("vllm_v1", max_num_batched_tokens=4, long_prefill_token_threshold=2),
            [("A", 0, 6, 1), ("B", 0, 6, 1), ("C", 0, 1, 3)],
            {},
            0,
            {"A": "", "B": "", "C": "budget"},
        ),
    ],
    ids=["budget", "seqs", "blocks", "static", "prefill first", "threshold"],
)
def test_a_step_says_why_the_others_are_not_in_it(
    policy: serving.Policy, rows: list[tuple[Any, ...]], options: dict[str, Any], step: int, expected: dict[str, str]
) -> None:
    view = run_of(policy, *rows, **options).explain(step)
    assert reasons(view) == expected
    assert all(bool(member.why) == bool(member.reason) for member in (*view.running, *view.waiting))


def test_reasons_give_their_numbers() -> None:
    rows = (("A", 0, 8, 2), ("B", 0, 16, 1))
    view = run_of(serving.policy("vllm_v1"), *rows, num_blocks=5, block_size=4).explain(0)
    assert view.waiting[0].why == "needs 4 free blocks of which there are 3"


def test_a_preemption_is_seen_in_its_step() -> None:
    rows = (("A", 0, 8, 6), ("B", 0, 8, 6))
    run = run_of(serving.policy("vllm_v1"), *rows, num_blocks=4, block_size=4)
    view = run.explain(1)
    assert view.preempted == ("B",)
    assert [(m.id, m.phase, m.reason) for m in view.waiting] == [("B", "preempted", "policy")]
    assert run.explain(0).preempted == ()


def test_the_block_map_is_a_map_of_the_pool() -> None:
    requests = serving.poisson(rate=1.0, count=60, prompt=(1, 60), output=(1, 30), seed=8)
    policy = serving.policy("vllm_v1", max_num_batched_tokens=64)
    run = serving.simulate(requests, policy, step_seconds=1.0, num_blocks=30, block_size=4, engine="steps")
    for step in random.Random(0).sample(range(len(run.steps)), 40):
        view = run.explain(step)
        held = view.block_map
        assert set(held) <= set(range(30))
        assert all(len(holders) == 1 for holders in held.values())
        assert len(held) == 30 - view.free_blocks == run.steps["blocks_used"].iloc[step]
        for member in view.running:
            assert len(member.blocks) == -(-(member.computed + member.tokens) // 4)


def test_a_shared_prefix_has_several_holders() -> None:
    requests = table(("A", 0, 8, 9), ("B", 1, 10, 1)).assign(token_ids=[list(range(8)), [*range(8), 70, 71]])
    policy = serving.policy("vllm_v1", prefix_caching=True)
    run = serving.simulate(requests, policy, step_seconds=1.0, num_blocks=9, block_size=4, engine="steps")
    assert sorted(run.explain(1).block_map.values()).count(("A", "B")) == 2


def test_steps_can_be_asked_for_in_any_order_and_of_a_jumped_run_too() -> None:
    requests = serving.poisson(rate=20.0, count=40, prompt=(50, 500), output=(5, 60), seed=4)
    price = {"model": cm.model("qwen3-0.6b"), "hardware": cm.hardware("h100-sxm")}
    run, jumped = (
        serving.simulate(requests, serving.policy("vllm_v1"), engine=engine, **price) for engine in ("steps", "jump")
    )
    for step in (5, 3, 100, 99, 0, 100):
        view = run.explain(step)
        row = run.steps.iloc[step]
        assert view == jumped.explain(step)
        assert (view.start_s, view.seconds, view.bound) == (row["start_s"], row["seconds"], row["bound"])
        assert view.prefill_tokens == row["prefill_tokens"]
        assert len(view.waiting) == row["waiting"]
        cost = cm.price(price["model"], price["hardware"], view.composition)
        assert cost.seconds == pytest.approx(view.seconds, rel=1e-12)
        assert run.explain(step) == view, "asked twice"
        assert run.composition(step).tokens == jumped.composition(step).tokens == view.tokens
    assert jumped.schedule == run.schedule


@pytest.mark.parametrize("step", [3, -1, 1.0, True])
def test_a_step_that_the_run_does_not_have_is_refused(step: Any) -> None:
    run = run_of(serving.policy("orca"), ("A", 0, 5, 3))
    with pytest.raises(cm.ConfigError, match="step"):
        run.explain(step)
    assert run.explain(2).tokens == 1
