"""The Memory page in a real Chromium: what does not fit is told, and a remedy makes it fit."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.driving import PLACES, settle, slider, visit, wide_and_narrow
from tests.browser.tour import grave

pytestmark = pytest.mark.usefixtures("met")


def remedies(page: Page) -> Locator:
    """The button that opens them."""
    return page.get_by_role("button", name="What would make it fit", exact=True)


def test_a_remedy_makes_it_fit_and_is_in_the_link(page: Page) -> None:
    visit(page, "memory?model=llama-3.1-70b&batch=16&context=8192")
    expect(page.locator("h1.sc-headline")).to_contain_text(
        "Does not fit: the weights of Llama-3.1-70B take 131\u00a0GiB"
    )
    remedies(page).click()
    page.get_by_role("button", name="Set 4 GPUs").click()
    expect(page.locator("h1.sc-headline")).to_contain_text("4 × H100 SXM have room for")
    expect(page).to_have_url(re.compile("tensor_parallel=4"))
    expect(page.get_by_test_id("stPopoverBody")).to_have_count(0)
    expect(remedies(page)).to_be_disabled()


@pytest.mark.parametrize(
    ("query", "key", "presses"),
    [
        ("batch=320", "batch", "ArrowRight"),
        ("model=qwen3-32b&reserve_gib=10", "reserve_gib", "End"),  # the weights alone do not fit then
        ("model=gemma-3-27b&tensor_parallel=2&context=131072&utilization=0.5&reserve_gib=1", "batch", "End"),
    ],
)
def test_nothing_moves_when_it_no_longer_fits(page: Page, query: str, key: str, presses: str) -> None:
    visit(page, f"memory?{query}")
    expect(remedies(page)).to_be_disabled()
    before = page.evaluate(PLACES)
    slider(page, key).press(presses)
    expect(page.locator("h1.sc-headline")).to_contain_text("Does not fit")
    expect(remedies(page)).to_be_enabled()
    settle(page)
    assert page.evaluate(PLACES) == before
    remedies(page).click()
    expect(page.get_by_role("button", name=re.compile("Set "))).not_to_have_count(0)
    assert not grave(page)


def test_a_slider_moves_the_bar_and_the_point(page: Page) -> None:
    visit(page, "memory?batch=64")
    bar = page.locator(".st-key-memory_bar [role=graphics-document]").first
    expect(bar).to_have_attribute("aria-label", re.compile("caches of 64 sequences 14.0\u00a0GiB"))
    slider = page.get_by_role("slider", name="Sequences, B")
    slider.focus()
    slider.press("ArrowRight")
    expect(bar).to_have_attribute("aria-label", re.compile("caches of 80 sequences 17.5\u00a0GiB"))
    point = page.locator(".st-key-memory_curve [aria-label='80 sequences of 2,048 tokens']")
    expect(point).to_have_count(1)
    expect(page).to_have_url(re.compile("batch=80"))


def test_a_memory_that_nobody_publishes_can_be_given_and_is_kept(page: Page) -> None:
    visit(page, "memory?hardware=mi325x")
    expect(page.get_by_role("alert")).to_contain_text("Give the usable memory of MI325X")
    field = page.get_by_label("Usable memory of MI325X, GiB")
    field.fill("200")
    field.press("Enter")
    expect(page.locator("h1.sc-headline")).to_contain_text("MI325X has room for")
    expect(page).to_have_url(re.compile("own_memory="))
    said = page.locator("h1.sc-headline").inner_text()
    page.reload()
    expect(page.locator("h1.sc-headline")).to_have_text(said)


@wide_and_narrow
def test_it_fits_its_window(page: Page) -> None:
    visit(page, "memory?model=gemma-3-27b&batch=8&context=131072")
    expect(page.get_by_role("heading", name="Windows: two bounds")).to_be_visible()
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth <= window.innerWidth")
