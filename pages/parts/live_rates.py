"""Which measured profile speaks in this session, and the measurement that may be under way in it.

A profile is the session's own (measured or uploaded in it), else the newest that is kept on this machine, so that a
reload finds it again. Nothing here, and nothing that it starts in this process, imports torch.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import streamlit as st

import costmodel as cm
import live
from live import store
from pages.parts import state
from pages.parts.format import many

VARIABLE = "STEPCOST_LIVE"
"""Environment variable: "off" neither looks for a GPU at the start nor measures one unasked."""

_OWN, _GREETED = "_profile", "_greeted"
_GPU_FILES = ("nvidia0", "nvidiactl", "dxg", "kfd", "dri/renderD128")  # in /dev, of one driver or another
_LOOK = 1.0  # seconds between looks at what runs elsewhere
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0


class Bench:
    """The measurement of one session: at most one at a time, and none once the session has ended."""

    def __init__(self) -> None:
        self.job: live.Job | None = None
        self._collected = True

    @property
    def busy(self) -> bool:
        """Whether a measurement runs."""
        return self.job is not None and self.job.alive

    def start(self, model: cm.Model, device: str, plan: str, hardware: str | None = None) -> None:
        """Measure, unless a measurement runs already."""
        if not self.busy:
            self.job, self._collected = live.Job(model, device, plan=plan, hardware=hardware), False

    def stop(self) -> None:
        """Stop what runs; see ``live.Job.stop``."""
        if self.job is not None:
            self.job.stop()

    def collect(self) -> live.Profile | None:
        """The profile of a measurement that has ended since this was last asked."""
        if self._collected or self.job is None or self.job.alive:
            return None
        self._collected = True
        return self.job.profile


@st.cache_resource(show_spinner=False, scope="session", on_release=Bench.stop)
def bench() -> Bench:
    """The session's own; its worker ends with the session."""
    return Bench()


@st.cache_resource(show_spinner=False)
def search() -> live.Search:
    """The look for this machine's devices, made once for all sessions."""
    return live.Search()


def look_again() -> None:
    """Forget which devices were found."""
    search.clear()


def collect() -> None:
    """Take over what a measurement has brought since the last run, keep it for later visits, and let it speak."""
    found = bench().collect()
    if found is None:
        return
    use(found)
    try:
        store.keep(found)
    except ValueError as error:
        state.say(f"The profile speaks in this session but was not kept for later ones: {error}.")


def greet(model: cm.Model) -> None:
    """Once a session, when the look for devices has ended: a GPU's kept profile speaks, or the GPU is measured.

    A link that names a source has its way, and so has whoever has chosen one; nothing happens without a GPU.
    """
    if st.session_state.get(_GREETED) or not _may_greet() or search().alive:
        return
    st.session_state[_GREETED] = True
    gpu = next((device for device in search().devices if device.kind != "cpu"), None)
    if gpu is None:
        return
    found = profile()
    if found is not None and (found.device.kind, found.device.name) == (gpu.kind, gpu.name):
        state.put(rates="live")
    elif gpu.match.hardware is not None or not gpu.match.candidates:
        bench().start(model, gpu.id, "quick")


def pending() -> bool:
    """Whether a measurement, or the look for a GPU that may begin one, is under way."""
    return bench().busy or (not st.session_state.get(_GREETED) and _may_greet() and search().alive)


@st.fragment(run_every=_LOOK)
def watch() -> None:
    """What is under way, in one muted line; the page runs again when it has ended."""
    if not pending():
        st.rerun()
    job = bench().job
    progress = job.progress if job is not None else None
    said = f"measuring, {progress.seconds_left:.0f} s left" if progress else "looking at this machine …"
    st.html(f'<p class="sc-later muted">● live<br><small>{said}</small></p>')


def _may_greet() -> bool:
    """Whether a GPU may be here and nobody has chosen a source yet."""
    asked = os.environ.get(VARIABLE, "").lower() not in {"off", "0", "no"}
    return asked and state.value("rates") == "datasheet" and _may_have_gpu()


@lru_cache(maxsize=1)
def _may_have_gpu() -> bool:
    """Whether a driver of a GPU shows itself, so that machines without one never load PyTorch unasked."""
    return sys.platform == "darwin" or any((Path("/dev") / name).exists() for name in _GPU_FILES)


def use(profile: live.Profile) -> None:
    """Let a profile speak in this session."""
    st.session_state[_OWN] = profile
    state.put(rates="live")


def profile() -> live.Profile | None:
    """The profile of this session, whether or not it is the source that was chosen; None before any measurement."""
    own: live.Profile | None = st.session_state.get(_OWN)
    return own if own is not None else _newest_kept()


def speaking(model: cm.Model) -> live.Profile | None:
    """The profile that answers: when live was chosen as source and it can price this model."""
    found = profile() if state.value("rates") == "live" else None
    return found if found is not None and not obstacle(found, model) else None


@lru_cache(maxsize=128)
def obstacle(profile: live.Profile, model: cm.Model) -> str:
    """Why a profile's rates cannot price a model; "" when they can."""
    try:
        cm.price(model, profile.hardware, cm.Step.decode(batch=1, context=1), rates=profile.rates)
    except ValueError as error:
        return str(error)
    return ""


def read(data: bytes) -> live.Profile:
    """Read a profile's file.

    Raises
    ------
    ConfigError: when it is none, or describes no device that a step can be priced on; it says why.
    """
    return _usable(live.Profile.loads(data))


def _usable(profile: live.Profile) -> live.Profile:
    """Return the profile, whose device and rates are made here, so that no page finds out later that they cannot be."""
    if profile.dtype not in profile.rates.hardware.peak:
        raise cm.ConfigError("points", f"no multiply in {profile.dtype}", "at least one, to know the arithmetic by")
    return profile


def described(profile: live.Profile) -> str:
    """What was measured and when: "measured on AMD EPYC, 2 threads, 12 minutes ago"."""
    return f"measured on {profile.hardware.name}, {age(profile.taken)}"


def age(taken: datetime, now: datetime | None = None) -> str:
    """How long ago something was, in words.

    >>> now = datetime(2026, 11, 3, 12, tzinfo=UTC)
    >>> [age(datetime(2026, 11, day, hour, tzinfo=UTC), now) for day, hour in ((3, 12), (3, 11), (1, 9), (4, 12))]
    ['just now', '1 hour ago', '2 days ago', 'dated 2026-11-04']
    """
    seconds = ((now or datetime.now(UTC)) - taken).total_seconds()
    if seconds < -_MINUTE:
        return f"dated {taken.date().isoformat()}"
    for length, unit in ((_DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute")):
        if (number := int(seconds // length)) >= 1:
            return f"{many(number, unit)} ago"
    return "just now"


def as_file(profile: live.Profile) -> bytes:
    """The content of a profile's file."""
    return json.dumps(profile.to_json(), allow_nan=False, indent=1).encode()


def _newest_kept() -> live.Profile | None:
    files = sorted(store.folder().glob("*.json"))
    try:
        stamp = tuple((str(file), file.stat().st_mtime_ns) for file in files)
    except OSError:  # one was replaced just now
        return _read_newest()
    return _kept(stamp) if files else None


@lru_cache(maxsize=2)
def _kept(_stamp: tuple[tuple[str, int], ...]) -> live.Profile | None:
    """The same, read again only when a file has changed."""
    return _read_newest()


def _read_newest() -> live.Profile | None:
    """The newest profile of the folder that can speak."""
    for found in store.kept()[0]:
        with suppress(ValueError):
            return _usable(found)
    return None
