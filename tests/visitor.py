"""A visitor without a browser: what the browser says to the server over its WebSocket, and what it hears back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.Slider_pb2 import Slider
from websockets.asyncio.client import ClientConnection, connect

T = TypeVar("T")

SILENCE = 60.0  # seconds without a message; a bound against hanging
FINISHED = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)
VIEWS = {"compare": [f"compare?compare_view={view}" for view in ("pair", "league", "map")]}


@dataclass
class Answer:
    """What the server sent until a run had ended.

    Attributes
    ----------
    seconds: from the request to the end of the run. messages, bytes: how many there were, and their size.
    charts: of them, those with a chart; charts_bytes: their size. html: what the page says. buttons: their keys.
    """

    seconds: float = 0.0
    messages: int = 0
    bytes: int = 0
    charts: int = 0
    charts_bytes: int = 0
    html: str = ""
    buttons: list[str] = field(default_factory=list)


@dataclass
class Session:
    """One visitor of one page, such as "roofline" or "compare?compare_view=map"; ``await open()`` comes first."""

    address: str
    path: str = ""
    pages: list[str] = field(default_factory=list)
    sliders: dict[str, Slider] = field(default_factory=dict)  # those of the page, by key
    _socket: ClientConnection | None = None
    _hash: str = ""
    _places: dict[str, int] = field(default_factory=dict)  # of each slider among its stops
    _fragments: dict[str, str] = field(default_factory=dict)
    _buttons: dict[str, str] = field(default_factory=dict)  # ids by key
    _seen: list[tuple[Slider, str, bool]] = field(default_factory=list)
    _kept: set[str] = field(default_factory=set)  # hashes of large messages, which the server need not repeat

    async def open(self) -> Answer:
        """Load the page, as a browser does that is sent to it by a link."""
        stream = f"{self.address.replace('http', 'ws', 1)}/_stcore/stream"
        self._socket = await connect(stream, subprotocols=["streamlit"], origin=_origin(self.address), max_size=None)
        page, _, query = self.path.partition("?")
        return await self._run(ClientState(page_name=page, query_string=query))

    async def close(self) -> None:
        """Leave."""
        if self._socket is not None:
            await self._socket.close()

    async def move(self, key: str) -> Answer:
        """Move a slider by a stop: up, and from its upper end to the lower one."""
        moved = self.sliders[key]
        self._places[key] = (self._places[key] + 1) % _stops(moved)
        state = ClientState(page_script_hash=self._hash, fragment_id=self._fragments[key])
        for other, slider in self.sliders.items():
            widget = state.widget_states.widgets.add(id=slider.id)
            if slider.type == Slider.SELECT_SLIDER:
                widget.string_array_value.data.append(slider.options[self._places[other]])
            else:
                widget.double_array_value.data.append(slider.min + self._places[other] * slider.step)
        return await self._run(state)

    async def run(self) -> Answer:
        """Have the page run again, as it is."""
        return await self._run(ClientState(page_script_hash=self._hash))

    async def press(self, key: str) -> Answer:
        """Press a button."""
        state = ClientState(page_script_hash=self._hash)
        state.widget_states.widgets.add(id=self._buttons[key], trigger_value=True)
        return await self._run(state)

    async def _run(self, state: ClientState) -> Answer:
        """Ask for a run and listen until it has ended."""
        assert self._socket is not None, "not opened"
        state.cached_message_hashes.extend(self._kept)
        state.context_info.url = f"{self.address}/{self.path}"
        answer, started = Answer(), time.perf_counter()
        await self._socket.send(BackMsg(rerun_script=state).SerializeToString())
        whole = not state.fragment_id
        while True:
            data = await asyncio.wait_for(self._socket.recv(decode=False), SILENCE)
            message = ForwardMsg.FromString(data)
            answer.messages += 1
            answer.bytes += len(data)
            self._hear(message, answer, size=len(data))
            if message.WhichOneof("type") == "script_finished" and message.script_finished in FINISHED:
                break
        answer.seconds = time.perf_counter() - started
        if whole and not self.sliders:
            self._note_sliders()
        return answer

    def _hear(self, message: ForwardMsg, answer: Answer, size: int) -> None:
        kind = message.WhichOneof("type")
        if message.metadata.cacheable:
            self._kept.add(message.hash)
        if kind == "navigation":
            self._hash = message.navigation.page_script_hash
            self.pages = [page.url_pathname for page in message.navigation.app_pages]
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            element = message.delta.new_element
            what = element.WhichOneof("type")
            if what == "slider":
                self._seen.append((element.slider, message.delta.fragment_id, message.metadata.delta_path[0] == 0))
            elif what == "vega_lite_chart":
                answer.charts += 1
                answer.charts_bytes += size
            elif what == "html":
                answer.html += element.html.body
            elif what == "button":
                key = _key(element.button.id)
                self._buttons[key] = element.button.id
                answer.buttons.append(key)

    def _note_sliders(self) -> None:
        for slider, fragment, in_page in self._seen:
            key = _key(slider.id)
            if in_page:
                self.sliders[key], self._fragments[key] = slider, fragment
                self._places[key] = round((slider.default[0] - slider.min) / slider.step)
        self._seen.clear()


def _key(widget: str) -> str:
    """The key that the code gave a widget, out of its id."""
    return widget.rsplit("-", 1)[-1]


def _stops(slider: Slider) -> int:
    return round((slider.max - slider.min) / slider.step) + 1


def _origin(address: str) -> str:
    return "/".join(address.split("/", 3)[:3])


def with_views(paths: Iterable[str]) -> list[str]:
    """The paths of pages, and of the views of those that have several."""
    return [view for path in paths for view in VIEWS.get(path, [path])]


async def pages_with_sliders(address: str) -> dict[str, list[str]]:
    """Paths of the served app's pages, each with the keys of its sliders; those without one are left out."""
    first = Session(address)
    await first.open()
    await first.close()
    found = {}
    for path in with_views(first.pages):
        visitor = Session(address, path)
        await visitor.open()
        await visitor.close()
        if visitor.sliders:
            found[path] = list(visitor.sliders)
    return found


def apart(work: Coroutine[object, object, T]) -> T:
    """Do asynchronous work in a thread of its own: Playwright keeps a loop running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
