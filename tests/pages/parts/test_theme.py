"""The look is said in two files; they must agree."""

import tomllib

import pytest

from pages.parts import theme
from tests.reference import ROOT

THEMES = tomllib.loads((ROOT / ".streamlit/config.toml").read_text())["theme"]


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2) of #RRGGBB."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("side", "name"), [(0, "light"), (1, "dark")])
def test_charts_and_prose_use_the_same_colours(side: int, name: str) -> None:
    charts = dict(zip(theme.MEANINGS, THEMES[name]["chartCategoricalColors"], strict=True))
    for meaning, fill in theme.FILLS.items():
        assert charts[meaning] == fill[side]
    for meaning in ("ink", "muted", "paper", "rule"):
        assert charts[meaning] == theme.PROSE[meaning][side]
    assert charts["prefill text"] == theme.PROSE["prefill"][side]
    assert charts["decode text"] == theme.PROSE["decode"][side]
    assert THEMES[name]["backgroundColor"] == theme.PROSE["paper"][side]
    assert THEMES[name]["textColor"] == theme.PROSE["ink"][side]


@pytest.mark.parametrize("side", [0, 1])
def test_text_can_be_read_on_paper(side: int) -> None:
    paper = theme.PROSE["paper"][side]
    for meaning in ("memory", "compute", "prefill", "decode", "muted", "ink"):
        assert contrast(theme.PROSE[meaning][side], paper) >= 5.1
