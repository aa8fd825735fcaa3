"""A step as sums over its sequences, each sum against counting one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import costmodel as cm
from costmodel.step import cached_reads, visible_pairs

SMALL = st.integers(0, 60)
VIEWS = st.one_of(
    st.just({}),
    st.integers(1, 20).map(lambda w: {"window": w}),
    st.integers(1, 20).map(lambda c: {"chunk": c}),
)


def sees(query: int, key: int, window: int | None = None, chunk: int | None = None) -> bool:
    """Whether the token at position ``query`` attends to the one at ``key``."""
    if key > query:
        return False
    if window:
        return query - key < window
    return query // chunk == key // chunk if chunk else True


@given(new=st.integers(1, 40), cached=SMALL, view=VIEWS)
def test_pairs_are_the_cells_of_the_masked_square(new, cached, view):
    counted = sum(sees(q, k, **view) for q in range(cached, cached + new) for k in range(cached + new))
    assert cm.Step(new=new, cached=cached).pairs(**view) == counted


@given(new=st.integers(1, 40), cached=SMALL, view=VIEWS)
def test_reads_are_the_cached_tokens_that_some_new_token_sees(new, cached, view):
    seen = {k for q in range(cached, cached + new) for k in range(cached) if sees(q, k, **view)}
    assert cm.Step(new=new, cached=cached).reads(**view) == len(seen)


@given(st.lists(st.tuples(st.integers(1, 50), SMALL), min_size=1, max_size=12), VIEWS)
def test_a_step_is_the_sum_of_its_sequences(sequences, view):
    step = cm.Step(new=[n for n, _ in sequences], cached=[c for _, c in sequences])
    alone = [cm.Step(new=n, cached=c) for n, c in sequences]
    assert step.tokens == sum(s.tokens for s in alone)
    assert step.sequences == len(sequences)
    assert step.pairs(**view) == sum(s.pairs(**view) for s in alone)
    assert step.reads(**view) == sum(s.reads(**view) for s in alone)


def test_prefill_and_decode_parts_are_kept_apart():
    step = cm.Step(new=[500, 1, 1], cached=[0, 2048, 900])
    assert step.tokens_of("prefill") == 500
    assert step.tokens_of("decode") == 2
    assert step.reads(phase="decode") == 2948
    assert step.pairs(phase="prefill") == 500 * 501 / 2
    assert step.pairs() == step.pairs(phase="prefill") + step.pairs(phase="decode")


def test_a_prompt_of_one_token_is_a_prefill():
    assert cm.Step(new=1, cached=0).sequences_of("prefill") == 1


def test_arrays_broadcast_to_a_grid():
    step = cm.Step.decode(batch=np.arange(1, 5)[:, None], context=np.array([10, 20, 30]))
    assert step.shape == (4, 3)
    assert step.tokens.shape == (4, 3)
    assert step.reads()[3, 2] == 120
    mixed = cm.Step.mixed(chunk=np.array([1, 2]), batch=3, context=7)
    assert mixed.tokens.tolist() == [4, 5]
    assert mixed.logit_positions.tolist() == [4, 4]


def test_drafts_are_verified_with_logits_on_each():
    step = cm.Step.decode(batch=8, context=100, new=4)
    assert (step.tokens, step.logit_positions, step.sequences) == (32, 32, 8)
    assert step.tokens_of("decode") == 32


@pytest.mark.parametrize(
    "call",
    [
        lambda: cm.Step(new=[]),
        lambda: cm.Step(new=0),
        lambda: cm.Step(new=-3),
        lambda: cm.Step(new=float("nan")),
        lambda: cm.Step(new="many"),
        lambda: cm.Step(new=[[1, 2], [3, 4]]),
        lambda: cm.Step(new=1, cached=-1),
        lambda: cm.Step(new=1, cached=1e13),
        lambda: cm.Step(new=1, cached=float("inf")),
        lambda: cm.Step(new=2, logits=3),
        lambda: cm.Step.decode(batch=0, context=10),
        lambda: cm.Step.prefill(None),
        lambda: cm.Step.decode(batch=10**400, context=1),
    ],
)
def test_numbers_that_make_no_step_are_refused(call):
    with pytest.raises(cm.ConfigError, match="expected"):
        call()


def test_shapes_that_do_not_fit_together_are_refused():
    with pytest.raises(cm.ConfigError, match="shapes"):
        cm.Step(new=[1, 2], cached=[1, 2, 3])
    with pytest.raises(cm.ConfigError, match="shapes"):
        cm.Step.decode(batch=np.ones(2), context=np.ones(3))


def test_the_worked_figures_of_the_docstrings_hold_for_arrays():
    tokens = np.array([0, 6, 4096])
    assert visible_pairs(tokens).tolist() == [0, 21, 4096 * 4097 / 2]
    assert cached_reads(tokens, window=128).tolist() == [0, 6, 127]


def test_a_step_without_logits_differs_in_nothing_else() -> None:
    step = cm.Step.mixed(512, 100, np.array([4, 8]), 2048)
    inner = step.without_logits()
    assert not np.any(inner.logit_positions)
    assert np.array_equal(inner.tokens, step.tokens)
    assert np.array_equal(inner.pairs(phase="decode"), step.pairs(phase="decode"))
    assert np.array_equal(inner.reads(phase="prefill"), step.reads(phase="prefill"))
