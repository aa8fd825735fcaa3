"""The Measure page and live as a source: made-up profiles speak and are refused; a real worker looks for devices."""

import json
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import costmodel as cm
import live
from live import store
from live.compare import measured_operations
from pages.measure import charts, frames, words
from pages.measure.results import Results
from pages.parts import live_rates
from pages.parts.scenario import Scenario
from pages.roofline import table
from tests.live.samples import h100, made_up, processor
from tests.pages import opened
from tests.pages.app import figures, link, text
from tests.pages.drawing import collisions, svg
from tests.pages.opened import alt, go, notices, open_page, plain, press, ran, value

MODEL = cm.model("qwen3-0.6b")
NOT_YET = "this machine, not measured yet"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of profiles."""
    monkeypatch.setenv(store.VARIABLE, str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def profile() -> live.Profile:
    """A processor, as if Qwen3-0.6B had been measured on it."""
    return made_up(processor(), MODEL, noise=0.02)


upload = partial(opened.upload, key="profile_upload", name="profile.json")


def captions(at: AppTest) -> list[str]:
    return list(at.radio(key="rates").options)


# ---- live as a source ------------------------------------------------------------------------------------------------


def test_without_a_profile_live_is_named_but_cannot_be_chosen() -> None:
    at = open_page("measure")
    assert "Nothing has been measured" in text(at)
    assert NOT_YET in text(at)
    assert captions(at) == ["○ datasheet", "◐ calibrated"]


@pytest.mark.parametrize("page", ["memory", "model"])
def test_where_sizes_are_counted_a_measured_device_is_neither_a_datasheet_nor_a_gpu(
    profile: live.Profile, page: str
) -> None:
    store.keep(profile)
    shown = text(open_page(page, rates="live"))
    assert "● live" in shown
    assert f"{MODEL.name} · {profile.hardware.name} · bf16" in shown
    assert "bf16 · 1 GPU" not in shown
    assert "○ datasheet" not in shown
    assert "bf16 · 1 GPU" in text(open_page(page, rates="calibrated"))


def test_the_operations_of_a_step_say_how_far_measured_is_from_modelled(profile: live.Profile) -> None:
    store.keep(profile)
    at = open_page("roofline", rates="live")
    wanted = measured_operations(profile, MODEL, [1])
    assert "measured / modelled" in text(at)
    for row in wanted.itertuples():
        assert plain(words.format.times(row.ratio)) in text(at), row.name
    scenario = Scenario(MODEL, profile.hardware, cm.Precision(), rates=profile.rates, source="live")
    found = table.ratios(scenario, cm.Step.decode(1, 2048), profile)
    assert found == dict(zip(wanted["name"], wanted["ratio"], strict=True))
    assert not table.ratios(scenario, cm.Step.decode(7, 2048), profile)  # nobody measured seven
    assert not table.ratios(replace(scenario, precision=cm.Precision(weights="int4")), cm.Step.decode(1, 8), profile)
    assert not table.ratios(scenario, cm.Step.decode(1, 8), None)
    assert "measured / modelled" not in text(open_page("roofline", rates="calibrated"))


def test_a_link_that_asks_for_live_rates_says_that_there_are_none() -> None:
    at = open_page("roofline", rates="live")
    assert notices(at) == [f"There are no live rates ({NOT_YET}), so the datasheet answers."]
    assert text(at).count("○ datasheet") == 1


def test_a_kept_profile_answers_on_every_page_and_another_source_goes_back(profile: live.Profile) -> None:
    store.keep(profile)
    at = open_page("roofline", rates="live")
    assert "measured on Some CPU, 4 threads" in text(at)
    step = cm.price(MODEL, profile.hardware, cm.Step.decode(1, 2048), rates=profile.rates)
    assert figures(at)["decode, estimated"] == plain(words.format.seconds(step.seconds))
    for page in ("shapes", "batching", "scheduler", "memory", "model", "accuracy", "measure"):
        go(at, page)
        assert "Some CPU, 4 threads" in text(at), page
        assert not notices(at), page
    at.radio(key="rates").set_value("datasheet")
    ran(at)
    assert "H100 SXM" in text(at)
    assert "rates" not in link(at)


def test_what_if_applies_to_measured_rates(profile: live.Profile) -> None:
    store.keep(profile)
    at = open_page("roofline", rates="live", bandwidth_x=2.0)
    fast = profile.hardware.replace(bandwidth=2 * profile.hardware.bandwidth)
    step = cm.price(MODEL, fast, cm.Step.decode(1, 2048), rates=profile.rates)
    assert figures(at)["decode, estimated"] == plain(words.format.seconds(step.seconds))


def test_experts_that_were_not_measured_are_priced_as_published(profile: live.Profile) -> None:
    store.keep(profile)
    at = open_page("roofline", rates="live", model="qwen3-30b-a3b")
    assert not notices(at)
    assert "● live" in text(at)


def test_several_processors_have_no_link_so_one_answers(profile: live.Profile) -> None:
    store.keep(profile)
    at = open_page("roofline", rates="live", tensor_parallel=2)
    (sentence,) = notices(at)
    assert "The link between several Some CPU, 4 threads is not published" in sentence
    assert "measured on Some CPU, 4 threads" in text(at)


def test_a_device_of_the_catalogue_keeps_its_datasheet_as_floor() -> None:
    store.keep(made_up(h100(), MODEL))
    at = open_page("roofline", rates="live")
    assert figures(at)["decode step, B = 1"] == "356 µs"
    assert "H100 SXM" in text(at)


@dataclass(frozen=True)
class Measured:
    """What a step is named by."""

    phase: str
    batch: int = 1
    new: int = 1
    cached: int = 0


@pytest.mark.parametrize(
    ("row", "name"),
    [
        (Measured("decode", 1, cached=1), "decode, 1 sequence over 1 token"),
        (Measured("decode", 1024, cached=1), "decode, 1,024 sequences over 1 token each"),
        (Measured("decode", 8, cached=1024), "decode, 8 sequences over 1,024 tokens each"),
        (Measured("prefill"), "prefill of 1 token"),
        (Measured("prefill", 2, 512, 64), "prefill of 2 × 512 tokens over 64 cached"),
    ],
)
def test_one_is_not_several_in_the_name_of_a_step(row: Measured, name: str) -> None:
    assert words.step_name(row) == name


# ---- the page --------------------------------------------------------------------------------------------------------


def test_an_uploaded_profile_is_shown_and_answers(profile: live.Profile) -> None:
    at = upload(open_page("measure"), live_rates.as_file(profile))
    assert value(at, "rates") == "live"
    reads, multiplies = words.best(profile)
    said = text(at)
    assert plain(words.format.byte_rate(reads, 3)) in said
    assert plain(words.format.flop_rate(multiplies, 3)) in said
    assert "no datasheet: floors are made of the best bandwidth and multiply that were measured" in said
    assert "Measured on a CPU" in said
    assert "Time of whole steps on Some CPU, 4 threads" in alt(at)


@pytest.mark.parametrize("change", ["junk", "negative", "impossible", "other"])
def test_a_profile_that_cannot_be_is_refused_and_changes_nothing(profile: live.Profile, change: str) -> None:
    data = profile.to_json()
    if change == "negative":
        data["points"][0]["seconds"] = -1.0
    elif change == "impossible":
        data["points"][0] |= {"seconds": 1e-12, "low": 1e-12, "high": 1e-12}
    elif change == "other":
        data["version"] = 99
    body = b"\x00not json" if change == "junk" else json.dumps(data).encode()
    at = upload(open_page("measure"), body)
    assert [sentence for sentence in notices(at) if sentence.startswith("Not taken over. ")]
    assert value(at, "rates") == "datasheet"
    assert captions(at) == ["○ datasheet", "◐ calibrated"]


@pytest.mark.parametrize("kept", [{"read"}, {"launch"}, {"matmul"}, {"elementwise"}, {"read", "peak"}, {"block"}])
def test_a_profile_with_few_points_is_shown_or_refused(profile: live.Profile, kept: set[str]) -> None:
    data = profile.to_json()
    data["points"] = [point for point in data["points"] if point["probe"] in kept]
    data["fits"] = [fit for fit in data["fits"] if fit["operation"] in kept]
    at = upload(open_page("measure"), json.dumps(data).encode())
    refused = [sentence for sentence in notices(at) if sentence.startswith("Not taken over. ")]
    assert refused or "Some CPU, 4 threads reads memory at" in text(at)


def test_one_click_lets_a_kept_profile_answer(profile: live.Profile) -> None:
    store.keep(profile)
    at = press(open_page("measure"), "Let this profile answer")
    assert value(at, "rates") == "live"
    assert link(at)["rates"] == "live"


def test_another_models_profile_says_that_its_steps_are_not_there(profile: live.Profile) -> None:
    store.keep(profile)
    at = open_page("measure", model="llama-3.1-8b")
    assert "No whole step of Llama-3.1-8B is in this profile" in text(at)


def test_the_devices_of_this_machine_are_offered() -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: no device can be looked for")
    live_rates.search.clear()
    at = open_page("measure")
    live_rates.search().join(120)
    ran(at)
    assert {"quick, about 15 s", "full, about 150 s"} <= {*at.button_group(key="measure_plan").options}
    assert [button.label for button in at.button if button.key == "measure_start"] == ["Measure"]
    live_rates.search.clear()


def test_without_pytorch_the_page_says_so_and_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "absent" / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('no torch here')\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    live_rates.search.clear()
    at = open_page("measure")
    live_rates.search().join(60)
    ran(at)
    live_rates.search.clear()
    assert any("PyTorch could not be loaded" in sentence for sentence in notices(at))
    assert "pip install torch" in text(at)


# ---- words and pictures ----------------------------------------------------------------------------------------------


def test_age_of_a_profile_without_a_time_zone_of_its_own() -> None:
    now = datetime(2026, 11, 3, 12, 30, tzinfo=UTC)
    assert live_rates.age(datetime(2026, 11, 3, 12, 28, tzinfo=UTC), now) == "2 minutes ago"


@pytest.mark.parametrize("width", [320, 900])
@pytest.mark.parametrize("device", [processor(), h100()], ids=["cpu", "gpu"])
def test_pictures_are_drawn_with_every_point_and_no_labels_meet(device: live.Device, width: int) -> None:
    results = Results(made_up(device, MODEL, noise=0.05), MODEL)
    hw = results.profile.hardware
    pictures = {
        "steps": (charts.time_spec(), frames.time_data(results.profile, MODEL, results.steps)),
        "roof": (charts.roof_spec(), frames.roof_data(results.residuals, hw.bandwidth, hw.peak["bf16"])),
        "context": (charts.context_spec(), frames.context_data(results.decode_attention, hw.bandwidth)),
    }
    for name, (spec, data) in pictures.items():
        drawn = svg(spec, data, width=width)
        assert not collisions(drawn), name
        assert drawn.count("measured ") >= len(data["points"]), name


def test_the_table_of_steps_holds_what_live_says(profile: live.Profile) -> None:
    results = Results(profile, MODEL)
    table = words.steps(results.steps)
    assert len(table.rows) == len(results.steps) > 0
    cell = {column.name: column.cell for column in table.columns}
    for row in table.rows:
        assert plain(cell["measured / modelled"](row)) == plain(words.format.times(row.measured / row.predicted))


# ---- a GPU at the start ----------------------------------------------------------------------------------------------


@dataclass
class Found:
    """A search that has ended; no machine of ours has the GPU that it found."""

    devices: tuple[live.Device, ...]
    alive: bool = False
    error: str = ""


@pytest.fixture
def gpu_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that shows itself, and an H100 behind it."""
    monkeypatch.delenv(live_rates.VARIABLE, raising=False)
    monkeypatch.setattr(live_rates, "_may_have_gpu", lambda: True)
    monkeypatch.setattr(live_rates, "search", lambda: Found((h100(), processor())))


@pytest.mark.usefixtures("gpu_found")
def test_the_kept_profile_of_a_gpu_that_is_here_speaks_unasked() -> None:
    store.keep(made_up(h100(), MODEL))
    at = open_page("roofline")
    assert "● live" in text(at)
    at.radio(key="rates").set_value("datasheet")
    ran(at)
    assert "○ datasheet" in text(at)
    assert "a floor, nothing measured" in text(at)


@pytest.mark.usefixtures("gpu_found")
def test_a_gpu_without_a_profile_is_measured_unasked_and_a_failure_is_a_sentence() -> None:
    at = open_page("measure")
    for _ in range(120):
        if notices(at):
            break
        time.sleep(0.5)
        ran(at)
    (sentence,) = notices(at)
    assert sentence.startswith("Nothing was measured. ")


@pytest.mark.usefixtures("gpu_found")
def test_the_environment_turns_that_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(live_rates.VARIABLE, "off")
    store.keep(made_up(h100(), MODEL))
    at = open_page("roofline")
    assert "a floor, nothing measured" in text(at)


# ---- what is on its way ----------------------------------------------------------------------------------------------


def place_of(node: Any, key: str) -> tuple[int, ...] | None:
    """Where the widget with a key stands in the page: the browser draws it anew where that changes."""
    for index, child in node.children.items():
        if getattr(child, "key", None) == key:
            return (index,)
        if hasattr(child, "children") and (below := place_of(child, key)) is not None:
            return (index, *below)
    return None


def test_an_upload_keeps_its_place_whatever_comes_before_it(
    profile: live.Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = (Found((), alive=True), Found((processor(),)), Found((), error="Nothing."))
    places = set()
    for found in searches:
        monkeypatch.setattr(live_rates, "search", lambda found=found: found)
        places.add(place_of(open_page("measure").main, "profile_upload"))
    store.keep(profile)
    places.add(place_of(open_page("measure", model="llama-3.1-8b", batch="x").main, "profile_upload"))
    assert len(places) == 1
    assert None not in places
