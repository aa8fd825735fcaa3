"""The state of every page is its URL: one table of controls, read before the widgets, written after them.

A control is one row of ``CONTROLS``. ``restore`` reads the URL at the first run of a session (and when the browser goes
back or forward), puts what is valid into ``st.session_state`` and keeps a notice for what is not; ``publish`` writes
what differs from its default. Sliders are bound to the URL by Streamlit itself, which replaces the address instead of
adding to the history at each move; everything else carries an id that Streamlit's own binding would not write.

To add a control: a row here, and a widget with the same key (see ``controls.slider``, ``controls.choice``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Protocol

import streamlit as st
from streamlit.errors import StreamlitAPIException
from streamlit.runtime.scriptrunner import get_script_run_ctx

import costmodel as cm
from costmodel import accuracy
from costmodel.dtypes import DTYPES, KV_DTYPES
from pages.parts import codec, prices

CUSTOM = "custom"
SCENARIO = (
    *("model", "model_config", "hardware", "accelerator", "weights", "kv", "compute", "tensor_parallel"),
    *("bandwidth_x", "compute_x", "memory_x", "rates"),
)
"""Keys of the controls that make a scenario."""
PINNED = (*SCENARIO, "batch", "prompt", "context", "count")
"""Keys of what a pinned text holds: a scenario and a workload."""
OTHERS = ("hardware", "bandwidth", "compute", "weights", "kv", "gpus", "model", "batch", "pinned")
"""What the scenario of the sidebar is compared with."""
GROUPS = (1, 2, 4, 8, 16, 32, 64)  # GPUs that a model can be divided over
MOST_SEQUENCES = 1024  # that decode together
AUTO = "auto"  # as the model stores it, as the chip computes it, as the engine has it
LEAGUE_ORDERS = ("decode", "prefill", "cost", "most", "memory", "ridge", "name")
"""By what the league of accelerators can be sorted."""
MAP_AXES = ("batch", "context", "prompt", "bandwidth_x", "compute_x", "gpus")
MAP_VALUES = ("seconds", "token", "cost", "bound", "intensity")
"""Axes of the map, and what its colour can show."""
WATERMARKS = tuple(f"{percent / 100:g}" for percent in range(51))
"""Shares of a KV pool that an admission may have to leave free."""


class Control(Protocol):
    """What the table holds: a key (of the widget and of the URL), a default, and the two directions of text."""

    @property
    def key(self) -> str: ...
    @property
    def default(self) -> Any: ...
    @property
    def bound(self) -> bool:
        """A slider of Streamlit's that keeps the URL itself."""

    def parse(self, text: str) -> Any: ...
    def write(self, value: Any) -> str | None:
        """The text of a value in a URL; None for one that no URL can carry."""


@dataclass(frozen=True)
class Choice:
    """One of several ids."""

    key: str
    default: str
    options: Callable[[], Sequence[str]]
    bound: bool = False

    def parse(self, text: str) -> str:
        if text not in self.options():
            raise cm.ConfigError(self.key, text, self._expected())
        return text

    def write(self, value: str) -> str:
        return value

    def _expected(self) -> str:
        options = self.options()
        few = len(options) <= 12  # noqa: PLR2004
        return f"one of {', '.join(options)}" if few else f"one of {len(options)} known ids, such as {options[0]}"


@dataclass(frozen=True)
class Number:
    """A slider. With a ``grid``, it moves over those values, and over any other that a link asked for."""

    key: str
    default: float
    low: float
    high: float
    grid: tuple[int, ...] = ()
    step: float = 1
    bound: bool = True

    @property
    def whole(self) -> bool:
        """Whether only whole numbers will do."""
        return isinstance(self.default, int)

    def parse(self, text: str) -> float:
        kind = "a whole number" if self.whole else "a number"
        error = cm.ConfigError(self.key, text, f"{kind} from {self.low:,} to {self.high:,}")
        try:
            value = float(text)
        except ValueError:
            raise error from None
        if not (math.isfinite(value) and self.low <= value <= self.high) or (self.whole and value != round(value)):
            raise error
        return int(value) if self.whole else value

    def write(self, value: float) -> str:
        return f"{value:g}" if not self.whole else str(int(value))

    def shown(self, value: float) -> str:
        """The text of a value beside its slider."""
        return str(int(value)) if self.whole else f"{value:.2f}"


@dataclass(frozen=True)
class Numbers:
    """A few whole numbers, such as the cached tokens of each sequence in a step; in the URL with dots between."""

    key: str
    default: tuple[int, ...]
    low: int
    high: int
    most: int
    bound: bool = False

    def parse(self, text: str) -> tuple[int, ...]:
        parts = text.split(".")
        whole = len(parts) <= self.most and all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts)  # noqa: PLR2004
        values = tuple(int(part) for part in parts) if whole else ()
        if not values or not all(self.low <= value <= self.high for value in values):
            raise cm.ConfigError(
                self.key, text, f"up to {self.most} whole numbers from {self.low:,} to {self.high:,}, with dots between"
            )
        return values

    def write(self, value: Sequence[int]) -> str:
        return ".".join(str(number) for number in value)


@dataclass(frozen=True)
class Packed:
    """A value of many parts, carried as one text; ``check`` raises ``ConfigError`` for what it cannot be.

    A text that is too long for a link stays in the session, and in a scenario's file: ``check_file`` is for that one.
    """

    key: str
    check: Callable[[str], object]
    check_file: Callable[[str], object] | None = None
    default: str = ""
    bound: bool = False

    def parse(self, text: str) -> str:
        self.check(text)
        return text

    def write(self, value: str) -> str | None:
        return value if len(value) <= codec.LONGEST_TEXT else None


def geometric(*, high: int, extra: Sequence[int] = (), per_octave: int = 4) -> tuple[int, ...]:
    """Whole numbers from 1 to ``high`` whose steps grow with them: even on the logarithmic axes of the charts.

    >>> geometric(high=40, extra=[30])
    (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 30, 32, 40)
    """
    values = {1, high, *extra}
    octave = 1
    while octave <= high:
        step = max(1, octave // per_octave)
        values.update(range(octave, min(2 * octave, high + 1), step))
        octave *= 2
    return tuple(sorted(v for v in values if v <= high))


def _pinned(text: str) -> object:
    """What a file has pinned."""
    return unpack_own(text)


CONTROLS: dict[str, Control] = {
    control.key: control
    for control in (
        Choice("model", "qwen3-0.6b", lambda: (*cm.model(), CUSTOM)),
        Choice("hardware", "h100-sxm", lambda: (*cm.hardware(), CUSTOM)),
        Packed("model_config", codec.link_model, codec.own_model),
        Packed("accelerator", codec.unpack_hardware),
        Choice("weights", AUTO, lambda: (AUTO, *DTYPES)),
        Choice("kv", AUTO, lambda: (AUTO, *KV_DTYPES)),
        Choice("compute", AUTO, lambda: (AUTO, *DTYPES)),
        Choice("tensor_parallel", "1", lambda: [str(gpus) for gpus in GROUPS]),
        Number("bandwidth_x", 1.0, 0.25, 4.0, step=0.05),
        Number("compute_x", 1.0, 0.25, 4.0, step=0.05),
        Number("memory_x", 1.0, 0.25, 4.0, step=0.05),
        Choice("rates", "datasheet", lambda: ("datasheet", "calibrated", "live")),
        Choice("count", "weights", lambda: ("weights", "attention")),
        Choice("step", "decode", lambda: ("decode", "prefill", "mixed")),
        Choice("sort", "order", lambda: ("order", "seconds", "bytes", "flops")),
        Number(
            "batch", 1, 1, MOST_SEQUENCES, grid=geometric(high=MOST_SEQUENCES, extra=[100, 200, 300, 400, 500, 1000])
        ),
        Number(
            "prompt", 500, 1, 131072, grid=geometric(high=131072, extra=[100, 200, 300, 500, 1000, 2000, 5000, 10000])
        ),
        Number(
            "context", 2048, 1, 1048576, grid=geometric(high=1048576, extra=[100, 500, 1000, 2000, 5000, 10000, 100000])
        ),
        Number("hourly", 2.0, 0.1, 20.0, step=0.1),
        Packed("league_prices", prices.unpack_prices),
        Choice("league_row", AUTO, lambda: (AUTO, *cm.hardware())),
        Choice("league_sort", "decode", lambda: LEAGUE_ORDERS),
        Choice("league_vendor", "all", lambda: ("all", *sorted({cm.hardware(id_).vendor for id_ in cm.hardware()}))),
        Number("league_memory", 0, 0, 512, grid=(0, 16, 24, 32, 48, 64, 80, 96, 128, 192, 256, 384, 512)),
        Choice("map_x", "batch", lambda: MAP_AXES),
        Choice("map_y", "bandwidth_x", lambda: MAP_AXES),
        Choice("map_value", "seconds", lambda: MAP_VALUES),
        Number(
            "prefill_chunk", 128, 1, 16384, grid=geometric(high=16384, extra=[100, 200, 300, 500, 1000, 2000, 5000])
        ),
        Number("drafts", 3, 1, 15),
        Number("draft_cost", 0.0, 0.0, 0.5, step=0.01),
        Choice("allocation", "windowed", lambda: ("windowed", "full")),
        Choice("attention_parallel", "tensor", lambda: ("tensor", "data")),
        Choice("kv_block", "16", lambda: [str(2**i) for i in range(9)]),
        Number("utilization", 0.9, 0.5, 1.0, step=0.01),
        Number("reserve_gib", 0.0, 0.0, 32.0, step=0.25),
        Packed("own_memory", codec.unpack_memory),
        Number("tokens", 6, 2, 4096, grid=geometric(high=4096, extra=[100, 500, 1000, 2000])[1:]),
        Number("rows", 1, 1, 4096, grid=geometric(high=4096, extra=[100, 500, 1000, 2000])),
        Number("layer", 0, 0, 99, bound=False),
        Choice("cells", "true", lambda: ("true", "equal")),
        Number("run_prompt", 20, 1, 4096, grid=geometric(high=4096, extra=[100, 500, 1000, 2000])),
        Number("run_tokens", 200, 1, 1000, grid=geometric(high=1000, extra=[50, 100, 200, 300, 500])),
        Number("run_step", 0, 0, 999, bound=False),
        Choice("run_measure", "rows", lambda: ("rows", "flops", "seconds")),
        Numbers("lengths", (5, 2, 7, 4), 1, 15, most=8),
        Number("chunk", 4, 1, 2048, grid=geometric(high=2048, extra=[500, 1000])),
        Number("chunk_cached", 3, 0, 4096, grid=(0, *geometric(high=4096, extra=[500, 1000]))),
        Choice("policy", "vllm_v1", lambda: ("vllm_v1", "vllm_v0", "sarathi", "sglang", "orca", "static")),
        Choice("against", "vllm_v0", lambda: ("none", "vllm_v1", "vllm_v0", "sarathi", "sglang", "orca", "static")),
        Number("token_budget", 512, 16, 16384, grid=geometric(high=16384, extra=[100, 500, 1000])[15:]),
        Number("token_budget_b", 2048, 16, 16384, grid=geometric(high=16384, extra=[100, 500, 1000])[15:]),
        Number("max_seqs", 64, 1, 1024, grid=geometric(high=1024)),
        Number("kv_blocks", 0, 0, 65536, grid=(0, *geometric(high=65536, extra=[400, 560])[12:])),
        Choice("watermark", AUTO, lambda: (AUTO, *WATERMARKS)),
        Number("long_prefill", 0, 0, 16384, grid=(0, *geometric(high=16384)[15:])),
        Number("shared_prefix", 0, 0, 4096, grid=(0, *geometric(high=4096)[15:])),
        Choice("chunked", "on", lambda: ("on", "off")),
        Choice("reserve", "on", lambda: ("on", "off")),
        Choice("prefix", "off", lambda: ("on", "off")),
        Choice("padded", "off", lambda: ("on", "off")),
        Choice("queue", "fcfs", lambda: ("fcfs", "priority")),
        Choice("lag", "0", lambda: ("0", "1")),
        Choice("pools", "1", lambda: ("1", "2")),
        Number("link", 50.0, 1.0, 900.0, step=1.0),
        Choice("arrivals", "poisson", lambda: ("poisson", "gamma", "constant", "at_once", "closed_loop")),
        Number("rate", 300, 1, 5000, grid=geometric(high=5000, extra=[100, 200, 300, 400, 500, 1000, 2000])),
        Number("burstiness", 0.25, 0.01, 4.0, step=0.01),
        Number("users", 16, 1, 256, grid=geometric(high=256)),
        Number("requests", 30, 1, 300),
        Choice("prompt_kind", "lognormal", lambda: ("fixed", "uniform", "lognormal", "azure_conv", "azure_code")),
        Number("prompt_length", 500, 1, 32768, grid=geometric(high=32768, extra=[100, 500, 1000, 2000])),
        Choice("output_kind", "uniform", lambda: ("fixed", "uniform", "lognormal", "azure_conv", "azure_code")),
        Number("output_length", 100, 1, 4096, grid=geometric(high=4096, extra=[60, 100, 150, 200, 500, 1000])),
        Number("seed", 0, 0, 999),
        Number("sched_step", 47, 0, 999999, bound=False),
        Numbers("zoom", (0, 1000), 0, 1000, most=2),
        Choice("compare_view", "pair", lambda: ("pair", "league", "map")),
        Packed("pinned", lambda text: unpack(text), _pinned),  # noqa: PLW0108  # defined below
        Choice("other", "hardware", lambda: OTHERS),
        Choice("other_hardware", "h200-sxm", cm.hardware),
        Choice("other_model", "llama-3.1-8b", cm.model),
        Number("hourly_b", 0.0, 0.0, 20.0, step=0.1),
        Choice("present", "off", lambda: ("off", "on")),
        Choice("error_rows", "operation", lambda: ("operation", "gpu", "dtype")),
        Choice("error_gpu", "all", lambda: ("all", *accuracy.gpus(), accuracy.UNSEEN)),
        Choice("error_operation", "all", lambda: ("all", *accuracy.operations())),
    )
}

_RESTORED, _OFFERED, _NOTICES, _SAID, _DRAWN = "_restored", "_offered", "_notices", "_said", "_drawn"
_SHARED, _WHOLE, _SHOWN = "_shared_part", "_whole_page", "_page_shown"
_SUPPOSED: ContextVar[Mapping[str, Any]] = ContextVar("supposed", default=MappingProxyType({}))
_SETTLED: ContextVar[Mapping[str, Any] | None] = ContextVar("settled", default=None)


def value(key: str) -> Any:
    """Current value of a control, whether or not its widget is on this page; or the one that is supposed."""
    supposed = _SUPPOSED.get()
    found = supposed[key] if key in supposed else st.session_state.get(key)
    return CONTROLS[key].default if found is None else found


@contextmanager
def supposing(**values: Any) -> Iterator[None]:
    """In this block ``value`` answers as if these controls had these values."""
    token = _SUPPOSED.set(values)
    try:
        yield
    finally:
        _SUPPOSED.reset(token)


def supposed(keys: Iterable[str]) -> bool:
    """Whether one of these controls is supposed to have a value that it has not."""
    return not _SUPPOSED.get().keys().isdisjoint(keys)


def put(**values: Any) -> None:
    """Set controls from code (a question's answer, a chart that was dragged): in a callback, or before the widgets."""
    for key, new in values.items():
        _offer(CONTROLS[key], new)
        st.session_state[key] = new


def pack() -> str:
    """The scenario and the workload of this run as one text, as far as they differ from their defaults."""
    own = {"model_config": value("model") == CUSTOM, "accelerator": value("hardware") == CUSTOM}
    return pack_values({key: value(key) for key in PINNED if own.get(key, True)})


def pack_values(values: Mapping[str, Any]) -> str:
    """Values of controls as one text, as far as they differ from their defaults."""
    changed = {key: new for key, new in values.items() if new != CONTROLS[key].default}
    return codec.pack(
        {key: new if isinstance(CONTROLS[key], Packed) else CONTROLS[key].write(new) for key, new in changed.items()}
    )


def unpack(text: str) -> dict[str, Any]:
    """Undo ``pack`` for a text that a link carried: values by key, each checked as if the link had named it.

    Raises
    ------
    ConfigError: when it is no such text, or a value in it is none that its control can have.
    """
    return _unpacked(codec.unpack(text), codec.link_model)


@lru_cache(maxsize=16)
def unpack_own(text: str) -> dict[str, Any]:
    """Undo ``pack`` for a text of this session, whose own model may be longer than a link."""
    return _unpacked(codec.unpack_own(text), codec.own_model)


def _unpacked(texts: Any, model: Callable[[str], object]) -> dict[str, Any]:
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise cm.ConfigError("pinned", texts, "names of controls and their values")
    values: dict[str, Any] = {}
    for key, text in texts.items():
        if key not in PINNED:
            raise cm.ConfigError("pinned", key, f"one of {', '.join(PINNED)}")
        if key == "model_config":
            model(text)
        values[key] = text if key == "model_config" else CONTROLS[key].parse(text)
    return values


def options(control: Number) -> tuple[int, ...]:
    """The stops of a slider over a grid, with those that links and code of this session asked for beside it."""
    return tuple(sorted({*control.grid, *st.session_state.get(_OFFERED, {}).get(control.key, ())}))


def stops(control: Number) -> Sequence[float]:
    """All values that a slider moves over, from the lowest."""
    if control.grid:
        return options(control)
    count = round((control.high - control.low) / control.step)
    values = [control.low + place * control.step for place in range(count + 1)]
    return [int(found) for found in values] if control.whole else [round(found, 6) for found in values]


def whole_text(control: Control, value: Any) -> str:
    """The text of a value for a file, where it may be longer than in a link."""
    return value if isinstance(control, Packed) else control.write(value) or ""


def parse_whole(control: Control, text: str) -> Any:
    """Undo ``whole_text``; raises ``ConfigError`` for what the control cannot be."""
    if isinstance(control, Packed) and control.check_file is not None:
        control.check_file(text)
        return text
    return control.parse(text)


def snapshot() -> Mapping[str, Any]:
    """Every control with its value, looked up together: one by one they cost a page two milliseconds a run."""
    return _SETTLED.get() or _look_up()


@contextmanager
def settled() -> Iterator[None]:
    """In this block nothing sets a control: they are looked up once."""
    token = _SETTLED.set(MappingProxyType(_look_up()))
    try:
        yield
    finally:
        _SETTLED.reset(token)


def _look_up() -> dict[str, Any]:
    found = st.session_state.to_dict()
    return {key: control.default if found.get(key) is None else found[key] for key, control in CONTROLS.items()}


def replace(values: Mapping[str, Any]) -> None:
    """Set every control: to its value here, else to its default; in a callback."""
    st.session_state[_NOTICES] = {}
    put(**{key: values.get(key, control.default) for key, control in CONTROLS.items()})


def own_model() -> str:
    """The user's own model as the link packs it; "" where there is none."""
    return str(value("model_config"))


def left_out_of_links() -> list[str]:
    """Keys of the controls whose values are too long for a link."""
    return [key for key, found in snapshot().items() if CONTROLS[key].write(found) is None]


@dataclass
class Restored:
    """What a URL says: valid values, and a sentence for each that is not."""

    values: dict[str, Any] = field(default_factory=dict)
    notices: dict[str, str] = field(default_factory=dict)


def read(query: Mapping[str, str]) -> Restored:
    """Read a URL's parameters; those of no control are left alone."""
    restored = Restored()
    for key, text in query.items():
        if key not in CONTROLS:
            continue
        try:
            restored.values[key] = CONTROLS[key].parse(text)
        except ValueError as error:
            restored.notices[key] = f"In the link, {error}. The default is used instead."
    return restored


def restore() -> None:
    """Take over the URL when it is the authority: at the first run of a session, and on back or forward."""
    st.session_state[_DRAWN], st.session_state[_SAID] = set(), []
    travelled = bool(getattr(get_script_run_ctx(), "is_history_navigation", False))
    if st.session_state.get(_RESTORED) and not travelled:
        return
    st.session_state[_RESTORED] = True
    restored = read(st.query_params.to_dict())
    st.session_state[_NOTICES] = restored.notices
    for key, control in CONTROLS.items():
        if key in restored.values:
            put(**{key: restored.values[key]})
        elif travelled and not control.bound:
            st.session_state[key] = control.default


def shared_part_ends() -> None:
    """Remember what the shared part has drawn and said, for runs of the page alone."""
    st.session_state[_SHARED] = set(st.session_state[_DRAWN]), list(st.session_state[_SAID])


@contextmanager
def whole_page() -> Iterator[None]:
    """Run the page in this block; it takes up from the shared part, which is not drawn when the page is run alone."""
    drawn, said = st.session_state[_SHARED]
    st.session_state[_DRAWN], st.session_state[_SAID] = set(drawn), list(said)
    st.session_state[_WHOLE] = True
    try:
        yield
    finally:
        st.session_state[_WHOLE] = False


def in_whole_page() -> bool:
    """Whether the whole page is being run, and not a fragment of it by itself."""
    return bool(st.session_state.get(_WHOLE))


def drawn(key: str) -> None:
    """Remember that the bound widget of this control is on the page: until the next run Streamlit writes its URL."""
    st.session_state[_DRAWN].add(key)


def shown() -> dict[str, str]:
    """The texts that the sliders of the page show, by key."""
    sliders = {key: CONTROLS[key] for key in sorted(st.session_state[_DRAWN])}
    return {key: slider.shown(value(key)) for key, slider in sliders.items() if isinstance(slider, Number)}


def page_shown() -> dict[str, str]:
    """The same at the end of a run of the page, and kept for the fragments that are run by themselves after it."""
    st.session_state[_SHOWN] = found = shown()
    return found


def shown_since() -> dict[str, str]:
    """What other texts sliders show than at the end of the last run of the page: those of a fragment of it."""
    before: dict[str, str] = st.session_state.get(_SHOWN, {})
    return {key: text for key, text in shown().items() if before.get(key) != text}


def publish() -> None:
    """Write what differs from its default into the URL; call it once, after all widgets."""
    drawn, written, changed = st.session_state[_DRAWN], st.query_params.to_dict(), {}
    for key, current in snapshot().items():
        if key in drawn:
            continue
        control = CONTROLS[key]
        text = None if current == control.default else control.write(current)
        if text is None and key in written:
            _unless_bound(st.query_params.pop, key)
        elif text is not None and written.get(key) != text:
            changed[key] = text
    if changed and not _unless_bound(st.query_params.update, changed):
        for key, text in changed.items():
            _unless_bound(st.query_params.update, {key: text})


def _unless_bound(write: Callable[[Any], object], what: Any) -> bool:
    """Write a URL; False where Streamlit keeps a parameter for a slider that this run has not drawn, but the last had.

    The browser then writes it (``address``).
    """
    try:
        write(what)
    except StreamlitAPIException:
        return False
    return True


def address() -> dict[str, str]:
    """What differs from its default, as the parameters of a link to another page."""
    changed = {key: new for key, new in snapshot().items() if new != CONTROLS[key].default}
    written = {key: CONTROLS[key].write(new) for key, new in changed.items()}
    return {key: text for key, text in written.items() if text is not None}


def alone() -> bool:
    """Whether a fragment of the page is run by itself."""
    return bool(getattr(get_script_run_ctx(), "fragment_ids_this_run", None))


def notice(key: str, sentence: str) -> None:
    """Say that a control's value could not be used, and go back to its default; only before its widget."""
    st.session_state.setdefault(_NOTICES, {})[key] = sentence
    st.session_state[key] = CONTROLS[key].default


def say(sentence: str) -> None:
    """Say something about this run only."""
    st.session_state[_SAID].append(sentence)


def notices() -> list[str]:
    """What was said in this run, and of values that could not be used, as long as their controls are not moved."""
    kept = {k: s for k, s in st.session_state.get(_NOTICES, {}).items() if value(k) == CONTROLS[k].default}
    st.session_state[_NOTICES] = kept
    return [*kept.values(), *st.session_state[_SAID]]


def _offer(control: Control, new: Any) -> None:
    """Make sure that a slider over a grid has a stop at ``new``."""
    if isinstance(control, Number) and control.grid:
        st.session_state.setdefault(_OFFERED, {}).setdefault(control.key, set()).add(new)
