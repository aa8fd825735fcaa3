"""Adapters: the processor's by running it, the GPUs' where there is one, and what they share with a stand-in."""

import os
import stat
import time

import pytest
import torch

import costmodel as cm
from live import backends
from live.backends import BACKENDS, cuda
from live.backends.base import EventBackend, GraphBackend
from live.backends.cpu import Cpu, waits
from live.clock import Effort, time_calls
from live.device import Device
from live.health import Health, concerns
from live.lab import Lab, cache_of
from live.plans import PLANS
from live.probes import PROBES
from live.probes.base import Task
from live.subject import Subject
from tests.live.samples import h100, small_model

GPUS = [backend for backend in BACKENDS if not isinstance(backend, Cpu)]


def needs(backend):
    name = type(backend).__name__
    here = backend.available()
    return pytest.param(backend, id=name, marks=pytest.mark.skipif(not here, reason=f"there is no {name} device here"))


@pytest.mark.parametrize("backend", [needs(backend) for backend in BACKENDS])
def test_a_backend_does_all_that_is_asked_of_one(backend):
    device = backend.devices()[0]
    assert Device.from_json(device.to_json()) == device
    assert device.memory > 2**28
    assert backend.prepare(device, None)["allocator"]
    assert backend.free_memory(device) > 0
    assert isinstance(backend.health(device), Health)
    backend.expect(1e6)
    one = torch.ones(512, 512, device=device.id)
    sample = backend.sample([lambda: one @ one] * 3)
    assert sample.seconds > 0
    if backend.graphs:
        out = torch.zeros(1, device=device.id)
        replay = backend.capture([lambda: out.add_(1)] * 4)
        backend.synchronize()
        before = out.item()
        replay()
        backend.synchronize()
        assert out.item() == before + 4
    backend.release()


@pytest.mark.parametrize("backend", [needs(backend) for backend in GPUS])
def test_every_probe_runs_on_a_gpu(backend):
    device = backend.devices()[0]
    backend.prepare(device, None)
    lab = Lab(backend, device, device.dtypes[0], cache_of(device))
    with torch.inference_mode():
        for model in (small_model(), small_model(experts=True)):
            task = Task(Subject.of(model), PLANS["quick"], lab.dtype)
            for probe in PROBES.values():
                for case in probe.cases(task)[-1:]:
                    ready = probe.prepare(case, lab, task)
                    assert time_calls(ready.calls, backend.sample, Effort(budget=0.05)).summary.median > 0
                lab.forget()


@pytest.mark.parametrize("backend", GPUS, ids=lambda b: type(b).__name__)
def test_torch_has_what_an_adapter_calls(backend):
    # Where there is no such device these cannot be called; that the installed torch has them can be seen.
    assert callable(backend.module.Event)
    assert callable(backend.module.synchronize)
    assert callable(backend.module.empty_cache)
    if isinstance(backend, GraphBackend):
        assert callable(backend.graph_type)
        assert callable(backend.module.graph)
        assert callable(backend.module.Stream)
        assert callable(backend.module.mem_get_info)
        assert callable(backend.module.get_device_properties)
    else:
        assert callable(backend.module.recommended_max_memory)
        assert callable(backend.module.driver_allocated_memory)
        assert callable(torch.backends.mps.get_core_count)
    assert backend.available() in (True, False)


class FakeEvent:
    """An event of a device that works for `work` seconds after it was asked."""

    work = 0.002

    def __init__(self, *, enable_timing):
        assert enable_timing
        self.at = None

    def record(self):
        self.at = FakeDevice.done_at

    def synchronize(self):
        FakeDevice.wait()

    def elapsed_time(self, other):
        assert FakeDevice.idle(), "asked for the time before the work had finished"
        return (other.at - self.at) * 1e3


class FakeDevice:
    """A device to which work is handed over, and which does it later."""

    Event = FakeEvent
    done_at = 0.0

    @classmethod
    def launch(cls):
        cls.done_at = max(cls.done_at, time.perf_counter()) + FakeEvent.work

    @classmethod
    def idle(cls):
        return time.perf_counter() >= cls.done_at

    @classmethod
    def wait(cls):
        while not cls.idle():
            time.sleep(1e-4)
        cls.done_at = max(cls.done_at, 0.0)

    synchronize = wait


class Fake(EventBackend):
    module = FakeDevice
    available = devices = prepare = free_memory = None


Fake.__abstractmethods__ = frozenset()


def test_tor01_the_time_is_that_of_the_work_not_of_asking_for_it():
    FakeDevice.done_at = time.perf_counter()
    begun = time.perf_counter()
    for _ in range(5):
        FakeDevice.launch()
    asking = time.perf_counter() - begun
    sample = Fake().sample([FakeDevice.launch] * 5)
    assert sample.seconds >= 5 * FakeEvent.work * 0.99
    assert sample.seconds > 10 * asking


# ---- the processor


def test_the_processor_says_what_it_is():
    (device,) = Cpu().devices()
    assert device.id == "cpu"
    assert device.units >= 1
    assert device.cache is None or device.cache >= 2**19
    assert device.match.hardware is None
    assert backends.of(None)[1].id == backends.found()[0].id
    with pytest.raises(cm.ConfigError, match="cpu"):
        backends.of("cuda:99")


def test_tor04_what_pushes_the_data_out_runs_before_the_clock_starts():
    cpu = Cpu()
    order = []
    cpu._sweep = lambda: (order.append("sweep"), time.sleep(0.02))
    sample = cpu.sample([lambda: order.append("call")] * 3)
    cpu._threads = 2
    cpu.sample([lambda: order.append("call")])
    assert order == ["sweep", "call"] * 4
    assert sample.seconds < 0.02


def test_time_without_a_core_is_not_time_of_the_work():
    # sleeping is being off the core, as far as one thread is concerned
    sample = Cpu().sample([lambda: time.sleep(0.05)])
    assert sample.seconds < 0.05
    assert sample.disturbed
    before = waits()
    assert all(later >= before.get(thread, 0.0) for thread, later in waits().items())


def test_more_threads_than_a_container_may_use_are_never_chosen(monkeypatch):
    monkeypatch.setattr("live.backends.cpu._quota", lambda: 1.0)
    assert Cpu().devices()[0].units == 1


# ---- what nvidia-smi says


@pytest.fixture
def nvidia_smi(tmp_path, monkeypatch):
    """Put a program called nvidia-smi on the path, which says the given."""

    def say(text, status=0):
        path = tmp_path / "nvidia-smi"
        path.write_text(f"#!/bin/sh\necho '{text}'\nexit {status}\n", encoding="ascii")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    return say


def test_fields_of_nvidia_smi(nvidia_smi):
    nvidia_smi("575.51.03, 700.00")
    assert cuda.query("GPU-1", ("driver_version", "power.limit")) == {
        "driver_version": "575.51.03",
        "power.limit": "700.00",
    }


def test_a_field_that_nvidia_smi_does_not_know_is_no_field(nvidia_smi):
    nvidia_smi('Field "clocks_event_reasons.active" is not a valid field to query.', status=2)
    assert cuda.query("GPU-1", ("clocks_event_reasons.active",)) == {}


def test_without_nvidia_smi_nothing_is_known(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert cuda.query("GPU-1", ("driver_version",)) == {}


def test_reasons_for_a_clock_that_is_held_back():
    assert cuda.reasons("0x0000000000000000") == ()
    assert cuda.reasons("0x0000000000000001") == ()  # idle
    assert cuda.reasons("0x0000000000000060") == (
        "temperature limit reached (software)",
        "temperature limit reached (hardware)",
    )


# ---- what a reader is told


def test_throttling_and_a_busy_device_are_noticed():
    said = concerns(Health(busy=0.7), Health(throttled=("power limit reached",)), drift=1.4, disturbed=0.5)
    assert len(said) == 4
    assert "70 % busy" in said[0]
    assert "power limit reached" in said[1]
    assert "1.40 times as long" in said[2]
    assert "50 % of the samples" in said[3]
    assert concerns(Health(busy=0.02), Health(), drift=1.03, disturbed=0.1) == []


def test_the_cache_is_the_largest_that_anybody_knows_of():
    assert cache_of(h100(cache=50e6)) == 50e6
    mi300x = h100(kind="rocm", name="AMD Instinct MI300X", memory=205.6e9, cache=4 * 2**20)
    assert cache_of(mi300x) == 256e6  # its Infinity Cache, not what the driver calls L2
    assert cache_of(h100(name="Unheard of", cache=None)) == 128 * 2**20
