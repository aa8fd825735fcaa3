"""Further steps in the app without a browser: other pages of the same session, buttons, alt texts."""

from __future__ import annotations

import mimetypes
import re
from typing import Any

import pyarrow as pa
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


def upload(at: AppTest, body: bytes, *, key: str, name: str) -> AppTest:
    """Upload a file of this name where the key says."""
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    at.file_uploader(key=key).set_value((name, body, kind))
    return ran(at)


def press(at: AppTest, label: str) -> AppTest:
    """Press the button of this label, or with this answer at the end of its row; spaces as people write them."""
    buttons = [button for button in at.button if named(button.label) == label]
    assert len(buttons) == 1, [named(button.label) for button in at.button]
    buttons[0].click()
    return ran(at)


def named(label: str) -> str:
    """A label as it is read, without the markup of a row's answer and what stands before it."""
    answer = re.search(r"\*\*(.+)\*\*$", label)
    return plain(re.sub(r"\\(.)", r"\1", answer[1] if answer else label))


def plain(text: object) -> str:
    """One space for every run of spaces, no-break ones too."""
    return re.sub(r"\s+", " ", str(text).replace("\u00a0", " ")).strip()


def alt(at: AppTest, number: int = 0) -> str:
    """What a chart says of itself, with the figures of the run."""
    return plain(dataset(at, number, "message").to_pylist()[0]["message"])


def dataset(at: AppTest, number: int, name: str) -> pa.Table:
    """A dataset of a chart, as the browser gets it."""
    proto = at.get("vega_lite_chart")[number].proto
    found = next(one for one in proto.datasets if one.name == name)
    return pa.ipc.open_stream(found.data.data).read_all()


def everything(at: AppTest) -> str:
    """All words of a page, with those in the data of its charts."""
    words = [app.text(at)]
    for number, drawn in enumerate(at.get("vega_lite_chart")):
        tables = [dataset(at, number, sent.name) for sent in drawn.proto.datasets]
        cells = [cell for table in tables for column in table.columns for cell in column.to_pylist()]
        words += [cell for cell in cells if isinstance(cell, str)]
    return "\n".join(map(plain, words))


def notices(at: AppTest) -> list[str]:
    """The sentences that say what is wrong."""
    return [plain(sentence) for sentence in app.notices(at)]


def value(at: AppTest, key: str) -> Any:
    """The value of a control in the session."""
    return at.session_state[key]
