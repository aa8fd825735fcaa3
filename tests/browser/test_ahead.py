"""A picture follows a slider in the browser before the server has answered, and is in the end what the server draws."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.driving import heading, settle, slider, steady, visit
from tests.browser.server import process_id

# What is written on the pictures, and where their marks are.
SEEN = """
() => [...document.querySelectorAll("[data-testid=stMain] svg.marks, [data-testid=stMain] svg.sheet")].map((svg) =>
  [...svg.querySelectorAll("text, path, line, rect")].map((mark) =>
    ["d", "transform", "x1", "y1", "x2", "y2", "x", "y", "width", "height", "fill", "opacity"]
      .map((name) => mark.getAttribute(name)).join(" ") + mark.textContent))
"""
# What is written and said, whatever the width of the picture and the order of its ticks. What Vega says of an axis is
# what it was at first.
SAID = """
() => [...document.querySelectorAll("[data-testid=stMain] svg.marks, [data-testid=stMain] svg.sheet")].map((svg) =>
  [...svg.querySelectorAll("text, [aria-label]:not([aria-roledescription=axis])")].map((mark) =>
    mark.getAttribute("aria-label") ?? mark.textContent).sort())
"""
# What the slider shows, once that is another value than before and the picture says it too.
FOLLOWED = """
(before) => {
  const shown = document.querySelector(".st-key-batch input[type=range]").getAttribute("aria-valuetext");
  const said = document.querySelector(".st-key-time [role=graphics-document]").getAttribute("aria-label");
  return shown !== before && said.includes(`Decode of ${shown}:`) && shown;
}
"""
FOLLOWING = {
    "": ("bandwidth_x", "ride"),
    "roofline?batch=8": ("batch", "time"),
    "roofline?count=attention&rates=calibrated": ("context", "roof"),
    "batching?batch=8&model=qwen3-30b-a3b": ("batch", "experts"),
    "memory?batch=8": ("context", "memory_bar"),
    "model?model=gpt-oss-20b": ("context", "stack"),
    "compare?batch=8": ("batch", "pair_time"),
    "compare?compare_view=league&batch=8": ("batch", "league_picture"),
    "compare?compare_view=map&batch=8&count=attention": ("context", "map_picture"),
}
"""Path: a slider of it, and a picture that follows it."""


@contextmanager
def frozen(server: str) -> Iterator[None]:
    """The server says nothing while the block runs."""
    pid = process_id(server)
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def at_hand(page: Page, key: str) -> None:
    """Take a slider in hand, and wait until its next stops are there."""
    slider(page, key).focus()
    shown = slider(page, key).get_attribute("aria-valuetext")
    mark = page.locator(".st-key-companion .followed")
    expect(mark).to_have_attribute("data-at-hand", re.compile(rf"^{key}:.* {re.escape(shown or '')} \S"))
    settle(page)


def said(page: Page, key: str) -> Locator:
    """A picture, whose name is its message."""
    return page.locator(f".st-key-{key} [role=graphics-document]").first


def address_is(page: Page, key: str) -> None:
    """Wait until the server has taken over what the slider shows."""
    shown = f"{float(slider(page, key).get_attribute('aria-valuetext') or 0):.10g}"
    expect(page).to_have_url(re.compile(rf"[?&]{key}={shown}(&|$)"))
    settle(page)


@pytest.mark.parametrize("path", FOLLOWING)
def test_a_picture_is_there_before_the_server_answers_and_is_what_it_draws(page: Page, server: str, path: str) -> None:
    key, picture = FOLLOWING[path]
    visit(page, path)
    at_hand(page, key)
    before = said(page, picture).get_attribute("aria-label") or ""
    headline = heading(page).inner_text()
    with frozen(server):
        slider(page, key).press("ArrowRight")
        expect(said(page, picture)).not_to_have_attribute("aria-label", before)
        drawn = steady(page, lambda: page.evaluate(SEEN))
        ahead = said(page, picture).get_attribute("aria-label") or ""
        assert heading(page).inner_text() == headline
    address_is(page, key)
    expect(said(page, picture)).to_have_attribute("aria-label", ahead)
    assert steady(page, lambda: page.evaluate(SEEN)) == drawn


def test_cells_are_there_before_the_server_answers(page: Page, server: str) -> None:
    visit(page, "shapes")
    at_hand(page, "tokens")
    step = page.locator(".st-key-shapes_step svg.sheet")
    before, headline = step.get_attribute("aria-label") or "", heading(page).inner_text()
    with frozen(server):
        slider(page, "tokens").press("ArrowRight")
        expect(step).not_to_have_attribute("aria-label", before)
        ahead = step.inner_html()
        assert heading(page).inner_text() == headline
    address_is(page, "tokens")
    expect(heading(page)).not_to_have_text(headline)
    assert step.inner_html() == ahead


def test_pictures_follow_while_a_slider_is_dragged(page: Page) -> None:
    visit(page, "roofline?batch=8")
    at_hand(page, "batch")
    thumb = page.locator(".st-key-batch [data-testid=stSliderThumbValue]")
    headline, box = heading(page).inner_text(), thumb.bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, (slider(page, "batch").bounding_box() or box)["y"]
    page.mouse.move(x, y)
    page.mouse.down()
    shown = "8"
    for shift in (10, 20, 30):
        page.mouse.move(x + shift, y, steps=4)
        shown = page.wait_for_function(FOLLOWED, arg=shown).json_value()
    assert heading(page).inner_text() == headline  # the server learns of it when the hand lets go
    page.mouse.up()
    address_is(page, "batch")
    assert int(slider(page, "batch").get_attribute("aria-valuetext") or 0) > 8


@pytest.mark.parametrize("keys", [["ArrowRight"] * 9, ["ArrowRight", "End", "Home", "ArrowRight"]], ids="-".join)
def test_many_moves_at_once_end_in_the_picture_of_the_last(page: Page, keys: list[str]) -> None:
    visit(page, "batching?batch=8")
    at_hand(page, "batch")
    for key in keys:
        slider(page, "batch").press(key)
    address_is(page, "batch")
    fresh = visit(page.context.new_page(), page.url)
    expect(said(page, "tradeoff")).to_have_attribute(
        "aria-label", said(fresh, "tradeoff").get_attribute("aria-label") or ""
    )
    assert steady(page, lambda: page.evaluate(SAID)) == steady(fresh, lambda: fresh.evaluate(SAID))


def test_an_answer_that_was_lost_is_asked_for_again(page: Page) -> None:
    sent: list[object] = []

    def note(frame: object) -> None:
        sent.append(frame)

    page.on("websocket", lambda socket: socket.on("framesent", note))
    visit(page, "roofline?batch=8")
    says = "(text) => document.dispatchEvent(new CustomEvent('server-says', { detail: { batch: text } }))"
    page.evaluate(says, "8")
    before = len(sent)
    page.wait_for_timeout(2_500)  # longer than anything is waited for
    assert len(sent) == before, "nothing was lost"
    page.evaluate(says, "7")  # as a page would say that has not heard of the slider's last move
    page.wait_for_function("() => document.querySelector('[data-testid=stApp]').dataset.testScriptState === 'running'")
    settle(page)
    assert len(sent) > before
    assert slider(page, "batch").get_attribute("aria-valuetext") == "8"


def test_what_was_sent_ahead_is_forgotten_when_something_else_moves(page: Page) -> None:
    visit(page, "roofline?batch=8&count=attention")
    at_hand(page, "batch")
    slider(page, "context").press("End")
    slider(page, "batch").press("ArrowRight")
    address_is(page, "batch")
    address_is(page, "context")
    fresh = visit(page.context.new_page(), page.url)
    assert steady(page, lambda: page.evaluate(SAID)) == steady(fresh, lambda: fresh.evaluate(SAID))
