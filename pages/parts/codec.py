"""What does not fit a plain URL value (a custom accelerator, a pasted config), packed into one.

JSON, compressed, in the letters that a URL leaves alone. What comes out of a URL is untrusted: sizes are bounded
before anything is unpacked, and what was unpacked is only ever handed to the checks of ``costmodel``.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from typing import Any

import costmodel as cm

LONGEST_TEXT = 16_000  # characters of a packed value: browsers and proxies cut longer addresses
LONGEST_JSON = 1_000_000  # bytes after unpacking

PEAK_UNITS = ("bf16", "fp16", "fp8", "int8", "fp4", "tf32", "fp32")


def pack(value: Any) -> str:
    """Pack a JSON value.

    >>> unpack(pack({"name": "<b>X</b>", "peak": [1, 2.5, None]}))
    {'name': '<b>X</b>', 'peak': [1, 2.5, None]}
    """
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    packed = zlib.compress(text.encode(), 9)
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def unpack(text: str) -> Any:
    """Undo ``pack``.

    Raises
    ------
    ConfigError: when the text was cut, changed, or would unpack to something huge.
    """
    expected = "a link as the page wrote it"
    if len(text) > LONGEST_TEXT:
        raise cm.ConfigError("packed value", f"{len(text):,} characters", f"at most {LONGEST_TEXT:,}")
    try:
        packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        stream = zlib.decompressobj()
        raw = stream.decompress(packed, LONGEST_JSON)
        if not stream.eof:
            raise cm.ConfigError("packed value", text, expected)
        return json.loads(raw)
    except (binascii.Error, zlib.error, ValueError, RecursionError) as error:
        if isinstance(error, cm.ConfigError):
            raise
        raise cm.ConfigError("packed value", text, expected) from None


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
