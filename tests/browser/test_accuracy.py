"""The Accuracy page in a real browser: both pictures are drawn, a table is uploaded, the start table is downloaded."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from costmodel import accuracy
from tests.browser.driving import visit, wide_and_narrow


@wide_and_narrow
def test_the_page_loads_and_fits(page: Page) -> None:
    visit(page, "accuracy")
    expect(page.locator("h1")).to_contain_text("too fast. The estimate is")
    expect(page.get_by_test_id("stVegaLiteChart")).to_have_count(2)
    mark = page.locator('.st-key-errors svg [aria-label^="Whole steps, dense: estimate"]')
    expect(mark).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_table_is_downloaded_changed_and_judged(page: Page, tmp_path: Path) -> None:
    visit(page, "accuracy?error_gpu=h100-sxm")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download a table to start from").click()
    table = tmp_path / "steps.csv"
    download.value.save_as(table)
    assert table.read_text(encoding="utf-8") == accuracy.SAMPLE
    table.write_text("\n".join(accuracy.SAMPLE.splitlines()[:3]), encoding="utf-8")
    page.locator(".st-key-own_steps input[type=file]").set_input_files(table)
    expect(page.get_by_text("Your steps (2)")).to_be_visible()
    dots = page.locator('.st-key-own_steps_picture svg [aria-label*="estimate off by"]')
    expect(dots).to_have_count(2)
    other = tmp_path / "other.csv"
    other.write_text("model,hardware\nx,y", encoding="utf-8")
    page.locator(".st-key-own_steps input[type=file]").set_input_files(other)
    expect(page.get_by_text(re.compile("Not taken over. line 1"))).to_be_visible()
    expect(page.get_by_text("Your steps (2)")).to_be_visible()


def test_another_grouping_is_drawn(page: Page) -> None:
    visit(page, "accuracy")
    page.locator(".st-key-errors_row").get_by_text("By GPU").click()
    expect(page.locator('.st-key-errors svg [aria-label^="GB200, prefill: floor"]')).to_have_count(1)
    expect(page).to_have_url(re.compile("error_rows=gpu"))
