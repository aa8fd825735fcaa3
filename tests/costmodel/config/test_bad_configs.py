"""What strangers may hand in: each gives a sentence that names key, found and expected, within a second."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import pytest

import costmodel as cm
from costmodel.config import parse, read_config
from costmodel.config.families import DECLINED, FAMILIES, WRAPPERS
from tests.costmodel.config.configs import changed
from tests.reference import DATA, needs_data

LLAMA = "llama-3.1-8b"


def declined(config: Any, quantization: Any = None) -> cm.ConfigError:
    """The error of a config that must be declined, in under a second."""
    start = time.thread_time()
    with pytest.raises(cm.ConfigError) as caught:
        read_config(config, quantization)
    assert time.thread_time() - start < 1
    assert len(str(caught.value)) < 3000
    return caught.value


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"num_hidden_layers": -3}, "num_hidden_layers"),
        ({"num_hidden_layers": 0}, "num_hidden_layers"),
        ({"num_hidden_layers": 10**12}, "num_hidden_layers"),
        ({"num_hidden_layers": [32]}, "num_hidden_layers"),
        ({"num_hidden_layers": "32"}, "num_hidden_layers"),
        ({"num_hidden_layers": 32.5}, "num_hidden_layers"),
        ({"num_hidden_layers": True}, "num_hidden_layers"),
        ({"hidden_size": {"value": 4096}}, "hidden_size"),
        ({"hidden_size": 10**15}, "hidden_size"),
        ({"hidden_size": 4097}, "num_attention_heads"),
        ({"num_attention_heads": 0}, "num_attention_heads"),
        ({"num_attention_heads": 7, "num_key_value_heads": 7}, "num_attention_heads"),
        ({"num_key_value_heads": 5}, "num_key_value_heads"),
        ({"num_key_value_heads": -1}, "num_key_value_heads"),
        ({"num_key_value_heads": 64}, "num_key_value_heads"),
        ({"head_dim": -128}, "head_dim"),
        ({"intermediate_size": math.nan}, "intermediate_size"),
        ({"intermediate_size": [1, 2]}, "intermediate_size"),
        ({"vocab_size": 0}, "vocab_size"),
        ({"tie_word_embeddings": "yes"}, "tie_word_embeddings"),
        ({"attention_bias": 1}, "attention_bias"),
        ({"torch_dtype": "float8_e4m3fn"}, "torch_dtype"),
        ({"torch_dtype": 16}, "torch_dtype"),
        ({"max_position_embeddings": -1}, "max_position_embeddings"),
        ({"quantization_config": []}, "quantization_config"),
        ({"quantization_config": {"quant_method": "magic"}}, "quant_method"),
        ({"model_type": "llamma"}, "model_type"),
        ({"model_type": ["llama"]}, "model_type"),
        ({"model_type": None}, "model_type"),
        ({"hidden_size": None}, "hidden_size"),
        ({"num_hidden_layers": None}, "num_hidden_layers"),
        ({"num_attention_heads": None}, "num_attention_heads"),
        ({"intermediate_size": None}, "intermediate_size"),
        ({"vocab_size": None}, "vocab_size"),
        ({"rope_theta": math.nan}, "rope_theta"),
    ],
    ids=str,
)
def test_a_value_that_cannot_be_is_named(changes: dict[str, Any], key: str) -> None:
    error = declined(changed(LLAMA, **changes))
    assert error.key == key
    assert str(error).startswith(f"{key}: found ")
    assert ", expected " in str(error)


@pytest.mark.parametrize(
    ("name", "changes", "key"),
    [
        ("mixtral-8x7b", {"num_experts_per_tok": 9}, "num_experts_per_tok"),
        ("mixtral-8x7b", {"num_experts_per_tok": None}, "num_experts_per_tok"),
        ("mixtral-8x7b", {"num_local_experts": None}, "num_experts"),
        ("qwen3-30b-a3b", {"mlp_only_layers": "none"}, "mlp_only_layers"),
        ("qwen3-30b-a3b", {"decoder_sparse_step": 0}, "decoder_sparse_step"),
        ("gpt-oss-20b", {"layer_types": ["full_attention"] * 5}, "layer_types"),
        ("gpt-oss-20b", {"layer_types": ["indexed_attention"] * 24}, "layer_types"),
        ("gpt-oss-20b", {"layer_types": [1] * 24}, "layer_types"),
        ("glm-4.5-air", {"mlp_layer_types": ["dense"] * 45 + ["both"]}, "mlp_layer_types"),
        ("exaone-4.0-32b", {"sliding_window_pattern": "LLX"}, "sliding_window_pattern"),
        ("exaone-4.0-32b", {"sliding_window_pattern": ""}, "sliding_window_pattern"),
        ("deepseek-v3", {"q_lora_rank": 0}, "q_lora_rank"),
        ("deepseek-v3", {"moe_layer_freq": [1, 0]}, "moe_layer_freq"),
        ("deepseek-v3", {"index_topk": 2048}, "index_topk"),
        ("llama-3.1-8b", {"kv_lora_rank": 512}, "kv_lora_rank"),
        ("llama-3.1-8b", {"num_local_experts": 8}, "num_local_experts"),
        ("jamba-1.5-mini", {"attn_layer_offset": 8}, "attn_layer_offset"),
        ("jamba-1.5-mini", {"mamba_expand": -2}, "mamba_expand"),
        ("jamba-1.5-mini", {"mamba_expand": 10**9}, "mamba_expand"),
        ("jamba-1.5-mini", {"mamba_dt_rank": "many"}, "mamba_dt_rank"),
        ("mamba-codestral-7b", {"num_heads": 100}, "head_dim"),
        ("bamba-9b", {"mamba_d_head": "auto", "mamba_n_heads": 100}, "mamba_n_heads"),
        ("bamba-9b", {"attn_layer_indices": ["a"]}, "attn_layer_indices"),
        ("nemotron-3-nano-30b-a3b", {"hybrid_override_pattern": "MX"}, "hybrid_override_pattern"),
        (
            "nemotron-3-nano-30b-a3b",
            {"hybrid_override_pattern": "MEM*", "num_hidden_layers": 52},
            "hybrid_override_pattern",
        ),
        (
            "nemotron-3-nano-30b-a3b",
            {"hybrid_override_pattern": None, "num_hidden_layers": 52},
            "hybrid_override_pattern",
        ),
        ("nemotron-3-nano-30b-a3b", {"moe_latent_size": 1024}, "moe_latent_size"),
        ("qwen3-next-80b-a3b", {"linear_num_value_heads": 33}, "linear_num_value_heads"),
        ("kimi-linear-48b-a3b", {"mla_use_output_gate": True}, "mla_use_output_gate"),
        ("recurrentgemma-2b", {"block_types": ["spiral"]}, "block_types"),
        ("recurrentgemma-2b", {"lru_width": 2561}, "num_attention_heads"),
        ("recurrentgemma-2b", {"intermediate_size": 15361}, "intermediate_size"),
        ("gemma-3n-e4b", {"num_kv_shared_layers": 35}, "num_kv_shared_layers"),
        ("gemma-3n-e4b", {"intermediate_size": [8192]}, "intermediate_size"),
        ("gpt-neo-2.7b", {"attention_types": [[["global"], 10**9]]}, "attention_types"),
        ("gpt-neo-2.7b", {"attention_types": [["global", 32]]}, "attention_types"),
        ("gpt-neo-2.7b", {"attention_types": [[["global"], "32"]]}, "attention_types"),
        ("gpt-neo-2.7b", {"attention_types": [[["spiral"], 32]]}, "attention_types"),
        ("mpt-7b", {"attn_config": {"alibi": False}}, "attn_config.alibi"),
        ("mpt-7b", {"attn_config": {"qk_ln": True}}, "attn_config.qk_ln"),
        ("mpt-7b", {"attn_config": "multihead"}, "attn_config"),
        ("mpt-7b", {"expansion_ratio": 0}, "expansion_ratio"),
        ("hunyuan-a13b", {"moe_topk": [8] * 31 + [4]}, "moe_topk"),
        ("hunyuan-a13b", {"use_cla": True}, "use_cla"),
        ("llama-4-scout", {"no_rope_layers": [1, 1]}, "no_rope_layers"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value), ""),
)
def test_a_value_that_its_family_cannot_have_is_named(name: str, changes: dict[str, Any], key: str) -> None:
    assert declined(changed(name, **changes)).key == key


@pytest.mark.parametrize(
    ("config", "key", "found"),
    [
        ("", "config", "Expecting value"),
        ("{", "config", "line 1, column 2"),
        ("[1, 2]", "config", "[1, 2]"),
        ("not json", "config", "not json"),
        ('{"model_type": "llama", "model_type": "gpt2"}', "model_type", "the key twice"),
        ('{"hidden_size": NaN}', "hidden_size", "nan"),
        ('{"hidden_size": 1' + "0" * 5000 + "}", "config", "thousands of digits"),
        ('{"a": ' * 10 + "1" + "}" * 10, "a", "levels of nesting"),
        ('{"a": ' * 100_000 + "1" + "}" * 100_000, "config", "levels of nesting"),
        ("[" * 100_000, "config", "levels of nesting"),
        (None, "config", "None"),
        (7, "config", "7"),
        ([], "config", "[]"),
        ({}, "model_type", "nothing"),
        ("/no/such/config.json", "config", "/no/such/config.json"),
        ("x" * 5000, "config", "xxx"),
        ("a\0b", "config", "a\\x00b"),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_what_is_no_config_is_named(config: Any, key: str, found: str) -> None:
    error = declined(config)
    assert error.key == key
    assert found in str(error)


def test_fifty_megabytes_are_declined_at_once() -> None:
    text = json.dumps({"model_type": "llama", "padding": "x" * 50_000_000})
    assert "characters" in str(declined(text))


def test_a_file_of_fifty_megabytes_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    with file.open("wb") as stream:
        stream.truncate(50_000_000)
    assert "bytes" in str(declined(file))


def test_two_million_values_are_declined() -> None:
    assert declined({"model_type": "llama", "numbers": list(range(2_000_000))}).key == "numbers"


def test_ten_levels_of_parts_are_declined() -> None:
    config: dict[str, Any] = changed(LLAMA)
    for _ in range(10):
        config = {"model_type": "llava", "text_config": config}
    assert "levels of nesting" in str(declined(config))


def test_a_dict_that_holds_itself_is_declined() -> None:
    config: dict[str, Any] = changed(LLAMA)
    config["self"] = config
    assert "levels of nesting" in str(declined(config))


def test_a_file_that_cannot_be_read_is_declined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config.json"
    file.write_text("{}", encoding="utf-8")

    def refuse(*_: Any, **__: Any) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refuse)
    assert "Permission denied" in str(declined(file))


def test_a_file_that_is_not_text_is_declined(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_bytes(b"\xff\xfe\x00")
    assert "UTF-8" in str(declined(file))


def test_parse_reads_text_and_never_a_path(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"model_type": "llama"}', encoding="utf-8")
    with pytest.raises(cm.ConfigError):
        parse(str(file))


def test_infinity_is_allowed_where_nothing_reads_it() -> None:
    """Real configs of state-space models have `time_step_limit: [0.0, Infinity]`."""
    text = json.dumps(changed(LLAMA, time_step_limit=[0.0, math.inf]))
    assert "Infinity" in text
    assert read_config(text) == read_config(changed(LLAMA))


# ---- families ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(DECLINED))
def test_a_declined_family_says_why(kind: str) -> None:
    error = declined({"model_type": kind})
    assert error.key == "model_type"
    assert DECLINED[kind] in str(error)


def test_no_type_is_both_read_and_declined() -> None:
    assert not DECLINED.keys() & FAMILIES.keys()
    assert not DECLINED.keys() & WRAPPERS.keys()
    assert set(WRAPPERS.values()) <= FAMILIES.keys()


def test_an_unknown_wrapper_is_declined_even_around_a_known_part() -> None:
    assert declined({"model_type": "holo_vl", "text_config": changed(LLAMA)}).key == "model_type"


def test_an_unknown_part_of_a_known_wrapper_is_declined() -> None:
    assert declined({"model_type": "llava", "text_config": {"model_type": "holo"}}).key == "model_type"


@needs_data
@pytest.mark.parametrize("name", ["deepseek-v4-flash", "kimi-k3", "minimax-m3"])
def test_a_config_that_cannot_be_read_right_is_declined_with_the_reason(name: str) -> None:
    error = declined(DATA / "models" / "refuse" / name / "config.json")
    assert error.key == "model_type"
    assert "declined because" in str(error)


@needs_data
def test_an_invented_config_is_flagged() -> None:
    """Sizes that only its class states, and a pattern of layers that breaks off."""
    model = read_config(DATA / "models" / "refuse" / "qwen3.5-27b-ome-fixture" / "config.json")
    warnings = " ".join(model.warnings)
    assert "breaks off at layer 62, which no known model does" in warnings
    assert "Not in the config" in warnings
    assert "head_dim 256" in warnings
