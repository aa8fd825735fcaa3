"""Profiles: what was measured, as a file that may come from anybody."""

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import costmodel as cm
import live
from live.compare import measured_operations
from live.device import Device, describe
from live.profile import LARGEST_FILE, Profile
from tests.live.samples import h100, made_up, processor, small_model, tiny_plan

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


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    taken = tmp_path / "h100.json"
    taken.mkdir()
    with pytest.raises(OSError, match=r"directory|exists"):
        PROFILE.save(taken)
    assert list(tmp_path.iterdir()) == [taken]
    assert not list(taken.iterdir())


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


NUMBERS = st.floats() | st.integers() | st.sampled_from([10**400, -(10**400), 10**309, 10**30, 2**63, 1e308, 5e-324])
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


SMALL = made_up(plan=tiny_plan(block_decode=((1, 64),)), noise=0.05).to_json()


def places(values, above=()):
    """Paths of everything inside a profile; of each list its first entry."""
    if above:
        yield above
    inside = values.items() if isinstance(values, dict) else enumerate(values[:1]) if isinstance(values, list) else ()
    for key, value in inside:
        yield from places(value, (*above, key))


PLACES = list(places(json.loads(json.dumps(SMALL))))
DROPPED = object()


def changed(values, place, value):
    """A copy in which one place holds something else, or nothing."""
    key, *below = place
    copied = dict(values) if isinstance(values, dict) else list(values)
    if below:
        copied[key] = changed(copied[key], below, value)
    elif value is DROPPED:
        del copied[key]
    else:
        copied[key] = value
    return copied


def used(profile):
    """Everything that a page asks of a profile that was accepted."""
    model = small_model()
    cost = cm.price(model, profile.hardware, cm.Step.decode([1, 8], 64), rates=profile.rates)
    tables = [live.residuals(profile), live.steps(profile, model), measured_operations(profile, model, [1, 16])]
    subjects = [(subject.layers, subject.params, subject.block_params) for subject in profile.subjects]
    return cost.operations, tables, subjects, describe(profile.device), profile.error, profile.taken, profile.match


def answer(values):
    """The profile that is read, or the sentence with which it is refused."""
    try:
        return Profile.loads(json.dumps(values))
    except ValueError as error:
        return str(error)


def check_answer(values):
    """A profile is read and can be used, or is refused in a sentence."""
    found = answer(values)
    if isinstance(found, str):
        assert 0 < len(found) < 1000
    else:
        assert used(found)
        assert answer(found.to_json()).to_json() == found.to_json()


@given(st.sampled_from(PLACES), ANYTHING)
def test_whatever_stands_anywhere_the_answer_is_a_profile_or_a_sentence(place, value):
    check_answer(changed(SMALL, place, value))


@pytest.mark.parametrize(
    "value", [DROPPED, None, 10**400, 1.5], ids=["nothing", "null", "larger than any float", "no whole number"]
)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
def test_a_part_that_is_missing_or_of_another_kind_is_no_crash(place, value):
    check_answer(changed(SMALL, place, value))


def test_a_device_describes_itself():
    words = describe(h100(driver="575.1", power_limit_w=700.0))
    assert words["Memory"] == "79.1 GiB"
    assert words["Driver"] == "575.1"
    assert "H100 SXM" in words["Catalogue"]
    with pytest.raises(cm.ConfigError, match="kind"):
        h100(kind="abacus")
    with pytest.raises(cm.ConfigError):
        Device.from_json({"id": "cpu"})
