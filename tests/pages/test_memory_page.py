"""The Memory page as a user meets it: its figures are those of ``cm.memory``, and its controls do what they say."""

import pytest

import costmodel as cm
from costmodel.hardware import GIB
from pages.parts import state
from pages.parts.format import gibibytes
from tests.pages.app import figures, link, markup, text
from tests.pages.opened import alt, go, notices, open_page, plain, press, ran, value
from tests.pages.shared import agree, code, computed, open_share


def gib(value: float) -> str:
    return plain(str(gibibytes(value)))


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ({}, {}),
        (
            {"model": "llama-3.1-8b", "hardware": "h200-sxm", "batch": 40, "context": 8192, "reserve_gib": 2.5},
            {"batch": 40, "context": 8192, "reserve_bytes": 2.5 * GIB},
        ),
        (
            {"model": "gemma-3-27b", "context": 131072, "allocation": "full", "kv_block": 256, "utilization": 0.95},
            {"context": 131072, "allocation": "full", "block_size": 256, "utilization": 0.95},
        ),
        (
            {
                "model": "deepseek-v3",
                "hardware": "h200-sxm",
                "tensor_parallel": 8,
                "attention_parallel": "data",
                "batch": 64,
            },
            {"tensor_parallel": 8, "attention_parallel": "data", "batch": 64},
        ),
    ],
)
def test_figures_are_those_of_the_cost_model(query: dict[str, object], asked: dict[str, object]) -> None:
    at = open_page("memory", **query)
    model, hw = cm.model(str(query.get("model", "qwen3-0.6b"))), cm.hardware(str(query.get("hardware", "h100-sxm")))
    fit = cm.memory(model, hw, **{"context": 2048, "batch": 1, **asked})  # type: ignore[arg-type]
    said = text(at)
    assert f"sequences of {asked.get('context', 2048):,} {fit.max_batch:,} longest context" in said
    assert f"longest context, B = {asked.get('batch', 1):,} {fit.max_context:,.0f} " in said
    assert said.count(gib(fit.weight_bytes)) >= 2
    assert f"{gib(fit.usable_bytes)} usable, of which {gib(fit.budget_bytes)} may be used" in alt(at)
    assert ("It fits." in alt(at)) == fit.fits
    assert not notices(at)


def test_what_does_not_fit_is_answered_with_what_would() -> None:
    at = open_page("memory", model="llama-3.1-70b", batch=16, context=8192)
    assert "Does not fit: the weights of Llama-3.1-70B take 131 GiB" in text(at)
    assert [popover.proto.popover.label for popover in at.get("popover")] == ["Share", "What would make it fit"]
    assert "so no sequence of any length does" in text(at)
    press(at, "Set 4 GPUs")
    assert value(at, "tensor_parallel") == "4"
    assert "Does not fit" not in text(at)
    fit = cm.memory(cm.model("llama-3.1-70b"), cm.hardware("h100-sxm"), context=8192, batch=16, tensor_parallel=4)
    assert f"room for {fit.max_batch} sequences of 8,192 tokens" in text(at)
    assert link(at)["tensor_parallel"] == "4"


def test_a_shorter_context_is_set_to_the_token() -> None:
    at = open_page("memory", model="llama-3.1-8b", batch=100, context=8192)
    fit = cm.memory(cm.model("llama-3.1-8b"), cm.hardware("h100-sxm"), context=8192, batch=100)
    press(at, f"Set {fit.max_context:,.0f} tokens")
    assert value(at, "context") == fit.max_context
    assert "Does not fit" not in text(at)


def test_both_bounds_are_shown_where_windows_make_a_difference() -> None:
    at = open_page("memory", model="gemma-3-27b", context=131072)
    assert "Windows: two bounds" in text(at)
    for allocation in ("windowed", "full"):
        fit = cm.memory(cm.model("gemma-3-27b"), cm.hardware("h100-sxm"), context=131072, allocation=allocation)
        assert gib(fit.sequence_bytes) in text(at)
    assert "Windows: two bounds" not in text(open_page("memory"))


def test_controls_of_windows_and_groups_stand_only_where_they_matter() -> None:
    keys = {box.key for box in open_page("memory").selectbox}
    assert keys.isdisjoint({"allocation", "attention_parallel"})
    keys = {box.key for box in open_page("memory", model="gpt-oss-20b", tensor_parallel=2).selectbox}
    assert {"allocation", "attention_parallel"} <= keys


def test_an_unknown_memory_is_said_and_can_be_given() -> None:
    at = open_page("memory", hardware="mi325x")
    assert "How much memory of MI325X a program can use is not published" in text(at)
    assert notices(at) == ["Give the usable memory of MI325X to see what fits. On the box: 256 GB, which is 238 GiB."]
    at.number_input(key="own_memory_gib").set_value(200.0)
    ran(at)
    hw = cm.hardware("mi325x").replace(memory=200 * GIB)
    fit = cm.memory(cm.model("qwen3-0.6b"), hw, context=2048, batch=1)
    assert f"sequences of 2,048 {fit.max_batch:,} " in text(at)
    assert link(at)["own_memory"] == "mi325x:200"
    assert "as you gave it" in text(at)


def test_a_memory_that_was_given_is_of_that_chip_only() -> None:
    at = open_page("memory", hardware="mi325x", own_memory="mi325x:200")
    assert "not published" not in text(at)
    at.selectbox(key="hardware").set_value("gaudi3")
    assert "How much memory of Gaudi 3 a program can use is not published" in text(ran(at))


def test_all_that_is_on_the_box_can_be_taken_at_once() -> None:
    at = press(open_page("memory", hardware="gaudi2"), "Take all 96 GB")
    fit = cm.memory(cm.model("qwen3-0.6b"), cm.hardware("gaudi2").replace(memory=96e9), context=2048, batch=1)
    assert f"sequences of 2,048 {fit.max_batch:,} " in text(at)


def test_what_if_the_memory_were_twice_as_large() -> None:
    at = open_page("memory", memory_x=2)
    hw = cm.hardware("h100-sxm")
    fit = cm.memory(cm.model("qwen3-0.6b"), hw.replace(memory=2 * (hw.memory or 0)), context=2048)
    assert f"sequences of 2,048 {fit.max_batch:,} " in text(at)


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ({"utilization": 2}, "utilization"),
        ({"utilization": "nan"}, "utilization"),
        ({"kv_block": 17}, "kv_block"),
        ({"reserve_gib": -1}, "reserve_gib"),
        ({"allocation": "<b>x</b>"}, "allocation"),
        ({"own_memory": "mi325x:1e99"}, "own_memory"),
        ({"context": 10**12}, "context"),
    ],
)
def test_a_link_with_an_impossible_value_is_told_and_ignored(query: dict[str, object], named: str) -> None:
    at = open_page("memory", **query)
    (notice,) = notices(at)
    assert notice.startswith(f"In the link, {named}: found ")
    assert named not in at.session_state or value(at, named) == state.CONTROLS[named].default
    assert "<b>x</b>" not in markup(at)


def test_questions_set_the_controls() -> None:
    at = press(open_page("memory"), "645 instead of 322: set it")
    assert value(at, "kv") == "fp8"
    assert "room for 645 sequences" in text(at)
    press(at, "Show 16 sequences of 8,192")
    assert "Does not fit: the weights of Llama-3.1-70B" in text(at)
    press(at, "Show both ways of allocating")
    assert "Windows: two bounds" in text(at)


def test_its_controls_survive_a_visit_to_another_page() -> None:
    at = open_page("memory", utilization=0.8, kv_block=64, batch=64)
    go(go(at, "model"), "memory")
    assert (value(at, "utilization"), value(at, "kv_block"), value(at, "batch")) == (0.8, "64", 64)


@pytest.mark.parametrize(
    "query",
    [
        {"model": "qwen3-235b-a22b", "hardware": "h200-sxm", "tensor_parallel": 8, "attention_parallel": "data"},
        {"model": "mamba-2.8b"},
    ],
    ids=["pools", "states"],
)
def test_its_program_counts_every_pool_and_no_tokens_where_none_are_cached(query: dict[str, object]) -> None:
    at = open_share("memory", **query)
    program, shown = computed(code(at)), figures(at)
    assert {name: text for name, text in shown.items() if not agree(text, program[name])} == {}
