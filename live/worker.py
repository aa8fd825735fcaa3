"""The worker process: the only one that imports torch.

Its first line of standard input is the request, and the input stays open for as long as somebody wants the answer:
when it ends, for whatever reason, the worker ends too. Events leave on the standard output that it was started with,
one JSON object a line; whatever libraries print goes to standard error instead.
"""

from __future__ import annotations

import faulthandler
import json
import os
import platform
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, TextIO

from costmodel.errors import ConfigError
from live.device import WIDE, Device
from live.errors import DeviceBusy
from live.lock import holding
from live.plans import Plan
from live.runner import Emit, Runner, first_line, out_of_memory
from live.subject import Subject
from live.untrusted import printable

_GONE = 3  # exit status when nobody listens any more


def main() -> int:
    """Serve one request and return the exit status."""
    emit = _speaker()
    line = _first_line()
    threading.Thread(target=_watch_input, daemon=True).start()
    try:
        request = json.loads(line)
        # Should Python itself hang, in a driver that never returns: this timer needs no interpreter to end the process.
        faulthandler.dump_traceback_later(float(request["limit"]), exit=True)
        _TASKS[request["task"]](request, emit)
    except Exception as error:  # noqa: BLE001  # whatever it is, the caller is told in words
        traceback.print_exc()  # for whoever starts a worker by hand
        emit({"event": "error", **_report(error)})
        return 1
    return 0


def _speaker() -> Emit:
    """Claim standard output for events, and give everybody else standard error."""
    out: TextIO = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    lock = threading.Lock()

    def emit(event: dict[str, Any]) -> None:
        try:
            with lock:
                out.write(json.dumps(event, allow_nan=False) + "\n")
        except (OSError, ValueError):
            os._exit(_GONE)

    return emit


def _first_line() -> bytes:
    """The request; read without Python's buffers, which a thread that waits in them would lock."""
    line = b""
    while not line.endswith(b"\n") and (more := os.read(0, _PIECE)):
        line += more
    return line


def _watch_input() -> None:
    """End the process, whatever it is doing, when standard input ends: its parent is gone or wants no more."""
    while os.read(0, _PIECE):
        pass
    os._exit(_GONE)


_PIECE = 2**16


# ---- what can be asked for


def _devices(request: Mapping[str, Any], emit: Emit) -> None:  # noqa: ARG001  # every task is called the same way
    from live import backends

    for device in backends.found():
        emit({"event": "device", "device": device.to_json()})
    emit({"event": "finished", "seconds": 0.0})


def _measure(request: Mapping[str, Any], emit: Emit) -> None:
    import torch

    from live import backends
    from live.lab import Lab, cache_of
    from live.probes.base import Task

    emit({"event": "beat"})
    backend, device = backends.of(request["device"])
    dtype = _dtype(device, request["dtype"])
    with holding(device.id), torch.inference_mode():
        settings = backend.prepare(device, request["threads"])
        device = _as_used(device, settings)
        emit({"event": "device", "device": device.to_json()})
        emit({"event": "setting", "dtype": dtype, "software": _software(settings), "measured_at": _now()})
        task = Task(Subject.from_json(request["subject"]), Plan.from_json(request["plan"]), dtype, device.dtypes[0])
        backend.expect(task.subject.block_params * task.width)
        Runner(task, Lab(backend, device, dtype, cache_of(device)), emit).run()


_TASKS: Mapping[str, Callable[[Mapping[str, Any], Emit], None]] = MappingProxyType(
    {"devices": _devices, "measure": _measure}
)


def _dtype(device: Device, asked: str | None) -> str:
    if asked is None:
        return device.dtypes[0]
    if asked not in WIDE:
        raise ConfigError("dtype", asked, f"one of {', '.join(device.dtypes)}")
    return asked


def _as_used(device: Device, settings: Mapping[str, str]) -> Device:
    """The device with the threads that are used of it."""
    threads = settings.get("threads")
    return Device(**{**device.to_json(), "dtypes": device.dtypes, "units": int(threads)}) if threads else device


def _software(settings: Mapping[str, str]) -> dict[str, str]:
    import torch

    versions = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "system": f"{platform.system()} {platform.machine()}",
    }
    return {name: printable(str(value)) for name, value in {**versions, **settings}.items()}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


# ---- what goes wrong


def _report(error: Exception) -> dict[str, str]:
    if isinstance(error, ConfigError):
        return {"kind": "input", "key": error.key, "found": str(error.found), "expected": error.expected}
    if isinstance(error, DeviceBusy):
        return {"kind": "busy", "text": str(error)}
    return {"kind": "failed", "text": _words(error)}


def _words(error: Exception) -> str:
    if out_of_memory(error):
        return "The measurement ran out of memory: close other programs, or choose a smaller model or plan."
    if isinstance(error, ImportError):
        return f"PyTorch could not be loaded ({first_line(error)}): install it, and measuring works."
    return f"The measurement failed: {type(error).__name__}: {first_line(error)}."
