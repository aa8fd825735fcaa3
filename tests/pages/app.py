"""The app run without a browser, and what it then shows as text."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from tests.reference import ROOT

SECONDS = 60  # a bound against hanging


def open_app(page: str = "", **query: Any) -> AppTest:
    """Visit a page by a link with these parameters."""
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=SECONDS)
    for key, value in query.items():
        at.query_params[key] = str(value)
    if page:
        at.run()
        at.switch_page(str(Path("pages") / page / "page.py"))
    return at.run()


def markup(at: AppTest) -> str:
    """All HTML of the page."""
    return "\n".join(element.proto.body for element in at.get("html"))


def text(at: AppTest) -> str:
    """All words of the page: no-break spaces as spaces."""
    bare = re.sub(r"<style>.*?</style>", "", markup(at), flags=re.DOTALL)
    bare = re.sub(r"<(dt|dd|div|p|td|th|li|h1|h2|tr)\b[^>]*>", " ", bare)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", bare)).replace("\u00a0", " ")).strip()


def notices(at: AppTest) -> list[str]:
    """The sentences that say what could not be used."""
    found = re.findall(r'<div class="sc sc-notice" role="alert"><p>(.*?)</p></div>', markup(at))
    return [html.unescape(sentence) for sentence in found]


def figures(at: AppTest) -> dict[str, str]:
    """The key numbers by name."""
    found = re.findall(r"<dt>(.*?)</dt><dd[^>]*>(.*?)</dd>", markup(at))
    return {
        html.unescape(name): html.unescape(re.sub(r"<[^>]+>", "", value)).replace("\u00a0", " ")
        for name, value in found
    }


def link(at: AppTest) -> dict[str, str]:
    """Parameters of the address."""
    return {key: found[-1] if isinstance(found, list) else found for key, found in dict(at.query_params).items()}


def press(at: AppTest, label: str) -> None:
    """Press the button that reads so."""
    next(button for button in at.button if button.label == label).click().run()
