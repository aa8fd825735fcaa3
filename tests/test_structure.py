"""The shape of the house: which way imports point, how long a function may be, what no file may mention."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reference import ROOT

IMPORT_EVERYTHING = """
import importlib, pkgutil, sys
package = importlib.import_module({package!r})
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(*sorted({{name.split(".")[0] for name in sys.modules}}))
"""
MAX_FUNCTION_LINES = 60
MACHINE_PATH = re.compile(r"/(?:work|farm|root|home/\w+|tmp/bash_jobs)/\w")
REGISTRY = re.compile(r"\b(?:pypi|pythonhosted|npmjs)\.(?:org|com|net)\b")


def tracked(pattern: str = "*") -> list[Path]:
    """Files that are, or are about to be, in the repository."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", pattern],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    return [path for name in listing.split("\0") if name and (path := ROOT / name).is_file()]


def loaded_by(package: str) -> set[str]:
    """Top-level names in sys.modules after a fresh interpreter has imported every module of a package."""
    program = IMPORT_EVERYTHING.format(package=package)
    answer = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return set(answer.stdout.split())


def imported_by(path: Path) -> Iterator[str]:
    """Top-level names that a file imports anywhere in it, functions included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").split(".")[0]


@pytest.mark.parametrize(
    ("package", "forbidden"),
    [
        ("costmodel", {"streamlit", "altair", "torch", "live", "pages"}),
        ("live", {"streamlit", "altair", "torch", "pages"}),
    ],
)
def test_importing_a_package_brings_in_nothing_that_it_must_not_need(package: str, forbidden: set[str]) -> None:
    loaded = loaded_by(package)
    assert package in loaded
    assert not loaded & forbidden


@pytest.mark.parametrize(
    ("package", "forbidden"),
    [
        ("costmodel", {"live", "pages", "streamlit", "altair", "torch"}),
        ("live", {"pages", "streamlit", "altair"}),
        ("pages", {"torch"}),
    ],
)
def test_arrows_point_one_way(package: str, forbidden: set[str]) -> None:
    files = tracked(f"{package}/*.py")
    assert files
    wrong = {
        f"{path.relative_to(ROOT)} imports {name}" for path in files for name in imported_by(path) if name in forbidden
    }
    assert not wrong


def test_every_function_can_be_seen_whole() -> None:
    functions = [
        (node.end_lineno - node.lineno + 1, f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
        for path in tracked("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
    ]
    assert functions
    assert not [where for lines, where in functions if lines > MAX_FUNCTION_LINES]


def test_no_file_mentions_a_machine_or_a_registry() -> None:
    mentions = []
    for path in tracked():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        mentions += [
            f"{path.relative_to(ROOT)}: {found[0]}"
            for rule in (MACHINE_PATH, REGISTRY)
            for found in rule.finditer(text)
        ]
    assert not mentions
