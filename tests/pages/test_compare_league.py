"""The league as a user meets it: its figures are those of the cost model, one machine at a time."""

from __future__ import annotations

import itertools
import re

import pytest

import costmodel as cm
from pages.compare import league_charts, league_frames
from pages.compare import league_words as words
from pages.compare.league import League, Row, priced_at
from pages.compare.league_labels import RANGES
from pages.memory.numbers import Memory
from pages.parts import state
from pages.parts.format import seconds, significant
from pages.parts.prices import pack_prices, unpack_prices
from pages.parts.scenario import Scenario, what_if
from tests.pages import drawing
from tests.pages.app import figures, link, markup, text
from tests.pages.opened import notices, open_page, plain, press, ran

QWEN, H100 = cm.model("qwen3-0.6b"), cm.hardware("h100-sxm")
CATALOGUE = cm.hardware()


def league(scenario: Scenario | None = None, **asked: object) -> League:
    scenario = scenario or Scenario(QWEN, H100, cm.Precision())
    load = {"batch": 1, "context": 2048, **asked}
    memory = Memory(scenario, batch=int(str(load["batch"])), context=int(str(load["context"])))
    return League(**{  # type: ignore[arg-type]  # fields by name
        "scenario": scenario, "prompt": 500, "count": "weights", "hourly": 2.0, "memory": memory, **load,
    })  # fmt: skip


def row_of(shown: League, name: str) -> Row:
    return next(row for row in shown.everyone if row.hardware.id == name)


def table(at) -> dict[str, list[str]]:
    """Cells of each row of the league, by the accelerator's name."""
    html = next(part for part in markup(at).split("<table") if "decode ≥" in part)
    rows = [
        [plain(re.sub(r"<[^>]+>", " ", cell)) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)]
        for row in re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)
    ]
    return {cells[0]: cells[1:] for cells in rows if cells}


# ---- its numbers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario(QWEN, H100, cm.Precision()),
        Scenario(cm.model("deepseek-v3"), cm.hardware("h200-sxm"), cm.Precision(kv="fp8"), tensor_parallel=8),
        Scenario(cm.model("gpt-oss-20b"), cm.hardware("mi300x"), cm.Precision()),
    ],
    ids=lambda s: s.model.id,
)
@pytest.mark.parametrize("count", ["weights", "attention"])
def test_every_row_has_the_prices_of_its_machine(scenario, count):
    shown = league(scenario, batch=16, context=4096, count=count)
    assert [row.hardware.id for row in shown.everyone] == CATALOGUE
    for row in shown.everyone:
        asked = (scenario.model, row.hardware)
        if not row.priced:
            with pytest.raises(cm.ConfigError, match=re.escape(row.obstacle)):
                cm.price(*asked, cm.Step.decode(16, 4096), scenario.precision)
            assert row.fit is None
            assert row.estimate is None
            continue
        more = {"precision": scenario.precision, "count": count, "tensor_parallel": scenario.tensor_parallel}
        assert row.decode == pytest.approx(cm.price(*asked, cm.Step.decode(16, 4096), **more).seconds, rel=1e-12)
        bound = cm.price(*asked, cm.Step.prefill(500), **{**more, "count": "attention"})
        assert row.prefill == pytest.approx(bound.seconds, rel=1e-12)
        if row.hardware.memory is None:
            assert row.fit is None
            continue
        fit = cm.memory(
            *asked, context=4096, batch=16, precision=scenario.precision, tensor_parallel=scenario.tensor_parallel
        )
        assert row.fit == fit
        assert (row.million == row.million) == fit.fits  # a number, unless it does not fit


def test_figures_worked_by_hand():
    """Qwen3-0.6B on H100 SXM: 1.19 GB over 3.35 TB/s; 1 token a step; 2 an hour."""
    row = row_of(league(), "h100-sxm")
    assert row.decode == pytest.approx(595_984_384 * 2 / 3.35e12)
    assert row.decode == pytest.approx(356e-6, rel=1e-3)
    assert row.tokens_per_second == pytest.approx(1 / 355.81e-6, rel=1e-4)
    assert row.million == pytest.approx(2 / 3600 / row.tokens_per_second * 1e6)
    assert row.million == pytest.approx(0.1977, rel=1e-3)
    assert row.ridge == pytest.approx(989.4e12 / 3.35e12)


@pytest.mark.parametrize("count", ["weights", "attention"])
def test_the_prompt_is_a_bound_in_either_count(count):
    """500 tokens of Qwen3-0.6B: the blocks on each, the head on the last, 229,376 FLOP a query-key pair."""
    row = row_of(league(count=count), "h100-sxm")
    flops = 2 * 440_401_920 * 500 + 2 * 155_582_464 + 229_376 * 500 * 501 / 2
    assert row.prefill == pytest.approx(flops / 989.4e12)
    assert plain(words.said(row)).split("a prompt of ")[1].startswith("500 at least 474 µs")
    assert figures(open_page("compare", compare_view="league", count=count))["prompt, at least"] == "474 µs"


def test_a_group_of_gpus_costs_that_many_hours():
    alone, eight = (row_of(league(Scenario(QWEN, H100, cm.Precision(), tensor_parallel=n)), "h100-sxm") for n in (1, 8))
    assert eight.decode == pytest.approx(alone.decode / 8, rel=0.1)
    assert eight.million == pytest.approx(alone.million * 8 * eight.decode / alone.decode)


def test_estimates_stand_where_a_machine_or_its_relative_was_measured_and_nowhere_else():
    shown = league(batch=8)
    for name in ("h100-sxm", "h200-sxm", "rtx4090"):
        cost = cm.price(QWEN, cm.hardware(name), cm.Step.decode(8, 2048), rates="calibrated")
        found = row_of(shown, name).estimate
        assert (found.seconds, found.low, found.high) == (cost.seconds, cost.low, cost.high)
        assert found.low < found.seconds < found.high
    for name in ("mi300x", "tpu-v5e", "m3-ultra", "rubin-r200"):
        assert row_of(shown, name).estimate is None


@pytest.mark.parametrize("name", ["qwen3-0.6b", "deepseek-v3", "gpt-oss-20b", "mamba-2.8b"])
@pytest.mark.parametrize("hardware", ["h100-sxm", "h200-sxm", "rtx4090"])
def test_an_estimate_names_every_rate_that_it_rests_on_and_no_other(name, hardware):
    shown = league(Scenario(cm.model(name), cm.hardware(hardware), cm.Precision()))
    lines = {line.name: words_of(line.expression) for line in words.arithmetic(shown.current)}
    cost = cm.price(cm.model(name), cm.hardware(hardware), cm.Step.decode(1, 2048), rates="calibrated")
    named = lines["estimate of the decode step"].partition("rates: ")[2]
    assert [text for text in cost.provenance if "measurements" in text] == re.split(r"; (?=\w+ (?:\w+ )?in )", named)


def test_what_does_not_fit_gives_no_tokens_and_what_is_unknown_says_so():
    shown = league(Scenario(cm.model("llama-3.1-70b"), H100, cm.Precision()), batch=4)
    h100, mi325x = row_of(shown, "h100-sxm"), row_of(shown, "mi325x")
    assert h100.does_not_fit
    assert str(h100.tokens_per_second) == str(h100.million) == "nan"
    assert mi325x.fit is None
    assert not mi325x.does_not_fit
    assert mi325x.million > 0
    assert "usable memory is not published" in words.said(mi325x)
    assert "the weights do not fit" in words.said(h100)
    assert shown.fastest is not None
    assert shown.fastest.fit.fits


@pytest.mark.parametrize(
    ("order", "key", "falling"),
    [
        ("decode", lambda row: row.decode, False),
        ("prefill", lambda row: row.prefill, False),
        ("cost", lambda row: row.million, False),
        ("most", lambda row: row.fit.max_batch if row.fit else float("nan"), True),
        ("memory", lambda row: row.box or float("nan"), True),
        ("ridge", lambda row: row.ridge, True),
    ],
)
def test_rows_are_sorted_and_what_has_no_number_comes_last(order, key, falling):
    shown = league(Scenario(cm.model("llama-3.1-8b"), H100, cm.Precision()), batch=64, order=order)
    values = [key(row) for row in shown.rows]
    known = [value for value in values if value == value]  # noqa: PLR0124  # not nan
    assert len(shown.rows) == len(CATALOGUE)
    assert values[: len(known)] == sorted(known, reverse=falling)
    assert len(known) < len(CATALOGUE)


def test_a_what_if_has_a_row_of_its_own_and_its_catalogue_row_stays():
    hw = what_if(H100, 2.0, 1.0, 1.0)
    shown = league(Scenario(QWEN, hw, cm.Precision(), bandwidth_x=2.0), prices=(("h100-sxm", 3.0),))
    assert len(shown.everyone) == len(CATALOGUE) + 1
    assert shown.current.hardware == hw
    assert shown.current.decode == pytest.approx(row_of(shown, "h100-sxm").decode / 2)
    assert [row.hourly for row in shown.everyone if row.own_hourly] == [3.0, 3.0]
    assert words.short_name(shown.current) == "H100 SXM, what if"


def test_words_of_leagues_with_little_in_them():
    assert words.alt(league(least=512, vendor="Google")) == "No accelerator to show."
    few = league(Scenario(cm.model("qwen3-0.6b"), cm.hardware("epyc-9654"), cm.Precision()), vendor="Apple")
    assert "Of those shown and known to hold it, Apple M3 Ultra (GPU) has the shortest" in words_of(words.headline(few))
    assert "None of those shown is known to hold it." in words_of(words.headline(league(least=512, vendor="Google")))
    best = league(Scenario(QWEN, cm.hardware("gb200"), cm.Precision()))
    assert "Of those known to hold it, none has a shorter one." in words_of(words.headline(best))
    assert words.said(row_of(best, "rubin-r200")) == (
        "Rubin R200 (preliminary) has no price: no bf16 or fp16 rate is published."
    )
    alone = league(least=512)
    assert "Only Apple M3 Ultra (GPU) is left by the choices below." in words_of(words.below_picture(alone))


# ---- prices in a link ----------------------------------------------------------------------------------------


def test_prices_come_back_from_a_link():
    prices = priced_at({"a10": 0.75}, "h100-sxm", 2.25)
    assert unpack_prices(pack_prices(prices)) == prices
    assert priced_at(prices, "a10", None) == {"h100-sxm": 2.25}


@pytest.mark.parametrize(
    "packed",
    ["x", "h100-sxm", "h100-sxm:", "h100-sxm:0", "h100-sxm:-1", "h100-sxm:nan", "h100-sxm:1e9", "nope:2", ":2",
     "a10:1,a10:2", ",", "<b>:1", "a10:1," * 200],
)  # fmt: skip
def test_what_are_no_prices_is_refused_in_a_sentence(packed):
    with pytest.raises(cm.ConfigError, match="league_prices: found .*, expected"):
        unpack_prices(packed)
    at = open_page("compare", compare_view="league", league_prices=packed)
    assert "league_prices" in notices(at)[0]
    assert "The default is used instead." in notices(at)[0]


# ---- the picture ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [260, 350, 470, 490, 640, 790, 810, 900, 1150])
@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"batch": 256, "context": 8192, "count": "attention", "chosen": "mi300x"},
        {"vendor": "Google", "chosen": "m5-max"},
        {"prompt": 131072, "batch": 1024, "count": "attention", "chosen": "t4"},
    ],
)
def test_no_name_meets_another_at_any_width(asked, width):
    shown = league(**asked)
    data = {name: frame.to_pandas() for name, frame in league_frames.picture(shown).items()}
    drawn = drawing.svg(
        league_charts.league_spec(shown.expects_experts), {**data, "message": data["frame"]}, width=width
    )
    assert drawing.collisions(drawn) == []
    names = [label.text for label in drawing.labels(drawn)]
    assert "H100 SXM" in names
    assert len(names) > (4 if asked.get("vendor") else 6)
    assert all(label.left - 60 >= 0 and label.right - 60 <= width + 1 for label in drawing.labels(drawn))


def test_every_priced_row_is_a_dot_that_says_its_figures():
    shown = league(batch=64)
    dots = league_frames.picture(shown)["dots"].to_pandas()
    assert len(dots) == sum(row.priced for row in shown.rows) < len(CATALOGUE)
    h100 = dots[dots.name == "H100 SXM"].iloc[0]
    assert plain(h100.said) == (
        "H100 SXM: a decode step of 64 takes at least 356 µs, a prompt of 500 at least 474 µs; up to 322 sequences of "
        "2,048 tokens fit."
    )
    assert h100.current
    assert set(dots.state) == {"fits", "out", "unknown"}
    sides = dots[[f"side_{name}" for name in RANGES]]
    assert (sides != "").sum().is_monotonic_increasing


@pytest.mark.parametrize("vendor", ["all", *sorted({cm.hardware(name).vendor for name in CATALOGUE})])
def test_one_accelerator_is_not_several(vendor):
    """Down to the one with the largest memory."""
    boxes = sorted({row.box for row in league(vendor=vendor).rows if row.box})
    for least in boxes[-3:]:
        shown = league(vendor=vendor, least=least / 1e9)
        number = sum(row.priced for row in shown.rows)
        said = "1 accelerator by its " if number == 1 else f"{number} accelerators by their "
        assert words.alt(shown).startswith(said if number else "No accelerator")


# ---- the page ------------------------------------------------------------------------------------------------


def test_the_page_says_where_the_sidebars_accelerator_stands():
    at = open_page("compare", compare_view="league", batch=64)
    shown = league(batch=64)
    place, all_ = shown.placed(shown.current)
    assert f"On H100 SXM, a decode step of 64 sequences takes at least 356 µs, place {place} of {all_}." in text(at)
    rows = table(at)
    assert len(rows) == len(CATALOGUE)
    assert "► H100 SXM" in rows
    cells = rows["► H100 SXM"]
    estimate = cm.price(QWEN, H100, cm.Step.decode(64, 2048), rates="calibrated")
    assert cells[:5] == ["NVIDIA", "80 GB", "295", "322", "356 µs"]
    assert cells[5].startswith(plain(str(seconds(estimate.seconds))))
    assert cells[6:] == ["474 µs", "180,000", "2", "$0.00309"]
    assert rows["Rubin R200 ◇ no bf16 or fp16 rate is published"][3:6] == ["–", "–", "none"]
    assert rows["MI325X"][3] == "unknown"
    assert "no bf16 or fp16 rate is published" in text(at)


def test_rows_are_chosen_by_vendor_and_memory_and_none_leaves_in_silence():
    at = open_page("compare", compare_view="league", league_vendor="AMD", league_memory=128, league_sort="memory")
    names = list(table(at))
    asked = league(vendor="AMD", least=128, order="memory")
    assert [words.short_name(row) for row in asked.rows] == [name.split(" ◇")[0] for name in names]
    assert all(row.hardware.vendor == "AMD" and row.box >= 128e9 for row in asked.rows)
    assert f"{len(names)} of {len(CATALOGUE)} accelerators" in text(at)
    assert "1 whose memory is not known are left out while you ask for some." in text(at)
    assert link(at)["league_vendor"] == "AMD"


def test_a_price_of_its_own_changes_the_cost_and_is_in_the_link():
    at = open_page("compare", compare_view="league", league_row="h200-sxm")
    before = table(at)["H200 SXM"]
    at.number_input(key="league_price").set_value(4.0)
    ran(at)
    after = table(at)["H200 SXM"]
    assert (before[-2], after[-2]) == ("2", "4")
    decode = cm.price(QWEN, cm.hardware("h200-sxm"), cm.Step.decode(1, 2048), count="weights").seconds
    assert after[-1] == f"${significant(4 / 3600 * decode * 1e6)}"
    assert figures(at)["a million tokens, at least"] == after[-1]
    assert link(at)["league_prices"] == "h200-sxm:4"
    assert table(open_page("compare", **link(at)))["H200 SXM"] == after
    press(at, "Forget these prices")
    assert table(at)["H200 SXM"] == before
    assert "league_prices" not in link(at)


def test_an_emptied_price_is_that_of_all_again():
    at = open_page("compare", compare_view="league", league_prices="h100-sxm:9,a10:1", hourly=3)
    assert at.number_input(key="league_price").value == 9
    at.number_input(key="league_price").set_value(None)
    ran(at)
    assert link(at)["league_prices"] == "a10:1"
    assert table(at)["► H100 SXM"][-2] == "3"
    assert table(at)["A10"][-2] == "1"


def test_the_arithmetic_of_the_chosen_row_leads_to_its_figures():
    shown = league(batch=64, context=8192, count="attention")
    for name in ("h100-sxm", "mi325x", "m3-ultra", "rubin-r200", "t4"):
        row = row_of(shown, name)
        lines = {line.name: plain(f"{words_of(line.expression)} = {words_of(line.result)}")
                 for line in words.arithmetic(row)}  # fmt: skip
        if not row.priced:
            assert list(lines) == [row.hardware.name]
            continue
        assert lines["decode, at least"].endswith(plain(str(seconds(row.decode))))
        assert lines["prompt, at least"].endswith(plain(str(seconds(row.prefill))))
        assert ("sequences that fit" in lines) == (row.fit is not None and row.fit.kv_pool_bytes > 0)
        assert ("its band" in lines) == (row.estimate is not None)
        assert ("a million tokens" in lines) == (not row.does_not_fit)


@pytest.mark.parametrize("how", ["tensor", "data"])
@pytest.mark.parametrize("gpus", [1, 8])
def test_what_fits_is_what_its_line_comes_to(how, gpus):
    scenario = Scenario(cm.model("qwen3-235b-a22b"), cm.hardware("h200-sxm"), cm.Precision(), tensor_parallel=gpus)
    memory = Memory(scenario, batch=1, context=4096, attention_parallel=how)
    row = league(scenario, context=4096, memory=memory).current
    found = [line for line in words.arithmetic(row) if line.name == "sequences that fit"]
    assert bool(found) == (gpus > 1)  # the weights alone do not fit into one
    for line in found:
        expression = plain(words_of(line.expression))
        pool, each, times = re.fullmatch(
            r"([\d.]+) GiB ÷ ([\d.]+) MiB each, in whole ones(?:, × (\d) GPUs)?", expression
        ).groups()
        assert int(float(pool) * 1024 / float(each)) * int(times or 1) == row.fit.max_batch
        assert times == ("8" if how == "data" else None)


def words_of(part: object) -> str:
    from pages.parts.components import plain as plain_text

    return plain_text(part)  # type: ignore[arg-type]


def test_questions_set_what_they_say():
    at = open_page("compare", compare_view="league")
    press(at, "Sort by the prompt")
    assert at.session_state["league_sort"] == "prefill"
    rows = list(table(at))
    assert rows[0] == words.short_name(league(order="prefill").rows[0])
    press(at, "Show 64 sequences of 8,192 tokens")
    assert link(at) | {"batch": "64", "context": "8192", "count": "attention"} == link(at)


@pytest.mark.parametrize(
    "query",
    [
        {"hardware": "rubin-r200"},
        {"hardware": "t4", "compute": "int8", "model": "qwen3-30b-a3b"},
        {"bandwidth_x": 2, "rates": "calibrated"},
        {"model": "mamba-2.8b", "tensor_parallel": 8, "league_row": "m5-max"},
        {"league_memory": 512, "league_vendor": "Google"},
        {"compute": "fp8", "league_row": "t4"},
    ],
)
def test_it_opens_whatever_the_sidebar_says(query):
    at = open_page("compare", compare_view="league", **query)
    assert "accelerators" in text(at)
    if query.get("compute") == "fp8":
        assert "no unit for fp8" in text(at)
    if query.get("league_memory") == 512:
        assert "0 of" in text(at)


def test_every_order_has_a_name():
    assert set(words.ORDERS) == set(state.LEAGUE_ORDERS)
    assert len(set(itertools.chain(words.ORDERS.values()))) == len(words.ORDERS)
