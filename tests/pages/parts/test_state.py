"""Every page's state is its URL."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import costmodel as cm
from pages.parts import codec, state
from tests.pages.app import notices, open_app

NUMBERS = [c for c in state.CONTROLS.values() if isinstance(c, state.Number)]
CHOICES = [c for c in state.CONTROLS.values() if isinstance(c, state.Choice)]


@pytest.mark.parametrize("control", NUMBERS, ids=lambda c: c.key)
@given(data=st.data())
def test_a_number_comes_back_from_the_url(control: state.Number, data: st.DataObject) -> None:
    if control.whole:
        value: float = data.draw(st.integers(int(control.low), int(control.high)))
    else:
        steps = round((control.high - control.low) / control.step)
        value = round(control.low + data.draw(st.integers(0, steps)) * control.step, 6)
    assert control.parse(control.write(value)) == pytest.approx(value)


@pytest.mark.parametrize("control", CHOICES, ids=lambda c: c.key)
def test_every_option_comes_back_from_the_url(control: state.Choice) -> None:
    assert control.default in control.options()
    assert [control.parse(control.write(option)) for option in control.options()] == list(control.options())


@pytest.mark.parametrize("control", NUMBERS, ids=lambda c: c.key)
@pytest.mark.parametrize("text", ["", "x", "nan", "inf", "-1e9", "1e99", "1;2", "<b>1</b>", "0x10", "1" * 40])
def test_what_is_no_such_number_is_refused_in_a_sentence(control: state.Number, text: str) -> None:
    with pytest.raises(cm.ConfigError, match=rf"{control.key}: found .*expected a (whole )?number from"):
        control.parse(text)


@given(st.dictionaries(st.sampled_from([*state.CONTROLS, "utm_source"]), st.text(max_size=50), max_size=8))
def test_any_query_is_read_without_a_fault(query: dict[str, str]) -> None:
    restored = state.read(query)
    assert set(restored.values) | set(restored.notices) == set(query) & set(state.CONTROLS)
    assert not set(restored.values) & set(restored.notices)


def test_defaults_are_valid_and_sliders_stop_at_them() -> None:
    for control in NUMBERS:
        assert control.low <= control.default <= control.high
        assert not control.grid or control.default in control.grid


@given(
    st.text(min_size=1, max_size=80).filter(lambda s: s.strip() == s and s.isprintable()),
    st.floats(1e6, 1e16),
    st.none() | st.floats(1e6, 1e15),
    st.dictionaries(st.sampled_from(codec.PEAK_UNITS), st.floats(1e9, 1e18), min_size=1),
)
def test_a_custom_accelerator_travels_in_a_link(
    name: str, bandwidth: float, memory: float | None, peak: dict[str, float]
) -> None:
    hw = codec.custom_hardware(name, bandwidth=bandwidth, memory=memory, peak=peak)
    back = codec.unpack_hardware(codec.pack_hardware(hw))
    assert (back.name, back.bandwidth, back.memory, dict(back.peak)) == (name, bandwidth, memory, peak)


HUGE = {
    "bandwidth": ["X", 10**400, None, {"bf16": 1e15}],
    "memory": ["X", 1e12, 10**400, {"bf16": 1e15}],
    "peak['bf16']": ["X", 1e12, None, {"bf16": 10**400}],
}


@pytest.mark.parametrize("figure", HUGE)
def test_a_link_with_a_number_larger_than_any_float_gets_a_notice(figure: str) -> None:
    at = open_app("roofline", hardware="custom", accelerator=codec.pack(HUGE[figure]))
    assert not at.exception
    (notice,) = notices(at)
    assert notice.startswith(f"In the link, {figure}: found 1000")


@given(st.text(max_size=200))
def test_any_packed_text_is_unpacked_or_refused(text: str) -> None:
    with pytest.raises(cm.ConfigError):
        codec.unpack_hardware(text)


def test_a_packed_bomb_is_refused_before_it_goes_off() -> None:
    with pytest.raises(cm.ConfigError):
        codec.unpack(codec.pack("0" * 30_000_000))
    with pytest.raises(cm.ConfigError):
        codec.unpack("A" * (codec.LONGEST_TEXT + 1))


@pytest.mark.parametrize(
    "figures",
    [
        {"bandwidth": 0.0}, {"bandwidth": -1.0}, {"bandwidth": math.nan}, {"bandwidth": math.inf}, {"bandwidth": 1e30},
        {"bandwidth": "fast"}, {"memory": -1.0}, {"peak": {}}, {"peak": {"bf16": 0}}, {"peak": {"<b>": 1e12}},
        {"name": " "}, {"bandwidth": 10**400}, {"memory": 10**400}, {"peak": {"bf16": 10**400}},
    ],
)  # fmt: skip
def test_impossible_accelerators_are_refused(figures: dict[str, object]) -> None:
    possible: dict[str, object] = {"name": "X", "bandwidth": 1e12, "memory": None, "peak": {"bf16": 1e14}}
    with pytest.raises(cm.ConfigError, match="expected"):
        codec.custom_hardware(**{**possible, **figures})
