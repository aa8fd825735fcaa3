"""A hub on this machine: serves configs the way the real one does, with its headers, refusals and delays."""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass(frozen=True)
class Repo:
    """What the hub has under an id, and how it treats who asks."""

    files: Mapping[str, bytes]
    gated: bool = False
    sized: bool = True
    status: int = 200
    seconds: float = 0.0


def repo(**files: Any) -> Repo:
    """A public repository of JSON files, named by their stems."""
    return Repo({f"{stem}.json": json.dumps(content).encode() for stem, content in files.items()})


class _Handler(BaseHTTPRequestHandler):
    repos: Mapping[str, Repo] = {}

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def log_message(self, *_: object) -> None:
        """Keep the test's output quiet."""

    def _answer(self, *, body: bool) -> None:
        id_, _, name = self.path.lstrip("/").partition("/resolve/main/")
        found = self.repos.get(id_)
        if found is None:
            self._refuse(401, "RepoNotFound")
            return
        time.sleep(found.seconds)
        content = found.files.get(name)
        if found.gated:
            self._refuse(403, "GatedRepo")
        elif found.status != 200:
            self._refuse(found.status, "")
        elif content is None:
            self._refuse(404, "EntryNotFound")
        else:
            self._send(content, body=body, sized=found.sized)

    def _refuse(self, status: int, code: str) -> None:
        self.send_response(status)
        self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send(self, content: bytes, *, body: bool, sized: bool) -> None:
        self.send_response(200)
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{hash(content) & 0xFFFFFFFF:x}"')
        if sized:
            self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        if body:
            self.wfile.write(content)


@contextmanager
def local_hub(repos: Mapping[str, Repo]) -> Iterator[str]:
    """Serve these repositories, and give the address for ``HF_ENDPOINT``."""
    handler = type("Handler", (_Handler,), {"repos": repos})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
