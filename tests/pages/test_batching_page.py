"""The Batching page without a browser: its figures are prices, whatever the controls say; what cannot be is said."""

from __future__ import annotations

import random

import pytest

import costmodel as cm
from pages.parts import format
from tests.pages.app import figures, notices, open_app, text

PRICEABLE = [name for name in cm.hardware() if {"bf16", "fp16"} & set(cm.hardware(name).peak)]
CHOICES = random.Random(3)  # a fixed choice of settings
SETTINGS = [
    {
        "model": CHOICES.choice(cm.model()),
        "hardware": CHOICES.choice(PRICEABLE),
        "batch": CHOICES.choice([1, 2, 8, 64, 300, 1024]),
        "context": CHOICES.choice([1, 100, 2048, 32768]),
        "count": CHOICES.choice(["weights", "attention"]),
    }
    for _ in range(12)
]


@pytest.mark.parametrize("asked", SETTINGS, ids=lambda asked: f"{asked['model']} on {asked['hardware']}")
def test_the_latency_and_the_rates_are_those_of_the_price(asked):
    page = open_app("batching", **asked)
    assert not page.exception
    step = cm.Step.decode(asked["batch"], asked["context"])
    cost = cm.price(cm.model(asked["model"]), cm.hardware(asked["hardware"]), step, count=asked["count"])
    said = text(page).replace("\u00a0", " ")
    assert str(format.seconds(cost.seconds)).replace("\u00a0", " ") in said
    machine = asked["batch"] / cost.seconds
    shown = " ".join(figures(page).values())
    assert format.significant(machine).split(".")[0][:2] in shown


def test_the_page_asks_and_answers_the_questions_of_the_post():
    said = text(open_app("batching", batch=64))
    for words in ("never", "million", "one together", "Try it"):
        assert words in said


def test_experts_are_shown_where_there_are_any():
    assert "experts" in text(open_app("batching", model="qwen3-30b-a3b"))
    assert "distinct experts" not in text(open_app("batching"))


@pytest.mark.parametrize(
    "asked",
    [
        {"model": "llama-3.1-405b", "hardware": "rtx4090"},
        {"hardware": "mi325x"},
        {"hardware": "t4"},
        {"model": "mamba-2.8b"},
        {"model": "deepseek-v3", "hardware": "h200-sxm", "tensor_parallel": 8},
        {"rates": "calibrated", "batch": 64},
        {"batch": 1024, "context": 1048576},
    ],
    ids=str,
)
def test_settings_at_the_edges_open_without_an_exception(asked):
    page = open_app("batching", **asked)
    assert not page.exception
    assert len(page.get("vega_lite_chart")) >= 5


@pytest.mark.parametrize("query", [{"batch": "many"}, {"hourly": "-1"}, {"drafts": "99"}, {"prefill_chunk": "nan"}])
def test_a_bad_link_gets_a_notice_and_the_default(query):
    page = open_app("batching", **query)
    assert not page.exception
    assert any(next(iter(query)) in sentence for sentence in notices(page))
