"""What a team does to one server: junk in every upload, ten who measure at once, lost connections, a proxy in front."""

from __future__ import annotations

import asyncio
import random
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import FilePayload, Page, expect
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin, Subprotocol

from live import store
from tests.browser.conftest import NewPage
from tests.browser.driving import Watch, settle, visit
from tests.browser.proxy import Proxy, proxied
from tests.browser.server import HOST, process_id, serving
from tests.live.processes import wait_for, workers
from tests.visitor import Session, apart

MB = 1_000_000
TEAM = 10
FORGET = "--server.disconnectedSessionTTL=1"  # seconds; two minutes unless a server is told otherwise
ROUNDS, BETWEEN = 400, 0.3  # looks, and seconds between them: a bound against hanging
PILE = 3  # uploads in the place of one another
JUNK = random.Random(0).randbytes(5 * MB)
UPLOADS = {  # page: (where its upload is, kind of file, most MB that it takes, what the page says of junk)
    "model": (".st-key-own_files", "json", 4, "Not taken over. own_files.json"),
    "scheduler": (".st-key-scheduler_more", "csv", 5, "This trace was not taken"),
    "measure": (".st-key-profile_upload", "json", 5, "Not taken over. profile:"),
    "accuracy": (".st-key-own_steps", "csv", 2, "Not taken over. "),
}


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that forgets who has left at once, and keeps profiles in a folder of its own."""
    folder = tmp_path_factory.mktemp("robust")
    with serving(folder / "log", FORGET, environment={store.VARIABLE: str(folder / "profiles")}) as address:
        yield address


# ---- junk --------------------------------------------------------------------------------------------------------


def upload_junk(page: Page, path: str) -> None:
    """Upload as much junk as a page takes: it says so in a sentence and goes on, then more, which stays out."""
    where, kind, most, said = UPLOADS[path]
    visit(page, path)
    if path == "scheduler":
        page.get_by_text("Workload, memory and knobs").click()
    box = page.locator(f"{where} input[type=file]")
    junk: FilePayload = {"name": f"junk.{kind}", "mimeType": "text/plain", "buffer": JUNK[: most * MB]}
    box.set_input_files(junk)
    main = page.get_by_test_id("stMain")
    expect(main).to_contain_text(said.replace("own_files", "junk"))
    if most * MB < len(JUNK):
        box.set_input_files({**junk, "name": f"more.{kind}", "buffer": JUNK})
        expect(page.locator(where)).to_contain_text("must be")
    before = page.locator("h1").inner_text()
    page.get_by_test_id("stSidebar").get_by_role("slider", name="Memory ×").press("ArrowRight")
    expect(page).to_have_url(re.compile("memory_x="))
    assert page.locator("h1").inner_text() == before or path in {"measure", "scheduler"}


@pytest.mark.parametrize("path", UPLOADS)
def test_junk_is_refused_in_a_sentence_and_the_page_goes_on(new_page: NewPage, machine: str, path: str) -> None:
    upload_junk(new_page(server=machine), path)


def test_the_memory_of_junk_comes_back(new_page: NewPage, machine: str) -> None:
    apart(_leave_it_to_forget(machine))
    assert held_bytes(machine) == 0
    page = visit(new_page(server=machine), "measure")
    box = page.locator(".st-key-profile_upload")
    for number in range(PILE):
        junk: FilePayload = {"name": f"junk{number}.json", "mimeType": "text/plain", "buffer": JUNK}
        box.locator("input[type=file]").set_input_files(junk)
        expect(box).to_contain_text(junk["name"])
        wait_for(lambda: held_bytes(machine) >= len(JUNK))
    wait_for(lambda: held_bytes(machine) <= len(JUNK))  # one takes the place of another
    page.context.close()
    apart(_leave_it_to_forget(machine))
    wait_for(lambda: held_bytes(machine) == 0)


def held_bytes(address: str) -> int:
    """Bytes of uploads that the server holds, as it says itself."""
    with urllib.request.urlopen(f"{address}/_stcore/metrics") as answer:
        metrics = answer.read().decode()
    held = re.findall(r'cache_memory_bytes\{[^}]*"UploadedFileManager"[^}]*\} (\d+)', metrics)
    return sum(int(number) for number in held)


async def _leave_it_to_forget(address: str) -> None:
    """The server forgets who has left when, a while after, the next one leaves."""
    await asyncio.sleep(1.5)
    visitor = Session(address)
    await visitor.open()
    await visitor.close()
    await asyncio.sleep(0.5)


# ---- ten who measure -----------------------------------------------------------------------------------------------


def test_of_ten_who_measure_at_once_one_does_and_the_next_can_when_it_is_stopped(machine: str) -> None:
    apart(_ten_measure(machine))
    wait_for(lambda: not workers(process_id(machine)))


async def _ten_measure(address: str) -> None:
    team = [Session(address, "measure") for _ in range(TEAM)]
    for visitor in team:
        await visitor.open()
    for visitor in team:
        await _until(visitor, "measure_start")
    await asyncio.gather(*(visitor.press("measure_start") for visitor in team))
    others = [visitor for visitor in team if "Another session here is measuring" in await _said_or_busy(visitor)]
    (busy,) = (visitor for visitor in team if visitor not in others)
    assert len(workers(process_id(address))) == 1

    await busy.press("measure_stop")
    assert not workers(process_id(address))
    await others[0].press("measure_start")
    assert await _said_or_busy(others[0]) == ""
    for visitor in team:  # a session that ends takes its measurement along
        await visitor.close()


async def _until(visitor: Session, button: str) -> None:
    """Run a visitor's page until it has this button."""
    for _ in range(ROUNDS):
        if button in (await visitor.run()).buttons:
            return
        await asyncio.sleep(BETWEEN)
    raise TimeoutError(button)


async def _said_or_busy(visitor: Session) -> str:
    """What the page complains of when nothing was measured; "" while it measures."""
    for _ in range(ROUNDS):
        answer = await visitor.run()
        if "measure_stop" in answer.buttons:
            return ""
        if refused := re.search("Nothing was measured[^<]*", answer.html):
            return refused[0]
        await asyncio.sleep(BETWEEN)
    raise TimeoutError(answer.html)


# ---- lost connections ----------------------------------------------------------------------------------------------

STEPS = "model,hardware,phase,new,batch,context,seconds\nqwen3-0.6b,h100-sxm,decode,,1,2048,0.002\n"


def lose_connection(page: Page, proxy: Proxy) -> None:
    """Lose it, and wait until the page has another one: until it notices, it still says that it is connected."""
    with page.expect_websocket():
        proxy.drop()
    app = page.get_by_test_id("stApp")
    expect(app).to_have_attribute("data-test-connection-state", "CONNECTED")


def test_a_browser_that_loses_its_connection_keeps_its_session(new_page: NewPage, machine: str) -> None:
    with proxied(machine) as proxy:
        page = visit(new_page(server=proxy.address), "accuracy?batch=64")
        steps: FilePayload = {"name": "steps.csv", "mimeType": "text/csv", "buffer": STEPS.encode()}
        page.locator(".st-key-own_steps input[type=file]").set_input_files(steps)
        forget = page.get_by_role("button", name="Forget them")
        expect(forget).to_be_visible()
        lose_connection(page, proxy)
        slider = page.get_by_test_id("stMain").get_by_role("slider", name="Sequences decoding, B")
        slider.press("ArrowRight")
        expect(page).to_have_url(re.compile("batch=80"))
        expect(page.get_by_text("A decode step of 80")).to_be_visible()
        expect(forget).to_be_visible()


def test_a_browser_whose_server_is_started_again_finds_what_its_address_says(
    new_page: NewPage, watch: Watch, tmp_path: Path
) -> None:
    with serving(tmp_path / "first") as first, proxied(first) as proxy:
        page = visit(new_page(server=proxy.address), "batching?batch=64&model=llama-3.1-8b")
        headline = page.locator("h1").inner_text()
        runs = page.locator(".st-key-lost [data-run]")
        run = runs.get_attribute("data-run") or ""
        with serving(tmp_path / "second") as second:
            proxy.target = second
            lose_connection(page, proxy)
            expect(runs).not_to_have_attribute("data-run", run)  # it knows the page again
            settle(page)
            slider = page.get_by_test_id("stMain").get_by_role("slider", name="Sequences decoding, B")
            expect(page.locator("h1")).to_have_text(headline)
            slider.press("ArrowRight")
            expect(page).to_have_url(re.compile("batch=80"))
            expect(page.locator("h1")).not_to_have_text(headline)
            assert "Llama-3.1-8B" in page.locator(".sc-context").inner_text()


# ---- a proxy in front ----------------------------------------------------------------------------------------------


def test_behind_a_proxy_with_a_prefix_every_page_loads_and_links_keep_it(new_page: NewPage, tmp_path: Path) -> None:
    with serving(tmp_path / "log", prefix="tools/stepcost") as address, proxied(address) as proxy:
        assert urlsplit(proxy.address).path == "/tools/stepcost"
        page = visit(new_page(server=proxy.address))
        links = page.locator("[data-testid=stTopNavLink], [data-testid=stSidebarNavLink]")
        paths = [urlsplit(link.get_attribute("href") or "").path for link in links.all()]
        assert all(path.startswith("/tools/stepcost") for path in paths)
        for place, path in list(enumerate(paths))[1:]:
            before = page.locator("h1").inner_text()
            links.nth(place).click()
            expect(page).to_have_url(re.compile(re.escape(path)))
            expect(page.locator("h1")).not_to_have_text(before)
        visit(page, "batching?batch=64")
        expect(page.get_by_role("slider", name="Sequences decoding, B")).to_have_attribute("aria-valuetext", "64")
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.get_by_role("button", name="Share", exact=True).click()
        page.get_by_role("button", name="Copy link").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith(f"{proxy.address}/batching?")
        assert "batch=64" in copied


def test_other_sites_and_other_names_are_turned_away(machine: str) -> None:
    port = urlsplit(machine).port
    for host, origin in (
        ("127.0.0.1", "http://elsewhere.example"),
        ("127.0.0.1", f"http://127.0.0.1.elsewhere.example:{port}"),
        ("elsewhere.example", f"http://elsewhere.example:{port}"),
    ):
        with pytest.raises(InvalidStatus, match="403"):
            apart(_connect(f"ws://{host}:{port}/_stcore/stream", origin))
    apart(_connect(f"ws://127.0.0.1:{port}/_stcore/stream", f"http://127.0.0.1:{port}"))


async def _connect(stream: str, origin: str) -> None:
    """Connect to a server on this machine, whatever the name that it is called by."""
    async with connect(stream, host=HOST, origin=Origin(origin), subprotocols=[Subprotocol("streamlit")]):
        pass
