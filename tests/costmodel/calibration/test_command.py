"""The command: what ships is what it fits, every bar is met, and a wrong folder is a sentence."""

import pandas as pd
import pytest

from costmodel.calibration import report
from costmodel.calibration.__main__ import main


@pytest.mark.timeout(900)  # fits everything: a quarter of a minute on an idle core
def test_the_shipped_figures_are_those_of_the_measurements_and_every_bar_is_met(
    reference_data, tmp_path, monkeypatch, capsys
):
    shipped = report.CATALOG
    monkeypatch.setattr("costmodel.calibration.__main__.CATALOG", tmp_path)
    assert main([str(reference_data / "measured"), "--write"]) == 0, "a bar is missed"
    printed = capsys.readouterr().out
    assert "Mean over the data-centre GPUs" in printed
    assert "Whole serving steps" in printed
    assert "False" not in printed
    keys = ["gpu", "operation", "dtype"]
    for name, also in (("calibration.csv", []), ("accuracy.csv", ["regime"])):
        fresh, committed = (pd.read_csv(folder / name).set_index(keys + also) for folder in (tmp_path, shipped))
        pd.testing.assert_frame_equal(fresh, committed, rtol=0.02, atol=2e-3)


def test_a_missed_bar_is_said_and_fails_and_nothing_is_written_unasked(reference_data, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("costmodel.calibration.__main__.CATALOG", tmp_path / "nowhere")
    for pattern in ("*_h100_sxm.csv.gz", "whole_step_*.csv.gz"):
        for path in (reference_data / "measured").glob(pattern):
            table = pd.read_csv(path)
            if path.name.startswith("gemm"):
                table["latency_us"] *= 1 + 9 * (table.n % 3 == 1)  # no rate explains a third of the shapes
            thinned = table if path.name.startswith("moe") else table.iloc[::20]
            thinned.to_csv(tmp_path / path.name, index=False)
    assert main([str(tmp_path)]) == 1
    assert "False" in capsys.readouterr().out
    assert not (tmp_path / "nowhere").exists()


def test_a_folder_without_measurements_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main([str(tmp_path)])
    assert stop.value.code == 2
    assert "gemm_<gpu>.csv.gz" in capsys.readouterr().err
