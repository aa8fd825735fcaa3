"""The three forms of a config, and the quantization file that may stand beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import costmodel as cm
from costmodel.config import read_config
from tests.costmodel.config.configs import changed
from tests.reference import DATA, needs_data

MODELOPT = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8", "exclude_modules": ["lm_head"]}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(changed("llama-3.1-70b")), encoding="utf-8")
    return tmp_path


def test_dict_text_path_and_folder_give_the_same_model(folder: Path) -> None:
    config = changed("llama-3.1-70b")
    model = read_config(config)
    text = json.dumps(config, indent=2)
    assert model == read_config(text) == read_config("\n  " + text)
    assert model == read_config(folder / "config.json") == read_config(str(folder / "config.json"))
    assert model == read_config(folder)
    assert model == cm.Model.from_config(config)


def test_the_config_is_not_changed_by_reading_it() -> None:
    config = changed("gemma-3-27b")
    before = json.dumps(config)
    read_config(config)
    assert json.dumps(config) == before


def test_the_quantization_file_beside_a_path_is_read(folder: Path) -> None:
    assert read_config(folder).quantization is None
    (folder / "hf_quant_config.json").write_text(json.dumps(MODELOPT), encoding="utf-8")
    model = read_config(folder)
    assert model.quantization is not None
    assert model.quantization.dtype == "fp8"
    assert model == read_config(changed("llama-3.1-70b"), MODELOPT)
    assert model == read_config(changed("llama-3.1-70b"), json.dumps(MODELOPT))
    assert model == cm.Model.from_config(folder / "config.json", folder / "hf_quant_config.json")


def test_a_quantization_file_beside_another_name_is_not_read(folder: Path) -> None:
    (folder / "hf_quant_config.json").write_text(json.dumps(MODELOPT), encoding="utf-8")
    (folder / "other.json").write_text(json.dumps(changed("llama-3.1-70b")), encoding="utf-8")
    assert read_config(folder / "other.json").quantization is None


def test_a_quantization_file_without_an_algorithm_is_declined() -> None:
    with pytest.raises(cm.ConfigError, match="quant_algo"):
        read_config(changed("llama-3.1-70b"), {"quantization": {"exclude_modules": []}})


@needs_data
def test_a_reference_model_is_read_from_text_and_its_quantization_from_its_own_file() -> None:
    folder = DATA / "models" / "known" / "llama-3.1-70b-fp8-modelopt"
    model = read_config(
        (folder / "config.json").read_text(encoding="utf-8"),
        (folder / "hf_quant_config.json").read_text(encoding="utf-8"),
    )
    assert model.weight_bytes == pytest.approx(72_656_376_192, rel=1e-3)
    assert model.kv_dtype == "fp8"


def test_a_model_is_named_after_where_it_came_from_if_that_is_a_plain_name() -> None:
    assert (
        read_config(changed("llama-3.1-8b", _name_or_path="/opt/checkpoints/My-Llama_8B.v2/")).name == "My-Llama_8B.v2"
    )
    assert read_config(changed("llama-3.1-8b", _name_or_path="<script>alert(1)</script>")).name == "llama"
    assert read_config(changed("llama-3.1-8b")).name == "llama"


def test_what_the_part_says_wins_over_the_whole_and_the_whole_over_the_class() -> None:
    """The head is tied, and the format of the weights is named, at either level (in either spelling)."""
    part = {key: value for key, value in changed("llama-3.1-8b").items() if key not in ("torch_dtype", "dtype")}
    part.pop("tie_word_embeddings")
    whole = {"model_type": "llava", "torch_dtype": "float32", "tie_word_embeddings": True}
    outer = read_config({**whole, "text_config": part})
    assert (outer.tied, outer.dtype) == (True, "fp32")
    inner = read_config({**whole, "text_config": {**part, "tie_word_embeddings": False, "dtype": "float16"}})
    assert (inner.tied, inner.dtype) == (False, "fp16")


def test_a_slip_in_the_type_is_helped() -> None:
    with pytest.raises(cm.ConfigError, match=r"did you mean .*qwen3_moe"):
        read_config(changed("qwen3-30b-a3b", model_type="qwen3moe"))
