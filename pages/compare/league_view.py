"""The league on the Compare page: every accelerator for one model and one workload. Reads as the view does."""

from __future__ import annotations

import streamlit as st

import costmodel as cm
from pages.compare import league_charts, league_frames, snippet
from pages.compare import league_words as words
from pages.compare.league import League, priced_at
from pages.memory import asked
from pages.parts import ahead, codec, components, controls, offers, prose, state
from pages.parts import chart_layers as layers
from pages.parts.prices import DEAREST, pack_prices, unpack_prices
from pages.parts.shared import shared


def show() -> None:
    """Draw the view."""
    league = _league()
    components.top(league.scenario, *words.headline(league), context="floors from datasheets; nothing measured")
    spec = league_charts.league_spec(league.expects_experts)
    layers.draw(spec, league_frames.picture(league), key="league_picture", message=words.alt(league))
    _workload()
    components.note(words.below_picture(league))

    _chosen(league)
    with prose.together():
        components.figures(words.figures(league.row))
        components.derivation(words.arithmetic(league.row), key="league_sums")
        components.section("The league", words.section(league))
    _which()
    with st.container(key="league_table"):
        words.table(league).draw()
    components.note(words.below_table(league))
    components.questions(words.questions(league), key="league_question")
    picture = ahead.chart(league_frames.picture, words.alt)
    ahead.follow(ahead.Pictures(_league, {"league_picture": picture}))
    offers.python(lambda: snippet.league(league, state.own_model()))


def _league() -> League:
    scenario = controls.scenario().datasheet()
    packed = state.value("own_memory")
    chosen = state.value("league_row")
    league = League(
        scenario,
        batch=state.value("batch"),
        context=state.value("context"),
        prompt=state.value("prompt"),
        count=state.value("count"),
        hourly=state.value("hourly"),
        memory=asked.memory(scenario),
        own_memory=codec.unpack_memory(packed) if packed else ("", None),
        prices=tuple(sorted(unpack_prices(state.value("league_prices")).items())),
        order=state.value("league_sort"),
        vendor=state.value("league_vendor"),
        least=state.value("league_memory"),
        chosen="" if chosen == state.AUTO else chosen,
    )
    return shared(league)


def _workload() -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="league_workload"):
        controls.slider("batch", "Sequences decoding, B")
        controls.slider("context", "Context of each, tokens")
        controls.slider("prompt", "Prompt, tokens")
        controls.switch("count", "Count the caches", off="weights", on="attention")


def _chosen(league: League) -> None:
    """Which accelerator is looked into, and what an hour of it costs."""
    row, prices = league.row, dict(league.prices)

    def priced() -> None:
        price = st.session_state["league_price"]
        state.put(league_prices=pack_prices(priced_at(prices, row.hardware.id, price or None)))

    st.session_state["league_price"] = prices.get(row.hardware.id)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="league_prices_row"):
        with st.container(width=300):
            controls.choice("league_row", "Look into", text=lambda name: _row_name(league, name))
        st.number_input(
            f"An hour of {row.hardware.name}, $", 0.0, DEAREST, key="league_price", on_change=priced,
            placeholder=f"{league.hourly:g}, as all", format="%.4g", width=260, help=words.PRICES,
        )  # fmt: skip
        with st.container(width=260):
            controls.slider("hourly", "An hour of all others, $", words.PRICES)
        if prices:
            st.button("Forget these prices", on_click=state.put, kwargs={"league_prices": ""})


def _row_name(league: League, name: str) -> str:
    return words.chosen(league) if name == state.AUTO else cm.hardware(name).name


def _which() -> None:
    """How the table is sorted, and what it leaves out."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="league_which"):
        with st.container(width=220):
            controls.choice("league_sort", "Sorted by", text=words.ORDERS.__getitem__)
        with st.container(width=220):
            controls.choice("league_vendor", "Vendor", text=lambda name: "all vendors" if name == "all" else name)
        with st.container(width=320):
            controls.slider("league_memory", "Memory of at least, GB", "As printed on the box.")
