"""The app opened on one of its pages without a browser, and what is written there."""

from __future__ import annotations

import html
import re
from typing import Any

from streamlit.testing.v1 import AppTest

from tests.reference import ROOT

PATIENCE = 60  # seconds a run: a bound against hanging


def open_page(name: str, **query: object) -> AppTest:
    """Open a page with these parameters in its address."""
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
    for key, value in query.items():
        at.query_params[key] = str(value)
    return go(ran(at), name)  # the first run always shows the default page


def go(at: AppTest, name: str) -> AppTest:
    """Go to another page in the same session."""
    return ran(at.switch_page(f"pages/{name}/page.py"))


def ran(at: AppTest) -> AppTest:
    """Run the page; it must not raise."""
    at.run()
    assert not at.exception, at.exception
    return at


def press(at: AppTest, label: str) -> AppTest:
    """Press the button of this label, with its spaces as people write them."""
    buttons = [button for button in at.button if plain(button.label) == label]
    assert len(buttons) == 1, [plain(button.label) for button in at.button]
    buttons[0].click()
    return ran(at)


def markup(at: AppTest) -> str:
    """All HTML that the page wrote, but for its style sheet."""
    bodies = [element.proto.body for element in at.get("html")]
    return "\n".join(body for body in bodies if "<style>" not in body)


def words(at: AppTest) -> str:
    """The text of the page, without tags and with ordinary spaces."""
    return plain(html.unescape(re.sub(r"<[^>]*>", " ", markup(at))))


def plain(text: str) -> str:
    """One space for every run of spaces, no-break ones too."""
    return re.sub(r"\s+", " ", text.replace("\u00a0", " ")).strip()


def alt(at: AppTest, number: int = 0) -> str:
    """The alt text of a chart."""
    charts = at.get("vega_lite_chart")
    return plain(str(charts[number].proto.alt))


def notices(at: AppTest) -> list[str]:
    """The sentences that say what is wrong."""
    found = re.findall(r'<div class="sc sc-notice" role="alert"><p>(.*?)</p></div>', markup(at), re.DOTALL)
    return [plain(html.unescape(text)) for text in found]


def value(at: AppTest, key: str) -> Any:
    """The value of a control in the session."""
    return at.session_state[key]
