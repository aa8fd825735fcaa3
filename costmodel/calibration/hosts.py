"""Host constants: what a step takes beyond its kernels, by engine and generation.

vLLM of 2023 without CUDA graphs was measured by Splitwise, vLLM and TensorRT-LLM of 2024 by LLM-Inference-Bench, both
on batches run to their end; engines of 2026 by the serving rows of ``whole_step``, which are judged without a host.
Since engines prepare a step while the GPU still runs the one before, little is left to add: under 0.2 ms, or nothing,
except where what is left over is an error of the kernels (SGLang was measured on DeepSeek-V3 alone).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from costmodel.calibration.fitting import Numbers, Problem, fit, tidy
from costmodel.calibration.study import Outcome
from costmodel.calibration.whole_step import SERVING_SOURCE
from costmodel.catalog import model
from costmodel.errors import ConfigError
from costmodel.hardware import hardware
from costmodel.precision import Precision
from costmodel.price import price
from costmodel.rates import GENERAL, Fit, Sets, serve
from costmodel.step import Step

Array = NDArray[np.float64]

_BOUNDS = {"overhead": (1e-6, 0.1), "per_item": (1e-8, 1e-2)}
_START = {"overhead": 2e-3, "per_item": 2e-5}
_LEAST = {name: 2 * low for name, (low, _) in _BOUNDS.items()}  # constants so close to their lower bound are none
_FP16 = Precision(weights="fp16", kv="fp16", compute="fp16")

_GPUS = {"a100_40g": "a100-sxm-40", "h100_sxm": "h100-sxm", "a100-80gb": "a100-sxm-80", "h100-80gb": "h100-sxm"}
_GENERATIONS = {"a100-sxm-40": "a100-sxm-80"}  # whose constants serve its relatives
_MODELS = {
    "meta-llama/Llama-2-7b-hf": "llama-2-7b",
    "mistralai/Mistral-7B-v0.1": "mistral-7b-v0.1",
    "Qwen/Qwen2-7B": "qwen2.5-7b",  # the same sizes
    "meta-llama/Meta-Llama-3-70B": "llama-3.1-70b",  # the same sizes
    "llama2-70b": "llama-2-70b",
}
_ENGINES = {"vLLM": "vllm-2024", "TensorRT-LLM": "tensorrt-llm-2024"}
_BATCHES_SOURCE = "argonne-lcf/LLM-Inference-Bench@4211f5d (BSD-3-Clause)"
_SPLITWISE_SOURCE = "Mutinifni/splitwise-sim@8f99e7d (MIT)"


def host_outcomes(folder: Path, sets: Sets, serving: pd.DataFrame) -> list[Outcome]:
    """Constants of each engine by GPU, and for any GPU, given the fits of the kernels and the serving steps.

    Raises
    ------
    ConfigError: when the folder lacks the measurements.
    """
    steps = pd.concat([_batches(folder, sets), _splitwise(folder, sets), _serving(serving)], ignore_index=True)
    found = []
    for engine, part in steps.groupby("engine", sort=False):
        found += [_outcome(str(engine), str(gpu), rows) for gpu, rows in part.groupby("gpu", sort=False)]
        general = _outcome(str(engine), GENERAL, part)
        found.append(replace(general, rows=_across_gpus(part)) if len(part.gpu.unique()) > 1 else general)
    return found


def _table(folder: Path, name: str) -> pd.DataFrame:
    path = folder / name
    if not path.is_file():
        raise ConfigError("folder", str(folder), f"a folder with {name}")
    return pd.read_csv(path)


def _batches(folder: Path, sets: Sets) -> pd.DataFrame:
    """Static batches of dense models: their total, less the prefill, shared out over the steps."""
    table = _table(folder, "whole_step_llm_inference_bench.csv.gz")
    table = table.assign(gpu=table.gpu.map(_GPUS), model=table.model.map(_MODELS), source=_BATCHES_SOURCE)
    table = table.assign(engine=table.framework.map(_ENGINES)).dropna(subset=["gpu", "model", "engine"])
    table = table.rename(columns={"input_len": "prompt", "output_len": "answer"})
    priced = pd.concat(list(_priced(table, sets)), ignore_index=True)
    measured = (priced.total_latency_s - priced.prefill) / priced.answer
    return priced.assign(measured=measured)[measured > 0]


def _splitwise(folder: Path, sets: Sets) -> pd.DataFrame:
    """Mean time of the tokens after the first."""
    table = _table(folder, "whole_step_splitwise.csv.gz")
    table = table[table.note.isna()]
    names = {"tensor_parallel": "tp", "prompt_size": "prompt", "token_size": "answer", "batch_size": "batch"}
    table = table.assign(gpu=table.hardware.map(_GPUS), model=table.model.map(_MODELS), source=_SPLITWISE_SOURCE)
    table = table.rename(columns=names).assign(engine="vllm-2023").dropna(subset=["gpu", "model"])
    priced = pd.concat(list(_priced(table, sets)), ignore_index=True)
    return priced.assign(measured=priced.token_time_ms * 1e-3)


def _serving(steps: pd.DataFrame) -> pd.DataFrame:
    """Serving steps of 2026, with what the kernels were predicted to take as ``decode``."""
    names = {"sglang": "sglang-2026", "vllm": "vllm-2026", "trtllm": "tensorrt-llm-2026"}
    judged = steps[steps.judged]
    return judged.assign(engine=judged.engine.map(names), decode=judged.predicted, source=SERVING_SOURCE)


def _priced(table: pd.DataFrame, sets: Sets) -> Iterator[pd.DataFrame]:
    """Add the estimated seconds of a decode step and of the prefill."""
    for (gpu, model_id, n), part in table.astype({"tp": str}).groupby(["gpu", "model", "tp"]):
        hw = hardware(str(gpu))
        batch, prompt, answer = (part[name].to_numpy(float) for name in ("batch", "prompt", "answer"))
        steps = (Step.decode(batch, prompt + answer / 2), Step.prefill(prompt, batch=batch))
        decode, prefill = (
            price(model(str(model_id)), hw, step, _FP16, serve(hw, sets), tensor_parallel=int(str(n))).seconds
            for step in steps
        )
        yield part.assign(gpu=_GENERATIONS.get(hw.id, hw.id), decode=decode, prefill=prefill)


def _constants(rows: pd.DataFrame) -> Fit:
    """h0 and h1 of least absolute log error."""
    problem = Problem(_predictor(rows), rows.measured.to_numpy(float), np.ones(len(rows)), _BOUNDS)
    numbers = fit(problem, [_START, {"overhead": 1e-4, "per_item": 1e-6}, {"overhead": 1e-2, "per_item": 1e-4}])
    kept = tidy(numbers, _LEAST)
    return Fit(overhead=kept["overhead"], per_item=kept["per_item"])


def _predictor(rows: pd.DataFrame) -> Callable[[Numbers], Array]:
    decode, batch = rows.decode.to_numpy(float), rows.batch.to_numpy(float)
    return lambda numbers: decode + numbers["overhead"] + numbers["per_item"] * batch


def _predicted(rows: pd.DataFrame, constants: Fit) -> Array:
    return _predictor(rows)({"overhead": constants.overhead, "per_item": constants.per_item})


def _outcome(engine: str, gpu: str, rows: pd.DataFrame) -> Outcome:
    """Constants fitted to all rows; predictions hold out one model and its tensor parallelism at a time."""
    setting = rows.groupby(["model", "tp"]).ngroup().to_numpy()
    predicted = np.empty(len(rows))
    for held in np.unique(setting):
        mine = setting == held
        predicted[mine] = _predicted(rows[mine], _constants(rows[~mine] if (~mine).any() else rows))
    judged = _judged(rows, predicted)
    return Outcome("host", engine, gpu, _constants(rows), len(rows), judged, ", ".join(rows.source.unique()))


def _across_gpus(rows: pd.DataFrame) -> pd.DataFrame:
    """Predictions for each GPU by the constants of the others."""
    parts = []
    for gpu in rows.gpu.unique():
        mine = rows.gpu == gpu
        parts.append(_judged(rows[mine], _predicted(rows[mine], _constants(rows[~mine]))))
    return pd.concat(parts)


def _judged(rows: pd.DataFrame, predicted: Array) -> pd.DataFrame:
    """As ``study`` judges kernels; what stands for the floor is the step's kernels without the host."""
    columns = {
        "gpu": rows.gpu,
        "regime": "step",
        "measured": rows.measured,
        "predicted": predicted,
        "floor": rows.decode,
    }
    return pd.DataFrame(columns)
