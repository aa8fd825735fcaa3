"""Intel's GPUs."""

from __future__ import annotations

from typing import Any

from live.backends.base import GraphBackend
from live.device import Device


class Xpu(GraphBackend):
    """Devices called "xpu:N"."""

    @property
    def module(self) -> Any:
        """Torch's module of it."""
        import torch

        return torch.xpu

    @property
    def graph_type(self) -> Any:
        """The class of a captured graph."""
        return self.module.XPUGraph

    def device(self, index: int) -> Device:
        """Describe the device of this number."""
        props = self.module.get_device_properties(index)
        return Device(
            id=f"xpu:{index}",
            kind="xpu",
            name=props.name,
            memory=float(props.total_memory),
            cache=float(props.last_level_cache_size) or None,
            units=int(props.gpu_eu_count),
            dtypes=("bf16", "fp16") if props.has_bfloat16_conversions else ("fp16",),
            driver=str(props.driver_version),
            capability=str(props.version),
        )

    def prepare(self, device: Device, threads: int | None) -> dict[str, str]:  # noqa: ARG002  # a GPU has its own
        """Make it current, with fp32 accumulation."""
        import torch

        self.module.set_device(device.id)
        torch.set_float32_matmul_precision("highest")
        return {"allocator": "torch xpu", "arithmetic": "fp32 accumulation, no tf32"}
