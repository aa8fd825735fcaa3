"""Traces as people have them: read right, or refused in one sentence with the line."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import costmodel as cm
from costmodel import serving
from costmodel.serving import read_trace
from costmodel.serving.traces import LAYOUTS

AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens"


def azure(*lines: str, header: str = AZURE, end: str = "\n") -> bytes:
    return end.join([header, *lines]).encode()


def rows(table: pd.DataFrame) -> list[tuple[float, int, int]]:
    return [tuple(row) for row in table[["arrival_s", "prompt_tokens", "output_tokens"]].itertuples(index=False)]


def test_azure_2023_has_crlf_seven_digits_and_no_final_newline() -> None:
    trace = azure("2023-11-16 18:15:46.6805900,374,44", "2023-11-16 18:15:50.9951690,396,109", end="\r\n")
    assert rows(read_trace(trace)) == [(0.0, 374, 44), (pytest.approx(4.3145790, abs=1e-9), 396, 109)]


def test_azure_2024_has_a_zone_and_sometimes_no_fraction() -> None:
    trace = azure("2024-05-10 00:00:00.009930+00:00,2162,5", "2024-05-10 00:00:00+00:00,2399,6")
    assert rows(read_trace(trace)) == [(0.0, 2399, 6), (pytest.approx(0.00993), 2162, 5)]


def test_azure_with_images_keeps_their_number() -> None:
    header = "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens"
    trace = azure("2024-10-15 00:00:00.0000000,2,900,120", header=header)
    assert read_trace(trace)[["images", "prompt_tokens"]].to_numpy().tolist() == [[2, 900]]


def test_a_byte_order_mark_blank_lines_and_rows_out_of_order_do_no_harm() -> None:
    trace = azure("2023-11-16 00:00:05,5,5", "", "   ", "2023-11-16 00:00:01,1,1", "", "")
    assert rows(read_trace(b"\xef\xbb\xbf" + trace)) == [(0.0, 1, 1), (4.0, 5, 5)]
    assert rows(read_trace(b"\n\n" + trace)) == [(0.0, 1, 1), (4.0, 5, 5)]


def test_failed_requests_are_left_out_and_counted() -> None:
    days = ("2023-11-16 00:00:01,,", "2023-11-16 00:00:02,0,12", "2023-11-16 00:00:03,55,0", "2023-11-16 00:00:04,7,7")
    trace = azure(*days)
    table = read_trace(trace)
    assert rows(table) == [(0.0, 7, 7)]
    assert table.attrs["skipped"] == {"without token counts": 1, "without a prompt": 1, "without an output": 1}
    as_prefill = read_trace(trace, zero_output="prefill")
    assert rows(as_prefill) == [(0.0, 55, 1), (1.0, 7, 7)]


@pytest.mark.parametrize(
    ("header", "line"),
    [
        ("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type", "{},GPT-4,300,20,320,API log"),
        (
            "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type",
            "{},,2,GPT-4,300,20,320,API log",
        ),
    ],
)
def test_burstgpt_counts_seconds_from_any_day(header: str, line: str) -> None:
    trace = azure(line.format("19440110.0"), line.format("19440112"), header=header)
    table = read_trace(trace)
    assert rows(table) == [(0.0, 300, 20), (2.0, 300, 20)]
    assert table.attrs["layout"] == "burstgpt"


def test_mooncake_counts_milliseconds_and_keeps_its_blocks() -> None:
    lines = [
        {"timestamp": 3000, "input_length": 1025, "output_length": 3, "hash_ids": [0, 1, 2]},
        {"timestamp": 2999, "input_length": 512, "output_length": 7},
        {"timestamp": 3001.5, "input_length": 600, "output_length": 1, "hash_ids": []},
    ]
    table = read_trace("\n\n".join(json.dumps(line) for line in lines).encode())
    assert rows(table) == [(0.0, 512, 7), (pytest.approx(0.001), 1025, 3), (pytest.approx(0.0025), 600, 1)]
    assert table["prefix_ids"].tolist() == [None, (0, 1, 2), None]


def test_a_plain_table_keeps_its_times_and_names() -> None:
    trace = azure("a,2.5,10,3,1", "b,0.5,20,4,0", header="id,arrival_s,prompt_tokens,output_tokens,priority")
    table = read_trace(trace)
    assert rows(table) == [(0.5, 20, 4), (2.5, 10, 3)]
    assert table["id"].tolist() == ["b", "a"]
    assert table["priority"].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        (azure("2023-11-16 00:00:01,5,5", "", "2023-11-16 00:00:02,-5,5"), "line 4, ContextTokens: found '-5'"),
        (azure("2023-11-16 00:00:01,many,5"), "line 2, ContextTokens: found 'many'"),
        (azure("2023-11-16 00:00:01,5,1.5"), "line 2, GeneratedTokens: found '1.5'"),
        (azure("2023-11-16 00:00:01,5,inf"), "line 2, GeneratedTokens: found 'inf'"),
        (azure("2023-11-16 00:00:01,5,99999999999"), "line 2, GeneratedTokens"),
        (azure("yesterday,5,5"), "line 2, TIMESTAMP: found 'yesterday'"),
        (azure(",5,5"), "line 2, TIMESTAMP"),
        (azure("2023-11-16 00:00:01,5,5", "2023-11-16 00:00:01,5,5,5"), "line 3"),
        (azure("1,2", header="when,what"), "columns when, what"),
        (b"", "an empty file"),
        (b"\n \r\n", "an empty file"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b'{"timestamp": 0, "input_length": 5, "output_length": 3}\n{"timestamp": 0, "input', "line 2"),
        (b'{"timestamp": 0, "input_length": [5], "output_length": 3}', "line 1, input_length"),
        (b'{"timestamp": 0, "input_length": 5, "output_length": 3, "hash_ids": 7}', "line 1, hash_ids"),
        (b'{"timestamp": 0, "input_length": 5, "output_length": 3}\n[1]', "line 2"),
        (b'{"TIMESTAMP": 1, "ContextTokens": 5, "GeneratedTokens": 3}', "line 1, TIMESTAMP: found 1"),
        (b'{"TIMESTAMP": [1], "ContextTokens": 5, "GeneratedTokens": 3}', "line 1, TIMESTAMP: found [1]"),
        (azure("-1,10,3", header="arrival_s,prompt_tokens,output_tokens"), "line 2, arrival_s: found '-1'"),
        (azure("1,10,3,4", header="arrival_s,prompt_tokens, prompt_tokens,output_tokens"), "two columns prompt_tokens"),
        (b'{"arrival_s": 1%s, "prompt_tokens": 5, "output_tokens": 3}' % (400 * b"0"), "line 1, arrival_s"),
    ],
)
def test_what_is_no_trace_is_refused_in_one_sentence_with_its_line(trace: bytes, said: str) -> None:
    with pytest.raises(cm.ConfigError) as refused:
        read_trace(trace)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(cm.ConfigError, match="a file that can be read"):
        read_trace(tmp_path / "none.csv")
    with pytest.raises(cm.ConfigError, match="zero_output"):
        read_trace(b"", zero_output="keep")


def test_a_header_alone_is_a_trace_without_requests() -> None:
    assert len(read_trace(azure())) == 0


def test_open_files_and_bytes_are_read_as_paths_are(tmp_path: Path) -> None:
    trace = azure("2023-11-16 00:00:01,5,5")
    path = tmp_path / "trace.csv"
    path.write_bytes(trace)
    sources = (trace, io.BytesIO(trace), io.StringIO(trace.decode()), path, str(path))
    assert {tuple(rows(read_trace(source))) for source in sources} == {((0.0, 5, 5),)}


def test_a_million_rows_are_read(tmp_path: Path) -> None:
    count = 1_000_000
    path = tmp_path / "long.csv"
    stamps = pd.date_range("2023-11-16", periods=count, freq="100ms").strftime("%Y-%m-%d %H:%M:%S.%f")
    with path.open("w") as file:
        file.write(AZURE + "\n")
        file.writelines(f"{stamp},{5 + i % 100},{7}\n" for i, stamp in enumerate(stamps))
    table = read_trace(path)
    assert len(table) == count
    assert table["arrival_s"].iloc[-1] == pytest.approx((count - 1) / 10)
    assert table["prompt_tokens"].sum() == count * 5 + 99 * count // 2


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 10**5), st.integers(1, 10**4)), max_size=30))
def test_what_is_written_is_read(requests: list[tuple[int, int, int]]) -> None:
    lines = [f"{arrival},{prompt},{output}" for arrival, prompt, output in requests]
    table = read_trace(azure(*lines, header="arrival_s,prompt_tokens,output_tokens"))
    assert rows(table) == sorted(requests, key=lambda row: row[0])


def check_answer(trace: bytes) -> None:
    """A trace is read into requests that can be simulated, or refused in a sentence."""
    try:
        table = read_trace(trace)
    except cm.ConfigError as error:
        said = str(error)
        assert "\n" not in said  # either is right
        assert 0 < len(said) < 600
        return
    counts = table[["prompt_tokens", "output_tokens"]].to_numpy()
    assert ((counts >= 1) & (counts <= 1e9)).all()
    assert (np.diff(table["arrival_s"], prepend=0.0) >= 0).all()
    if len(table) and counts.max() <= 100:
        with contextlib.suppress(cm.ConfigError):  # two requests of one name
            serving.simulate(table, serving.policy("vllm_v1", prefix_caching=True), step_seconds=1.0)


@given(st.binary(max_size=300))
def test_no_bytes_raise_anything_but_a_config_error(junk: bytes) -> None:
    check_answer(junk)


@st.composite
def rows_with_a_fault(draw: st.DrawFn, faults: st.SearchStrategy[Any]) -> list[dict[str, Any]]:
    """Rows of a layout, good but for a cell or two."""
    layout = draw(st.sampled_from(LAYOUTS))
    columns = [*layout.needs, *layout.extra.values()]
    whole = st.integers(0, 60)
    good = {"TIMESTAMP": whole.map("2023-11-16 00:00:{:02}".format), "hash_ids": st.lists(whole, max_size=2)}
    rows = draw(st.lists(st.fixed_dictionaries({c: good.get(c, whole) for c in columns}), min_size=1, max_size=3))
    for place in draw(st.lists(st.tuples(st.sampled_from(rows), st.sampled_from(columns)), max_size=2)):
        place[0][place[1]] = draw(faults)
    return rows


NUMBERS = st.integers(-2, 60) | st.sampled_from([10**9, 10**10, 2**63, 10**309, 10**400, 1e308, 0.5, -0.0])
CELLS = st.one_of(
    NUMBERS.map(str),
    st.sampled_from(["", " ", "nan", "inf", "-inf", "1e400", "0x10", "1_000", "None", "true", '"', '"a,b"']),
    st.sampled_from(["2023-11-16", "2023-11-16T00:00:01.123456789+00:00", "9999-12-31", "0001-01-01", "12:00"]),
    st.text(max_size=5),
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.floats() | CELLS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)


@given(rows_with_a_fault(CELLS), st.data())
def test_no_table_raises_anything_but_a_config_error(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    columns = data.draw(st.permutations(list(rows[0])))
    columns += data.draw(st.just([]) | st.just([]) | st.lists(st.sampled_from([*columns, "other"]), max_size=1))
    lines = [",".join(columns), *(",".join(str(row.get(column, 1)) for column in columns) for row in rows)]
    lines += data.draw(st.just([]) | st.just([]) | st.lists(CELLS, max_size=1))
    end = data.draw(st.sampled_from(["\n", "\r\n", "\r"]))
    check_answer(end.join(lines).encode(errors="surrogatepass"))


@given(rows_with_a_fault(VALUES), st.data())
def test_no_json_lines_raise_anything_but_a_config_error(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    lines: list[Any] = [*rows, *data.draw(st.just([]) | st.just([]) | st.lists(VALUES, max_size=1))]
    if data.draw(st.booleans()):
        del rows[-1][data.draw(st.sampled_from(list(rows[-1])))]
    check_answer("\n".join(json.dumps(line) for line in lines).encode(errors="surrogatepass"))


def test_the_reference_traces_are_read_whole(reference_data: Path) -> None:
    folder = reference_data / "traces"
    expected = {
        "azure_conv_2023_first5000.csv": (5000, "azure"),
        "azure_code_2023_first3000.csv": (3000, "azure"),
        "mooncake_conversation_first1000.jsonl": (1000, "mooncake"),
        "burstgpt_format_6col_synthetic.csv": (2000, "burstgpt"),
        "burstgpt_format_8col_synthetic.csv": (2000, "burstgpt"),
        "real_vllm019_RTXPRO6000_Llama-3.1-8B_requests.jsonl": (300, "llmservingsim"),
    }
    for name, (count, layout) in expected.items():
        table = read_trace(folder / name)
        assert len(table) + sum(table.attrs["skipped"].values()) == count
        assert table.attrs["layout"] == layout
        assert (np.diff(table["arrival_s"]) >= 0).all()
        assert table["arrival_s"].iloc[0] == 0


def test_a_trace_that_starts_in_the_middle_of_a_day_of_blocks_hits_what_it_shares(reference_data: Path) -> None:
    table = read_trace(reference_data / "traces" / "mooncake_conversation_first1000.jsonl")
    blocks = -(-table["prompt_tokens"] // 512)
    assert (table["prefix_ids"].map(len) == blocks).all()


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("azure_2024_timezone.csv", 3),
        ("azure_bom_lf_blank_unsorted.csv", 2),
        ("azure_multimodal_2024.csv", 2),
        ("burstgpt_failures.csv", 3),
        ("mooncake_variants.jsonl", 3),
    ],
)
def test_edge_cases_of_the_reference_are_read(reference_data: Path, name: str, count: int) -> None:
    assert len(read_trace(reference_data / "traces" / "edge" / name)) == count
