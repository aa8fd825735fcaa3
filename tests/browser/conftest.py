"""A real server and a real Chromium, started once, and pages that are watched while a test drives them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Playwright, sync_playwright

from tests.browser import chromium
from tests.browser.driving import VIEWS, Watch, visit
from tests.browser.server import serving

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
    *("--force-color-profile=srgb", "--font-render-hinting=none"),
]
NewPage = Callable[..., Page]
MEASURING = {"test_measure.py", "test_robust.py"}
"""Files whose tests measure this machine: one after the other, in one process."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies here, so that `-m "not browser"` leaves it out, and run it last.

    Last, because Playwright keeps an event loop running in the main thread until the session ends, and any other test
    that starts one would fail beside it.
    """
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker("browser")
        if here in item.path.parents and item.path.name in MEASURING:
            item.add_marker(pytest.mark.xdist_group("measuring in a browser"))
    items.sort(key=lambda item: here in item.path.parents)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the app, served for all tests; its log must hold no traceback at the end."""
    with serving(tmp_path_factory.mktemp("server") / "log") as address:
        yield address


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """Playwright's driver process."""
    with sync_playwright() as driver:
        yield driver


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """The Chromium of this machine. Where there is none, the tests fail and say how to get one."""
    chromium_ = playwright.chromium.launch(executable_path=chromium.find(), headless=True, args=FLAGS)
    yield chromium_
    chromium_.close()


@pytest.fixture(scope="module")
def met(server: str, browser: Browser) -> None:
    """Meet the server: Streamlit greets the first deep link to a fresh one with a box that says "page not found"."""
    page = browser.new_page(base_url=f"{server}/")
    visit(page)
    page.close()


@pytest.fixture
def watch() -> Iterator[Watch]:
    """What goes wrong on the pages of this test, checked at its end."""
    watched = Watch()
    yield watched
    watched.check()


@pytest.fixture
def new_page(browser: Browser, server: str, watch: Watch) -> Iterator[NewPage]:
    """Make a page: `new_page("phone", server=address)`, each with cookies and storage of its own."""
    contexts = []

    def make(view: str = "light", *, server: str = server) -> Page:
        window = VIEWS[view]
        context = browser.new_context(
            base_url=f"{server}/",
            viewport={"width": window.width, "height": window.height},
            color_scheme=window.color_scheme,
            reduced_motion="reduce",
        )
        contexts.append(context)
        watch.attach(context)
        return context.new_page()

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def page(request: pytest.FixtureRequest, new_page: NewPage) -> Page:
    """A page of the served app, not opened yet: light and desktop, or as `every_view` says."""
    return new_page(getattr(request, "param", "light"))
