"""What every page says of a crossing below one token: none at 1, the arithmetic is ahead from the first token on."""

from __future__ import annotations

import re
from typing import Any

import pytest

import costmodel as cm
from tests.pages import opened
from tests.pages.app import figures, text

SLOW = {  # a crossing at 0.6 tokens
    "model": "qwen3-8b", "hardware": "epyc-9654", "weights": "int4", "compute_x": 0.25,
    "bandwidth_x": 4, "context": 128,
}  # fmt: skip
AT_ONE = re.compile(r"(cross(es|ing)? at|crossing|T\*|from|: B|cached:)( T\*| B)?( =)? 1\b(?![,.\d])(?! ÷)|T\* − B = ")
PAGES: list[tuple[str, dict[str, Any]]] = [
    ("", {}),
    ("roofline", {}),
    ("batching", {"count": "attention"}),
    ("shapes", {}),
    ("scheduler", {"kv_blocks": 4000, "requests": 8}),
    ("compare", {"other": "bandwidth"}),
    ("compare", {"other": "batch", "count": "attention"}),
]


@pytest.mark.parametrize(("page", "more"), PAGES)
def test_a_crossing_below_one_token_is_not_said_to_be_at_one(page: str, more: dict[str, Any]) -> None:
    at = opened.open_page(page, **SLOW, **more)
    assert AT_ONE.findall(opened.everything(at)) == []


@pytest.mark.parametrize(("page", "more"), PAGES)
def test_a_crossing_further_on_is_said(page: str, more: dict[str, Any]) -> None:
    """What the test above looks for is there where a crossing is."""
    at = opened.open_page(page, model="qwen3-8b", context=128, **more)
    number = f"{round(cm.crossing(cm.model('qwen3-8b'), cm.hardware('h100-sxm')) or 0):,}"
    assert number in opened.everything(at)


def test_the_figure_and_the_difference_say_that_it_is_below() -> None:
    assert figures(opened.open_page("roofline", **SLOW))["crossing T*"] == "≤ 1 token"
    said = text(opened.open_page("compare", other="bandwidth", **SLOW))
    assert "crossing T*, tokens ≤ 1 ≤ 1 – steps of A and B are compute-bound from the first token on" in said
    alt = opened.alt(opened.open_page("", **SLOW))
    assert "Arithmetic is ahead from the first token on, and each token is waited for." in alt
