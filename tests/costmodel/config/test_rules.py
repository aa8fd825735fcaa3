"""Rules, not tables: a changed size changes the totals by the amount worked out here, for every family.

`FACTS` states what a family is in a few numbers; the amounts follow from them and from the config alone.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, replace
from typing import Any

import pytest

from costmodel.config import read_config
from costmodel.config.families import FAMILIES
from costmodel.model import Model
from tests.costmodel.config.configs import CONFIGS
from tests.reference import DATA


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What the amounts need to know of one model.

    Attributes
    ----------
    vocab, layers, kv, width: keys of these sizes; "" where a change of the key alone makes no sense.
    period: layers that repeat. attention: layers of a period that keep a cache.
    kv_dims: width of a key and a value together. key_norm: values of the keys' norm a KV head, 0 where heads share it.
    qkv_bias, mlp_bias, head_bias: whether there are any. matrices: of an MLP.
    mlps: MLPs of that width in a layer that has them. wide: layers that have them; None: all.
    """

    vocab: str = "vocab_size"
    layers: str = "num_hidden_layers"
    kv: str = "num_key_value_heads"
    width: str = "intermediate_size"
    period: int = 1
    attention: int = 1
    kv_dims: int = 256
    key_norm: int = 0
    qkv_bias: bool = False
    mlp_bias: bool = False
    head_bias: bool = False
    matrices: int = 3
    mlps: int = 1
    wide: int | None = None


GPT = Facts(kv="", matrices=2, qkv_bias=True, mlp_bias=True)
MOE = Facts(width="moe_intermediate_size")

FACTS: dict[str, Facts] = {
    "llama-3.1-8b": Facts(),
    "llama-2-7b": Facts(),
    "llama-3.2-1b": Facts(kv_dims=128),
    "mistral-7b-v0.1": Facts(),
    "devstral-2-123b-fp8": Facts(),
    "qwen2.5-7b": Facts(qkv_bias=True),
    "qwen2.5-vl-7b": Facts(qkv_bias=True),
    "qwen3-0.6b": Facts(),
    "qwen3-vl-8b": Facts(),
    "gemma-2b": Facts(kv_dims=512),
    "gemma-2-9b": Facts(kv_dims=512, period=2, attention=2),
    "gemma-3-1b": Facts(kv_dims=512, period=6, attention=6),
    "gemma-3-27b": Facts(period=6, attention=6, vocab=""),
    "phi-4-mini": Facts(),
    "phi-3-mini-128k": Facts(kv_dims=192),
    "phi-2": Facts(matrices=2, qkv_bias=True, mlp_bias=True, head_bias=True, kv_dims=160),
    "command-r-35b": Facts(),
    "command-r7b": Facts(period=4, attention=4),
    "granite-3.3-8b": Facts(),
    "olmo-2-13b": Facts(key_norm=128),
    "olmo-7b": Facts(),
    "smollm2-135m": Facts(kv_dims=128),
    "smollm3-3b": Facts(),
    "starcoder2-7b": Facts(matrices=2, qkv_bias=True, mlp_bias=True),
    "glm-4-9b-chat": Facts(qkv_bias=True),
    "glm-4-32b-0414": Facts(),
    "exaone-4.0-32b": Facts(period=4, attention=4),
    "exaone-3.5-7.8b": Facts(layers="num_layers"),
    "seed-oss-36b": Facts(qkv_bias=True),
    "hunyuan-7b": Facts(),
    "ernie-4.5-0.3b": Facts(),
    "nemotron-4-minitron-8b": Facts(matrices=2),
    "apertus-8b": Facts(matrices=2),
    "afm-4.5b": Facts(matrices=2),
    "stablelm-2-1.6b": Facts(qkv_bias=True, kv_dims=128),
    "llava-onevision-7b": Facts(qkv_bias=True),
    "gpt2": replace(GPT, layers="n_layer", width="n_inner"),
    "starcoderbase": replace(GPT, layers="n_layer", width="n_inner"),
    "gpt-j-6b": replace(GPT, layers="n_layer", width="n_inner", head_bias=True),
    "gpt-neox-20b": GPT,
    "pythia-6.9b": GPT,
    "opt-6.7b": replace(GPT, width="ffn_dim"),
    "opt-350m": replace(GPT, width="ffn_dim"),
    "bloom-7b1": replace(GPT, layers="n_layer", width=""),
    "falcon-7b": replace(GPT, width="ffn_hidden_size", mlp_bias=False),
    "falcon-180b": Facts(kv="num_kv_heads", width="ffn_hidden_size", matrices=2, kv_dims=128),
    "mpt-7b": replace(GPT, layers="n_layers", width=""),
    "mixtral-8x7b": Facts(mlps=8),
    "qwen3-30b-a3b": replace(MOE, mlps=128),
    "qwen3-vl-30b-a3b": replace(MOE, mlps=128),
    "qwen1.5-moe-a2.7b": replace(MOE, mlps=60, qkv_bias=True),
    "gpt-oss-20b": Facts(period=2, attention=2, mlps=32, qkv_bias=True, mlp_bias=True, kv_dims=128),
    "olmoe-1b-7b": Facts(mlps=64, key_norm=128),
    "phi-3.5-moe": Facts(mlps=16, qkv_bias=True, head_bias=True),
    "granite-3.0-1b-a400m": Facts(mlps=32, kv_dims=128),
    "minimax-m2.5": Facts(mlps=256, key_norm=128),
    "glm-4.5-air": replace(MOE, mlps=129, wide=45, qkv_bias=True),
    "dots.llm1": replace(MOE, mlps=130, wide=61),
    "ernie-4.5-21b-a3b": replace(MOE, mlps=66, wide=27, layers=""),
    "llama-4-scout": Facts(period=4, attention=4, mlps=17),
    "deepseek-v3": replace(MOE, kv="", mlps=257, wide=58),
    "deepseek-v2-lite": replace(MOE, kv="", mlps=66, wide=26),
    "minicpm3-4b": Facts(kv=""),
    "glm-4.7-flash": replace(MOE, kv="", mlps=65, wide=46),
    "qwen3-next-80b-a3b": replace(MOE, period=4, mlps=512, kv_dims=512),
    "qwen3.5-27b": Facts(period=4, kv_dims=512),
    "qwen3.5-35b-a3b": replace(MOE, period=4, mlps=256, kv_dims=512),
    "jamba-1.5-mini": Facts(period=8, mlps=17, wide=16),
    "minimax-text-01": Facts(period=8, mlps=32),
    "bamba-9b": Facts(layers=""),
    "granite-4.0-h-small": Facts(layers="", mlps=72),
    "nemotron-3-nano-30b-a3b": Facts(layers="", width="moe_intermediate_size", matrices=2, mlps=128, wide=23),
    "nemotron-h-8b": Facts(layers="", matrices=2, wide=24),
    "kimi-linear-48b-a3b": replace(MOE, kv="", layers="", mlps=257, wide=26),
    "recurrentgemma-2b": Facts(layers="", width="", kv_dims=512),
    "lfm2-1.2b": Facts(layers="", width="", kv_dims=128),
    "lfm2-8b-a1b": replace(MOE, layers="", kv_dims=128, mlps=32, wide=22),
    "falcon-mamba-7b": Facts(kv="", width="", attention=0),
    "mamba-codestral-7b": Facts(kv="", width="", attention=0),
    "mamba-2.8b": Facts(kv="", width="", attention=0),
    "gemma-3n-e4b": Facts(layers="", width="", kv_dims=512),
    "mimo-v2-flash": replace(MOE, layers="", kv="", mlps=256, wide=47),
    "dbrx": Facts(layers="n_layers", width="", kv=""),
    "gpt-neo-2.7b": Facts(layers="", kv="", matrices=2, mlp_bias=True),
    "hunyuan-a13b": Facts(mlps=65),
    "trinity-mini": replace(MOE, layers="", mlps=129, wide=30),
    "olmo-3-7b": Facts(period=4, attention=4, key_norm=128),
}


def raw(name: str) -> dict[str, Any]:
    """The model's own config.json where the reference data are there, else the few keys that the repository keeps."""
    path = DATA / "models" / "known" / name / "config.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else copy.deepcopy(CONFIGS[name])


def part(config: dict[str, Any]) -> dict[str, Any]:
    """The language part of a config."""
    return config.get("text_config", config)


def read(name: str, **changes: Any) -> Model:
    """The model read after some keys changed."""
    config = raw(name)
    part(config).update(changes)
    return read_config(config)


def caching(model: Model) -> int:
    """Layers that keep a cache."""
    return sum(count for layer, count in model.layers if layer.mixer and layer.mixer.kv_values_per_token)


def those_with(key: str) -> Any:
    """Run a test for each model whose facts name this key."""
    names = [name for name, facts in FACTS.items() if getattr(facts, key)]
    return pytest.mark.parametrize("name", names)


def longer(config: dict[str, Any], lists: list[str], more: int) -> dict[str, Any]:
    """The lists with one entry a layer, each continued by its own beginning."""
    return {key: config[key] + config[key][:more] for key in lists}


@those_with("vocab")
def test_vocabulary(name: str) -> None:
    before = read(name)
    after = read(name, vocab_size=before.vocab + 128)
    row, tables = before.embed_dim or before.hidden, 1 if before.tied else 2
    assert after.total_params - before.total_params == 128 * (tables * row + FACTS[name].head_bias)
    assert after.matrix_params - before.matrix_params == 128 * row  # P has the head once, tied or not
    assert after.kv_bytes_per_token == before.kv_bytes_per_token


@those_with("layers")
def test_layers(name: str) -> None:
    """One and two more periods add the same again: what a period holds, and the caches of its attention layers."""
    facts, config = FACTS[name], part(raw(name))
    count = config[facts.layers]
    lists = [key for key, value in config.items() if isinstance(value, list) and len(value) == count]
    before, one, two = (
        read(name, **longer(config, lists, facts.period * more), **{facts.layers: count + facts.period * more})
        for more in (0, 1, 2)
    )
    block = one.total_params - before.total_params
    assert one.num_layers - before.num_layers == facts.period
    assert two.total_params - one.total_params == block > 0
    if len(before.distinct_layers) == 1:
        tables = before.embedding_params * (1 if before.tied else 2)
        around = before.other_params + sum(matrix.params for matrix in before.extra_matrices)
        assert before.total_params == tables + around + count * block
    if facts.attention:
        each = before.kv_bytes_per_token // caching(before)
        assert one.kv_bytes_per_token - before.kv_bytes_per_token == facts.attention * each
    else:
        assert one.state_bytes - before.state_bytes == before.state_bytes / count


@those_with("kv")
def test_kv_heads(name: str) -> None:
    """Half as many KV heads (or as many as queries): fewer columns of K and V, and as much less to cache."""
    facts, before = FACTS[name], read(name)
    mixer = next(x.mixer for x, _ in before.layers if x.mixer and x.mixer.kv_values_per_token)
    heads = mixer.kv_heads // 2 if mixer.kv_heads % 2 == 0 else mixer.q_heads
    after = read(name, **{facts.kv: heads})
    more = (heads - mixer.kv_heads) * caching(before)
    column = facts.kv_dims * (before.hidden + facts.qkv_bias) + facts.key_norm
    assert after.total_params - before.total_params == more * column
    assert after.kv_bytes_per_token - before.kv_bytes_per_token == 2 * more * facts.kv_dims


@those_with("width")
def test_width_of_the_mlps(name: str) -> None:
    facts, before = FACTS[name], read(name)
    width = part(raw(name)).get(facts.width) or 4 * before.hidden
    after = read(name, **{facts.width: width + 64})
    column = facts.matrices * before.hidden + (facts.matrices - 1) * facts.mlp_bias
    mlps = facts.mlps * (facts.wide or before.num_layers)
    assert after.total_params - before.total_params == 64 * column * mlps


@pytest.mark.parametrize(
    "name", ["llama-3.1-8b", "qwen3-32b", "gemma-2-9b", "qwen2.5-7b", "mixtral-8x7b", "gpt-oss-120b"]
)
def test_hidden_size_follows_a_closed_form(name: str) -> None:
    """Tables (one where tied), and in each layer q, k, v, o, the MLPs, the router, biases and norms, written out."""
    config = part(raw(name))
    for hidden in (config["hidden_size"], 2 * config["hidden_size"]):
        model = read(name, hidden_size=hidden)
        experts, inner = config.get("num_local_experts", 0), config["intermediate_size"]
        d = config.get("head_dim") or hidden // config["num_attention_heads"]
        q, kv = config["num_attention_heads"] * d, config["num_key_value_heads"] * d
        sinks = config["num_attention_heads"]
        bias = {
            "qwen2.5-7b": q + 2 * kv,
            "gpt-oss-120b": q + 2 * kv + hidden + sinks + experts * (2 * inner + hidden + 1),
        }
        norms = {"gemma-2-9b": 4 * hidden, "qwen3-32b": 2 * hidden + 2 * d}
        mlp = 3 * hidden * inner * (experts or 1) + hidden * experts
        layer = 2 * hidden * q + 2 * hidden * kv + mlp + norms.get(name, 2 * hidden) + bias.get(name, 0)
        tables = (1 if model.tied else 2) * config["vocab_size"] * hidden
        assert model.total_params == tables + config["num_hidden_layers"] * layer + hidden


def test_every_family_of_a_known_config_has_its_facts() -> None:
    covered = {read(name).family for name in FACTS}
    assert {read_config(config).family for config in CONFIGS.values()} <= covered
    assert covered <= set(FAMILIES)
