"""The readers: which rows count, in one vocabulary."""

import pandas as pd
import pytest

from costmodel.calibration import measurements
from costmodel.calibration.measurements import DATA_CENTRE, GPUS, READERS
from costmodel.errors import ConfigError
from costmodel.hardware import hardware
from costmodel.rates import OPERATIONS, format_key

GEMM = {"source": "aic:gemm/sglang/1.0", "backend": "sglang", "dtype": "bfloat16", "m": 1, "n": 4096, "k": 4096}
GEMM |= {"latency_us": 20.0, "l2_resident": 0, "cuda_graph": 1}
DECODE = {"source": "aic:attention/vllm/1.0", "backend": "vllm", "kernel": "fa", "kv_dtype": "bfloat16", "batch": 64}
DECODE |= {"kv_len": 4096, "q_heads": 32, "kv_heads": 8, "head_dim": 128, "latency_us": 400.0, "l2_resident": 0}


def folder_with(tmp_path, name, base, *changes):
    pd.DataFrame([{**base, **change} for change in changes]).to_csv(tmp_path / f"{name}.csv.gz", index=False)
    return tmp_path


def test_matmul_drops_cached_and_eager_rows_and_engines_that_do_not_count(tmp_path):
    folder = folder_with(
        tmp_path,
        "gemm_h100_sxm",
        GEMM,
        {},
        {"l2_resident": 1},
        {"cuda_graph": 0},
        {"backend": "vllm"},
        {"dtype": "fp8"},
        {"dtype": "fp8", "backend": "vllm"},
        {"dtype": "fp8_block"},
        {"dtype": "fp8_block", "backend": "trtllm"},
        {"dtype": "somefloat"},
    )
    table = measurements.matmul(folder)
    kept = list(zip(table.format, table.backend, strict=True))
    assert kept == [("bf16", "sglang"), ("bf16", "vllm"), ("fp8", "sglang"), ("fp8_block", "trtllm")]
    assert table.seconds.iloc[0] == pytest.approx(20e-6)
    assert set(table.gpu) == {"h100-sxm"}


def test_decode_attention_is_judged_outside_the_cache_but_sees_the_smallest_inside(tmp_path):
    an_eighth = hardware("h100-sxm").last_level_cache / 8
    bytes_a_key = 2 * 8 * 128 * 2
    larger = {"l2_resident": 1, "batch": 1, "kv_len": int(1.1 * an_eighth / bytes_a_key)}
    smaller = {"l2_resident": 1, "batch": 1, "kv_len": int(0.9 * an_eighth / bytes_a_key)}
    folder = folder_with(tmp_path, "attention_decode_h100_sxm", DECODE, {}, {"kv_len": 64}, larger, smaller)
    table = measurements.attention_decode(folder)
    assert table.kv_len.tolist() == [4096, smaller["kv_len"]], "too short, and too large to be overhead alone, are out"
    assert table.counts.tolist() == [True, False]
    assert table.weight.tolist() == [1.0, 0.25]


def test_decode_attention_of_the_a100_is_vllm_only(tmp_path):
    folder = folder_with(tmp_path, "attention_decode_a100_sxm", DECODE, {}, {"backend": "sglang"})
    assert measurements.attention_decode(folder).backend.tolist() == ["vllm"]


def test_a_folder_without_the_tables_is_refused_in_a_sentence(tmp_path):
    with pytest.raises(ConfigError, match="gemm_<gpu>"):
        measurements.matmul(tmp_path)


@pytest.mark.parametrize("operation", READERS)
def test_every_reader_speaks_the_same_vocabulary(operation, reference_data):
    table = READERS[operation](reference_data / "measured")
    assert operation in OPERATIONS
    assert set(table.gpu) <= set(GPUS.values())
    assert all(format_key(name) == name for name in table.format.unique())
    assert (table.seconds > 0).all()
    assert (table.weight > 0).all()
    assert table.counts.any()
    assert not table[["seconds", "weight", "source"]].isna().any().any()


def test_the_rows_that_count_are_those_that_the_issue_names(reference_data):
    folder = reference_data / "measured"
    assert set(measurements.moe(folder).query("format == 'bf16' and counts").backend) == {"vllm"}
    reduced = measurements.all_reduce(folder)
    assert not reduced.backend.str.contains("nccl|eager").any()
    assert reduced.bytes.between(2**13, 2**28).all()
    assert "l40s" not in set(reduced.gpu)
    assert measurements.attention_prefill(folder).seq_len.min() >= 128
    assert set(DATA_CENTRE) <= set(measurements.matmul(folder).gpu)
