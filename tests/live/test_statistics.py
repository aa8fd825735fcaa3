import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from live.statistics import FEWEST_FOR_95, quantile, stable, summarize

times = st.lists(st.floats(1e-6, 10.0), min_size=1, max_size=200)


@given(times)
def test_summary_is_ordered_and_its_median_is_numpy_s(values):
    found = summarize(values)
    assert found.low <= found.median <= found.high
    assert found.median == pytest.approx(float(np.median(values)))
    assert found.repeats == len(values)
    assert found.spread >= 0


@given(times, st.floats(0, 1))
def test_quantile_is_numpy_s(values, q):
    assert quantile(sorted(values), q) == pytest.approx(float(np.quantile(values, q)))


@pytest.mark.parametrize("n", [6, 9, 20, 51, 200])
def test_the_interval_encloses_the_true_median_as_often_as_it_says(n):
    generator = np.random.default_rng(n)
    hits, trials = 0, 2000
    for sample in generator.lognormal(size=(trials, n)):
        found = summarize(sample.tolist())
        hits += found.low <= 1.0 <= found.high  # the median of a standard lognormal is 1
    assert hits / trials >= found.confidence - 0.02
    assert found.confidence >= 0.95


def test_few_repeats_say_how_little_they_know():
    assert summarize([1.0]).confidence == 0
    assert summarize([1.0, 2.0]).confidence == pytest.approx(0.5)
    assert summarize([1.0] * (FEWEST_FOR_95 - 1)).confidence < 0.95
    assert summarize([1.0] * FEWEST_FOR_95).confidence >= 0.95


def test_more_repeats_narrow_the_interval():
    generator = np.random.default_rng(0)
    values = generator.lognormal(sigma=0.1, size=400).tolist()
    assert summarize(values).half_width < summarize(values[:20]).half_width


def test_stable_looks_at_the_last_few_only():
    assert not stable([1.0, 1.0])
    assert stable([9.0, 1.0, 1.01, 1.02])
    assert not stable([1.0, 1.0, 1.2])
