"""What an hour of an accelerator costs where the user says so: a price for one of them, beside the price for all.

In the URL it is ``id:price`` with commas between. What comes out of a URL is untrusted: how many there are, whose they
are and how high they are is bounded here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import costmodel as cm

CUSTOM = "custom"  # id of an accelerator of the user's own
DEAREST = 1000.0  # an hour, in whichever currency
_MOST = 100  # prices in a link


def pack_prices(prices: Mapping[str, float]) -> str:
    """Prices an hour by accelerator, as one text; "" for none.

    >>> pack_prices({"h100-sxm": 2.5, "a10": 0.75})
    'a10:0.75,h100-sxm:2.5'
    """
    return ",".join(f"{name}:{price:.6g}" for name, price in sorted(prices.items()))


def unpack_prices(text: str) -> dict[str, float]:
    """Undo ``pack_prices``.

    Raises
    ------
    ConfigError: when it is not ids of accelerators and prices above 0.

    >>> unpack_prices("a10:0.75,h100-sxm:2.5"), unpack_prices("")
    ({'a10': 0.75, 'h100-sxm': 2.5}, {})
    """
    parts = text.split(",") if text else []
    prices = dict(_price(part, text) for part in parts[: _MOST + 1])
    if len(parts) > _MOST or len(prices) < len(parts):
        raise cm.ConfigError("league_prices", text, f"one price an accelerator, {_MOST} at most")
    return prices


def _price(part: str, text: str) -> tuple[str, float]:
    name, _, number = part.rpartition(":")
    try:
        price = float(number)
    except ValueError:
        price = math.nan
    if name not in (*cm.hardware(), CUSTOM) or not 0 < price <= DEAREST:
        expected = (
            f"ids of accelerators and prices an hour, such as h100-sxm:2.5, each above 0 and up to {DEAREST:,.0f}"
        )
        raise cm.ConfigError("league_prices", text, expected)
    return name, price
