"""A plane: its expressions give the pixels at which the chart's own scales put a value."""

import pandas as pd
import pytest

from pages.parts import chart
from pages.parts.plane import Plane, padded
from tests.pages import drawing

WIDTH, HEIGHT = 400, 200
LOG = Plane(HEIGHT, "x")
LINEAR = Plane(HEIGHT, "x", x_log=False, y_log=False)


@pytest.mark.parametrize("plane", [LOG, LINEAR])
def test_labels_stand_where_the_scales_put_marks(plane):
    """A point by the scale and a label by the expression, at the same value, end at the same pixels."""
    point = {
        "data": {"name": "marks"},
        "mark": {"type": "text", "text": "scale"},
        "encoding": {"x": plane.x("x"), "y": plane.y("y")},
    }
    by_hand = {
        "data": {"name": "marks"},
        "mark": {"type": "text", "text": "hand"},
        "encoding": chart.at(plane.px("datum.x"), plane.py("datum.y")),
    }
    spec = chart.spec(point, by_hand, height=HEIGHT, params=plane.params)
    data = {
        "frame": pd.DataFrame([{"left": 1.0, "right": 1000.0, "bottom": 0.01, "top": 10.0}]),
        "marks": pd.DataFrame([{"x": 30.0, "y": 0.5}]),
    }
    scale, hand = (
        next(label for label in drawing.labels(drawing.svg(spec, data, width=WIDTH)) if label.text == text)
        for text in ("scale", "hand")
    )
    assert (scale.left + scale.right) / 2 == pytest.approx((hand.left + hand.right) / 2, abs=0.5)
    assert scale.bottom == pytest.approx(hand.bottom, abs=0.5)


def test_an_axis_leaves_the_room_that_it_was_asked_for():
    low, high = padded(1e-6, 1e-3, height=300, above=60, below=40)
    decade = 200 / 3  # px
    assert low == pytest.approx(1e-6 * 10 ** (-40 / decade))
    assert high == pytest.approx(1e-3 * 10 ** (60 / decade))


def test_an_axis_of_one_value_is_no_division_by_zero():
    low, high = padded(5.0, 5.0, height=300, above=50, below=50)
    assert low < 5.0 < high
