"""All pages, visited once in a view for every test that only looks at them.

A visit takes most of the time of such a test. What is looked for stands here, a function a question: it returns what is
wrong on the page that is open, in words. The tests that ask are in `test_accessibility.py`, `test_presenting.py`,
`test_every_page.py` and `test_share.py`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser import axe
from tests.browser.driving import MEETING_LABELS, VIEWS, paths, settle, visit

Check = Callable[[Page], list[str]]

# ---- for who cannot see it, or has no mouse ------------------------------------------------------------------------

_GRAVE = {"serious", "critical"}
_SILENT = """
() => {
  const all = (root, list) => [...root.querySelectorAll('*')].flatMap((e) =>
    [...(e.matches(list) ? [e] : []), ...(e.shadowRoot ? all(e.shadowRoot, list) : [])]);
  return all(document.body, '[role=graphics-document], .stVegaLiteChart canvas, .stMain svg[role=img], .sheet')
    .filter((e) => !e.closest('button, summary, [aria-hidden=true]') && e.checkVisibility())
    .map((e) => e.getAttribute('aria-label') ?? '').filter((label) => !/\\d/.test(label) || label.length < 20);
}
"""
_FOCUSABLE = """
(() => {
  const wanted = 'a[href], button, input, select, textarea, summary, [tabindex]';
  const all = (root) => [...root.querySelectorAll('*')].flatMap((e) =>
    [...(e.matches(wanted) ? [e] : []), ...(e.shadowRoot ? all(e.shadowRoot) : [])]);
  const reached = (e) => e.tabIndex >= 0 && !e.disabled && e.checkVisibility({ visibilityProperty: true })
    && !e.closest('[inert], [aria-hidden=true]') && e.type !== 'file';
  const radios = new Set();
  const once = (e) => {             // the arrows move within a group of radio buttons: Tab reaches one of them
    if (e.type !== 'radio' && e.getAttribute('role') !== 'radio') return true;
    const group = e.closest('[role=radiogroup]') ?? e.name;
    return e.checked || e.getAttribute('aria-checked') === 'true' || (!radios.has(group) && radios.add(group) && false);
  };
  window.activeDeep = () => {
    let e = document.activeElement;
    while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
    return e;
  };
  window.named = (e) => [e.tagName.toLowerCase(), e.getAttribute('aria-label') ?? e.name,
    e.innerText?.trim().slice(0, 40), 'in', e.closest('[class*=st-key-]')?.className.match(/st-key-\\S+/)?.[0],
  ].filter(Boolean).join(' ');
  const still = document.createElement('style');
  still.textContent = '* {transition: none !important;}';
  document.head.append(still);
  window.looks = (e) => {
    const around = [e];
    for (let n = 0; n < 3 && around.at(-1).parentElement; n++) around.push(around.at(-1).parentElement);
    const inside = (n, most) => [...n.querySelectorAll('*')].slice(0, most);
    const near = [...inside(e, 20), ...inside(around.at(-1), 40)];
    return [...around, ...near].map((n) => {
      const s = getComputedStyle(n);
      return [s.outlineStyle + s.outlineWidth + s.outlineColor, s.boxShadow, s.borderColor, s.backgroundColor,
        s.textDecoration, s.opacity, s.stroke, s.strokeWidth, s.fill].join('|');
    }).join(';');
  };
  window.focusable = all(document.body).filter(reached).filter(once);
  window.unfocused = new Map(window.focusable.map((e) => [e, window.looks(e)]));
  return window.focusable.length;
})()
"""
_STEP = """
() => {
  const e = window.activeDeep();
  const group = e?.closest?.('[role=radiogroup]');             // from behind, its last one is reached
  const exact = window.focusable.indexOf(e);
  const at = exact < 0 && group ? window.focusable.findIndex((other) => group.contains(other)) : exact;
  const plain = exact >= 0 && window.looks(e) === window.unfocused.get(e);
  return [at, at < 0 ? '' : window.named(e), plain];
}
"""


def grave(page: Page) -> list[str]:
    """What axe-core calls serious or critical."""
    page.evaluate(f"{axe.script()};0")
    found: list[dict[str, Any]] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [
        f"{rule['id']}: {node['target']} {node['html'][:160]} ({node['failureSummary'][:200]})"
        for rule in found
        if rule["impact"] in _GRAVE
        for node in rule["nodes"]
    ]


def too_wide(page: Page) -> list[str]:
    """What is wider than the window, and labels of pictures that meet."""
    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    met: list[str] = page.evaluate(MEETING_LABELS)
    return (["it scrolls sideways"] if wide else []) + met


def without_figures(page: Page) -> list[str]:
    """Pictures whose names say no figures."""
    for picture in page.locator("[role=graphics-document]").all():
        expect(picture).to_have_attribute("aria-label", re.compile(r"\d"))
    return [f"picture named {label!r}" for label in page.evaluate(_SILENT)]


def out_of_order(page: Page) -> list[str]:
    """Headings that leave out a level, and landmarks that are not there once."""
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map((h) => Number(h.tagName[1]))")
    skipped = [f"h{a} then h{b}" for a, b in itertools.pairwise(levels) if b > a + 1]
    wrong = skipped + ([] if levels[:1] == [1] and levels.count(1) == 1 else [f"headings {levels}"])
    marks = {role: page.get_by_role(role).count() for role in ("main", "banner")}
    return wrong + [f"{count} landmarks {role}" for role, count in marks.items() if count != 1]


def out_of_reach(page: Page, key: str = "Tab") -> list[str]:
    """Controls that a key does not reach, or where it cannot be seen to have arrived."""
    page.evaluate("document.activeElement?.blur?.()")
    count = page.evaluate(_FOCUSABLE)
    visited, plain = set(), set()
    for _ in range(count + 15):
        page.keyboard.press(key)
        at, name, unseen = page.evaluate(_STEP)
        visited.add(at)
        if unseen:
            plain.add(name)
    missed = page.evaluate("(seen) => focusable.filter((_, i) => !seen.includes(i)).map(named)", list(visited))
    return [f"{key} does not reach {name}" for name in missed] + [f"focus cannot be seen on {name}" for name in plain]


# ---- for an audience, and on paper ---------------------------------------------------------------------------------

_CONTROLS = (
    ".stSidebar, .stAppHeader, .stSlider, .stSelectbox, .stCheckbox, .stButton, .stButtonGroup, .stDownloadButton, "
    ".stFileUploader, .stTextInput, .stNumberInput, .stPopover, form.vega-bindings, .sc-asks"
)
_CUT_OFF = """
(width) => [...document.querySelectorAll(".stVegaLiteChart svg.marks, .sc-table, .sc-headline, .sc-figures")]
  .filter((box) => box.checkVisibility() && box.getBoundingClientRect().right > width + 1)
  .map((box) => `${box.getAttribute("class")} ends at ${Math.round(box.getBoundingClientRect().right)}`)
"""


_SIZE = "(h) => parseFloat(getComputedStyle(h).fontSize) * h.getBoundingClientRect().width / h.offsetWidth"


def _controls(page: Page) -> list[str]:
    """Controls that can be seen."""
    found: list[str] = page.evaluate(
        "(list) => [...document.querySelectorAll(list)].filter((e) => e.checkVisibility()).map((e) => e.className)",
        _CONTROLS,
    )
    return found


def for_an_audience(width: int, height: int, type_: float) -> Check:
    """What is small, cut off or a control in a presentation of this size, whose headline has ``type_`` px at least."""

    def check(page: Page) -> list[str]:
        if page.viewport_size != {"width": width, "height": height}:
            page.set_viewport_size({"width": width, "height": height})
            page.reload()  # as it opens at this size: pictures that were drawn at another one follow a little later
            settle(page)
        headline = page.locator("h1")
        wrong = _controls(page) + page.evaluate(_CUT_OFF, width)
        box = headline.bounding_box()
        assert box is not None
        wrong += [] if box["y"] + box["height"] < height / 2 else [f"the headline reaches down to {box}"]
        size = headline.evaluate(_SIZE)
        return wrong + ([] if size >= type_ else [f"a headline of {size:.0f} px"])

    return check


def on_paper(page: Page) -> list[str]:
    """What is cut off, pale or a control on paper."""
    screen = page.viewport_size
    assert screen is not None
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 between its margins
    wrong = _controls(page) + page.evaluate(_CUT_OFF, 718)
    ink = page.locator("h1").evaluate("(h) => getComputedStyle(h).color")
    page.emulate_media(media="screen")
    page.set_viewport_size(screen)
    return wrong + ([] if ink == "rgb(31, 34, 38)" else [f"ink is {ink}"])  # dark on white, whichever theme


# ---- to take along -------------------------------------------------------------------------------------------------


def not_in_the_menu(page: Page) -> list[str]:
    """What the Share menu should offer and does not."""
    page.get_by_role("button", name="Share", exact=True).click()
    expect(page.locator(".st-key-share_link button")).to_be_visible()
    code = page.locator(".sc-code")
    if urlsplit(page.url).path.strip("/") == "measure":  # nothing has been measured
        return [f"{code.count()} programs"] if code.count() else []
    expect(code).to_contain_text("import costmodel as cm")
    return []


# ---- the tour ------------------------------------------------------------------------------------------------------

TOURS: Mapping[str, tuple[str, str, Sequence[tuple[str, Check]]]] = {
    "light": (
        "light",
        "",
        (
            ("fits", too_wide),
            ("figures", without_figures),
            ("order", out_of_order),
            ("axe", grave),
            ("keyboard", out_of_reach),
            ("paper", on_paper),
            ("menu", not_in_the_menu),
        ),
    ),
    "dark": ("dark", "", (("fits", too_wide), ("axe", grave), ("paper", on_paper))),
    "phone": ("phone", "", (("fits", too_wide), ("axe", grave))),
    "presentation": (
        "wall",
        "?present=on",
        (
            ("audience 1920", for_an_audience(1920, 1080, 54)),
            ("audience 1280", for_an_audience(1280, 720, 38)),
            ("axe", grave),
        ),
    ),
}
"""Window, query and questions of each tour, in the order in which they are asked."""


@dataclass
class Tour:
    """What was seen: the paths; of each question, what is wrong by path; and all hosts that were asked."""

    paths: list[str] = field(default_factory=list)
    wrong: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    hosts: set[str | None] = field(default_factory=set)

    def _asked(self, url: str) -> None:
        if urlsplit(url).scheme in {"http", "https", "ws", "wss"}:
            self.hosts.add(urlsplit(url).hostname)

    @classmethod
    def of(cls, view: str, page: Page) -> Tour:
        """Visit every page."""
        window, query, questions = TOURS[view]
        size = {"width": VIEWS[window].width, "height": VIEWS[window].height}
        tour = cls(wrong={name: {} for name, _ in questions})
        page.on("request", lambda request: tour._asked(request.url))  # its own
        page.on("websocket", lambda socket: tour._asked(socket.url))
        page.set_viewport_size({"width": 1280, "height": 900})  # the pages stand in a menu on a phone
        tour.paths = paths(visit(page))
        for path in tour.paths:
            page.set_viewport_size(size)  # type: ignore[arg-type]  # a dictionary with these two keys
            visit(page, path + query)
            for name, question in questions:
                if found := question(page):
                    tour.wrong[name][path] = found
        return tour


def in_views(question: str) -> pytest.MarkDecorator:
    """Ask a question in every view whose tour has it; tests of one tour run in one process (`tests/sharing.py`)."""
    views = [view for view, (_, _, questions) in TOURS.items() if question in dict(questions)]
    return pytest.mark.parametrize("view", views, ids=[f"tour-{view}" for view in views])
