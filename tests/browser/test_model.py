"""The Model page in a real Chromium: a model of one's own is pasted, kept over a reload, uploaded, fetched."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from pages.parts import codec
from tests.browser.driving import choose, settle, visit, wide_and_narrow
from tests.browser.server import serving
from tests.pages.configs import FP8_TEXT, LLAMA_70B, LLAMA_70B_TEXT
from tests.pages.local_hub import local_hub, repo

pytestmark = pytest.mark.usefixtures("met")


def headline(page: Page, text: str) -> None:
    expect(page.locator("h1.sc-headline")).to_contain_text(text)


def test_a_pasted_model_is_kept_when_the_hardware_changes_and_the_page_is_loaded_again(page: Page) -> None:
    visit(page, "model")
    headline(page, "Qwen3-0.6B has 596\u00a0M parameters")
    page.get_by_label("config.json", exact=True).fill(LLAMA_70B_TEXT)
    page.get_by_role("button", name="Read it").click()
    headline(page, "70.55\u00a0B parameters in 80 layers")
    expect(page).to_have_url(re.compile("model_config=eN.*model=custom|model=custom.*model_config=eN"))

    choose(page, "hardware", "H200 SXM")
    expect(page.locator(".sc-context")).to_contain_text("My llama · H200 SXM")

    expect(page).to_have_url(re.compile("hardware=h200-sxm"))

    page.reload()
    settle(page)
    headline(page, "70.55\u00a0B parameters in 80 layers")
    expect(page.locator(".sc-context")).to_contain_text("H200 SXM")

    page.get_by_test_id("stTopNavLink").filter(has_text="Memory").click()
    expect(page.locator("h1.sc-headline")).to_contain_text("My llama")
    page.get_by_test_id("stTopNavLink").filter(has_text="Model").click()
    headline(page, "70.55\u00a0B parameters in 80 layers")


def test_pasted_junk_is_one_clear_sentence_and_the_model_stays(page: Page) -> None:
    visit(page, "model?model=gpt2")
    page.get_by_label("config.json", exact=True).fill("<b>not</b> a config")
    page.get_by_role("button", name="Read it").click()
    alert = page.get_by_role("alert")
    expect(alert).to_have_count(1)
    expect(alert).to_have_text(
        "Not taken over. config: found 'Expecting value at line 1, column 1', expected valid JSON, as in a "
        "config.json. The model stays as it was."
    )
    headline(page, "GPT-2 has 124.4\u00a0M parameters")


def test_a_config_and_its_quantization_are_uploaded_together(page: Page) -> None:
    visit(page, "model")
    page.get_by_role("tab", name="Upload it").click()
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(
        [
            {"name": "config.json", "mimeType": "application/json", "buffer": LLAMA_70B_TEXT.encode()},
            {"name": "hf_quant_config.json", "mimeType": "application/json", "buffer": FP8_TEXT.encode()},
        ]
    )
    headline(page, "72.7\u00a0GB of weights in fp8 and bf16")


def test_a_model_is_fetched_by_its_id(new_page: Callable[..., Page], tmp_path: Path) -> None:
    with (
        local_hub({"org/Big-70B": repo(config=LLAMA_70B)}) as hub,
        serving(tmp_path / "log", environment={"HF_ENDPOINT": hub}) as address,
    ):
        page = visit(new_page(server=address))
        visit(page, "model")
        page.get_by_role("tab", name="From the hub").click()
        page.get_by_label("Id on the Hugging Face hub").fill("org/Big-70B")
        page.get_by_role("button", name="Fetch it").click()
        headline(page, "Big-70B has 70.55\u00a0B parameters")
        page.get_by_label("Id on the Hugging Face hub").fill("org/none")
        page.get_by_role("button", name="Fetch it").click()
        expect(page.get_by_role("alert")).to_contain_text("The hub has no public model org/none")
        headline(page, "Big-70B has 70.55\u00a0B parameters")


def test_where_a_number_comes_from_opens(page: Page) -> None:
    visit(page, f"model?model=custom&model_config={codec.pack_model(LLAMA_70B)}")
    page.get_by_text("70.55\u00a0B parameters", exact=True).click()
    shown = page.locator("[data-kept=understood_total] .sc-sums")
    expect(shown).to_contain_text("8,192 × 28,672")
    expect(shown).to_contain_text("70,553,706,496")


@wide_and_narrow
def test_it_fits_its_window_and_says_its_picture(page: Page) -> None:
    visit(page, "model?model=nemotron-3-nano-30b-a3b")
    picture = page.locator(".st-key-stack [role=graphics-document]").first
    expect(picture).to_have_attribute("aria-label", re.compile("^The 52 layers of Nemotron-3-Nano-30B-A3B"))
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth <= window.innerWidth")
