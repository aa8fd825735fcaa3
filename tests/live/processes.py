"""Finding the worker processes that a test started, and waiting for them to be gone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 60.0  # seconds; a bound against hanging, not an expectation


def workers(parent: int) -> list[int]:
    """Ids of the worker processes whose parent this is."""
    return [pid for pid, owner, command in _processes() if owner == parent and "worker" in command]


def alive(pid: int) -> bool:
    """Whether a process exists and has not ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def wait_for(what: Callable[[], T]) -> T:
    """The first true answer of `what`."""
    end = time.monotonic() + PATIENCE
    while not (found := what()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
    return found


def _processes() -> Iterator[tuple[int, int, str]]:
    for path in Path("/proc").glob("[0-9]*"):
        try:
            fields = (path / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            command = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        yield int(path.name), int(fields[1]), command
