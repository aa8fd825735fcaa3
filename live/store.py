"""Where profiles are kept between visits: a folder of files, one a device and format, the newest in each."""

from __future__ import annotations

import os
import re
from pathlib import Path

from costmodel.errors import ConfigError
from live.profile import Profile

VARIABLE = "STEPCOST_PROFILES"
"""Environment variable that names another folder."""


def folder() -> Path:
    """The folder: what the environment says, else the user's data folder."""
    named = os.environ.get(VARIABLE)
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(named) if named else Path(base) / "stepcost" / "profiles"


def keep(profile: Profile) -> Path:
    """Save a profile in the folder, in place of an older one of the same device and format.

    Raises
    ------
    ConfigError: when the folder cannot be written.
    """
    target = folder() / _file_name(profile)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        profile.save(target)
    except OSError as error:
        raise ConfigError(VARIABLE, str(target.parent), f"a folder that can be written ({error.strerror})") from None
    return target


def kept() -> tuple[list[Profile], list[str]]:
    """(the profiles of the folder, newest first; a sentence for each file that is none)."""
    profiles, refused = [], []
    for path in sorted(folder().glob("*.json")):
        try:
            profiles.append(Profile.load(path))
        except ValueError as error:
            refused.append(f"{path.name} was left out: {error}")
    return sorted(profiles, key=lambda profile: profile.taken, reverse=True), refused


def _file_name(profile: Profile) -> str:
    return (
        re.sub(
            r"[^a-z0-9.]+", "-", f"{profile.device.name} {profile.device.units or ''} {profile.dtype}".lower()
        ).strip("-")
        + ".json"
    )
