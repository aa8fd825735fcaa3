"""How the browser tests open a page, wait for it, and notice what went wrong on it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, TimeoutError, expect  # noqa: A004  # its own

from tests.browser.server import HOST

# Of every wait for what a page is to show: a bound against hanging. A page loads in about two seconds.
expect.set_options(timeout=30_000)

T = TypeVar("T")

# Streamlit may replace an exception box within the same run, so each one is reported as it appears.
REPORT_EXCEPTIONS = """
new MutationObserver(() => {
  for (const box of document.querySelectorAll('[data-testid=stException]:not([data-reported])')) {
    box.setAttribute('data-reported', '');
    window.reportException(box.innerText);
  }
}).observe(document, {childList: true, subtree: true});
"""


# The labels of charts, and of pictures of the app's own, that overlap: each pair in words.
MEETING_LABELS = """
() => {
  const met = [], hosts = [...document.querySelectorAll('.stMain *')].filter((e) => e.shadowRoot);
  const sheets = hosts.flatMap((e) => [...e.shadowRoot.querySelectorAll('svg.sheet')]);
  for (const picture of [...document.querySelectorAll('[data-testid=stVegaLiteChart]'), ...sheets]) {
    const texts = [...picture.querySelectorAll(picture.matches('svg') ? 'text' : 'g.mark-text text')]
      .filter(t => t.textContent && t.getAttribute('opacity') !== '0')
      .map(t => ({ said: t.textContent, box: t.getBoundingClientRect() }));
    texts.forEach((a, i) => texts.slice(i + 1).forEach((b) => {
      const wide = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
      const high = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
      if (wide > 1 && high > 4) met.push(`${a.said} / ${b.said}`);
    }));
  }
  return met;
}
"""


# Where things stand on the page, by name: what moves when something else comes or goes.
PLACES = """
() => [...document.querySelectorAll(
    'h1, h2, .stVegaLiteChart, .stBidiComponent, .stSlider, .stSelectbox, .stButton, .sc-figures, .sc-table')]
  .filter((e) => e.checkVisibility() && e.getBoundingClientRect().height > 0)
  .map((e) => {
    const name = e.closest('[class*=st-key-]')?.className.match(/st-key-\\S+/)?.[0] ?? e.className.split(' ').at(-1);
    const scrolled = (e.closest('.stSidebar') ?? document.querySelector('.stMain')).scrollTop;
    return [name, Math.round(e.getBoundingClientRect().top + scrolled)];
  })
"""


QUIET = """
() => new Promise((done) => {
  const app = document.querySelector("[data-testid=stApp]");
  let timer = 0;
  const watch = () => {
    clearTimeout(timer);
    if (app.dataset.testScriptState === "notRunning") timer = setTimeout(() => { watcher.disconnect(); done(); }, 1000);
  };
  const watcher = new MutationObserver(watch);
  watcher.observe(app, { attributeFilter: ["data-test-script-state"] });
  watch();
})
"""


@dataclass(frozen=True)
class View:
    """A window and the theme that it prefers."""

    width: int
    height: int
    color_scheme: str


VIEWS = {
    "light": View(1280, 900, "light"),
    "dark": View(1280, 900, "dark"),
    "phone": View(390, 844, "light"),
    "wall": View(1920, 1080, "light"),
}

wide_and_narrow = pytest.mark.parametrize("page", ["light", "phone"], indirect=True)
"""Of what fits, in which the theme changes nothing; the tours of all pages see the dark one too."""


@dataclass
class Watch:
    """What went wrong on the pages of its contexts; tests that provoke a fault on purpose clear its list."""

    page_errors: list[str] = field(default_factory=list)
    exceptions: list[str] = field(default_factory=list)
    foreign_requests: list[str] = field(default_factory=list)

    def attach(self, context: BrowserContext) -> None:
        """Watch every page that the context will open."""
        context.expose_function("reportException", self._note_exception)
        context.add_init_script(REPORT_EXCEPTIONS)
        context.on("weberror", lambda event: self.page_errors.append(str(event.error)))
        context.on("request", lambda request: self._note_request(request.url))
        context.on("page", lambda page: page.on("websocket", lambda socket: self._note_request(socket.url)))

    def forget(self) -> None:
        """Begin anew."""
        for noted in (self.page_errors, self.exceptions, self.foreign_requests):
            noted.clear()

    def check(self) -> None:
        """Fail where a page raised, Streamlit showed an exception, or anything asked another host."""
        assert not self.page_errors, f"errors in the page: {self.page_errors}"
        assert not self.exceptions, f"Streamlit showed an exception: {self.exceptions}"
        assert not self.foreign_requests, f"asked another host than the server: {self.foreign_requests}"

    def _note_exception(self, text: str) -> None:
        self.exceptions.append(text)

    def _note_request(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme in {"http", "https", "ws", "wss"} and parts.hostname != HOST:
            self.foreign_requests.append(url)


def settle(page: Page) -> None:
    """Wait until a loaded page is complete: connected, its script finished, nothing stale, every chart drawn.

    For loads only. After a click or a key, wait for the content that it brings: the script may not have begun yet.
    """
    app = page.get_by_test_id("stApp")
    expect(app).to_have_attribute("data-test-connection-state", "CONNECTED")
    expect(app).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)
    expect(page.locator("[data-stale=true]")).to_have_count(0)
    for chart in page.get_by_test_id("stVegaLiteChart").all():
        expect(chart.locator("svg.marks, canvas.marks")).not_to_have_count(0)


def visit(page: Page, path: str = "") -> Page:
    """Open a path of the served app, such as "shapes?batch=4", and wait until it is complete."""
    page.goto(path or ".")
    settle(page)
    return page


def paths(page: Page) -> list[str]:
    """Paths of all pages, from the navigation of an opened one; the first is "", the start page."""
    links = page.locator("[data-testid=stTopNavLink], [data-testid=stSidebarNavLink]")
    return [urlsplit(link.get_attribute("href") or "").path.strip("/") for link in links.all()]


def heading(page: Page) -> Locator:
    """The sentence of numbers that a page opens with."""
    return page.locator("h1.sc-headline")


def steady(page: Page, read: Callable[[], T]) -> T:
    """What is read of a page when it has stopped changing, as a picture does a moment after it has been moved."""
    seen = read()
    for _ in range(60):
        page.wait_for_timeout(500)
        before, seen = seen, read()
        if seen == before:
            return seen
    raise AssertionError(f"it does not come to rest: {seen}")


def quiet(page: Page) -> None:
    """Wait until the server has had nothing to do for a second: answers to several moves come one after the other."""
    page.evaluate(QUIET)


def choose(page: Page, key: str, option: str) -> None:
    """Choose an option of a select. An open list closes when the page scrolls under it: then, choose again."""
    select = page.locator(f".st-key-{key} [role=combobox]")
    for _ in range(5):
        select.scroll_into_view_if_needed()
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        select.fill(option)  # a long list is drawn in part
        try:
            page.get_by_role("option", name=option, exact=True).click(timeout=4_000)
            expect(select).to_have_value(option, timeout=4_000)
        except (AssertionError, TimeoutError):
            select.press("Escape")
        else:
            return
    raise AssertionError(f"{option} could not be chosen")


def slider(page: Page, key: str) -> Locator:
    """The slider of a control."""
    return page.locator(f".st-key-{key} input[type=range]")
