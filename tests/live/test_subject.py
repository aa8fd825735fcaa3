import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

import costmodel as cm
from live.plans import PLANS, Plan, plan_named
from live.probes import PROBES
from live.probes.base import Task
from live.runner import cases_of
from live.subject import Subject
from tests.live.samples import small_model

QWEN = cm.model("qwen3-0.6b")


def test_the_shapes_of_qwen3():
    subject = Subject.of(QWEN)
    assert [(m.n, m.k) for m in subject.matmuls] == [
        (4096, 1024),
        (1024, 2048),
        (6144, 1024),
        (1024, 3072),
        (151936, 1024),
    ]
    (block,) = subject.blocks
    assert (block.count, block.q_heads, block.kv_heads, block.head_dim, block.width) == (28, 16, 8, 128, 3072)
    assert block.qk_norm
    assert block.params(1024) == QWEN.block_params
    assert subject.params == pytest.approx(QWEN.total_params, rel=1e-3)  # but for the norms


def test_models_without_a_norm_a_head_have_none():
    assert not Subject.of(cm.model("llama-3.1-8b")).blocks[0].qk_norm


def test_experts_and_windows():
    (block,) = Subject.of(small_model(experts=True)).blocks
    assert (block.experts, block.top_k, block.expert_width, block.width) == (16, 2, 512, 0)
    assert Subject.of(small_model(window=64)).blocks[0].window == 64


@pytest.mark.parametrize("model_id", cm.model())
def test_every_model_of_the_catalogue_can_be_measured_in_some_way(model_id):
    model = cm.model(model_id)
    subject = Subject.of(model)
    assert subject.matmuls
    assert bool(subject.blocks) != bool(subject.unbuilt)
    assert Subject.from_json(subject.to_json()) == subject
    assert subject.block_params > 0
    if subject.blocks:
        assert subject.layers == model.num_layers
        assert subject.params == pytest.approx(model.total_params, rel=0.02)


@pytest.mark.parametrize("plan", list(PLANS))
@pytest.mark.parametrize("model_id", ["qwen3-0.6b", "llama-3.1-70b", "qwen3-30b-a3b", "deepseek-v3"])
def test_cases_have_the_sizes_that_their_probe_says(plan, model_id):
    if model_id not in cm.model():
        pytest.skip(f"{model_id} is not in the catalogue")
    for case in cases_of(Task(Subject.of(cm.model(model_id)), PLANS[plan], "bf16")):
        assert set(case.shape) == set(PROBES[case.probe].sizes)
        assert case.flops >= 0
        assert case.bytes >= 0
        assert case.label


def test_plans_by_name():
    assert plan_named("quick").seconds == 15
    assert plan_named(PLANS["full"]) is PLANS["full"]
    assert Plan.from_json(json.loads(json.dumps(PLANS["full"].to_json()))) == PLANS["full"]
    with pytest.raises(cm.ConfigError, match="quick, full"):
        plan_named("thorough")


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, st.sampled_from(["blocks", "matmuls", "hidden", "vocab", "id", "unbuilt", "tied"]))
def test_an_imitation_is_refused_in_a_sentence(value, key):
    data = {**Subject.of(small_model()).to_json(), key: value}
    with suppress(cm.ConfigError):
        assert isinstance(Subject.from_json(data), Subject)
