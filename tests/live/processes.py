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
    """Whether a thread of a process has not ended.

    The first thread may be a zombie for some ms while others still hold the process's files, and with them its locks.
    """
    return any(_state(path) not in "ZX" for path in Path(f"/proc/{pid}/task").glob("*/stat"))


def wait_for(what: Callable[[], T]) -> T:
    """The first true answer of `what`."""
    end = time.monotonic() + PATIENCE
    while not (found := what()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
    return found


def _state(stat: Path) -> str:
    """The letter of a thread's state, X when it is gone."""
    try:
        return _fields(stat)[0]
    except OSError:
        return "X"


def _fields(stat: Path) -> list[str]:
    """What a file of that name says after the command: the state, the parent, and more."""
    return stat.read_text(encoding="utf-8").rpartition(")")[2].split()


def _processes() -> Iterator[tuple[int, int, str]]:
    for path in Path("/proc").glob("[0-9]*"):
        try:
            fields = _fields(path / "stat")
            command = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        yield int(path.name), int(fields[1]), command
