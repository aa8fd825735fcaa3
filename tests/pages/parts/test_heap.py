"""The heap is looked through when it is time, by one session at a time, and what is left stays out of collections."""

import gc
import weakref

import pytest

from pages.parts.heap import Heap


class Ring:
    """Something that only a collection finds."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture(autouse=True)
def _thawed():
    yield
    gc.unfreeze()


def test_it_is_looked_through_when_it_is_time_and_not_before():
    heap, ring = Heap(), weakref.ref(Ring())
    assert heap.settle()
    assert ring() is None
    assert gc.get_freeze_count() > 1000
    later = weakref.ref(Ring())
    assert not heap.settle()
    heap.due = 0.0
    assert heap.settle()
    assert later() is None


def test_what_was_put_aside_is_looked_through_again():
    heap, ring = Heap(), Ring()
    heap.settle()
    gone = weakref.ref(ring)
    del ring
    gc.collect()
    assert gone() is not None  # it was put aside
    heap.due = 0.0
    heap.settle()
    assert gone() is None


def test_one_session_looks_and_the_others_go_on():
    heap = Heap()
    with heap._looking:
        assert not heap.settle()
    assert heap.settle()
