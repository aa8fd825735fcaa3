"""Published kernel times, as tables with one vocabulary: what was run on which GPU in which format, and its seconds.

Each reader returns a frame with the columns ``gpu`` (an id of the hardware catalogue), ``format`` (a key of
``rates.format_key``), ``backend``, the operation's own arguments, ``seconds``, ``counts`` (whether the row is one that
a figure is judged by) and ``weight`` (its share in a fit).

Which rows count, and why the others do not: a benchmark whose rotating weights or caches fit in the last-level cache
measures that cache, not the memory (``l2_resident``); eager launches add 50 to 60 us of host time (``cuda_graph``);
below 128 tokens an attention kernel is all overhead; A100 decode attention is sound from vLLM only; of fused MoE, vLLM
under the routing skew ``power_law_1.01`` without expert parallelism; of all-reduces, graph-captured kernels other than
NCCL's from 8 KiB to 256 MiB. The L40S's all-reduce times spread over three orders of magnitude and are left out.

Sources: the measured tables themselves, which say how each row was taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd

from costmodel.errors import ConfigError
from costmodel.hardware import hardware

GPUS: Mapping[str, str] = MappingProxyType(
    {
        "a100_sxm": "a100-sxm-80",
        "h100_sxm": "h100-sxm",
        "b200_sxm": "b200",
        "gb200": "gb200",
        "l40s": "l40s",
        "rtx_pro_6000_server": "rtxpro6000bw",
    }
)
"""Name in the measurements' file names to id in the hardware catalogue."""

DATA_CENTRE = ("a100-sxm-80", "h100-sxm", "b200", "gb200")
"""The GPUs whose mean is judged."""

SHORTEST = 128  # tokens
_FORMATS = {
    "bfloat16": "bf16",
    "fp8": "fp8",
    "fp8_block": "fp8_block",
    "nvfp4": "nvfp4",
    "int8_wo": "int8@bf16",
    "int4_wo": "int4@bf16",
    "w4a16_mxfp4": "mxfp4@bf16",
    "w4a8_mxfp4_mxfp8": "mxfp4@fp8",
}
_SMALL = 1 / 8  # of the last-level cache: below it a kernel's time is its overhead, wherever its data lay
_SMALL_WEIGHT = 0.25


def read(folder: Path, family: str, gpus: Mapping[str, str] = GPUS) -> pd.DataFrame:
    """One family's tables of all GPUs, with the GPU's catalogue id in ``gpu`` and ``latency_us`` as ``seconds``.

    Raises
    ------
    ConfigError: when the folder has none.
    """
    frames = []
    for name, gpu in gpus.items():
        path = folder / f"{family}_{name}.csv.gz"
        if path.is_file():
            frames.append(pd.read_csv(path).assign(gpu=gpu))
    if not frames:
        raise ConfigError("folder", str(folder), f"a folder with {family}_<gpu>.csv.gz files")
    table = pd.concat(frames, ignore_index=True)
    return table.assign(seconds=table.latency_us * 1e-6, weight=1.0, counts=True)


def matmul(folder: Path) -> pd.DataFrame:
    """Matrix multiplies: m, n, k. fp8 is judged by SGLang, nvfp4 by SGLang and vLLM, bf16 by all engines.

    Of fp8_block, TensorRT-LLM's: it is the only one that has them on every GPU, and on Blackwell SGLang's go through a
    slower path whose launch takes three times as long.
    """
    table = read(folder, "gemm")
    table = table[(table.l2_resident == 0) & (table.cuda_graph == 1)]
    judged = {"fp8": ("sglang",), "nvfp4": ("sglang", "vllm"), "fp8_block": ("trtllm",)}
    table = _formatted(table, table.dtype)
    kept = [b in judged.get(f, (b,)) for f, b in zip(table.format, table.backend, strict=True)]
    return table[kept]


def attention_decode(folder: Path) -> pd.DataFrame:
    """Decode attention of one layer: batch, kv_len, q_heads, kv_heads, head_dim.

    Rows that lie in the last-level cache do not count, but the smallest of them show the kernel's overhead alone, and
    help to tell it from the ramp of a transfer; they take part in the fit with a small weight.
    """
    table = read(folder, "attention_decode")
    table = table[(table.kv_len >= SHORTEST) & ((table.gpu != "a100-sxm-80") | (table.backend == "vllm"))]
    table = _formatted(table, table.kv_dtype)
    width = np.where(table.format == "bf16", 2, 1)
    cache = table.gpu.map({gpu: hardware(gpu).last_level_cache for gpu in GPUS.values()})
    kv_bytes = 2 * table.batch * table.kv_len * table.kv_heads * table.head_dim * width
    counts = table.l2_resident == 0
    small = ~counts & (kv_bytes < _SMALL * cache)
    table = table.assign(counts=counts, weight=np.where(counts, 1.0, 0.0))
    share = table.groupby(["gpu", "format"]).weight.transform("sum") / small.groupby(
        [table.gpu, table.format]
    ).transform("sum")
    return table.assign(weight=np.where(small, _SMALL_WEIGHT * share, table.weight)).query("weight > 0")


def attention_prefill(folder: Path) -> pd.DataFrame:
    """Causal attention of one layer over whole prompts: batch, seq_len, q_heads, kv_heads, head_dim."""
    table = read(folder, "attention_prefill")
    table = table[(table.seq_len >= SHORTEST) & (table.attn_dtype == table.kv_dtype)]
    return _formatted(table, table.attn_dtype)


def mla_decode(folder: Path) -> pd.DataFrame:
    """Latent attention, decode: batch, tokens, heads."""
    return _mla(folder, "decode")


def mla_prefill(folder: Path) -> pd.DataFrame:
    """Latent attention, prefill: batch, tokens, heads."""
    return _mla(folder, "prefill")


def _mla(folder: Path, phase: str) -> pd.DataFrame:
    """Of the engines, those whose rows are the kernel alone.

    vLLM's carry 120 to 330 us of an eager launch. On Hopper, SGLang's prefill covers more than the kernel, and its fp8
    decode widens the whole cache first. A100 decode has no row left: TensorRT-LLM's there follow no roofline.
    """
    table = read(folder, "mla")
    table = table[(table.phase == phase) & (table.kv_len >= SHORTEST) & (table.mla_dtype == "bfloat16")]
    hopper = (table.gpu == "h100-sxm") & ((table.phase == "prefill") | (table.kv_cache_dtype == "fp8"))
    wider = (table.backend == "sglang") & hopper
    odd = (table.gpu == "a100-sxm-80") & (table.phase == "decode")
    table = table[(table.backend != "vllm") & ~wider & ~odd]
    table = table.rename(columns={"batch_size": "batch", "kv_len": "tokens", "num_heads": "heads"})
    return _formatted(table, table.kv_cache_dtype)


def moe(folder: Path) -> pd.DataFrame:
    """Fused experts of one layer: tokens, hidden, width (one expert's on this GPU), experts, top_k.

    Judged by vLLM; a format that vLLM has no rows for on a GPU is fitted to SGLang's.
    """
    table = read(folder, "moe")
    table = table[(table.distribution == "power_law_1.01") & (table.moe_ep_size == 1) & (table.backend != "trtllm")]
    table = _formatted(table, table.moe_dtype)
    vllm = table.backend == "vllm"
    table = table[vllm | ~vllm.groupby([table.gpu, table.format]).transform("any")]
    width = table.inter_size / table.moe_tp_size
    names = {"num_tokens": "tokens", "hidden_size": "hidden", "num_experts": "experts", "topk": "top_k"}
    return table.rename(columns=names).assign(width=width, counts=table.backend == "vllm")


def all_reduce(folder: Path) -> pd.DataFrame:
    """All-reduces: bytes, n."""
    table = read(folder, "allreduce", {name: gpu for name, gpu in GPUS.items() if gpu != "l40s"})
    graphs = (table.cuda_graph == 1) & ~table.lib.str.contains("nccl") & (table.collective == "all_reduce")
    table = table[graphs & table.bytes_per_gpu.between(8 * 2**10, 256 * 2**20)]
    names = {"bytes_per_gpu": "bytes", "num_gpus": "n", "lib": "backend"}
    return table.rename(columns=names).assign(format="bf16")


def elementwise(folder: Path) -> pd.DataFrame:
    """Additions of the residual in fp16: kernels, bytes (two tensors read, one written).

    Their times are rounded to 1 us, so short ones are left out; the overhead of a launch is not fitted to them.
    """
    table = read(folder, "vidur_elementwise")
    table = table[(table.op == "add") & (table.latency_us >= _ROUNDED_US)]
    moved = 3 * 2 * table.num_tokens * table.hidden
    return table.assign(format="bf16", backend="vidur", source="vidur:compute", kernels=1, bytes=moved)


_ROUNDED_US = 10


def _formatted(table: pd.DataFrame, names: pd.Series) -> pd.DataFrame:
    """Add the format key; rows of formats that the product does not know are dropped."""
    return table.assign(format=names.map(_FORMATS)).dropna(subset="format")


READERS: Mapping[str, Callable[[Path], pd.DataFrame]] = MappingProxyType(
    {
        f.__name__: f
        for f in (matmul, attention_decode, attention_prefill, mla_decode, mla_prefill, moe, all_reduce, elementwise)
    }
)
"""Operation of ``Rates`` to the reader of its measurements."""
