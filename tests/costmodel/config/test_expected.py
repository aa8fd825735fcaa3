"""Known models against published and counted figures: exactly, to the parameter and to the byte."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path

import pytest

import costmodel as cm
from costmodel.config import read_config
from tests.costmodel.config.configs import SIBLINGS
from tests.reference import DATA, needs_data

_TABLE = Path(__file__).with_name("expected.csv").read_text(encoding="utf-8").splitlines()
EXPECTED = list(csv.DictReader(line for line in _TABLE if not line.startswith("#")))
KNOWN = DATA / "models" / "known"


def by_family() -> dict[str, list[str]]:
    """Reference models by the model_type of their config."""
    families = defaultdict(list)
    for path in sorted(KNOWN.glob("*/config.json")):
        families[json.loads(path.read_text(encoding="utf-8"))["model_type"]].append(path.parent.name)
    return families


def full_kv(model: cm.Model) -> int:
    """KV bytes a token of the layers without a window or chunk."""
    layers = [(layer.mixer, count) for layer, count in model.layers if layer.mixer]
    limits = [getattr(m, "window", None) or getattr(m, "chunk", None) for m, _ in layers]
    return sum(2 * m.kv_values_per_token * n for (m, n), limit in zip(layers, limits, strict=True) if not limit)


def window_runs(model: cm.Model) -> list[list[int | None]]:
    """Neighbouring layers with the same limit: [[limit, how many], ...]."""
    runs: list[list[int | None]] = []
    for layer, count in model.layers:
        limit = getattr(layer.mixer, "window", None) or getattr(layer.mixer, "chunk", None)
        if runs and runs[-1][0] == limit:
            runs[-1][1] += count
        else:
            runs.append([limit, count])
    return runs


@needs_data
@pytest.mark.parametrize("family", sorted(by_family()))
def test_every_reference_model_of_a_family_is_read_exactly(family: str) -> None:
    for name in by_family()[family]:
        model = cm.Model.from_config(KNOWN / name / "config.json")
        expected = json.loads((KNOWN / name / "expected.json").read_text(encoding="utf-8"))
        assert model.total_params == expected["language_model_params"], name
        assert model.active_params == expected["active_params_per_token"], name
        assert model.num_layers == expected["num_layers"], name
        assert model.tied == expected["tied"], name
        assert model.kv_bytes_per_token == expected["kv_bytes_per_token"], name
        assert full_kv(model) == expected["kv_bytes_per_token_unwindowed_layers"], name
        assert window_runs(model) == expected["windows_runs"], name
        assert model.state_bytes == expected["state_bytes_per_sequence_fp32_state_bf16_conv"], name
        assert bool(model.left_out) == (expected["vision_or_audio_params"] > 0), name
        stored = expected.get("quantized_weights")
        assert (model.quantization is not None) == (stored is not None), name
        if stored:
            assert model.weight_bytes == pytest.approx(stored["weight_bytes"], rel=1e-3), name


@needs_data
def test_all_reference_models_are_in_the_catalogue() -> None:
    assert {path.name for path in KNOWN.iterdir()} <= set(cm.model())


@pytest.mark.parametrize("row", EXPECTED, ids=[row["id"] for row in EXPECTED])
def test_catalogue_model_has_its_expected_figures(row: dict[str, str]) -> None:
    model = cm.model(row["id"])
    assert model.total_params == int(row["params"])
    assert model.active_params == int(row["active"])
    assert model.num_layers == int(row["layers"])
    assert model.tied == bool(int(row["tied"]))
    assert model.kv_bytes_per_token == int(row["kv"])
    assert full_kv(model) == int(row["full_kv"])
    assert model.state_bytes == int(row["state"])
    wide = {"fp32": 4, "fp16": 2, "bf16": 2}[model.dtype]
    stored = int(row["weight_bytes"]) if row["weight_bytes"] else wide * model.total_params
    assert model.weight_bytes == pytest.approx(stored, rel=1e-3)


@pytest.mark.parametrize("row", SIBLINGS, ids=[row["name"] for row in SIBLINGS])
def test_sibling_model_has_its_counted_parameters(row: dict) -> None:
    model = read_config(row["config"])
    assert model.total_params == row["params"]
    if "kv" in row:
        assert model.kv_bytes_per_token == 2 * sum(layers * values for layers, values in row["kv"])
    if "state" in row:
        assert model.state_bytes == row["state"]


def test_every_catalogue_model_has_a_row_of_expected_figures() -> None:
    assert [row["id"] for row in EXPECTED] == list(cm.model())
    assert len(EXPECTED) >= 30
