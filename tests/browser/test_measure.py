"""The Measure page in a real browser, measuring this CPU: stopped half-way, run to its end, taken elsewhere."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import live
from live import store
from pages.parts import codec
from tests.browser.conftest import NewPage
from tests.browser.driving import settle
from tests.browser.server import process_id, serving
from tests.live.processes import workers
from tests.live.samples import SMALL_CONFIG

LONG = 120_000  # ms, a bound against hanging: loading PyTorch, on a busy machine
MEASURING = 400_000  # ms, the same for a whole quick plan


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[str]:
    """A server that keeps its profiles in a folder of its own."""
    with serving(tmp_path / "log", environment={store.VARIABLE: str(tmp_path / "profiles")}) as address:
        yield address


def measuring(address: str) -> list[int]:
    """Worker processes of the server at this address."""
    return workers(process_id(address))


def badge(page: Page, words: str) -> None:
    expect(page.locator(".sc-badge")).to_have_text(words)


def start(page: Page) -> None:
    page.get_by_role("button", name="Measure", exact=True).click(timeout=LONG)
    expect(page.get_by_text(re.compile(r"\d+ of \d+, \d+ s left: \w"))).to_be_visible(timeout=LONG)


def test_measured_stopped_measured_to_the_end_kept_and_taken_elsewhere(
    new_page: NewPage, machine: str, tmp_path: Path
) -> None:
    page = new_page(server=machine)
    page.goto(f"measure?model=custom&model_config={codec.pack_model(SMALL_CONFIG, name='Small')}")
    expect(page.locator("h1")).to_contain_text("Nothing has been measured", timeout=LONG)
    badge(page, "○ datasheet")

    start(page)
    assert measuring(machine)
    page.locator(".st-key-measure_stop button").click()
    expect(page.get_by_text("Nothing is left running")).to_be_visible(timeout=LONG)
    assert not measuring(machine)

    start(page)
    expect(page.locator("h1")).to_contain_text("reads memory at", timeout=MEASURING)
    badge(page, "● live")
    expect(page.locator(".sc-context")).to_contain_text("measured on")
    points = page.locator('.st-key-measure_time svg [aria-label*=": measured"]')
    expect(points).not_to_have_count(0)
    assert not measuring(machine)

    expect(page).to_have_url(re.compile("rates=live"))
    page.reload()
    settle(page)
    badge(page, "● live")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download this profile").click()
    file = tmp_path / "profile.json"
    download.value.save_as(file)
    assert live.Profile.load(file).device.kind == "cpu"

    bad = tmp_path / "bad.json"
    bad.write_text("[]", encoding="utf-8")
    page.locator(".st-key-profile_upload input[type=file]").set_input_files(bad)
    expect(page.get_by_text("Not taken over. profile:")).to_be_visible()
    page.locator(".st-key-profile_upload input[type=file]").set_input_files(file)
    expect(page.get_by_text("Not taken over.")).to_have_count(0)
    badge(page, "● live")
