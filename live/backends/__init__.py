"""One small adapter a backend of torch. Only a worker process calls them: they import torch."""

from __future__ import annotations

from costmodel.errors import ConfigError
from live.backends.base import Backend
from live.backends.cpu import Cpu
from live.backends.cuda import Cuda
from live.backends.mps import Mps
from live.backends.xpu import Xpu
from live.device import Device

BACKENDS: tuple[Backend, ...] = (Cuda(), Xpu(), Mps(), Cpu())
"""Every backend, in the order in which their devices are offered."""


def found() -> list[Device]:
    """Every device that torch can use here, GPUs first."""
    return [device for backend in BACKENDS if backend.available() for device in backend.devices()]


def of(device_id: str | None) -> tuple[Backend, Device]:
    """The device of this id (None: the first there is; "cuda": the first of those), and its backend.

    Raises
    ------
    ConfigError: when there is none.
    """
    known = []
    for backend in BACKENDS:
        for device in backend.devices() if backend.available() else []:
            known.append(device.id)
            if device_id in (None, device.id, device.id.partition(":")[0]):
                return backend, device
    raise ConfigError("device", device_id, f"one of {', '.join(known)}")
