"""The league and the map of the Compare page in a real Chromium: sort, filter, price, point at cells, how fast."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect  # Playwright's own

import costmodel as cm
from tests.browser.driving import MEETING_LABELS, choose, settle, visit, wide_and_narrow

pytestmark = pytest.mark.usefixtures("met")
LEAGUE, MAP = "compare?compare_view=league", "compare?compare_view=map"


def rows(page: Page) -> Locator:
    return page.locator(".st-key-league_table tbody:not(.total) tr")


def row(page: Page, name: str) -> Locator:
    return rows(page).filter(has=page.locator("td:first-child", has_text=re.compile(rf"^(►\s)?{name}(\s◇)?$")))


def fits_its_window(page: Page) -> bool:
    return bool(page.get_by_test_id("stMain").evaluate("main => main.scrollWidth <= main.clientWidth"))


# ---- the league ----------------------------------------------------------------------------------------------


@wide_and_narrow
def test_the_league_loads_fits_and_no_name_meets_another(page: Page) -> None:
    visit(page, f"{LEAGUE}&batch=64")
    expect(page.locator("h1.sc-headline")).to_contain_text("On H100 SXM, a decode step of 64 sequences takes at least")
    expect(rows(page)).to_have_count(len(cm.hardware()))
    expect(row(page, "H100 SXM")).to_contain_text("322")
    expect(page.locator('.st-key-league_picture svg [aria-label^="H100 SXM: a decode step of 64"]')).to_have_count(1)
    expect(page.locator('.st-key-league_picture svg [aria-label*=" accelerators by their decode step"]')).to_have_count(
        1
    )
    assert fits_its_window(page)
    assert page.evaluate(MEETING_LABELS) == []
    shown = page.locator(".st-key-league_picture g.mark-text text").evaluate_all(
        "them => them.filter(t => t.getAttribute('opacity') !== '0').map(t => t.textContent)"
    )
    assert "H100 SXM" in shown


def test_rows_are_sorted_and_filtered_and_a_reload_keeps_it(page: Page) -> None:
    visit(page, LEAGUE)
    expect(rows(page).first).to_contain_text("149")
    choose(page, "league_sort", "prompt")
    expect(page).to_have_url(re.compile("league_sort=prefill"))
    first = rows(page).first.locator("td:nth-child(8)")
    quickest = min(
        cm.price(cm.model("qwen3-0.6b"), cm.hardware(name), cm.Step.prefill(500)).seconds
        for name in cm.hardware()
        if {"bf16", "fp16"} & set(cm.hardware(name).peak)
    )
    expect(first).to_contain_text(f"{quickest * 1e6:.0f}")
    choose(page, "league_vendor", "Google")
    google = [name for name in cm.hardware() if cm.hardware(name).vendor == "Google"]
    expect(rows(page)).to_have_count(len(google))
    expect(page).to_have_url(re.compile("league_vendor=Google"))
    page.reload()
    settle(page)
    expect(rows(page)).to_have_count(len(google))
    expect(page.get_by_text(f"{len(google)} of {len(cm.hardware())} accelerators")).to_be_visible()


def test_a_price_of_its_own_changes_the_cost_and_survives_a_reload(page: Page) -> None:
    visit(page, f"{LEAGUE}&league_row=h200-sxm")
    cost = row(page, "H200 SXM").locator("td").last
    expect(cost).to_have_text("$0.138")
    price = page.locator(".st-key-league_price input")
    price.fill("4")
    price.press("Enter")
    expect(cost).to_have_text("$0.276")
    expect(row(page, "H100 SXM").locator("td").last).to_have_text("$0.198")
    expect(page).to_have_url(re.compile("league_prices=h200-sxm(%3A|:)4"))
    page.reload()
    settle(page)
    expect(cost).to_have_text("$0.276")
    expect(price).to_have_value("4")
    page.get_by_role("button", name="Forget these prices").click()
    expect(cost).to_have_text("$0.138")


def test_the_arithmetic_of_a_row_can_be_opened(page: Page) -> None:
    visit(page, f"{LEAGUE}&league_row=mi300x")
    page.locator("[data-kept=league_sums] summary").click()
    expect(page.get_by_text("1.19\u00a0GB ÷ 5.3\u00a0TB/s").first).to_be_visible()


# ---- the map -------------------------------------------------------------------------------------------------


@wide_and_narrow
def test_the_map_loads_fits_and_has_its_line(page: Page) -> None:
    visit(page, f"{MAP}&batch=64")
    expect(page.locator("h1.sc-headline")).to_contain_text("With 64 sequences and bandwidth × 1")
    chart = page.locator(".st-key-map_picture")
    expect(chart.locator("g.mark-rule line")).not_to_have_count(0)
    expect(
        chart.get_by_text("both as long").or_(chart.get_by_text("memory takes as long as arithmetic"))
    ).not_to_have_count(0)
    assert 500 < chart.locator("svg.marks g[class*=mark-]:not(.mark-group) > :not(g)").count() < 2000
    expect(chart.locator('svg [aria-label^="here: 356"]')).to_have_count(1)
    assert fits_its_window(page)
    assert page.evaluate(MEETING_LABELS) == []


def test_a_cell_says_a_sentence_when_pointed_at(page: Page) -> None:
    visit(page, f"{MAP}&map_y=context&count=attention")
    cells = page.locator(".st-key-map_picture g.mark-rect path")
    expect(cells).not_to_have_count(0)
    cells.first.hover()
    tooltip = page.locator("#vg-tooltip-element.visible")
    expect(tooltip).to_contain_text(
        re.compile(r"1 sequence, a context of 128 tokens: a step takes at least .* memory\.")
    )


def test_other_axes_draw_another_map_and_the_same_twice_is_refused(page: Page) -> None:
    visit(page, MAP)
    choose(page, "map_y", "compute ×")
    expect(page).to_have_url(re.compile("map_y=compute_x"))
    expect(page.locator(".st-key-map_picture").get_by_text("compute ×").first).to_be_visible()
    choose(page, "map_x", "compute ×")
    expect(page.get_by_role("alert")).to_contain_text("Both axes are the same")
    expect(page.locator(".st-key-map_picture")).to_have_count(0)
    expect(page).to_have_url(re.compile("map_x=compute_x"))
    page.reload()
    settle(page)
    expect(page.get_by_role("alert")).to_contain_text("Both axes are the same")
