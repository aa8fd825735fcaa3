"""Quantization: in which format the checkpoint stores its matrices, and which of them it leaves at full width.

Each method writes its facts in keys of its own, most without a ``bits``. Bits a weight include the scales that travel
with it: a group of ``g`` weights adds one 16-bit scale, and a zero as wide as a weight where there is one.

Source of the rules: the quantization configs of Hugging Face transformers and of vLLM that read these keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from costmodel.config.keys import Keys
from costmodel.config.modules import Skipped
from costmodel.config.parts import runs
from costmodel.errors import ConfigError
from costmodel.model import HEAD, Layer, Model, Quantization

_SCALE_BITS = 16
_GROUP_INDEX_BITS = 32  # GPTQ keeps one 32-bit group number for each input of each matrix


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """What a quantization config says.

    Attributes
    ----------
    method, dtype, bits: as in ``Quantization``; bits None: those of the table of formats.
    skipped: patterns of the modules that stay at full width.
    only: roles that are quantized, when the method covers no others.
    head: the LM head is quantized, unless ``skipped`` names it.
    group_index: bits a row of inputs that each matrix adds.
    kv_dtype: format of the cache that the checkpoint was calibrated for.
    """

    method: str
    dtype: str
    bits: float | None = None
    skipped: tuple[str, ...] = ()
    only: frozenset[str] = frozenset()
    head: bool = False
    group_index: int = 0
    kv_dtype: str | None = None


# ---- the methods --------------------------------------------------------------------------------------------


def _integer(bits: int, group: int, *, zero: bool) -> tuple[str, float]:
    """Format and bits a weight of integers with a scale (and a zero) for each group; group -1 is a whole column."""
    extra = (_SCALE_BITS + (bits if zero else 0)) / group if group > 0 else 0.0
    return ("int8" if bits > 4 else "int4"), bits + extra  # noqa: PLR2004  # formats of 5 to 8 bits unpack from bytes


def _gptq(keys: Keys) -> Scheme:
    bits, group = keys.whole("bits", low=2, high=8), keys.whole("group_size", 128, low=-1)
    dtype, width = _integer(bits, group, zero=True)
    rules = keys.part("dynamic")
    changed = [rule for rule, value in rules.items() if not rule.startswith("-:") and value]
    if changed:
        raise ConfigError("quantization_config.dynamic", changed[0], "rules that leave modules out (-:), nothing else")
    return Scheme(
        method="gptq",
        dtype=dtype,
        bits=width,
        skipped=tuple("re:" + rule.removeprefix("-:") for rule in rules) + _names(keys, "modules_to_not_convert"),
        head=keys.flag("lm_head"),
        group_index=_GROUP_INDEX_BITS,
    )


def _auto_round(keys: Keys) -> Scheme:
    """AutoRound packs as GPTQ does, without group numbers; ``extra_config`` keeps modules at 16 bits."""
    bits, group = keys.whole("bits", low=2, high=8), keys.whole("group_size", 128, low=-1)
    dtype, width = _integer(bits, group, zero=not keys.flag("sym", otherwise=True))
    kept = []
    for name, rule in keys.part("extra_config").items():
        if not isinstance(rule, Mapping) or _other(rule).whole("bits", 16) < 16:  # noqa: PLR2004
            raise ConfigError("quantization_config.extra_config", name, "modules kept at 16 bits, nothing else")
        kept.append(name)
    return Scheme(method="auto-round", dtype=dtype, bits=width, skipped=tuple(kept))


def _awq(keys: Keys) -> Scheme:
    bits, group = keys.whole("bits", 4, low=2, high=8), keys.whole("group_size", 128, low=-1)
    dtype, width = _integer(bits, group, zero=keys.flag("zero_point", otherwise=True))
    return Scheme(method="awq", dtype=dtype, bits=width, skipped=_names(keys, "modules_to_not_convert"))


def _bitsandbytes(keys: Keys) -> Scheme:
    skipped = _names(keys, "llm_int8_skip_modules")
    if keys.flag("load_in_8bit") or keys.flag("_load_in_8bit"):
        return Scheme(method="bitsandbytes", dtype="int8", skipped=skipped)
    if not (keys.flag("load_in_4bit") or keys.flag("_load_in_4bit")):
        raise ConfigError("quantization_config.load_in_4bit", "nothing", "load_in_4bit or load_in_8bit set to true")
    double = keys.flag("bnb_4bit_use_double_quant")
    # Without it every block of 64 weights keeps a 32-bit scale (QLoRA, arXiv 2305.14314, section 3).
    return Scheme(method="bitsandbytes", dtype="nf4", bits=None if double else 4.5, skipped=skipped)


def _fp8(keys: Keys) -> Scheme:
    skipped = _names(keys, "modules_to_not_convert") + _names(keys, "ignored_layers")
    block = keys.each("weight_block_size", int)
    return Scheme(method="fp8", **_fp8_format(block), skipped=skipped)


def _fp8_format(block: list[int] | None) -> dict[str, Any]:
    """fp8 with one scale a tensor or a row, or a 32-bit scale for each block of weights."""
    if block is None:
        return {"dtype": "fp8"}
    if len(block) != 2 or min(block) < 1:  # noqa: PLR2004  # rows and columns
        raise ConfigError("quantization_config.weight_block_size", block, "two whole numbers, rows and columns")
    return {"dtype": "fp8_block", "bits": 8 + 32 / (block[0] * block[1])}


def _fbgemm(keys: Keys) -> Scheme:
    return Scheme(method="fbgemm_fp8", dtype="fp8", skipped=_names(keys, "modules_to_not_convert"))


def _mxfp4(keys: Keys) -> Scheme:
    skipped = _names(keys, "modules_to_not_convert")
    return Scheme(method="mxfp4", dtype="mxfp4", skipped=skipped, only=frozenset({"experts"}))


def _hqq(keys: Keys) -> Scheme:
    weights = keys.inside("quant_config").inside("weight_quant_params")
    bits, group = weights.whole("nbits", low=2, high=8), weights.whole("group_size", 64)
    dtype, _ = _integer(bits, group, zero=True)
    # A 16-bit scale and a 16-bit zero a group.
    return Scheme(method="hqq", dtype=dtype, bits=bits + 2 * _SCALE_BITS / group, skipped=_names(keys, "skip_modules"))


def _whole_bytes(keys: Keys) -> Scheme:
    return Scheme(method=keys.text("quant_method"), dtype="int8", skipped=_names(keys, "modules_to_not_convert"))


_QUANTO = {"int8": "int8", "int4": "int4", "float8": "fp8"}


def _quanto(keys: Keys) -> Scheme:
    weights = keys.text("weights")
    if weights not in _QUANTO:
        raise ConfigError("quantization_config.weights", weights, f"one of {', '.join(_QUANTO)}")
    return Scheme(method="quanto", dtype=_QUANTO[weights], skipped=_names(keys, "modules_to_not_convert"))


_MODELOPT = {
    "FP8": "fp8",
    "FP8_PER_CHANNEL_PER_TOKEN": "fp8",
    "FP8_PB_WO": "fp8_block",
    "NVFP4": "nvfp4",
    "NVFP4_AWQ": "nvfp4",
    "W4A16_NVFP4": "nvfp4",
    "MXFP4": "mxfp4",
    "W4A16_AWQ": "int4",
    "W4A8_AWQ": "int4",
    "W8A8_SQ_PER_CHANNEL": "int8",
    "W8A8_SQ_PER_CHANNEL_PER_TOKEN_PLUGIN": "int8",
    "INT8_SQ": "int8",
    "W8A16": "int8",
}
_CACHES = {"FP8": "fp8", "NVFP4": "nvfp4", "INT8": "int8", "INT4": "int4"}


def _modelopt(keys: Keys) -> Scheme:
    inner = keys.inside("quantization") if keys.part("quantization") else keys
    algorithm = inner.text("quant_algo").upper()
    if algorithm not in _MODELOPT:
        found = algorithm or "nothing"
        raise ConfigError("quant_algo", found, f"one format for all matrices: {', '.join(_MODELOPT)}")
    return Scheme(
        method="modelopt",
        dtype=_MODELOPT[algorithm],
        skipped=_names(inner, "exclude_modules") + _names(inner, "ignore"),
        kv_dtype=_CACHES.get(inner.text("kv_cache_quant_algo").upper()) or _kv_scheme(inner),
    )


_COMPRESSED = {("int", 4): "int4", ("int", 8): "int8", ("float", 8): "fp8", ("float", 4): "nvfp4"}
_MX_GROUP = 32


def _compressed(keys: Keys) -> Scheme:
    """compressed-tensors: groups of modules, each with a scheme; one format for all of them can be read."""
    groups = keys.part("config_groups")
    formats = {_compressed_format(_other(group)) for group in _objects(groups)}
    if len(formats) != 1:
        found = f"{len(formats)} different formats"
        raise ConfigError("quantization_config.config_groups", found, "one format for all groups")
    ((dtype, bits),) = formats
    return Scheme(
        method="compressed-tensors",
        dtype=dtype,
        bits=bits,
        skipped=_names(keys, "ignore"),
        head=True,
        kv_dtype=_kv_scheme(keys),
    )


def _compressed_format(group: Keys) -> tuple[str, float | None]:
    weights = group.inside("weights")
    kind, bits = weights.text("type", "int"), weights.whole("num_bits", low=1, high=16)
    size, block = weights.whole_or_none("group_size"), weights.each("block_structure", int)
    dtype = _COMPRESSED.get((kind, bits))
    if dtype is None:
        raise ConfigError("num_bits", f"{kind}{bits}", "int4, int8, float4 or float8 weights")
    if kind == "int":
        return _integer(bits, size or -1, zero=not weights.flag("symmetric", otherwise=True))
    if bits == 4:  # noqa: PLR2004
        return ("mxfp4" if size == _MX_GROUP else "nvfp4"), None
    spec = _fp8_format(block)
    return spec["dtype"], spec.get("bits")


def _kv_scheme(keys: Keys) -> str | None:
    scheme = keys.inside("kv_cache_scheme")
    if not scheme.values:
        return None
    kind, bits = scheme.text("type", "float"), scheme.whole("num_bits", 8)
    return {("float", 8): "fp8", ("int", 8): "int8", ("float", 4): "nvfp4"}.get((kind, bits))


_QUARK = {"fp8_e4m3": "fp8", "fp4": "mxfp4", "int8": "int8", "int4": "int4"}


def _quark(keys: Keys) -> Scheme:
    weight = keys.inside("global_quant_config").inside("weight")
    dtype = _QUARK.get(weight.text("dtype"))
    if dtype is None or keys.part("layer_quant_config"):
        raise ConfigError("quantization_config", "quark with several formats", "one format for all matrices")
    return Scheme(method="quark", dtype=dtype, skipped=_names(keys, "exclude"))


def _other(values: Mapping[str, Any]) -> Keys:
    """The keys of an object that no family is known for."""
    return Keys(values, defaults={}, aliases={})


METHODS: Mapping[str, Callable[[Keys], Scheme]] = {
    "auto-round": _auto_round,
    "awq": _awq,
    "bitsandbytes": _bitsandbytes,
    "compressed-tensors": _compressed,
    "eetq": _whole_bytes,
    "fbgemm_fp8": _fbgemm,
    "fp8": _fp8,
    "gptq": _gptq,
    "hqq": _hqq,
    "modelopt": _modelopt,
    "modelopt_fp4": _modelopt,
    "mxfp4": _mxfp4,
    "quanto": _quanto,
    "quark": _quark,
}
"""Every method that can be read, by ``quant_method``."""


def _names(keys: Keys, name: str) -> tuple[str, ...]:
    return tuple(keys.each(name, str) or ())


def _objects(values: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    for name, value in values.items():
        if not isinstance(value, Mapping):
            raise ConfigError(f"quantization_config.{name}", value, "an object")
        yield value


# ---- applied to a model -------------------------------------------------------------------------------------


def scheme(values: Mapping[str, Any] | None, separate: Mapping[str, Any] | None) -> Scheme | None:
    """Read the quantization of a config: inside it, or in its ``hf_quant_config.json``; None when there is none.

    Raises
    ------
    ConfigError: for a method that is not known, or a key of it that is missing or impossible.
    """
    if separate:
        return _modelopt(_other(separate))
    if not values:
        return None
    keys = _other(values)
    method = keys.text("quant_method") or ("modelopt" if keys.says("quant_algo") else _by_flags(keys))
    if method not in METHODS:
        raise ConfigError("quant_method", method or "nothing", f"one of {', '.join(METHODS)}")
    return METHODS[method](keys)


def _by_flags(keys: Keys) -> str:
    """Old configs of bitsandbytes leave the method out."""
    return "bitsandbytes" if keys.says("load_in_4bit") or keys.says("load_in_8bit") else ""


_NEVER = frozenset({"router"})


def quantize(model: Model, how: Scheme) -> Model:
    """Return the model with the matrices marked that the checkpoint stores quantized."""
    skipped = Skipped(how.skipped)
    covered = {layer: _covered(model, layer, how) for layer, _ in model.distinct_layers}
    made: dict[tuple[int, frozenset[str]], Layer] = {}
    layers = []
    for index, layer in enumerate(layer for layer, count in model.layers for _ in range(count)):
        key = id(layer), covered[layer] - skipped.roles(index)
        if key not in made:
            made[key] = replace(layer, quantized=key[1])
        layers.append(made[key])
    head = how.head and not model.tied and HEAD not in skipped.roles(-1)
    quantization = Quantization(method=how.method, dtype=how.dtype, bits=how.bits, head=head)
    marked = model.replace(layers=runs(layers), quantization=quantization, kv_dtype=how.kv_dtype)
    if how.bits is None or not how.group_index:
        return marked
    return marked.replace(quantization=replace(quantization, bits=how.bits + _index_bits(marked, how.group_index)))


def _covered(model: Model, layer: Layer, how: Scheme) -> frozenset[str]:
    """Roles of a layer's matrices that the method quantizes where nothing is skipped."""
    roles = frozenset(matrix.role for matrix in layer.matrices(model.hidden)) - _NEVER
    return roles & how.only if how.only else roles


def _index_bits(model: Model, each: int) -> float:
    """Bits a weight of what each row of inputs adds, over all quantized matrices."""
    covered = [(matrix, count) for matrix, count, quantized in model.matrices() if quantized]
    rows = sum(matrix.inputs * matrix.stored * count for matrix, count in covered)
    params = sum(matrix.params * count for matrix, count in covered)
    return each * rows / params if params else 0.0
