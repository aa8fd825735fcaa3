"""Errors as data, and one's own table of measured steps: what is read, what is refused, and what it is judged by."""

import contextlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import costmodel as cm
from costmodel import accuracy
from costmodel.accuracy import COLUMNS, judge, published, read_steps, summarise

HEAD = "model,hardware,phase,new,cached,batch,context,seconds"


def table(*lines: str, head: str = HEAD) -> str:
    return "\n".join((head, *lines))


# ---- published errors -------------------------------------------------------------------------------------------


def test_published_errors_are_fractions_with_a_source() -> None:
    errors = published()
    assert (errors.n > 0).all()
    assert errors.source.str.len().gt(0).all()
    for name in ("median_error", "p90_error", "floor_median_error"):
        assert errors[name].between(0, 10).all()
    assert (errors.median_error <= errors.p90_error).all()
    known = {*cm.hardware(), accuracy.UNSEEN, "all"}
    assert set(errors.gpu) <= known
    assert set(errors.operation) >= {"matmul", "moe", accuracy.STEP, accuracy.HOST}


def test_a_reader_cannot_change_the_published_errors() -> None:
    own = published()
    own["median_error"] = 0.0
    assert published().median_error.max() > 0


def test_every_class_of_whole_steps_is_estimated_better_than_by_the_floor() -> None:
    steps = published().query("operation == 'step'")
    assert (steps.median_error < steps.floor_median_error).all()


# ---- reading ----------------------------------------------------------------------------------------------------


def test_the_phase_follows_from_the_cells_that_are_filled() -> None:
    rows = read_steps(
        table(
            "qwen3-0.6b,h100-sxm,,,,64,2048,0.01",
            "qwen3-0.6b,h100-sxm,,500,,,,0.01",
            "qwen3-0.6b,h100-sxm,,512,1024,8,2048,0.01",
            "Qwen3-0.6B,H100-SXM,Prefill,500,100,2,,0.01",
        )
    )
    assert [row.phase for row in rows] == ["decode", "prefill", "mixed", "prefill"]
    assert [(row.new, row.cached, row.batch, row.context) for row in rows] == [
        (0, 0, 64, 2048),
        (500, 0, 1, 0),
        (512, 1024, 8, 2048),
        (500, 100, 2, 0),
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_files_as_spreadsheets_write_them(delimiter: str) -> None:
    text = table("llama-3.1-8b,h200-sxm,,,,4,1000,4e-3", "", ",,,,,,,").replace(",", delimiter)
    [row] = read_steps(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert (row.line, row.batch, row.seconds) == (2, 4, 0.004)


def test_weights_are_multiplied_in_their_own_format_where_the_chip_can() -> None:
    head = "model,hardware,context,seconds,precision,compute"
    rows = read_steps(
        table(
            "llama-3.1-8b,h100-sxm,1,1,fp8,",
            "llama-3.1-8b,a100-sxm-80,1,1,fp8,",
            "llama-3.1-8b,h100-sxm,1,1,fp8,bf16",
            "llama-3.1-8b,h100-sxm,1,1,int4,",
            head=head,
        )
    )
    assert [row.precision.compute for row in rows] == ["fp8", None, "bf16", None]


def test_a_model_of_ones_own_can_be_named() -> None:
    own = cm.model("qwen3-8b")
    [row] = read_steps(table("mine,h100-sxm,,,,1,1,1"), models={"mine": own})
    assert row.model is own


GOOD = "qwen3-0.6b,h100-sxm,,,,1,2048,0.001"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("qwen9,h100-sxm,,,,1,2048,0.001", "line 3, model: found 'qwen9'"),
        (",h100-sxm,,,,1,2048,0.001", "line 3, model: found 'nothing'"),
        ("qwen3-0.6b,h1000,,,,1,2048,0.001", "expected an id of the catalogue, such as h"),
        ("qwen3-0.6b,h100-sxm,,,,1,2048,fast", "line 3, seconds: found 'fast'"),
        ("qwen3-0.6b,h100-sxm,,,,1,2048,0", "seconds above 0"),
        ("qwen3-0.6b,h100-sxm,,,,1,2048,-1", "seconds above 0"),
        ("qwen3-0.6b,h100-sxm,,,,1,2048,nan", "seconds above 0"),
        ("qwen3-0.6b,h100-sxm,,,,1,2048,inf", "seconds above 0"),
        ("qwen3-0.6b,h100-sxm,,,,1.5,2048,1", "line 3, batch: found '1.5', expected a whole number"),
        ("qwen3-0.6b,h100-sxm,,,,0,2048,1", "line 3, batch"),
        ("qwen3-0.6b,h100-sxm,,,,1e30,2048,1", "line 3, batch"),
        ("qwen3-0.6b,h100-sxm,decode,,,1,,1", "line 3, context: found 'nothing'"),
        ("qwen3-0.6b,h100-sxm,,,,1,,1", "line 3, phase: found 'nothing'"),
        ("qwen3-0.6b,h100-sxm,warmup,5,,1,,1", "line 3, phase: found 'warmup'"),
        ("qwen3-0.6b,h100-sxm,decode,5,,1,7,1", "line 3, new: found '5', expected nothing there in a decode step"),
        ("qwen3-0.6b,h100-sxm,,,,1,2048", "line 3: found '7 cells', expected 8"),
        ('qwen3-0.6b,h100-sxm,,,,1,2048,"1', "line 3"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(line: str, said: str) -> None:
    with pytest.raises(cm.ConfigError) as caught:
        read_steps(table(GOOD, line))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no line below the heading"),
        (HEAD, "no line below the heading"),
        ("a,b,c\n1,2,3", "line 1: found 'a, b, c', expected a heading with model, hardware, seconds"),
        (table(GOOD + ",1", head=HEAD + ",speed"), "line 1: found 'speed', expected each column once"),
        (table(GOOD + ",1", head=HEAD + ",batch"), "line 1: found 'batch'"),
        (b"\xff\xfe\x00m", "UTF-8"),
        (table(*[GOOD] * 5001), "more than 5,000 lines"),
        ("x" * 2_000_001, "at most 2,000,000"),
        (table(GOOD + ",q9", head=HEAD + ",precision"), "line 2, dtype: found 'q9'"),
        (table(GOOD + ",int4", head=HEAD + ",compute"), "line 2, compute dtype: found 'int4'"),
    ],
)
def test_a_table_that_cannot_be_read_says_why(text: str | bytes, said: str) -> None:
    with pytest.raises(cm.ConfigError, match=said):
        read_steps(text)


@settings(max_examples=60, deadline=None)
@given(st.one_of(st.text(max_size=300), st.binary(max_size=300)))
def test_whatever_is_uploaded_is_read_or_refused_in_one_sentence(junk: str | bytes) -> None:
    for text in (junk, (HEAD + "\n").encode() + junk if isinstance(junk, bytes) else HEAD + "\n" + junk):
        with contextlib.suppress(cm.ConfigError):
            assert read_steps(text)


# ---- judging ----------------------------------------------------------------------------------------------------


def test_a_row_is_priced_as_a_step_alone_would_be() -> None:
    lines = (
        "qwen3-0.6b,h100-sxm,,,,64,2048,0.01",
        "llama-3.1-8b,h200-sxm,,500,100,2,,0.02",
        "qwen3-0.6b,h100-sxm,,,,1,2048,0.002",
        "qwen3-0.6b,h100-sxm,,512,1024,8,2048,0.01",
    )
    judged = judge(read_steps(table(*lines)))
    qwen, llama = cm.model("qwen3-0.6b"), cm.model("llama-3.1-8b")
    h100, h200 = cm.hardware("h100-sxm"), cm.hardware("h200-sxm")
    steps = [
        (qwen, h100, cm.Step.decode(64, 2048)),
        (llama, h200, cm.Step.prefill(500, 100, batch=2)),
        (qwen, h100, cm.Step.decode(1, 2048)),
        (qwen, h100, cm.Step.mixed(512, 1024, 8, 2048)),
    ]
    assert list(judged.line) == [2, 3, 4, 5]
    for row, step in zip(judged.itertuples(), steps, strict=True):
        estimate = cm.price(*step, rates="calibrated")
        assert row.floor == pytest.approx(cm.price(*step).seconds)
        assert row.estimate == pytest.approx(estimate.seconds)
        assert (row.low, row.high) == pytest.approx((estimate.low, estimate.high))
        assert row.estimate_error == pytest.approx(estimate.seconds / row.measured - 1)


def test_an_engines_own_time_is_added_to_the_estimate_alone() -> None:
    head = "model,hardware,context,seconds,host"
    judged = judge(read_steps(table("llama-3.1-8b,h100-sxm,100,1,", "llama-3.1-8b,h100-sxm,100,1,vllm", head=head)))
    assert judged.floor[0] == judged.floor[1]
    assert judged.estimate[1] > judged.estimate[0]


@pytest.mark.parametrize(
    ("head", "line", "said"),
    [
        ("model,hardware,context,seconds,host", "qwen3-0.6b,h100-sxm,1,1,nobody", "line 2, host: found 'nobody'"),
        ("model,hardware,context,seconds,tensor_parallel", "qwen3-0.6b,h100-sxm,1,1,3", "line 2, tensor_parallel"),
        ("model,hardware,context,seconds,compute", "qwen3-0.6b,a100-sxm-80,1,1,fp8", "line 2, compute dtype"),
    ],
)
def test_a_step_that_cannot_be_priced_is_named(head: str, line: str, said: str) -> None:
    with pytest.raises(cm.ConfigError) as caught:
        judge(read_steps(table(line, head=head)))
    assert said in str(caught.value)


def test_what_beats_the_floor_is_told_apart_and_does_not_count() -> None:
    floor = cm.price(cm.model("qwen3-0.6b"), cm.hardware("h100-sxm"), cm.Step.decode(1, 2048)).seconds
    lines = [f"qwen3-0.6b,h100-sxm,,,,1,2048,{seconds!r}" for seconds in (floor, floor * 0.99, floor * 4)]
    judged = judge(read_steps(table(*lines)))
    assert list(judged.beats_floor) == [False, True, False]
    summary = summarise(judged)
    assert (summary.rows, summary.impossible) == (2, 1)
    assert summary.floor == pytest.approx(np.median([0, 0.75]))


def test_only_what_is_faster_than_the_fewest_experts_allow_beats_the_floor() -> None:
    cost = cm.price(cm.model("qwen3-30b-a3b"), cm.hardware("h100-sxm"), cm.Step.decode(8, 100))
    measured = (0.00619, cost.least_seconds, cost.least_seconds * 0.99)
    lines = [f"qwen3-30b-a3b,h100-sxm,,,,8,100,{seconds!r}" for seconds in measured]
    judged = judge(read_steps(table(*lines)))
    assert (judged.floor_error > 0).all()  # the expected number of experts takes longer
    assert list(judged.beats_floor) == [False, False, True]
    summary = summarise(judged)
    assert (summary.rows, summary.impossible, summary.unexpected) == (2, 1, 2)


def test_nothing_possible_gives_no_errors() -> None:
    summary = summarise(judge(read_steps(table("llama-3.1-70b,h100-sxm,,,,1,2048,1e-9"))))
    assert (summary.rows, summary.impossible) == (0, 1)
    assert math.isnan(summary.estimate)
    assert math.isnan(summary.in_band)


def test_the_sample_is_a_table_that_the_estimate_explains() -> None:
    summary = summarise(judge(read_steps(accuracy.SAMPLE)))
    assert summary.impossible == 0
    assert summary.floor > 0.3
    assert summary.estimate < 0.1
    assert set(accuracy.SAMPLE.splitlines()[0].split(",")) <= set(COLUMNS)


def test_the_gpus_with_published_errors_come_in_the_order_of_the_catalogue():
    found = accuracy.gpus()
    assert "h100-sxm" in found
    assert set(found) == set(accuracy.published().gpu) & set(cm.hardware())
    assert list(found) == sorted(found, key=cm.hardware().index)
