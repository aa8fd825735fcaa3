"""The shapes of a step: every expected count is worked out here, cell by cell, from the sizes that the test chose."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import costmodel as cm
from costmodel.model import Attention, Experts, LatentAttention, Layer, Matrix, Mlp, Recurrent
from costmodel.shapes import (
    Gap,
    Heads,
    Run,
    Shape,
    abbreviate,
    bill,
    gather,
    heads,
    layer_kinds,
)

QWEN, H100 = cm.model("qwen3-0.6b"), cm.hardware("h100-sxm")
PLAIN, HIDDEN = QWEN.layers[0][0], QWEN.hidden

LATENT = LatentAttention(heads=128, kv_rank=512, rope_dim=64, nope_dim=128, v_dim=128, q_rank=1536)
RECURRENT = Recurrent(
    kind="gated_deltanet",
    projections=(Matrix("in", "qkv", 2048, 12288), Matrix("gates", "gates", 2048, 64), Matrix("o", "o", 4096, 2048)),
    heads=32,
    recurrence_values=524_288,
    conv_values=24_576,
    flops_per_token=1e6,
    source="of this test",
)


def layer(**attention) -> Layer:
    return Layer(mixer=Attention(q_heads=16, kv_heads=8, head_dim=128, **attention), mlp=Mlp(width=3072))


VIEWS = st.one_of(
    st.just({}),
    st.integers(1, 12).map(lambda w: {"window": w}),
    st.integers(1, 12).map(lambda c: {"chunk": c}),
)
SHAPES = st.builds(
    lambda view, new, cached: Shape(layer(**view), HIDDEN, new, cached), VIEWS, st.integers(1, 40), st.integers(0, 40)
)


def state_of_score(shape: Shape, query: int, key: int) -> str:
    """What one cell of the square is, from the words of the mask alone."""
    mixer = shape.layer.mixer
    if key > query:
        return "masked"
    too_old = (mixer.window and query - key >= mixer.window) or (
        mixer.chunk and query // mixer.chunk != key // mixer.chunk
    )
    return "outside" if too_old else "new"


def square(shape: Shape) -> list[list[str]]:
    """Every cell of the square, one by one."""
    queries = range(shape.cached, shape.context)
    return [[state_of_score(shape, query, key) for key in range(shape.context)] for query in queries]


def edge(shape: Shape) -> list[str]:
    """Every cell of the keys: new, or cached and read by some row, or read by none."""
    read = {key for row in square(shape) for key, state in enumerate(row) if state == "new"}
    return ["new" if key >= shape.cached else "cached" if key in read else "outside" for key in range(shape.context)]


# ---- the two pictures of the post, and what lies between ------------------------------------------------------------


def test_a_prefill_of_six_sends_six_rows_through():
    shape = Shape(PLAIN, HIDDEN, new=6)
    assert shape.phase == "prefill"
    assert shape.cells("queries") == shape.cells("outputs") == shape.cells("MLP") == {"new": 6}
    assert shape.cells("scores") == {"new": 1 + 2 + 3 + 4 + 5 + 6, "masked": 5 + 4 + 3 + 2 + 1}
    assert shape.cells("keys") == shape.cells("values") == {"new": 6}


def test_a_decode_over_five_sends_one():
    shape = Shape(PLAIN, HIDDEN, new=1, cached=5)
    assert shape.phase == "decode"
    assert shape.cells("queries") == shape.cells("outputs") == shape.cells("MLP") == {"new": 1, "absent": 5}
    assert shape.cells("scores") == {"new": 6}
    assert shape.cells("keys") == shape.cells("values") == {"new": 1, "cached": 5}


def test_both_have_edges_of_the_same_width():
    assert Shape(PLAIN, HIDDEN, 6).block("keys").columns == Shape(PLAIN, HIDDEN, 1, 5).block("keys").columns == 6


def test_three_tokens_over_three_are_the_lower_half_of_the_square():
    shape = Shape(PLAIN, HIDDEN, new=3, cached=3)
    assert shape.phase == "prefill"
    assert shape.cells("scores") == {"new": 4 + 5 + 6, "masked": 2 + 1}
    assert shape.cells("values") == {"new": 3, "cached": 3}


def test_a_prompt_of_one_token_is_a_prefill():
    assert Shape(PLAIN, HIDDEN, new=1).phase == "prefill"


# ---- what the layer changes -----------------------------------------------------------------------------------------


def test_the_sizes_of_qwen():
    sizes = {b.name: (b.kind, b.rows, b.columns, b.heads) for b in Shape(PLAIN, HIDDEN, new=6).blocks}
    assert sizes == {
        "queries": ("rows", 6, 16 * 128, 16),
        "keys": ("store", 8 * 128, 6, 8),
        "values": ("store", 8 * 128, 6, 8),
        "scores": ("square", 6, 6, 16),
        "outputs": ("rows", 6, 1024, 1),
        "MLP": ("rows", 6, 3072, 1),
    }


def test_grouped_queries_share_a_store():
    assert heads(PLAIN.mixer) == Heads(queries=16, stores=8)
    assert heads(PLAIN.mixer).each == 2


def test_a_window_greys_the_columns_that_no_row_sees():
    prefill = Shape(layer(window=3), HIDDEN, new=6)
    assert prefill.cells("scores") == {"new": 1 + 2 + 3 + 3 + 3 + 3, "outside": 1 + 2 + 3, "masked": 15}
    assert prefill.cells("keys") == {"new": 6}
    decode = Shape(layer(window=3), HIDDEN, new=1, cached=5)
    assert decode.cells("scores") == {"new": 3, "outside": 3}
    assert decode.cells("keys") == {"new": 1, "cached": 2, "outside": 3}


def test_a_chunked_layer_sees_its_own_chunk():
    prefill = Shape(layer(chunk=4), HIDDEN, new=6)
    assert prefill.cells("scores") == {"new": 1 + 2 + 3 + 4 + 1 + 2, "outside": 4 + 4, "masked": 15}
    decode = Shape(layer(chunk=4), HIDDEN, new=1, cached=4)
    assert decode.cells("keys") == {"new": 1, "outside": 4}


def test_latent_attention_keeps_one_store_for_all_heads():
    shape = Shape(Layer(mixer=LATENT, mlp=Mlp(width=18432)), 7168, new=1, cached=5)
    assert shape.block("keys") is None
    assert shape.block("values") is None
    assert shape.cells("keys") == {}
    latent = shape.block("latent")
    assert (latent.rows, latent.columns, latent.heads) == (512 + 64, 6, 1)
    assert shape.block("queries").columns == 128 * (128 + 64)
    assert shape.block("scores").heads == 128
    assert shape.cells("latent") == {"new": 1, "cached": 5}
    assert shape.cells("scores") == {"new": 6}
    assert heads(LATENT) == Heads(queries=128, stores=1)


def test_a_recurrent_layer_has_a_state_and_neither_square_nor_store():
    shape = Shape(Layer(mixer=RECURRENT, mlp=Mlp(width=512)), 2048, new=6)
    assert [(b.name, b.kind, b.rows, b.columns) for b in shape.blocks] == [
        ("projections", "rows", 6, 12288 + 64),
        ("state", "state", 32, (524_288 + 24_576) // 32),
        ("outputs", "rows", 6, 2048),
        ("MLP", "rows", 6, 512),
    ]
    assert shape.writes == 0
    assert shape.cells("scores") == shape.cells("state") == {}
    assert heads(RECURRENT) is None


def test_a_layer_that_borrows_keys_computes_none():
    shape = Shape(layer(shares_kv=True), HIDDEN, new=2, cached=4)
    assert shape.writes == 0
    assert shape.cells("keys") == {"cached": 6}
    assert shape.cells("scores") == {"new": 5 + 6, "masked": 1}


def test_a_layer_without_a_mixer_or_an_mlp():
    only_mlp = Shape(Layer(mlp=Mlp(width=64)), 32, new=6)
    assert [b.name for b in only_mlp.blocks] == ["MLP"]
    assert only_mlp.writes == 0
    assert heads(None) is None
    assert "MLP" not in [b.name for b in Shape(Layer(mixer=PLAIN.mixer), HIDDEN, new=6).blocks]


def test_the_width_that_a_token_goes_through():
    assert Mlp(width=3072).active_width == 3072
    assert Experts(experts=128, top_k=8, width=768, shared_width=100).active_width == 8 * 768 + 100


def test_blocks_have_the_width_that_the_model_has_parameters_for():
    by_name = {m.name: m for m in PLAIN.matrices(HIDDEN)}
    shape = Shape(PLAIN, HIDDEN, new=1)
    assert shape.block("queries").features == by_name["q"].outputs
    assert shape.block("keys").features == by_name["k"].outputs
    assert shape.block("values").features == by_name["v"].outputs
    assert shape.block("outputs").features == by_name["o"].outputs
    assert shape.block("MLP").features == by_name["up"].outputs
    assert shape.block("scores").features == 0


def test_kinds_of_layers_are_told_apart_once():
    assert layer_kinds(QWEN) == ((PLAIN, 28),)
    gemma = cm.model("gemma-3-1b")
    windows = {kind.mixer.window: count for kind, count in layer_kinds(gemma)}
    assert windows == {512: 22, None: 4}
    assert sum(count for _, count in layer_kinds(gemma)) == gemma.num_layers


# ---- what holds for every step --------------------------------------------------------------------------------------


@given(SHAPES)
def test_new_keys_and_values_are_as_many_as_the_rows(shape):
    assert shape.cells("keys")["new"] == shape.cells("values")["new"] == shape.writes == shape.new
    assert shape.cells("queries")["new"] == shape.new


@given(SHAPES)
def test_counts_are_those_of_the_cells_one_by_one(shape):
    assert shape.cells("scores") == Counter(state for row in square(shape) for state in row)
    assert shape.cells("keys") == Counter(edge(shape))


@given(SHAPES)
def test_the_cells_add_up_to_the_matrix(shape):
    for name in ("scores", "keys", "values"):
        block = shape.block(name)
        whole = block.rows * block.columns if block.kind == "square" else block.columns
        assert sum(shape.cells(name).values()) == whole


@given(SHAPES)
def test_what_is_computed_and_read_is_what_is_priced(shape):
    window, chunk = shape.view
    step = cm.Step(new=shape.new, cached=shape.cached)
    assert shape.cells("scores")["new"] == step.pairs(window, chunk)
    assert shape.cells("keys").get("cached", 0) == step.reads(window, chunk)


# ---- abbreviations --------------------------------------------------------------------------------------------------


def positions(shown) -> list[int]:
    return [p for item in shown for p in (range(item.start, item.stop) if isinstance(item, Gap) else [item])]


@given(st.integers(1, 5000), st.integers(3, 60), st.lists(st.integers(0, 5000), max_size=4))
def test_an_abbreviation_is_short_and_forgets_nobody(count, limit, seams):
    shown = abbreviate(count, limit, seams)
    assert len(shown) <= limit
    assert positions(shown) == list(range(count))
    assert all(len(item) > 1 for item in shown if isinstance(item, Gap))
    assert shown[0] == 0
    assert shown[-1] == count - 1


@given(st.integers(100, 5000), st.data())
def test_both_neighbours_of_a_seam_are_shown(count, data):
    seam = data.draw(st.integers(1, count - 1))
    shown = abbreviate(count, 12, [seam])
    assert seam in shown
    assert seam - 1 in shown


def test_ten_thousand_tokens_are_drawn_as_first_and_last():
    shape = Shape(PLAIN, HIDDEN, new=10_000)
    rows, columns = shape.rows(24), shape.columns(24)
    assert len(rows) * len(columns) <= 24 * 24
    assert rows[0] == columns[0] == 0
    assert rows[-1] == columns[-1] == 9_999
    assert len(next(row for row in rows if isinstance(row, Gap))) == 10_000 - 23


@given(SHAPES, st.integers(6, 40))
def test_shown_states_are_those_of_the_cells(shape, limit):
    cells, keys = square(shape), edge(shape)
    rows, columns = shape.rows(limit), shape.columns(limit)
    assert shape.row_states(rows) == ("new",) * len(rows)
    for column, state in zip(columns, shape.store_states(columns), strict=True):
        assert state == joined({keys[p] for p in positions([column])})
    for row in rows:
        for column, state in zip(columns, shape.score_states(row, columns), strict=True):
            inside = {cells[q - shape.cached][k] for q in positions([row]) for k in positions([column])}
            assert state == joined(inside)


def joined(states: set[str]) -> str:
    return states.pop() if len(states) == 1 else "some"


def test_rows_that_are_not_in_the_step_are_absent():
    shape = Shape(PLAIN, HIDDEN, new=1, cached=5)
    assert shape.row_states(range(6)) == ("absent",) * 5 + ("new",)
    assert shape.score_states(2, range(6)) == ("absent",) * 6
    assert shape.score_states(5, range(6)) == ("new",) * 6


# ---- several sequences ----------------------------------------------------------------------------------------------


def test_four_rows_gather_and_four_squares_do_not():
    step = gather(PLAIN, HIDDEN, [(1, 5), (1, 2), (1, 7), (1, 4)])
    assert (step.matrix.rows, step.matrix.columns) == (4, 1024)
    assert step.rows == 4
    assert [shape.block("scores").columns for shape in step.sequences] == [6, 3, 8, 5]
    assert step.cells("keys") == {"new": 4, "cached": 5 + 2 + 7 + 4}
    assert step.cells("scores") == {"new": 6 + 3 + 8 + 5}


def test_a_chunk_rides_along_with_decodes():
    step = gather(PLAIN, HIDDEN, [(4, 8), (1, 5), (1, 2)])
    assert [shape.phase for shape in step.sequences] == ["prefill", "decode", "decode"]
    assert step.rows == 4 + 1 + 1
    assert step.cells("scores") == {"new": (9 + 10 + 11 + 12) + 6 + 3, "masked": 3 + 2 + 1}
    assert step.cells("keys") == {"new": 6, "cached": 8 + 5 + 2}
    assert step.step.tokens == 6
    assert step.step.reads() == 8 + 5 + 2


def test_a_step_of_nobody_is_refused():
    with pytest.raises(cm.ConfigError, match="at least one"):
        gather(PLAIN, HIDDEN, [])


# ---- runs -----------------------------------------------------------------------------------------------------------


def weights_only(step: cm.Step) -> cm.Cost:
    return cm.price(QWEN, H100, step, count="weights")


def with_caches(step: cm.Step) -> cm.Cost:
    return cm.price(QWEN, H100, step, count="attention")


def test_twenty_and_two_hundred_is_one_prefill_and_199_decodes():
    run = Run(prompt=20, generate=200)
    shapes = [run.shape(PLAIN, HIDDEN, step) for step in range(run.steps)]
    assert [shape.phase for shape in shapes] == ["prefill"] + ["decode"] * 199
    assert [shape.context for shape in shapes] == list(range(20, 220))
    assert run.decodes == 199
    assert run.context == 219
    assert shapes[0].cells("scores") == {"new": 20 * 21 // 2, "masked": 20 * 19 // 2}
    assert shapes[199].cells("keys") == {"new": 1, "cached": 218}


def test_without_a_cache_the_run_is_a_series_of_growing_prefills():
    run = Run(prompt=20, generate=200)
    prefills = [weights_only(cm.Step.prefill(20 + i)) for i in range(200)]
    kept, repeated = bill(run.with_cache(), weights_only), bill(run.without_cache(), weights_only)
    assert repeated.total("rows") == sum(20 + i for i in range(200)) == 23_900
    assert kept.total("rows") == 20 + 199
    assert repeated.total("flops") == pytest.approx(sum(cost.flops for cost in prefills))
    assert repeated.total("seconds") == pytest.approx(sum(cost.seconds for cost in prefills))
    assert repeated.total("flops") / kept.total("flops") == pytest.approx(23_900 / 219)


def test_below_the_crossing_the_triangle_saves_arithmetic_and_no_time():
    run = Run(prompt=20, generate=200)
    kept, repeated = bill(run.with_cache(), weights_only), bill(run.without_cache(), weights_only)
    assert run.context < cm.crossing(QWEN, H100)
    assert repeated.total("seconds") == pytest.approx(kept.total("seconds"))


@given(st.integers(1, 3000), st.integers(1, 60))
def test_a_bill_adds_up_step_by_step(prompt, generate):
    run = Run(prompt, generate)
    steps = [cm.Step.prefill(prompt)] + [cm.Step.decode(1, prompt + i) for i in range(generate - 1)]
    one_by_one = [with_caches(step) for step in steps]
    kept = bill(run.with_cache(), with_caches)
    for name in ("bytes", "flops", "seconds"):
        each = np.array([getattr(cost, name) for cost in one_by_one])
        np.testing.assert_allclose(getattr(kept, name), each)
        np.testing.assert_allclose(kept.so_far(name)[-1], kept.total(name))
        np.testing.assert_allclose(kept.prefill(name) + kept.decode(name), kept.total(name))
    np.testing.assert_array_equal(kept.rows, run.rows)


@given(st.integers(1, 200), st.integers(2, 200))
def test_each_step_of_a_run_adds_its_rows_to_the_cache(prompt, generate):
    run = Run(prompt, generate)
    np.testing.assert_array_equal(run.cached[1:], (run.cached + run.rows)[:-1])
    np.testing.assert_array_equal(run.rows + run.cached, run.rows_without_cache)


@pytest.mark.parametrize("new", [0, -1, 1.5, True, "6", 10**8])
def test_impossible_tokens_are_refused(new):
    with pytest.raises(cm.ConfigError, match="whole number of tokens"):
        Shape(PLAIN, HIDDEN, new=new)
    with pytest.raises(cm.ConfigError, match="whole number of tokens"):
        Run(prompt=new, generate=3)


def test_a_cache_may_be_empty_but_not_negative():
    assert Shape(PLAIN, HIDDEN, new=1, cached=0).context == 1
    with pytest.raises(cm.ConfigError, match="cached"):
        Shape(PLAIN, HIDDEN, new=1, cached=-1)


@pytest.mark.parametrize("step", [-1, 200])
def test_a_step_beyond_the_run_is_refused(step):
    with pytest.raises(cm.ConfigError, match="0 to 199"):
        Run(20, 200).shape(PLAIN, HIDDEN, step)
