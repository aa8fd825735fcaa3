"""Stored bytes of quantized checkpoints, worked out by hand, and which modules stay at full width."""

from __future__ import annotations

import time
from typing import Any

import pytest

import costmodel as cm
from costmodel.config import read_config
from costmodel.config.modules import MODULES, Skipped
from costmodel.config.quantization import METHODS
from tests.costmodel.config.configs import changed

# Llama-3.1-8B: matrices of one block, and everything that is no block matrix.
QKV, OUT, GATE_UP, DOWN = 4096 * (4096 + 2 * 1024), 4096 * 4096, 2 * 4096 * 14336, 14336 * 4096
BLOCKS = 32 * (QKV + OUT + GATE_UP + DOWN)
HEAD = 128256 * 4096
REST = 2 * HEAD + 32 * 2 * 4096 + 4096


def llama(**quantization: Any) -> cm.Model:
    return read_config(changed("llama-3.1-8b", quantization_config=quantization))


def groups(**weights: Any) -> dict[str, Any]:
    return {"group_0": {"targets": ["Linear"], "weights": weights}}


METHOD_BITS = [
    ({"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False}, "int4", 4 + 20 / 128),
    ({"quant_method": "gptq", "bits": 8, "group_size": 32}, "int8", 8 + 24 / 32),
    ({"quant_method": "gptq", "bits": 3, "group_size": -1}, "int4", 3),
    ({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}, "int4", 4.15625),
    ({"quant_method": "awq", "bits": 4, "group_size": 64, "zero_point": False}, "int4", 4.25),
    ({"quant_method": "auto-round", "bits": 4, "group_size": 128, "sym": True}, "int4", 4.125),
    ({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_use_double_quant": True}, "nf4", 4.127),
    ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "nf4", 4.5),
    ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8", 8),
    ({"load_in_8bit": True}, "int8", 8),
    ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8_block", 8 + 32 / 16384),
    ({"quant_method": "fp8", "weight_block_size": None}, "fp8", 8),
    ({"quant_method": "fbgemm_fp8"}, "fp8", 8),
    ({"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 4, "group_size": 64}}}, "int4", 4.5),
    ({"quant_method": "quanto", "weights": "int8"}, "int8", 8),
    ({"quant_method": "eetq"}, "int8", 8),
    ({"quant_method": "modelopt", "quant_algo": "NVFP4", "exclude_modules": ["lm_head"]}, "nvfp4", 4.5),
    ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8", 8),
    ({"quant_algo": "FP8"}, "fp8", 8),
    ({"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp4"}}}, "mxfp4", 4.25),
    (
        {
            "quant_method": "compressed-tensors",
            "ignore": ["lm_head"],
            "config_groups": groups(num_bits=8, type="float"),
        },
        "fp8",
        8,
    ),
    (
        {
            "quant_method": "compressed-tensors",
            "ignore": ["lm_head"],
            "config_groups": groups(num_bits=8, type="float", strategy="block", block_structure=[128, 128]),
        },
        "fp8_block",
        8 + 32 / 16384,
    ),
    (
        {
            "quant_method": "compressed-tensors",
            "ignore": ["lm_head"],
            "config_groups": groups(num_bits=4, type="int", group_size=128, symmetric=True),
        },
        "int4",
        4.125,
    ),
    (
        {
            "quant_method": "compressed-tensors",
            "ignore": ["lm_head"],
            "config_groups": groups(num_bits=4, type="int", group_size=128, symmetric=False),
        },
        "int4",
        4.15625,
    ),
    (
        {
            "quant_method": "compressed-tensors",
            "ignore": ["re:.*lm_head"],
            "config_groups": groups(num_bits=4, type="float", group_size=16),
        },
        "nvfp4",
        4.5,
    ),
    (
        {
            "quant_method": "compressed-tensors",
            "ignore": ["lm_head"],
            "config_groups": groups(num_bits=4, type="float", group_size=32),
        },
        "mxfp4",
        4.25,
    ),
]


@pytest.mark.parametrize(
    ("quantization", "dtype", "bits"),
    METHOD_BITS,
    ids=lambda value: "-".join(map(str, value.values()))[:40] if isinstance(value, dict) else None,
)
def test_bits_a_weight_of_each_method(quantization: dict[str, Any], dtype: str, bits: float) -> None:
    model = llama(**quantization)
    index = 0.0
    if quantization.get("quant_method") == "gptq":  # a 32-bit group number for each input of each matrix
        index = 32 * 32 * (3 * 4096 + 4096 + 2 * 4096 + 14336) / BLOCKS
    assert model.quantization is not None
    assert model.quantization.dtype == dtype
    assert model.quantization.bits_per_weight == pytest.approx(bits + index)
    assert model.weight_bytes == pytest.approx(BLOCKS * (bits + index) / 8 + 2 * REST)


def test_compressed_tensors_covers_the_head_unless_it_is_ignored() -> None:
    model = llama(quant_method="compressed-tensors", config_groups=groups(num_bits=8, type="int"))
    assert model.quantization is not None
    assert model.quantization.head
    assert model.weight_bytes == BLOCKS + HEAD + 2 * (REST - HEAD)
    assert any("LM head" in warning for warning in model.warnings)


def test_auto_round_keeps_modules_at_16_bits() -> None:
    kept = {"model.layers.0.mlp.down_proj": {"bits": 16}}
    model = llama(quant_method="auto-round", bits=4, group_size=128, extra_config=kept)
    assert model.weight_bytes == pytest.approx((BLOCKS - DOWN) * 4.125 / 8 + 2 * (REST + DOWN))


def test_gptq_covers_the_head_when_it_says_so() -> None:
    model = llama(quant_method="gptq", bits=4, group_size=128, lm_head=True)
    assert model.quantization is not None
    assert model.quantization.head


def test_mxfp4_covers_the_experts_only() -> None:
    model = cm.model("gpt-oss-20b")
    assert {role for layer, _ in model.layers for role in layer.quantized} == {"experts"}


def test_a_router_is_never_quantized() -> None:
    model = read_config(changed("qwen3-30b-a3b", quantization_config={"quant_method": "gptq", "bits": 4}))
    assert {role for layer, _ in model.layers for role in layer.quantized} == {"qkv", "o", "experts"}


def test_calibrated_cache_formats_are_read() -> None:
    assert llama(quant_method="modelopt", quant_algo="FP8", kv_cache_quant_algo="FP8").kv_dtype == "fp8"
    scheme = {"kv_cache_scheme": {"num_bits": 8, "type": "float"}}
    model = llama(quant_method="compressed-tensors", config_groups=groups(num_bits=8, type="float"), **scheme)
    assert model.kv_dtype == "fp8"
    assert cm.model("qwen3-32b-fp8").kv_dtype is None


def test_a_mixed_checkpoint_leaves_attention_and_two_layers_wide() -> None:
    """Llama-3.1-405B-FP8 (July 2024): FFN of 124 layers in fp8, attention and the outer layers in bf16."""
    names = [f"model.layers.{n}.self_attn.{p}_proj" for n in range(126) for p in "qkvo"]
    outer = [f"model.layers.{n}.mlp.{p}_proj" for n in (0, 125) for p in ("gate", "up", "down")]
    config = changed("llama-3.1-405b", quantization_config={"quant_method": "fbgemm_fp8"})
    config["quantization_config"]["modules_to_not_convert"] = [*outer, "lm_head", *names]
    model = read_config(config)
    assert [(sorted(layer.quantized), count) for layer, count in model.layers] == [
        ([], 1),
        (["down", "gate_up"], 124),
        ([], 1),
    ]
    covered = 124 * 3 * 16384 * 53248
    assert model.weight_bytes == 2 * (model.total_params - covered) + covered


def test_a_quantized_model_is_the_same_model_but_for_its_bytes() -> None:
    plain, quantized = cm.model("qwen3-32b"), cm.model("qwen3-32b-fp8")
    assert plain.total_params == quantized.total_params
    assert plain.matrix_params == quantized.matrix_params
    assert plain.kv_bytes_per_token == quantized.kv_bytes_per_token


@pytest.mark.parametrize(
    ("quantization", "key"),
    [
        ({"quant_method": "gptq"}, "bits"),
        ({"quant_method": "gptq", "bits": 17}, "bits"),
        ({"quant_method": "gptq", "bits": 4, "group_size": "128"}, "group_size"),
        ({"quant_method": "gptq", "bits": 4, "dynamic": {"+:.*mlp": {"bits": 8}}}, "quantization_config.dynamic"),
        (
            {"quant_method": "auto-round", "bits": 4, "extra_config": {"x": {"bits": 8}}},
            "quantization_config.extra_config",
        ),
        ({"quant_method": "auto-round", "bits": 4, "extra_config": {"x": {"bits": "8"}}}, "bits"),
        ({"quant_method": "bitsandbytes"}, "quantization_config.load_in_4bit"),
        ({"quant_method": "fp8", "weight_block_size": [128]}, "quantization_config.weight_block_size"),
        ({"quant_method": "fp8", "modules_to_not_convert": "lm_head"}, "modules_to_not_convert"),
        ({"quant_method": "fp8", "modules_to_not_convert": ["re:(a+)+$"]}, "quantization_config"),
        ({"quant_method": "fp8", "modules_to_not_convert": ["re:" + "(a|b)" * 20]}, "quantization_config"),
        ({"quant_method": "fp8", "modules_to_not_convert": ["*a" * 30]}, "quantization_config"),
        ({"quant_method": "fp8", "modules_to_not_convert": [f"*a{n}" for n in range(300)]}, "quantization_config"),
        ({"quant_method": "fp8", "modules_to_not_convert": ["a"] * 60_000}, "quantization_config"),
        ({"quant_method": "quanto", "weights": "int2"}, "quantization_config.weights"),
        ({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}, "quant_algo"),
        ({"quant_method": "modelopt"}, "quant_algo"),
        ({"quant_method": "quark", "global_quant_config": {}}, "quantization_config"),
        ({"quant_method": "compressed-tensors"}, "quantization_config.config_groups"),
        ({"quant_method": "compressed-tensors", "config_groups": {"group_0": 3}}, "quantization_config.group_0"),
        ({"quant_method": "compressed-tensors", "config_groups": groups(num_bits=6, type="float")}, "num_bits"),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"a": {"weights": {"num_bits": 4}}, "b": {"weights": {"num_bits": 8}}},
            },
            "quantization_config.config_groups",
        ),
        ({"quant_method": "aqlm"}, "quant_method"),
        ({"bits": 4}, "quant_method"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_scheme_that_cannot_be_read_is_named(quantization: dict[str, Any], key: str) -> None:
    start = time.thread_time()  # of this processor: others may be busy with something else
    with pytest.raises(cm.ConfigError) as caught:
        llama(**quantization)
    assert caught.value.key == key
    assert time.thread_time() - start < 1


def test_every_method_is_tried_here() -> None:
    tried = {quantization.get("quant_method") for quantization, _, _ in METHOD_BITS}
    assert set(METHODS) == (tried - {None}) | {"mxfp4", "modelopt_fp4"}


# ---- names of modules -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "layer", "roles"),
    [
        ("lm_head", 0, {"head"}),
        ("gate", 3, {"router"}),
        ("model.layers.*.mlp.router", 5, {"router"}),
        ("model.layers.*.self_attn", 5, {"qkv", "o", "q_up", "qkv_down", "kv_up"}),
        ("model.layers.2.mlp.down_proj", 2, {"down"}),
        ("model.layers.2.mlp.down_proj", 12, set()),
        ("model.layers.2", 2, set(MODULES)),
        ("model.language_model.layers.2.mlp.down_proj", 2, {"down"}),
        ("language_model.model.layers.2.mlp.down_proj", 2, {"down"}),
        ("transformer.h.7.mlp.c_fc", 7, {"gate_up"}),
        ("model.layers.1?.mlp.down_proj", 12, {"down"}),
        ("model.layers.1?.mlp.down_proj", 2, set()),
        ("*.mlp.shared_experts*", 0, {"shared_gate_up", "shared_down"}),
        ("model.vision_tower", 0, set()),
        ("e_score_correction_bias", 0, set()),
        ("re:.*self_attn.o_proj", 0, {"o"}),
        (r"re:.*mlp\.(gate|up|gate_up|down)_proj.*", 0, {"gate_up", "down"}),
        (r"re:.*\.mlp\.gate$", 0, {"router"}),
        (r"re:model\.layers\.\d+\.mlp\.gate$", 0, {"router"}),
        (r"re:^model.layers.[0-9]+.linear_attn.*", 4, {"linear_in", "linear_gates", "linear_out"}),
        ("re:.*block_sparse_moe.gate", 0, {"router"}),
    ],
)
def test_patterns_leave_out_the_roles_that_they_name(pattern: str, layer: int, roles: set[str]) -> None:
    assert Skipped([pattern]).roles(layer) == roles


def test_names_without_patterns_leave_nothing_out() -> None:
    assert Skipped([]).roles(0) == frozenset()
