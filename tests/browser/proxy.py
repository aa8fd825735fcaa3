"""A proxy in front of a server, as a team has one: it passes on all that it hears, and can lose its connections."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from tests.browser.server import HOST


class Proxy:
    """Passes connections on to the server at ``target``, paths and WebSockets included."""

    def __init__(self, target: str) -> None:
        self.target = target
        self._listener = socket.create_server((HOST, 0))
        self._open: list[socket.socket] = []
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def address(self) -> str:
        """Where it is reached: the target's address, at a port of its own."""
        return f"http://{HOST}:{self._listener.getsockname()[1]}{urlsplit(self.target).path}"

    def drop(self) -> None:
        """Lose every connection that is open, as a network does."""
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._open.clear()

    def close(self) -> None:
        """Serve nobody any more."""
        self._listener.close()
        self.drop()

    def _listen(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # it was closed
                return
            try:
                server = socket.create_connection((HOST, urlsplit(self.target).port))
            except OSError:  # nobody is there: the server is being started again
                client.close()
                continue
            self._open += [client, server]
            for ends in ((client, server), (server, client)):
                threading.Thread(target=_pass_on, args=ends, daemon=True).start()


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


@contextmanager
def proxied(target: str) -> Iterator[Proxy]:
    """A proxy for the server at this address while the block runs."""
    proxy = Proxy(target)
    try:
        yield proxy
    finally:
        proxy.close()
