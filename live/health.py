"""How busy and how fast a device is, and what two such readings say about the measurement between them."""

from __future__ import annotations

from dataclasses import dataclass

_BUSY = 0.10  # of the device's time, before anything of ours runs on it
_SLOWED = 0.10  # of the speed of the same reference work
_DISTURBED = 0.25  # of all samples


@dataclass(frozen=True, kw_only=True)
class Health:
    """A reading; None where it cannot be read.

    Attributes
    ----------
    busy: fraction of the device's time that it worked, for whomever.
    clock_hz: of its arithmetic units now. throttled: why its driver holds them back, in words.
    """

    busy: float | None = None
    clock_hz: float | None = None
    throttled: tuple[str, ...] = ()


def concerns(before: Health, after: Health, drift: float, disturbed: float) -> list[str]:
    """What a reader of the figures should know: sentences, none when all was quiet.

    ``drift``: seconds of the reference work at the slowest, over the fastest. ``disturbed``: fraction of samples.

    >>> concerns(Health(busy=0.6), Health(), drift=1.0, disturbed=0.0)
    ['The device was 60 % busy before the measurement began: other work slowed what was measured.']
    """
    said = []
    if before.busy is not None and before.busy > _BUSY:
        said.append(
            f"The device was {before.busy:.0%} busy before the measurement began: other work slowed what was measured."
        )
    if after.throttled:
        said.append(f"The driver held the clock back: {', '.join(after.throttled)}.")
    if drift > 1 + _SLOWED:
        said.append(
            f"The same reference work took up to {drift:.2f} times as long during the measurement: "
            "the clock was throttled, or other work shared the device."
        )
    if disturbed > _DISTURBED:
        said.append(
            f"Other programs ran during {disturbed:.0%} of the samples; "
            "where enough others remain they are left out, else the time that was waited for a core is taken off."
        )
    return [sentence.replace("%", " %").replace("  %", " %") for sentence in said]
