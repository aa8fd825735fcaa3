"""What somebody at a browser waits for, in a real Chromium: a moved slider, a first visit, a timeline, a measurement.

Latency is taken in the page itself, from the key that goes down to the last change of a picture. Figures with their
goals beside them, not assertions: what is asserted is that each slider brings a new picture.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from live import store
from tests.browser import chromium
from tests.browser.conftest import FLAGS
from tests.browser.driving import settle
from tests.browser.server import resident_mb, serving
from tests.live.processes import wait_for
from tests.visitor import with_views

pytestmark = pytest.mark.browser

MOVES = 20
GOAL_MS, PLAYGROUND_GOAL_MS, TIMELINE_GOAL_MS = 60, 250, 300
VISITS = 3
QUIET_MS, NOTHING_MS = 250, 5_000  # after the last change, and without one
POLL_MS = 50  # not each frame: that would have Chromium draw frames all the while
BUSIER = {"scheduler": "scheduler?requests=100&token_budget=64"}  # where each stop of the slider changes the run
MEASURED_MS = 400_000  # a bound against hanging

# Pictures are Vega charts, and components of the app's own that draw an SVG in a shadow tree. A picture has changed
# when its drawing has: its times are those of the changes, from the key that went down. An attribute that gets the
# value that it has changes nothing.
STOPWATCH = """
() => {
  const pictures = [...document.querySelectorAll("[data-testid=stMain] [data-testid=stVegaLiteChart]")];
  for (const host of document.querySelectorAll("[data-testid=stMain] *"))
    if (host.shadowRoot?.querySelector("svg")) pictures.push(host.shadowRoot);
  const drawn = ["d", "transform", "x", "y", "x1", "x2", "y1", "y2", "width", "height", "opacity", "fill", "style"];
  const differs = ({ type, target, attributeName, oldValue }) =>
    type !== "attributes" || target.getAttribute(attributeName) !== oldValue;
  const watch = { pressed: null, changed: new Map(), pictures: pictures.length };
  for (const [place, picture] of pictures.entries())
    new MutationObserver((changes) => {
      if (watch.pressed !== null && picture.querySelector("svg, canvas") && changes.some(differs))
        watch.changed.set(place, performance.now() - watch.pressed);
    }).observe(picture, {
      childList: true, subtree: true, characterData: true, attributeFilter: drawn, attributeOldValue: true,
    });
  document.addEventListener("keydown", () => { watch.pressed = performance.now(); watch.changed.clear(); }, true);
  window.stopwatch = watch;
}
"""
QUIET = """
([quiet, patience]) => {
  const { pressed, changed } = window.stopwatch;
  if (pressed === null) return false;
  const since = performance.now() - pressed;
  return since > (changed.size ? Math.max(...changed.values()) + quiet : patience) && [...changed.values()];
}
"""
FIRST_CHART = """
new MutationObserver((_, self) => {
  if (!document.querySelector("[data-testid=stVegaLiteChart] svg.marks")) return;
  window.firstChart = performance.now();
  self.disconnect();
}).observe(document, { childList: true, subtree: true });
"""
MARKS = "(chart) => chart.querySelectorAll('svg.marks g[class*=mark-]:not(.mark-group) > :not(g)').length"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The Chromium of this machine, closed with its driver when the last of these benchmarks has ended."""
    with sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=chromium.find(), headless=True, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the app, served for all of these benchmarks."""
    with serving(tmp_path_factory.mktemp("server") / "log") as address:
        yield address


@contextmanager
def opened(browser: Browser, address: str, path: str = "") -> Iterator[Page]:
    """A page of a visitor of its own."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    context.add_init_script(FIRST_CHART)
    page = context.new_page()
    page.goto(f"{address}/{path}")
    yield page
    context.close()


def pages(browser: Browser, address: str) -> list[str]:
    """The paths of the navigation, and the views of those that have several."""
    with opened(browser, address) as page:
        settle(page)
        links = page.locator("[data-testid=stTopNavLink], [data-testid=stSidebarNavLink]")
        paths = [urlsplit(link.get_attribute("href") or "").path.strip("/") for link in links.all()]
    return with_views(paths)


def moves(page: Page, slider: str, count: int) -> list[list[float]]:
    """Move a slider, stop by stop, and begin again at its end: for each move, when each picture had changed, in ms.

    A stop at which nothing is different is passed over; where no picture follows the slider there is nothing.
    """
    page.evaluate(STOPWATCH)
    moved = page.locator(slider).first
    times: list[list[float]] = []
    for _ in range(2 * count):
        end = moved.evaluate("it => it.value === it.max")
        moved.press("Home" if end else "ArrowRight")
        changed = page.wait_for_function(QUIET, arg=[QUIET_MS, NOTHING_MS], polling=POLL_MS).json_value()
        times += [sorted(changed)] if changed else []
        if len(times) == count:
            break
    return times


def main_slider(page: Page) -> str | None:
    """The first slider of the page itself that moves, else the first of the sidebar; None without a picture."""
    pictures = page.locator("[data-testid=stMain] [data-testid=stVegaLiteChart], [data-testid=stMain] svg.sheet")
    if not pictures.count():
        return None
    for place in ("stMain", "stSidebar"):
        slider = f"[data-testid={place}] [data-testid=stSlider] input[type=range]"
        if page.locator(slider).count():
            return slider
    return None


def percentiles(times: list[float]) -> str:
    """Median and 90th percentile of milliseconds, in words."""
    p90 = sorted(times)[min(len(times) - 1, round(0.9 * (len(times) - 1)))]
    return f"median {statistics.median(times):.0f} ms, p90 {p90:.0f} ms"


@pytest.mark.timeout(900)  # some two hundred moves, each waited out
def test_from_a_slider_to_a_new_picture_on_every_page(browser: Browser, server: str, benchmark, figure):
    if benchmark.disabled:
        pytest.skip("moves sliders only to time them: only with --benchmark-enable")
    measured = []
    for path in pages(browser, server):
        with opened(browser, server, BUSIER.get(path, path)) as page:
            settle(page)
            slider = main_slider(page)
            if slider is None:
                figure(f"{path or 'first page'}: no picture beside a slider")
                continue
            name = page.locator(slider).first.get_attribute("aria-label")
            times = moves(page, slider, MOVES + 2)[2:]  # the first ones compile what is compiled once
        if not times:
            figure(f"{path}: no picture follows {name!r}")
            continue
        measured.append(path)
        goal = PLAYGROUND_GOAL_MS if path == "scheduler" else GOAL_MS
        figure(
            f"{path or 'first page'}, {name!r}: new picture {percentiles([move[0] for move in times])} "
            f"(goal: median < {goal} ms); all {len(times[-1])} that change {percentiles([move[-1] for move in times])}"
        )
    benchmark.pedantic(lambda: None, rounds=1)
    assert len(measured) >= 6


def test_from_a_knob_to_the_timeline_of_two_hundred_requests(browser: Browser, server: str, benchmark, figure):
    if benchmark.disabled:
        pytest.skip("moves a knob only to time it: only with --benchmark-enable")
    with opened(browser, server, "scheduler?requests=200&token_budget=64") as page:
        settle(page)
        knob = ".st-key-token_budget input[type=range]"
        times = moves(page, knob, MOVES + 2)[2:]
        marks = page.locator(".st-key-timeline").evaluate(MARKS)
    benchmark.pedantic(lambda: None, rounds=1)
    figure(
        f"first picture {percentiles([move[0] for move in times])}, all {len(times[-1])} that change "
        f"{percentiles([move[-1] for move in times])} (goal: < {TIMELINE_GOAL_MS} ms)"
    )
    figure(f"{marks:,} marks in the timeline (goal: < 2,000)")
    assert 200 < marks < 2_000


def test_the_first_chart_of_a_visitor(browser: Browser, benchmark, figure, tmp_path: Path):
    if benchmark.disabled:
        pytest.skip("starts servers only to time them: only with --benchmark-enable")
    first, second = [], []
    for visit in range(VISITS):
        with serving(tmp_path / f"log{visit}") as address:
            for kind in (first, second):
                with opened(browser, address) as page:
                    kind.append(page.wait_for_function("() => window.firstChart").json_value() / 1e3)
                    settle(page)
    benchmark.pedantic(lambda: None, rounds=1)
    for name, kind, goal in (("first visitor of a fresh server", first, 2.5), ("second visitor", second, 1.5)):
        each = ", ".join(f"{seconds:.2f}" for seconds in kind)
        figure(f"{name}: first chart after {statistics.median(kind):.2f} s, median of {each} (goal: < {goal} s)")


def test_a_slider_while_this_processor_is_measured(browser: Browser, benchmark, figure, tmp_path: Path):
    if benchmark.disabled:
        pytest.skip("measures for half a minute: only with --benchmark-enable")
    with serving(tmp_path / "log", environment={store.VARIABLE: str(tmp_path / "profiles")}) as address:
        with opened(browser, address) as page, opened(browser, address, "measure") as bench:
            settle(page)
            slider = main_slider(page)
            assert slider
            moves(page, slider, 3)
            idle = [move[0] for move in moves(page, slider, MOVES)]
            bench.get_by_role("button", name="Measure", exact=True).click(timeout=MEASURED_MS)
            expect(bench.locator(".st-key-measure_progress")).to_contain_text("left:", timeout=MEASURED_MS)
            busy = [move[0] for move in moves(page, slider, MOVES)]
            still = bench.locator(".st-key-measure_progress").count()
            expect(bench.locator("h1")).to_contain_text("reads memory at", timeout=MEASURED_MS)
            settle(page)
        after = wait_for(lambda: resident_mb(address))
    benchmark.pedantic(lambda: None, rounds=1)
    figure(f"idle {percentiles(idle)}; while measuring {percentiles(busy)}{'' if still else ', which ended meanwhile'}")
    figure(f"{statistics.median(busy) / statistics.median(idle):.2f} times the idle median (goal: < 2)")
    figure(f"server after the measurement: {after:.0f} MB resident (goal: < 220 MB)")
