"""What a backend must do, and how the ones with device events and graphs do it."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from live.clock import Call, Sample
from live.device import Device
from live.health import Health


class Backend(ABC):
    """One backend of torch: which devices it has, how a stretch of work on one is timed, and how it feels."""

    graphs = False
    """Whether launches can be captured once and replayed together."""
    fused_chunks = False
    """Whether its attention takes a causal mask over more keys than queries without the mask being written out."""

    @abstractmethod
    def available(self) -> bool:
        """Whether torch was built for it and finds a device."""

    @abstractmethod
    def devices(self) -> list[Device]:
        """Its devices."""

    @abstractmethod
    def prepare(self, device: Device, threads: int | None) -> dict[str, str]:
        """Make ``device`` current, with arithmetic and allocator as asked for; return those settings in words."""

    @abstractmethod
    def free_memory(self, device: Device) -> float:
        """Bytes that can be allocated now."""

    @abstractmethod
    def sample(self, calls: Sequence[Call]) -> Sample:
        """Time ``calls``, one after the other, from before the first starts until the last has finished."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until all work has finished."""

    def health(self, device: Device) -> Health:  # noqa: ARG002  # for those that can read it
        """How busy and how fast the device is now; nothing where it cannot be read."""
        return Health()

    def expect(self, streamed: float) -> None:  # noqa: B027  # for those whose caches hold code too
        """Learn how many bytes a model reads between one use of an operation and the next: those of a block."""

    def release(self) -> None:  # noqa: B027  # for those that keep freed memory
        """Give memory that is no longer used back to the system."""

    def capture(self, calls: Sequence[Call]) -> Call:
        """Record ``calls`` as one graph, and return what replays it: for backends with ``graphs``.

        Raises
        ------
        NotImplementedError: where the device has no graphs.
        """
        raise NotImplementedError


class EventBackend(Backend):
    """A backend whose device notes the time at which it passes an event."""

    @property
    @abstractmethod
    def module(self) -> Any:
        """torch.cuda or another of its kind: with Event, synchronize and empty_cache."""

    def sample(self, calls: Sequence[Call]) -> Sample:
        """Time the calls between two events, and never at more than the wall says."""
        start, end = self.module.Event(enable_timing=True), self.module.Event(enable_timing=True)
        self.synchronize()
        begun = time.perf_counter()
        start.record()
        for call in calls:
            call()
        end.record()
        end.synchronize()
        wall = time.perf_counter() - begun
        elapsed = start.elapsed_time(end) * 1e-3
        return Sample(elapsed if 0 < elapsed <= wall else wall)

    def synchronize(self) -> None:
        """Wait until all work has finished."""
        self.module.synchronize()

    def release(self) -> None:
        """Empty torch's cache of freed memory."""
        self.module.empty_cache()


class GraphBackend(EventBackend):
    """A backend of several devices that can also replay captured launches."""

    graphs = True
    fused_chunks = True

    @property
    @abstractmethod
    def graph_type(self) -> Any:
        """The class of a captured graph."""

    @abstractmethod
    def device(self, index: int) -> Device:
        """Describe the device of this number."""

    def available(self) -> bool:
        """Whether torch finds one."""
        return bool(self.module.is_available())

    def devices(self) -> list[Device]:
        """Each of them."""
        return [self.device(index) for index in range(self.module.device_count())]

    def free_memory(self, device: Device) -> float:
        """Bytes that can be allocated now."""
        return float(self.module.mem_get_info(device.id)[0])

    def capture(self, calls: Sequence[Call]) -> Call:
        """Record the calls as one graph; each must have been made before."""
        side = self.module.Stream()
        side.wait_stream(self.module.current_stream())
        with self.module.stream(side):  # libraries allocate their workspaces outside the capture
            for call in calls:
                call()
        self.module.current_stream().wait_stream(side)
        captured = self.graph_type()
        with self.module.graph(captured):
            for call in calls:
                call()
        replay: Call = captured.replay
        return replay
