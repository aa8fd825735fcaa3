"""What the Roofline page says of its numbers: each line of the derivation comes to what it claims, in any scenario."""

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import costmodel as cm
from costmodel.operations import Count
from pages.parts.components import plain as words_of
from pages.parts.scenario import Scenario
from pages.roofline import words
from pages.roofline.arithmetic import arithmetic
from pages.roofline.numbers import Roofline
from tests.pages import derived
from tests.pages.opened import plain


def roofline(**asked: Any) -> Roofline:
    """A page's numbers: the scenario by names and formats, the workload as the page's controls have it."""
    a = {"model": "qwen3-0.6b", "hardware": "h100-sxm", "weights": None, "kv": None, "gpus": 1} | asked
    precision = cm.Precision(weights=a["weights"], kv=a["kv"])
    scenario = Scenario(cm.model(a["model"]), cm.hardware(a["hardware"]), precision, a["gpus"])
    workload = {"batch": 1, "prompt": 500, "context": 2048, "count": "weights"}
    return Roofline(scenario, **{name: a.get(name, value) for name, value in workload.items()})


scenarios = st.fixed_dictionaries(
    {
        "model": st.sampled_from(cm.model()),
        "hardware": st.sampled_from(["h100-sxm", "a100-sxm-80", "epyc-9654", "rtx4090", "b200"]),
        "count": st.sampled_from(["weights", "attention"]),
        "gpus": st.sampled_from([1, 1, 2, 4, 8, 16]),
        "weights": st.sampled_from([None, "int4", "fp8"]),
        "kv": st.sampled_from([None, "fp8"]),
        "batch": st.sampled_from([1, 2, 64, 512, 1000]),
        "prompt": st.sampled_from([1, 2, 100, 500, 8000]),
        "context": st.sampled_from([1, 2048, 100_000]),
    }
)


def drawn(asked: dict[str, Any]) -> Roofline:
    """What was drawn, unless so many GPUs cannot share the heads."""
    r = roofline(**asked)
    try:
        _ = r.decode
    except cm.ConfigError:
        reject()
    return r


def said(r: Roofline) -> str:
    """All that the page says in words."""
    parts = [words.headline(r), words.below_picture(r), words.time_alt(r), words.roof_alt(r), words.under_the_roof(r)]
    parts += [part for line in arithmetic(r) for part in (line.name, line.expression, line.result)]
    parts += [part for figure in words.figures(r) for part in (figure.name, figure.value)]
    parts += [words.below_table(r, step) for step in r.steps]
    return plain(" | ".join(words_of(part) for part in parts))


@given(scenarios)
def test_each_line_comes_to_what_it_claims(asked: dict[str, Any]) -> None:
    r = drawn(asked)
    always = ["arithmetic", "bandwidth", "throughput", "step", "prefill", "ridge B*"]
    idle = "arithmetic idle" if r.waiting_for_memory else "memory idle"
    assert derived.wrong(arithmetic(r), idle, *always, *["bytes"] * r.counts_caches) == []
    assert not re.search(r"(?<![\d.,])1 (tokens|bytes|sequences|caches|states|positions|cached tokens)\b", said(r))


@pytest.mark.parametrize(
    ("count", "batch", "lines"),
    [
        ("weights", 512, {"memory idle": "1 − 356 µs ÷ (1.2 µs × 512)"}),
        ("attention", 64, {"caches": "64 sequences × (2,048 read + 1 written) × 114,688 bytes"}),
    ],
)
def test_lines_are_written_as_they_are_to_be_read(count: Count, batch: int, lines: dict[str, str]) -> None:
    written = {line.name: plain(words_of(line.expression)) for line in arithmetic(roofline(count=count, batch=batch))}
    assert {name: written[name] for name in lines} == lines


@given(scenarios)
def test_a_time_of_the_prompt_is_called_a_bound_where_it_is_one(asked: dict[str, Any]) -> None:
    r = drawn({**asked, "count": "weights"})
    is_one = r.prefill.seconds <= r.prefill_with_caches.seconds
    assert ("is a bound too" in said(r), "no bound" in said(r)) == (is_one, not is_one)


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        (500, "has the LM head on all 500 positions, so its 602 µs is the post's count and no bound; the bound is"),
        (100, "this count's 356 µs is a bound too; with all that it needs counted, the bound is 359 µs."),
        (1, "this count's 356 µs is a bound too."),
    ],
)
def test_the_post_s_count_of_a_prompt_is_told_from_a_bound(prompt: int, told: str) -> None:
    assert told in said(roofline(prompt=prompt))


def test_states_are_counted_apart_from_caches() -> None:
    r = roofline(model="qwen3-next-80b-a3b", count="attention", batch=8)
    kept = {line.name: plain(words_of(line.result)) for line in arithmetic(r)}
    caches, state = 8 * 2049 * r.scenario.model.kv_bytes_per_token, 8 * 2 * r.scenario.model.state_bytes
    assert (kept["caches"], kept["states"]) == ("403 MB", "1.24 GB")
    assert r.decode.kv_bytes == pytest.approx(caches + state)
    assert r.decode.state_bytes == pytest.approx(state)
    assert "each sequence brings its own cache of 2,048 tokens and state." in said(r)
    assert "weights + caches and states read" in said(r)


@pytest.mark.parametrize("count", ["weights", "attention"])
def test_a_model_of_states_has_no_cache_and_nothing_cached(count: Count) -> None:
    r = roofline(model="mamba-2.8b", count=count, batch=4, context=1)
    assert "cache" not in said(r)
    assert "4 states" in said(r) or "its own state" in said(r)


@pytest.mark.parametrize("model", ["mixtral-8x7b", "qwen3-0.6b"])
def test_experts_are_not_read_once_for_all(model: str) -> None:
    dense = "The weights are read once for all" in said(roofline(model=model, count="attention", batch=8))
    assert dense == (model == "qwen3-0.6b")


@pytest.mark.parametrize(("layers", "said"), [(1, "1 block × "), (28, "28 blocks × ")])
def test_one_block_is_not_several(layers: int, said: str) -> None:
    model = cm.model("qwen3-0.6b")
    (layer, _), *_ = model.layers
    r = replace(
        roofline(),
        scenario=Scenario(replace(model, layers=((layer, layers),)), cm.hardware("h100-sxm"), cm.Precision()),
    )
    (line,) = [line for line in arithmetic(r) if line.name == "P"]
    assert plain(line.expression).startswith(said)
