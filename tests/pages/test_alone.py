"""A page's own control runs the page alone, over the protocol that browsers speak."""

import asyncio
from pathlib import Path

from tests.browser.server import serving
from tests.visitor import Answer, Session


async def _visit(address: str) -> tuple[Answer, Answer]:
    visitor = Session(address, "roofline")
    await visitor.open()
    moved = await visitor.move("batch")
    whole = await visitor.run()
    await visitor.close()
    return moved, whole


def test_a_slider_of_the_page_runs_it_without_the_sidebar(tmp_path: Path) -> None:
    with serving(tmp_path / "log") as address:
        moved, whole = asyncio.run(_visit(address))
    assert moved.charts
    assert "sequences share" in moved.html or "decode step of" in moved.html
    assert "Who answers" in whole.html  # a heading of the sidebar
    assert "Who answers" not in moved.html
    assert moved.messages < whole.messages
