"""For an audience and on paper: every page without its controls, in large type, and nothing cut off."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.driving import paths, visit

LONG = 20_000  # ms, a bound against hanging
CONTROLS = (
    ".stSidebar, .stAppHeader, .stSlider, .stSelectbox, .stCheckbox, .stButton, .stButtonGroup, .stDownloadButton, "
    ".stFileUploader, .stTextInput, .stNumberInput, .stPopover, form.vega-bindings, .sc-asks"
)
CUT_OFF = """
(width) => [...document.querySelectorAll(".stVegaLiteChart svg.marks, .sc-table, .sc-headline, .sc-figures")]
  .filter((box) => box.checkVisibility() && box.getBoundingClientRect().right > width + 1)
  .map((box) => `${box.getAttribute("class")} ends at ${Math.round(box.getBoundingClientRect().right)}`)
"""


def seen(page: Page) -> list[str]:
    """Controls that can be seen."""
    found: list[str] = page.evaluate(
        "(list) => [...document.querySelectorAll(list)].filter((e) => e.checkVisibility()).map((e) => e.className)",
        CONTROLS,
    )
    return found


@pytest.mark.parametrize(("width", "height", "type_"), [(1920, 1080, 54), (1280, 720, 38)])
def test_every_page_is_large_and_without_controls(page: Page, width: int, height: int, type_: int) -> None:
    every = paths(visit(page))
    page.set_viewport_size({"width": width, "height": height})
    for path in every:
        visit(page, f"{path}?present=on")
        assert seen(page) == [], path
        assert page.evaluate(CUT_OFF, width) == [], path
        headline = page.locator("h1").bounding_box()
        assert headline is not None
        assert headline["y"] + headline["height"] < height / 2, path
        size = "(h) => parseFloat(getComputedStyle(h).fontSize) * h.getBoundingClientRect().width / h.offsetWidth"
        assert page.locator("h1").evaluate(size) >= type_, path


def test_a_button_enters_it_and_escape_or_a_button_leaves_it(page: Page) -> None:
    visit(page, "roofline?batch=8")
    for leave in ("key", "button"):
        page.get_by_role("button", name="Presentation view").click()
        button = page.get_by_role("button", name="Leave presentation")
        expect(button).to_be_visible(timeout=LONG)
        expect(page).to_have_url(re.compile("present=on"))
        expect(page.get_by_test_id("stSidebar")).not_to_be_visible()
        if leave == "key":
            page.keyboard.press("Escape")
        else:
            button.click()
        expect(page.get_by_test_id("stSidebar")).to_be_visible(timeout=LONG)
        expect(button).to_have_count(0)
        expect(page).to_have_url(re.compile(r"batch=8$"))


@pytest.mark.parametrize("view", ["light", "dark"])
def test_every_page_prints_whole_and_without_controls(new_page: NewPage, view: str, tmp_path: Path) -> None:
    page = new_page(view)
    for path in paths(visit(page)):
        visit(page, path)
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 718, "height": 1000})  # A4 between its margins
        assert seen(page) == [], path
        assert page.evaluate(CUT_OFF, 718) == [], path
        ink = page.locator("h1").evaluate("(h) => getComputedStyle(h).color")
        assert ink == "rgb(31, 34, 38)", path  # dark on white, whichever theme the screen has
        page.emulate_media(media="screen")
        page.set_viewport_size({"width": 1280, "height": 900})
    visit(page, "accuracy")  # the longest one
    page.emulate_media(media="print")
    page.pdf(path=tmp_path / "page.pdf", format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", (tmp_path / "page.pdf").read_bytes())) > 1
