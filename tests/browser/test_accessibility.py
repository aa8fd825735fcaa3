"""Every page for people who cannot see it, or have no mouse: axe-core's rules, names with figures, the keyboard."""

import itertools
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser import axe
from tests.browser.driving import paths, visit

GRAVE = {"serious", "critical"}
LONG = 15_000  # ms, a bound against hanging


FOCUSABLE = """
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
STEP = """
() => {
  const e = window.activeDeep();
  const at = window.focusable.indexOf(e);
  const plain = at >= 0 && window.looks(e) === window.unfocused.get(e);
  return [at, at < 0 ? '' : window.named(e), plain];
}
"""


@pytest.fixture(scope="module")
def rules() -> str:
    """axe-core, as a script for a page."""
    return axe.script()


def grave(page: Page, rules: str) -> list[str]:
    """What axe-core calls serious or critical on a page."""
    page.evaluate(f"{rules};0")
    found: list[dict[str, Any]] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [
        f"{rule['id']}: {node['target']} {node['html'][:160]} ({node['failureSummary'][:200]})"
        for rule in found
        if rule["impact"] in GRAVE
        for node in rule["nodes"]
    ]


def on_every_page(page: Page, check: Callable[[], list[str]], query: str = "") -> dict[str, list[str]]:
    """Visit all pages and return what a check finds on each."""
    found = {}
    for path in paths(visit(page)):
        visit(page, path + query)
        if wrong := check():
            found[path] = wrong
    return found


@pytest.mark.parametrize("page", ["light", "dark", "phone"], indirect=True)
def test_axe_finds_nothing_serious(page: Page, rules: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})  # the pages stand in a menu on a phone
    every = paths(visit(page))
    view = page.viewport_size
    found = {}
    for path in every:
        page.set_viewport_size(view or {"width": 1280, "height": 900})
        visit(page, path)
        if wrong := grave(page, rules):
            found[path] = wrong
    assert not found


def test_axe_finds_nothing_serious_in_a_presentation(page: Page, rules: str) -> None:
    assert not on_every_page(page, lambda: grave(page, rules), "?present=on")


def test_every_picture_says_its_figures(page: Page) -> None:
    silent = """
    () => {
      const all = (root, list) => [...root.querySelectorAll('*')].flatMap((e) =>
        [...(e.matches(list) ? [e] : []), ...(e.shadowRoot ? all(e.shadowRoot, list) : [])]);
      return all(document.body, '[role=graphics-document], .stVegaLiteChart canvas, .stMain svg[role=img], .sheet')
        .filter((e) => !e.closest('button, summary, [aria-hidden=true]') && e.checkVisibility())
        .map((e) => e.getAttribute('aria-label') ?? '').filter((label) => !/\\d/.test(label) || label.length < 20);
    }
    """

    def check() -> list[str]:
        for picture in page.locator("[role=graphics-document]").all():
            expect(picture).to_have_attribute("aria-label", re.compile(r"\d"), timeout=LONG)
        return [f"picture named {label!r}" for label in page.evaluate(silent)]

    assert not on_every_page(page, check)


def test_headings_are_in_order_and_landmarks_are_there(page: Page) -> None:
    def check() -> list[str]:
        levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map((h) => Number(h.tagName[1]))")
        skipped = [f"h{a} then h{b}" for a, b in itertools.pairwise(levels) if b > a + 1]
        wrong = skipped + ([] if levels[:1] == [1] and levels.count(1) == 1 else [f"headings {levels}"])
        marks = {role: page.get_by_role(role).count() for role in ("main", "banner")}
        return wrong + [f"{count} landmarks {role}" for role, count in marks.items() if count != 1]

    assert not on_every_page(page, check)


def test_the_keyboard_reaches_every_control_and_shows_where_it_is(page: Page) -> None:
    def check() -> list[str]:
        page.evaluate("document.activeElement?.blur?.()")
        count = page.evaluate(FOCUSABLE)
        visited, plain = set(), set()
        for _ in range(count + 15):
            page.keyboard.press("Tab")
            at, name, unseen = page.evaluate(STEP)
            visited.add(at)
            if unseen:
                plain.add(name)
        missed = page.evaluate("(seen) => focusable.filter((_, i) => !seen.includes(i)).map(named)", list(visited))
        return [f"Tab does not reach {name}" for name in missed] + [f"focus cannot be seen on {name}" for name in plain]

    assert not on_every_page(page, check)
