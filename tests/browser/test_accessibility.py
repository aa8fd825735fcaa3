"""Every page for people who cannot see it, or have no mouse: axe-core's rules, names with figures, the keyboard."""

from playwright.sync_api import Page

from tests.browser.conftest import Guide
from tests.browser.driving import visit
from tests.browser.tour import in_views, out_of_reach


@in_views("axe")
def test_axe_finds_nothing_serious(tour: Guide, view: str) -> None:
    assert not tour(view).wrong["axe"]


@in_views("figures")
def test_every_picture_says_its_figures(tour: Guide, view: str) -> None:
    assert not tour(view).wrong["figures"]


@in_views("order")
def test_headings_are_in_order_and_landmarks_are_there(tour: Guide, view: str) -> None:
    assert not tour(view).wrong["order"]


@in_views("keyboard")
def test_the_keyboard_reaches_every_control_and_shows_where_it_is(tour: Guide, view: str) -> None:
    assert not tour(view).wrong["keyboard"]


def test_the_keyboard_goes_back_too(page: Page) -> None:
    assert not out_of_reach(visit(page, "roofline"), "Shift+Tab")
