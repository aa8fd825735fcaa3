"""A model's config from the Hugging Face hub, by its id.

``huggingface_hub`` is imported only when somebody asks, and works in a thread of its own, so that a slow hub costs the
page a bounded wait and nothing else. It asks without a token: what a visitor reads here never depends on who runs the
server. ``HF_ENDPOINT`` names another hub, as everywhere with that library.
"""

from __future__ import annotations

import os
import queue
import re
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from costmodel.config.document import MAX_BYTES

SECONDS = 15.0
"""Longest wait for the hub, in all."""

_ID = re.compile(r"[A-Za-z0-9][\w.\-]*(?:/[A-Za-z0-9][\w.\-]*)?", re.ASCII)
_LONGEST_ID = 120
_WORDS = 160  # characters of somebody else's message
_HOST = re.compile(r"^https?://[^/\s]+/")


class HubError(ValueError):
    """The hub did not give a config; the message says why and what to do instead."""


@dataclass(frozen=True)
class Found:
    """What the hub has of a model: its name, its ``config.json``, and its ``hf_quant_config.json``, if any."""

    name: str
    config: str
    quantization: str | None


def repository(text: str) -> str:
    """Return the id in what a user typed: the id itself, or the address of its page.

    Raises
    ------
    HubError: when there is none.

    >>> repository(" https://huggingface.co/Qwen/Qwen3-0.6B/tree/main "), repository("gpt2")
    ('Qwen/Qwen3-0.6B', 'gpt2')
    """
    typed = text.strip()
    address = _HOST.match(typed)
    found = "/".join(typed[address.end() :].split("?")[0].split("/")[:2]) if address else typed
    if len(found) > _LONGEST_ID or not _ID.fullmatch(found):
        raise HubError(f"{typed[:60]!r} is no hub id: it looks like Qwen/Qwen3-0.6B.")
    return found


def fetch(hub_id: str, seconds: float = SECONDS) -> Found:
    """Fetch the config of a model, waiting at most ``seconds``.

    Raises
    ------
    HubError: for an id that is none or unknown, a gated model, a hub that cannot be reached or is too slow.
    """
    repo = repository(hub_id)
    answer: queue.SimpleQueue[Found | Exception] = queue.SimpleQueue()

    def work() -> None:
        try:
            answer.put(_download(repo))
        except Exception as error:  # noqa: BLE001  # whatever a hub can do wrong is the page's to say
            answer.put(error)

    threading.Thread(target=work, name=f"hub {repo}", daemon=True).start()
    try:
        found = answer.get(timeout=seconds)
    except queue.Empty:
        raise HubError(f"The hub did not answer within {seconds:g} seconds. Try again, or paste the config.") from None
    if isinstance(found, Found):
        return found
    raise HubError(_reason(repo, found)) from None


def _download(repo: str) -> Found:
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # read at the import: ask for the files, nothing else
    from huggingface_hub import errors  # noqa: PLC0415  # a third of a second, and needed by few
    from huggingface_hub.utils.tqdm import disable_progress_bars  # noqa: PLC0415

    disable_progress_bars()
    with tempfile.TemporaryDirectory() as folder:
        config = _file(repo, "config.json", folder)
        try:
            quantization = _file(repo, "hf_quant_config.json", folder)
        except errors.EntryNotFoundError:
            quantization = None
    return Found(repo.rsplit("/", maxsplit=1)[-1], config, quantization)


def _file(repo: str, name: str, folder: str) -> str:
    import huggingface_hub  # noqa: PLC0415

    endpoint = os.environ.get("HF_ENDPOINT")
    # Asked first, because a download retries for half a minute where there is no hub, and takes files of any size.
    address = huggingface_hub.hf_hub_url(repo, name, endpoint=endpoint)
    size = huggingface_hub.get_hf_file_metadata(address, token=False, endpoint=endpoint).size
    if size is None:
        raise HubError(f"The hub does not say how large the {name} of {repo} is, so paste the config instead.")
    if size > MAX_BYTES:
        raise HubError(f"The {name} of {repo} has {size:,} bytes; at most {MAX_BYTES:,} are read.")
    path = huggingface_hub.hf_hub_download(repo, name, local_dir=folder, token=False, endpoint=endpoint)
    return Path(path).read_text(encoding="utf-8")


# By name and not by class, so that nothing is imported before somebody asks; the first that fits is said.
_REASONS = {
    "ImportError": "The package huggingface_hub is not installed, so paste the config instead.",
    "GatedRepoError": (
        "{repo} is gated: its files are given only to who accepted its licence on the hub. "
        "Download its config.json there, and paste or upload it here."
    ),
    "OfflineModeIsEnabled": "HF_HUB_OFFLINE is set on this server, so paste the config instead.",
    "RepositoryNotFoundError": "The hub has no public model {repo}. Look at the spelling, capitals too.",
    "EntryNotFoundError": "{repo} is on the hub but has no config.json.",
    "HFValidationError": "{repo} is no hub id: it looks like Qwen/Qwen3-0.6B.",
    "UnicodeDecodeError": "The config.json of {repo} is no text in UTF-8.",
    "TimeoutException": "The hub answers too slowly. Try again, or paste the config.",
}


def _reason(repo: str, error: Exception) -> str:
    if isinstance(error, HubError):
        return str(error)
    for kind in type(error).__mro__:
        if kind.__name__ in _REASONS:
            return _REASONS[kind.__name__].format(repo=repo)
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status is not None:
        return f"The hub answered {status} for {repo}. Try again later, or paste the config."
    return f"The hub cannot be reached from here. Paste or upload the config instead. ({_first_line(error)})"


def _first_line(error: Exception) -> str:
    line = str(error).strip().split("\n", maxsplit=1)[0] or type(error).__name__
    return line if len(line) <= _WORDS else f"{line[: _WORDS - 1]}…"
