"""The worked figures in the docstrings of `live/`."""

import doctest
import importlib
import pkgutil

import pytest

import live

MODULES = [name for _, name, _ in pkgutil.walk_packages(live.__path__, "live.") if not name.endswith("__main__")]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("name", ["live", *MODULES])
def test_docstrings_are_right(name):
    found = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert found.failed == 0
