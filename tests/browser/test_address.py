"""The address says what the page shows, whatever the browser made of it on the way."""

import re

from playwright.sync_api import Page, expect

from tests.browser.driving import quiet, settle, slider, visit


def test_an_address_that_was_left_behind_is_mended_by_the_next_run(page: Page) -> None:
    visit(page, "roofline?batch=64")
    page.evaluate("history.replaceState(history.state, '', location.pathname + '?batch=1024&prompt=9&utm=x')")
    entries = page.evaluate("history.length")
    slider(page, "context").focus()
    slider(page, "context").press("End")
    expect(page).to_have_url(re.compile(r"\?(?=.*context=1048576)(?=.*batch=64)(?=.*utm=x)(?!.*prompt=)"))
    assert page.evaluate("history.length") == entries


def test_after_quick_keys_a_reload_shows_the_same_figures(page: Page) -> None:
    visit(page, "batching")
    for keys in (("End", "Home"), ("End", "Home", "ArrowRight"), ("End", "ArrowLeft", "Home", "End")):
        slider(page, "drafts").press("End")
        for key in keys:
            slider(page, "batch").press(key)
    expect(page.locator("h1.sc-headline")).to_contain_text("1,024 sequences share each step")
    expect(page).to_have_url(re.compile(r"(?=.*batch=1024)(?=.*drafts=15)"))
    for keys in (("Home", "End", "Home"), ("End", "Home")):
        for key in keys:
            slider(page, "batch").press(key)
    quiet(page)
    expect(page.locator("h1.sc-headline")).not_to_contain_text("1,024")
    expect(page).to_have_url(re.compile(r"^(?!.*batch=).*drafts=15"))
    said = page.locator("h1.sc-headline").inner_text()
    page.reload()
    settle(page)
    expect(page.locator("h1.sc-headline")).to_have_text(re.compile(re.escape(said).replace(r"\ ", r"\s")))
    assert slider(page, "drafts").get_attribute("aria-valuetext") == "15"
