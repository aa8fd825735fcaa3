"""Figures that a benchmark states in its own words, such as steps a second or peak memory, printed at the end."""

from collections.abc import Callable

import pytest

Figure = Callable[[str], None]
FIGURES = pytest.StashKey[list[str]]()


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Figure:
    """`figure("1.4 million steps/s: sweep of batch 1..512")` prints the line after the run, under the test's name."""

    def note(text: str) -> None:
        request.config.stash.setdefault(FIGURES, []).append(f"{request.node.name}: {text}")

    return note


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what the benchmarks noted."""
    figures = config.stash.get(FIGURES, [])
    if figures:
        terminalreporter.section("figures")
        for line in figures:
            terminalreporter.write_line(line)
