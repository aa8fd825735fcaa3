"""Arrival processes and lengths: their means, their spread, their seeds, and what they refuse."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import costmodel as cm
from costmodel import serving
from costmodel.serving.arrivals import PROCESSES
from costmodel.serving.lengths import Lengths

SIZES = {"prompt": 100, "output": 10}


def gaps(table: pd.DataFrame) -> np.ndarray:
    return np.diff(table["arrival_s"])


def variation(values: np.ndarray) -> float:
    return float(values.std() / values.mean())


def test_poisson_has_the_rate_and_the_spread_of_independent_arrivals() -> None:
    table = serving.poisson(rate=4.0, count=50_000, seed=1, **SIZES)
    assert gaps(table).mean() == pytest.approx(0.25, rel=0.02)
    assert variation(gaps(table)) == pytest.approx(1.0, rel=0.02)


@pytest.mark.parametrize("burstiness", [0.1, 1.0, 4.0])
def test_burstiness_is_the_shape_of_the_gaps(burstiness: float) -> None:
    table = serving.gamma(rate=4.0, burstiness=burstiness, count=100_000, seed=1, **SIZES)
    assert gaps(table).mean() == pytest.approx(0.25, rel=0.05)
    assert variation(gaps(table)) == pytest.approx(burstiness**-0.5, rel=0.05)


def test_constant_and_at_once() -> None:
    assert serving.constant(rate=4.0, count=3, **SIZES)["arrival_s"].tolist() == [0.0, 0.25, 0.5]
    assert serving.at_once(count=3, **SIZES)["arrival_s"].tolist() == [0.0, 0.0, 0.0]


def test_a_closed_loop_remembers_its_users() -> None:
    assert serving.closed_loop(users=3, count=10, **SIZES).attrs["users"] == 3


@pytest.mark.parametrize("process", PROCESSES)
def test_a_seed_gives_one_table(process: str) -> None:
    parameters = {"poisson": {"rate": 2.0}, "gamma": {"rate": 2.0, "burstiness": 0.5}, "constant": {"rate": 2.0}}
    asked = {"count": 50, "prompt": (5, 500), "output": serving.Lognormal(50, 1.0), **parameters.get(process, {})}
    tables = [serving.generate(process, seed=seed, **asked) for seed in (7, 7, 8)]
    pd.testing.assert_frame_equal(tables[0], tables[1])
    assert not tables[0].equals(tables[2])
    assert list(tables[0]) == ["id", "arrival_s", "prompt_tokens", "output_tokens"]


@given(st.integers(1, 10_000), st.integers(0, 10_000), st.integers(0, 2**31))
def test_uniform_lengths_stay_within_their_range(low: int, width: int, seed: int) -> None:
    drawn = serving.Uniform(low, low + width).draw(100, np.random.default_rng(seed))
    assert low <= drawn.min() <= drawn.max() <= low + width


def test_lognormal_has_its_median_and_its_bounds() -> None:
    drawn = serving.Lognormal(200, 0.8, low=10, high=2000).draw(100_000, np.random.default_rng(0))
    assert np.median(drawn) == pytest.approx(200, rel=0.02)
    assert (drawn.min(), drawn.max()) == (10, 2000)


def test_quantiles_are_met() -> None:
    drawn = serving.Quantiles((10, 20, 100)).draw(100_000, np.random.default_rng(0))
    assert np.percentile(drawn, [0, 50, 100]) == pytest.approx([10, 20, 100], rel=0.02)


def test_lengths_of_a_trace_keep_prompt_and_output_together() -> None:
    trace = pd.DataFrame({"arrival_s": [0.0, 1.0], "prompt_tokens": [10, 2000], "output_tokens": [1, 200]})
    table = serving.poisson(rate=1.0, count=200, like=trace, seed=3)
    pairs = set(zip(table["prompt_tokens"], table["output_tokens"], strict=True))
    assert pairs == {(10, 1), (2000, 200)}


@pytest.mark.parametrize(
    ("lengths", "mean"),
    [
        (serving.AZURE_CONV_PROMPTS, 1161.1),
        (serving.AZURE_CONV_OUTPUTS, 257.5),
        (serving.AZURE_CODE_PROMPTS, 2005.9),
        (serving.AZURE_CODE_OUTPUTS, 28.3),
    ],
)
def test_the_presets_have_the_means_of_the_trace_that_they_stand_for(lengths: Lengths, mean: float) -> None:
    assert lengths.draw(200_000, np.random.default_rng(0)).mean() == pytest.approx(mean, rel=0.06)


@pytest.mark.parametrize(
    ("process", "parameters"),
    [
        ("poisson", {"rate": 0, "count": 5, **SIZES}),
        ("poisson", {"rate": float("nan"), "count": 5, **SIZES}),
        ("poisson", {"rate": 1, "count": 0, **SIZES}),
        ("gamma", {"rate": 1, "count": 5, "burstiness": 0, **SIZES}),
        ("poisson", {"rate": 1, "count": 5, "prompt": 0, "output": 1}),
        ("poisson", {"rate": 1, "count": 5, "prompt": (5, 4), "output": 1}),
        ("poisson", {"rate": 1, "count": 5, "prompt": 5}),
        ("poisson", {"rate": 1, "count": 5, "like": pd.DataFrame({"prompt_tokens": [], "output_tokens": []})}),
        ("weibull", {"count": 5, **SIZES}),
    ],
)
def test_what_cannot_be_is_refused(process: str, parameters: dict[str, object]) -> None:
    with pytest.raises(cm.ConfigError):
        serving.generate(process, **parameters)


@pytest.mark.parametrize(
    "make",
    [
        lambda: serving.Lognormal(0, 1),
        lambda: serving.Lognormal(10, -1),
        lambda: serving.Lognormal(10, 1, low=5, high=4),
        lambda: serving.Quantiles((5, 4)),
        lambda: serving.Quantiles((5,)),
        lambda: serving.Quantiles((5, 6), (0.0, 0.5, 1.0)),
        lambda: serving.Fixed(0),
        lambda: serving.closed_loop(users=0, count=5, **SIZES),
    ],
)
def test_lengths_check_themselves(make: object) -> None:
    with pytest.raises(cm.ConfigError):
        make()
