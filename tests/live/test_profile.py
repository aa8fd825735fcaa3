"""Profiles: what was measured, as a file that may come from anybody."""

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import costmodel as cm
from live.device import Device, describe
from live.profile import LARGEST_FILE, Profile
from tests.live.samples import h100, made_up, processor, small_model

PROFILE = made_up(noise=0.05)
GOOD = PROFILE.to_json()


def broken(**changes):
    return json.dumps({**GOOD, **changes})


def test_a_file_says_the_same_when_it_is_read_again(tmp_path):
    PROFILE.save(tmp_path / "h100.json")
    again = Profile.load(str(tmp_path / "h100.json"))
    assert again.to_json() == GOOD
    assert again.rates == PROFILE.rates
    assert again.hardware == cm.hardware("h100-sxm")
    assert again.taken == PROFILE.taken
    assert [path.name for path in tmp_path.iterdir()] == ["h100.json"]  # and no half-written one


def test_rates_price_every_page():
    hw, model, step = PROFILE.hardware, cm.model("llama-3.1-8b"), cm.Step.decode([1, 8, 64], 2048)
    live = cm.price(model, hw, step, rates=PROFILE.rates)
    assert live.source == "live"
    assert (live.seconds > cm.price(model, hw, step).seconds).all()
    assert (live.low <= live.seconds).all()
    assert (live.seconds <= live.high).all()
    # a what-if multiplies them too; another device does not get them
    faster = cm.price(model, hw.replace(bandwidth=2 * hw.bandwidth), step, rates=PROFILE.rates)
    assert (faster.seconds < live.seconds).all()
    with pytest.raises(cm.ConfigError):
        cm.price(model, cm.hardware("a100-sxm-80"), step, rates=PROFILE.rates)


def test_a_device_without_a_datasheet_is_described_by_the_best_that_was_measured():
    profile = made_up(processor(), cm.model("qwen3-0.6b"))
    hw = profile.hardware
    assert hw.bandwidth == max(p.bytes_rate for p in profile.points if p.probe in ("read", "copy", "matmul"))
    assert hw.peak["bf16"] == max(p.flops_rate for p in profile.points if p.dtype == "bf16")
    assert set(hw.peak) == {"bf16", "fp32"}
    assert hw.name == "Some CPU, 4 threads"
    assert cm.price(cm.model("qwen3-0.6b"), hw, cm.Step.decode(1, 128), rates=profile.rates).source == "live"


def test_a_gpu_that_is_in_no_catalogue_is_measured_on_its_own_figures():
    laptop = made_up(h100(name="NVIDIA GeForce RTX 4090 Laptop GPU", memory=16e9))
    assert laptop.row is None
    assert laptop.hardware.id == "measured-cuda-nvidia-geforce-rtx-4090-laptop-gpu"


def test_a_person_may_say_which_row_it_is_where_the_name_leaves_it_open():
    device = h100(name="NVIDIA H100 80GB HBM2e")
    pcie = cm.hardware("h100-pcie")
    assert made_up(device, truth=pcie).row is None
    assert made_up(device, truth=pcie, hardware_id="h100-pcie").hardware == pcie
    with pytest.raises(cm.ConfigError, match="hardware"):
        made_up(device, truth=pcie, hardware_id="b200")
    with pytest.raises(cm.ConfigError, match="figures are those that are measured"):
        made_up(processor(), hardware_id="epyc-9654")


# ---- together with others


def test_merging_takes_the_newer_point_and_both_models():
    old = made_up(model=cm.model("qwen3-0.6b"), measured_at="2026-11-01T00:00:00+00:00")
    new = made_up(model=small_model(), noise=0.1)
    both = old.merge(new)
    assert {s.id for s in both.subjects} == {"qwen3-0.6b", "small"}
    assert both.measured_at == new.measured_at
    keys = [p.key for p in both.points]
    assert len(keys) == len(set(keys))
    assert {p.key for p in both.points} == {p.key for p in old.points} | {p.key for p in new.points}
    newest = {p.key: p.seconds for p in new.points}
    assert all(p.seconds == newest[p.key] for p in both.points if p.key in newest)
    assert Profile.loads(json.dumps(both.to_json())).to_json() == both.to_json()
    assert old.merge(new).to_json() == new.merge(old).to_json()


def test_merging_another_device_is_refused():
    with pytest.raises(cm.ConfigError, match=r"device\.name"):
        PROFILE.merge(made_up(h100(name="NVIDIA H200", memory=150.1e9)))


# ---- untrusted


def point(**changes):
    return broken(points=[{**GOOD["points"][0], **changes}, *GOOD["points"][1:]])


REFUSED = {
    "not JSON": ("{", "python -m live measure"),
    "a list": ("[]", "an object"),
    "an unknown version": (broken(version=2), "stepcost-profile version 1"),
    "another format": (broken(format="x"), "stepcost-profile version 1"),
    "an extra key": (broken(__class__="x"), "not known"),
    "infinite": (point(seconds=1e999).replace("Infinity", "1e999"), "finite"),
    "not a number": (broken(seconds=float("nan")), "finite"),
    "a negative time": (point(seconds=-1.0, low=-1.0), "not negative"),
    "a time of nothing": (point(seconds=0.0, low=0.0), "above 0"),
    "a time outside its interval": (point(seconds=1.0), "between its low"),
    "a time as text": (point(seconds="1"), "a number"),
    "an hour and more": (point(seconds=4000.0, low=4000.0, high=4000.0), "3600"),
    "an unknown probe": (point(probe="os.system"), "one of"),
    "other sizes": (point(shape={"rows": 3}), "bytes"),
    "no points": (broken(points=[]), "at least one"),
    "no model": (broken(models=[]), "at least one"),
    "too many points": (broken(points=[GOOD["points"][0]] * 5001), "at most 5,000"),
    "no date": (broken(measured_at="yesterday"), "date"),
    "a note that is no text": (broken(notes=[{}]), "printable"),
    "a note with a control code": (broken(notes=["\x1b[2J"]), "printable"),
    "a fit above the datasheet": (broken(fits=[{**GOOD["fits"][0], "eb": 2.0}]), "at most 1"),
    "a fit of nothing measured": (broken(fits=[{**GOOD["fits"][0], "operation": "moe"}]), "without a point"),
    "a fit of a format that was not measured": (broken(fits=[{**GOOD["fits"][0], "dtype": "fp8"}]), "without a point"),
    "a fit of no operation": (broken(fits=[{**GOOD["fits"][0], "operation": "host"}]), "operation"),
    "a fit that its points do not bear out": (broken(fits=[{**GOOD["fits"][0], "overhead": 0.5}]), "bear out"),
    "a device that is not this hardware": (broken(hardware="a100-sxm-80"), "may be"),
    "a row that does not exist": (broken(hardware="h1000"), "unknown hardware"),
}


@pytest.mark.parametrize(("text", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_is_refused_with_the_reason(text, reason):
    with pytest.raises(ValueError, match=reason):
        Profile.loads(text)


def test_more_than_the_datasheet_s_bandwidth_by_a_third_is_refused():
    read = next(i for i, p in enumerate(GOOD["points"]) if p["probe"] == "read")
    seconds = GOOD["points"][read]["bytes"] / (1.4 * cm.hardware("h100-sxm").bandwidth)
    points = list(GOOD["points"])
    points[read] = {**points[read], "seconds": seconds, "low": seconds, "high": seconds}
    with pytest.raises(cm.ConfigError, match="H100 SXM delivers 3350 GB/s at most"):
        Profile.loads(broken(points=points))


def test_the_wrong_device_is_refused():
    slow = {**GOOD["device"], "name": "NVIDIA A10", "memory": 22.1 * 2**30}
    with pytest.raises(cm.ConfigError, match="A10 delivers"):
        Profile.loads(broken(device=slow))


def test_a_file_that_is_too_large_is_not_even_parsed(tmp_path):
    path = tmp_path / "large.json"
    path.write_bytes(b"[" * (LARGEST_FILE + 1))
    with pytest.raises(cm.ConfigError, match="at most"):
        Profile.load(path)
    with pytest.raises(cm.ConfigError, match="at most"):
        Profile.loads(path.read_bytes())
    with pytest.raises(cm.ConfigError, match="python -m live measure"):
        Profile.loads(b"[" * 100_000)  # deep enough to end a careless parser


def test_a_pickle_is_only_text_that_is_no_json(tmp_path):
    path = tmp_path / "evil.json"
    path.write_bytes(pickle.dumps({"format": "stepcost-profile"}))
    with pytest.raises(cm.ConfigError, match="no JSON"):
        Profile.load(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(cm.ConfigError, match="can be read"):
        Profile.load(tmp_path / "none.json")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def answer(values):
    """The sentence with which a profile is refused; None when it is read."""
    try:
        Profile.from_json(values)
    except ValueError as error:
        return str(error)
    return None


@given(st.sampled_from(sorted(GOOD)), ANYTHING)
def test_whatever_one_key_holds_the_answer_is_a_profile_or_a_sentence(key, value):
    sentence = answer({**GOOD, key: value})
    assert sentence is None or 0 < len(sentence) < 1000


@given(st.sampled_from(["device", "models", "points", "fits"]), st.data())
def test_whatever_one_inner_key_holds_too(key, data):
    inner = GOOD[key] if isinstance(GOOD[key], dict) else GOOD[key][0]
    name = data.draw(st.sampled_from(sorted(inner)))
    changed = {**inner, name: data.draw(ANYTHING)}
    sentence = answer({**GOOD, key: changed if isinstance(GOOD[key], dict) else [changed, *GOOD[key][1:]]})
    assert sentence is None or 0 < len(sentence) < 1000


def test_a_device_describes_itself():
    words = describe(h100(driver="575.1", power_limit_w=700.0))
    assert words["Memory"] == "79.1 GiB"
    assert words["Driver"] == "575.1"
    assert "H100 SXM" in words["Catalogue"]
    with pytest.raises(cm.ConfigError, match="kind"):
        h100(kind="abacus")
    with pytest.raises(cm.ConfigError):
        Device.from_json({"id": "cpu"})
