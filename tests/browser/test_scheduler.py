"""The Scheduler page in a real Chromium: a story is chosen, played, scrubbed, compared, zoomed, and fed a trace."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

from tests.browser.driving import choose, steady, visit, wide_and_narrow

TRACE = "arrival_s,prompt_tokens,output_tokens\n" + "".join(f"{i / 100},{50 + i},{5 + i % 7}\n" for i in range(20))


def bars(page: Page, phase: str) -> Locator:
    """Bars of one phase that the timeline shows."""
    return page.locator(f".st-key-timeline [aria-label*=': {phase}, ']")


def shown(page: Page) -> Page:
    """The page, once its timeline is drawn."""
    expect(page.locator(".st-key-timeline svg.marks")).to_be_visible()
    return page


@wide_and_narrow
def test_it_opens_without_a_sideways_scroll(page: Page):
    shown(visit(page, "scheduler"))
    expect(bars(page, "decode")).to_have_count(30)
    expect(page.get_by_test_id("stMain")).to_contain_text("30 arrived = 30 finished")
    main = "document.querySelector('[data-testid=stMain]')"
    assert page.evaluate(f"{main}.scrollWidth <= {main}.clientWidth")


def test_a_story_sets_the_controls_and_the_link_carries_them(page: Page):
    shown(visit(page, "scheduler"))
    choose(page, "_story", "Memory pressure and preemption")
    expect(bars(page, "preempted").first).to_be_attached()
    for part in ("kv_blocks=560", "reserve=off"):
        expect(page).to_have_url(re.compile(part))
    preempted = steady(page, bars(page, "preempted").count)
    page.reload()
    shown(page)
    expect(bars(page, "preempted")).to_have_count(preempted)
    expect(page.get_by_test_id("stMain")).to_contain_text("Too few blocks")


def test_play_goes_on_by_itself_and_pause_keeps_the_step(page: Page):
    shown(visit(page, "scheduler"))
    main = page.get_by_test_id("stMain")
    expect(main).to_contain_text("step 47 carries")
    page.get_by_role("button", name="Play").click()
    expect(main).to_contain_text(re.compile(r"step (5\d|[6-9]\d|\d{3,}) carries"))
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    expect(page).to_have_url(re.compile(r"sched_step=\d+"))
    kept = re.search(r"sched_step=(\d+)", page.url)
    assert kept
    assert int(kept[1]) >= 50
    expect(main).to_contain_text(f"step {kept[1]} carries")


def test_scrubbing_moves_the_cursor_and_the_step(page: Page):
    shown(visit(page, "scheduler"))
    page.locator(".st-key-sched_step input[type=range]").press("ArrowRight")
    expect(page.get_by_test_id("stMain")).to_contain_text("step 48 carries")
    expect(page.locator(".st-key-timeline")).to_contain_text("step 48")
    page.get_by_role("button", name="Back", exact=True).click()
    expect(page.get_by_test_id("stMain")).to_contain_text("step 47 carries")


def test_two_policies_are_compared(page: Page):
    shown(visit(page, "scheduler"))
    expect(page.get_by_test_id("stMain")).to_contain_text("○ B: prefill first")
    choose(page, "against", "Static batches")
    expect(page.get_by_test_id("stMain")).to_contain_text("○ B: static batches")
    expect(page.locator(".st-key-small_A svg.marks, .st-key-small_B svg.marks")).to_have_count(2)


def test_a_span_that_is_marked_fills_the_picture(page: Page):
    shown(visit(page, "scheduler"))
    box = page.locator(".st-key-timeline svg.marks").bounding_box()
    assert box
    x, y = box["x"], box["y"] + box["height"] / 2
    page.mouse.move(x + box["width"] * 0.4, y)
    page.mouse.down()
    page.mouse.move(x + box["width"] * 0.6, y, steps=5)
    page.mouse.up()
    expect(page.get_by_role("button", name="Show the whole run")).to_be_visible()
    expect(page).to_have_url(re.compile(r"zoom=\d+\.\d+"))


@pytest.mark.parametrize(
    ("text", "said"), [(TRACE, "20 arrived = 20 finished"), ("no trace\n", "This trace was not taken")]
)
def test_a_trace_is_simulated_or_refused(page: Page, text: str, said: str):
    shown(visit(page, "scheduler"))
    page.get_by_text("Workload, memory and knobs").click()
    file: FilePayload = {"name": "trace.csv", "mimeType": "text/csv", "buffer": text.encode()}
    page.locator("[data-testid=stFileUploaderDropzoneInput]").set_input_files(file)
    expect(page.get_by_test_id("stMain")).to_contain_text(said)


def test_what_is_folded_away_still_counts(page: Page):
    shown(visit(page, "scheduler"))
    main, fold = page.get_by_test_id("stMain"), page.get_by_text("Workload, memory and knobs")
    fold.click()
    file: FilePayload = {"name": "trace.csv", "mimeType": "text/csv", "buffer": TRACE.encode()}
    page.locator("[data-testid=stFileUploaderDropzoneInput]").set_input_files(file)
    expect(main).to_contain_text("20 arrived = 20 finished")
    page.get_by_role("slider", name="Requests running, at most").press("ArrowLeft")
    expect(page).to_have_url(re.compile("max_seqs=56"))
    fold.click()
    expect(page.get_by_role("slider", name="Requests running, at most")).to_have_count(0)
    page.get_by_role("slider", name="Tokens a step, at most (A)").press("ArrowRight")
    expect(page).to_have_url(re.compile("token_budget=640"))
    expect(page).to_have_url(re.compile("max_seqs=56"))
    fold.click()
    expect(main).to_contain_text("The requests are those of trace.csv.")
    page.get_by_role("button", name="Leave the trace out").click()
    expect(main).to_contain_text("30 arrived = 30 finished")


def test_a_sweep_is_drawn(page: Page):
    shown(visit(page, "scheduler?requests=10"))
    page.get_by_role("button", name="Sweep the budget").click()
    expect(page.locator(".st-key-sweep_budget svg.marks")).to_be_visible(timeout=60_000)
    expect(page.get_by_test_id("stMain")).to_contain_text("Most output tokens a second at")
