"""The README's Python runs, and gives what its comments say."""

import ast
import re
from typing import Any

from tests.reference import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def python_blocks() -> list[str]:
    """The fenced blocks of Python, in order."""
    return re.findall(r"^```python\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def shown_results(block: str, names: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Run a block, and give for each expression in it: its source, what it gave, what the comment behind it says."""
    lines, shown = block.splitlines(), []
    for node in ast.parse(block).body:
        source = ast.get_source_segment(block, node) or ""
        if isinstance(node, ast.Expr):
            comment = lines[node.lineno - 1][node.end_col_offset :].partition("#")[2].strip()
            shown.append((source, repr(eval(source, names)), comment))  # noqa: S307  our own README
        else:
            exec(source, names)  # noqa: S102  our own README
    return shown


def test_the_readme_gives_what_it_says() -> None:
    names: dict[str, Any] = {}
    shown = [line for block in python_blocks() for line in shown_results(block, names)]
    assert len(shown) >= 5
    assert [f"{source}  # {gave}" for source, gave, _ in shown] == [f"{source}  # {said}" for source, _, said in shown]


def test_every_file_that_the_readme_names_is_there() -> None:
    named = re.findall(r"^(\S+(?:/|\.py)) {2,}\S", README, flags=re.MULTILINE) + re.findall(
        r"\]\((assets/\S+)\)", README
    )
    named += re.findall(r"`([\w./-]+\.(?:toml|md|txt))`", README)
    assert len(named) >= 7
    assert not [name for name in named if not (ROOT / name).exists()]


def test_every_make_target_that_the_readme_names_is_there() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z]+)\b(?=`|  | ARGS)", README))
    assert {"run", "test", "check", "bench"} <= named
    assert named <= targets
