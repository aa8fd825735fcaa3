"""The worked figures in the docstrings are right.

Run from here and not by `--doctest-modules`: that imports a package's modules a second time beside the real ones.
"""

import doctest
import importlib

import pytest

from tests.reference import ROOT

FOLDERS = ("costmodel", "live", "pages/parts")
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def modules_with_examples() -> list[str]:
    """Dotted names of the modules whose docstrings hold an example."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    with_examples = [path.relative_to(ROOT) for path in paths if ">>> " in path.read_text(encoding="utf-8")]
    return [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in with_examples]


@pytest.mark.parametrize("name", modules_with_examples())
def test_docstrings(name: str) -> None:
    reports: list[str] = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    for examples in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name)):
        runner.run(examples, out=reports.append)
    assert runner.tries
    assert not runner.failures, "".join(reports)
