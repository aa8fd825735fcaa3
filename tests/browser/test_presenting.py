"""For an audience and on paper: every page without its controls, in large type, and nothing cut off."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import Guide
from tests.browser.driving import visit
from tests.browser.tour import in_views


@in_views("audience 1920")
def test_every_page_is_large_and_without_controls(tour: Guide, view: str) -> None:
    seen = tour(view)
    assert not seen.wrong["audience 1920"]
    assert not seen.wrong["audience 1280"]


def test_a_button_enters_it_and_escape_or_a_button_leaves_it(page: Page) -> None:
    visit(page, "roofline?batch=8")
    for leave in ("key", "button"):
        page.get_by_role("button", name="Presentation view").click()
        button = page.get_by_role("button", name="Leave presentation")
        expect(button).to_be_visible()
        expect(page).to_have_url(re.compile("present=on"))
        expect(page.get_by_test_id("stSidebar")).not_to_be_visible()
        if leave == "key":
            page.keyboard.press("Escape")
        else:
            button.click()
        expect(page.get_by_test_id("stSidebar")).to_be_visible()
        expect(button).to_have_count(0)
        expect(page).to_have_url(re.compile(r"batch=8$"))


def test_pictures_that_were_opened_are_shown_to_the_audience_too(page: Page) -> None:
    visit(page, "compare")
    page.get_by_text("What batching buys each").click()
    expect(page.locator(".st-key-pair_market svg.marks")).to_be_visible()
    page.get_by_role("button", name="Presentation view").click()
    expect(page.get_by_role("button", name="Leave presentation")).to_be_visible()
    expect(page.locator(".st-key-pair_market svg.marks")).to_be_visible()
    expect(page.get_by_text("What batching buys each")).not_to_be_visible()


@in_views("paper")
def test_every_page_prints_whole_and_without_controls(tour: Guide, view: str) -> None:
    assert not tour(view).wrong["paper"]


def test_the_longest_page_takes_several_sheets(page: Page, tmp_path: Path) -> None:
    visit(page, "accuracy")
    page.emulate_media(media="print")
    page.pdf(path=tmp_path / "page.pdf", format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", (tmp_path / "page.pdf").read_bytes())) > 1
