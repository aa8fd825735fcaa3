"""Two pools: prompts are read in one, tokens are written in the other, and the caches cross a link in between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from costmodel.errors import ConfigError
from costmodel.hardware import Hardware
from costmodel.serving.policies.base import Policy, check_whole
from costmodel.serving.request import Request
from costmodel.serving.simulation import Side, Simulation
from costmodel.serving.steps import QUEUED, TRANSFER, StepEngine
from costmodel.serving.workload import Workload


@dataclass(frozen=True, kw_only=True)
class PrefillPool:
    """The pool that reads prompts, and the link to the one that decodes.

    Attributes
    ----------
    bandwidth: bytes a second of the link, which carries one cache after the other.
    latency: seconds that each transfer takes besides.
    policy, hardware, tensor_parallel: of this pool; None: as the decoding one.
    num_blocks: KV blocks of this pool; None: what fits.
    kv_bytes_per_token: bytes that a prompt token sends across; None: the model's. Without a model it has to be given.
    """

    bandwidth: float
    latency: float = 0.0
    policy: Policy | None = None
    hardware: Hardware | None = None
    tensor_parallel: int | None = None
    num_blocks: int | None = None
    kv_bytes_per_token: float | None = None

    def __post_init__(self) -> None:
        for name, least in (("bandwidth", 1e-9), ("latency", 0.0), ("kv_bytes_per_token", 1e-9)):
            value = getattr(self, name)
            if value is None and name == "kv_bytes_per_token":
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= _LARGEST:
                raise ConfigError(name, value, "a number from 0 on" if not least else "a number above 0")
        check_whole(self, "num_blocks", "tensor_parallel", optional=True)


_LARGEST = 1e18


class Link:
    """Carries one cache at a time, in the order in which they are handed to it."""

    def __init__(self, seconds_per_token: float, latency: float) -> None:
        self._seconds_per_token, self._latency, self._free_at = seconds_per_token, latency, 0.0

    def send(self, tokens: int, now: float) -> float:
        """Hand over the cache of ``tokens`` tokens; return when it has arrived."""
        self._free_at = max(self._free_at, now) + tokens * self._seconds_per_token
        return self._free_at + self._latency


class DisaggregatedSimulation(Simulation):
    """A prefill engine, a link, and a decode engine."""

    def __init__(self, work: Workload, side: Side, *, prefill: Side, link: Link, **options: Any) -> None:
        self._prefill, self._link = prefill, link
        self._whole: dict[int, Request] = {}
        super().__init__(work, side, **options)

    def _engines(self, side: Side, *, lag: int, mapped: bool) -> list[StepEngine]:
        reader = self._prefill.engine(self.work.longest, self.record, name="prefill", lag=lag, mapped=mapped)
        writer = side.engine(self.work.longest, self.record, name="decode", lag=lag, mapped=mapped)
        reader.on_finish, writer.on_finish = self._read, self._finish
        return [reader, writer]

    def _next(self) -> StepEngine | None:
        ready = [(start, i) for i, engine in enumerate(self.engines) if (start := engine.next_start) is not None]
        return self.engines[min(ready)[1]] if ready else None

    def _enter(self, request: Request, moment: float) -> None:
        """Let a request come to the first pool, which asks it for one token only."""
        request.arrival = moment
        self._whole[request.index] = request
        ids = {"token_ids": request.token_ids, "prefix_ids": request.prefix_ids}
        prompt = Request(request.index, request.name, moment, request.prompt, 1, priority=request.priority, **ids)
        self.engines[0].arrive(prompt, moment)

    def _read(self, prompt: Request, now: float) -> float | None:
        """The first token is out: send the cache across, and keep the prompt's blocks until it has arrived."""
        request = self._whole.pop(prompt.index)
        request.scheduled, request.first_token = prompt.scheduled, prompt.first_token
        request.last_token, request.sampled = now, 1
        request.preemptions, request.found = prompt.preemptions, prompt.found
        if request.finished:
            self.engines[-1].finished += 1
            return self._finish(request, now)
        arrives = self._link.send(request.prompt, now)
        request.arrived_with = request.prompt
        self.record.phases += [(request.index, TRANSFER, now), (request.index, QUEUED, arrives)]
        self.engines[1].came_prefilled.add(request)
        self.engines[1].arrive(request, arrives)
        return arrives
