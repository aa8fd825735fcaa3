"""The Accuracy page as a user meets it: its figures are the published ones, and a table of one's own is judged."""

import itertools
import math
from functools import partial

import pandas as pd
import pytest

import costmodel as cm
from costmodel import accuracy
from pages.accuracy import charts, own, words
from pages.accuracy.numbers import DATA_CENTRE, OPERATIONS, Errors, kind_of, whole_steps
from pages.parts import codec, format, state
from pages.parts.scenario import Scenario
from tests.live.samples import SMALL_CONFIG
from tests.pages import opened
from tests.pages.app import link, markup, text
from tests.pages.drawing import collisions, labels, svg
from tests.pages.opened import alt, go, named, notices, open_page, plain, press, ran, value


def percent(error: float) -> str:
    return plain(words.share(error))


# ---- the rows of the picture -------------------------------------------------------------------------------------


def test_every_published_class_is_somewhere_in_the_picture() -> None:
    table = accuracy.published()
    table = table[(table.operation != accuracy.HOST) & (table.gpu != "all")]
    measured, unseen = Errors(), Errors(gpu=accuracy.UNSEEN)
    assert len(measured.classes) + len(unseen.classes) == len(table)
    assert sum(row.classes for row in measured.rows) == len(measured.classes)
    assert set(OPERATIONS) == {*accuracy.operations()}


def test_a_line_is_the_mean_of_its_classes() -> None:
    table = accuracy.published().query("operation == 'matmul' and regime == 'decode' and gpu == 'h100-sxm'")
    row = next(row for row in Errors(gpu="h100-sxm").rows if row.label == "Matrix multiply, decode")
    assert row.estimate == pytest.approx(table.median_error.mean())
    assert row.floor == pytest.approx(table.floor_median_error.mean())
    assert row.measurements == table.n.sum()
    assert row.classes == len(table)


def test_whole_steps_of_all_gpus_are_judged_together() -> None:
    dense, moe = Errors().rows[:2]
    assert (dense.label, moe.label) == ("Whole steps, dense", "Whole steps, MoE")
    for row in (dense, moe):
        figures = whole_steps(row.regime)
        assert (row.estimate, row.floor, row.p90) == (
            figures.median_error,
            figures.floor_median_error,
            figures.p90_error,
        )
        assert row.measurements == figures.n


def test_every_combination_of_the_controls_has_lines_or_there_are_no_measurements() -> None:
    gpus, operations = ("all", *accuracy.gpus(), accuracy.UNSEEN), ("all", *accuracy.operations())
    for rows_are, gpu, operation in itertools.product(("operation", "gpu", "dtype"), gpus, operations):
        errors = Errors(rows_are, gpu, operation)
        assert len({row.label for row in errors.rows}) == len(errors.rows)
        assert errors.rows or "all" not in {gpu, operation}
        if errors.rows:
            data = errors.picture(charts.PITCH, charts.TOP)
            assert len(data["lines"]) == len(errors.rows)
            assert set(data["dots"].y) == set(data["lines"].y)
            assert words.errors_alt(errors).count("estimate") == len(errors.rows)


@pytest.mark.parametrize("width", [358, 700, 980])
@pytest.mark.parametrize(("rows_are", "operation"), [("operation", "all"), ("gpu", "step"), ("dtype", "all")])
def test_labels_keep_apart_at_every_width(width: float, rows_are: str, operation: str) -> None:
    errors = Errors(rows_are, "all", operation)
    drawn = svg(charts.errors_spec(len(errors.rows)), errors.picture(charts.PITCH, charts.TOP), width=width)
    written = {plain(label.text) for label in labels(drawn)}
    assert {row.label for row in errors.rows} <= written
    assert percent(errors.rows[0].estimate) in written
    assert not collisions(drawn)


# ---- the page ----------------------------------------------------------------------------------------------------


def test_it_opens_with_the_published_figures() -> None:
    at = open_page("accuracy")
    dense, moe = whole_steps("dense"), whole_steps("MoE")
    said = text(at)
    assert f"the floor is {percent(dense.floor_median_error)} too fast" in said
    assert f"{percent(dense.median_error)} off for dense models and {percent(moe.median_error)} for mixtures" in said
    assert f"whole steps judged {dense.n + moe.n:,}" in said
    assert f"Whole steps, MoE: estimate {percent(moe.median_error)}" in alt(at)
    assert not notices(at)


def test_weak_spots_are_said_with_their_figures() -> None:
    said = text(open_page("accuracy"))
    table = accuracy.published()
    steps = table[table.operation == accuracy.STEP]
    worst = steps.loc[steps.median_error.idxmax()]
    for name in ("Experts in prefill", "Latent attention on Hopper", "Time to the first token", "GPUs that nobody"):
        assert name in said
    assert f"is off by {percent(worst.median_error)} in the median" in said
    prefill = table[(table.operation == "moe") & (table.regime == "prefill") & table.gpu.isin(DATA_CENTRE)]
    assert f"Medians of {percent(prefill.median_error.min())} to {percent(prefill.median_error.max())}" in said


def test_the_controls_choose_what_is_drawn_and_the_link_keeps_it() -> None:
    at = open_page("accuracy", error_gpu="h100-sxm")
    assert "measurements, H100 SXM." in alt(at)
    at.selectbox(key="error_operation").set_value("moe")
    ran(at)
    assert "Experts, prefill" in alt(at)
    assert "Matrix multiply" not in alt(at)
    assert link(at)["error_operation"] == "moe"
    go(go(at, "memory"), "accuracy")
    assert (value(at, "error_gpu"), value(at, "error_operation")) == ("h100-sxm", "moe")


def test_what_nobody_measured_is_said() -> None:
    at = open_page("accuracy", error_gpu="a100-sxm-80", error_operation="step")
    assert notices(at) == ["Nobody measured that operation there: choose another GPU or another operation."]


@pytest.mark.parametrize(
    ("model", "machine", "source", "steps"),
    [
        ("qwen3-0.6b", "h100-sxm", "measured on H100 SXM", "Llama-3.1-8B"),
        ("deepseek-v3", "mi300x", "by the general fractions", "No whole step of mixtures of experts on MI300X"),
        ("llama-3.1-8b", "l4", "the nearest relative of L4", "No whole step of dense models on L4"),
    ],
)
def test_the_scenarios_own_estimate_and_what_it_rests_on(model: str, machine: str, source: str, steps: str) -> None:
    at = open_page("accuracy", model=model, hardware=machine, batch=8, context=4096, prompt=1000)
    cost = cm.price(cm.model(model), cm.hardware(machine), cm.Step.decode(8, 4096), rates="calibrated")
    said = text(at)
    shown = [plain(format.seconds(seconds, 2)) for seconds in (cost.seconds, cost.low, cost.high)]
    assert f"A decode step of 8 over 4,096 cached tokens each: {shown[0]}, between {shown[1]} and {shown[2]}" in said
    assert "A prefill of 1,000 tokens" in said
    assert source in said
    assert steps in said
    assert not notices(at)


def test_models_belong_to_a_class_of_steps() -> None:
    assert [kind_of(cm.model(name)) for name in ("qwen3-8b", "gpt-oss-20b")] == ["dense", "MoE"]


# ---- one's own steps -----------------------------------------------------------------------------------------------

HEAD = "model,hardware,phase,new,batch,context,seconds"


upload = partial(opened.upload, key="own_steps", name="steps.csv")


def table(*lines: str) -> bytes:
    return "\n".join((HEAD, *lines)).encode()


def test_steps_that_differ_have_names_that_do() -> None:
    sizes = [("", "", 64, 2048), (500, "", "", ""), (500, "", 8, ""), (500, 2000, "", ""), (500, 2000, 8, "")]
    sizes += [(500, cached, 8, context) for cached in ("", 100) for context in (1, 2048)]
    head = "model,hardware,phase,new,cached,batch,context,seconds,tensor_parallel"
    lines = [
        f"llama-3.1-8b,h100-sxm,,{new},{cached},{batch},{context},0.3,{gpus}"
        for new, cached, batch, context in sizes
        for gpus in ("", 2)
    ]
    names = [
        words.step_name(row) for row in accuracy.judge(accuracy.read_steps("\n".join([head, *lines]))).itertuples()
    ]
    assert len(set(names)) == len(lines)
    assert "Llama-3.1-8B on 2 × H100 SXM, prefill of 8 × 500 over 2,000 cached" in names


def test_public_measurements_stand_there_until_ones_own_do() -> None:
    at = open_page("accuracy")
    summary = accuracy.summarise(accuracy.judge(accuracy.read_steps(accuracy.SAMPLE)))
    assert f"6 public measurements, until you bring yours: the estimate is within {percent(summary.estimate)}" in text(
        at
    )
    upload(at, table("qwen3-0.6b,h100-sxm,,,64,2048,0.0075", "qwen3-0.6b,h100-sxm,,500,,,0.0026"))
    judged = accuracy.judge(
        accuracy.read_steps(table("qwen3-0.6b,h100-sxm,,,64,2048,0.0075", "qwen3-0.6b,h100-sxm,,500,,,0.0026"))
    )
    said = text(at)
    assert "Your steps (2): the estimate is within" in said
    assert f"Qwen3-0.6B on H100 SXM, decode of 64 at 2,048 2 {plain(format.seconds(0.0075))}" in said
    assert plain(words.signed(judged.estimate_error[0])) in said
    assert alt(at, 1).startswith("Predicted against measured seconds of 2 steps")
    go(go(at, "memory"), "accuracy")
    assert "Your steps (2)" in text(at)
    press(at, "Forget them")
    assert "until you bring yours" in text(at)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"\x89PNG\r\n\x1a\n\xff", "UTF-8"),
        (b"", "found 'nothing', expected a heading|no line below the heading"),
        (table("qwen3-0.6b,h100-sxm,,,1,2048,soon"), "line 2, seconds: found 'soon'"),
        (table("<b>x</b>,h100-sxm,,,1,2048,1"), "line 2, model: found '<b>x</b>'"),
    ],
)
def test_a_table_that_cannot_be_read_is_told_and_changes_nothing(body: bytes, said: str) -> None:
    at = upload(open_page("accuracy"), body)
    (notice,) = notices(at)
    assert notice.startswith("Not taken over. ")
    assert any(part in notice for part in said.split("|"))
    assert "until you bring yours" in text(at)
    assert "<b>x</b>" not in markup(at)


def test_a_table_that_names_a_model_of_ones_own_is_told_when_that_was_forgotten() -> None:
    own_model = codec.pack_model(SMALL_CONFIG, None, "Mine")
    at = upload(open_page("accuracy", model="custom", model_config=own_model), table("custom,h100-sxm,,,1,2048,0.002"))
    assert "Your steps (1)" in text(at)
    press(go(at, "model"), "Forget it")
    go(at, "accuracy")
    (notice,) = notices(at)
    assert notice.startswith("Your table cannot be judged any more. ")
    assert "'custom'" in notice
    press(at, "Forget them")
    assert "until you bring yours" in text(at)
    assert not notices(at)


def test_measurements_that_cannot_be_are_named() -> None:
    at = upload(
        open_page("accuracy"), table("llama-3.1-8b,h100-sxm,,,1,2048,1e-6", "llama-3.1-8b,h100-sxm,,,1,2048,0.007")
    )
    assert notices(at)[0].startswith("Faster than the floor: line 2.")
    assert "Your steps (1)" in text(at)
    upload(at, table(*["llama-3.1-8b,h100-sxm,,,1,2048,1e-6"] * 2))
    assert "Your steps: all 2 are faster than the floor allows" in text(at)
    upload(at, table("llama-3.1-8b,h100-sxm,,,1,2048,1e-6"))
    assert "Your step is faster than the floor allows, so it is not compared." in text(at)


def test_a_mixture_that_hits_fewer_experts_than_expected_counts() -> None:
    at = upload(open_page("accuracy"), table("qwen3-30b-a3b,h100-sxm,,,8,100,0.00619"))
    said = text(at)
    assert not notices(at)
    assert "Your steps (1)" in said
    assert "Faster than the expected floor: line 2." in said
    assert "too fast." not in said.split("Your steps (1)")[1]


def test_a_note_is_shown_as_it_is_written() -> None:
    body = b"model,hardware,context,seconds,note\nqwen3-0.6b,h100-sxm,2048,0.002,<i>mine</i>"
    at = upload(open_page("accuracy"), body)
    assert "&lt;i&gt;mine&lt;/i&gt;" in markup(at)


def test_ticks_are_few_and_within_the_corners() -> None:
    for low, high in ((1e-3, 5e-2), (1e-5, 1.0), (0.9e-3, 1.1e-3)):
        ticks = own.ticks(own.own_data(_judged(low, high))["frame"])
        assert 1 <= len(ticks) <= 9
        assert all(low / 10 <= tick <= high * 10 for tick in ticks)


def _judged(low: float, high: float):
    judged = accuracy.judge(accuracy.read_steps(accuracy.SAMPLE)).head(2).copy()
    judged[["measured", "floor", "estimate", "low", "high"]] = [[low] * 5, [high] * 5]
    return judged


def test_questions_set_the_controls() -> None:
    at = press(open_page("accuracy"), "Show GPUs it never saw")
    assert "measurements, A GPU it never saw." in alt(at)
    (button,) = [name for name in (named(button.label) for button in at.button) if name.endswith("by GPU")]
    press(at, button)
    assert value(at, "error_rows") == "gpu"
    assert "GB200" in alt(at)
    press(at, "Show MI300X")
    assert value(at, "hardware") == "mi300x"
    assert "MI300X has none of its own" in text(at)


@pytest.mark.parametrize("key", ["error_rows", "error_gpu", "error_operation"])
def test_a_link_with_an_impossible_value_is_told_and_ignored(key: str) -> None:
    at = open_page("accuracy", **{key: "<b>9</b>"})
    (notice,) = notices(at)
    assert notice.startswith(f"In the link, {key}: found ")
    assert value(at, key) == state.CONTROLS[key].default


def test_one_step_is_not_several_and_without_errors_none_is_given() -> None:
    judged = pd.DataFrame({"line": [2]})
    summary = accuracy.Summary(
        rows=0, impossible=1, unexpected=0, floor=math.nan, estimate=math.nan, estimate_p90=math.nan, in_band=math.nan
    )
    said = words.own_alt(judged, summary)
    assert "of 1 step, both logarithmic. All of them are faster than their floor" in said
    assert format.NBSP not in said


def test_a_prompt_of_one_token_is_one() -> None:
    chip = cm.hardware("h100-sxm")
    scenario = Scenario(cm.model("qwen3-0.6b"), chip, cm.Precision(), rates="calibrated", source="calibrated")
    names = [estimate.name for estimate in words.estimates(scenario, 1, 1, 1)]
    assert names == ["A decode step of 1 over 1 cached token", "A prefill of 1 token"]
