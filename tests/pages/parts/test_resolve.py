"""From the values of controls to a scenario: the same as the sidebar gives, and a sentence for what cannot be used."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import costmodel as cm
from pages.parts import codec, resolve, state
from tests.pages import app

CHOICES = ("weights", "kv", "compute", "tensor_parallel", "rates")
OWN = {"hardware": state.CUSTOM, "accelerator": codec.pack_hardware(codec.custom_hardware(
    "Mine", bandwidth=1e12, memory=8e10, peak={"fp16": 1e14}))}  # fmt: skip
CONFIG = {
    "model_type": "llama", "hidden_size": 768, "num_hidden_layers": 4, "num_attention_heads": 6,
    "num_key_value_heads": 2, "intermediate_size": 1024, "vocab_size": 1000,
}  # fmt: skip
PASTED = {"model": state.CUSTOM, "model_config": codec.pack_model(CONFIG, name="Pasted")}


def options(key):
    return st.sampled_from(list(state.CONTROLS[key].options()))


def number(key):
    control = state.CONTROLS[key]
    steps = round((control.high - control.low) / control.step)
    return st.integers(0, steps).map(lambda i: round(control.low + i * control.step, 6))


@st.composite
def values(draw):
    """Values that a link may carry."""
    models = [{"model": id_} for id_ in cm.model()]
    machines = [{"hardware": id_} for id_ in cm.hardware()]
    chosen = draw(st.sampled_from([*models, PASTED])) | draw(st.sampled_from([*machines, OWN]))
    chosen |= {key: draw(options(key)) for key in draw(st.sets(st.sampled_from(CHOICES)))}
    return chosen | {key: draw(number(key)) for key in draw(st.sets(st.sampled_from(resolve.FACTORS)))}


@settings(max_examples=15, deadline=None)
@given(values())
def test_the_sidebar_and_the_values_of_its_controls_give_the_same_scenario(asked):
    link = {key: state.CONTROLS[key].write(value) for key, value in asked.items()}
    at = app.open_app("shapes", **link)
    assert not at.exception
    scenario, said = resolve.scenario_of(asked)
    assert at.session_state["_scenario"] == scenario
    assert len(app.notices(at)) >= len(said)


@settings(max_examples=150, deadline=None)
@given(values())
def test_any_values_give_a_scenario_that_can_be_priced(asked):
    scenario, said = resolve.scenario_of(asked)
    assert scenario.price(cm.Step.decode(1, 1)).seconds > 0
    assert all(sentence.rstrip().endswith(".") for sentence in said)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"model": "qwen2.5-0.5b", "tensor_parallel": "8"}, "do not divide over 8 GPUs, so one is used instead."),
        ({"hardware": "a100-sxm-80", "compute": "fp8"}, "has no unit that computes in fp8, so bf16 is used instead."),
        ({"model": state.CUSTOM}, "The default is used instead."),
        ({"rates": "live"}, "There are no live rates (this machine, not measured yet), so the datasheet answers."),
    ],
)
def test_what_cannot_be_used_is_said(asked, expected):
    scenario, said = resolve.scenario_of(asked)
    assert len(said) == 1
    assert expected in said[0]
    assert (scenario.tensor_parallel, scenario.source) == (1, "datasheet")


def test_machines_without_a_published_link_have_no_estimate_together():
    scenario, said = resolve.scenario_of({"hardware": "m2-ultra", "tensor_parallel": "2", "rates": "calibrated"})
    assert (scenario.tensor_parallel, scenario.source) == (1, "calibrated")
    alone = "What you see is Qwen3-0.6B · Apple M2 Ultra (GPU) · bf16 · 1 GPU."
    assert said == [
        f"The link between several Apple M2 Ultra (GPU) is not published, so there is no estimate of them. {alone}"
    ]


def test_formats_stay_where_only_the_number_of_machines_is_in_the_way():
    asked = {"hardware": "m2-ultra", "tensor_parallel": "2", "rates": "calibrated", "weights": "int8", "kv": "fp8"}
    scenario, said = resolve.scenario_of(asked)
    assert (scenario.precision.weights, scenario.precision.kv, scenario.tensor_parallel) == ("int8", "fp8", 1)
    assert said[0].endswith("What you see is Qwen3-0.6B · Apple M2 Ultra (GPU) · int8 · 1 GPU.")


def test_nothing_asked_is_the_default():
    scenario, said = resolve.scenario_of({})
    assert (scenario.model.name, scenario.hardware, said) == ("Qwen3-0.6B", cm.hardware("h100-sxm"), [])
