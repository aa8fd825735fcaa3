"""The fitter: finds the numbers that made the data, through noise and outliers, inside their bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from costmodel.calibration.fitting import Problem, fit

BOUNDS = {"overhead": (1e-9, 1e-3), "slope": (1e-3, 1.0)}
SIZES = np.geomspace(1e-6, 1e-2, 200)


def line(numbers):
    return numbers["overhead"] + SIZES / numbers["slope"]


def problem(measured):
    return Problem(line, measured, np.ones(len(SIZES)), BOUNDS)


@given(st.floats(1e-6, 1e-4), st.floats(0.05, 0.95))
def test_finds_what_made_the_data(overhead, slope):
    found = fit(problem(line({"overhead": overhead, "slope": slope})), [{"overhead": 1e-5, "slope": 0.5}])
    assert found["overhead"] == pytest.approx(overhead, rel=0.01)
    assert found["slope"] == pytest.approx(slope, rel=0.01)


def test_outliers_do_not_pull():
    measured = line({"overhead": 2e-5, "slope": 0.6})
    measured[::5] *= 10
    found = fit(problem(measured), [{"overhead": 1e-5, "slope": 0.5}])
    assert found["overhead"] == pytest.approx(2e-5, rel=0.05)
    assert found["slope"] == pytest.approx(0.6, rel=0.05)


def test_a_number_stops_at_its_bound():
    found = fit(problem(line({"overhead": 2e-5, "slope": 3.0})), [{"overhead": 1e-5, "slope": 0.5}])
    assert found["slope"] == 1.0


def test_rows_of_no_weight_do_not_count():
    measured = line({"overhead": 2e-5, "slope": 0.6})
    wrong = np.arange(len(SIZES)) % 2 == 0
    weighed = Problem(line, np.where(wrong, 7 * measured, measured), np.where(wrong, 0.0, 1.0), BOUNDS)
    assert fit(weighed, [{"overhead": 1e-5, "slope": 0.5}])["slope"] == pytest.approx(0.6, rel=0.01)


def test_the_best_of_several_starts_is_kept():
    target = problem(line({"overhead": 2e-5, "slope": 0.6}))
    starts = [{"overhead": 1e-9, "slope": 1e-3}, {"overhead": 1e-5, "slope": 0.5}]
    assert target.error(fit(target, starts)) <= min(target.error(fit(target, [start])) for start in starts)
