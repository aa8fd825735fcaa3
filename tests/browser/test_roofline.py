"""The Roofline page in a real browser."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from pages.parts import codec
from tests.browser.conftest import NewPage
from tests.browser.driving import heading, settle, slider, steady, visit, wide_and_narrow
from tests.browser.server import serving


def mark(page: Page, step: str) -> Locator:
    """The mark of the decode step or the prefill on the first picture."""
    return page.locator(f'.st-key-time svg [aria-label^="{step} of "]')


def chart_slider(page: Page, key: str) -> Locator:
    return page.locator(f'.st-key-time form.vega-bindings input[name="{key}"]')


def drag(page: Page, handle: Locator, start: float, end: float) -> None:
    """Take a slider at one share of its width and move it to another, without letting go."""
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + start * box["width"], y)
    page.mouse.down()
    for step in range(1, 11):
        page.mouse.move(box["x"] + (start + (end - start) * step / 10) * box["width"], y)


class Sent:
    """Messages that a page sends to its server."""

    def __init__(self, page: Page) -> None:
        self.count = 0
        page.on("websocket", lambda socket: socket.on("framesent", self._note))

    def _note(self, _: object) -> None:
        self.count += 1


@wide_and_narrow
def test_the_page_loads_and_fits(page: Page) -> None:
    visit(page, "roofline")
    expect(heading(page)).to_contain_text("cannot finish sooner than 356\u00a0µs")
    expect(page.get_by_test_id("stVegaLiteChart")).to_have_count(2)
    expect(mark(page, "decode")).to_have_attribute("aria-label", "decode of 1: 356\u00a0µs")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    chart = page.locator(".st-key-time svg.marks").bounding_box()
    assert chart is not None
    assert chart["width"] <= page.viewport_size["width"]  # type: ignore[index]  # every view has a size


@wide_and_narrow
def test_a_slider_moves_the_mark_the_link_keeps_it_and_a_reload_restores_it(page: Page) -> None:
    visit(page, "roofline")
    before = mark(page, "decode").get_attribute("transform")
    slider(page, "batch").focus()
    slider(page, "batch").press("End")
    expect(mark(page, "decode")).to_have_attribute("aria-label", re.compile("decode of 1,024: "))
    assert mark(page, "decode").get_attribute("transform") != before
    expect(heading(page)).to_contain_text("for 1,024 sequences")
    expect(page).to_have_url(re.compile(r"batch=1024"))
    page.reload()
    settle(page)
    expect(mark(page, "decode")).to_have_attribute("aria-label", re.compile("decode of 1,024: "))
    expect(heading(page)).to_contain_text("for 1,024 sequences")


def test_dragging_in_the_chart_sends_nothing_until_the_hand_lets_go(page: Page) -> None:
    sent = Sent(page)
    visit(page, "roofline")
    expect(chart_slider(page, "bandwidth_x")).to_have_value("1")
    quiet = sent.count
    drag(page, chart_slider(page, "bandwidth_x"), 0.2, 0.6)
    expect(mark(page, "decode")).not_to_have_attribute("aria-label", "decode of 1: 356\u00a0µs")
    moved = steady(page, lambda: mark(page, "decode").get_attribute("aria-label"))
    expect(page.locator(".st-key-roof form.vega-bindings input[name=bandwidth_x]")).to_have_value(
        chart_slider(page, "bandwidth_x").input_value()
    )
    page.wait_for_timeout(400)  # longer than any debounce: what would be sent is sent by then
    assert sent.count == quiet
    expect(heading(page)).to_contain_text("356\u00a0µs")
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"bandwidth_x=2\.\d"))
    expect(heading(page)).not_to_contain_text("356\u00a0µs")
    assert sent.count > quiet
    expect(mark(page, "decode")).to_have_attribute("aria-label", str(moved))
    owner = steady(page, slider(page, "bandwidth_x").input_value)
    assert float(owner) == pytest.approx(float(chart_slider(page, "bandwidth_x").input_value()))
    page.reload()
    settle(page)
    expect(mark(page, "decode")).to_have_attribute("aria-label", str(moved))
    expect(chart_slider(page, "bandwidth_x")).to_have_value(owner)


def test_the_sidebars_slider_moves_the_pictures_while_it_is_dragged(page: Page) -> None:
    visit(page, "roofline")
    headline = heading(page).inner_text()
    thumb = page.locator(".st-key-compute_x [data-testid=stSliderThumbValue]").locator("..")
    box = thumb.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(8):
        page.mouse.move(x + 10 * step, y)
    expect(mark(page, "prefill")).not_to_have_attribute("aria-label", "prefill of 500: 602\u00a0µs")
    assert heading(page).inner_text() == headline  # the server learns of it when the hand lets go
    assert "compute_x" not in page.url
    page.mouse.up()
    expect(page).to_have_url(re.compile("compute_x="))
    expect(chart_slider(page, "compute_x")).to_have_value(slider(page, "compute_x").input_value())


def test_keys_on_the_charts_slider_reach_the_owner(page: Page) -> None:
    visit(page, "roofline")
    expect(chart_slider(page, "compute_x")).to_have_value("1")
    chart_slider(page, "compute_x").focus()
    chart_slider(page, "compute_x").press("ArrowRight")
    expect(page).to_have_url(re.compile(r"compute_x=1\.05"))
    expect(slider(page, "compute_x")).to_have_value("1.05")


def test_a_deep_link_works_as_the_first_visit_to_a_fresh_server(new_page: NewPage, tmp_path: Path) -> None:
    hw = codec.custom_hardware("<i>My chip</i>", bandwidth=6.7e12, memory=1e11, peak={"bf16": 1e15})
    link = f"roofline?hardware=custom&accelerator={codec.pack_hardware(hw)}&count=attention&batch=77&bandwidth_x=2"
    with serving(tmp_path / "log") as address:
        page = visit(new_page(server=address), link)
        expect(heading(page)).to_contain_text("for 77 sequences over 2,048 cached tokens each on <i>My chip</i>")
        expect(page.locator("h1 i")).to_have_count(0)
        expect(slider(page, "bandwidth_x")).to_have_value("2")
        expect(page.get_by_test_id("stSidebar")).to_be_visible()
        page.close()


def test_back_returns_to_the_model_before(page: Page) -> None:
    visit(page, "roofline")
    page.get_by_role("combobox", name="Hardware").fill("B200")
    page.get_by_role("option", name="B200", exact=True).click()
    expect(heading(page)).to_contain_text("on B200")
    expect(page).to_have_url(re.compile("hardware=b200"))
    page.go_back()
    expect(heading(page)).to_contain_text("on H100 SXM")


def test_the_colours_follow_the_theme_without_a_rerun(new_page: NewPage) -> None:
    strokes = {}
    for view in ("light", "dark"):
        page = visit(new_page(view), "roofline")
        strokes[view] = page.locator(".st-key-time svg path[stroke-width='4']").first.get_attribute("stroke")
        assert page.evaluate("getComputedStyle(document.querySelector('h1 .memory')).color") != ""
    assert {view: str(colour).lower() for view, colour in strokes.items()} == {"light": "#3a5bb0", "dark": "#7599f1"}


def test_the_derivation_opens_stays_open_and_copies(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit(page, "roofline")
    page.get_by_text("Show the arithmetic").click()
    expect(page.get_by_text("595,984,384 parameters × 2 bytes")).to_be_visible()
    slider(page, "batch").press("ArrowRight")
    expect(page.get_by_text("the longer of 356 µs and 1.2 µs × 2")).to_be_visible()
    copy = page.get_by_role("button", name="Copy", exact=True)
    copy.click()
    expect(page.get_by_role("button", name="Copied", exact=True)).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()").replace("\u00a0", " ")
    assert "weights: 595,984,384 parameters × 2 bytes = 1.19 GB\n" in copied
    assert "step: the longer of 356 µs and 1.2 µs × 2 = 356 µs\n" in copied
    page.get_by_text("Show the arithmetic").click()
    slider(page, "batch").press("ArrowRight")
    expect(page.locator("h1.sc-headline")).to_contain_text("3 ")
    expect(page.get_by_text("the longer of 356 µs and 1.2 µs × 3")).to_be_hidden()


def test_an_answer_that_moves_the_sidebar_runs_that_too(page: Page) -> None:
    visit(page, "roofline")
    page.get_by_role("button", name="Show bandwidth × 2").click()
    expect(page.locator("h1.sc-headline")).to_contain_text("178")
    expect(slider(page, "bandwidth_x")).to_have_attribute("aria-valuetext", re.compile(r"^2(\.00)?$"))
    expect(page.get_by_role("button", name="Back to datasheet figures")).to_be_enabled()
    expect(page).to_have_url(re.compile(r"bandwidth_x=2"))
    page.get_by_role("button", name="Back to datasheet figures").click()
    expect(page.locator("h1.sc-headline")).to_contain_text("356")
