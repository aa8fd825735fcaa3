"""Scripts and style sheets that stand in files beside the code that sends them."""

from __future__ import annotations

from pathlib import Path


def read(module: str, *names: str) -> str:
    """The text of these files, one after the other, from the folder of a module: ``read(__file__, "ahead.js")``."""
    folder = Path(module).parent
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)
