"""The configs that the tests of the reader draw on: the catalogue's, and those of sibling models.

`siblings.json`: sizes as the models' config.json on the Hugging Face Hub give them; `params`: parameters of the
transformers class (5.24) built from that config on the meta device, language part only; `kv`: (layers that keep a
cache, values a token leaves in each), worked by hand; `state`: bytes of recurrent state a sequence, worked by hand.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import costmodel.catalog

_HERE = Path(__file__).parent
SIBLINGS: list[dict[str, Any]] = json.loads((_HERE / "siblings.json").read_text(encoding="utf-8"))
CATALOGUE: dict[str, dict[str, Any]] = {name: row["config"] for name, row in costmodel.catalog._rows().items()}
CONFIGS: dict[str, dict[str, Any]] = CATALOGUE | {row["name"]: row["config"] for row in SIBLINGS}


def changed(name: str, **changes: Any) -> dict[str, Any]:
    """A copy of a config with keys changed, in its language part where it has one; None takes a key away."""
    config = copy.deepcopy(CONFIGS[name])
    part = config.get("text_config", config)
    part.update({key: value for key, value in changes.items() if value is not None})
    for key in (key for key, value in changes.items() if value is None):
        part.pop(key, None)
    return config
