"""The very first visit to a fresh server, in the circumstances that people meet."""

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.driving import visit
from tests.browser.server import serving
from tests.visitor import Session, apart

WORDS = re.compile(r"\w+ \w+")
NO_TORCH = 'raise ModuleNotFoundError("No module named \'torch\'", name="torch")\n'


def test_every_page_is_served_without_torch(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(NO_TORCH)
    with serving(tmp_path / "log", environment={"PYTHONPATH": str(tmp_path)}) as address:
        said = apart(_words_of_all_pages(address))
    assert len(said) > 9
    assert all(WORDS.search(text) for text in said.values())


async def _words_of_all_pages(address: str) -> dict[str, str]:
    """What the server says to a visitor of each page, the tags left out."""
    first, said = Session(address), {}
    await first.open()
    await first.close()
    for path in first.pages:
        visitor = Session(address, path)
        said[path] = re.sub(r"<[^>]*>", " ", re.findall(r"<h1.*?</h1>", (await visitor.open()).html)[-1])
        await visitor.close()
    return said


def test_it_is_served_under_a_path_of_its_own(new_page: Callable[..., Page], tmp_path: Path) -> None:
    with serving(tmp_path / "log", prefix="tools/stepcost") as address:
        page = visit(new_page(server=address))
        expect(page.get_by_test_id("stMain")).to_contain_text(WORDS)
        assert page.url.startswith(f"{address}/")


def test_a_deep_link_opens_its_page_as_the_first_visit_to_a_server(
    new_page: Callable[..., Page], tmp_path: Path
) -> None:
    with serving(tmp_path / "log") as address:
        page = visit(new_page(server=address), "scheduler")
        expect(page.get_by_test_id("stMain")).to_contain_text("Two policies, the same requests")
        expect(page.get_by_role("dialog")).to_have_count(0)
