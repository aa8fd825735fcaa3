"""Whatever happens to a worker, its caller gets a sentence, soon, and nothing is left running."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import costmodel as cm
import live
from live import client
from live.client import Limits
from live.lock import holding, lock_path, reserved
from tests.live.processes import alive, wait_for, workers
from tests.live.samples import small_model, tiny_plan
from tests.reference import ROOT

MODEL, PLAN = small_model(layers=2), tiny_plan()
SOON = 30.0  # seconds, on a crowded machine


@pytest.fixture(autouse=True)
def _nothing_is_left_running():
    yield
    wait_for(lambda: not workers(os.getpid()))


def pretend(program):
    """The command of a worker that runs this program instead."""
    return [sys.executable, "-c", program, "worker"]


def fails(command, match, limits=None, **options):
    begun = time.monotonic()
    with pytest.raises(live.LiveError, match=match) as caught:
        live.measure(MODEL, "cpu", PLAN, command=command, limits=limits, **options)
    assert time.monotonic() - begun < SOON
    assert "\n" not in str(caught.value)
    return str(caught.value)


# ---- a real worker, hurt


def hurt(how, match, limits=None):
    """Start a measurement, do something to its worker once it measures, and see what the caller is told."""
    points = threading.Event()
    caught = []

    def measure():
        try:
            live.measure(MODEL, "cpu", tiny_plan(seconds=60), limits=limits, progress=lambda _: points.set())
        except live.LiveError as error:
            caught.append(error)

    thread = threading.Thread(target=measure)
    thread.start()
    assert points.wait(60)
    (pid,) = workers(os.getpid())
    begun = time.monotonic()
    os.kill(pid, how)
    thread.join(60)
    assert time.monotonic() - begun < SOON
    assert not alive(pid)
    assert match in str(caught[0])


def test_killed():
    hurt(signal.SIGKILL, "was killed, most likely by the system because memory ran out")


def test_crashed_in_native_code():
    hurt(signal.SIGSEGV, "crashed inside PyTorch or a driver")


def test_hanging():
    hurt(signal.SIGSTOP, "has been silent for", Limits(silence=2.0))


# ---- workers that never were


def test_junk():
    fails(pretend("print('Segmentation fault (core dumped)', flush=True); import time; time.sleep(60)"), "no part of a")


def test_junk_without_an_end():
    program = "import sys\nwhile True: sys.stdout.write('x' * 65536)"
    fails(pretend(program), "no part of a measurement")


@pytest.mark.parametrize("line", ["[1, 2]", "null", '{"no": "event"}', '{"event": 3}', "\\x00\\xff"])
def test_json_that_is_no_event(line):
    fails(pretend(f"print({line!r}, flush=True); import time; time.sleep(60)"), "no part of a measurement")


@pytest.mark.parametrize(
    "event",
    [
        {"event": "point"},
        {"event": "point", "point": {"seconds": -1}},
        {"event": "device", "device": 3},
        {"event": "progress", "done": "many"},
    ],
    ids=lambda event: str(event)[:40],
)
def test_an_event_of_the_wrong_shape(event):
    fails(pretend(f"print({json.dumps(event)!r}, flush=True); import time; time.sleep(60)"), "impossible")


def test_ending_without_a_word():
    fails(pretend("raise SystemExit(7)"), r"ended early \(status 7\)")


def test_ending_with_last_words():
    fails(pretend("raise ImportError('libcuda.so.1: cannot open')"), "libcuda.so.1: cannot open")


def test_finishing_without_having_measured():
    fails(pretend("""print('{"event": "finished", "seconds": 1}')"""), "without having measured anything")


def test_never_starting_to_speak():
    fails(pretend("import time; time.sleep(60)"), "has been silent", Limits(start=1.0))


def test_never_coming_to_an_end():
    program = 'import time\nwhile True: print(\'{"event": "beat"}\', flush=True); time.sleep(0.05)'
    fails(pretend(program), "took longer than 1 s", Limits(total=1.0))


def test_a_program_that_cannot_be_started():
    with pytest.raises(live.LiveError, match="could not be started"):
        live.measure(MODEL, "cpu", PLAN, command=["/no/such/program"])


def test_children_of_a_worker_end_with_it():
    child = "import subprocess, sys; p = subprocess.Popen(['sleep', '300']); print('junk', p.pid, flush=True); p.wait()"
    text = fails(pretend(child), "no part")
    pid = int("".join(filter(str.isdigit, text.partition("junk")[2])))
    wait_for(lambda: not alive(pid))


# ---- memory


LIMITED = """
import resource, runpy, sys
import live.lab, {modules}
live.lab.cache_of = lambda device: 2.0**25
now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + {more}, now + {more}))
sys.argv = ["live", "worker"]
runpy.run_module("live", run_name="__main__", alter_sys=True)
"""
"""A real worker that may have so many bytes more than it takes to load the modules.

It thinks that the processor's cache is small: a large one asks for more data than that, to be taken in turn."""

needs_proc = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits its memory as only Linux can")


@needs_proc
def test_out_of_memory_while_loading_pytorch():
    fails(pretend(LIMITED.format(modules="live.worker", more=64 * 2**20)), "ran out of memory")


@needs_proc
def test_out_of_memory_while_measuring():
    # Not enough for two arrays of 256 MB: what does not fit is left out, and said to be.
    limited = LIMITED.format(modules="torch, live.worker, live.backends, live.runner", more=450 * 2**20)
    profile = live.measure(MODEL, "cpu", PLAN, threads=1, command=pretend(limited))
    assert any("memory ran out" in note for note in profile.notes)
    assert not profile.of("copy")
    assert profile.of("matmul")


# ---- whose end ends it


PARENT = """
import sys
sys.path.insert(0, {root!r})
from tests.live.samples import small_model, tiny_plan
import live
live.measure(small_model(), "cpu", tiny_plan(seconds=120), progress=lambda p: print(p.done, flush=True))
"""


def test_a_killed_parent_leaves_no_worker():
    parent = subprocess.Popen([sys.executable, "-c", PARENT.format(root=str(ROOT))], stdout=subprocess.PIPE, cwd=ROOT)
    assert parent.stdout is not None
    parent.stdout.readline()
    (worker,) = workers(parent.pid)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    wait_for(lambda: not alive(worker))


def test_a_worker_that_nobody_listens_to_ends_by_itself():
    worker = subprocess.Popen([*client.COMMAND], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=ROOT)
    assert worker.stdin is not None
    request = {"task": "measure", "device": "cpu", "limit": 60, "subject": {}, "plan": {}, "dtype": None}
    worker.stdin.write(json.dumps(request)[:20].encode())
    worker.stdin.close()
    assert worker.wait(60) != 0


def test_stopping():
    stop = threading.Event()
    with pytest.raises(live.Cancelled, match="was stopped"):
        live.measure(MODEL, "cpu", tiny_plan(seconds=60), progress=lambda _: stop.set(), cancel=stop.is_set)


def test_an_error_of_the_caller_s_own_ends_it_too():
    def angry(progress):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        live.measure(MODEL, "cpu", PLAN, progress=angry)


# ---- one at a time


def test_one_measurement_at_a_time_on_a_device():
    with holding("cpu"), pytest.raises(live.DeviceBusy, match=rf"running on cpu \(process {os.getpid()}\)"):
        live.measure(MODEL, "cpu", PLAN)


def test_a_device_is_kept_for_one_thread_before_a_worker_is_started_for_it():
    with reserved("test-lock"), pytest.raises(live.DeviceBusy, match="Another session here"), reserved("test-lock"):
        pass
    with holding("test-lock"), pytest.raises(live.DeviceBusy, match="running on test-lock"), reserved("test-lock"):
        pass
    with reserved("test-lock"), holding("test-lock"):
        pass
    lock_path("test-lock").unlink()


HOLDER = """
import time
from live.lock import holding
with holding("test-lock"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_dead_owner_does_not_hold_a_device_for_ever():
    owner = subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, cwd=ROOT)
    assert owner.stdout is not None
    owner.stdout.readline()
    with pytest.raises(live.DeviceBusy), holding("test-lock"):
        pass
    owner.kill()
    owner.wait()
    owner.stdout.close()
    with holding("test-lock"):
        assert lock_path("test-lock").read_text(encoding="ascii") == f"{os.getpid()}\n"
    lock_path("test-lock").unlink()


def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path):
    path = lock_path("test-link")
    victim = tmp_path / "victim"
    victim.write_text("precious", encoding="ascii")
    path.symlink_to(victim)
    try:
        with pytest.raises(OSError, match="."), holding("test-link"):
            pass
        assert victim.read_text(encoding="ascii") == "precious"
    finally:
        path.unlink()


# ---- what the caller asked for


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"device": "cuda:7"}, "device"),
        ({"dtype": "fp8"}, "dtype"),
        ({"plan": "thorough"}, "plan"),
        ({"threads": 0}, "threads"),
        ({"hardware": "epyc-9654"}, "hardware"),
    ],
)
def test_bad_input_is_a_value_error(options, match):
    with pytest.raises(cm.ConfigError, match=match):
        live.measure(MODEL, **{"plan": PLAN, **options})


def test_a_long_call_that_was_announced_is_waited_for():
    speak = 'import time\nprint(\'{"event": "beat", "patience": 30}\', flush=True); time.sleep(3)'
    fails(pretend(speak), r"ended early \(status 0\)", Limits(silence=1.0))
    endless = 'import time\nprint(\'{"event": "beat", "patience": "x"}\', flush=True); time.sleep(60)'
    fails(pretend(endless), "has been silent", Limits(silence=1.0))
