"""What is public says what it is: meaning, errors, units where a name has none, and where a formula comes from."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.reference import ROOT

MODULES = [path for package in ("costmodel", "live") for path in sorted((ROOT / package).rglob("*.py"))]
QUANTITIES = {"bandwidth", "gap", "hourly", "latency", "link", "peak", "rate", "speed", "span", "utilization"}
"""Names of parameters that do not say in what they are counted, as ``seconds`` and ``nbytes`` do."""
UNIT = re.compile(
    r"second|byte|[MGT]i?B\b|FLOP|token|request|share|ratio|fraction|hour|times|/s\b|price", re.IGNORECASE
)
SOURCE = re.compile(r"\bSources?\b|arXiv|``costmodel\.")
MANY_PRODUCTS = 10  # of a module of the cost model: from here on it holds formulas


class Public(NamedTuple):
    """A public function or class, with what surrounds it."""

    where: str
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    around: tuple[str, ...]

    @property
    def says(self) -> str:
        return ast.get_docstring(self.node) or ""


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def public(path: Path) -> Iterator[Public]:
    """Public functions, classes and methods of a module. Overloads describe themselves where they are defined."""
    module = tree(path)
    yield from _public(module.body, f"{path.relative_to(ROOT)} ", (ast.get_docstring(module) or "",))


def _public(body: list[ast.stmt], where: str, around: tuple[str, ...]) -> Iterator[Public]:
    for node in body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        if any(ast.unparse(decorator).endswith("overload") for decorator in node.decorator_list):
            continue
        found = Public(f"{where}{node.name}", node, around)
        yield found
        if isinstance(node, ast.ClassDef):
            yield from _public(node.body, f"{where}{node.name}.", (*around, found.says))


def functions(path: Path) -> list[Public]:
    return [found for found in public(path) if not isinstance(found.node, ast.ClassDef)]


def raised(node: ast.AST) -> set[str]:
    """Names of what a function raises itself; what it only passes on is raised elsewhere."""
    calls = [n.exc for n in ast.walk(node) if isinstance(n, ast.Raise) and n.exc is not None]
    return {ast.unparse(call.func if isinstance(call, ast.Call) else call) for call in calls}


def test_everything_public_says_what_it_is() -> None:
    assert len(MODULES) > 80
    silent = [str(path.relative_to(ROOT)) for path in MODULES if not ast.get_docstring(tree(path))]
    silent += [found.where for path in MODULES for found in public(path) if not found.says]
    assert not silent


def test_every_function_that_raises_says_when() -> None:
    raising = [found for path in MODULES for found in functions(path) if raised(found.node)]
    assert len(raising) > 60
    assert not [f"{found.where}: {raised(found.node)}" for found in raising if "raise" not in found.says.lower()]


def test_a_quantity_whose_name_has_no_unit_is_given_one() -> None:
    asked, silent = 0, []
    for path in MODULES:
        for found in functions(path):
            arguments = found.node.args
            names = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)} & QUANTITIES
            asked += len(names)
            if names and not any(UNIT.search(text) for text in (found.says, *found.around[1:])):
                silent.append(f"{found.where}: {', '.join(sorted(names))}")
    assert asked > 10
    assert not silent


@pytest.mark.parametrize(
    "path", [path for path in MODULES if path.is_relative_to(ROOT / "costmodel")], ids=lambda p: p.stem
)
def test_a_module_with_formulas_names_their_source(path: Path) -> None:
    module = tree(path)
    products = [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div | ast.Pow)
    ]
    strings = [n.value.value for n in ast.walk(module) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)]
    if len(products) >= MANY_PRODUCTS:
        assert any(SOURCE.search(text) for text in strings if isinstance(text, str))
