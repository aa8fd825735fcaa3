"""The pool that knows each block, and the prefix cache over it."""

from __future__ import annotations

import random

import pandas as pd
import pytest

from costmodel import serving
from costmodel.serving.blocks import BlockPool
from costmodel.serving.prefix import MappedPool, PrefixPool
from costmodel.serving.request import Request


def request(index: int, tokens: list[int], output: int = 4) -> Request:
    return Request(index, f"r{index}", 0.0, len(tokens), output, token_ids=tokens)


def test_full_blocks_are_found_by_a_later_request_but_never_the_last_token() -> None:
    pool = PrefixPool(10, 4)
    first, same, longer = request(0, list(range(8))), request(1, list(range(8))), request(2, [*range(8), 99])
    pool.allocate(first, 8)
    assert len(pool.find_cached(same)) == 1, "8 known tokens: at most (8 - 1) // 4 blocks"
    assert len(pool.find_cached(longer)) == 2


def test_a_hit_that_nobody_holds_takes_a_free_block_and_one_that_is_held_does_not() -> None:
    pool = PrefixPool(10, 4)
    first, second = request(0, [*range(8), 50]), request(1, [*range(8), 60])
    pool.allocate(first, 9)
    hits = pool.find_cached(second)
    assert pool.needed(second, 9, hits) == 1
    pool.release(first)
    assert pool.free == 10
    assert pool.needed(second, 9, hits) == 3
    pool.allocate(second, 9, hits)
    assert (pool.free, second.held) == (7, 3)
    assert tuple(pool.tables[second][:2]) == hits


def test_blocks_that_hold_nothing_known_are_taken_before_cached_ones_and_of_these_the_oldest_tail_first() -> None:
    pool = PrefixPool(4, 2)
    old, new = request(0, [1, 2, 3, 4]), request(1, [5, 6, 7])
    pool.allocate(old, 4)
    pool.allocate(new, 3)
    pool.release(old)
    pool.release(new)
    pool.allocate(request(2, [8]), 1)  # takes the half-full block of `new`
    assert len(pool.find_cached(request(3, [1, 2, 3, 4, 0]))) == 2
    pool.allocate(request(4, [9]), 1)  # takes the last block of `old`, freed first
    assert len(pool.find_cached(request(5, [1, 2, 3, 4, 0]))) == 1
    assert len(pool.find_cached(request(6, [5, 6, 0]))) == 1


def test_blocks_of_equal_content_stay_apart_and_evicting_one_leaves_the_other() -> None:
    pool = PrefixPool(2, 2)
    first, second = request(0, [1, 2]), request(1, [1, 2])
    pool.allocate(first, 2)
    pool.allocate(second, 2)  # the last token of a prompt is computed anew: no hit, a second block of the same content
    pool.release(first)
    assert pool.find_cached(request(2, [1, 2, 3]))
    pool.allocate(request(3, [7]), 1)  # evicts the first one's block
    assert pool.find_cached(request(4, [1, 2, 3])) == tuple(pool.tables[second])


def test_without_ids_a_request_shares_with_nobody_but_finds_itself() -> None:
    pool = PrefixPool(8, 2)
    mine, other = Request(0, "a", 0.0, 5, 1), Request(1, "b", 0.0, 5, 1)
    pool.allocate(mine, 5)
    pool.release(mine)
    assert not pool.find_cached(other)
    assert len(pool.find_cached(mine)) == 2


def test_prefix_ids_stand_for_512_tokens_each() -> None:
    pool = PrefixPool(1000, 16)
    first = Request(0, "a", 0.0, 1025, 1, prefix_ids=(0, 1, 2))
    second = Request(1, "b", 0.0, 1025, 1, prefix_ids=(0, 1, 5))
    pool.allocate(first, 1025)
    assert len(pool.find_cached(second)) * 16 == 1024


def test_sampled_tokens_are_part_of_what_a_block_holds() -> None:
    requests = pd.DataFrame(
        {
            "id": ["ask", "follow up"],
            "arrival_s": [0, 5],
            "prompt_tokens": [3, 7],
            "output_tokens": [4, 1],
            "token_ids": [[1, 2, 3], [1, 2, 3, 5, 5, 5, 9]],  # token 5 is what every sampled token is
        }
    )
    policy = serving.policy("vllm_v1", prefix_caching=True)
    run = serving.simulate(requests, policy, step_seconds=1.0, num_blocks=20, block_size=2, engine="steps")
    assert run.requests["cached_tokens"].tolist() == [0, 6]
    assert run.summary["cached_tokens"] == 6
    assert run.summary["processed_tokens"] == (3 + 4 - 1) + 7 - 6


@pytest.mark.parametrize("seed", range(5))
def test_a_mapped_pool_counts_as_the_counting_one_and_never_gives_a_block_twice(seed: int) -> None:
    rng = random.Random(seed)
    counting, mapped = BlockPool(40, 4), MappedPool(40, 4)
    pairs = [(Request(i, f"r{i}", 0.0, 8, 1), Request(i, f"r{i}", 0.0, 8, 1)) for i in range(8)]
    for _ in range(200):
        one, two = rng.choice(pairs)
        tokens = one.held * 4 + rng.randint(0, 9)
        if rng.random() < 0.3:
            counting.release(one)
            mapped.release(two)
        elif counting.needed(one, tokens) <= counting.free:
            counting.allocate(one, tokens)
            mapped.allocate(two, tokens)
        held = [block for table in mapped.tables.values() for block in table]
        assert len(set(held)) == len(held) == 40 - mapped.free
        assert (counting.free, one.held) == (mapped.free, two.held)
