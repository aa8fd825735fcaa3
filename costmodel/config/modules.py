"""Names of modules: which matrices a quantization config leaves at full width, by plain names, globs or patterns.

Patterns come from strangers, so none is run as a regular expression: the few constructs that real configs use are
turned into globs, which match in time linear in the name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from itertools import product

from costmodel.errors import ConfigError

_ATTENTION = ("self_attn", "attention", "attn", "self_attention", "mixer")
_MLP = ("mlp", "feed_forward", "mixer", "ffn")
_MOE = (*_MLP, "block_sparse_moe", "moe")


def _under(parents: Sequence[str], *children: str) -> tuple[str, ...]:
    return tuple(f"{parent}.{child}" for parent in parents for child in children)


_SHARED = _under(_MOE, "shared_experts", "shared_expert")
_EXPERTS = _under(_MOE, "experts.0")

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
    "shared_gate_up": (*_under(_SHARED, "gate_proj", "up_proj"), "shared_mlp.input_linear"),
    "shared_down": (*_under(_SHARED, "down_proj"), "shared_mlp.output_linear"),
    "router": _under(_MOE, "gate", "router", "router.layer", "shared_expert_gate"),
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
_MOST_STARS = 12
_MOST_NAMES = 50_000
_MOST_GLOBS = 200
_MOST_RANGES = 50
_MOST_ALTERNATIVES = 64


class Skipped:
    """The modules that a quantization config leaves out.

    Parameters
    ----------
    patterns: names ("lm_head", "model.layers.0.self_attn"), globs ("*.self_attn*"), or patterns after "re:".
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        if len(patterns) > _MOST_NAMES:
            raise ConfigError("quantization_config", f"{len(patterns):,} names", f"at most {_MOST_NAMES:,}")
        names = [_split(glob) for pattern in patterns for glob in _globs(pattern)]
        _bounded_globs(names)
        self._numbered: dict[str, frozenset[str]] = {}
        self._everywhere: frozenset[str] = frozenset()
        for layer, name in names:
            if layer.strip("*"):
                self._numbered[layer] = self._numbered.get(layer, frozenset()) | _roles(name)
            else:
                self._everywhere |= _roles(name)
        self._ranges = [layer for layer in self._numbered if _GLOB.search(layer)]

    def roles(self, layer: int) -> frozenset[str]:
        """Return the roles that stay at full width in a layer."""
        number = str(layer)
        roles = self._everywhere | self._numbered.get(number, frozenset())
        for numbers in self._ranges:
            if fnmatchcase(number, numbers):
                roles |= self._numbered[numbers]
        return roles


def _split(name: str) -> tuple[str, str]:
    """A name as the number of its layer ("" or a glob for many) and what it says below that."""
    layer = _CONTAINER.match(name)
    return (layer[1], name[layer.end() :]) if layer else ("", name)


def _bounded_globs(names: Iterable[tuple[str, str]]) -> None:
    """Keep the work of matching small, whatever a stranger wrote."""
    globs = {name for _, name in names if _GLOB.search(name)}
    ranges = {layer for layer, _ in names if layer.strip("*") and _GLOB.search(layer)}
    if len(globs) > _MOST_GLOBS or len(ranges) > _MOST_RANGES:
        raise ConfigError("quantization_config", f"{len(globs):,} patterns", f"at most {_MOST_GLOBS} that are no names")
    for name in globs | ranges:
        if len(name) > _LONGEST_NAME or name.count("*") > _MOST_STARS:
            raise ConfigError("quantization_config", name, f"patterns of at most {_MOST_STARS} stars")


@lru_cache(maxsize=4096)
def _roles(name: str) -> frozenset[str]:
    """Roles that a name or glob, below its layer, leaves out."""
    if not _GLOB.search(name):
        return _stretches().get(name, frozenset())
    return frozenset(role for role, modules in MODULES.items() if any(_matches(module, name) for module in modules))


def _matches(module: str, glob: str) -> bool:
    full = f"model.layers.0.{module}"
    return any(fnmatchcase(name, f"{glob}{more}") for name in (module, full) for more in ("", ".*"))


@cache
def _stretches() -> Mapping[str, frozenset[str]]:
    """Every stretch of whole words of every module's name, and the empty one (a whole layer), with its roles."""
    roles: dict[str, frozenset[str]] = {}
    for role, module in ((role, module) for role, modules in MODULES.items() for module in modules):
        words = module.split(".")
        ends = range(len(words) + 1)
        for stretch in (".".join(words[start:end]) for start in ends for end in ends if start <= end):
            roles[stretch] = roles.get(stretch, frozenset()) | {role}
    return roles


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
