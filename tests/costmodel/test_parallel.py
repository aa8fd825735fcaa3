"""Pipelines of stages and experts apart: what they gain, what they cannot, and what they send."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import costmodel as cm
from costmodel.parallel import expert_parallel, pipeline, split_layers

H100 = cm.hardware("h100-sxm")
H200 = cm.hardware("h200-sxm")
LLAMA = cm.model("llama-3.1-8b")
DEEPSEEK = cm.model("deepseek-v3")
ALONE = cm.Step.decode(1, 2048)


# ---- tensor parallelism, to compare with -------------------------------------------------------------------------


def test_tensor_parallel_adds_a_fixed_time_a_layer_whatever_the_batch() -> None:
    def reduced(batch: int) -> float:
        table = cm.price(LLAMA, H100, cm.Step.decode(batch, 2048), rates="calibrated", tensor_parallel=8).operations
        return float(table[table.name == "all-reduce over 8"].seconds.sum())

    each = cm.calibrated(H100).all_reduce(0, 8)
    assert each > 1e-6
    for batch in (1, 2, 4):
        assert 2 * 32 * each <= reduced(batch) <= 1.2 * 2 * 32 * each


# ---- pipelines ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rates", ["datasheet", "calibrated"])
@pytest.mark.parametrize("stages", [1, 2, 4, 8])
def test_a_split_by_layers_adds_no_bandwidth_to_one_sequence(rates: str, stages: int) -> None:
    alone = cm.price(LLAMA, H100, ALONE, rates=rates).seconds
    split = pipeline(LLAMA, H100, ALONE, stages, rates=rates)
    assert split.latency == pytest.approx(alone, rel=0.01)
    assert split.latency >= alone * (1 - 1e-12)
    assert split.token_seconds == split.latency
    if stages > 1:
        assert cm.price(LLAMA, H100, ALONE, tensor_parallel=stages).seconds < 0.6 * split.latency


def test_further_groups_fill_the_stages() -> None:
    groups = [pipeline(LLAMA, H100, ALONE, 4, microbatches=m) for m in (1, 2, 4, 8)]
    assert [split.token_seconds for split in groups[:2]] == [groups[0].latency] * 2
    assert groups[3].token_seconds == pytest.approx(8 * groups[0].slowest)
    tokens = [split.microbatches / split.token_seconds for split in groups]
    assert tokens[1] == pytest.approx(2 * tokens[0])
    assert tokens[3] <= tokens[2] * 1.2
    assert groups[0].bubble > groups[1].bubble > groups[2].bubble > groups[3].bubble


@pytest.mark.parametrize(("stages", "microbatches"), [(2, 1), (4, 4), (8, 32)])
def test_the_bubble_of_equal_stages(stages: int, microbatches: int) -> None:
    """GPipe: (p - 1) / (m + p - 1). A chunk without logits has no head, so all stages are equal."""
    chunk = cm.Step.prefill(2048, logits=0)
    fast = H100.replace(link=1e20)
    split = pipeline(LLAMA, fast, chunk, stages, microbatches)
    assert split.bubble == pytest.approx((stages - 1) / (microbatches + stages - 1), abs=1e-6)
    assert split.seconds == pytest.approx((microbatches + stages - 1) * split.slowest)


def test_the_head_is_on_the_last_stage_alone() -> None:
    split = pipeline(LLAMA, H100, ALONE, 2)
    names = [set(cost.operations[cost.operations.weight_bytes > 0].name) for cost in split.stages]
    assert "LM head" not in names[0]
    assert "LM head" in names[1]
    whole = cm.price(LLAMA, H100, ALONE)
    hidden = 4096 * 2  # the second stage reads a row of what the first one sent, as the first does of the embedding
    assert sum(cost.bytes for cost in split.stages) == pytest.approx(whole.bytes + hidden)
    assert sum(cost.flops for cost in split.stages) == pytest.approx(whole.flops)


def test_a_hop_is_the_activations_over_the_link() -> None:
    split = pipeline(LLAMA, H100, cm.Step.prefill(1000), 2)
    assert split.hop == pytest.approx(1000 * 4096 * 2 / H100.link)
    slow = pipeline(LLAMA, H100.replace(link=1e6), cm.Step.prefill(1000), 2, microbatches=4)
    assert slow.slowest == slow.hop


def test_a_sweep_is_its_points() -> None:
    batch = np.array([1, 16, 256])
    sweep = pipeline(LLAMA, H100, cm.Step.decode(batch, 1024), 4, microbatches=4)
    for i, b in enumerate(batch):
        one = pipeline(LLAMA, H100, cm.Step.decode(int(b), 1024), 4, microbatches=4)
        assert sweep.token_seconds[i] == pytest.approx(one.token_seconds)
        assert sweep.bubble[i] == pytest.approx(one.bubble)


@given(st.sampled_from(cm.model()), st.integers(1, 40))
@settings(max_examples=40, deadline=None)
def test_layers_are_divided_in_order_and_evenly(name: str, stages: int) -> None:
    model = cm.model(name)
    stages = min(stages, model.num_layers)
    parts = split_layers(model.layers, stages)
    flat = [layer for layer, many in model.layers for _ in range(many)]
    assert [layer for part in parts for layer, many in part for _ in range(many)] == flat
    sizes = [sum(many for _, many in part) for part in parts]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"stages": 33}, "stages: found 33, expected a whole number from 1 to 32"),
        ({"stages": 0}, "stages"),
        ({"stages": True}, "stages"),
        ({"stages": 2, "microbatches": 0}, "microbatches"),
        ({"stages": 2, "count": "weights"}, "the LM head is on the last stage only"),
        ({"stages": 2, "tensor_parallel": 3}, "tensor_parallel"),
    ],
)
def test_what_cannot_be_a_pipeline_is_refused(asked: dict, said: str) -> None:
    with pytest.raises(cm.ConfigError, match=said):
        pipeline(LLAMA, H100, ALONE, **asked)


def test_several_devices_need_a_link() -> None:
    lone = H100.replace(link=None)
    assert pipeline(LLAMA, lone, ALONE, 1).hop == 0
    with pytest.raises(cm.ConfigError, match="link"):
        pipeline(LLAMA, lone, ALONE, 2)
    assert expert_parallel(DEEPSEEK, lone, ALONE, 1).link_seconds == 0
    with pytest.raises(cm.ConfigError, match="link"):
        expert_parallel(DEEPSEEK, lone, ALONE, 2)


# ---- experts apart -----------------------------------------------------------------------------------------------


def test_one_gpu_with_all_experts_is_the_plain_floor() -> None:
    batch = np.array([1, 8, 64])
    step = cm.Step.decode(batch, 1024)
    whole, apart = cm.price(DEEPSEEK, H200, step), expert_parallel(DEEPSEEK, H200, step, 1)
    assert apart.bytes == pytest.approx(whole.bytes)
    assert apart.seconds == pytest.approx(whole.seconds)
    assert not np.any(apart.link_bytes)
    assert set(apart.bound) == {"memory"}


def test_more_gpus_read_fewer_experts_each_and_never_more() -> None:
    step = cm.Step.decode(32, 1024)
    floors = [expert_parallel(DEEPSEEK, H200, step, gpus) for gpus in (1, 8, 32, 256)]
    assert [floor.bytes for floor in floors] == sorted((floor.bytes for floor in floors), reverse=True)
    for gpus, floor in zip((8, 32, 256), floors[1:], strict=True):
        assert floor.experts_hit <= 256 / gpus
    assert floors[-1].experts_hit == pytest.approx(1, rel=1e-6)
    assert {floor.compute_seconds for floor in floors} == {floors[0].compute_seconds}


def test_bytes_between_gpus_are_those_that_deepseek_counts() -> None:
    """(1 + 2 bytes) x 32 tokens x 9 experts x 7K / 50 GB/s = 120.96 us a layer (arXiv 2505.09343).

    That counts the shared expert as a ninth copy; here it stays at home, and a token's own GPU has 1 in 256.
    """
    slow = H200.replace(link=50e9)
    floor = expert_parallel(DEEPSEEK, slow, cm.Step.decode(32, 1024), 256, dispatch="fp8")
    per_layer = floor.link_seconds / 58
    assert per_layer == pytest.approx(120.96e-6 * 8 / 9 * 7168 / 7000 * 255 / 256, rel=1e-6)
    assert floor.bound == "link"


def test_a_token_is_sent_once_to_a_gpu_however_many_of_its_experts_are_there() -> None:
    step = cm.Step.decode(1, 1024)
    two = expert_parallel(DEEPSEEK, H200, step, 2).link_bytes / (58 * 7168 * 4)
    assert 0.99 < two <= 1  # of 8 experts nearly always one is on the other GPU, and one copy serves it
    many = expert_parallel(DEEPSEEK, H200, step, 256).link_bytes / (58 * 7168 * 4)
    assert many == pytest.approx(8 * 255 / 256)


@pytest.mark.parametrize(
    ("model", "gpus", "said"),
    [("llama-3.1-8b", 2, "a model with experts"), ("deepseek-v3", 3, "a divisor of the 256 experts"),
     ("deepseek-v3", 0, "gpus"), ("deepseek-v3", 2.0, "gpus")],
)  # fmt: skip
def test_what_cannot_be_divided_is_refused(model: str, gpus: int, said: str) -> None:
    with pytest.raises(cm.ConfigError, match=said):
        expert_parallel(cm.model(model), H200, ALONE, gpus)
