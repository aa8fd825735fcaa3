"""The Overview in a real browser: alive before a click, a batch that moves without the server, a way into the pages."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.driving import settle, visit, wide_and_narrow


def rider(page: Page) -> Locator:
    """The mark of the decode step."""
    return page.locator('.st-key-ride svg [aria-label^="decode of "]')


def slider(page: Page) -> Locator:
    return page.locator(".st-key-ride form.vega-bindings input[name=batch]")


@wide_and_narrow
def test_it_is_alive_before_a_click_and_fits(page: Page) -> None:
    visit(page)
    expect(page.locator("h1")).to_contain_text("reads 1.19\u00a0GB in 356\u00a0µs")
    expect(rider(page)).to_have_attribute("aria-label", "decode of 1: 356\u00a0µs, 356\u00a0µs a token")
    expect(page.locator('.st-key-ride svg [aria-label^="prefill of 500: 602"]')).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_batch_moves_without_the_server_and_is_kept_when_the_hand_lets_go(page: Page) -> None:
    frames: list[object] = []

    def note(frame: object) -> None:
        frames.append(frame)

    page.on("websocket", lambda socket: socket.on("framesent", note))
    visit(page)
    expect(slider(page)).to_have_value("1")
    expect(slider(page)).to_have_attribute("max", "656")
    box = slider(page).bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    sent = len(frames)
    page.mouse.move(box["x"] + 8, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 3, y, steps=8)
    expect(rider(page)).to_have_attribute(
        "aria-label", re.compile(r"decode of 2\d\d: 356\u00a0µs, 1\.\d+\u00a0µs a token")
    )
    page.wait_for_timeout(400)  # longer than any debounce: what would be sent is sent by then
    assert len(frames) == sent
    batch = slider(page).input_value()
    page.mouse.up()
    expect(page).to_have_url(re.compile(f"batch={batch}$"))
    page.reload()
    settle(page)
    expect(rider(page)).to_have_attribute("aria-label", re.compile(f"^decode of {batch}: "))


def test_keys_move_it_too(page: Page) -> None:
    visit(page)
    expect(slider(page)).to_have_attribute("aria-label", "Sequences decoding together")
    slider(page).focus()
    slider(page).press("ArrowRight")
    expect(page).to_have_url(re.compile("batch=2$"))
    expect(rider(page)).to_have_attribute("aria-label", re.compile("^decode of 2: "))


def test_keys_that_come_faster_than_answers_all_count(page: Page) -> None:
    visit(page)
    slider(page).focus()
    for _ in range(12):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(60)
    expect(page).to_have_url(re.compile("batch=13$"))
    expect(slider(page)).to_have_value("13")


# As a key does it, at the moment when the slider is there; nobody has given it a value yet.
EARLY_KEY = """
const watcher = new MutationObserver(() => {
  const slider = document.querySelector(".st-key-ride form.vega-bindings input");
  if (!slider) return;
  watcher.disconnect();
  slider.focus();
  slider.value = Number(slider.value) + Number(slider.step);
  for (const name of ["input", "keyup"]) slider.dispatchEvent(new Event(name, { bubbles: true }));
});
watcher.observe(document, { childList: true, subtree: true });
"""


def test_a_key_that_comes_when_the_first_picture_does_counts(page: Page) -> None:
    page.add_init_script(EARLY_KEY)
    page.goto("?batch=7")
    expect(page).to_have_url(re.compile("batch=8$"))
    expect(slider(page)).to_have_value("8")
    expect(rider(page)).to_have_attribute("aria-label", re.compile("^decode of 8: "))


def test_a_line_leads_to_its_page_with_the_same_scenario_and_back_returns(page: Page) -> None:
    visit(page, "?model=llama-3.1-8b&batch=32&context=8192")
    page.locator(".st-key-lead_memory").get_by_role("link", name="Memory").click()
    expect(page.locator("h1")).to_contain_text("Llama-3.1-8B")
    expect(page).to_have_url(re.compile(r"/memory\?"))
    for part in ("model=llama-3.1-8b", "batch=32", "context=8192"):
        expect(page).to_have_url(re.compile(part))
    page.go_back()
    expect(page.locator("h1")).to_contain_text("A step of Llama-3.1-8B")
    expect(rider(page)).to_have_attribute("aria-label", re.compile("^decode of 32: "))


def test_an_old_link_to_the_start_still_shows_its_scenario(page: Page) -> None:
    visit(page, "?hardware=h200-sxm&batch=64&count=attention")
    expect(page.locator("h1")).to_contain_text("on H200 SXM reads")
    page.locator(".st-key-lead_roofline").get_by_role("link", name="Roofline").click()
    expect(page.locator("h1")).to_contain_text("for 64 sequences over 2,048 cached tokens each on H200 SXM")
