"""Apple's GPUs, which share the system's memory."""

from __future__ import annotations

import platform
from typing import Any

from live.backends.base import EventBackend
from live.device import Device


class Mps(EventBackend):
    """The device called "mps"."""

    @property
    def module(self) -> Any:
        """Torch's module of it."""
        import torch

        return torch.mps

    def available(self) -> bool:
        """Whether torch finds one."""
        return bool(self.module.is_available())

    def devices(self) -> list[Device]:
        """Each of them."""
        import torch

        return [
            Device(
                id="mps",
                kind="mps",
                name=torch.backends.mps.get_name(),
                memory=float(self.module.recommended_max_memory()),
                units=int(torch.backends.mps.get_core_count()),
                dtypes=("bf16", "fp16") if torch.backends.mps.is_macos_or_newer(14, 0) else ("fp16",),
                driver=f"macOS {platform.mac_ver()[0]}",
            )
        ]

    def prepare(self, device: Device, threads: int | None) -> dict[str, str]:  # noqa: ARG002  # a GPU has its own
        """Make it current, with fp32 accumulation."""
        return {"allocator": "torch mps", "arithmetic": "as Metal's matrix kernels do it"}

    def free_memory(self, device: Device) -> float:
        """Bytes that can be allocated now."""
        return device.memory - float(self.module.driver_allocated_memory())
