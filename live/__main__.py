"""``python -m live``: what this machine has, and how fast it is, from a shell.

``devices`` prints one JSON object a device. ``measure`` prints one an event while it measures (the same in words goes
to standard error) and writes the profile to ``--out``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from costmodel.errors import ConfigError, UnknownModel
from costmodel.model import Model
from live.device import WIDE
from live.errors import LiveError
from live.measuring import Progress, devices, measure
from live.plans import PLANS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status."""
    options = _parser().parse_args(arguments)
    try:
        _COMMANDS[options.command](options)
    except (LiveError, ValueError) as error:
        print(f"python -m live: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("python -m live: stopped", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m live", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("devices", help="list the devices that PyTorch can use here")
    measuring = commands.add_parser("measure", help="measure a device with the shapes of a model")
    measuring.add_argument("--model", required=True, help="id of the catalogue, or path of a config.json")
    measuring.add_argument("--device", default=None, help="as `devices` lists it (default: the first one)")
    measuring.add_argument("--plan", default="quick", choices=list(PLANS))
    measuring.add_argument("--dtype", default=None, choices=WIDE, help="default: bf16, or fp16 on a GPU without it")
    measuring.add_argument("--threads", type=int, default=None, help="threads of a CPU (default: its cores)")
    measuring.add_argument(
        "--hardware", default=None, help="id of the catalogue, where the device's name leaves it open"
    )
    measuring.add_argument("--out", type=Path, default=None, help="file for the profile (default: standard output)")
    return parser


def _devices(_: argparse.Namespace) -> None:
    for device in devices():
        row = device.match.hardware
        print(json.dumps({**device.to_json(), "hardware": row and row.id, "match": device.match.reason}))


def _measure(options: argparse.Namespace) -> None:
    if options.out is not None:
        _refuse_unwritable(options.out)
    profile = measure(
        _model(options.model),
        device=options.device,
        plan=options.plan,
        dtype=options.dtype,
        threads=options.threads,
        hardware=options.hardware,
        progress=_show,
    )
    for note in profile.notes:
        print(note, file=sys.stderr)
    if options.out is None:
        print(json.dumps({"event": "profile", "profile": profile.to_json()}))
        return
    try:
        profile.save(options.out)
    except OSError as error:  # what took minutes is not lost
        print(json.dumps({"event": "profile", "profile": profile.to_json()}))
        raise ConfigError("--out", str(options.out), f"a file that can be written ({error.strerror})") from None
    print(json.dumps({"event": "saved", "path": str(options.out)}))


def _refuse_unwritable(target: Path) -> None:
    """Say before minutes of measuring, not after, that a file cannot be written."""
    if target.is_dir() or not os.access(target.parent, os.W_OK):
        raise ConfigError("--out", str(target), "a file in a folder that is there and can be written")


def _show(progress: Progress) -> None:
    print(json.dumps(progress.to_json()), flush=True)
    print(f"{progress.fraction:4.0%}  {progress.seconds_left:4.0f} s left  {progress.what}", file=sys.stderr)


def _model(name: str) -> Model:
    """The catalogue's model of this id, or the one that a config.json describes."""
    from costmodel.catalog import model

    try:
        return model(name)
    except UnknownModel:
        if not Path(name).is_file():
            raise
    return Model.from_config(name)


_COMMANDS: Mapping[str, Callable[[argparse.Namespace], None]] = MappingProxyType(
    {"devices": _devices, "measure": _measure}
)


if __name__ == "__main__":
    if sys.argv[1:] == ["worker"]:
        from live.worker import main as work

        # What torch leaves behind may take its time to tear down, and nobody waits for it.
        os._exit(work())
    sys.exit(main())
