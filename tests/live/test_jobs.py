"""Measuring in the background of a session."""

import gc
import os

import live
from tests.live.processes import alive, wait_for, workers
from tests.live.samples import small_model, tiny_plan

MODEL = small_model(layers=2)


def test_a_job_from_beginning_to_end():
    job = live.Job(MODEL, device="cpu", plan=tiny_plan(), threads=1)
    assert job.alive
    assert job.state == "running"
    first = wait_for(lambda: job.progress)
    assert 0 <= first.fraction < 1
    assert first.total > 0
    assert first.what
    assert first.seconds_left > 0
    job.join(120)
    assert (job.state, job.error) == ("finished", "")
    assert job.profile is not None
    assert job.profile.points[: len(first.points)] == first.points
    job.stop()  # of one that has ended: nothing
    assert job.state == "finished"


def test_stop_leaves_nothing_running():
    job = live.Job(MODEL, device="cpu", plan=tiny_plan(seconds=120))
    wait_for(lambda: job.progress)
    assert workers(os.getpid())
    job.stop()
    assert job.state == "stopped"
    assert job.profile is None
    assert not workers(os.getpid())


def test_a_job_that_is_forgotten_ends():
    job = live.Job(MODEL, device="cpu", plan=tiny_plan(seconds=120))
    (worker,) = wait_for(lambda: workers(os.getpid()))
    del job
    gc.collect()
    wait_for(lambda: not alive(worker))


def test_what_goes_wrong_is_a_sentence():
    job = live.Job(MODEL, device="cpu", plan="thorough")
    job.join()
    assert job.state == "failed"
    assert job.error.startswith("plan: found 'thorough'")
    broken = live.Job(None)
    broken.join()
    assert broken.state == "failed"
    assert "AttributeError" in broken.error


def test_looking_for_devices():
    search = live.Search()
    assert search.devices == () or not search.alive
    search.join(60)
    assert (search.state, search.error) == ("finished", "")
    assert search.devices[-1].id == "cpu"
    stopped = live.Search()
    stopped.stop()
    assert stopped.state in ("stopped", "finished")
