"""The catalogue: facts with a source, read by the same reader as any config, when they are asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import costmodel as cm
import costmodel.catalog
from costmodel.config import read_config
from tests.costmodel.config.configs import CATALOGUE

NAMED = [
    "qwen3-0.6b",
    "qwen3-8b",
    "qwen3-32b",
    "qwen3-30b-a3b",
    "qwen3-235b-a22b",
    "llama-2-7b",
    "llama-2-70b",
    "llama-3.1-8b",
    "llama-3.1-70b",
    "llama-3.1-405b",
    "llama-3.2-1b",
    "mistral-7b-v0.1",
    "mixtral-8x7b",
    "gemma-3-27b",
    "phi-4-mini",
    "gpt-oss-20b",
    "gpt-oss-120b",
    "smollm2-135m",
]


def test_the_models_that_everybody_asks_for_are_there() -> None:
    assert set(NAMED) <= set(cm.model())
    assert cm.model()[0] == "qwen3-0.6b"  # the default


def test_ids_and_names_are_unique_and_every_row_has_its_source() -> None:
    rows = costmodel.catalog._rows()
    assert len({row["name"] for row in rows.values()}) == len(rows)
    for name, row in rows.items():
        assert cm.model(name).id == name
        assert cm.model(name).name == row["name"]
        assert row["hub"] in cm.model(name).source


def test_a_model_is_read_once() -> None:
    assert cm.model("qwen3-8b") is cm.model("qwen3-8b")


@pytest.mark.parametrize("name", ["qwen3-06b", "", "QWEN3-0.6B ", 7, "x" * 10_000, "__class__"])
def test_an_unknown_id_is_named_with_its_neighbours(name: object) -> None:
    with pytest.raises(cm.UnknownModel) as caught:
        cm.model(name)  # type: ignore[call-overload]
    assert len(str(caught.value)) < 400


def test_a_slip_of_the_finger_is_helped() -> None:
    with pytest.raises(cm.UnknownModel, match=r"did you mean qwen3-0\.6b"):
        cm.model("qwen3-06b")


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_the_catalogue_keeps_only_keys_that_matter(name: str) -> None:
    """Every size that stands in a row is needed: without it the model would be another one, or declined."""
    whole = read_config(CATALOGUE[name])
    for key in CATALOGUE[name].keys() - KEPT_FOR_THE_READER:
        rest = {k: v for k, v in CATALOGUE[name].items() if k != key}
        try:
            assert read_config(rest) != whole, key
        except cm.ConfigError:
            continue


KEPT_FOR_THE_READER = {
    "dtype",
    "head_dim",
    "multi_query",
    "new_decoder_architecture",
    "num_key_value_heads",
    "num_kv_heads",
    "q_lora_rank",
    "tie_word_embeddings",
    "torch_dtype",
    "use_sliding_window",
}
"""Keys that say what the class would mean anyway; a row reads better with them."""


def test_importing_the_package_reads_no_catalogue_of_models() -> None:
    program = (
        "import sys, costmodel; from costmodel.catalog import _rows; "
        "assert _rows.cache_info().currsize == 0; assert 'costmodel.config' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
