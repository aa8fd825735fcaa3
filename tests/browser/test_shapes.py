"""The Shapes page in a real Chromium: the cells that are drawn are counted, a run is played, stores are dragged."""

from __future__ import annotations

import re
from collections import Counter
from typing import Literal

import pytest
from playwright.sync_api import Locator, Page, expect

from pages.parts import codec
from tests.browser.driving import MEETING_LABELS, settle, visit, wide_and_narrow

pytestmark = pytest.mark.usefixtures("met")
SLOWEST_STEP_MS = 1000  # a bound against hanging; the figures are printed

COUNT = """
(frame) => [...frame.querySelectorAll("[data-part]")].map((cell) =>
  [cell.dataset.of, cell.dataset.part, cell.dataset.gap ? "gap" : cell.dataset.state])
"""
STEPS = "performance.getEntriesByName('step').map((entry) => entry.duration)"

# The sizes of no real model: a window of three tokens, so that six tokens show it.
WINDOWED = {
    "model_type": "mistral",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 100,
    "sliding_window": 3,
    "max_position_embeddings": 64,
}


@pytest.fixture
def shown(page: Page) -> Page:
    """The page as it opens."""
    return opened(page)


def opened(page: Page, query: str = "") -> Page:
    """The Shapes page, with every picture drawn."""
    visit(page, f"shapes?{query}")
    for name in ("step", "run", "gathered", "mixed"):
        expect(picture(page, name).locator("svg.sheet").first).to_be_visible()
    return page


def picture(page: Page, name: str) -> Locator:
    return page.locator(f".st-key-shapes_{name}")


def counted(place: Locator) -> dict[str, dict[str, Counter[str]]]:
    """Cells that are drawn: by panel or sequence, by matrix, by state."""
    expect(place.locator("svg.sheet").first).to_be_visible()
    counts: dict[str, dict[str, Counter[str]]] = {}
    for of, part, state in place.locator(".frame").first.evaluate(COUNT):
        counts.setdefault(of, {}).setdefault(part, Counter())[state] += 1
    return counts


def caption(page: Page) -> Locator:
    return picture(page, "run").locator(".caption")


# ---- the cells ------------------------------------------------------------------------------------------------------


def test_the_posts_picture_has_its_cells(shown: Page) -> None:
    cells = counted(picture(shown, "step"))
    assert cells["p0"] == {
        "queries": {"new": 6},
        "keys": {"new": 6},
        "scores": {"new": 1 + 2 + 3 + 4 + 5 + 6, "masked": 5 + 4 + 3 + 2 + 1},
        "values": {"new": 6},
        "outputs": {"new": 6},
        "MLP": {"new": 6},
    }
    assert cells["p1"] == {
        "queries": {"new": 1, "absent": 5},
        "keys": {"new": 1, "cached": 5},
        "scores": {"new": 6, "absent": 5 * 6},
        "values": {"new": 1, "cached": 5},
        "outputs": {"new": 1, "absent": 5},
        "MLP": {"new": 1, "absent": 5},
    }


def test_a_window_greys_columns(page: Page) -> None:
    packed = codec.pack_model(WINDOWED)
    cells = counted(picture(opened(page, f"model=custom&model_config={packed}"), "step"))
    assert cells["p0"]["scores"] == {"new": 1 + 2 + 3 + 3 + 3 + 3, "outside": 1 + 2 + 3, "masked": 15}
    assert cells["p0"]["keys"] == {"new": 6}
    assert cells["p1"]["scores"] == {"new": 3, "outside": 3, "absent": 30}
    assert cells["p1"]["keys"] == {"new": 1, "cached": 2, "outside": 3}


def test_latent_attention_has_one_store(page: Page) -> None:
    cells = counted(picture(opened(page, "model=deepseek-v2-lite"), "step"))
    assert cells["p0"]["latent"] == {"new": 6}
    assert cells["p1"]["latent"] == {"new": 1, "cached": 5}
    assert cells["p1"]["scores"] == {"new": 6, "absent": 30}
    assert not {"keys", "values"} & {*cells["p0"], *cells["p1"]}


def test_a_recurrent_layer_has_a_state_and_no_square(page: Page) -> None:
    cells = counted(picture(opened(page, "model=qwen3-next-80b-a3b&layer=0"), "step"))
    assert cells["p0"]["state"] == cells["p1"]["state"] == {"state": 1}
    assert not {"keys", "values", "scores"} & {*cells["p0"], *cells["p1"]}
    expect(page.locator(".st-key-shapes_heads")).to_have_count(0)


def test_grouped_queries_share_stores(shown: Page) -> None:
    cells = counted(picture(shown, "heads"))
    assert len(cells) == 8  # KV heads
    for group in cells.values():
        assert group == {
            "head": {"new": 16 // 8},
            "keys": {"new": 1, "cached": 5},
            "values": {"new": 1, "cached": 5},
        }


def test_long_sentences_are_abbreviated_and_a_chunk_rides_along(page: Page) -> None:
    cells = counted(picture(opened(page, "tokens=4096&chunk=4&chunk_cached=3&lengths=5.2"), "step"))
    # 24 rows and columns at most, one of each a gap: first 11 and last 12 of the prefill
    assert cells["p0"]["queries"] == {"new": 23, "gap": 1}
    assert cells["p0"]["scores"]["gap"] == 24 + 23
    assert cells["p0"]["scores"].total() == 24 * 24
    label = picture(page, "step").locator("svg.sheet").get_attribute("aria-label")
    assert label is not None
    assert f"{4096 * 4097 // 2:,} scores computed" in label
    cells = counted(picture(page, "mixed"))
    assert cells["P"]["scores"] == {"new": 4 + 5 + 6 + 7, "masked": 3 + 2 + 1}
    assert cells["P"]["keys"] == {"new": 4, "cached": 3}
    assert cells["P"]["gathered"] == {"new": 4}
    assert cells["A"]["scores"] == {"new": 6}
    assert sum(one["gathered"]["new"] for name, one in cells.items() if name != "all") == 4 + 1 + 1


def test_rows_gather_and_squares_do_not(shown: Page) -> None:
    cells = counted(picture(shown, "gathered"))
    for name, cached in zip("ABCD", (5, 2, 7, 4), strict=True):
        assert cells[name]["keys"] == cells[name]["values"] == {"new": 1, "cached": cached}
        assert cells[name]["scores"] == {"new": cached + 1}
        assert cells[name]["gathered"] == {"new": 1}
    assert cells["all"] == {"weights": {"memory": 1}}


# ---- a run ----------------------------------------------------------------------------------------------------------


NOTE_CAPTIONS = """
(caption) => {
  window.captions = [];
  new MutationObserver(() => captions.push(caption.textContent)).observe(caption, { childList: true });
}
"""


def test_the_run_has_one_prefill_and_199_decodes_and_can_be_calm(page: Page) -> None:
    run = picture(opened(page), "run")
    expect(run.locator("input[type=range]")).to_have_attribute("max", "199")
    expect(caption(page)).to_have_text("Step 0 of 199, prefill: 20 rows, 20 new keys and values, 0 cached.")
    assert counted(run)["r"]["scores"] == {"new": 20 * 21 // 2, "masked": 20 * 19 // 2}
    run.locator(".next").click()
    expect(caption(page)).to_have_text("Step 1 of 199, decode: 1 row, 1 new key and value, 20 cached.")
    assert counted(run)["r"]["keys"] == {"new": 1, "cached": 20}
    run.locator("input[type=range]").focus()
    page.keyboard.press("End")
    expect(caption(page)).to_have_text("Step 199 of 199, decode: 1 row, 1 new key and value, 218 cached.")
    cells = counted(run)["r"]
    assert cells["keys"] == cells["values"] == {"new": 1, "cached": 218}
    assert cells["scores"] == {"new": 219}
    caption(page).evaluate(NOTE_CAPTIONS)  # a stop is over before a test looks again
    run.get_by_role("button", name="Play").click()  # these tests ask for no motion: a dozen calm stops
    page.wait_for_function("() => captions.some((said) => said.includes('Step 17 of 199'))")
    run.get_by_role("button", name="Pause").click()


def test_it_plays_without_the_server_and_stops_at_a_link(page: Page) -> None:
    sent: list[object] = []

    def note(frame: object) -> None:
        sent.append(frame)

    page.on("websocket", lambda socket: socket.on("framesent", note))
    page.emulate_media(reduced_motion="no-preference")
    run = picture(opened(page), "run")
    before = len(page.evaluate(STEPS))
    sent.clear()
    run.get_by_role("button", name="Play").click()
    expect(caption(page)).to_contain_text(re.compile(r"Step [3-9]\d of 199"))
    assert not sent, "playing asked the server"
    run.get_by_role("button", name="Pause").click()
    took = sorted(page.evaluate(STEPS)[before:])
    print(f"a step of the animation: median {took[len(took) // 2]:.1f} ms, slowest {took[-1]:.1f} ms of {len(took)}")
    assert took[len(took) // 2] < SLOWEST_STEP_MS
    step = re.search(r"Step (\d+)", caption(page).inner_text())
    assert step
    page.wait_for_function("(step) => new URL(location).searchParams.get('run_step') === step", arg=step[1])
    page.goto(page.evaluate("location.href"))
    settle(page)
    expect(caption(page)).to_contain_text(f"Step {step[1]} of 199")


def test_an_answer_moves_the_run(page: Page) -> None:
    run = picture(opened(page, "run_step=7"), "run")
    expect(caption(page)).to_contain_text("Step 7 of 199")
    page.get_by_role("button", name="a prompt of 500").click()
    expect(caption(page)).to_have_text("Step 0 of 199, prefill: 500 rows, 500 new keys and values, 0 cached.")
    assert counted(run)["r"]["queries"] == {"new": 23, "gap": 1}


# ---- pointing and dragging ------------------------------------------------------------------------------------------


def test_pointing_at_a_cell_says_what_it_is_and_lights_its_row_and_column(shown: Page) -> None:
    step = picture(shown, "step")
    step.locator("[data-of=p1][data-part=keys][data-state=cached]").nth(1).hover()
    tip = step.get_by_role("status")
    expect(tip).to_have_text("key of “cache” (token 2): read from the cache, computed in an earlier step")
    step.locator("[data-of=p0][data-part=scores][data-state=masked]").first.hover()
    expect(tip).to_have_text("“The” (token 1) may not look at “cache” (token 2): later in the sentence")
    expect(step.locator(".lit .band")).to_have_count(2)


def test_the_keyboard_reaches_every_cell(shown: Page) -> None:
    step = picture(shown, "step")
    step.locator(".frame").focus()
    shown.keyboard.press("ArrowRight")
    tip = step.get_by_role("status")
    expect(tip).to_be_visible()
    seen = set()
    for key in ["ArrowDown"] * 7 + ["ArrowRight"] * 20:
        shown.keyboard.press(key)
        seen.add(tip.inner_text())
    assert any("value of" in text for text in seen)
    assert any("in this decode step" in text for text in seen), "the arrows do not reach the second panel"
    shown.keyboard.press("Escape")
    expect(tip).to_be_hidden()


def test_a_store_is_dragged_and_a_sequence_added(page: Page) -> None:
    place = picture(opened(page), "gathered")
    place.scroll_into_view_if_needed()
    cell = place.locator("[data-of=B][data-part=keys]").first.bounding_box()
    knob = place.locator(".grip[data-n='1'] .knob").bounding_box()
    assert cell
    assert knob
    y = knob["y"] + knob["height"] / 2
    page.mouse.move(knob["x"] + 2, y)
    page.mouse.down()
    page.mouse.move(knob["x"] + 2 + 3 * (cell["width"] + 1), y, steps=4)
    cached = place.locator("[data-of=B][data-part=keys][data-state=cached]")
    expect(cached, "the picture follows the hand").to_have_count(2 + 3)
    page.mouse.up()
    has_lengths = "(lengths) => new URL(location).searchParams.get('lengths') === lengths"
    page.wait_for_function(has_lengths, arg="5.5.7.4")
    place.get_by_role("button", name="Add a sequence").click()
    page.wait_for_function(has_lengths, arg="5.5.7.4.3")
    place.get_by_role("slider", name="Tokens in the cache of A").press("ArrowLeft")
    page.wait_for_function(has_lengths, arg="4.5.7.4.3")
    place.get_by_role("button", name="Take B out of the step").press("Enter")
    page.wait_for_function("new URL(location).searchParams.get('lengths') === '4.7.4.3'")


# ---- phones, themes -----------------------------------------------------------------------------------------


def test_a_step_between_has_its_cells(shown: Page) -> None:
    shown.get_by_role("button", name="Neither: send three rows").click()
    expect(picture(shown, "step").locator("svg.sheet")).to_contain_text("Between")
    cells = counted(picture(shown, "step"))["p1"]
    assert cells["scores"] == {"new": 4 + 5 + 6, "masked": 2 + 1, "absent": 3 * 6}
    assert cells["keys"] == cells["values"] == {"new": 3, "cached": 3}
    assert cells["queries"] == {"new": 3, "absent": 3}


READABLE = """
() => [...document.querySelectorAll("[class*=st-key-shapes_]")].flatMap((place) => {
  const host = [...place.querySelectorAll("*")].find((element) => element.shadowRoot);
  return host ? [...host.shadowRoot.querySelectorAll("svg.sheet text, svg.sheet tspan")].map((text) => {
    const scale = text.closest("svg").getBoundingClientRect().width / text.closest("svg").viewBox.baseVal.width;
    return parseFloat(getComputedStyle(text).fontSize) * scale;
  }) : [];
})
"""


@wide_and_narrow
def test_it_fits_its_window_and_can_be_read(page: Page) -> None:
    opened(page, "run_step=60")
    wider = page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth - window.innerWidth")
    assert wider <= 0
    sizes = page.evaluate(READABLE)
    assert len(sizes) > 50
    assert min(sizes) >= 10.99


@pytest.mark.parametrize(("media", "width"), [("print", 718), ("screen", 900), ("screen", 330)])
def test_no_two_labels_meet_where_there_is_little_room(
    page: Page, media: Literal["print", "screen"], width: int
) -> None:
    opened(page, "run_step=60")
    drawn = picture(page, "run").locator(".triangle svg.sheet")
    before = drawn.get_attribute("width") or ""
    page.emulate_media(media=media)
    page.set_viewport_size({"width": width, "height": 900})
    expect(drawn).not_to_have_attribute("width", before)
    assert page.evaluate(MEETING_LABELS) == []


def test_words_in_pictures_stay_inside_them(page: Page) -> None:
    opened(page, "model=deepseek-v3&layer=1&tokens=2000&rows=700&cells=equal")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(picture(page, "step").locator("svg.sheet")).to_have_attribute("width", re.compile(r"^3\d\d"))
    outside = (
        picture(page, "step")
        .locator("svg.sheet")
        .evaluate(
            """(svg) => { const box = svg.getBoundingClientRect();
        return [...svg.querySelectorAll("text")].filter((text) => {
          const own = text.getBoundingClientRect();
          return own.left < box.left - 1 || own.right > box.right + 1; }).map((text) => text.textContent); }"""
        )
    )
    assert outside == []
