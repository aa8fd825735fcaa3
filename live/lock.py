"""One measurement at a time on a device: a lock that the system releases when its owner dies, however it dies."""

from __future__ import annotations

import fcntl
import os
import re
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from live.errors import DeviceBusy


def lock_path(device_id: str) -> Path:
    """The file that is locked while ``device_id`` is measured, the same for every program on this machine."""
    name = re.sub(r"[^a-z0-9]+", "-", device_id.lower()).strip("-")
    return Path(tempfile.gettempdir()) / f"stepcost-measuring-{name}.lock"


@contextmanager
def holding(device_id: str) -> Iterator[None]:
    """Hold the device while the block runs.

    The file may stay behind; what counts is the lock on it, and that ends with the process.

    Raises
    ------
    DeviceBusy: when another process holds it.
    """
    descriptor = _opened(lock_path(device_id))
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = _owner(descriptor)
            raise DeviceBusy(
                f"Another measurement is running on {device_id}{owner}: wait for it, or stop it."
            ) from None
        with suppress(OSError):  # the file of another user can be locked but not written
            os.truncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def reserved(device_id: str) -> Iterator[None]:
    """Keep the device for one thread of this process while the block runs.

    For whoever is about to start a worker: the worker holds the device only once it has loaded PyTorch, and of ten that
    are asked for at once nine would load it in vain.

    Raises
    ------
    DeviceBusy: when another thread has it, or another process holds it.
    """
    with _GUARD:
        if device_id in _RESERVED:
            raise DeviceBusy(f"Another session here is measuring {device_id}: wait for it, or have it stopped.")
        _RESERVED.add(device_id)
    try:
        with holding(device_id):
            pass
        yield
    finally:
        with _GUARD:
            _RESERVED.discard(device_id)


_RESERVED: set[str] = set()
_GUARD = threading.Lock()


def _opened(path: Path) -> int:
    """Open the lock file without following a link that somebody may have put there."""
    flags = os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | flags, 0o644)
    except PermissionError:
        return os.open(path, os.O_RDONLY | flags)


def _owner(descriptor: int) -> str:
    text = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
    return f" (process {text})" if text.isdigit() else ""
