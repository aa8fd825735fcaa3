"""The Batching page in a real Chromium: marks that move, links that restore, labels that keep apart, how fast it is."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.driving import MEETING_LABELS, heading, settle, slider, visit, wide_and_narrow

pytestmark = pytest.mark.usefixtures("met")
PICTURES = ("tradeoff", "market", "bills_batch", "bills_context", "intensity", "ways", "chunk", "drafts_picture")


def mark(page: Page, chart: str, says: str) -> Locator:
    """The mark of a chart whose label for a screen reader begins so."""
    return page.locator(f'.st-key-{chart} svg [aria-label^="{says}"]')


@wide_and_narrow
def test_the_page_loads_fits_and_no_label_meets_another(page: Page) -> None:
    visit(page, "batching?batch=64")
    expect(heading(page)).to_contain_text("Each waits 356\u00a0µs for its token, no longer than alone")
    expect(page.get_by_test_id("stVegaLiteChart")).to_have_count(len(PICTURES))
    expect(mark(page, "tradeoff", "B = 64: each waits 356\u00a0µs")).to_have_count(1)
    expect(mark(page, "tradeoff", "Latency and cost of a token of Qwen3-0.6B")).to_have_count(1)  # the message
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollWidth <= main.clientWidth")
    assert page.evaluate(MEETING_LABELS) == []


@pytest.mark.parametrize("page", ["light", "phone"], indirect=True)
@pytest.mark.parametrize(
    "query",
    ["batch=48&model=qwen3-30b-a3b&count=attention", "batch=300&rates=calibrated"],
)
def test_labels_keep_apart_in_other_settings(page: Page, query: str) -> None:
    visit(page, f"batching?{query}")
    expect(mark(page, "tradeoff", "B = ")).to_have_count(1)
    assert page.evaluate(MEETING_LABELS) == []


def test_a_slider_moves_the_marks_the_link_keeps_it_and_a_reload_restores_it(page: Page) -> None:
    visit(page, "batching")
    at = mark(page, "tradeoff", "B = 1: each waits")
    before = at.get_attribute("transform")
    slider(page, "batch").focus()
    slider(page, "batch").press("End")
    moved = mark(page, "tradeoff", "B = 1,024: each waits")
    expect(moved).to_have_count(1)
    assert moved.get_attribute("transform") != before
    expect(heading(page)).to_contain_text("1,024 sequences share each step")
    expect(page.get_by_role("alert")).to_contain_text("do not fit into H100 SXM: memory ends at 322")
    expect(page).to_have_url(re.compile("batch=1024"))
    page.reload()
    settle(page)
    expect(mark(page, "tradeoff", "B = 1,024: each waits")).to_have_count(1)
    expect(mark(page, "drafts_picture", "B = 1,024: ")).to_have_count(1)


def test_new_data_leave_the_views_of_the_charts_standing(page: Page) -> None:
    visit(page, "batching?batch=16")
    page.evaluate("document.querySelectorAll('svg.marks').forEach(svg => { svg.dataset.first = 'yes'; })")
    slider(page, "batch").focus()
    slider(page, "batch").press("ArrowRight")
    expect(mark(page, "tradeoff", "B = 20: each waits")).to_have_count(1)
    expect(mark(page, "drafts_picture", "B = 20: ")).to_have_count(1)
    expect(page.locator("svg.marks[data-first=yes]")).to_have_count(len(PICTURES))


def test_the_chunk_has_a_slider_of_its_own_that_leaves_the_rest_alone(page: Page) -> None:
    visit(page, "batching?batch=64")
    step = page.locator('.st-key-ways svg [aria-label^="step of 128 tokens of the prompt and a token of each"]')
    expect(step).not_to_have_count(0)
    slider(page, "prefill_chunk").focus()
    slider(page, "prefill_chunk").press("End")
    whole = page.locator('.st-key-ways svg [aria-label^="step of 500 tokens of the prompt and a token of each"]')
    expect(whole).to_have_count(4)  # its amber and its teal bar, together and in one chunk
    expect(step).to_have_count(0)
    expect(page).to_have_url(re.compile("prefill_chunk=16384"))
    expect(heading(page)).to_contain_text("64 sequences share each step")


def test_the_answer_of_a_question_shows_itself(page: Page) -> None:
    visit(page, "batching?batch=64&count=attention")
    page.get_by_role("button", name="Show 161 tokens").click()
    expect(page).to_have_url(re.compile("context=161"))
    expect(mark(page, "bills_context", "161 tokens: 18.6\u00a0MB + 18.6\u00a0MB for a token")).to_have_count(1)


def test_a_worked_number_opens_into_its_derivation(page: Page) -> None:
    visit(page, "batching?batch=64")
    page.get_by_text("1.19\u00a0GB ÷ 64 = 18.6\u00a0MB of weights, beside 235\u00a0MB of cache").click()
    expect(page.get_by_text("(2,048 read + 1 written) × 114,688 bytes")).to_be_visible()
