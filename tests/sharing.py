"""Which tests run in one process, one after the other, when several processes share them.

pytest-xdist has a mark of its own for that, ``xdist_group``, which is lost with pytest 9.2: xdist 3.8 writes it to
where pytest no longer looks.
"""

from __future__ import annotations

import re

from xdist.scheduler import LoadScopeScheduling

GROUPS = (
    ("measuring", r"tests/live/test_measure\.py|tests/benchmarks/test_live\.py"),  # they share what they have measured
    ("measuring in a browser", r"tests/browser/test_(measure|robust)\.py"),
    ("tour {}", r"\[tour-(\w+)\]$"),  # of the tests that ask about one tour of the pages: see tests/browser/tour.py
)
"""Names of groups, and the ids of their tests; what a pattern captures becomes part of the name."""


class Groups(LoadScopeScheduling):  # type: ignore[misc]  # xdist's scheduler comes without types
    """Gives each process a group, or a test that is in none."""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)


def group(nodeid: str) -> str:
    """The group of a test; its own id when it is in none.

    >>> group("tests/browser/test_accessibility.py::test_axe_finds_nothing_serious[tour-dark]")
    'tour dark'
    >>> group("tests/live/test_measure.py::test_devices_from_a_shell")
    'measuring'
    >>> group("tests/test_readme.py::test_one")
    'tests/test_readme.py::test_one'
    """
    for name, pattern in GROUPS:
        if found := re.search(pattern, nodeid):
            return name.format(*found.groups())
    return nodeid
