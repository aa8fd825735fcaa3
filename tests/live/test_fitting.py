import numpy as np
import pytest

import costmodel as cm
from costmodel.rates import KERNELS, Rates
from live.fitting import SERIAL, fit_key, fits_of, form_of, predicted, rates_of
from tests.live.samples import CPU_FIGURES, TRUTH, h100, made_up, processor, small_model


@pytest.mark.parametrize("device", [h100(), processor()], ids=["gpu", "processor"])
def test_a_device_that_obeys_the_form_is_predicted_almost_exactly(device):
    profile = made_up(device, cm.model("qwen3-0.6b"))
    for (_, operation, _), fit in profile.fits.items():
        points = profile.of(operation)
        measured = np.array([point.seconds for point in points])
        assert predicted(points, profile.rates) == pytest.approx(measured, rel=0.05), operation
        assert fit.median < 0.05
        assert fit.rows == len(points)
        assert fit.device == profile.hardware.id


def test_the_numbers_themselves_come_back():
    fit = made_up(model=cm.model("llama-3.1-8b")).fits["eager", "matmul", "bf16"]
    truth = TRUTH["matmul", "bf16"]
    assert fit.eb == pytest.approx(truth.eb, rel=0.02)
    assert fit.ef == pytest.approx(truth.ef, rel=0.02)


def test_noise_widens_the_band():
    quiet, noisy = made_up(processor()), made_up(processor(), noise=0.2)
    key = ("eager", "matmul", "bf16")
    assert noisy.fits[key].median > quiet.fits[key].median
    assert noisy.fits[key].low < 0.9
    assert noisy.fits[key].high > 1.1
    assert noisy.error > quiet.error


def test_tor06_tor10_launched_one_by_one_and_captured_are_fitted_apart():
    slow = made_up(modes=("eager", "graph"))
    points = tuple(
        p if p.mode == "graph" else type(p)(**{**p.to_json(), "seconds": p.seconds + 2e-5, "high": p.high + 2e-5})
        for p in slow.points
    )
    fits = fits_of(points, slow.hardware, slow.form)
    eager, graph = (rates_of(fits, mode, slow.hardware, slow.form) for mode in ("eager", "graph"))
    step = cm.Step.decode(1, 512)
    one, other = (cm.price(small_model(), slow.hardware, step, rates=rates).seconds for rates in (eager, graph))
    launches = 12 * 6 + 1  # four multiplies, attention and the elementwise ones a block, and the head
    assert one - other == pytest.approx(launches * 2e-5, rel=0.35)
    assert slow.modes == ("eager", "graph")
    assert slow.rates == slow.rates_of("graph")


def test_what_was_not_measured_falls_back_on_what_is_published_and_says_so():
    profile = made_up(model=small_model())  # no experts, no latent attention
    assert "measured here" in profile.rates.source("matmul").text
    published = profile.rates.source("mla_decode").text
    assert "measured here" not in published
    moe = cm.model("deepseek-v3")
    assert cm.price(moe, profile.hardware, cm.Step.decode(1, 512), rates=profile.rates).seconds > 0


def test_other_formats_are_served_by_what_was_measured():
    profile = made_up()
    text = profile.rates.source("matmul", "fp8").text
    assert "standing in" in text or "bf16" in text
    cost = cm.price(
        cm.model("qwen3-0.6b"), profile.hardware, cm.Step.decode(1, 512), cm.Precision(weights="int8"), profile.rates
    )
    assert cost.source == "live"


def test_a_handful_of_points_gets_fewer_numbers_and_one_or_two_none():
    profile = made_up()
    points = [p for p in profile.points if p.probe == "matmul"]
    assert fits_of(points[:2], profile.hardware, KERNELS) == {}
    three = fits_of(points[:3], profile.hardware, KERNELS)["eager", "matmul", "bf16"]
    assert len(three.numbers) <= 2


def test_forms():
    assert form_of(h100()) is KERNELS
    assert form_of(processor()) is SERIAL
    rates = Rates(CPU_FIGURES, TRUTH, SERIAL, "live")
    # a processor computes the rows that there are, not whole tiles of 128
    assert rates.matmul(129, 1024, 1024, "bf16") < 1.1 * rates.matmul(128, 1024, 1024, "bf16")


def test_elementwise_is_kept_under_one_format():
    assert fit_key("elementwise", "fp32") == "bf16"
    assert fit_key("matmul", "fp32") == "fp32"
