"""The Share menu opened in the app without a browser, and figures read as people read them."""

from __future__ import annotations

import html
import math
import re
from typing import Any

from streamlit.testing.v1 import AppTest

from pages.parts import format, offers
from tests.pages import app, opened

_SCALES: dict[str, set[float]] = {"": {1.0}, "%": {0.01}, "tokens/s": {1.0}, "tokens": {1.0}, "token": {1.0}}
for _ladder in (
    format.SECONDS,
    format.BYTES,
    format.BINARY_BYTES,
    format.FLOP,
    format.FLOP_RATE,
    format.BYTE_RATE,
    format.PARAMETERS,
):
    for _scale, _unit in _ladder:
        _SCALES.setdefault(_unit, set()).add(_scale)


def open_share(page: str, **query: Any) -> AppTest:
    """A page with its Share menu open."""
    at = app.open_app(page, **query)
    at.session_state["share"] = True
    return opened.ran(at)


def code(at: AppTest) -> str:
    """The program in the open menu."""
    found = re.search(r'<pre class="sc-code"[^>]*>(.*?)</pre>', app.markup(at), flags=re.DOTALL)
    assert found, "there is no program in the menu"
    return html.unescape(found[1])


def offered(at: AppTest) -> offers.Offers:
    """What the page offered."""
    found: offers.Offers = at.session_state["_offers"]
    return found


def run(program: str) -> dict[str, Any]:
    """What a program, run by itself, leaves behind by name."""
    names: dict[str, Any] = {"__name__": "program"}
    exec(compile(program, "program.py", "exec"), names)  # noqa: S102  # the page under test wrote it
    assert "PWNED" not in names
    return names


def computed(program: str) -> dict[str, Any]:
    """The figures of a program, run by itself."""
    figures: dict[str, Any] = run(program)["figures"]
    return figures


def agree(shown: str, value: Any) -> bool:
    """Whether a figure as it is shown is this value, rounded.

    >>> agree("356 µs", 3.5581e-4), agree("357 µs", 3.5581e-4), agree("1.19 → 1.43 GB", (1.1919e9, 1.427e9))
    (True, False, True)
    """
    if not re.search(r"\d", shown):
        return _says(shown, value)
    values = [float(part) for part in value] if isinstance(value, tuple) else [float(value)]
    number, _, unit = shown.partition(" ") if not re.search(r" [+→] ", shown) else _several(shown)
    written = re.split(r" [+→] ", number)
    if len(written) == 1:
        written *= len(values)
    pairs = list(zip(written, values, strict=True))
    return any(all(_close(text, one / scale) for text, one in pairs) for scale in _SCALES[unit])


def _says(words: str, value: Any) -> bool:
    """Whether these words are how a page says that there is no number, or none but this."""
    if isinstance(value, str):
        return words == value
    if value is None:
        return words in {"never", "nowhere"}
    if math.isinf(value):
        return words in {"any number", "any length"}
    return words in ({"–", "not known"} if math.isnan(value) else {"nothing", "none"}) and not value > 0


def _several(shown: str) -> tuple[str, str, str]:
    """Several numbers, and the unit after the last."""
    found = re.fullmatch(r"(.*\d) ?(\D*)", shown)
    assert found
    return found[1], " ", found[2]


def _close(written: str, value: float) -> bool:
    text = written.strip("$×").replace(",", "").replace("−", "-")
    decimals = len(text.partition(".")[2])
    digits = text.replace(".", "").lstrip("0").rstrip("0") if not decimals else ""
    last = 10.0**-decimals if decimals else 10.0 ** (len(text) - max(len(digits), min(2, len(text))))
    return abs(float(text) - value) <= 0.5001 * last + 1e-9 * abs(value)
