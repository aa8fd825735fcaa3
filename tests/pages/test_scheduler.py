"""The Scheduler page without a browser: its stories, its figures against the simulator, its drawings, bad input."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

import costmodel as cm
from costmodel import serving
from costmodel.serving.policies.base import Stop
from pages.parts import codec, state
from pages.parts.scenario import Scenario
from pages.scheduler import charts, frames, runs, step_view, stories, sweep_view, words, workloads
from tests.pages.app import link, notices
from tests.pages.app import open_app as open_page
from tests.pages.app import text as text_of
from tests.pages.drawing import svg
from tests.pages.opened import everything, ran

QWEN, H100 = cm.model("qwen3-0.6b"), cm.hardware("h100-sxm")
SCENARIO = Scenario(QWEN, H100, cm.Precision())
DEFAULTS = {key: state.CONTROLS[key].default for key in stories.TOLD_BY}


def workload(**changes) -> workloads.Workload:
    asked = {
        "arrivals": "poisson", "rate": 300.0, "burstiness": 0.25, "users": 16, "count": 30, "prompt": "lognormal",
        "prompt_tokens": 500, "output": "uniform", "output_tokens": 100, "seed": 0, "shared_prefix": 0,
    }  # fmt: skip
    return workloads.Workload(**{**asked, **changes})


def knobs(policy: str = "vllm_v1", **changes) -> runs.Knobs:
    asked = {
        "token_budget": 512, "max_seqs": 64, "watermark": None, "reserve": True, "long_prefill": 0, "chunked": True,
        "prefix": False, "queue": "fcfs", "padded": False,
    }  # fmt: skip
    return runs.Knobs(policy=policy, **{**asked, **changes})


def side(
    policy: str = "vllm_v1", *, blocks: int = 0, requests: workloads.Workload | None = None, **changes
) -> words.Side:
    plan = runs.Plan(SCENARIO, requests or workload(), knobs(policy, **changes), blocks, 16, 0, 0.0)
    return words.Side(plan, plan.simulate(plan.workload.table()))


# ---- the page as it opens --------------------------------------------------------------------------------------


def test_the_page_says_what_the_simulator_finds():
    page = open_page("scheduler")
    a = side()
    b = side("vllm_v0", token_budget=2048)
    said = text_of(page)
    for found in (a, b):
        for key in ("worst_itl_s", "ttft_p50_s"):
            assert words.format.seconds(found.summary[key]).value in said
    assert "30 arrived = 30 finished + 0 rejected + 0 unfinished" in said
    assert "vLLM 0.33.0" in said


def written(settings):
    """The link that has these settings."""
    return {key: state.CONTROLS[key].write(value) for key, value in settings.items() if value != DEFAULTS[key]}


@pytest.mark.parametrize("name", list(stories.STORIES))
def test_every_story_is_told_by_its_own_settings(name):
    settings = stories.STORIES[name].settings
    assert set(settings) == set(stories.TOLD_BY)
    page = open_page("scheduler", **written(settings))
    assert not page.exception
    assert page.session_state["_story"] == name
    assert "cannot be simulated" not in text_of(page)


def test_the_stories_show_what_they_say():
    slow, fast = side("vllm_v0"), side("vllm_v1")
    assert slow.summary["worst_itl_s"] > 2 * fast.summary["worst_itl_s"]
    at_once = workload(
        arrivals="at_once", count=24, prompt="fixed", prompt_tokens=100, output="lognormal", output_tokens=60
    )
    static, orca = (side(policy, requests=at_once, max_seqs=8) for policy in ("static", "orca"))
    assert static.summary["duration_s"] > 1.2 * orca.summary["duration_s"]
    pressed = side(blocks=560, requests=workload(rate=400.0, output_tokens=150), reserve=False)
    assert pressed.summary["preemptions"] > 0


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        (
            {"model": "llama-3.1-405b"},
            "Llama-3.1-405B does not fit into H100 SXM: choose more GPUs or narrower weights",
        ),
        (
            {"hardware": "mi325x"},
            "How much memory of MI325X a program can use is not published: say how many KV blocks",
        ),
        (
            {"model": "llama-3.1-8b", "utilization": 0.5, "reserve_gib": 32},
            "Llama-3.1-8B does not fit into H100 SXM: choose more GPUs or narrower weights, keep less free on the",
        ),
    ],
)
def test_settings_that_cannot_be_get_one_sentence(query, sentence):
    page = open_page("scheduler", **query)
    assert not page.exception
    assert "cannot be simulated" in text_of(page)
    assert sentence in text_of(page)


@pytest.mark.parametrize(
    "query", [{"policy": "fifo"}, {"token_budget": "-3"}, {"rate": "nan"}, {"zoom": "9.x"}, {"seed": "1e9"}]
)
def test_a_bad_link_gets_a_notice_and_the_default(query):
    page = open_page("scheduler", **query)
    assert not page.exception
    assert next(iter(query)) in text_of(page)
    assert "30 arrived" in text_of(page)


def test_a_knob_that_leaves_the_page_keeps_its_value_and_the_link_has_it():
    at = unfold(open_page("scheduler"))
    ran(at.select_slider(key="rate").set_value(500))
    ran(at.selectbox(key="arrivals").set_value("at_once"))
    ran(at)
    assert link(at) == {"arrivals": "at_once", "rate": "500"}
    ran(at.selectbox(key="arrivals").set_value("poisson"))
    assert at.select_slider(key="rate").value == 500


def unfold(at: AppTest, *, is_open: bool = True) -> AppTest:
    """Open the expander with the workload and the knobs, or close it."""
    at.session_state["scheduler_more"] = is_open
    return ran(at)


def test_knobs_that_are_folded_away_are_not_drawn_and_count_all_the_same():
    at = open_page("scheduler", max_seqs="4", chunked="off", requests="12")
    assert [slider.key for slider in at.select_slider] == ["token_budget"]
    assert "12 arrived" in text_of(at)
    assert unfold(at).select_slider(key="max_seqs").value == 4
    ran(at.select_slider(key="max_seqs").set_value(2))
    ran(unfold(at, is_open=False))
    assert link(at) == {"max_seqs": "2", "chunked": "off", "requests": "12"}
    assert {"max_seqs", "token_budget_b"} <= {slider.key for slider in unfold(at).select_slider}
    assert at.select_slider(key="max_seqs").value == 2


@pytest.mark.parametrize(("gpus", "said"), [("2", True), ("1", False)])
def test_a_pool_that_memory_divides_by_sequences_is_said_to_be_another(gpus, said):
    page = open_page("scheduler", tensor_parallel=gpus, attention_parallel="data", requests="10")
    assert (words.HEADS_DIVIDED in text_of(page)) == said


def test_a_step_past_the_end_is_the_last_one():
    page = open_page("scheduler", sched_step="99999")
    steps = side().summary["steps"]
    assert f"step {steps - 1:,} carries" in text_of(page)


def test_sglang_reads_prompts_in_chunks_and_decodes_nobody_meanwhile():
    page = open_page("scheduler", policy="sglang", against="vllm_v1", requests="10")
    assert not page.exception
    assert "Prompts in chunks of 512" in text_of(page)
    assert "Scheduling copies SGLang" in text_of(page)
    a = side("sglang", token_budget=256)
    assert frames.budget_of(a.run) == a.run.steps["prefill_tokens"].max() == 256
    assert not frames.stalls(a.run).empty
    assert sweep_view.BUDGET in sweep_view.offered(a.plan)
    table, _ = sweep_view.run(sweep_view.BUDGET, a.plan, a.plan.workload.table())
    assert table["budget"].tolist() == list(sweep_view._BUDGETS)
    assert table["worst_itl_s"].nunique() > 3
    found = side(
        "sglang", requests=workload(count=10, prompt="fixed", prompt_tokens=300, shared_prefix=160), prefix=True
    )
    assert found.summary["cached_tokens"] == 9 * 160


@pytest.mark.parametrize(
    "query",
    [
        {"utilization": 0.6, "reserve_gib": 16},
        {"model": "gemma-3-27b", "allocation": "full", "kv_block": 32},
        {"hardware": "mi325x", "own_memory": codec.pack_memory("mi325x", 255.5)},
    ],
)
def test_the_pool_has_what_the_memory_page_says(query):
    page = open_page("scheduler", prompt_kind="fixed", prompt_length="1500", output_kind="fixed", **query)
    assert not page.exception
    memory = open_page("memory", context="1600", **query)
    (blocks,) = re.findall(r"([\d,]+) blocks × \d+ =", text_of(memory))
    assert f"The pool holds {blocks} KV blocks" in text_of(page)


@pytest.mark.parametrize("blocks", [0, 130])
@pytest.mark.parametrize("link", [0.0, 1e9, 50e9])
def test_whoever_is_in_the_system_adds_up_and_keeps_to_little_s_law(link, blocks):
    plan = runs.Plan(SCENARIO, workload(), knobs(), blocks, 16, 0, link)
    a = words.Side(plan, plan.simulate(plan.workload.table()))
    *_, there, law = words.arithmetic(a, a.run.explain(0))
    assert there.result == law.result
    means = [float(mean) for mean in re.findall(r"[\d.]+(?= [rwo])", there.expression)]
    assert len(means) == (3 if link else 2)
    assert sum(means) == pytest.approx(float(there.result.split()[0]), abs=0.016)
    served, *times = re.findall(r"([\d.]+)\s(requests|ms|s)", law.expression)
    duration, stay = (float(value) * {"ms": 1e-3, "s": 1.0}[unit] for value, unit in times)
    assert float(served[0]) / duration * stay == pytest.approx(float(law.result.split()[0]), rel=1e-3)


def test_every_rejection_is_told_in_a_sentence_for_each_kind_of_reason():
    page = open_page("scheduler", policy="vllm_v0", kv_blocks="64", prompt_length="2000", against="none")
    told = [complaint for complaint in notices(page) if "rejected" in complaint]
    counts = [int(complaint.split()[0]) for complaint in told]
    rejected = re.search(r"(\d+) rejected \+", text_of(page))
    assert rejected
    assert sum(counts) == int(rejected[1]) == 26
    assert len(told) <= 2
    assert re.fullmatch(
        r"\d+ requests rejected: their prompts of [\d,]+ to [\d,]+ tokens are above the 64 KV blocks of 16 .*", told[0]
    )


@pytest.mark.parametrize(("policy", "against"), [("vllm_v1", "orca"), ("orca", "vllm_v1"), ("static", "orca")])
def test_the_rejections_of_both_policies_are_told_and_named(policy, against):
    page = open_page("scheduler", policy=policy, against=against, kv_blocks="200", prompt_length="1000")
    requests = workload(prompt_tokens=1000)
    for letter, name, budget in (("A", policy, 512), ("B", against, 2048)):
        found = side(name, blocks=200, requests=requests, token_budget=budget)
        told = [notice for notice in notices(page) if notice.startswith(f"{letter} ({found.name}), ")]
        assert (
            sum(int(re.search(r"(\d+) requests? rejected: ", notice)[1]) for notice in told)
            == (found.summary["rejected"])
        )
    assert any("rejected" in notice for notice in notices(page))


@pytest.mark.parametrize("output", [1, 50])
@pytest.mark.parametrize("blocks", [0, 24, 64])
@pytest.mark.parametrize("against", [None, *runs.POLICIES])
@pytest.mark.parametrize("policy", list(runs.POLICIES))
def test_the_headline_says_of_whom_it_speaks(policy, against, blocks, output):
    requests = workload(count=12, output="fixed", output_tokens=output)
    sides = [side(name, blocks=blocks, requests=requests) for name in (policy, against) if name]
    said = words.headline(sides[0], sides[1] if against else None)
    text = "".join(part if isinstance(part, str) else str(part.text) for part in said).replace("\u00a0", " ")
    assert "–" not in text
    assert not re.search("[Ww]ith by|batches finishes|batches gives", text)
    own, *other = text.split(" With ")
    assert len(other) == len(sides) - 1
    for part, found in zip((own, *other), sides, strict=True):
        served = int(found.run.requests["ttft_s"].notna().sum())
        if found.summary["finished"]:
            assert (f"of {words.format.many(served, 'request')} served" in part) == (served < 12)
            assert str(words.format.seconds(found.summary["ttft_p50_s"])).replace("\u00a0", " ") in part
        else:
            assert "no request is finished" in part


@given(st.lists(st.integers(1, 3000), min_size=1, max_size=9), st.integers(1, 90))
def test_rejections_of_any_lengths_are_told_whole(prompts, blocks):
    table = pd.DataFrame({"arrival_s": 0.0, "prompt_tokens": prompts, "output_tokens": 5})
    run = serving.simulate(table, serving.policy("vllm_v0"), step_seconds=1.0, num_blocks=blocks, block_size=16)
    plan = runs.Plan(SCENARIO, "trace", knobs(), blocks, 16, 0, 0.0)
    told = words.rejected(words.Side(plan, run))
    assert sum(int(sentence.split()[0]) for sentence in told) == run.summary["rejected"]
    assert not re.search(ONE_AS_MANY, " ".join(told))
    for length, reason in zip(prompts, run.requests["reason"], strict=True):
        assert not reason or f"{length:,} token" in reason or f"{length + 4:,} token" in reason


ONE_AS_MANY = r"(?<![\d,.])1[ \u00a0](KV |free |decode |running )?(token|request|block|page|step|preemption)s\b"


@pytest.mark.parametrize(
    "query",
    [
        {"output_kind": "fixed", "output_length": 1, "requests": 1, "kv_block": 1, "prompt_kind": "fixed",
         "prompt_length": 1, "kv_blocks": 16},
        {"output_kind": "fixed", "output_length": 1, "kv_block": 1},
        {"output_kind": "fixed", "output_length": 2, "prompt_kind": "fixed", "prompt_length": 1, "max_seqs": 1},
        {"policy": "vllm_v1", "token_budget": 16, "kv_block": 1, "kv_blocks": 640, "sched_step": 9},
    ],
)  # fmt: skip
def test_one_is_no_plural_and_the_unknown_has_no_unit(query):
    page = open_page("scheduler", **query)
    assert not page.exception
    said = text_of(page)
    assert not re.search(ONE_AS_MANY, said), said
    assert not re.search(r"–[ \u00a0](s|ms)\b", said)


@pytest.mark.parametrize(("needed", "available"), [(1, 0), (1, 1), (2, 1), (2000, 1500)])
@pytest.mark.parametrize("reason", ["budget", "blocks"])
def test_a_stop_counts_in_words(reason, needed, available):
    said = Stop(reason, needed, available).text
    assert f"needs {needed:,} " in said
    assert f"{available:,}" in said or (not available and "none is left" in said)
    assert not re.search(ONE_AS_MANY + r"|\b1 are|are 1$", said)


@pytest.mark.parametrize(("output", "rate"), [(1, 300.0), (3, 1.0), (100, 300.0)])
def test_throughput_is_written_to_three_digits_wherever_it_stands(output, rate):
    a = side(requests=workload(count=2, rate=rate, output="fixed", output_tokens=output))
    written = words.format.per_second(a.summary["output_tokens_per_s"])
    (line,) = [line for line in words.arithmetic(a, a.run.explain(0)) if line.name == "throughput"]
    assert line.result == written
    assert f"{written.value} output tokens/s" in "".join(words.conservation(a))
    assert words.MEASURES[-1].text(written.raw) == written.value
    assert float(written.value.replace(",", "")) == pytest.approx(written.raw, rel=5e-3)


@pytest.mark.parametrize(("model", "keeps"), [("mamba-2.8b", False), ("qwen3-0.6b", True)])
def test_a_model_without_kv_has_no_blocks_to_speak_of(model, keeps):
    said = text_of(open_page("scheduler", model=model, requests="5", against="none"))
    assert ("The pool holds" in said) == keeps
    assert ("keeps a state for each sequence" in said) != keeps


@pytest.mark.parametrize(
    ("model", "block", "kept"),
    [
        ("qwen3-0.6b", "KV block", "cache"),
        ("jamba-1.5-mini", "KV block", "cache and state"),
        ("mamba-2.8b", "block", "state"),
    ],
)
def test_what_a_run_keeps_is_named_by_what_it_is(model, block, kept):
    at = open_page("scheduler", model=model, requests=5, against="none", kv_blocks=4000, hardware="mi300x")
    at.session_state["scheduler_more"] = True
    ran(at)
    labels = [element.label for element in (*at.button, *at.select_slider)]
    said = "\n".join([everything(at), *labels])
    for words_ in (f"{block}s in use, of 4,000", f"{block}s: ", f"loses its {kept}?", f"preempted, {kept} lost"):
        assert words_.lower() in said.lower()
    assert f"{block}s".lower() in (label.lower() for label in labels)
    assert ("KV block" in said) == (block == "KV block")
    assert bool(re.search("\\bcached?\\b", said)) == (kept != "state")


# ---- frames ----------------------------------------------------------------------------------------------------


def test_bars_cover_each_request_from_arrival_to_end_without_gaps():
    run = side(blocks=560, requests=workload(rate=400.0, output_tokens=150), reserve=False).run
    table = frames.bars(run)
    for row, bars in table.groupby("y"):
        ordered = bars.sort_values("t0")
        assert np.allclose(ordered["t1"].to_numpy()[:-1], ordered["t0"].to_numpy()[1:]), row
    assert set(table["phase"]) == {"queued", "prefill", "decode", "preempted"}
    assert len(table) <= frames.MOST_MARKS


def test_at_two_hundred_requests_the_timeline_stays_under_two_thousand_marks():
    for policy in runs.POLICIES:
        run = side(policy, requests=workload(count=200, rate=1000.0)).run
        assert len(frames.bars(run)) + len(frames.stalls(run)) + len(frames.row_names(run)) < 2000


def test_stalls_are_the_steps_in_which_decodes_get_nothing():
    run = side("vllm_v0").run
    for stall in frames.stalls(run).itertuples():
        inside = (run.segments.start >= stall.t0 - 1e-12) & (run.segments.end <= stall.t1 + 1e-12)
        assert inside.any()
        assert not run.segments.decode_tokens[inside].any()
    assert frames.stalls(side("vllm_v1").run).empty


def test_the_composition_falls_to_nothing_between_steps():
    run = side(requests=workload(count=2, rate=1.0)).run
    table = frames.composition(run)
    assert table["t"].is_monotonic_increasing
    gap = table[table["total"] == 0]
    assert len(gap) == 2  # after the first request, and at the end


def test_a_window_is_thousandths_of_the_run():
    run = side().run
    first, last = frames.run_span(run)
    window = frames.Window.of(run, (250, 750))
    assert window.start == pytest.approx(first + (last - first) / 4)
    assert frames.Window.of(run, (700, 200)) == frames.Window(first, last)


# ---- drawings --------------------------------------------------------------------------------------------------


def test_the_timeline_is_drawn_with_its_sentences():
    a = side(blocks=560, requests=workload(rate=400.0, output_tokens=150), reserve=False)
    view = a.run.explain(47)
    data = {**frames.datasets(a.run, frames.Window.of(a.run), 295.3), "cursor": frames.cursor(view.start_s, 47)}
    drawn = svg(charts.timeline_spec(), data, width=900)
    for word in ("step 47", "T* = 295", "requests waiting", "KV blocks in use, of 560", "r0"):
        assert word in drawn
    assert re.search(r'aria-label="r\d+: preempted, [\d.]+', drawn)
    alt = words.timeline_alt(a, 47)
    assert f"{a.summary['preemptions']:,} preemptions" in alt


def test_a_pool_that_nobody_bounds_is_drawn_as_large_as_asked_for():
    policy = knobs().build(2000)
    run = serving.simulate(workload().table(), policy, step_seconds=0.001)
    plan = runs.Plan(SCENARIO, workload(), knobs(), 0, 16, 0, 0.0)
    data = {**frames.datasets(run, frames.Window.of(run), None), "cursor": frames.cursor(0.0, 0)}
    assert "KV blocks in use, of as many as asked for" in svg(charts.timeline_spec(), data, width=900)
    assert "The pool holds as many blocks as asked for" in "".join(map(str, words.conservation(words.Side(plan, run))))


def test_the_small_timeline_is_drawn():
    a = side()
    start, end = frames.run_span(a.run)
    data = {**frames.datasets(a.run, frames.Window(start, end), None), "end": frames.cursor(end, 0)}
    assert "r0: decode" in svg(charts.small_spec(), data, width=400)


@pytest.mark.parametrize("sweep", [sweep_view.BUDGET, sweep_view.RATE, sweep_view.WATERMARK])
def test_sweeps_are_run_and_read(sweep, monkeypatch):
    monkeypatch.setattr(sweep_view, "_AT_LEAST", 30)
    plan = runs.Plan(SCENARIO, workload(), knobs(), 560, 16, 0, 0.0)
    assert sweep in sweep_view.offered(plan)
    table, full = sweep_view.run(sweep, plan, plan.workload.table())
    assert len(table) >= 5
    assert (full is not None) == (sweep is sweep_view.RATE)
    assert sweep_view.reading(sweep, table, full) in sweep_view.alt(sweep, table, full)
    curves = sweep_view._curves(sweep, table)
    row = table.iloc[0]
    shown = curves[(curves["name"] == "output token, mean") & (curves["x"] == row[sweep.knob])]
    assert shown["seconds"].iloc[0] == row["tpot_s"]


@pytest.mark.parametrize("sweep", [sweep_view.BUDGET, sweep_view.RATE, sweep_view.WATERMARK])
@pytest.mark.parametrize("requests", [10, 1])
def test_a_sweep_without_a_gap_says_so(sweep, requests, monkeypatch):
    monkeypatch.setattr(sweep_view, "_AT_LEAST", requests)
    one_token = workload(count=requests, output="fixed", output_tokens=1)
    plan = runs.Plan(SCENARIO, one_token, knobs(), 560, 16, 0, 0.0)
    said = sweep_view.alt(sweep, *sweep_view.run(sweep, plan, one_token.table()))
    assert "–" not in said
    assert "longest gap" not in said
    assert ("no request has two tokens" in said) == (sweep is not sweep_view.RATE)


def test_a_budget_is_swept_on_the_page_though_nobody_has_a_second_token():
    page = open_page("scheduler", against="none", output_kind="fixed", output_length="1", requests="10")
    ran(page.button(key="sweep_budget_go").click())
    assert not page.exception
    assert "no request has two tokens" in text_of(page)


def test_shares_are_written_as_elsewhere():
    plan = runs.Plan(SCENARIO, workload(), knobs("sarathi"), 560, 16, 0, 0.0)
    table, full = sweep_view.run(sweep_view.WATERMARK, plan, plan.workload.table())
    said = sweep_view.alt(sweep_view.WATERMARK, table, full)
    assert "from 0\u00a0% to 50\u00a0%" in said
    assert not re.search(r"\d%", said + "".join(sweep_view._curves(sweep_view.WATERMARK, table)["text"]))


def test_the_watermark_s_story_is_borne_out_by_its_sweep():
    page = open_page("scheduler", **written(stories.STORIES["watermark"].settings))
    ran(page.button(key="sweep_watermark_go").click())
    swept = page.session_state["_sweep"][2].set_index("watermark")
    speed, preempted = swept["output_tokens_per_s"], swept["preemptions"]
    assert speed.idxmax() == 0.05
    assert speed[0.05] > 1.05 * max(speed[0.0], speed[0.5])
    assert preempted.is_monotonic_decreasing
    assert "Most output tokens a second at 5 %" in text_of(page)


@pytest.mark.parametrize("asked", ["auto", "0", "0.01", "0.1"])
@pytest.mark.parametrize("policy", list(runs.OWN_WATERMARK))
def test_a_watermark_that_is_asked_for_is_the_one_that_is_kept(policy, asked):
    controls = {"policy": policy, "against": "none", "kv_blocks": 560, "requests": 20, "rate": 1000, "watermark": asked}
    page = open_page("scheduler", **controls)
    assert not notices(page)
    share = runs.OWN_WATERMARK[policy] if asked == "auto" else float(asked)
    assert share == {"vllm_v1": 0.0, "vllm_v0": 0.01, "sarathi": 0.01}[policy] or asked != "auto"
    a = side(policy, blocks=560, requests=workload(count=20, rate=1000.0), watermark=share)
    assert a.run.facts.policy.watermark == share
    assert words.format.seconds(a.summary["ttft_p50_s"]).value in text_of(page)
    swept, _ = sweep_view.run(sweep_view.WATERMARK, a.plan, a.plan.workload.table())
    (row,) = swept[swept["watermark"] == share].itertuples()
    assert row.output_tokens_per_s == pytest.approx(a.summary["output_tokens_per_s"])


def test_the_engines_own_watermarks_are_said_at_the_control():
    at = unfold(open_page("scheduler"))
    control = at.selectbox(key="watermark")
    assert control.options[:2] == ["the engine's own", "0\u00a0%"]
    assert "(vLLM V0) 1\u00a0%" in control.help


def test_latency_explodes_past_the_rate_at_which_the_machine_is_full():
    plan = runs.Plan(SCENARIO, workload(), knobs(), 560, 16, 0, 0.0)
    policy, table = knobs().build(2000), workload(count=300).table()
    full = serving.saturation_rate(table, policy, **plan.options())
    rows = serving.sweep_rate(
        lambda rate: workload(count=300).table(rate=rate), policy, [full / 2, full * 2], **plan.options()
    )
    below, above = (row["ttft_p50_s"] for row in rows)
    assert above > 10 * below


# ---- the step, opened --------------------------------------------------------------------------------------------


def test_the_step_adds_up():
    a = side(blocks=560, requests=workload(rate=400.0, output_tokens=150), reserve=False)
    rows = a.run.steps
    for number in (0, 30, 60, 120):
        view = a.run.explain(number)
        assert view.tokens == rows["prefill_tokens"][number] + rows["decode_tokens"][number]
        inside = sum(member.tokens for member in view.running)
        assert inside == view.tokens
        held = step_view._block_states(view, 16)
        assert len(held) == view.num_blocks - view.free_blocks == rows["blocks_used"][number]
        written = sum(1 for meaning in held.values() if meaning != "cached")
        assert f"{written:,} written in this step" in step_view.block_map(view, 16, SCENARIO.model).markup
        assert (
            f"width:{100 * view.decode_tokens / 512:.3f}%" in step_view.budget_bar(view, 295).markup
            or not view.decode_tokens
        )


def test_whoever_is_not_in_the_step_is_told_why():
    a = side(blocks=560, requests=workload(rate=400.0, output_tokens=150), reserve=False)
    s = a.run.segments
    calm = (s.preempted == 0) & (s.prefill_tokens == 0)  # nobody was robbed, and the budget is not spent
    crowded = int(np.argmax(np.where(calm, s.waiting, 0)))
    rows = step_view.outsiders(a.run.explain(crowded)).rows
    assert "free blocks" in rows[0][2]
    assert rows[-1] == (f"{s.waiting[crowded] - 1} more", "waiting", f"behind {rows[0][0]}, first come first served")
    robbed = int(np.argmax(s.preempted))
    assert "preempted somebody" in step_view.outsiders(a.run.explain(robbed)).rows[0][2]


def test_a_name_with_html_stays_text():
    table = pd.DataFrame({"id": ["<b>x</b>"], "arrival_s": [0.0], "prompt_tokens": [10], "output_tokens": [3]})
    run = runs.Plan(SCENARIO, "trace", knobs(), 0, 16, 0, 0.0).simulate(table)
    assert "<b>" not in step_view.budget_bar(run.explain(0), None).markup
    from pages.parts.components import markup

    assert "<b>" not in "".join(markup(c.cell(row)) for row in step_view.members(run.explain(0), SCENARIO.model).rows
                                for c in step_view.members(run.explain(0), SCENARIO.model).columns)  # fmt: skip


@pytest.mark.parametrize(
    ("a", "b", "less", "said"),
    [(1.0, 2.0, True, "−50"), (2.0, 1.0, True, "worse"), (2.0, 1.0, False, "better"), (1.0, 1.001, True, "the same")],
)
def test_a_difference_says_whether_it_is_better(a, b, less, said):
    measure = words.Measure("x", "x", words.format.seconds, less=less)
    assert said in words.delta(measure, a, b)


# ---- workloads and uploads ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("arrivals", list(workloads.ARRIVALS))
@pytest.mark.parametrize("kind", list(workloads.LENGTHS))
def test_every_workload_that_the_controls_offer_can_be_made(arrivals, kind):
    table = workload(arrivals=arrivals, prompt=kind, output=kind, count=20).table()
    assert len(table) == 20
    assert (table[["prompt_tokens", "output_tokens"]] > 0).all().all()
    pd.testing.assert_frame_equal(table, workload(arrivals=arrivals, prompt=kind, output=kind, count=20).table())


def test_a_shared_prefix_is_found_again():
    shared = workload(count=10, prompt="fixed", prompt_tokens=300, shared_prefix=160)
    assert side(requests=shared, prefix=True).summary["cached_tokens"] == 9 * 160
    assert side(requests=shared).summary["cached_tokens"] == 0


@pytest.mark.parametrize("policy", list(runs.POLICIES))
def test_two_pools_serve_every_policy(policy):
    plan = runs.Plan(SCENARIO, workload(count=8), knobs(policy), 0, 16, 0, 50e9)
    assert plan.simulate(plan.workload.table()).summary["finished"] == 8


@pytest.mark.parametrize("blocks", [0, 200])
def test_the_blocks_that_are_asked_for_are_those_of_each_pool(blocks):
    """On a machine of unknown memory the prompts' pool has no others."""
    plan = runs.Plan(SCENARIO, workload(count=8), knobs(), blocks, 16, 0, 50e9)
    run = plan.simulate(plan.workload.table())
    views = [run.explain(step) for step in range(int(run.summary["steps"]))]
    assert {view.pool for view in views} == {"prefill", "decode"}
    assert {view.num_blocks for view in views} == {run.facts.num_blocks}
    assert blocks in (0, run.facts.num_blocks)


@pytest.mark.parametrize(
    ("pools", "label", "holds"), [("1", "KV blocks", "The"), ("2", "KV blocks in each pool", "Each")]
)
def test_the_control_says_whose_blocks_it_counts(pools, label, holds):
    at = open_page("scheduler", hardware="mi325x", pools=pools, kv_blocks=4000, requests=5)
    at.session_state["scheduler_more"] = True
    said = everything(ran(at))
    assert label in [slider.label for slider in at.select_slider]
    assert f"{holds} pool holds 4,000 KV blocks of 16 tokens" in said
    assert ("KV blocks in use in the step's pool, of 4,000" in said) == (pools == "2")
    assert ("in use in a pool;" in said) == (pools == "2")


def test_an_upload_is_read_or_refused_in_a_sentence():
    read = workloads.read_upload(b"arrival_s,prompt_tokens,output_tokens\n0,10,3\n1,20,4\n")
    assert read["id"].tolist() == ["r0", "r1"]
    for junk in (b"", b"hello", b"arrival_s,prompt_tokens,output_tokens\n0,ten,3\n", b"\xff\xfe\x00", b"{" * 5000):
        with pytest.raises(cm.ConfigError):
            workloads.read_upload(junk)


def test_exports_hold_the_run():
    a = side()
    trace = json.loads(json.dumps(serving.chrome_trace(a.run)))
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X" and event["pid"] == 1]
    assert len(spans) == len(a.run.timeline)
    assert sum(event["dur"] for event in spans) / 1e6 == pytest.approx(
        (a.run.timeline["end_s"] - a.run.timeline["start_s"]).sum()
    )
