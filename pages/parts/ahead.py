"""Pictures ahead of the server: those of the stops beside the one that a slider stands at, there before it moves.

When somebody points at a slider, or has it in hand, the browser asks for what the page's pictures are drawn from at the
stops around. It then draws the one that the slider comes to at once, while it is dragged too, and the run of the page
that follows finds its pictures drawn. Text, tables and figures come with that run.

What is sent ahead is made by the functions that the page itself draws from, for the values that its controls would
have.
"""

from __future__ import annotations

import math
import time
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import streamlit as st

from costmodel.errors import ConfigError
from pages.parts import beside, live_rates, speaking, state
from pages.parts.datasets import Dataset

REACH = 5  # stops on either side
ENOUGH = 0.06  # seconds after which no further stop is begun, but for the next one on either side
_FOLLOWING, _ASKED = "_ahead", "_ahead_asked"

_SLIDERS = {key: control for key, control in state.CONTROLS.items() if isinstance(control, state.Number)}
_Frame = dict[str, Mapping[str, Any]]
"""For the key of each picture, the parts of what it is drawn from."""

JS = beside.read(__file__, "view_of.js", "ahead.js")
"""What the browser does for it."""


@dataclass(frozen=True)
class Pictures:
    """Pictures that are drawn from the same numbers.

    Attributes
    ----------
    look: makes the numbers from the controls, by ``state.value`` and ``controls.scenario`` alone.
    made: for the key of each picture, what makes from the numbers that which it is drawn from.
    """

    look: Callable[[], Any]
    made: Mapping[str, Callable[[Any], Mapping[str, Any]]]

    def frame(self) -> _Frame:
        """What they are drawn from, as the controls are."""
        numbers = self.look()
        return {key: make(numbers) for key, make in self.made.items()}


def chart(data: Callable[[Any], Mapping[str, Any]], alt: Callable[[Any], str]) -> Callable[[Any], Mapping[str, Any]]:
    """What ``chart.draw`` draws a picture from: its datasets, and the sentence that it says."""
    return lambda numbers: columns(data(numbers), alt(numbers))


def columns(datasets: Mapping[str, Dataset], sentence: str) -> Mapping[str, Any]:
    """The datasets of a picture and its sentence, as the browser gets them ahead."""
    return {name: _columns(dataset) for name, dataset in speaking.with_sentence(datasets, sentence).items()}


def whole(data: Callable[[Any], Mapping[str, Any] | None]) -> Callable[[Any], Mapping[str, Any]]:
    """What a picture of the app's own is drawn from, which listens for it: see ``pages/shapes/cells.js``."""
    return lambda numbers: {"whole": data(numbers)}


# ---- for pages, and for the companion that goes with each ----------------------------------------------------


def begin() -> None:
    """Forget what followed: another page is about to be run."""
    st.session_state[_FOLLOWING] = ()


def follow(*pictures: Pictures) -> None:
    """Have these pictures follow the page's sliders in the browser."""
    st.session_state[_FOLLOWING] = pictures


def ask(asked: Any) -> None:
    """Keep what the browser asked for."""
    st.session_state[_ASKED] = asked


def lost() -> bool:
    """Whether the browser misses the answer to a move; it says so once."""
    found = st.session_state.get(_ASKED)
    if not isinstance(found, Mapping) or "lost" not in found:
        return False
    st.session_state[_ASKED] = None
    return True


def answer(*, alone: bool) -> dict[str, Any] | None:
    """What the browser is told of them, and where it asked ``alone``, what it asked for; None where nothing follows."""
    pictures: Sequence[Pictures] = st.session_state[_FOLLOWING]
    if not pictures:
        return None
    control, at = _asked() or (None, 0.0)
    return {
        "at": None if alone else state.page_shown(),
        "slider": control.key if control else None,
        "look": _look(pictures, control),
        "frames": around(pictures, control, at) if control and alone else None,
    }


# ---- what was asked for --------------------------------------------------------------------------------------


def _asked() -> tuple[state.Number, float] | None:
    """The slider that somebody has in hand, and where; None for what none can be."""
    found = st.session_state.get(_ASKED)
    if not isinstance(found, Mapping) or (control := _SLIDERS.get(str(found.get("slider")))) is None:
        return None
    try:
        return control, control.parse(str(found.get("at")))
    except ConfigError:
        return None


def _look(pictures: Sequence[Pictures], slider: state.Number | None) -> str:
    """A mark of all that the pictures show but this slider: what was sent ahead holds as long as it stays."""
    found = [value for key, value in state.snapshot().items() if slider is None or key != slider.key]
    keys = [key for group in pictures for key in group.made]
    profile = live_rates.profile()
    measured = (profile.device.id, profile.measured_at) if profile else None
    return f"{zlib.crc32(repr((keys, found, measured)).encode()):08x}"


# ---- the stops around ----------------------------------------------------------------------------------------


def around(pictures: Sequence[Pictures], control: state.Number, at: float) -> dict[str, Any]:
    """What the pictures are drawn from at the stops around ``at``, the nearest first, as far as it differs."""
    begun, stops = time.perf_counter(), state.stops(control)
    middle = min(bisect_left(stops, at), len(stops) - 1)
    made: dict[int, _Frame] = {}
    for place in _outwards(middle, len(stops)):
        if abs(place - middle) > 1 and time.perf_counter() - begun > ENOUGH:
            break
        with state.supposing(**{control.key: stops[place]}), suppress(ValueError):  # of a step that cannot be priced
            made[place] = {key: parts for group in pictures for key, parts in group.frame().items()}
    return {
        "slider": control.key,
        "ends": [control.shown(stops[0]), control.shown(stops[-1])],
        "stops": [[control.shown(stops[place]), frame] for place, frame in sorted(_changing(made).items())],
    }


def _outwards(middle: int, count: int) -> Iterator[int]:
    """Places from the middle to both sides, at most ``REACH`` away.

    >>> list(_outwards(1, 4))
    [1, 0, 2, 3]
    """
    yield middle
    for away in range(1, REACH + 1):
        yield from (place for place in (middle - away, middle + away) if 0 <= place < count)


def _changing(made: Mapping[int, _Frame]) -> dict[int, _Frame]:
    """The frames without the parts that are the same in all of them."""
    frames = list(made.values())
    changes = {
        (key, name)
        for frame in frames[1:]
        for key, parts in frame.items()
        for name, part in parts.items()
        if frames[0][key].get(name) != part
    }
    return {
        place: {
            key: kept
            for key, parts in frame.items()
            if (kept := {name: part for name, part in parts.items() if (key, name) in changes})
        }
        for place, frame in made.items()
    }


def _columns(dataset: Dataset) -> dict[str, list[Any]]:
    """The columns of a dataset as JSON can carry them; what is no number is missing."""
    return {name: [_plain(value) for value in dataset[name].to_pylist()] for name in dataset.column_names}


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
