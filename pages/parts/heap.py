"""The process's heap, kept out of the way of full garbage collections.

Over the imports and the caches a full collection holds the interpreter for 30 to 120 ms, and over what a team's
sessions keep for some 20 ms: a quarter of what a slider costs. So Streamlit's own, after each script run, is off
(``postScriptGC`` in the configuration), and one is run here now and then that looks through all, so that sessions that
have ended are found. (With a time to live on ``st.cache_resource`` instead, the value can go between two looks of two
sessions, and a run then fails.)
"""

from __future__ import annotations

import gc
import threading
import time
from dataclasses import dataclass, field

EVERY = 30.0
"""Seconds from one look to the next."""


@dataclass
class Heap:
    """When to look through the heap again; ``due`` is on the monotonic clock."""

    due: float = 0.0
    _looking: threading.Lock = field(default_factory=threading.Lock)

    def settle(self) -> bool:
        """Collect what is garbage and put the rest aside, where it is time and nobody else does; say whether it was."""
        if time.monotonic() < self.due or not self._looking.acquire(blocking=False):
            return False
        try:
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            self.due = time.monotonic() + EVERY
        finally:
            self._looking.release()
        return True


HEAP = Heap()
"""That of this process."""
