"""NVIDIA's GPUs, and AMD's, which torch shows under the same names."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from live.backends.base import GraphBackend
from live.device import Device
from live.health import Health

_BF16_SINCE = 8  # compute capability of the first tensor cores for bf16: Ampere
_NO_SLOWDOWN = 0
_REASONS: Mapping[int, str] = MappingProxyType(
    # NVML, nvmlClocksEventReasons
    {
        0x04: "power limit reached",
        0x08: "hardware slowdown",
        0x20: "temperature limit reached (software)",
        0x40: "temperature limit reached (hardware)",
        0x80: "power brake by the power supply",
    }
)


class Cuda(GraphBackend):
    """Devices called "cuda:N"."""

    @property
    def module(self) -> Any:
        """Torch's module of it."""
        import torch

        return torch.cuda

    @property
    def graph_type(self) -> Any:
        """The class of a captured graph."""
        return self.module.CUDAGraph

    def device(self, index: int) -> Device:
        """Describe the device of this number."""
        import torch

        props = self.module.get_device_properties(index)
        rocm = torch.version.hip is not None
        wide = ("bf16", "fp16") if rocm or props.major >= _BF16_SINCE else ("fp16",)
        said = {} if rocm else query(str(getattr(props, "uuid", "")), ("driver_version", "power.limit"))
        limit = said.get("power.limit", "")
        return Device(
            id=f"cuda:{index}",
            kind="rocm" if rocm else "cuda",
            name=props.name,
            memory=float(props.total_memory),
            cache=float(getattr(props, "L2_cache_size", 0)) or None,  # as the next, older torch does not say it
            units=int(props.multi_processor_count),
            dtypes=wide,
            driver=said.get("driver_version", ""),
            capability=props.gcnArchName if rocm else f"{props.major}.{props.minor}",
            clock_hz=getattr(props, "clock_rate", 0) * 1e3 or None,  # kHz
            power_limit_w=_number(limit),
        )

    def prepare(self, device: Device, threads: int | None) -> dict[str, str]:  # noqa: ARG002  # a GPU has its own
        """Make it current, with fp32 accumulation."""
        import torch

        self.module.set_device(device.id)
        settings = torch.backends.cuda.matmul
        settings.allow_tf32 = False
        settings.allow_fp16_reduced_precision_reduction = False  # datasheet peaks accumulate in fp32
        settings.allow_bf16_reduced_precision_reduction = False
        return {
            "allocator": f"torch {self.module.memory.get_allocator_backend()}",
            "arithmetic": "fp32 accumulation, no tf32",
            "runtime": f"ROCm {torch.version.hip}" if torch.version.hip else f"CUDA {torch.version.cuda}",
        }

    def health(self, device: Device) -> Health:
        """How busy and how fast it is now."""
        if device.kind == "rocm":
            return Health()
        uuid = str(getattr(self.module.get_device_properties(device.id), "uuid", ""))
        said = query(uuid, ("utilization.gpu", "clocks.sm"))
        # the same field under the name that newer drivers give it, and its old one
        mask = query(uuid, ("clocks_event_reasons.active",)) or query(uuid, ("clocks_throttle_reasons.active",))
        busy, clock = _number(said.get("utilization.gpu", "")), _number(said.get("clocks.sm", ""))
        return Health(
            busy=None if busy is None else busy / 100,
            clock_hz=None if clock is None else clock * 1e6,
            throttled=reasons(next(iter(mask.values()), "")),
        )


def query(uuid: str, names: tuple[str, ...]) -> dict[str, str]:
    """What ``nvidia-smi`` says of one GPU; nothing when it is not there or does not know a field or the GPU."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return {}
    gpu = uuid if uuid.startswith(("GPU-", "MIG-")) else f"GPU-{uuid}"
    command = [program, f"--query-gpu={','.join(names)}", "--format=csv,noheader,nounits", f"--id={gpu}"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return {}
    values = [value.strip() for value in answer.stdout.strip().split(",")]
    if answer.returncode or len(values) != len(names):
        return {}
    return dict(zip(names, values, strict=True))


def reasons(mask: str) -> tuple[str, ...]:
    """The words for NVML's mask of reasons why a clock is held back; idling and set clocks are none.

    >>> reasons("0x0000000000000005"), reasons("[N/A]")
    (('power limit reached',), ())
    """
    try:
        bits = int(mask, 16)
    except ValueError:
        bits = _NO_SLOWDOWN
    return tuple(words for bit, words in _REASONS.items() if bits & bit)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
