"""The study: it finds rates that made the data, and judges them on shapes and GPUs they have not seen."""

import numpy as np
import pandas as pd
import pytest

from costmodel.calibration import study
from costmodel.calibration.study import TASKS, Group, Outcome, as_sets, fit_groups, general_outcome, origin, own_outcome
from costmodel.hardware import hardware
from costmodel.rates import GENERAL, Fit, Rates

TRUTH = Fit(eb=0.8, ef=0.7, overhead=4e-6, serial=3e-10)
SOURCE = "aic:gemm/sglang/1.0"


def matmuls(gpu: str, fit: Fit = TRUTH, noise: float = 0.0) -> Group:
    """Measurements that this fit would give on this GPU."""
    sizes = (1024, 2048, 4096, 8192, 16384)
    rows = [(m, n, k) for m in (1, 16, 128, 512, 2048, 8192) for n in sizes for k in sizes]
    table = pd.DataFrame(rows, columns=["m", "n", "k"])
    rates = Rates(hardware(gpu), {("matmul", "bf16"): fit})
    wobble = np.exp(noise * np.random.default_rng(0).standard_normal(len(table)))
    seconds = rates.matmul(*(table[c].to_numpy(float) for c in ("m", "n", "k")), "bf16") * wobble
    return Group("matmul", "bf16", gpu, table.assign(seconds=seconds, weight=1.0, counts=True, source=SOURCE))


def test_an_own_fit_finds_the_rates_that_made_the_data():
    outcome = own_outcome(matmuls("h100-sxm"))
    for name, value in TRUTH.numbers.items():
        assert outcome.achieved.numbers[name] == pytest.approx(value, rel=0.02), name
    assert outcome.error.max() < 0.01
    assert set(outcome.rows.regime) == {"decode", "prefill"}


def test_cross_validation_shows_noise_as_error():
    fit = own_outcome(matmuls("h100-sxm", noise=0.1)).fit()
    assert 0.05 < fit.median < 0.09, "the median of |N(0, 0.1)| is 0.067"
    assert fit.low < 0.9
    assert fit.high > 1.1
    assert fit.rows == 150


def test_each_shape_is_predicted_by_a_fit_that_has_not_seen_it(monkeypatch):
    group, seen = matmuls("h100-sxm"), []
    original = study.fit_groups

    def spy(members, near=None):
        seen.append({tuple(pair) for pair in members[0].table[["n", "k"]].to_numpy()})
        return original(members, near)

    monkeypatch.setattr(study, "fit_groups", spy)
    own_outcome(group)
    everything, *folds = seen
    held_out = [everything - fold for fold in folds]
    assert len(folds) == study.FOLDS
    assert set().union(*held_out) == everything
    assert sum(map(len, held_out)) == len(everything)


def test_the_general_set_is_judged_on_gpus_it_was_not_fitted_to():
    odd = Fit(eb=0.4, ef=0.35, overhead=4e-6, serial=3e-10)
    groups = [matmuls("h100-sxm"), matmuls("b200"), matmuls("a100-sxm-80", odd)]
    outcome = general_outcome(groups)
    assert outcome.gpu == GENERAL
    errors = outcome.error.groupby(outcome.rows.gpu.to_numpy()).median()
    assert errors["a100-sxm-80"] > 0.3, "twice as slow as the others say"
    assert outcome.achieved.eb == pytest.approx(0.8, abs=0.05), "two of three agree"


def test_general_of_a_single_gpu_holds_out_shapes():
    outcome = general_outcome([matmuls("h100-sxm")])
    assert outcome.gpu == GENERAL
    assert outcome.error.max() < 0.01


def test_a_single_shape_is_predicted_by_its_own_fit():
    group = matmuls("h100-sxm")
    one = group.part((group.table.n == 4096).to_numpy() & (group.table.k == 4096).to_numpy())
    assert own_outcome(one).error.max() < 0.05


def test_regimes_weigh_the_same_whatever_their_rows():
    group = matmuls("h100-sxm")
    weight, regime = group.weights(), TASKS["matmul"].regimes(group.table)
    assert weight[regime == "decode"].sum() == pytest.approx(weight[regime == "prefill"].sum())


def test_rows_that_do_not_count_are_fitted_to_but_not_judged():
    group = matmuls("h100-sxm")
    group.table.loc[group.table.m == 1, "counts"] = False
    outcome = own_outcome(group)
    assert len(outcome.rows) == (group.table.m > 1).sum()
    assert outcome.fitted == len(group.table)


def test_fits_serve_as_sets():
    outcomes = [own_outcome(matmuls("h100-sxm")), general_outcome([matmuls("h100-sxm")])]
    sets = as_sets(outcomes)
    assert set(sets) == {"h100-sxm", GENERAL}
    assert sets["h100-sxm"]["matmul", "bf16"].device == "h100-sxm"


def test_the_floor_is_judged_beside_the_estimate():
    rows = own_outcome(matmuls("h100-sxm")).rows
    assert (rows.floor < rows.measured).all()


def test_origin_names_project_and_engines():
    table = pd.DataFrame({"source": ["aic:gemm/vllm/0.24.0", "aic:gemm/sglang/0.5.14", "vidur:compute"]})
    text = origin(table)
    assert text == (
        "ai-dynamo/aiconfigurator@095f58a (Apache-2.0): sglang 0.5.14, vllm 0.24.0; "
        "microsoft/vidur@7d47513 (MIT): compute"
    )


@pytest.mark.parametrize("operation", TASKS)
def test_every_task_prices_its_measurements(operation, reference_data):
    table = study.READERS[operation](reference_data / "measured")
    gpu, name = table.gpu.iloc[0], table.format.iloc[0]
    group = Group(operation, name, gpu, table[(table.gpu == gpu) & (table.format == name)].head(50))
    task = TASKS[operation]
    assert len(task.starts) + len(task.fixed) <= 4
    seconds = group.predictor()(task.starts)
    assert np.isfinite(seconds).all()
    assert fit_groups([group]).keys() == task.starts.keys()
    assert isinstance(own_outcome(group), Outcome)
