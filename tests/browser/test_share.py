"""The Share menu in a real browser: a link opened elsewhere, pictures, tables and scenarios as files."""

import csv
import io
import json
import re
import struct
import xml.etree.ElementTree as ET
import zlib
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from pages.parts import codec, scenario_file
from tests.browser.conftest import Guide, NewPage
from tests.browser.driving import settle, visit, wide_and_narrow
from tests.browser.tour import grave, in_views


def share(page: Page) -> Page:
    """Open the menu."""
    page.get_by_role("button", name="Share", exact=True).click()
    expect(page.locator(".st-key-share_link button")).to_be_visible()
    return page


def figures(page: Page) -> list[str]:
    """What the page says in numbers: its headline and its key numbers."""
    return [page.locator("h1").inner_text(), *page.locator(".sc-figures dd").all_inner_texts()]


def says(page: Page, figures: list[str]) -> None:
    """Wait until a page says these in numbers."""
    expect(page.locator("h1")).to_have_text(figures[0])
    expect(page.locator(".sc-figures dd")).to_have_text(figures[1:])


def saved(page: Page, name: str, folder: Path) -> Path:
    """Press a button that downloads a file."""
    with page.expect_download() as download:
        page.get_by_role("button", name=name, exact=True).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def pixels(path: Path) -> tuple[int, int, set[bytes]]:
    """Width, height and the colours of a PNG of 8 bits a channel."""
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG")
    at, data, header = 8, b"", b""
    while at < len(content):
        (length,), kind = struct.unpack(">I", content[at : at + 4]), content[at + 4 : at + 8]
        body = content[at + 8 : at + 8 + length]
        header, data = (body, data) if kind == b"IHDR" else (header, data + body * (kind == b"IDAT"))
        at += 12 + length
    width, height, depth, colour = struct.unpack(">IIBB", header[:10])
    assert depth == 8
    size = {2: 3, 6: 4}[colour]
    raw, rows, before = zlib.decompress(data), width * size, bytearray(width * size)
    colours: set[bytes] = set()
    for y in range(min(height, 400)):
        kind, line = raw[y * (rows + 1)], bytearray(raw[y * (rows + 1) + 1 : (y + 1) * (rows + 1)])
        _unfilter(kind, line, before, size)
        colours.update(bytes(line[x : x + size]) for x in range(0, rows, size * 3))
        before = line
    return width, height, colours


def _unfilter(kind: int, line: bytearray, before: bytearray, size: int) -> None:
    for x in range(len(line)):
        left, up = line[x - size] if x >= size else 0, before[x]
        corner = before[x - size] if x >= size else 0
        near = min((left, up, corner), key=lambda v: abs(left + up - corner - v))
        line[x] = (line[x] + (0, left, up, (left + up) // 2, near)[kind]) & 255


# ---- the menu --------------------------------------------------------------------------------------------------------


@wide_and_narrow
def test_the_menu_opens_beside_the_badge_and_fits(page: Page) -> None:
    visit(page, "roofline")
    button = page.get_by_role("button", name="Share", exact=True)
    badge, place = page.locator(".sc-badge").bounding_box(), button.bounding_box()
    assert badge
    assert place
    assert abs(badge["y"] - place["y"]) < 12
    assert place["x"] > badge["x"] + badge["width"]
    share(page)
    box = page.get_by_test_id("stPopoverBody").bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= page.viewport_size["width"]  # type: ignore[index]  # every view has a size
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("stPopoverBody")).to_have_count(0)


def test_the_menu_is_reached_and_opened_from_the_keyboard(page: Page) -> None:
    visit(page, "memory")
    page.get_by_role("button", name="Share", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.locator(".st-key-share_link button")).to_be_visible()


def test_a_menu_that_is_open_keeps_up_with_the_page(page: Page) -> None:
    share(visit(page, "roofline"))
    expect(page.locator(".sc-code")).to_contain_text("decode(1, 2048)")
    page.get_by_role("slider", name="Sequences decoding, B").press("ArrowRight")
    expect(page.locator(".sc-code")).to_contain_text("decode(2, 2048)")


@in_views("menu")
def test_every_page_has_the_menu(tour: Guide, view: str) -> None:
    assert not tour(view).wrong["menu"]


@wide_and_narrow
def test_an_open_menu_breaks_no_serious_rule_of_accessibility(page: Page) -> None:
    for path in ("roofline", "shapes"):
        share(visit(page, path)).get_by_text("Load one").click()
        expect(page.get_by_label("Or paste it")).to_be_visible()
        assert not grave(page)


@wide_and_narrow
def test_a_notice_leaves_the_menu_s_button_free(page: Page) -> None:
    visit(page, "memory?batch=x")
    notice = page.get_by_role("alert").bounding_box()
    button = page.get_by_role("button", name="Share", exact=True).bounding_box()
    assert notice
    assert button
    assert notice["x"] + notice["width"] <= button["x"]


# ---- link and scenario -----------------------------------------------------------------------------------------------


def test_a_copied_link_shows_the_same_elsewhere(page: Page, new_page: NewPage) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    chip = codec.pack_hardware(
        codec.custom_hardware("Mine & <b>yours</b>", bandwidth=2e12, memory=64e9, peak={"bf16": 5e14})
    )
    visit(page, f"batching?batch=48&context=4096&hardware=custom&accelerator={chip}&bandwidth_x=1.5&count=attention")
    share(page).locator(".st-key-share_link button").click()
    expect(page.locator(".st-key-share_link button")).to_have_text("Copied")
    link = page.evaluate("navigator.clipboard.readText()")
    assert "accelerator=" in link
    other = visit(new_page("phone"), link)
    says(other, figures(page))


def test_a_scenario_goes_down_and_up_again(page: Page, new_page: NewPage, tmp_path: Path) -> None:
    visit(page, "memory?model=llama-3.1-8b&batch=24&utilization=0.8&kv=fp8&memory_x=1.5")
    before = figures(page)
    path = saved(share(page), "Download scenario", tmp_path)
    assert json.loads(path.read_text())["controls"]["batch"] == "24"
    other = visit(new_page("dark"), "memory")
    share(other).get_by_text("Load one").click()
    other.locator(".st-key-share_upload input[type=file]").set_input_files(path)
    says(other, before)
    expect(other).to_have_url(re.compile("model=llama-3.1-8b"))


def test_junk_is_refused_in_a_sentence_and_a_pasted_scenario_loads(page: Page) -> None:
    visit(page, "roofline?batch=16")
    before = figures(page)
    share(page).get_by_text("Load one").click()
    place = page.locator(".st-key-share_upload input[type=file]")
    place.set_input_files({"name": "x.json", "mimeType": "application/json", "buffer": b"[" * 4_900_000})
    expect(page.get_by_text("Not loaded. It is no JSON")).to_be_visible()
    assert figures(page) == before
    page.get_by_label("Or paste it").fill(scenario_file.write({"batch": 64, "model": "llama-3.1-8b"}))
    page.get_by_role("button", name="Load", exact=True).click()
    expect(page.locator("h1")).to_contain_text("Llama-3.1-8B for 64 sequences")


# ---- files -----------------------------------------------------------------------------------------------------------

PICTURES = {
    "roofline": (
        "Time of a step against its tokens",
        "stepcost-roofline-time",
        ["tokens in the step", "decode, B = 1"],
    ),
    "scheduler?requests=300&prompt_kind=fixed": (
        "Timeline of A and its steps",
        "stepcost-scheduler-timeline",
        ["requests, in order of arrival"],
    ),
    "shapes": (
        "Prefill and decode, one step of one block",
        "stepcost-shapes-step-prefill-and-decode",
        ["Prefill", "Decode"],
    ),
    "batching": ("Latency and cost of a token against the batch", "stepcost-batching-tradeoff", ["cost: the step ÷ B"]),
}


PAPER = {"light": "rgb(253, 252, 250)", "dark": "rgb(21, 23, 26)"}
THEMES = {path: tuple(PAPER) if path in {"roofline", "shapes"} else ("light",) for path in PICTURES}
"""One of Vega's pictures and one of the app's own in both themes."""


@pytest.mark.parametrize("path", PICTURES)
def test_a_picture_is_saved_with_its_words_on_paper(new_page: NewPage, path: str, tmp_path: Path) -> None:
    title, name, words = PICTURES[path]
    paper = {}
    for view in THEMES[path]:
        page = share(visit(new_page(view), path))
        file = saved(page, f"{title}, SVG", tmp_path)
        assert file.name == f"{name}.svg"
        root = in_words(file, [title, *words])
        labels = [element for element in root.iter() if element.tag.endswith("text") and element.get("stroke")]
        assert labels or path == "shapes"  # which has its halos from a style sheet
        assert all(label.get("paint-order") == "stroke" for label in labels), "halos are behind the letters"
        paper[view] = next(element.get("fill") for element in root.iter() if element.tag.endswith("rect"))
        if view == "light":
            file = saved(page, f"{title}, PNG", tmp_path)
            assert file.name == f"{name}.png"
            at_twice_its_size(file)
    assert paper == {view: PAPER[view] for view in THEMES[path]}


def in_words(file: Path, words: list[str]) -> ET.Element:
    """A picture's SVG, which stands by itself, says these words."""
    text = file.read_text(encoding="utf-8")
    assert "var(" not in text, "colours are written out"
    root = ET.fromstring(text)  # noqa: S314  # the page under test made it
    said = "".join(root.itertext())
    assert all(word in said for word in words)
    return root


def at_twice_its_size(file: Path) -> None:
    """A PNG is large, shows something, and has paper."""
    width, height, colours = pixels(file)
    assert width > 1500
    assert height > 400
    assert len(colours) > 20, "it is blank"
    assert {bytes((253, 252, 250, 255)), bytes((253, 252, 250))} & colours, "no paper"


def test_a_chart_is_saved_as_it_stands_where_its_view_is_not_found(page: Page, tmp_path: Path) -> None:
    visit(page, "roofline")
    share(page)
    page.evaluate("for (const mark of document.querySelectorAll('svg.marks *')) delete mark.__data__;")
    text = saved(page, "Time of a step against its tokens, SVG", tmp_path).read_text(encoding="utf-8")
    assert "weights out of memory" in "".join(ET.fromstring(text).itertext())  # noqa: S314  # the page made it


def test_every_picture_of_a_page_is_found(page: Page, tmp_path: Path) -> None:
    for path in ("batching?model=gpt-oss-20b", "compare", "compare?compare_view=map", "shapes", "accuracy", "model"):
        visit(page, path)
        share(page)
        buttons = page.locator(".st-key-share_pictures button", has_text="SVG")
        expect(buttons.first).to_be_visible()
        for button in buttons.all():
            with page.expect_download() as download:
                button.click()
            download.value.save_as(tmp_path / "one.svg")
            root = ET.parse(tmp_path / "one.svg").getroot()  # noqa: S314  # the page under test made it
            assert len(list(root.iter())) > 10


def test_a_table_is_saved_in_full_precision(page: Page, tmp_path: Path) -> None:
    visit(page, "roofline")
    path = saved(share(page), "Where the step goes, CSV", tmp_path)
    assert path.name == "stepcost-roofline-where-the-step-goes.csv"
    header, *rows = csv.reader(io.StringIO(path.read_text(encoding="utf-8")))
    times = {row[0]: float(row[header.index("time (s)")]) for row in rows}
    assert times["whole step"] == pytest.approx(3.5581157e-4, rel=1e-6)
    assert sum(value for name, value in times.items() if name != "whole step") == pytest.approx(times["whole step"])


def test_what_was_dragged_together_is_offered_after_a_fragment_ran(page: Page, tmp_path: Path) -> None:
    visit(page, "batching")
    slider = page.locator(".st-key-prefill_chunk input[type=range]")
    slider.focus()
    slider.press("Home")
    expect(page).to_have_url(re.compile("prefill_chunk=1(&|$)"))
    settle(page)
    path = saved(share(page), "Three ways for a prompt, CSV", tmp_path)
    assert "in chunks of 1," in path.read_text(encoding="utf-8")
