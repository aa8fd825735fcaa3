"""The clock, with a sampler whose times are known: no test here depends on how fast the machine is."""

from itertools import cycle

import pytest

from live.clock import Effort, Rotation, Sample, time_calls


class Fake:
    """A sampler that reports given times a call, and remembers what it was asked to run."""

    def __init__(self, seconds, disturbed=()):
        self.seconds, self.disturbed, self.ran = cycle(seconds), cycle(disturbed or (False,)), []

    def __call__(self, calls):
        for call in calls:
            self.ran.append(call())
        return Sample(next(self.seconds) * len(calls), next(self.disturbed))


def test_the_median_of_what_was_measured():
    timing = time_calls([lambda: 0], Fake([0.01, 0.012, 0.011]), Effort(budget=0.01))
    assert timing.summary.median == pytest.approx(0.011, rel=0.1)
    assert timing.disturbed == 0


def test_it_stops_as_soon_as_the_median_is_known_well_enough():
    timing = time_calls([lambda: 0], Fake([0.01]), Effort(budget=60))
    assert timing.settled
    assert timing.summary.repeats == 6  # the fewest for a confidence of 95 %
    assert timing.summary.confidence >= 0.95


def test_it_gives_up_when_the_budget_is_spent_and_says_that_it_has_not_settled():
    timing = time_calls([lambda: 0], Fake([0.01, 0.03]), Effort(budget=0.02, half_width=0.001))
    assert not timing.settled
    assert timing.summary.repeats >= 6


def test_samples_during_which_another_program_ran_are_left_out():
    fake = Fake([0.01, 0.05], [False, True])
    timing = time_calls([lambda: 0], fake, Effort(budget=0.01, patience=100))
    assert timing.summary.median == pytest.approx(0.01)
    assert timing.disturbed == pytest.approx(0.5, abs=0.1)


def test_where_nobody_is_ever_quiet_the_fastest_third_counts_and_it_is_reported():
    times = [0.03, 0.01, 0.04, 0.05, 0.06, 0.07]
    timing = time_calls([lambda: 0], Fake(times, [True]), Effort(budget=0.005, patience=4, most=60))
    assert timing.disturbed == 1
    assert timing.summary.median <= 0.03


def test_short_calls_are_bundled_so_that_the_clock_itself_does_not_count():
    fake = Fake([1e-6])
    time_calls([lambda: 0], fake, Effort(stretch=1e-3, budget=0.05, most=10))
    samples = len(fake.ran)
    assert samples >= 1000 * 6


def test_tor03_tor04_each_call_finds_other_data_than_the_one_before():
    rotation = Rotation([lambda i=i: i for i in range(5)])
    seen = [call() for _ in range(4) for call in rotation.next(3)]
    assert seen == [0, 1, 2, 3, 4] * 2 + [0, 1]


def test_work_in_parts_is_the_sum_of_its_parts():
    fake = Fake([0.01])
    timing = time_calls([lambda: "a", lambda: "b", lambda: "c"], fake, Effort(budget=60), parts=3)
    assert timing.summary.median == pytest.approx(0.03)
    assert fake.ran[:6] == ["a", "b", "c"] * 2


def test_it_says_that_it_is_alive_between_samples():
    beats = []
    time_calls([lambda: 0], Fake([0.01]), Effort(budget=1), lambda: beats.append(1))
    assert len(beats) >= 6
