"""The Overview: its numbers against the cost model, its picture drawn, its way into every page."""

import re
from pathlib import Path
from typing import Any

import pytest

import costmodel as cm
from live import store
from pages.memory.numbers import Memory
from pages.overview import words
from pages.overview.chart import ride_spec
from pages.overview.numbers import Overview
from pages.parts.components import plain
from pages.parts.expected import SPREAD
from pages.parts.scenario import Scenario
from tests.live.samples import h100, made_up, processor
from tests.pages import app, drawing
from tests.pages.opened import alt, go, open_page

SCENARIOS = [
    ("qwen3-0.6b", "h100-sxm"),
    ("llama-3.1-70b", "h200-sxm"),
    ("mixtral-8x7b", "b200"),
    ("deepseek-v3", "h100-sxm"),
    ("qwen3-0.6b", "m4-max"),
    ("qwen3-0.6b", "rubin-r200"),
]


def overview(
    model: str, hardware: str | cm.Hardware, batch: int = 1, prompt: int = 500, context: int = 2048, **memory: Any
) -> Overview:
    hw = hardware if isinstance(hardware, cm.Hardware) else cm.hardware(hardware)
    scenario = Scenario(cm.model(model), hw, cm.Precision())
    return Overview(scenario, batch, prompt, context, Memory(scenario, batch, context, **memory))


def test_the_numbers_of_the_post_stand_in_its_sentence() -> None:
    said = app.text(open_page(""))
    assert (
        "A step of Qwen3-0.6B on H100 SXM reads 1.19 GB in 356 µs, however many tokens ride along. "
        "Each token adds 1.2 µs of arithmetic, so the first 295 share one wait." in said
    )
    assert "295 FLOP/B ridge of the machine" in said


def test_every_other_page_is_led_to_with_the_state_of_this_one() -> None:
    at = open_page("", model="llama-3.1-8b", batch=32)
    pages = [page for page in at.session_state["_pages"] if page.url_path]
    links = {
        link.proto.page: dict(re.findall(r"(\w+)=([^&]*)", link.proto.query_string)) for link in at.get("page_link")
    }
    assert set(links) == {page.url_path for page in pages}
    assert all(query["model"] == "llama-3.1-8b" and query["batch"] == "32" for query in links.values())


@pytest.mark.parametrize(("model", "hardware"), SCENARIOS[:5])
def test_the_figures_are_the_cost_models(model: str, hardware: str) -> None:
    o = overview(model, hardware, batch=48, context=4096)
    hw = cm.hardware(hardware)
    caches = cm.price(cm.model(model), hw, cm.Step.decode(48, 4096))
    assert o.decode.seconds == cm.price(cm.model(model), hw, cm.Step.decode(48, 4096), count="weights").seconds
    assert o.with_caches.seconds == caches.seconds
    assert o.stall == cm.price(cm.model(model), hw, cm.Step.mixed(500, 0, 48, 4096)).seconds / caches.seconds
    assert o.lines.set_index("t").seconds[48] == o.decode.seconds
    shown = plain(words.batching(o).figure)
    assert float(shown.split("\u00a0")[0].replace(",", "")) > 0
    for lead in words.LEADS.values():
        assert plain(lead(o).about).endswith(".")
        assert plain(lead(o).figure)


def test_what_no_figure_can_be_given_for_is_said() -> None:
    assert words.memory(overview("qwen3-0.6b", "rubin-r200")).what == "usable memory not published"
    assert words.memory(overview("deepseek-v3", "h100-sxm")).what == "the weights alone do not fit"
    assert words.measure(overview("qwen3-0.6b", "h100-sxm")).figure == "not yet"


def test_a_machine_that_never_waits_for_memory_says_so() -> None:
    o = overview("qwen3-0.6b", "h100-sxm")
    slow = o.scenario.hardware.replace(peak={"bf16": 1e12})
    hurried = overview("qwen3-0.6b", slow)
    assert plain(words.headline(hurried)).endswith("so no token is free.")
    assert (
        drawing.collisions(drawing.svg(ride_spec(), {"frame": hurried.frame, "lines": hurried.lines}, width=800)) == []
    )


@pytest.mark.parametrize("width", [300, 1100])
@pytest.mark.parametrize(("model", "hardware"), SCENARIOS[:5])
def test_no_two_labels_meet_wherever_the_batch_is_dragged(model: str, hardware: str, width: int) -> None:
    for prompt in (30, 500, 8000):
        o = overview(model, hardware, prompt=prompt)
        for batch in {1, o.most // 3, o.most}:
            drawn = drawing.svg(ride_spec(), {"frame": o.frame, "lines": o.lines}, width=width, batch=max(batch, 1))
            assert drawing.collisions(drawn) == [], (prompt, batch)


def test_the_picture_says_its_figures() -> None:
    at = open_page("", batch=64)
    assert alt(at) == (
        "Time of a step of Qwen3-0.6B on H100 SXM against the tokens in it. The weights take 356 µs for one token, its "
        "arithmetic 1.2 µs. They cross at 295 tokens, and from there each token is waited for. 64 sequences decoding: "
        "356 µs a step, 5.56 µs a token. Prefill of 500: 602 µs."
    )


@pytest.mark.parametrize(("model", "hardware"), SCENARIOS[:5])
@pytest.mark.parametrize("prompt", [1, 100, 500, 8000])
def test_a_prompt_in_the_post_s_count_is_called_a_bound_only_where_it_is_one(
    model: str, hardware: str, prompt: int
) -> None:
    o = overview(model, hardware, prompt=prompt)
    bound = cm.price(cm.model(model), cm.hardware(hardware), cm.Step.prefill(prompt))
    said = plain(words.below(o))
    is_one = o.prefill.seconds <= bound.seconds
    assert ("is a bound too" in said, "no bound" in said) == (is_one, not is_one)
    assert (SPREAD in said) == bound.expects_experts


def test_the_page_says_that_its_prompt_is_no_bound() -> None:
    """440.4 M parameters of blocks on 500 tokens, the head on one and the square: 474 µs on 989.4 TFLOP/s."""
    said = app.text(open_page(""))
    assert "on all 500 positions, so its 602 µs is the post's count and no bound; the bound is 474 µs." in said


def test_another_source_adds_its_sentence_and_leaves_the_floor() -> None:
    said = app.text(open_page("", rates="calibrated", batch=8))
    assert re.search(r"356 µs.*For 8 sequences, with their caches, a step is estimated at [\d.]+ ms\.", said)


@pytest.mark.parametrize(
    ("device", "badge"),
    [(processor(), "● live in the post's count"), (h100(), "○ datasheet a floor, in the post's count")],
    ids=["no datasheet", "datasheet"],
)
def test_a_machine_of_which_nothing_is_published_has_no_floor_and_rates_measure_no_step(
    device: Any, badge: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(store.VARIABLE, str(tmp_path))
    store.keep(made_up(device, cm.model("qwen3-0.6b")))
    told = app.text(open_page("", rates="live"))
    assert badge in told
    assert re.search(r"a step is estimated at [\d.]+ .?s, by the rates measured here\.", told)
    assert ("the bound is" in told) == ("datasheet a floor" in badge)


def test_as_many_fit_as_the_memory_page_says() -> None:
    settings = {"utilization": 0.6, "reserve_gib": 16, "kv_block": 256}
    sequences = app.figures(open_page("memory", **settings))["sequences of 2,048"]
    assert f"{sequences} sequences of 2,048 fit" in app.text(open_page("", **settings))
    given = app.text(open_page("", hardware="mi325x", own_memory="mi325x:200"))
    assert "usable memory not published" not in given


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("qwen3-0.6b", "Weights are read once for all, caches once for each."),
        ("mixtral-8x7b", "A token's experts are read for it, other weights once for all, caches once for each."),
        ("mamba-2.8b", "Weights are read once for all, states once for each."),
    ],
)
def test_experts_are_not_read_once_for_all_and_states_are_no_caches(model: str, told: str) -> None:
    o = overview(model, "h100-sxm", batch=4)
    assert plain(words.batching(o).about).startswith(told)
    if model == "mamba-2.8b":
        said = [part for lead in (words.batching, words.memory) for part in (lead(o).about, lead(o).what)]
        assert not [part for part in said if "cache" in plain(part)]


@pytest.mark.parametrize(
    ("hardware", "whose"),
    [
        ("h100-sxm", ""),
        ("h200-sxm", "by rates of H100 SXM, as H200 SXM was not measured"),
        ("b200", "in part by the general rates of NVIDIA's GPUs"),
        ("epyc-9654", "by the general rates of NVIDIA's GPUs, as EPYC 9654 (1 socket) was not measured"),
    ],
)
def test_an_estimate_says_whose_rates_stand_in(hardware: str, whose: str) -> None:
    told = app.text(open_page("", hardware=hardware, batch=64))
    assert ("The estimate is" in told) == bool(whose)
    assert whose in told
    answered = app.text(open_page("", hardware=hardware, rates="calibrated"))
    assert re.search(rf"a step is estimated at [\d.]+ .?s{re.escape(', ' + whose if whose else '')}\.", answered)
    badge = "an estimate, fitted to published measurements" + (f", {whose} · " if whose else " · ")
    assert badge in app.text(open_page("roofline", hardware=hardware, rates="calibrated"))


def test_the_general_rates_are_nvidia_s() -> None:
    measured = {hw.id for name in cm.hardware() if own_rates(hw := cm.hardware(name))}
    assert measured
    assert {cm.hardware(name).vendor for name in measured} == {"NVIDIA"}


def own_rates(hw: cm.Hardware) -> bool:
    return any(fit.device == hw.id for fit in cm.calibrated(hw).fits.values())


def test_the_state_goes_along_to_another_page_and_back() -> None:
    at = go(open_page("", model="llama-3.1-8b", prompt=2000), "roofline")
    assert "Llama-3.1-8B" in app.text(at)
    assert app.link(at)["model"] == "llama-3.1-8b"
    assert "Llama-3.1-8B" in app.text(go(at, "overview"))


@pytest.mark.parametrize(("bandwidth", "peak"), [(1e9, 1e17), (1e13, 1e10), (3.35e12, 3.35e12)])
def test_machines_far_from_any_real_one_are_drawn(bandwidth: float, peak: float) -> None:
    hw = cm.hardware("h100-sxm").replace(bandwidth=bandwidth, peak={"bf16": peak})
    o = overview("qwen3-0.6b", hw)
    drawn = drawing.svg(ride_spec(), {"frame": o.frame, "lines": o.lines}, width=800)
    assert drawing.collisions(drawn) == []
    assert plain(words.headline(o)).endswith(".")
    assert o.frame.top[0] > o.lines.seconds.max()


def test_a_figure_of_one_gpu_of_several_says_so() -> None:
    query = {"model": "deepseek-v3", "hardware": "h200-sxm", "tensor_parallel": 8}
    assert "One token of DeepSeek-V3 on each of 8 H200 SXM reads 5.70 GB" in app.text(open_page("", **query))
    assert "One decode step of DeepSeek-V3 on 8 × H200 SXM cannot finish" in app.text(open_page("roofline", **query))
