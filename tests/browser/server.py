"""A real Streamlit server on a free loopback port."""

import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests.reference import ROOT

HOST = "127.0.0.1"
# A visitor may leave while he uploads.
LEFT = re.compile(r"Exception in ASGI application\nTraceback(?:\n|.)*?\nstarlette\.requests\.ClientDisconnect\n")
START_SECONDS = 60.0  # a bound against hanging; it takes about one


@contextmanager
def serving(
    log: Path, *flags: str, script: str = "app.py", prefix: str = "", environment: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Serve a script while the block runs, and give its address, which ends without a slash.

    `flags` are Streamlit's own, `prefix` is a path in front of every page, `environment` is added to ours.
    A traceback in the server's log fails the block at its end.
    """
    port = _free_port()
    command = [
        *(sys.executable, "-m", "streamlit", "run", script),
        *(f"--server.address={HOST}", f"--server.port={port}", "--server.headless=true"),
        *("--server.fileWatcherType=none", "--browser.gatherUsageStats=false"),
        *(f"--server.baseUrlPath={prefix}", *flags),
    ]
    address = f"http://{HOST}:{port}/{prefix}".rstrip("/")
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **(environment or {})}, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        _wait_until_healthy(process, address, log)
        yield address
    except Exception as error:
        error.add_note(f"the server's log:\n{log.read_text(errors='replace')}")
        raise
    finally:
        _stop(process)
    text = LEFT.sub("", log.read_text(errors="replace"))
    assert "Traceback" not in text, f"the server's log holds a traceback:\n{text}"


def process_id(address: str) -> int:
    """The process that serves this address."""
    flag = f"--server.port={urlsplit(address).port}".encode()
    (found,) = (int(path.parent.name) for path in Path("/proc").glob("[0-9]*/cmdline") if flag in _words(path))
    return found


def resident_mb(address: str) -> float:
    """Memory of the server at this address that is in use, in MB (1e6 bytes)."""
    status = Path(f"/proc/{process_id(address)}/status").read_text(encoding="utf-8")
    (found,) = re.findall(r"VmRSS:\s+(\d+) kB", status)
    return int(found) * 1024 / 1e6


def processor_seconds(address: str) -> float:
    """Time that the server at this address has spent on the processors so far."""
    fields = Path(f"/proc/{process_id(address)}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _words(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().split(b"\0")
    except OSError:  # it has ended meanwhile
        return []


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _wait_until_healthy(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=1) as answer:
                if answer.read() == b"ok":
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    message = f"the server did not start; its log:\n{log.read_text(errors='replace')}"
    raise AssertionError(message)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)
