"""The other end of a worker process: starts it, listens to it, and turns whatever happens to it into one sentence.

Nothing here imports torch, and nothing that the worker does, says or fails to do can harm the process that started it.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Self

from costmodel.errors import ConfigError
from live.errors import Cancelled, DeviceBusy, LiveError

Event = Mapping[str, Any]

COMMAND: tuple[str, ...] = (sys.executable, "-P", "-m", "live", "worker")
"""What a worker is started as; not even a folder that Python happens to be started in can put itself in between."""

_ROOT = Path(__file__).resolve().parent.parent
_LONGEST_LINE = 2**20  # bytes of one event; none comes near
_LONGEST_CALL = 120.0  # seconds of silence that a worker may announce
_FAREWELL = 5.0  # seconds for a killed process to be gone
_TICK = 0.1  # seconds between looks at the clock and at `cancel`


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How long to wait.

    Attributes
    ----------
    start: seconds until the first sign of life, which loading PyTorch comes before.
    silence: seconds without one after that; the worker gives one at least each half second between calls.
    total: seconds in all.
    """

    start: float = 120.0
    silence: float = 20.0
    total: float = 1800.0


def run(
    request: Mapping[str, Any],
    limits: Limits = Limits(),
    cancel: Callable[[], bool] = lambda: False,
    command: Sequence[str] = COMMAND,
) -> Generator[Event]:
    """Yield the events of a worker that serves ``request``, until it has finished.

    Whichever way the iteration ends, the worker has ended too.

    Raises
    ------
    Cancelled: when ``cancel`` said so. DeviceBusy: when another process measures the device.
    LiveError: when it died, hung, spoke nonsense or gave up; the message says which, and what to do.
    """
    with _Process(command) as process:
        process.send({**request, "limit": limits.total})
        yield from _listen(process, limits, cancel)


def _listen(process: _Process, limits: Limits, cancel: Callable[[], bool]) -> Iterator[Event]:
    started = heard = time.monotonic()
    patience = limits.start
    while True:
        if cancel():
            raise Cancelled("The measurement was stopped.")
        line = process.line(_TICK)
        now = time.monotonic()
        _check_time(now - started, 0.0 if line is not None else now - heard, patience, limits)
        if line is None:
            continue
        event = _event(line, process)
        heard, patience = now, max(limits.silence, _patience(event))
        if event["event"] == "error":
            raise _error(event)
        yield event
        if event["event"] == "finished":
            return


def _patience(event: Event) -> float:
    """Seconds of silence that a worker announces before a long call; it is not believed without end."""
    asked = event.get("patience", 0.0)
    return min(float(asked), _LONGEST_CALL) if isinstance(asked, (int, float)) else 0.0


def _error(event: Event) -> Exception:
    """What the worker says went wrong, as the error that it is here."""
    text = {name: str(event.get(name, ""))[:500] for name in ("kind", "text", "key", "found", "expected")}
    if text["kind"] == "input":
        return ConfigError(text["key"], text["found"], text["expected"])
    return DeviceBusy(text["text"]) if text["kind"] == "busy" else LiveError(text["text"])


def _check_time(elapsed: float, silent: float, patience: float, limits: Limits) -> None:
    if silent > patience:
        raise LiveError(
            f"The measuring process has been silent for {silent:.0f} s and was ended: "
            "the device or its driver hangs. Try again, or another device."
        )
    if elapsed > limits.total:
        raise LiveError(f"The measurement took longer than {limits.total:.0f} s and was ended: choose the quick plan.")


def _event(line: bytes, process: _Process) -> Event:
    """Decode one line of the worker; an empty one means that it has ended without having finished.

    Raises
    ------
    LiveError: when it has, or when the line is not an event.
    """
    if not line:
        raise LiveError(process.obituary())
    try:
        event = json.loads(line)
    except ValueError:
        event = None
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        shown = line[:60].decode("utf-8", "replace").strip()
        raise LiveError(
            f"The measuring process said something that is no part of a measurement and was ended: {shown!r}."
        )
    return event


@dataclass
class _Process:
    """A worker, and a thread that waits for its lines so that nobody else has to."""

    command: Sequence[str]
    _popen: subprocess.Popen[bytes] = field(init=False)
    _lines: queue.Queue[bytes] = field(default_factory=queue.Queue)
    _complaints: IO[bytes] = field(init=False)

    def __enter__(self) -> Self:
        self._complaints = tempfile.TemporaryFile()
        path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))
        try:
            self._popen = subprocess.Popen(
                list(self.command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                env={**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"},
                start_new_session=True,  # so that whatever it starts can be ended with it
            )
        except OSError as error:
            self._complaints.close()
            raise LiveError(f"The measuring process could not be started: {error.strerror}.") from None
        threading.Thread(target=self._collect, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._complaints.close()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._popen.pid

    def send(self, request: Mapping[str, Any]) -> None:
        """Write the request; a worker that is gone already is noticed when it is listened to."""
        with suppress(OSError):
            stdin = self._popen.stdin
            if stdin is not None:
                stdin.write(json.dumps(request).encode() + b"\n")
                stdin.flush()

    def line(self, seconds: float) -> bytes | None:
        """Its next line, b"" at its end, None when there is none within ``seconds``."""
        try:
            return self._lines.get(timeout=seconds)
        except queue.Empty:
            return None

    def kill(self) -> None:
        """End it and what it started, and wait until it is gone."""
        with suppress(OSError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        with suppress(OSError):
            if self._popen.stdin is not None:
                self._popen.stdin.close()
        with suppress(subprocess.TimeoutExpired):  # one that a driver keeps from dying is left to it
            self._popen.wait(timeout=_FAREWELL)

    def obituary(self) -> str:
        """Why it ended, in one sentence."""
        try:
            code = self._popen.wait(timeout=_FAREWELL)
        except subprocess.TimeoutExpired:
            return "The measuring process closed its output and was ended."
        if code < 0:
            return _SIGNALS.get(-code, f"The measuring process was ended by signal {-code}.")
        return f"The measuring process ended early (status {code}){self._last_words()}."

    def _last_words(self) -> str:
        self._complaints.seek(0, os.SEEK_END)
        self._complaints.seek(max(0, self._complaints.tell() - 2000))
        lines = [line for line in self._complaints.read().decode("utf-8", "replace").splitlines() if line.strip()]
        return f": {lines[-1].strip()[:200]}" if lines else ""

    def _collect(self) -> None:
        stdout = self._popen.stdout
        with suppress(OSError, ValueError):
            while stdout is not None and (line := stdout.readline(_LONGEST_LINE)):
                self._lines.put(line)
        self._lines.put(b"")
        if stdout is not None:
            stdout.close()  # here, because closing waits for a reading that is under way


_SIGNALS: Mapping[int, str] = {
    signal.SIGKILL: (
        "The measuring process was killed, most likely by the system because memory ran out: "
        "close other programs, or choose a smaller model or plan."
    ),
    signal.SIGSEGV: "The measuring process crashed inside PyTorch or a driver: update them, or try another device.",
    signal.SIGBUS: "The measuring process crashed inside PyTorch or a driver: update them, or try another device.",
    signal.SIGABRT: "The measuring process was aborted by PyTorch or a driver: update them, or try another device.",
    signal.SIGILL: "PyTorch uses instructions that this processor does not have: install a build for it.",
    signal.SIGTERM: "The measuring process was told to end by another program.",
}
