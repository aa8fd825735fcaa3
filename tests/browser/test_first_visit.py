"""The very first visit to a fresh server, in the circumstances that people meet."""

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.driving import paths, visit
from tests.browser.server import serving

WORDS = re.compile(r"\w+ \w+")
NO_TORCH = 'raise ModuleNotFoundError("No module named \'torch\'", name="torch")\n'


def test_every_page_is_served_without_torch(new_page: Callable[..., Page], tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(NO_TORCH)
    with serving(tmp_path / "log", environment={"PYTHONPATH": str(tmp_path)}) as address:
        page = visit(new_page(server=address))
        for path in paths(page):
            expect(visit(page, path).get_by_test_id("stMain")).to_contain_text(WORDS)


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
