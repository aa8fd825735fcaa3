"""Work done once for everybody, looked up by what it is about."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from pages.parts.shared import Identity, kept, shared


@dataclass(frozen=True)
class Numbers:
    size: int
    asked: list[int] = field(default_factory=list, compare=False)


def double(numbers: Numbers, word: str = "") -> tuple[int, str]:
    numbers.asked.append(1)
    return 2 * numbers.size, word


def test_it_is_worked_out_once_for_the_same_object_and_the_same_words() -> None:
    numbers = Numbers(3)
    assert [kept(double, numbers), kept(double, numbers), kept(double, numbers, "a")] == [(6, ""), (6, ""), (6, "a")]
    assert len(numbers.asked) == 2


def test_objects_that_are_only_equal_are_not_the_same() -> None:
    first, second = Numbers(4), Numbers(4)
    assert kept(double, first) == kept(double, second)
    assert second.asked
    assert shared(first) is shared(second)


@given(st.lists(st.one_of(st.integers(), st.floats(allow_nan=False), st.text(), st.none(), st.booleans()), max_size=8))
def test_plain_values_are_told_apart_by_kind_and_value(values: list[object]) -> None:
    for a in values:
        for b in values:
            assert (Identity(a) == Identity(b)) == (type(a) is type(b) and a == b)
