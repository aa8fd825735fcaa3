"""Names of modules: which matrices a quantization config leaves at full width, by plain names, globs or patterns.

Patterns come from strangers, so none is run as a regular expression: the few constructs that real configs use are
turned into globs, which match in time linear in the name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import product

from costmodel.errors import ConfigError

_ATTENTION = ("self_attn", "attention", "attn", "self_attention", "mixer")
_MLP = ("mlp", "feed_forward", "block_sparse_moe", "mixer", "ffn", "moe")


def _under(parents: Sequence[str], *children: str) -> tuple[str, ...]:
    return tuple(f"{parent}.{child}" for parent in parents for child in children)


_SHARED = tuple(f"{mlp}.{name}" for mlp in _MLP for name in ("shared_experts", "shared_expert", "shared_mlp"))
_EXPERTS = tuple(f"{mlp}.experts.0" for mlp in _MLP)

MODULES: Mapping[str, tuple[str, ...]] = {
    "qkv": _under(_ATTENTION, "q_proj", "k_proj", "v_proj", "qkv_proj", "query_key_value", "c_attn", "Wqkv", "wqkv"),
    "o": (*_under(_ATTENTION, "o_proj", "dense", "c_proj", "wo"), "self_attn.out_proj", "attn.out_proj"),
    "q_up": _under(_ATTENTION, "q_proj", "q_b_proj"),
    "qkv_down": _under(_ATTENTION, "q_a_proj", "kv_a_proj_with_mqa", "fused_qkv_a_proj_with_mqa"),
    "kv_up": _under(_ATTENTION, "kv_b_proj"),
    "gate_up": (
        *_under(_MLP, "gate_proj", "up_proj", "gate_up_proj", "fc1", "fc_in", "c_fc", "dense_h_to_4h", "w1", "w3"),
        "fc1",
    ),
    "down": (*_under(_MLP, "down_proj", "fc2", "fc_out", "c_proj", "dense_4h_to_h", "w2"), "fc2"),
    "experts": _under(_EXPERTS, "gate_proj", "up_proj", "down_proj", "w1", "w2", "w3"),
    "shared_gate_up": _under(_SHARED, "gate_proj", "up_proj", "input_linear"),
    "shared_down": _under(_SHARED, "down_proj", "output_linear"),
    "router": _under(_MLP, "gate", "router", "router.layer", "shared_expert_gate"),
    "linear_in": ("linear_attn.in_proj_qkvz", "linear_attn.in_proj_qkv", "linear_attn.in_proj_z"),
    "linear_gates": ("linear_attn.in_proj_ba", "linear_attn.in_proj_b", "linear_attn.in_proj_a"),
    "linear_out": ("linear_attn.out_proj",),
    "ssm_in": ("mixer.in_proj", "mamba.in_proj"),
    "ssm_x": ("mixer.x_proj", "mamba.x_proj"),
    "ssm_dt": ("mixer.dt_proj", "mamba.dt_proj"),
    "ssm_out": ("mixer.out_proj", "mamba.out_proj"),
    "head": ("lm_head", "output", "embed_out"),
}
"""Role of a matrix, and the names that checkpoints give to the modules that hold it, below their layer."""

_CONTAINER = re.compile(r"^(?:.*[.*])?(?:layers|h|blocks|block)\.([^.]+)(?:\.|$)")
_GLOB = re.compile(r"[*?\[]")
_LONGEST_NAME = 300
_MOST_GLOBS = 500
_MOST_ALTERNATIVES = 64


class Skipped:
    """The modules that a quantization config leaves out.

    Parameters
    ----------
    patterns: names ("lm_head", "model.layers.0.self_attn"), globs ("*.self_attn*"), or patterns after "re:".
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._everywhere: list[str] = []
        self._numbered: dict[str, list[str]] = {}
        globs = 0
        for name in (glob for pattern in patterns for glob in _globs(pattern)):
            if len(name) > _LONGEST_NAME:
                raise ConfigError("quantization_config", name, f"module names of at most {_LONGEST_NAME} characters")
            globs += bool(_GLOB.search(name))
            layer = _CONTAINER.match(name)
            if layer is None or not layer[1].strip("*"):
                self._everywhere.append(name[layer.end() :] if layer else name)
            else:
                self._numbered.setdefault(layer[1], []).append(name[layer.end() :])
        if globs > _MOST_GLOBS:
            raise ConfigError("quantization_config", f"{globs:,} patterns", f"at most {_MOST_GLOBS} that are not names")
        self._ranges = [number for number in self._numbered if _GLOB.search(number)]

    def roles(self, layer: int) -> frozenset[str]:
        """Return the roles that stay at full width in a layer."""
        names = [*self._everywhere, *self._numbered.get(str(layer), ())]
        for number in self._ranges:
            if fnmatchcase(str(layer), number):
                names += self._numbered[number]
        return _roles(tuple(names))


@lru_cache(maxsize=256)
def _roles(names: tuple[str, ...]) -> frozenset[str]:
    """Roles of which any module has one of these names."""
    plain = frozenset(name for name in names if not _GLOB.search(name))
    globs = [name for name in dict.fromkeys(names) if _GLOB.search(name)]
    return frozenset(
        role
        for role, modules in MODULES.items()
        if any(not plain.isdisjoint(_stretches(module)) or _any_glob(module, globs) for module in modules)
    )


def _any_glob(module: str, globs: Sequence[str]) -> bool:
    full = f"model.layers.0.{module}"
    return any(fnmatchcase(name, glob) or fnmatchcase(name, f"{glob}.*") for glob in globs for name in (module, full))


@lru_cache(maxsize=1024)
def _stretches(module: str) -> frozenset[str]:
    """Every stretch of whole words of a name, and the empty name, which means the whole layer."""
    words = module.split(".")
    ends = range(len(words) + 1)
    return frozenset(".".join(words[start:end]) for start in ends for end in ends if start <= end)


# ---- patterns -----------------------------------------------------------------------------------------------

_PIECES = re.compile(
    r"(?P<any>\.[*+])|(?P<dot>\\\.)|(?P<digits>(?:\\d|\[0-9\])[*+]?)|(?P<one>\.)|(?P<end>[$^])"
    r"|\((?:\?:)?(?P<choice>[\w|\\.\-]+)\)|(?P<set>\[[\w\-]+\])|(?P<text>[\w\-\\]+)"
)
_GLOB_OF = {"any": "*", "dot": ".", "digits": "[0-9]*", "one": "?", "end": ""}


def _globs(pattern: str) -> Iterable[str]:
    """Return a name or glob as it is, and what follows "re:" as the globs that match the same names."""
    if not pattern.startswith("re:"):
        return [pattern]
    source = pattern.removeprefix("re:")[:_LONGEST_NAME]
    choices, position = [], 0
    while position < len(source):
        piece = _PIECES.match(source, position)
        if piece is None or not piece.lastgroup:
            raise ConfigError("quantization_config", pattern, "patterns of names, '.*', '\\d+', '[...]' and '(a|b)'")
        choices.append(_choices(piece.lastgroup, piece[piece.lastgroup]))
        position = piece.end()
    if not source.endswith("$"):
        choices.append(["*"])  # a pattern matches from the start of a name, not up to its end
    globs = ["".join(parts) for parts in _bounded(choices)]
    return dict.fromkeys(globs)


def _choices(kind: str, text: str) -> list[str]:
    if kind == "choice":
        return [choice.replace("\\", "") for choice in text.split("|")]
    return [_GLOB_OF.get(kind, text.replace("\\", ""))]


def _bounded(choices: list[list[str]]) -> Iterable[tuple[str, ...]]:
    count = 1
    for choice in choices:
        count *= len(choice)
    if count > _MOST_ALTERNATIVES:
        raise ConfigError("quantization_config", f"{count} alternatives", f"at most {_MOST_ALTERNATIVES} in a pattern")
    return product(*choices)
