"""The Shapes page without a browser: what its pictures are given, what it says, and what its controls do."""

from __future__ import annotations

import doctest
import json
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

import costmodel as cm
from costmodel.shapes import Gap, Run, Shape, abbreviate, layer_kinds
from pages.parts import format, state
from pages.parts.scenario import Scenario, what_if
from pages.shapes import moves, pictures, scenes, words, words_batch, words_run
from pages.shapes.numbers import Shapes
from tests.pages.app import figures, notices, open_app, text

QWEN, H100 = cm.model("qwen3-0.6b"), cm.hardware("h100-sxm")
LETTERS = {"n": "new", "c": "cached", "m": "masked", "o": "outside", "a": "absent", "s": "some"}


def numbers(model: cm.Model = QWEN, **changes: Any) -> Shapes:
    """The page's numbers as it opens, with some changed."""
    scenario = Scenario(model, H100, cm.Precision())
    opening: dict[str, Any] = {
        "tokens": 6,
        "rows": 1,
        "kind": 0,
        "run": Run(20, 200),
        "step": 0,
        "lengths": (5, 2, 7, 4),
        "chunk": 4,
        "chunk_cached": 3,
        "count": "weights",
    }
    return Shapes(scenario, **{**opening, **changes})


def expanded(runs: str) -> list[str]:
    """What a browser makes of run-length text."""
    return [LETTERS[letter] for letter, count in re.findall(r"([a-z])(\d+)", runs) for _ in range(int(count))]


def listed(runs: list[list[int]]) -> list[Any]:
    """What a browser makes of runs of positions."""
    return [p for start, stop, *gap in runs for p in ([Gap(start, stop)] if gap else range(start, stop))]


def spoken(parts: Any) -> str:
    """The words of a text made of parts."""
    return str(words_of(parts)).replace("\u00a0", " ")


def words_of(parts: Any) -> str:
    if isinstance(parts, list):
        return "".join(words_of(part) for part in parts)
    return str(getattr(parts, "text", parts))


# ---- what the pictures are given ------------------------------------------------------------------------------------


def counts(cells: pictures.Json) -> dict[str, Counter[str]]:
    """Cells that a picture will draw, gaps counted as one."""
    return {
        "rows": Counter(expanded(cells["rowStates"])),
        "store": Counter(expanded(cells["storeStates"])),
        "scores": Counter(state for row in cells["scoreStates"] for state in expanded(row)),
    }


def test_the_first_picture_is_the_posts():
    scene = scenes.step(numbers(), equal=False)
    prefill, decode = (counts(panel) for panel in scene["panels"])
    assert prefill == {"rows": {"new": 6}, "store": {"new": 6}, "scores": {"new": 21, "masked": 15}}
    assert decode == {
        "rows": {"new": 1, "absent": 5},
        "store": {"new": 1, "cached": 5},
        "scores": {"new": 6, "absent": 30},
    }
    assert scene["words"] == ["The", "cache", "is", "what", "split", "it"]
    assert [panel["title"] for panel in scene["panels"]] == ["Prefill", "Decode"]
    assert scene["alt"] == (
        "Prefill: 6 rows through the block, 21 scores computed for each head (15 masked); 6 new keys and values. "
        "Decode: 1 row through the block, 6 scores computed for each head; 1 new key and value beside 5 read from "
        "the cache."
    )


def test_matrices_carry_their_true_sizes():
    panel = scenes.step(numbers(), equal=False)["panels"][0]
    assert {lane["label"]: lane["features"] for lane in panel["lanes"]} == {"q": 2048, "out": 1024, "MLP": 3072}
    assert [(edge["name"], edge["features"], edge["each"]) for edge in panel["edges"]] == [
        ("keys", 1024, "8 × 128 a token"),
        ("values", 1024, "8 × 128 a token"),
    ]
    assert panel["squares"] == 16


def test_a_window_is_seen_only_where_the_sentence_is_longer():
    n = numbers(cm.model("gemma-3-1b"), tokens=1000)
    assert words.layer_name(n.layer) == "window of 512"
    decode = scenes.step(n, equal=False)["panels"][1]
    # pieces 0..487 outside, 488..998 cached, 999 new share 24 cells: 11, 12 and 1, each gap being one of them
    assert counts(decode)["store"] == {"outside": 11, "cached": 12, "new": 1}
    assert n.other.cells("keys") == {"outside": 1000 - 512, "cached": 511, "new": 1}


def test_latent_attention_and_states_are_drawn_as_they_are():
    latent = scenes.step(numbers(cm.model("deepseek-v3"), kind=1), equal=False)["panels"][0]
    assert [edge["name"] for edge in latent["edges"]] == ["latent"]
    assert latent["mlp"] == "8 of 256 experts, and the shared"
    recurrent = scenes.step(numbers(cm.model("qwen3-next-80b-a3b")), equal=False)["panels"][0]
    assert recurrent["edges"] == []
    assert recurrent["squares"] == 0
    assert "heads" in recurrent["state"]


@given(st.integers(1, 300), st.integers(0, 300), st.integers(6, 40))
def test_what_is_sent_is_what_is_known(new, cached, limit):
    shape = Shape(QWEN.layers[0][0], 1024, new, cached)
    rows, columns = shape.rows(limit), shape.columns(limit)
    sent = pictures.cells(shape, rows=rows, columns=columns)
    assert listed(sent["rows"]) == list(rows)
    assert listed(sent["columns"]) == list(columns)
    assert expanded(sent["storeStates"]) == list(shape.store_states(columns))
    for row, text_ in zip(rows, sent["scoreStates"], strict=True):
        assert expanded(text_) == list(shape.score_states(row, columns))


@pytest.mark.parametrize("name", cm.model())
def test_every_layer_of_every_model_can_be_drawn(name):
    model = cm.model(name)
    for kind in range(len(layer_kinds(model))):
        n = numbers(model, kind=kind, run=Run(3, 3), tokens=40)
        scene = [scenes.step(n, equal=True), scenes.run(n, equal=False, measure="seconds"), scenes.gathered(n)]
        json.dumps([*scene, scenes.mixed(n), scenes.head_groups(n)], allow_nan=False)
        assert words_of(words.headline(n))
        assert words_of(words_batch.gathered(n))
        assert words_batch.who_reads(n)
        assert words_of([line.result for line in words.arithmetic(n)])


def test_heads_of_all_kinds():
    grouped = scenes.head_groups(numbers())
    assert (grouped["count"], grouped["each"]) == (8, 2)
    assert grouped["names"] == ["keys", "values"]
    latent = scenes.head_groups(numbers(cm.model("deepseek-v3")))
    assert (latent["count"], latent["each"]) == (1, 128)
    assert latent["names"] == ["latent"]
    assert listed(latent["readers"]) == list(abbreviate(128, 6))
    assert scenes.head_groups(numbers(cm.model("mamba-2.8b"))) is None


# ---- a run ----------------------------------------------------------------------------------------------------------


def test_a_run_is_sent_whole():
    scene = scenes.run(numbers(), equal=False, measure="rows")
    assert [step["phase"] for step in scene["steps"]] == ["prefill"] + ["decode"] * 199
    assert len(scene["wide"]) == len(scene["narrow"]) == 200
    for i, frame in enumerate(scene["wide"]):
        assert len(listed(frame["columns"])) == 20 + i  # never abbreviated: one row has room
        assert expanded(frame["storeStates"]).count("new") == (1 if i else 20)
    assert all(len(listed(frame["columns"])) <= 24 for frame in scene["narrow"])
    assert sum(scene["triangle"]["without"]) == 23_900
    assert sum(scene["triangle"]["kept"]) == 219
    assert scene["triangle"]["saved"] == "not needed with a cache: 23,681 rows"


def test_the_bill_is_the_sum_of_the_prices():
    bill = scenes.run(numbers(count="attention"), equal=False, measure="rows")["bill"]
    rows = {row["name"]: row for row in bill["rows"]}
    steps = [cm.Step.prefill(20)] + [cm.Step.decode(1, 20 + i) for i in range(199)]
    costs = [cm.price(QWEN, H100, step, count="attention") for step in steps]
    for i in (0, 1, 100, 199):
        assert rows["bytes"]["here"][i] == str(format.gigabytes(costs[i].bytes))
        assert rows["floor"]["soFar"][i] == str(format.seconds(sum(cost.seconds for cost in costs[: i + 1])))
        assert rows["arithmetic"]["soFar"][i] == str(format.flop(sum(cost.flops for cost in costs[: i + 1])))
    assert bill["split"]["prefill"][199] == str(format.seconds(costs[0].seconds))
    np.testing.assert_allclose(
        bill["split"]["prefillShare"][199], costs[0].seconds / sum(cost.seconds for cost in costs), rtol=1e-3
    )


def test_a_run_of_one_token_has_no_decodes():
    n = numbers(run=Run(5, 1))
    scene = scenes.run(n, equal=False, measure="seconds")
    assert len(scene["steps"]) == 1
    assert scene["triangle"]["decode"] == ""
    assert scene["triangle"]["saved"] == "the same without a cache"
    assert "0 decodes" in spoken(words_run.intro(n))


@pytest.mark.parametrize(
    ("top", "ticks"), [(219, [0, 100, 200]), (0, [0]), (3, [0, 1, 2, 3]), (6e-4, [0, 2e-4, 4e-4, 6e-4])]
)
def test_ticks_are_round(top, ticks):
    assert scenes.round_ticks(top) == pytest.approx(ticks)


# ---- what is said ---------------------------------------------------------------------------------------------------


def test_the_headline_says_the_numbers():
    assert spoken(words.headline(numbers())) == (
        "Prefill sends six rows through the block, decode sends one. "
        "Each computes as many new keys and values as it has rows: 6 and 1."
    )
    assert "a step between sends three. " in spoken(words.headline(numbers(rows=3)))
    assert "all at once. It computes as many new keys and values as it has rows: 6." in spoken(
        words.headline(numbers(rows=6))
    )
    assert "new latents" in spoken(words.headline(numbers(cm.model("deepseek-v3"))))
    assert spoken(words.headline(numbers(cm.model("mamba-2.8b")))).endswith("it keeps a state of fixed size.")


@pytest.mark.parametrize(
    ("changes", "bound"),
    [
        ({"run": Run(1000, 1)}, False),
        ({"run": Run(2000, 2)}, False),
        ({"run": Run(1000, 300)}, True),  # what its decodes leave out is more than the head on its prompt
        ({"run": Run(20, 200)}, True),
        ({"run": Run(1000, 1), "count": "attention"}, True),
    ],
)
def test_a_run_is_called_a_floor_where_it_is_one(changes, bound):
    n = numbers(**changes)
    steps = n.run.with_cache()
    counted = sum(np.sum(cm.price(QWEN, H100, step, count=n.count).seconds) for step in steps)
    least = sum(np.sum(cm.price(QWEN, H100, step, count="attention").seconds) for step in steps)
    assert (counted <= least) == bound
    said = spoken(words_run.intro(n))
    assert (f"cannot take less than {spoken(format.seconds(counted))}" in said) == bound
    assert (f"the bound is {spoken(format.seconds(least))}" in said) == (not bound)
    names = [row["name"] for row in scenes.run(n, equal=False, measure="rows")["bill"]["rows"]]
    runs = zip((n.kept, n.repeated), n.run_bounds, strict=True)
    assert ("floor" in names) == all(np.all(priced.seconds <= bound.seconds) for priced, bound in runs)


@pytest.mark.parametrize(
    ("tokens", "count", "bound"), [(6, "weights", True), (1000, "weights", False), (1000, "attention", True)]
)
def test_a_step_is_called_a_floor_where_it_is_one(tokens, count, bound):
    n = numbers(tokens=tokens, chunk=tokens, count=count)
    least = cm.price(QWEN, H100, cm.Step.prefill(tokens), count="attention").seconds
    assert (n.prefill_cost.seconds <= least) == bound
    assert ("floor of the step" in [figure.name for figure in words.figures(n)]) == bound
    assert ("no bound" in words.below_picture(n, equal=False)) == (not bound)
    assert ("at least" in spoken(words_batch.mixed(n))) == bound


@pytest.mark.parametrize(
    ("hardware", "model", "run", "hardly"),
    [
        ("m1-max", "gpt2", Run(4096, 1), False),
        ("h100-sxm", "qwen3-0.6b", Run(20, 1), False),
        ("h100-sxm", "qwen3-0.6b", Run(300, 2), False),
        ("h100-sxm", "qwen3-0.6b", Run(20, 200), True),
    ],
)
def test_that_steps_wait_for_the_weights_is_said_of_runs_whose_steps_do(hardware, model, run, hardly):
    n = replace(numbers(run=run), scenario=Scenario(cm.model(model), cm.hardware(hardware), cm.Precision()))
    bounds = [
        cm.price(n.scenario.model, n.scenario.hardware, step, count="weights").bound for step in run.without_cache()
    ]
    assert hardly == (run.decodes > 0 and set(np.ravel(bounds)) == {"memory"})
    assert ("hardly" in spoken(words_run.triangle(n))) == hardly


@pytest.mark.parametrize("name", cm.model())
def test_of_the_chunk_the_arithmetic_is_free_and_experts_are_not(name):
    """Below the crossing a chunk makes a step of a mixture longer than that of the decodes alone, and no other's."""
    n = numbers(cm.model(name))
    alone, together = (n.price(step).seconds for step in (n.gathered.step, n.mixed.step))
    said = spoken(words_batch.mixed(n))
    assert "the arithmetic of the chunk is free" in said
    assert ("but not the experts of its own that it brings" in said) == (together > alone * (1 + 1e-9))
    assert ("are read once" in spoken(words_batch.gathered(n))) == (together <= alone * (1 + 1e-9))


@pytest.mark.parametrize("name", cm.model())
def test_a_decode_finds_what_its_layer_keeps(name):
    model = cm.model(name)
    for kind in range(len(layer_kinds(model))):
        n = numbers(model, kind=kind)
        below, head = words.below_picture(n, equal=False), spoken(words.headline(n))
        if "it keeps a state" in head:
            assert "one token over a state that is already there" in below
        else:
            assert ("one token over" in below) == bool(n.prefill.block("keys") or n.prefill.block("latent"))
    assert ("The states, " in spoken(words_batch.gathered(n))) == (not model.kv_values_per_token)


@pytest.mark.parametrize("name", cm.model())
def test_a_step_of_several_has_squares_stores_and_ends_to_drag_only_where_its_layer_has(name):
    model = cm.model(name)
    for kind in range(len(layer_kinds(model))):
        n = numbers(model, kind=kind)
        squares, state_ = n.other.block("scores") is not None, n.other.block("state") is not None
        scenes_ = [scenes.gathered(n), scenes.mixed(n)]
        for one in [one for scene in scenes_ for one in (*scene["decodes"], *scene["fixed"])]:
            assert (bool(one["columns"]), bool(one["edges"]), bool(one["state"])) == (squares, squares, state_)
            assert ("cached" in one["note"]) == bool(model.kv_values_per_token)
        said = spoken(words_batch.gathered(n))
        assert ("Drag the end of a store" in said) == squares
        assert ("at these lengths" in said) == bool(model.kv_values_per_token)
        drawn = " ".join([words_batch.title(n), *(scene[key] for scene in scenes_ for key in ("alt", "apart"))])
        assert ("squares" in drawn, "states" in drawn) == (squares, state_)
        assert ("cached" in drawn) == bool(model.kv_values_per_token)
        run = spoken([words_run.triangle(n), words_run.triangle_alt(n)]) + str(
            scenes.run(n, equal=False, measure="rows")
        )
        assert ("out a cache" in run, "out a state" in run) == (
            bool(model.kv_values_per_token),
            not model.kv_values_per_token,
        )


def test_one_is_not_several():
    n = numbers(run=Run(1, 1), tokens=2, chunk=1, lengths=(1,))
    everything = [words_run.intro(n), words_run.triangle(n), words_batch.gathered(n), words_batch.mixed(n)]
    assert not re.search(r"\b1 (rows|tokens|decodes)\b", spoken(everything))
    assert "and cannot take less" in spoken(words_run.intro(n))
    assert scenes.run(numbers(run=Run(1, 2)), equal=False, measure="rows")["triangle"]["saved"].endswith(": 1 row")


def test_below_the_crossing_the_page_says_that_no_time_is_saved():
    assert "23,900 rows instead of 219, 109 times the arithmetic, and 71.2 ms instead of 71.2 ms." in spoken(
        words_run.triangle(numbers())
    )
    assert "below 295 tokens" in spoken(words_run.triangle(numbers()))
    longer = spoken(words_run.triangle(numbers(run=Run(500, 200))))
    assert "hardly" not in longer


def test_the_two_bills_are_those_of_the_cost_model():
    step = cm.Step(new=[1, 1, 1, 1], cached=[5, 2, 7, 4])
    table = cm.price(QWEN, H100, step, count="attention").operations
    said = spoken(words_batch.gathered(numbers()))
    assert f"The caches, {str(format.gigabytes(table['kv_bytes'].sum())).replace(chr(160), ' ')} through" in said
    assert "The weights, 1.19 GB, are read once and split four ways." in said


def test_who_reads_whose_keys():
    assert words_batch.who_reads(numbers()).startswith("16 query heads over 8 KV heads: two read one store")
    assert "a token leaves 576 values" in words_batch.who_reads(numbers(cm.model("deepseek-v3")))
    assert "each has keys and values of its own" in words_batch.who_reads(numbers(cm.model("llama-2-7b")))
    assert "a state of" in words_batch.who_reads(numbers(cm.model("mamba-2.8b")))


@pytest.mark.parametrize("module", [pictures, scenes, words])
def test_examples_in_docstrings_hold(module):
    result = doctest.testmod(module)
    assert result.attempted
    assert not result.failed


# ---- the page -------------------------------------------------------------------------------------------------------


def pictured(at: AppTest, name: str) -> Any:
    """What one picture of the page is given."""
    return next(
        json.loads(element.proto.json)
        for element in at.get("bidi_component")
        if element.proto.component_name == f"shapes_{name}"
    )


def test_the_page_opens_with_its_five_numbers():
    at = open_app("shapes")
    assert not at.exception
    assert figures(at) == {
        "rows in the step, T": "6 → 1",
        "cached tokens read": "0 → 5",
        "bytes read": "1.19 GB",
        "floor of the step": "356 µs",
        "arithmetic": "7.15 → 1.19 GFLOP",
    }
    assert "cannot take less than 71.2 ms" in text(at)
    assert [panel["new"] for panel in pictured(at, "step")["panels"]] == [6, 1]


def test_controls_reach_the_pictures():
    at = open_app(
        "shapes",
        tokens=8,
        rows=3,
        cells="equal",
        lengths="1.2",
        run_prompt=10,
        run_tokens=4,
        run_step=2,
        count="attention",
    )
    assert not at.exception
    step = pictured(at, "step")
    assert step["equal"]
    assert [(panel["new"], panel["cached"]) for panel in step["panels"]] == [(8, 0), (3, 5)]
    run = pictured(at, "run")
    assert (run["step"], len(run["steps"])) == (2, 4)
    assert pictured(at, "gathered")["lengths"] == [1, 2]
    assert "bytes moved" in figures(at)


def test_an_answer_sets_the_controls():
    at = open_app("shapes", run_step=9)
    at.button(key="shapes_question_0_set").click().run()
    assert [(panel["new"], panel["cached"]) for panel in pictured(at, "step")["panels"]] == [(6, 0), (3, 3)]
    at.button(key="shapes_question_2_set").click().run()
    assert at.session_state["model"] == "gemma-3-1b"
    assert figures(at)["cached tokens read"] == "0 → 511"
    assert not at.exception


def test_a_layer_is_chosen_where_there_are_several():
    at = open_app("shapes", model="gemma-3-1b", tokens=1000)
    at.selectbox(key="layer_choice").select(1).run()
    assert not at.exception
    assert figures(at)["cached tokens read"] == "0 → 999"
    assert at.query_params["layer"] in ("1", ["1"])


def test_what_a_link_asks_beyond_the_end_is_cut_to_fit():
    at = open_app("shapes", tokens=4, rows=9, run_tokens=5, run_step=400, layer=7)
    assert not at.exception
    assert [panel["new"] for panel in pictured(at, "step")["panels"]] == [4, 4]
    assert pictured(at, "run")["step"] == 4


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("lengths", "0.99"),
        ("lengths", "1.2.3.4.5.6.7.8.9"),
        ("lengths", "<b>"),
        ("run_step", "-1"),
        ("cells", "round"),
        ("chunk", "x"),
    ],
)
def test_a_bad_link_is_told_and_the_default_used(key, value):
    at = open_app("shapes", **{key: value})
    assert not at.exception
    assert any(key in notice for notice in notices(at))


def test_an_estimate_counts_everything_and_says_so():
    at = open_app("shapes", rates="calibrated")
    assert not at.exception
    assert "estimate of the step" in figures(at)
    assert "and take about" in text(at)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [(57, 57), (57.0, 57), (-1, None), (1e9, None), ("<b>", None), (None, None), ([3], None), (float("nan"), None)],
)
def test_a_step_that_the_browser_sends_is_checked(monkeypatch, sent, kept):
    session: dict[str, Any] = {"shapes_run": {"step": sent}}
    monkeypatch.setattr(moves.st, "session_state", session)
    moves.step_moved()
    assert session.get("run_step") == kept


@pytest.mark.parametrize(
    ("sent", "kept"),
    [([5, 2], (5, 2)), ([], None), ([99], None), ("ab", None), (7, None), (None, None), ([1] * 9, None)],
)
def test_lengths_that_the_browser_sends_are_checked(monkeypatch, sent, kept):
    session: dict[str, Any] = {"shapes_gathered": {"lengths": sent}}
    monkeypatch.setattr(moves.st, "session_state", session)
    moves.lengths_moved()
    assert session.get("lengths") == kept


def test_every_stop_that_a_drag_may_reach_is_in_the_data():
    scene = scenes.gathered(numbers())
    control = state.CONTROLS["lengths"]
    assert len(scene["decodes"]) == control.high
    assert scene["mostSequences"] == control.most
    for cached, one in enumerate(scene["decodes"], 1):
        assert counts(one)["store"] == {"new": 1, "cached": cached}


@pytest.mark.parametrize(
    ("name", "parts"),
    [("qwen3-0.6b", "weights caches"), ("jamba-1.5-mini", "weights caches states"), ("mamba-2.8b", "weights states")],
)
def test_the_bytes_of_a_step_are_called_what_they_are_and_add_up(name, parts):
    n = numbers(cm.model(name), count="attention")
    found = re.findall(r"(\w+) ([\d.]+)\s(\w?)B", words._bytes_expression(n, n.other_cost))
    assert [part for part, _, _ in found] == parts.split()
    scale = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}
    assert sum(float(size) * scale[unit] for _, size, unit in found) == pytest.approx(n.other_cost.bytes, rel=5e-3)


def test_a_run_without_decodes_repeats_nothing():
    assert spoken(words_run.triangle(numbers(run=Run(10, 1)))).startswith("Nothing is repeated here: ")


def test_one_layer_is_not_several():
    n = numbers(cm.model("deepseek-v2-lite"))
    assert "1 of 27 layers is like this" in words.below_picture(n, equal=True)
    assert (
        "latent attention (1 layer)"
        in open_app("shapes", model="deepseek-v2-lite").selectbox(key="layer_choice").options
    )


def test_where_no_row_is_free_none_is_said_to_be():
    hw = what_if(cm.hardware("epyc-9654"), 4, 0.25, 1)
    n = replace(numbers(), scenario=Scenario(cm.model("qwen3-8b"), hw, cm.Precision(weights="int4")))
    assert n.crossing == 1
    said = spoken(words_batch.mixed(n))
    assert "from the first row on" in said
    assert "Up to" not in said


@pytest.mark.parametrize(
    ("model", "note"),
    [("mamba-2.8b", "5,120 channels × 19 values"), ("qwen3-next-80b-a3b", "heads ×"), ("qwen3-0.6b", "")],
)
def test_a_state_is_noted_in_channels_where_it_has_no_heads(model: str, note: str) -> None:
    found = cm.model(model)
    shape = Shape(layer=found.layers[0][0], hidden=found.hidden, new=1, cached=5)
    said = pictures.panel(shape, rows=shape.rows(8), columns=())["state"]
    assert note in said
    assert bool(said) == bool(note)
