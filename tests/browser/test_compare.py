"""The Compare page in a real Chromium: pin here, change there, see both; presets, changed places, links."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.driving import MEETING_LABELS, choose, heading, settle, slider, visit, wide_and_narrow

pytestmark = pytest.mark.usefixtures("met")
PICTURES = ("time", "roof", "latency", "speed", "context", "memory", "served")


def mark(page: Page, chart: str, says: str) -> Locator:
    """The mark of a chart whose label for a screen reader begins so."""
    return page.locator(f'.st-key-pair_{chart} svg [aria-label^="{says}"]')


def row(page: Page, name: str) -> Locator:
    return page.locator(".st-key-reasons_pair tr", has=page.get_by_text(name, exact=True))


@wide_and_narrow
def test_the_page_loads_fits_and_no_label_meets_another(page: Page) -> None:
    visit(page, "compare?batch=8")
    expect(heading(page)).to_contain_text("On H200 SXM (B), a decode step takes 248\u00a0µs instead of the 356\u00a0µs")
    for picture in PICTURES:
        expect(page.locator(f".st-key-pair_{picture} svg.marks")).to_have_count(1)
    expect(mark(page, "time", "A: decode of 8, 356\u00a0µs")).to_have_count(1)
    expect(mark(page, "time", "B: decode of 8, 248\u00a0µs")).to_have_count(1)
    expect(row(page, "decode step, floor")).to_contain_text("both wait for memory and bandwidth grew 1.43×")
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollWidth <= main.clientWidth")
    assert page.evaluate(MEETING_LABELS) == []


@pytest.mark.parametrize("page", ["light", "phone"], indirect=True)
@pytest.mark.parametrize(
    "query",
    [
        "other=gpus&model=llama-3.1-70b&count=attention&batch=64&rates=calibrated",
        "other=model&other_model=deepseek-v3&batch=300&count=attention",
        "other=batch&batch=1024",
    ],
)
def test_labels_keep_apart_in_other_settings(page: Page, query: str) -> None:
    visit(page, f"compare?{query}")
    expect(mark(page, "time", "A: decode of")).to_have_count(1)
    assert page.evaluate(MEETING_LABELS) == []


def test_pin_on_one_page_change_and_compare_on_another(page: Page) -> None:
    visit(page, "roofline?batch=16")
    page.get_by_role("button", name="Pin as B").click()
    expect(page.get_by_text("B: Qwen3-0.6B · H100 SXM · bf16 · 1 GPU")).to_be_visible()
    page.get_by_role("link", name="Compare").click()
    expect(heading(page)).to_contain_text("A and B are the same: a decode step takes both 356\u00a0µs.")
    slider(page, "bandwidth_x").focus()
    slider(page, "bandwidth_x").press("End")
    expect(heading(page)).to_contain_text(
        "As pinned (B), a decode step takes 356\u00a0µs instead of the 89.0\u00a0µs of A"
    )
    expect(row(page, "decode step, floor")).to_contain_text("bandwidth fell to 0.250×")
    expect(mark(page, "time", "A: decode of 16, 89.0\u00a0µs")).to_have_count(1)
    expect(page).to_have_url(re.compile("(?=.*pinned=)(?=.*bandwidth_x=4)"))
    page.reload()
    settle(page)
    expect(heading(page)).to_contain_text(
        "As pinned (B), a decode step takes 356\u00a0µs instead of the 89.0\u00a0µs of A"
    )


def test_a_preset_is_chosen_places_change_and_the_pin_goes(page: Page) -> None:
    visit(page, "compare?batch=8")
    choose(page, "other", "twice the bandwidth")
    expect(heading(page)).to_contain_text("With twice the bandwidth (B), a decode step takes 178\u00a0µs")
    page.get_by_role("button", name="Change places").click()
    expect(heading(page)).to_contain_text(
        "As pinned (B), a decode step takes 356\u00a0µs instead of the 178\u00a0µs of A"
    )
    expect(page).to_have_url(re.compile("bandwidth_x=2"))
    page.get_by_role("button", name="Unpin").click()
    expect(heading(page)).to_contain_text("On H200 SXM (B)")
    expect(page.get_by_role("button", name="Unpin")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("pinned="))


def test_new_data_leave_the_views_of_the_charts_standing(page: Page) -> None:
    visit(page, "compare?batch=16")
    page.evaluate("document.querySelectorAll('svg.marks').forEach(svg => { svg.dataset.first = 'yes'; })")
    slider(page, "batch").focus()
    slider(page, "batch").press("ArrowRight")
    expect(mark(page, "time", "A: decode of 20,")).to_have_count(1)
    expect(mark(page, "context", "A: 2,048 tokens")).to_have_count(1)
    standing = page.locator("svg.marks[data-first=yes]")
    expect(standing).to_have_count(len(PICTURES))


def test_the_arithmetic_opens(page: Page) -> None:
    visit(page, "compare?batch=8")
    page.get_by_text("Show the arithmetic of the differences").click()
    expect(page.get_by_text("1.000 (bytes, A ÷ B) × 1.433 (bandwidth, B ÷ A)")).to_be_visible()


def test_what_batching_buys_each_is_drawn_when_it_is_opened_and_follows(page: Page) -> None:
    visit(page, "compare?batch=64&count=attention")
    expect(page.locator(".st-key-pair_market")).to_have_count(0)
    page.get_by_text("What batching buys each").click()
    market = page.locator(".st-key-pair_market [role=graphics-document]")
    expect(market).to_have_attribute("aria-label", re.compile("batch of 64.*tokens/s each, .* a million"))
    for name in ("bills", "intensity"):
        picture = page.locator(f".st-key-pair_{name} [role=graphics-document]")
        expect(picture).to_have_attribute("aria-label", re.compile("A, solid: batch of 64"))
    expect(page.locator(".st-key-pair_streamed")).to_have_count(0)  # neither is a mixture of experts
    slider(page, "batch").press("ArrowRight")
    expect(market).to_have_attribute("aria-label", re.compile("batch of 80"))
