"""Two thousand configs of real models, each mutated: every one gives a Model or a ConfigError, within a second."""

from __future__ import annotations

import copy
import json
import math
import time
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

import costmodel as cm
from costmodel.config import read_config
from costmodel.config.quantization import METHODS
from tests.costmodel.config.configs import CONFIGS

_KEYS = sorted({key for config in CONFIGS.values() for key in config.get("text_config", config)})
_QUANTIZATION = st.fixed_dictionaries(
    {"quant_method": st.sampled_from(sorted(METHODS))},
    optional={
        "bits": st.one_of(st.integers(1, 9), st.text(max_size=2)),
        "group_size": st.integers(-2, 128),
        "modules_to_not_convert": st.lists(st.sampled_from(["lm_head", "*.mlp*", "re:.*gate$", "re:(a+)+$"])),
        "config_groups": st.dictionaries(st.just("group_0"), st.dictionaries(st.just("weights"), st.just({}))),
        "extra_config": st.dictionaries(st.text(max_size=3), st.dictionaries(st.just("bits"), st.integers(2, 16))),
        "weight_block_size": st.lists(st.integers(-1, 128), max_size=3),
        "load_in_4bit": st.booleans(),
        "quant_algo": st.sampled_from(["FP8", "NVFP4", "MIXED_PRECISION"]),
        "weights": st.sampled_from(["int8", "int2"]),
    },
)
_VALUES = st.one_of(
    _QUANTIZATION,
    st.none(),
    st.booleans(),
    st.integers(-2, 300),
    st.sampled_from([10**6, 2**31, 10**12, -(10**18), 10**40, 4096, 8192]),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([1e300, 0.5, 2.0, math.inf]),
    st.text(max_size=8),
    st.sampled_from(["full_attention", "auto", "re:(a+)+$", "MEM*E", "LLLG", "fp8", "gptq", "llama", "mamba"]),
    st.lists(st.one_of(st.integers(-1, 9), st.text(max_size=3)), max_size=4),
    st.dictionaries(st.sampled_from([*_KEYS, "bits", "quant_method", "weights"]), st.integers(0, 8), max_size=3),
)
_CHANGE = st.tuples(st.sampled_from(["set", "set", "set", "drop", "wrap", "swap"]), st.integers(0), _VALUES)


def mutate(config: dict[str, Any], changes: list[tuple[str, int, Any]]) -> dict[str, Any]:
    """Apply each change to a key that is picked by number, the config's own more often than another family's."""
    for kind, number, value in changes:
        part = config.get("text_config") if isinstance(config.get("text_config"), dict) and number % 5 else config
        own = sorted(part)
        key = own[number % len(own)] if own and number % 3 else _KEYS[number % len(_KEYS)]
        if isinstance(value, dict) and "quant_method" in value:
            config["quantization_config"] = value
        elif kind == "set":
            part[key] = value
        elif kind == "drop":
            part.pop(key, None)
        elif kind == "wrap":
            part[key] = [part.get(key)]
        else:
            part[key] = part.get(_KEYS[number % len(_KEYS)], value)
    return config


@settings(max_examples=2000, deadline=None)
@given(name=st.sampled_from(sorted(CONFIGS)), changes=st.lists(_CHANGE, min_size=1, max_size=4), text=st.booleans())
@example(name="gpt-oss-20b", changes=[("set", 1, {"quant_method": "mxfp4", "modules_to_not_convert": 3})], text=False)
def test_a_mutated_config_gives_a_model_or_one_clear_sentence(name: str, changes: list[Any], text: bool) -> None:  # noqa: FBT001
    config = mutate(copy.deepcopy(CONFIGS[name]), changes)
    start = time.thread_time()  # of this processor: others may be busy with something else
    read = outcome(json.dumps(config) if text else config)
    assert time.thread_time() - start < 1
    if isinstance(read, cm.ConfigError):
        assert read.key
        assert read.expected
        assert "\n" not in str(read)
    else:
        assert read.total_params >= read.active_params > 0
        assert read.kv_bytes_per_token >= 0
        assert read.weight_bytes > 0


def outcome(config: Any) -> cm.Model | cm.ConfigError:
    """What reading gives; any other error is a bug and goes through."""
    try:
        return read_config(config)
    except cm.ConfigError as error:
        return error
