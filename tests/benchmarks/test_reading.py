"""How fast configs are read. Figures, not assertions: a page that re-reads a pasted config must stay under 5 ms."""

from __future__ import annotations

import json

import pytest

from costmodel.config import read_config
from tests.costmodel.config.configs import CONFIGS


@pytest.mark.parametrize(
    "name", ["qwen3-0.6b", "gpt-oss-120b", "deepseek-v3", "nemotron-3-nano-30b-a3b", "llama-3.1-70b-fp8-modelopt"]
)
def test_reading_a_config_from_text(benchmark, figure, name):
    text = json.dumps(CONFIGS[name])
    model = benchmark(lambda: read_config(text))
    assert model.total_params > 0
    if benchmark.stats:
        figure(f"{benchmark.stats.stats.median * 1e3:.2f} ms to read {name}")


def test_reading_a_config_with_five_hundred_module_names(benchmark, figure):
    """Llama-3.1-405B-FP8 lists every projection that stays wide, one by one."""
    config = json.loads(json.dumps(CONFIGS["llama-3.1-405b"]))
    names = [f"model.layers.{n}.self_attn.{p}_proj" for n in range(126) for p in "qkvo"]
    config["quantization_config"] = {"quant_method": "fbgemm_fp8", "modules_to_not_convert": names}
    text = json.dumps(config)
    model = benchmark(lambda: read_config(text))
    assert model.quantization is not None
    if benchmark.stats:
        figure(f"{benchmark.stats.stats.median * 1e3:.2f} ms to read 504 module names")
