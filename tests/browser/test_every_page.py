"""What holds on every page: nothing is asked of another host, nothing jumps, hints stay closed, faults are said."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import Guide, NewPage
from tests.browser.driving import PLACES, paths, settle, visit
from tests.browser.server import HOST, serving
from tests.browser.tour import in_views


@in_views("fits")
def test_every_page_fits_its_window_and_no_two_labels_meet(tour: Guide, view: str) -> None:
    assert not tour(view).wrong["fits"]


@in_views("menu")
def test_no_page_asks_another_host(tour: Guide, view: str) -> None:
    seen = tour(view)
    assert len(seen.paths) > 9
    assert seen.hosts == {HOST}


def moved(page: Page) -> list[object]:
    """Move the first slider of the page by one stop; return what stands elsewhere after it."""
    slider = page.locator(".stMain input[type=range]").first
    before, value = page.evaluate(PLACES), slider.input_value()
    address = page.url
    slider.focus()
    slider.press("ArrowRight")
    expect(slider).not_to_have_value(value)
    expect(page).not_to_have_url(address)
    settle(page)
    after = page.evaluate(PLACES)
    return [(was, now) for was, now in zip(before, after, strict=False) if was != now] + [len(before) - len(after)]


def test_nothing_jumps_when_a_slider_moves(page: Page) -> None:
    wrong = {}
    for path in paths(visit(page)):
        visit(page, f"{path}?batch=8&tokens=8")  # the Scheduler leaves its story
        if page.locator(".stMain input[type=range]").count():
            changed = moved(page)
            if changed != [0]:
                wrong[path] = changed
    assert not wrong


def test_nothing_jumps_when_the_machine_is_changed(page: Page) -> None:
    visit(page, "roofline")
    before = page.evaluate(PLACES)
    page.locator(".st-key-bandwidth_x input").focus()
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("bandwidth_x"))
    settle(page)
    assert page.evaluate(PLACES) == before


def test_a_hint_that_was_closed_stays_closed(page: Page) -> None:
    visit(page, "roofline")
    hint = page.get_by_role("note")
    expect(hint).to_contain_text("Drag bandwidth or compute")
    page.get_by_role("button", name="Close this hint for good").click()
    expect(hint).to_have_count(0)
    page.reload()
    settle(page)
    expect(hint).to_have_count(0)
    visit(page, "shapes")
    expect(hint).to_contain_text("Point at any cell")
    visit(page, "shapes?present=on")
    expect(hint).to_have_count(0)


def test_a_page_that_does_not_exist_leads_to_the_start(page: Page) -> None:
    visit(page)
    visit(page, "nowhere")
    expect(page.locator("h1")).to_contain_text("A step of Qwen3-0.6B")
    box = page.get_by_role("dialog")
    expect(box).to_contain_text("Page not found")
    box.get_by_role("button", name="Close").click()
    expect(box).to_have_count(0)


def test_a_server_that_is_gone_is_said(new_page: NewPage, tmp_path: Path) -> None:
    with serving(tmp_path / "log") as address:
        page = visit(new_page(server=address), "roofline")
    expect(page.get_by_role("status").filter(has_text="The server does not answer.")).to_be_visible()
    expect(page.locator("h1")).to_contain_text("cannot finish sooner than")
