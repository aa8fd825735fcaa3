"""Prices of steps, fast: always those of ``costmodel.price``."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import costmodel as cm
from costmodel.model import LatentAttention
from costmodel.serving.clock import StepClock, first_step_at
from costmodel.serving.estimate import priced_steps
from costmodel.serving.floor import Form, reader
from costmodel.serving.jump.decodes import Decodes
from costmodel.serving.pricing import EqualSteps, Pricer, View, lines, steps_to_fill
from costmodel.step import cached_reads

H100 = cm.hardware("h100-sxm")
MODELS = (
    "qwen3-0.6b", "llama-3.1-8b", "qwen3-30b-a3b", "gemma-3-27b", "deepseek-v3", "llama-4-scout", "gpt-oss-20b",
    "qwen3-next-80b-a3b", "jamba-1.5-mini", "mamba-2.8b",
)  # fmt: skip
VIEWS: tuple[View, ...] = ((None, None), (128, None), (None, 256))


def random_step(rng: random.Random) -> list[tuple[int, int, int]]:
    """Sequences of a step: (new, cached, logits)."""
    decodes = [(1, rng.choice([1, 5, 200, 1023, 1024, 4095, 8191, 8192, 20_000]), 1) for _ in range(rng.randint(0, 20))]
    prompts = [
        (rng.choice([1, 2, 50, 500, 3000]), rng.choice([0, 0, 1, 100, 5000, 9000]), rng.randint(0, 1))
        for _ in range(rng.randint(0 if decodes else 1, 3))
    ]
    return decodes + prompts


@pytest.mark.parametrize("model_id", MODELS)
@pytest.mark.parametrize(
    ("rates", "host", "gpus"), [("datasheet", None, 1), ("calibrated", None, 1), ("calibrated", "vllm-2026", 2)]
)
def test_a_step_costs_what_the_cost_model_says(model_id: str, rates: str, host: str | None, gpus: int) -> None:
    model, rng = cm.model(model_id), random.Random(1)
    pricer = priced_steps(model, H100, rates=rates, host=host, tensor_parallel=gpus)
    for _ in range(30):
        sequences = random_step(rng)
        decodes = [cached for new, cached, logits in sequences if new == 1 and cached and logits]
        prompts = [piece for piece in sequences if not (piece[0] == 1 and piece[1] and piece[2])]
        new, cached, logits = zip(*sequences, strict=True)
        cost = cm.price(
            model, H100, cm.Step(new=new, cached=cached, logits=logits), rates=rates, host=host, tensor_parallel=gpus
        )
        expected = (cost.seconds, cost.memory_seconds, cost.compute_seconds)
        assert pricer.price(prompts, decodes) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("model_id", ["llama-3.1-8b", "gpt-oss-20b", "llama-4-scout", "deepseek-v3"])
@pytest.mark.parametrize("rates", ["datasheet", "calibrated"])
def test_steps_in_a_row_cost_what_they_cost_one_by_one(model_id: str, rates: str) -> None:
    pricer, rng = priced_steps(cm.model(model_id), H100, rates=rates), random.Random(2)
    for _ in range(20):
        contexts = [rng.choice([3, 100, 5000, 7000]) for _ in range(rng.randint(1, 30))]
        decodes = Decodes(len(contexts), 16, pricer.views)
        for i, context in enumerate(contexts):
            decodes.join(i, context, 10_000)
        reads, growth, event = decodes.outlook()
        steps, first, seconds, memory, compute, each = pricer.stretch(
            len(contexts), reads, growth, min(event, rng.randint(1, 40)), rng.choice([np.inf, rng.uniform(0.001, 1)])
        )
        singly = np.array([pricer.price([], [context + k for context in contexts]) for k in range(steps)])
        assert (first, seconds) == pytest.approx((singly[0, 0], singly[:, 0].sum()), rel=1e-11)
        assert (memory, compute) == pytest.approx((singly[:, 1].sum(), singly[:, 2].sum()), rel=1e-11)
        if each is not None:
            np.testing.assert_allclose(each, singly[:, 0], rtol=1e-12)


def test_a_gap_ends_a_row_of_steps_with_the_first_that_reaches_it() -> None:
    pricer = priced_steps(cm.model("qwen3-0.6b"), H100)
    whole = pricer.stretch(4, [4000], [4], 100, np.inf)
    assert whole[0] == 100
    for gap in np.linspace(whole[2] / 50, whole[2] * 0.99, 20):
        steps, _, seconds, *_ = pricer.stretch(4, [4000], [4], 100, gap)
        assert seconds >= gap
        assert pricer.stretch(4, [4000], [4], steps - 1, np.inf)[2] < gap if steps > 1 else True


@example(11980.500000000002, 0.1, 0.1)  # the root lies a step too far
@example(5875.77242655038, 0.1, 0.06993231250959274)  # and here it falls short of one
@given(st.floats(1e-6, 1e3), st.floats(1e-6, 10), st.floats(0, 1))
def test_steps_to_fill_a_gap(gap: float, first: float, each: float) -> None:
    steps = steps_to_fill(gap, first, each)
    assert steps >= 1
    assert steps * (first + each * (steps - 1) / 2) >= gap * (1 - 1e-12)
    assert steps == 1 or (steps - 1) * (first + each * (steps - 2) / 2) <= gap * (1 + 1e-12)


@given(*[st.floats(0.1, 10)] * 2, *[st.floats(0, 1)] * 2, st.integers(1, 50))
def test_in_a_row_of_steps_one_side_binds(memory: float, compute: float, a: float, b: float, steps: int) -> None:
    done, first, seconds, memory_all, compute_all, _ = lines(memory, a, compute, b, steps, np.inf)
    k = np.arange(done)
    each = np.maximum(memory + a * k, compute + b * k)
    assert first == max(memory, compute)
    assert seconds == pytest.approx(each.sum(), rel=1e-9)
    assert (memory_all, compute_all) == pytest.approx(((memory + a * k).sum(), (compute + b * k).sum()))
    if done < steps:  # the other side takes over
        before, after = (memory > compute), (memory + a * done > compute + b * done)
        assert before != after or memory == pytest.approx(compute)


@pytest.mark.parametrize("view", VIEWS)
def test_the_fast_reader_reads_what_the_cost_model_reads(view: View) -> None:
    contexts = np.arange(2000)
    assert [reader(view)(int(c)) for c in contexts] == np.asarray(cached_reads(contexts, *view)).tolist()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 700), st.integers(1, 60)), min_size=1, max_size=40))
def test_sums_of_decoding_requests_are_those_of_the_requests(moves: list[tuple[int, int, int]]) -> None:
    """Join, leave and advance at random; every sum is that over the contexts, written down beside."""
    decodes, contexts, left = Decodes(10, 16, VIEWS), dict[int, int](), dict[int, int]()
    for index, computed, steps in moves:
        if index in contexts:
            decodes.leave(index)
            del contexts[index], left[index]
        else:
            decodes.join(index, computed, computed % 50 + 1)
            contexts[index], left[index] = computed, computed % 50 + 1
        if not contexts:
            continue
        reads, growth, event = decodes.outlook()
        assert reads == [sum(reader(view)(c) for c in contexts.values()) for view in VIEWS]
        taken = [sum((c + k) % 16 == 0 for c in contexts.values()) for k in range(steps)]
        assert decodes.new_blocks() == taken[0]
        assert decodes.new_blocks_in(steps) == sum(taken)
        free = computed % 12
        assert decodes.steps_within(free, steps) == sum(np.cumsum(taken) <= free)
        ahead = min(event - decodes.clock, steps)
        decodes.advance(ahead)
        for i in contexts:
            contexts[i], left[i] = contexts[i] + ahead, left[i] - ahead
        if ahead < event - decodes.clock + ahead:
            assert decodes.reads() == [r + g * ahead for r, g in zip(reads, growth, strict=True)]
        done = decodes.finished()
        assert sorted(done) == [i for i in sorted(left) if left[i] == 0]
        for i in done:
            del contexts[i], left[i]


@given(st.integers(0, 10**7), st.floats(1e-3, 10))
def test_equal_steps_start_at_their_number_times_their_length(index: int, step_seconds: float) -> None:
    assert first_step_at(index * step_seconds, step_seconds) == index
    clock = StepClock(step_seconds)
    clock.wait_until(index * step_seconds)
    assert clock.now == index * step_seconds


def test_a_moment_just_after_a_step_is_seen_by_the_next() -> None:
    assert first_step_at(507.78000000000003, 0.62) == 820  # 819 * 0.62 is 507.78, and the quotient rounds to 819
    assert first_step_at(263.90000000000003, 0.26) == 1015  # 1015 * 0.26, and the quotient rounds to above 1015


def test_latent_attention_that_would_rebuild_its_keys_to_decode_is_refused() -> None:
    odd = LatentAttention(heads=8, kv_rank=512, rope_dim=8, nope_dim=1, v_dim=1)
    with pytest.raises(cm.ConfigError, match="latent attention"):
        Form().take_latent(1.0, odd, "decode")


def test_equal_steps_have_one_price() -> None:
    pricer: Pricer = EqualSteps(0.5)
    assert pricer.price([(5, 0, 1)], [3, 4]) == (0.5, 0.0, 0.0)
    assert pricer.stretch(3, [5], [3], 10, 1.0)[:3] == (10, 0.5, 5.0)


@pytest.mark.parametrize("rates", ["measured", 3])
def test_unknown_rates_are_refused(rates: object) -> None:
    with pytest.raises(cm.ConfigError):
        priced_steps(cm.model("qwen3-0.6b"), H100, rates=rates)


@pytest.mark.parametrize("rates", ["datasheet", "calibrated"])
@pytest.mark.parametrize("model_id", ["qwen3-0.6b", "gemma-3-27b"])
def test_a_step_of_nothing_costs_nothing(model_id: str, rates: str) -> None:
    priced = priced_steps(cm.model(model_id), H100, rates=rates)
    assert priced.mixed([], 0, [0] * len(priced.views)) == (0.0, 0.0, 0.0)
