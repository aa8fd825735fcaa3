import pytest

import costmodel as cm
from live.compare import measured_operations, residuals, steps
from tests.live.samples import made_up, small_model

MODEL = small_model()
PROFILE = made_up(model=MODEL)


def test_residuals_have_a_row_a_point():
    table = residuals(PROFILE)
    fitted = {operation for _, operation, _ in PROFILE.fits}
    assert len(table) == sum(p.probe in fitted for p in PROFILE.points if p.dtype == "bf16")
    assert table.ratio.between(0.9, 1.1).all()
    assert (table.predicted > 0).all()


def test_steps_multiply_a_block_by_the_number_of_blocks_and_add_the_head():
    table = steps(PROFILE, MODEL)
    assert set(table.kind) == {"blocks", "whole"}
    assert set(table.phase) == {"prefill", "decode"}
    blocks = table[table.kind == "blocks"].iloc[0]
    point = next(p for p in PROFILE.points if p.probe == "block")
    head = blocks.measured - 12 * point.seconds
    assert 0 < head < blocks.predicted
    assert (table.tokens == table.batch * table.new).all()


def test_a_model_that_was_not_measured_has_no_steps_but_the_columns():
    table = steps(PROFILE, cm.model("llama-3.1-8b"))
    assert table.empty
    assert "measured" in table


def test_operations_that_were_measured():
    table = measured_operations(PROFILE, MODEL, [1, 16, 17])
    assert set(table.name) == {"q, k, v projections", "o projection", "gate, up", "down", "LM head"}
    assert set(table.tokens) == {1, 16}
    assert table.ratio.between(0.9, 1.1).all()


def test_tor07_the_host_s_share_is_what_launching_one_by_one_adds():
    # 914 launches a token, 14.76 ms of wall for 11.69 ms of kernels
    gap = 14.76e-3 - 11.69e-3
    assert gap / 914 == pytest.approx(3.36e-6, rel=0.05)
    assert gap / 14.76e-3 == pytest.approx(0.208, rel=0.05)
    assert pytest.approx(1.26, rel=0.05) == 14.76 / 11.69
    both = made_up(model=MODEL, modes=("eager", "graph"))
    points = tuple(
        p
        if p.mode == "graph" or p.probe != "block"
        else type(p)(**{**p.to_json(), "seconds": p.seconds * 1.26, "low": p.seconds, "high": p.seconds * 1.3})
        for p in both.points
    )
    table = steps(type(both)(**{**vars_of(both), "points": points}), MODEL)
    table = table[table.kind == "blocks"]
    ratio = table[table["mode"] == "eager"].measured.to_numpy() / table[table["mode"] == "graph"].measured.to_numpy()
    assert (ratio > 1.1).all()
    assert (ratio <= 1.26).all()


def vars_of(profile):
    names = (
        "device",
        "hardware_id",
        "software",
        "measured_at",
        "plan",
        "subjects",
        "dtype",
        "fits",
        "notes",
        "seconds",
    )
    return {name: getattr(profile, name) for name in names}
