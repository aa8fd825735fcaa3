"""Further steps in the app without a browser: other pages of the same session, buttons, alt texts."""

from __future__ import annotations

import re
from typing import Any

from streamlit.testing.v1 import AppTest

from tests.pages import app


def open_page(name: str, **query: object) -> AppTest:
    """Open a page with these parameters in its address."""
    return sound(app.open_app(name, **query))


def go(at: AppTest, name: str) -> AppTest:
    """Go to another page in the same session."""
    return ran(at.switch_page(f"pages/{name}/page.py"))


def ran(at: AppTest) -> AppTest:
    """Run the page; it must not raise."""
    return sound(at.run())


def sound(at: AppTest) -> AppTest:
    """The page, which did not raise."""
    assert not at.exception, at.exception
    return at


def press(at: AppTest, label: str) -> AppTest:
    """Press the button of this label, with its spaces as people write them."""
    buttons = [button for button in at.button if plain(button.label) == label]
    assert len(buttons) == 1, [plain(button.label) for button in at.button]
    buttons[0].click()
    return ran(at)


def plain(text: object) -> str:
    """One space for every run of spaces, no-break ones too."""
    return re.sub(r"\s+", " ", str(text).replace("\u00a0", " ")).strip()


def alt(at: AppTest, number: int = 0) -> str:
    """The alt text of a chart."""
    charts = at.get("vega_lite_chart")
    return plain(charts[number].proto.alt)


def notices(at: AppTest) -> list[str]:
    """The sentences that say what is wrong."""
    return [plain(sentence) for sentence in app.notices(at)]


def value(at: AppTest, key: str) -> Any:
    """The value of a control in the session."""
    return at.session_state[key]
