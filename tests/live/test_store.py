import pytest

import costmodel as cm
from live import store
from tests.live.samples import h100, made_up, processor, small_model

MODEL = small_model()


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "deep" / "folder"))


def test_profiles_are_kept_a_device_each_and_come_back_newest_first():
    assert store.kept() == ([], [])
    store.keep(made_up(h100(), MODEL, measured_at="2026-11-01T00:00:00+00:00"))
    store.keep(made_up(processor(), MODEL, measured_at="2026-11-03T00:00:00+00:00"))
    path = store.keep(made_up(h100(), MODEL, measured_at="2026-11-02T00:00:00+00:00"))
    assert path.name == "nvidia-h100-80gb-hbm3-132-bf16.json"
    profiles, refused = store.kept()
    assert [p.measured_at[:10] for p in profiles] == ["2026-11-03", "2026-11-02"]
    assert refused == []


def test_a_file_that_is_no_profile_is_left_out_and_named():
    store.keep(made_up(h100(), MODEL))
    (store.folder() / "broken.json").write_text("{", encoding="utf-8")
    profiles, refused = store.kept()
    assert len(profiles) == 1
    assert refused[0].startswith("broken.json was left out: ")


def test_a_folder_that_cannot_be_written(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "file" / "profiles"))
    with pytest.raises(cm.ConfigError, match=store.VARIABLE):
        store.keep(made_up(h100(), MODEL))


def test_the_folder_of_the_user(monkeypatch, tmp_path):
    monkeypatch.delenv(store.VARIABLE)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert store.folder() == tmp_path / "stepcost" / "profiles"
