"""Where a naive reading would differ: each sentence with the figures of its trap, worked out here."""

from __future__ import annotations

from typing import Any

import pytest

import costmodel as cm
from costmodel.config import read_config
from costmodel.config.differences import RULES, Reading, Rule
from costmodel.config.reader import build, find
from tests.costmodel.config.configs import CONFIGS, changed

MENTIONS = [
    # 16 heads of 64 = the hidden size 1024; heads are 128 wide: 28 * 2 * 8 * 128 * 2 B, half of it with 64
    ("qwen3-0.6b", "57,344 bytes of KV a token instead of 114,688"),
    # 28 layers * 2 * 28 heads * 128 * 2 B against 4 KV heads
    ("qwen2.5-7b", "401,408 bytes of KV a token instead of 57,344, 7 times as much"),
    ("falcon-7b", "Keys and values have 1 head, queries 71"),
    ("gpt2", "Without a number of KV heads, all 12 heads have keys and values"),
    # 61 layers * 2 * 128 heads * 128 * 2 B against 61 * 576 * 2 B
    ("deepseek-v3", "3,997,696 bytes of KV a token instead of 70,272, 56.9 times as much"),
    ("jamba-1.5-mini", "Only 4 of 32 layers keep keys and values, the others a fixed state of 16.1 MB"),
    ("nemotron-3-nano-30b-a3b", "Only 6 of 52 layers"),
    ("gemma-3n-e4b", "Only 20 of 35 layers keep keys and values: a naive reading"),
    ("mamba-2.8b", "No layer has a KV cache; the 64 layers keep a fixed state of 22.9 MB"),
    # 52 of 62 layers clip to 1,024: 131,072 * 507,904 B against 131,072 * 81,920 B + 1,024 * 425,984 B
    ("gemma-3-27b", "66.57 GB of KV a sequence instead of 11.17 GB"),
    ("llama-4-scout", "36 of 48 layers see a chunk of 8,192 tokens only"),
    ("phi-3-mini-128k", "a window of 262,144 tokens never acts"),
    ("qwen2.5-7b", "sliding_window is 131,072 and not in use"),
    # 136,134,656 parameters of the table once more
    ("qwen2.5-0.5b", "630.2 M parameters, 27.6% too many"),
    ("gemma-2b", "which is what the class does where the config is silent"),
    ("deepseek-v2-lite", "The LM head is a matrix of its own"),
    # 36 layers * 4 * 4608 * 18432... one more matrix of 4608 x 18432 in 32 layers
    ("starcoder2-7b", "The MLPs have two matrices, no gate: a naive reading would give 9.89 B parameters"),
    ("mixtral-8x7b", "A token uses 2 of 8 experts: 12.88 B of 46.70 B"),
    ("qwen3-30b-a3b", "intermediate_size 6,144 belongs to no layer: the experts are 768 wide"),
    ("gpt-oss-120b", "65.25 GB in all, where 4 bits each would give 58.41 GB"),
    ("gpt2", "The config names no format of the weights: bfloat16 is assumed"),
    ("gpt-oss-20b", "The config names no format of the weights that are not quantized: bfloat16 is assumed"),
    ("olmo-2-13b", "stored in float32"),
    ("llava-1.5-7b", "Not in the config"),
    ("deepseek-v3", "1 further layer for multi-token prediction (num_nextn_predict_layers) is left out"),
    ("minimax-m2.5", "3 further layers for multi-token prediction (num_mtp_modules) are left out"),
]


def warnings(name: str) -> tuple[str, ...]:
    return read_config(CONFIGS[name]).warnings


@pytest.mark.parametrize(("name", "words"), MENTIONS)
def test_a_trap_is_told_with_its_amount(name: str, words: str) -> None:
    assert any(words in warning for warning in warnings(name)), warnings(name)


def test_a_model_without_traps_says_nothing() -> None:
    """Llama-2-7B: heads that divide, no groups, untied, gated, a format."""
    assert cm.model("llama-2-7b").warnings == ()


def test_two_spellings_that_differ_are_told() -> None:
    model = read_config(changed("llama-3.1-8b", n_layer=24))
    assert model.num_layers == 32
    assert any("n_layer says 24 and num_hidden_layers says 32" in warning for warning in model.warnings)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_rule_finds_its_trap_somewhere(rule: Rule) -> None:
    assert any(rule(reading(config)) for config in (*CONFIGS.values(), *SPECIAL))


def reading(config: dict[str, Any]) -> Reading:
    family, keys = find(config)
    build(family, keys, config)  # asks the keys for what it needs, which leaves a note of what was missing
    return Reading(config, keys, read_config(config))


SPECIAL = (
    changed("llama-3.1-8b", n_layer=24),
    changed("llama-3.1-8b", quantization_config={"quant_method": "gptq", "bits": 4, "lm_head": True}),
    changed("qwen3-next-80b-a3b", num_hidden_layers=47),
    {"model_type": "llava", "text_config": {}},
)


def test_the_vision_tower_is_said_to_be_left_out() -> None:
    assert cm.model("gemma-3-27b").left_out == "vision tower and its projector"
    assert cm.model("qwen2.5-vl-7b").left_out == "vision tower and its projector"
    assert cm.model("qwen3-8b").left_out == ""
