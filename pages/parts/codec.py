"""What does not fit a plain URL value (a custom accelerator, a pasted config), packed into one.

JSON, compressed, in the letters that a URL leaves alone. What comes out of a URL is untrusted: sizes are bounded
before anything is unpacked, and what was unpacked is only ever handed to the checks of ``costmodel``.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import costmodel as cm
from costmodel.hardware import GIB

LONGEST_TEXT = 16_000  # characters of a packed value: browsers and proxies cut longer addresses
LONGEST_JSON = 1_000_000  # bytes after unpacking
LONGEST_NAME = 80  # characters
LARGEST_MEMORY_GIB = 100_000
_OWN_JSON = 8_000_000  # bytes of a config that this session packed itself: what the reader takes, and its quantization

PEAK_UNITS = ("bf16", "fp16", "fp8", "int8", "fp4", "tf32", "fp32")


def pack(value: Any) -> str:
    """Pack a JSON value.

    >>> unpack(pack({"name": "<b>X</b>", "peak": [1, 2.5, None]}))
    {'name': '<b>X</b>', 'peak': [1, 2.5, None]}
    """
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    packed = zlib.compress(text.encode(errors="surrogatepass"), 9)
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def unpack(text: str, *, longest: int = LONGEST_TEXT, largest: int = LONGEST_JSON) -> Any:
    """Undo ``pack``, for at most ``longest`` characters that hold at most ``largest`` bytes.

    Raises
    ------
    ConfigError: when the text was cut, changed, or would unpack to something huge.
    """
    expected = "a link as the page wrote it"
    if len(text) > longest:
        raise cm.ConfigError("packed value", f"{len(text):,} characters", f"at most {longest:,}")
    try:
        packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        stream = zlib.decompressobj()
        raw = stream.decompress(packed, largest)
        if not stream.eof:
            raise cm.ConfigError("packed value", text, expected)
        return json.loads(raw)
    except (binascii.Error, zlib.error, ValueError, RecursionError) as error:
        if isinstance(error, cm.ConfigError):
            raise
        raise cm.ConfigError("packed value", text, expected) from None


def unpack_own(text: str) -> Any:
    """Undo ``pack`` for a text of this session, which may be longer than a link."""
    return unpack(text, longest=_OWN_JSON, largest=_OWN_JSON)


def pack_model(config: Mapping[str, Any], quantization: Mapping[str, Any] | None = None, name: str = "") -> str:
    """Pack a ``config.json``, the ``hf_quant_config.json`` that stood beside it, and what the model shall be called."""
    return pack([config, quantization, clean_name(name)])


def link_model(text: str) -> cm.Model:
    """Undo ``pack_model`` for a text that a link carried.

    Raises
    ------
    ConfigError: when it is not a packed model, or its config cannot be read.
    """
    return _model(unpack(text))


@lru_cache(maxsize=32)
def own_model(text: str) -> cm.Model:
    """Undo ``pack_model`` for a text of this session, which may be longer than a link.

    Raises
    ------
    ConfigError: when it is not a packed model, or its config cannot be read.
    """
    return _model(unpack_own(text))


def own_config(text: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The config and the quantization that ``pack_model`` packed in this session.

    Raises
    ------
    ConfigError: when it is not a packed model.
    """
    return _parts(unpack_own(text))[:2]


def _parts(value: Any) -> tuple[dict[str, Any], dict[str, Any] | None, str]:
    if not (isinstance(value, list) and len(value) == 3 and isinstance(value[2], str)):  # noqa: PLR2004
        raise cm.ConfigError("model", value, "a config, its quantization and a name")
    config, quantization, name = value
    if not isinstance(config, dict) or not isinstance(quantization, dict | None):
        raise cm.ConfigError("model", value, "the objects of a config.json and of an hf_quant_config.json")
    return config, quantization, name


def _model(value: Any) -> cm.Model:
    config, quantization, name = _parts(value)
    model = cm.Model.from_config(config, quantization)
    return model.replace(name=clean_name(name) or _described(model))


def clean_name(name: str) -> str:
    """A name of bounded length, of letters that can be shown."""
    return "".join(letter for letter in name if letter.isprintable()).strip()[:LONGEST_NAME].strip()


def _described(model: cm.Model) -> str:
    """The name that a config gives itself, else one of its family: "My llama"."""
    return model.name if model.name != model.family else f"My {model.family}"


def pack_hardware(hw: cm.Hardware) -> str:
    """Pack the figures of a custom accelerator."""
    return pack([hw.name, hw.bandwidth, hw.memory, dict(hw.peak)])


def unpack_hardware(text: str) -> cm.Hardware:
    """Undo ``pack_hardware``.

    Raises
    ------
    ConfigError: when it is not a packed accelerator, or its figures are not possible ones.
    """
    value = unpack(text)
    if not (isinstance(value, list) and len(value) == 4 and isinstance(value[3], dict)):  # noqa: PLR2004
        raise cm.ConfigError("accelerator", value, "a name, a bandwidth, a memory and the peaks")
    name, bandwidth, memory, peak = value
    return custom_hardware(name, bandwidth=bandwidth, memory=memory, peak=peak)


def custom_hardware(name: str, *, bandwidth: float, memory: float | None, peak: dict[str, float]) -> cm.Hardware:
    """An accelerator of the user's own: B/s, bytes, dense FLOP/s by unit.

    Raises
    ------
    ConfigError: when a figure is not a positive finite number, or no peak is given.
    """
    if not isinstance(name, str) or not name.strip() or len(name) > 80:  # noqa: PLR2004
        raise cm.ConfigError("name", name, "1 to 80 characters")
    if not peak:
        raise cm.ConfigError("peak", "none", "at least one, so that there is arithmetic to do")
    return cm.Hardware(
        id="custom", name=name.strip(), bandwidth=bandwidth, memory=memory, peak=peak, source="your own figures"
    )


def pack_memory(hardware_id: str, gib: float) -> str:
    """Pack the usable memory (GiB) that a user gives for an accelerator whose own is not published."""
    return f"{hardware_id}:{gib:.10g}"


def unpack_memory(text: str) -> tuple[str, float]:
    """Undo ``pack_memory``: the id of the accelerator, and its usable memory in bytes.

    Raises
    ------
    ConfigError: when it is not an id and a number of GiB.

    >>> unpack_memory(pack_memory("mi325x", 255.5))
    ('mi325x', 274341036032.0)
    """
    hardware_id, _, number = text.rpartition(":")
    try:
        gib = float(number)
    except ValueError:
        gib = math.nan
    if not hardware_id or not 0 < gib <= LARGEST_MEMORY_GIB:
        expected = f"an accelerator's id and its memory in GiB, up to {LARGEST_MEMORY_GIB:,}"
        raise cm.ConfigError("own_memory", text, expected)
    return hardware_id, gib * GIB
