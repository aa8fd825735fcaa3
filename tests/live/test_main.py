"""The command line without a measurement: what is refused before it, and what is kept when it could not be saved."""

import json
import shutil

import live.__main__ as command
from live.profile import Profile
from tests.live.samples import made_up, tiny_plan

PROFILE = made_up(plan=tiny_plan())
MEASURE = ["measure", "--model", "qwen3-0.6b", "--device", "cpu", "--out"]


def test_a_file_that_cannot_be_written_is_refused_before_minutes_of_measuring(tmp_path, monkeypatch, capsys):
    measured = []
    monkeypatch.setattr(command, "measure", lambda *_, **__: measured.append(1) or PROFILE)
    for out in (tmp_path / "none" / "profile.json", tmp_path):
        assert command.main([*MEASURE, str(out)]) == 1
        said = capsys.readouterr()
        assert said.err.startswith(f"python -m live: --out: found '{tmp_path.parent}")
        assert said.err.endswith("expected a file in a folder that is there and can be written\n")
        assert said.err.count("\n") == 1
        assert not said.out
    assert not measured
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_saved_in_the_end_is_printed(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "usb"
    folder.mkdir()
    monkeypatch.setattr(command, "measure", lambda *_, **__: shutil.rmtree(folder) or PROFILE)
    assert command.main([*MEASURE, str(folder / "profile.json")]) == 1
    said = capsys.readouterr()
    assert Profile.from_json(json.loads(said.out)["profile"]).to_json() == PROFILE.to_json()
    assert "expected a file that can be written" in said.err


def test_what_is_saved_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "measure", lambda *_, **__: PROFILE)
    out = tmp_path / "profile.json"
    assert command.main([*MEASURE, str(out)]) == 0
    assert json.loads(capsys.readouterr().out) == {"event": "saved", "path": str(out)}
    assert Profile.load(out).to_json() == PROFILE.to_json()
