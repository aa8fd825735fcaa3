"""A real server and a real Chromium, started once, and pages that are watched while a test drives them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, sync_playwright

from tests.browser import chromium
from tests.browser.driving import VIEWS, Watch, visit
from tests.browser.server import serving
from tests.browser.tour import TOURS, Tour

# Chromium makes a page of its own for the suggestions of each tab's address bar: a fifth of the processor's time of a
# visit. The other features are those that Playwright leaves out, whose list this flag takes the place of.
WITHOUT = (
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "AvoidUnnecessaryBeforeUnloadCheckSync"),
    *(
        "DestroyProfileOnBrowserClose",
        "HttpsUpgrades",
        "HttpsFirstBalancedModeAutoEnable",
        "LensOverlay",
        "MediaRouter",
    ),
    *("PaintHolding", "ThirdPartyStoragePartitioning", "AvoidCorsURLLoaderRestartOnRedirect", "OptimizationHints"),
    *("NetworkTimeServiceQuerying", "AimEnabled", "PreconnectToSearch"),
)
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
    *("--force-color-profile=srgb", "--font-render-hinting=none"),
    f"--disable-features={','.join(WITHOUT)}",
]
NewPage = Callable[..., Page]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies here, so that `-m "not browser"` leaves it out, and run it last.

    Last, because Playwright keeps an event loop running in the main thread until the session ends, and any other test
    that starts one would fail beside it.
    """
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker("browser")
    items.sort(key=lambda item: here in item.path.parents)


@dataclass
class Windows:
    """Contexts, one a view, that keep what they have loaded and compiled: half of what a first visit takes.

    A test that takes one finds no cookies, storage, permissions or pages of the one before.
    """

    browser: Browser
    server: str
    watch: Watch
    _kept: dict[str, BrowserContext] = field(default_factory=dict)
    _used: set[str] = field(default_factory=set)

    def context(self, view: str, server: str) -> BrowserContext:
        """A context of its own for pages of a server."""
        window = VIEWS[view]
        context = self.browser.new_context(
            base_url=f"{server}/",
            viewport={"width": window.width, "height": window.height},
            color_scheme=window.color_scheme,
            reduced_motion="reduce",
        )
        self.watch.attach(context)
        return context

    def page(self, view: str) -> Page:
        """A page of the one server."""
        if view not in self._kept:
            self._kept[view] = self.context(view, self.server)
        page = self._kept[view].new_page()
        if view not in self._used:
            page.goto("_stcore/health")
            page.evaluate("localStorage.clear(), sessionStorage.clear()")
        self._used.add(view)
        return page

    def close_pages(self) -> None:
        """End what a test has used."""
        for view in self._used:
            context = self._kept[view]
            for page in context.pages:
                page.close()
            context.clear_cookies()
            context.clear_permissions()
        self._used.clear()


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


@pytest.fixture(scope="session")
def watched() -> Watch:
    """What goes wrong on any page; a test sees what is its own as ``watch``."""
    return Watch()


@pytest.fixture
def watch(watched: Watch) -> Iterator[Watch]:
    """What goes wrong on the pages of this test, checked at its end."""
    watched.forget()
    yield watched
    watched.check()


@pytest.fixture(scope="session")
def windows(browser: Browser, server: str, watched: Watch) -> Windows:
    """The contexts that tests of the one server take in turn."""
    return Windows(browser, server, watched)


Guide = Callable[[str], Tour]


@pytest.fixture(scope="session")
def _tours() -> dict[str, Tour]:
    return {}


@pytest.fixture
def tour(windows: Windows, watch: Watch, _tours: dict[str, Tour]) -> Guide:  # watch: it checks at the end
    """What is seen on all pages in a view; they are visited by the first test that asks."""

    def seen(view: str) -> Tour:
        if view not in _tours:
            _tours[view] = Tour.of(view, windows.page(TOURS[view][0]))
            windows.close_pages()
        return _tours[view]

    return seen


@pytest.fixture
def new_page(windows: Windows, watch: Watch) -> Iterator[NewPage]:
    """Make a page, `new_page("phone")`; with `server=address` in a context of its own."""
    own = []

    def make(view: str = "light", *, server: str | None = None) -> Page:
        if server is None:
            return windows.page(view)
        own.append(windows.context(view, server))
        return own[-1].new_page()

    yield make
    for context in own:
        context.close()
    windows.close_pages()


@pytest.fixture
def page(request: pytest.FixtureRequest, new_page: NewPage) -> Page:
    """A page of the served app, not opened yet: light and desktop, or as `wide_and_narrow` says."""
    return new_page(getattr(request, "param", "light"))
