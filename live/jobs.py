"""Work in the background of a session: a daemon thread listens to the worker, and a page looks when it likes.

No torch and no Streamlit here. Whoever holds a ``Job`` stops it when its session ends (``on_release=Job.stop``); were
it merely forgotten, its worker would end with it.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

from costmodel.model import Model
from live.device import Device
from live.errors import Cancelled, LiveError
from live.measuring import Progress, devices, measure
from live.profile import Profile


class _Background:
    """Something that runs in a thread of its own, from when it is made."""

    def __init__(self, work: Callable[[_Box, threading.Event], None]) -> None:
        self._stop = threading.Event()
        self._box = _Box()
        self._thread = threading.Thread(target=_guarded, args=(work, self._box, self._stop), daemon=True)
        weakref.finalize(self, self._stop.set)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._thread.is_alive()

    @property
    def state(self) -> str:
        """One of "running", "finished", "stopped" and "failed"."""
        return "running" if self.alive else self._box.state

    @property
    def error(self) -> str:
        """Why it failed, in one sentence; "" otherwise."""
        return self._box.error

    def stop(self) -> None:
        """Stop it, and wait until its worker is gone, for 15 seconds at most; one that has ended stays as it is.

        A worker is killed at once. One that its driver keeps from dying is left to the system, and may outlast this.
        """
        self._stop.set()
        self.join()

    def join(self, seconds: float | None = 15.0) -> None:
        """Wait until it has ended, for so many seconds at most; None: however long it takes."""
        self._thread.join(seconds)


class Job(_Background):
    """One measurement.

    Takes what ``live.measure`` takes, but ``progress`` and ``cancel``, which it supplies itself.

    >>> import costmodel as cm
    >>> job = Job(cm.model("qwen3-0.6b"), plan="thorough")
    >>> job.join()
    >>> job.state, job.error
    ('failed', "plan: found 'thorough', expected one of quick, full")
    """

    def __init__(self, model: Model, device: str | None = None, **options: Any) -> None:
        def work(box: _Box, stop: threading.Event) -> None:
            box.profile = measure(model, device, progress=box.note, cancel=stop.is_set, **options)

        super().__init__(work)

    @property
    def progress(self) -> Progress | None:
        """How far it is; None until its worker has loaded PyTorch."""
        return self._box.progress

    @property
    def profile(self) -> Profile | None:
        """The result, once it has finished."""
        return self._box.profile


class Search(_Background):
    """A look for the devices of this machine."""

    def __init__(self, **options: Any) -> None:
        def work(box: _Box, stop: threading.Event) -> None:
            box.devices = tuple(devices(cancel=stop.is_set, **options))

        super().__init__(work)

    @property
    def devices(self) -> tuple[Device, ...]:
        """What was found, GPUs first; nothing before it has finished."""
        return self._box.devices


class _Box:
    """What the thread leaves for whoever looks; it holds no reference to the job, which may be forgotten."""

    state = "failed"
    error = ""
    progress: Progress | None = None
    profile: Profile | None = None
    devices: tuple[Device, ...] = ()

    def note(self, progress: Progress) -> None:
        self.progress = progress


def _guarded(work: Callable[[_Box, threading.Event], None], box: _Box, stop: threading.Event) -> None:
    try:
        work(box, stop)
        box.state = "finished"
    except Cancelled:
        box.state = "stopped"
    except (LiveError, ValueError) as error:
        box.error = str(error)
    except Exception as error:  # noqa: BLE001  # a thread has nobody above it to tell
        box.error = f"It failed: {type(error).__name__}: {error}."
