"""Small configs for the rules that no known model here uses, and families that transformers does not know.

`variants.json`: parameters of the transformers class (5.24) built from each config on the meta device.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from costmodel.config import read_config
from costmodel.config.families import FAMILIES
from costmodel.model import Attention, LatentAttention, Model, Recurrent
from tests.costmodel.config.configs import CONFIGS, changed

VARIANTS = json.loads(Path(__file__).with_name("variants.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", VARIANTS, ids=[row["name"] for row in VARIANTS])
def test_a_variant_has_its_counted_parameters(row: dict[str, Any]) -> None:
    assert read_config(row["config"]).total_params == row["params"]


def variant(name: str, **changes: Any) -> Model:
    config = next(row["config"] for row in VARIANTS if row["name"].startswith(name))
    return read_config(config | changes)


def kinds(model: Model) -> str:
    """A letter a layer: F sees everything, S a window, C a chunk, L latent, R recurrent, B borrows a cache, - none."""
    return "".join(letter(layer.mixer) * count for layer, count in model.layers)


def letter(mixer: Any) -> str:
    if isinstance(mixer, Attention):
        if mixer.shares_kv:
            return "B"
        return "S" if mixer.window else "C" if mixer.chunk else "F"
    return {LatentAttention: "L", Recurrent: "R", type(None): "-"}[type(mixer)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("qwen3: windows", "FFFFFSSS"),
        ("qwen2_moe", "SFSFSFFF"),
        ("qwen3_moe", "SSSSSSSS"),
        ("smollm3: windows", "FFFSFFFS"),
        ("smollm3: positions", "FFSFFFSF"),
        ("cwm", "FSSSFSSS"),
        ("exaone_moe", "FFFFFFFF"),
        ("llama4", "FFFFFFFF"),
        ("minimax", "FRFRFRFR"),
        ("lfm2", "RFRFRRRR"),
        ("kimi_linear", "RRRRLRRR"),
        ("olmo_hybrid: three", "RRF"),
        ("olmo_hybrid", "RRRFRRRF"),
        ("bamba", "RRRFRRRR"),
        ("nemotron_h", "R-F-"),
        ("granitemoehybrid", "RFRFRFRF"),
        ("youtu", "LLLLLLLL"),
        ("gemma4: caches", "SSSSSFSBBBBB"),
        ("gemma4: values", "SSSSSFSSSSSF"),
        ("vaultgemma", "SFSFSFSF"),
    ],
)
def test_layers_are_of_the_kinds_that_the_class_makes_them(name: str, expected: str) -> None:
    assert kinds(variant(name)) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("llama-4-scout", "CCCF" * 12),
        ("mimo-v2-flash", "F" + "SSSSF" + "SSSSSF" * 7),
        ("gpt-neo-2.7b", "FS" * 16),
        ("recurrentgemma-2b", "RRS" * 8 + "RR"),
        ("gemma-3n-e2b", "SSSSF" * 4 + "B" * 10),
    ],
)
def test_layers_of_known_models(name: str, expected: str) -> None:
    assert kinds(read_config(CONFIGS[name])) == expected


def test_mimo_keeps_one_token_more_than_its_config_says_and_copies_the_pattern_of_the_class() -> None:
    listed, patterned = (read_config(changed("mimo-v2-flash", hybrid_layer_pattern=p)) for p in (None, None))
    assert kinds(listed) == kinds(patterned) == kinds(read_config(CONFIGS["mimo-v2-flash"]))
    sliding = next(x.mixer for x, _ in listed.layers if isinstance(x.mixer, Attention) and x.mixer.window)
    assert (sliding.window, sliding.kv_heads, sliding.head_dim, sliding.v_dim) == (129, 8, 192, 128)
    stated = read_config(changed("mimo-v2-flash", sliding_window_size=None))
    assert any(isinstance(x.mixer, Attention) and x.mixer.window == 128 for x, _ in stated.layers)


def test_minimax_text_01_lists_its_kinds_as_numbers() -> None:
    config = changed("minimax-text-01", layer_types=None, attn_type_list=[0, 0, 0, 0, 0, 0, 0, 1] * 10)
    config["model_type"] = "minimax_text_01"
    assert kinds(read_config(config)) == "RRRRRRRF" * 10


def test_a_pattern_of_letters_is_repeated_and_a_window_that_is_null_is_none() -> None:
    spelled = changed("exaone-4.0-32b", layer_types=None, sliding_window_pattern="LLG", num_hidden_layers=7)
    assert kinds(read_config(spelled)) == "SSGSSGS".replace("G", "F")
    spelled["sliding_window"] = None
    assert kinds(read_config(spelled)) == "F" * 7


def test_dots_slides_from_a_layer_on() -> None:
    windowed = changed("dots.llm1", sliding_window=4096, max_window_layers=60)
    assert kinds(read_config(windowed)) == "F" * 60 + "SS"


@pytest.mark.parametrize(
    ("attention", "heads"),
    [
        ({"attn_type": "multiquery_attention"}, 1),
        ({"attn_type": "grouped_query_attention", "kv_n_heads": 8}, 8),
        ({"attn_type": "multihead_attention", "kv_n_heads": 8}, 32),
        ({}, 32),
    ],
)
def test_mpt_states_its_kv_heads_inside_its_attention(attention: dict[str, Any], heads: int) -> None:
    assert read_config(changed("mpt-7b", attn_config=attention)).kv_bytes_per_token == 32 * 2 * heads * 128 * 2


def test_lfm2_without_a_list_attends_everywhere() -> None:
    assert kinds(variant("lfm2", full_attn_idxs=None)) == "F" * 8


def test_layer_types_may_use_the_names_of_old() -> None:
    old, new = ["mamba", "attention"] * 4, ["linear_attention", "full_attention"] * 4
    assert variant("granitemoehybrid", layer_types=old) == variant("granitemoehybrid", layer_types=new)
    assert kinds(variant("granitemoehybrid", layer_types=None)) == "R" * 8


def test_experts_in_listed_and_numbered_layers() -> None:
    base = variant("deepseek_v3")
    assert [bool(getattr(x.mlp, "experts", 0)) for x, n in base.layers for _ in range(n)] == [False] * 2 + [True] * 6
    listed = variant("deepseek_v3", moe_layer_freq=[0, 1] * 4)
    assert [bool(getattr(x.mlp, "experts", 0)) for x, n in listed.layers for _ in range(n)] == [False, True] * 4
    dense = variant("deepseek_v3", n_routed_experts=None)
    assert dense.active_params == dense.total_params


def test_gemma4_full_layers_take_values_from_keys_and_cache_both() -> None:
    full = next(x.mixer for x, _ in variant("gemma4: values").layers if not getattr(x.mixer, "window", None))
    assert (full.kv_heads, full.head_dim) == (2, 128)
    assert full.kv_values_per_token == 2 * 2 * 128
    assert [m.name for m in full.matrices(512)] == ["q", "k", "o"]


# ---- families that live on the Hub only: closed forms, and the size that their makers publish ---------------------


def gqa(
    h: int, layers: int, q: int, kv: int, width: int, vocab: int, *, qkv_bias: bool = False, tables: int = 2
) -> int:
    d = h // q
    attention = 2 * h * h + 2 * h * kv * d + (h + 2 * kv * d) * qkv_bias
    return tables * vocab * h + layers * (attention + 3 * h * width + 2 * h) + h


DEEPSEEK_MOE = {
    "hidden_size": 2048,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "intermediate_size": 10944,
    "moe_intermediate_size": 1408,
    "n_routed_experts": 64,
    "n_shared_experts": 2,
    "num_experts_per_tok": 6,
    "first_k_dense_replace": 1,
    "moe_layer_freq": 1,
    "vocab_size": 102400,
}
HUB_ONLY = [
    (
        {
            "model_type": "qwen",
            "hidden_size": 4096,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "kv_channels": 128,
            "intermediate_size": 22016,
            "vocab_size": 151936,
        },
        gqa(4096, 32, 32, 32, 11008, 151936) + 32 * 3 * 4096,
        7.72,
    ),
    (
        {
            "model_type": "internlm2",
            "hidden_size": 4096,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "intermediate_size": 14336,
            "vocab_size": 92544,
            "bias": False,
        },
        gqa(4096, 32, 32, 8, 14336, 92544),
        7.74,
    ),
    (
        {
            "model_type": "baichuan",
            "hidden_size": 4096,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "intermediate_size": 11008,
            "vocab_size": 125696,
        },
        gqa(4096, 32, 32, 32, 11008, 125696),
        7.51,
    ),
    (
        {
            "model_type": "minicpm",
            "hidden_size": 2304,
            "num_hidden_layers": 40,
            "num_attention_heads": 36,
            "num_key_value_heads": 36,
            "intermediate_size": 5760,
            "vocab_size": 122753,
        },
        gqa(2304, 40, 36, 36, 5760, 122753, tables=1),
        2.72,
    ),
    (
        {
            "model_type": "chatglm",
            "hidden_size": 4096,
            "num_layers": 40,
            "num_attention_heads": 32,
            "kv_channels": 128,
            "multi_query_attention": True,
            "multi_query_group_num": 2,
            "ffn_hidden_size": 13696,
            "padded_vocab_size": 151552,
            "add_qkv_bias": True,
            "add_bias_linear": False,
            "seq_length": 131072,
        },
        gqa(4096, 40, 32, 2, 13696, 151552, qkv_bias=True),
        9.40,
    ),
    (
        {"model_type": "deepseek", **DEEPSEEK_MOE},
        gqa(2048, 28, 16, 16, 10944, 102400) + 27 * (66 * 3 * 2048 * 1408 + 64 * 2048 - 3 * 2048 * 10944),
        16.38,
    ),
]


@pytest.mark.parametrize(("config", "params", "billions"), HUB_ONLY, ids=[row[0]["model_type"] for row in HUB_ONLY])
def test_a_family_of_the_hub_alone_follows_its_closed_form(
    config: dict[str, Any], params: int, billions: float
) -> None:
    model = read_config(config)
    assert model.total_params == params
    assert model.total_params / 1e9 == pytest.approx(billions, abs=0.005)


def test_a_chatglm_is_the_glm_that_it_became() -> None:
    chatglm = read_config(next(config for config, _, _ in HUB_ONLY if config["model_type"] == "chatglm"))
    glm = read_config(CONFIGS["glm-4-9b-chat"])
    assert (chatglm.total_params, chatglm.kv_bytes_per_token) == (glm.total_params, glm.kv_bytes_per_token)


NAS = {"model_type": "nemotron-nas", "hidden_size": 1024, "num_attention_heads": 16, "vocab_size": 1000}


def blocks(*pairs: tuple[dict[str, Any], dict[str, Any]]) -> Model:
    configs = [{"attention": attention, "ffn": ffn} for attention, ffn in pairs]
    return read_config({**NAS, "num_hidden_layers": len(pairs), "block_configs": configs})


def test_blocks_found_by_search_have_each_their_own_shape() -> None:
    """Widths are rounded up to 256: 1024 * 2.625 * 2 / 3 = 1792, and 1024 * 1.3 * 2 / 3 = 887 becomes 1024."""
    model = blocks(
        ({"n_heads_in_group": 8}, {"ffn_mult": 2.625}),
        ({"no_op": True, "n_heads_in_group": None}, {"ffn_mult": 1.3}),
        ({"replace_with_linear": True}, {"no_op": True}),
    )
    first = 2 * 1024 * 1024 + 2 * 1024 * 128 + 3 * 1024 * 1792 + 2 * 1024
    second = 3 * 1024 * 1024 + 1024
    third = 1024 * 1024 + 1024
    assert model.total_params == 2 * 1000 * 1024 + first + second + third + 1024
    assert model.kv_bytes_per_token == 2 * 2 * 2 * 64
    assert kinds(model) == "F--"


@pytest.mark.parametrize(
    ("block", "key"),
    [
        ({"attention": {"n_heads_in_group": 3}, "ffn": {"ffn_mult": 2.0}}, "n_heads_in_group"),
        ({"attention": {"n_heads_in_group": 8}, "ffn": {}}, "ffn_mult"),
        ({"attention": {"n_heads_in_group": 8}}, "block_configs.ffn"),
        (None, "block_configs"),
    ],
)
def test_a_block_that_cannot_be_is_named(block: dict[str, Any] | None, key: str) -> None:
    config = {**NAS, "num_hidden_layers": 1} | ({"block_configs": [block]} if block else {})
    with pytest.raises(ValueError, match=key):
        read_config(config)


def test_every_family_is_read_in_some_test() -> None:
    configs = [row["config"] for row in VARIANTS] + [config for config, _, _ in HUB_ONLY] + list(CONFIGS.values())
    read = {read_config(config).family for config in configs} | {"nemotron-nas"}
    assert read == {family.types[0] for family in FAMILIES.values()}
