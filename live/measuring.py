"""Ask a worker for its devices, or for a measurement, and wait for the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

from costmodel.errors import ConfigError
from costmodel.model import Model
from live import client
from live.client import COMMAND, Event, Limits
from live.device import Device
from live.errors import LiveError
from live.lock import reserved
from live.matching import chosen
from live.plans import Plan, plan_named
from live.points import Point
from live.profile import Profile
from live.subject import Subject

_MOST_THREADS = 4096
_PATIENCE = 8.0  # times a plan's seconds until a measurement is given up, and at least the minutes below
_LEAST = 240.0


_USUAL = Limits()


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a measurement is.

    Attributes
    ----------
    done, total: cases. what: the one that is being measured. seconds_left: an estimate.
    points: measured so far.
    """

    done: int
    total: int
    what: str
    seconds_left: float
    points: tuple[Point, ...] = ()

    @property
    def fraction(self) -> float:
        """Of the cases that are done."""
        return self.done / self.total if self.total else 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain values, the points only counted."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {"event": "progress", **values, "points": len(self.points)}


def devices(
    cancel: Callable[[], bool] = lambda: False, limits: Limits = _USUAL, command: Sequence[str] = COMMAND
) -> list[Device]:
    """Every device that PyTorch can use on this machine, GPUs first; a worker process looks.

    Raises
    ------
    LiveError: when it cannot, for instance because PyTorch is not installed.
    """
    with closing(client.run({"task": "devices"}, limits, cancel, command)) as events:
        return [Device.from_json(event.get("device")) for event in events if event["event"] == "device"]


def measure(
    model: Model,
    device: str | None = None,
    plan: str | Plan = "quick",
    *,
    progress: Callable[[Progress], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    dtype: str | None = None,
    threads: int | None = None,
    hardware: str | None = None,
    limits: Limits | None = None,
    command: Sequence[str] = COMMAND,
) -> Profile:
    """Measure a device with the shapes of ``model``, in a worker process, and fit rates to it.

    Parameters
    ----------
    device: as ``devices()`` names it; None: the first of them.
    plan: "quick" (about 15 s) or "full" (minutes).
    progress: told before each case. cancel: asked ten times a second; True stops.
    dtype: "bf16", "fp16" or "fp32"; None: bf16, or fp16 on a GPU without it.
    threads: of a CPU. hardware: id of the catalogue, where the device's name leaves open which it is.

    Raises
    ------
    ConfigError: for a device, plan, format or model that cannot be measured.
    Cancelled, DeviceBusy, LiveError: as ``live.errors`` says; nothing is left running.
    """
    settled = plan_named(plan)
    if threads is not None and not 1 <= threads <= _MOST_THREADS:
        raise ConfigError("threads", threads, f"1 to {_MOST_THREADS}")
    subject = Subject.of(model)
    request = {
        "task": "measure",
        "device": device,
        "subject": subject.to_json(),
        "plan": settled.to_json(),
        "dtype": dtype,
        "threads": threads,
    }
    limits = limits or Limits(total=max(_LEAST, _PATIENCE * settled.seconds))
    heard = _Listener(subject, settled, progress or (lambda _: None), hardware)
    with (
        reserved(device) if device is not None else nullcontext(),
        closing(client.run(request, limits, cancel or (lambda: False), command)) as events,
    ):
        for event in events:
            heard.hear(event)
    return heard.profile()


@dataclass
class _Listener:
    """Collects what a worker says into a profile."""

    subject: Subject
    plan: Plan
    progress: Callable[[Progress], None]
    hardware: str | None
    points: list[Point] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    device: Device | None = None
    setting: Event = field(default_factory=dict)
    seconds: float = 0.0
    at: Progress | None = None

    def hear(self, event: Event) -> None:
        """Take in one event; signs of life, and kinds that are not known, are passed over."""
        try:
            _HEARD.get(event["event"], _pass_over)(self, event)
        except (KeyError, TypeError, ValueError) as error:
            raise LiveError(f"The measuring process reported something impossible: {error}") from error
        if event["event"] == "progress" and self.at is not None:
            self.progress(self.at)
        if event["event"] == "device" and self.device is not None and self.hardware is not None:
            chosen(self.hardware, self.device.name, self.device.match)  # before time is spent on it

    def move(self, event: Event) -> None:
        """Take in how far it is."""
        self.at = Progress(
            done=int(event["done"]),
            total=int(event["total"]),
            what=str(event["what"]),
            seconds_left=float(event["seconds_left"]),
            points=tuple(self.points),
        )

    def settle(self, event: Event) -> None:
        """Take in what it measures, with which software, and when."""
        self.setting = event

    def name_device(self, event: Event) -> None:
        """Take in on which device."""
        self.device = Device.from_json(event["device"])

    def end(self, event: Event) -> None:
        """Take in how long it took."""
        self.seconds = float(event["seconds"])

    def profile(self) -> Profile:
        """What was heard, with rates fitted to it."""
        if self.device is None or not self.points:
            raise LiveError("The measuring process finished without having measured anything.")
        return Profile.measured(
            device=self.device,
            hardware_id=self.hardware,
            software={str(k): str(v) for k, v in dict(self.setting.get("software", {})).items()},
            measured_at=str(self.setting.get("measured_at")),
            plan=self.plan.name,
            subject=self.subject,
            dtype=str(self.setting.get("dtype")),
            points=tuple(self.points),
            notes=tuple(self.notes),
            seconds=self.seconds,
        )


def _pass_over(heard: _Listener, event: Event) -> None:
    """Nothing to take in."""


_HEARD: Mapping[str, Callable[[_Listener, Event], None]] = MappingProxyType(
    {
        "point": lambda heard, event: heard.points.append(Point.from_json(event["point"])),
        "note": lambda heard, event: heard.notes.append(str(event["text"])),
        "progress": _Listener.move,
        "setting": _Listener.settle,
        "device": _Listener.name_device,
        "finished": _Listener.end,
    }
)
