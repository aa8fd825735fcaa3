"""The app run without a browser, and what it then shows as text."""

from __future__ import annotations

import html
import re
from functools import cache
from typing import Any

from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from tests.reference import ROOT

SECONDS = 60  # a bound against hanging

# A server looks once through all installed packages for components, an AppTest anew for each visit: most of its time.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


def open_app(page: str = "", **query: Any) -> AppTest:
    """Visit a page by a link with these parameters, as the first of a session."""
    at = _fresh()
    for key, value in query.items():
        at.query_params[key] = str(value)
    if page:
        # An AppTest learns which pages there are by its first run; a browser that follows a link has none before it.
        at._registered_pages = _pages()
        at.switch_page(f"pages/{page}/page.py")
    return at.run()


def _fresh() -> AppTest:
    return AppTest.from_file(str(ROOT / "app.py"), default_timeout=SECONDS)


@cache
def _pages() -> Any:
    """The pages that there are, as a run of the app registers them."""
    return _fresh().run()._registered_pages


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
