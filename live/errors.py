"""What can go wrong while measuring, each as one sentence that a page can show.

Bad input is a ``ValueError`` as everywhere (``costmodel.errors``); these are what the machine does to us.
"""


class LiveError(RuntimeError):
    """Measuring failed; the message says what happened and what to do."""


class DeviceBusy(LiveError):
    """Another measurement holds the device."""


class Cancelled(LiveError):
    """The caller asked for the measurement to stop, and it has."""
