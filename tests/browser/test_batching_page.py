"""The Batching page in a real Chromium: it opens and fits, a slider moves what is drawn, the link restores it."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.driving import every_view, visit

LONG = 30_000  # ms, a bound against hanging


@every_view
def test_it_opens_without_a_sideways_scroll(page: Page):
    visit(page, "batching")
    expect(page.locator(".st-key-tradeoff svg.marks, .st-key-tradeoff canvas.marks").first).to_be_visible(timeout=LONG)
    main = "document.querySelector('[data-testid=stMain]')"
    assert page.evaluate(f"{main}.scrollWidth <= {main}.clientWidth")


def test_a_slider_moves_the_figures_and_a_reload_keeps_them(page: Page):
    visit(page, "batching")
    first = page.locator(".sc-figures").first
    expect(first).to_be_visible(timeout=LONG)
    before = first.inner_text()
    page.locator(".st-key-batch input[type=range]").press("ArrowRight")
    expect(page).to_have_url(re.compile("batch=2"), timeout=LONG)
    expect(first).not_to_have_text(before)
    moved = first.inner_text()
    page.reload()
    expect(page.locator(".sc-figures").first).to_have_text(moved, use_inner_text=True, timeout=LONG)
