"""Numbers as people read them."""

import math
import re

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pages.parts import format
from tests.pages import drawing

amounts = st.floats(1e-12, 1e24, allow_nan=False)
LADDERS = [format.SECONDS, format.BYTES, format.BINARY_BYTES, format.FLOP, format.FLOP_RATE, format.PARAMETERS]


def number(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


@given(amounts, st.integers(2, 6))
def test_significant_digits_are_within_half_of_the_last_one(value: float, digits: int) -> None:
    assert number(format.significant(value, digits)) == pytest.approx(value, rel=0.5001 * 10 ** (1 - digits))


@given(amounts)
def test_three_digits_are_shown_not_two_nor_nine(value: float) -> None:
    shown = re.sub(r"[,.]", "", format.significant(value)).lstrip("0")
    assert len(shown.rstrip("0") or "0") <= 3
    assert len(shown) >= 3


@given(st.sampled_from(LADDERS), amounts)
def test_a_quantity_says_what_it_was_given(ladder: format.Ladder, value: float) -> None:
    shown = format.quantity(value, ladder)
    scale = next(scale for scale, unit in ladder if unit == shown.unit)
    assert number(shown.value) * scale == pytest.approx(value, rel=0.00501)


@given(st.sampled_from(LADDERS), amounts)
def test_the_unit_is_the_largest_that_leaves_at_least_one(ladder: format.Ladder, value: float) -> None:
    shown = format.quantity(value, ladder)
    assert number(shown.value) >= 1 or shown.unit == ladder[0][1]
    larger = [scale for scale, unit in ladder if scale > next(s for s, u in ladder if u == shown.unit)]
    assert all(value < scale for scale in larger)


@given(st.sampled_from(LADDERS), st.lists(st.floats(1e-9, 1e20), min_size=1, max_size=40))
@settings(max_examples=15)
def test_the_browser_writes_quantities_as_python_does(ladder: format.Ladder, values: list[float]) -> None:
    said = drawing.evaluate(format.vega(ladder, "datum.x"), pd.DataFrame({"x": values}))
    assert [text.replace(format.NBSP, " ").strip() for text in said] == [
        str(format.quantity(value, ladder)).replace(format.NBSP, " ") for value in values
    ]


@given(st.floats(0, 1))
def test_a_share_is_never_rounded_to_all_or_nothing(share: float) -> None:
    shown = format.percent(share).value
    assert (shown == "100") == (share == 1)
    assert (shown == "0") == (share == 0)


@given(st.one_of(st.floats(-10, 10), st.floats(-1e-6, 1e-6), st.floats(1 - 1e-6, 1 + 1e-6)))
def test_a_ratio_is_on_the_side_of_nothing_and_of_all_where_it_is(ratio: float) -> None:
    shown = format.percent(ratio).value
    side, text = ("", shown) if shown[0] not in "<>" else (shown[0], shown[2:])
    assert number(text) == pytest.approx(100 * ratio, abs=0.0501)
    if not side:
        assert (number(text) > 100, number(text) < 0, number(text) in {0, 100}) == (
            ratio > 1,
            ratio < 0,
            ratio in {0, 1},
        )
    else:
        assert (ratio > 1, ratio < 0) == (text == "100.0001", text == "−0.0001")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (format.seconds(3.558e-4), "356 µs"),
        (format.seconds(1.2052e-6, 2), "1.2 µs"),
        (format.seconds(9.9996e-4), "1.00 ms"),
        (format.seconds(7200), "2.00 h"),
        (format.gigabytes(1191968768), "1.19 GB"),
        (format.gibibytes(80 * 2**30), "80.0 GiB"),
        (format.flop(1191968768), "1.19 GFLOP"),
        (format.flop_rate(989.4e12), "989.4 TFLOP/s"),
        (format.flop_rate(989e12), "989 TFLOP/s"),
        (format.byte_rate(2e12), "2 TB/s"),
        (format.parameters(15728640), "15.73 M"),
        (format.tokens(295.34), "295 tokens"),
        (format.tokens(1), "1 token"),
        (format.percent(0.99661), "99.7 %"),
        (format.percent(1.5), "150.0 %"),
        (format.percent(12.345), "1,234.5 %"),
        (format.percent(1.00004), "100.004 %"),
        (format.percent(-0.25), "−25.0 %"),
    ],
)
def test_what_the_pages_write(text: format.Quantity, expected: str) -> None:
    assert str(text) == expected.replace(" ", format.NBSP)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 0.0])
def test_what_is_no_ordinary_number_is_still_written(value: float) -> None:
    written = format.seconds(value)
    assert written.value in {"–", "∞", "−∞", "0"}
    assert (written.unit, written.base) == ("" if math.isnan(value) else "s", "s")
