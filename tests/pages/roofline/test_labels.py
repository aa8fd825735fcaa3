"""Where labels go, as arithmetic."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pages.roofline import labels


@given(st.lists(st.floats(0, 300), max_size=12), st.floats(1, 30))
def test_spread_labels_stand_apart_and_in_order(heights: list[float], gap: float) -> None:
    places = sorted(h + s for h, s in zip(heights, labels.spread(heights, gap), strict=True))
    assert all(b - a >= gap - 1e-6 for a, b in pairwise(places))


@given(st.lists(st.floats(0, 300), min_size=1, max_size=12), st.floats(1, 30))
def test_labels_that_have_room_are_left_alone(heights: list[float], gap: float) -> None:
    roomy = [i * (gap + 1) + h * 0 for i, h in enumerate(heights)]
    assert labels.spread(roomy, gap) == [0.0] * len(roomy)


def test_points_that_stand_together_share_a_label() -> None:
    assert labels.clusters([2.0, 64.0, 65.0, 64.5], ["scores", "projections", "MLP", "projections"]) == [
        (2.0, "scores"),
        (65.0, "projections, MLP"),
    ]


def test_a_crowd_is_counted() -> None:
    assert labels.clusters([1.0] * 5, list("abcde")) == [(1.0, "a, b, c, 2 more")]
