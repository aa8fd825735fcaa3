"""Recurrent layers: their state and the arithmetic of one token, counted term by term."""

from __future__ import annotations

from typing import Any

import pytest

import costmodel as cm
from costmodel.config import read_config
from costmodel.model import Recurrent
from tests.costmodel.config.configs import CONFIGS, changed


def mixer(name: str, **changes: Any) -> Recurrent:
    model = read_config(changed(name, **changes))
    return next(layer.mixer for layer, _ in model.layers if isinstance(layer.mixer, Recurrent))


def per_state(name: str) -> float:
    """FLOP a state value and token that the recurrence costs, the linear rest taken away by doubling the state."""
    widths = {
        "mamba-2.8b": ("state_size", 16),
        "mamba-codestral-7b": ("state_size", 128),
        "bamba-9b": ("mamba_d_state", 128),
    }
    key, size = widths[name]
    small, large = mixer(name, **{key: size}), mixer(name, **{key: 2 * size})
    taps = {"mamba-2.8b": 0, "mamba-codestral-7b": 8 * 2 * 8 * 128, "bamba-9b": 8 * 2 * 128}[name]  # wider B and C
    more = large.flops_per_token - small.flops_per_token - taps
    return more / (large.recurrence_values - small.recurrence_values)


@pytest.mark.parametrize(("name", "flop"), [("mamba-2.8b", 9), ("mamba-codestral-7b", 5), ("bamba-9b", 5)])
def test_flop_a_state_value_and_token(name: str, flop: float) -> None:
    assert per_state(name) == flop


def test_gated_deltanet_costs_seven_flop_a_state_value() -> None:
    """Decay 1, k'S 2, outer product and subtraction 2, q'S 2; beside 4 taps on 8,192 channels and a gate on 4,096."""
    deltanet = mixer("qwen3-next-80b-a3b")
    assert deltanet.recurrence_values == 32 * 128 * 128
    assert deltanet.flops_per_token == 7 * 32 * 128 * 128 + 2 * 4 * 8192 + 2 * 4096


def test_lightning_attention_costs_five_flop_a_state_value() -> None:
    lightning = mixer("minimax-text-01")
    assert lightning.recurrence_values == 64 * 128 * 128
    assert lightning.flops_per_token == 5 * 64 * 128 * 128 + 2 * 64 * 128


def test_the_arithmetic_is_small_beside_the_projections() -> None:
    """A sanity bound: in every known model the recurrence is under a fifth of the layer's projections."""
    for name, config in CONFIGS.items():
        for layer, _ in read_config(config).layers:
            if isinstance(layer.mixer, Recurrent):
                projections = 2 * sum(m.active_params for m in layer.mixer.projections)
                assert 0 < layer.mixer.flops_per_token < 0.2 * projections, name


def test_every_recurrent_layer_names_its_source() -> None:
    for config in CONFIGS.values():
        for layer, _ in read_config(config).layers:
            if isinstance(layer.mixer, Recurrent):
                assert "arXiv" in layer.mixer.source


def test_state_is_read_and_written_once_a_step_whatever_the_context() -> None:
    model, chip = cm.model("mamba-2.8b"), cm.hardware("h100-sxm")
    short = cm.price(model, chip, cm.Step.decode(batch=8, context=10))
    long = cm.price(model, chip, cm.Step.decode(batch=8, context=100_000))
    assert short.bytes == long.bytes
    more = cm.price(model, chip, cm.Step.decode(batch=9, context=10))
    embedding = 2 * 2560
    assert more.bytes - short.bytes == pytest.approx(2 * model.state_bytes + embedding)


def test_time_step_rank_follows_the_hidden_size_when_it_is_auto() -> None:
    assert read_config(changed("mamba-2.8b", time_step_rank="auto")) == read_config(changed("mamba-2.8b"))
