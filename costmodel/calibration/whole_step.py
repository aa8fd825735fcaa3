"""Whole steps as others measured them while serving: nothing here is fitted to, they judge what the kernels add up to.

The serving rows (InferenceX and NVIDIA's) are closed-loop: ``concurrency`` requests stay in flight, so the time between
a request's tokens holds the prefills of the others. With B in flight, prompts of ``isl`` and answers of ``osl`` tokens,

    TPOT = decode(B sequences at context isl + osl / 2) + (B - 1) / osl * prefill(isl)

InferenceX draws lengths uniformly from 0.8 to 1.0 of the nominal ones, so their mean is 0.9 of them. Caches are fp8
where the deployment is fp8 or fp4. Experts are priced as split by tensor parallelism also where they were split by
expert parallelism.

DeepSeek-R1 is the same network as DeepSeek-V3, and is shown but not judged: in the 39 settings that are there under
both names R1 takes 0.43 to 0.91 of V3's time (median 0.66), so it must have run with multi-token prediction, which no
column marks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from costmodel.calibration.measurements import GPUS
from costmodel.catalog import model as catalogue_model
from costmodel.errors import ConfigError
from costmodel.hardware import Hardware, hardware
from costmodel.model import Experts, Model
from costmodel.precision import Precision
from costmodel.price import price
from costmodel.rates import Rates, Sets, serve
from costmodel.step import Step

MEAN_LENGTH = 0.9  # of the nominal one, where InferenceX draws it
SERVING_SOURCE = (
    "SemiAnalysisAI/InferenceX 2026-03/04 and NVIDIA runs, by ai-dynamo/aiconfigurator@095f58a (Apache-2.0)"
)

MODELS: Mapping[str, str] = MappingProxyType(
    {
        "meta-llama/Llama-3.1-8B-Instruct": "llama-3.1-8b",
        "meta-llama/Llama-3.1-70B": "llama-3.1-70b",
        "Qwen/Qwen3-235B-A22B-FP8": "qwen3-235b-a22b",
        "deepseek-ai/DeepSeek-V3": "deepseek-v3",
        "openai/gpt-oss-120b": "gpt-oss-120b",
    }
)
"""Name in the measurements to id in the catalogue of models; rows of other models are left out."""

SHOWN_ONLY: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(
        ("deepseek-ai/DeepSeek-R1", "nvidia/DeepSeek-R1-NVFP4", "nvidia/DeepSeek-V3.1-NVFP4"),
        "deepseek-v3",
    )
)
"""The same for models that are not judged."""

_LIKE_STORED = ("deepseek-v3", "qwen3-235b-a22b")  # fp8 checkpoints of 128 x 128 blocks, whatever the row calls them


def serving_rows(folder: Path) -> pd.DataFrame:
    """Serving measurements of the models that the catalogue has, with their parallelism encoded as it was run.

    Raises
    ------
    ConfigError: when the folder has none.
    """
    path = folder / "whole_step_inferencex_tpot.csv.gz"
    if not path.is_file():
        raise ConfigError("folder", str(folder), f"a folder with {path.name}")
    table = pd.read_csv(path)
    table = table[(table.parallel_ok == 1) & (table.duplicate == 0) & (table.pp_size == 1)]
    names = table.model_path.map({**MODELS, **SHOWN_ONLY})
    judged = table.model_path.isin(list(MODELS))
    return table.assign(model=names, gpu=table.system.map(GPUS), judged=judged).dropna(subset=["model", "gpu"])


def precision_of(model: str, gpu: str, precision: object, matmuls: object) -> Precision:
    """Formats of a deployment.

    gpt-oss keeps its checkpoint's mxfp4 experts, multiplied in fp8 where the chip's kernels can (Blackwell) and in bf16
    elsewhere; the others are multiplied in the format of their weights.
    """
    if not isinstance(precision, str) or precision == "bf16":
        return Precision()
    if model == "gpt-oss-120b":
        return Precision(kv="fp8", compute="fp8" if "b200" in gpu else "bf16")
    weights = "fp8_block" if precision == "fp8" and model in _LIKE_STORED else str(matmuls)
    return Precision(weights=weights, kv="fp8", compute=weights)


def tpot(model: Model, hw: Hardware, rates: Rates | str, rows: pd.DataFrame, precision: Precision) -> Any:
    """Seconds between the tokens of a request, for rows that share model, chip, formats and tensor parallelism."""
    scale = np.where(rows.is_inferencex == 1, MEAN_LENGTH, 1.0)
    prompt, answer = rows.isl.to_numpy(float) * scale, rows.osl.to_numpy(float) * scale
    batch = rows.concurrency.to_numpy(float)
    n = int(rows.tp_size.iloc[0])
    decode = price(model, hw, Step.decode(batch, prompt + answer / 2), precision, rates, tensor_parallel=n)
    prefill = price(model, hw, Step.prefill(prompt), precision, rates, tensor_parallel=n)
    return decode.seconds + (batch - 1) / answer * prefill.seconds


def serving_steps(folder: Path, sets: Sets) -> pd.DataFrame:
    """Each serving row with its floor and its estimate.

    Columns: gpu, model, regime ("dense" or "MoE"), engine, tp, batch, judged, and measured, predicted and floor in
    seconds.
    """
    return pd.concat(list(_priced(serving_rows(folder), sets)), ignore_index=True)


def _priced(rows: pd.DataFrame, sets: Sets) -> Iterator[pd.DataFrame]:
    kinds = ["model", "gpu", "precision", "gemm_quant_mode", "tp_size"]
    for (model_id, gpu, precision, matmuls, n), part in rows.groupby(kinds, dropna=False):
        model, hw = catalogue_model(str(model_id)), hardware(str(gpu))
        formats = precision_of(model.id, hw.id, precision, matmuls)
        routed = any(isinstance(layer.mlp, Experts) for layer, _ in model.distinct_layers)
        yield pd.DataFrame(
            {
                "gpu": hw.id,
                "model": model.id,
                "regime": "MoE" if routed else "dense",
                "engine": part.backend.to_numpy(),
                "tp": n,
                "batch": part.concurrency.to_numpy(float),
                "judged": part.judged.to_numpy(),
                "measured": part.tpot_ms.to_numpy(float) * 1e-3,
                "predicted": tpot(model, hw, serve(hw, sets), part, formats),
                "floor": tpot(model, hw, "datasheet", part, formats),
            }
        )
