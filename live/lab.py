"""What a probe works with inside the worker: tensors of the right kind, enough of them that no cache holds them all."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from live.backends.base import Backend
from live.clock import Call
from live.device import Device

_POOL = 2**22  # random values that every tensor is filled from
_SCALE = 0.02  # standard deviation of a weight, as models are initialized
_COLD = 2.0  # working sets together, over the last-level cache: from here a hot cache changes nothing
_UNKNOWN_CACHE = 128 * 2**20  # assumed where it cannot be read
_MOST_COPIES = 512


@dataclass
class Lab:
    """A device made ready.

    Attributes
    ----------
    backend, device: where it runs. dtype: name of the format. cache: bytes of the last-level cache.
    beat: called now and then while memory is filled, to say that the work goes on.
    """

    backend: Backend
    device: Device
    dtype: str
    cache: float
    beat: Call = lambda: None
    _kept: dict[Hashable, Any] = field(default_factory=dict)

    @cached_property
    def torch(self) -> Any:
        """The library, imported only here and in the backends."""
        import torch

        return torch

    def format(self, name: str | None = None) -> Any:
        """Torch's own object for the format ``name`` (None: the one that is measured)."""
        formats = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
        return getattr(self.torch, formats[name or self.dtype])

    @cached_property
    def _pool(self) -> Any:
        generator = self.torch.Generator().manual_seed(0)
        values = self.torch.randn(_POOL, generator=generator) * _SCALE
        return values.to(self.device.id)

    def random(self, *shape: int, dtype: str | None = None) -> Any:
        """A tensor of normal values of standard deviation 0.02: data as models have it, since zeros draw less power."""
        tensor = self.torch.empty(math.prod(shape), dtype=self.format(dtype), device=self.device.id)
        for start in range(0, tensor.numel(), _POOL):
            part = tensor[start : start + _POOL]
            part.copy_(self._pool[: part.numel()])
            self.beat()
        return tensor.view(shape)

    def kept(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What ``make`` gives, made again only when the last one asked for was another: sweeps share their weights."""
        if key not in self._kept:
            self._kept.clear()
            self._kept[key] = make()
        return self._kept[key]

    def forget(self) -> None:
        """Let go of what was kept."""
        self._kept.clear()
        self.backend.release()

    def copies(self, nbytes: float, most: int = _MOST_COPIES) -> int:
        """Working sets of ``nbytes`` to take in turn so that each is cold when its turn comes, as a model's layers are.

        Filled before the clock starts, so that it is the others that push it out, and not the filling that pulls it in.
        """
        reach = _COLD * self.cache
        return min(most, 1 if nbytes >= reach else math.ceil(reach / nbytes) + 1)


def cache_of(device: Device) -> float:
    """Bytes of the last-level cache: what the device says or its catalogue row, whichever is larger (MI300X's Infinity
    Cache is not what its driver calls L2); a large guess where neither knows.
    """
    row = device.match.hardware
    known = [device.cache or 0.0, (row.last_level_cache if row else None) or 0.0]
    return max(known) or _UNKNOWN_CACHE
