"""The reader: from a document to a ``Model``, by the rules of its family."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from costmodel.config.differences import Reading, differences
from costmodel.config.families import DECLINED, FAMILIES, WRAPPERS
from costmodel.config.family import Family
from costmodel.config.guards import guard
from costmodel.config.keys import Keys
from costmodel.config.mlp import Dense
from costmodel.config.parts import Part, runs
from costmodel.config.quantization import quantize, scheme
from costmodel.errors import ConfigError
from costmodel.model import Layer, Model

_PARTS = ("text_config", "language_config", "llm_config")
_FORMATS = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "float32": "fp32",
    "half": "fp16",
    "float": "fp32",
    "auto": "bf16",
}


def read(values: Mapping[str, Any], separate: Mapping[str, Any] | None = None) -> Model:
    """Read one config as a model; ``separate`` is the content of its ``hf_quant_config.json``."""
    family, keys = find(values)
    family.refused(keys)
    guard(keys.text("model_type"), keys, dense=isinstance(family.mlps, Dense))
    model = build(family, keys, values)
    how = scheme(keys.part("quantization_config") or keys.part("compression_config"), separate)
    model = model if how is None else quantize(model, how)
    return model.replace(warnings=tuple(differences(Reading(values, keys, model))), left_out=left_out(values))


def find(values: Mapping[str, Any]) -> tuple[Family, Keys]:
    """Return the family of a config, and the keys of its language part.

    Raises
    ------
    ConfigError: for a family that is not known.
    """
    kind = _type_of(values)
    part = next((name for name in _PARTS if isinstance(values.get(name), Mapping)), None)
    if part is None:
        return _keys(kind, values, nested=False)
    if kind in DECLINED or kind not in WRAPPERS:
        raise _unknown(kind, WRAPPERS)
    inner = {"model_type": WRAPPERS[kind], **_shared(values, values[part]), **values[part]}
    return _keys(_type_of(inner), inner, nested=True)


def _keys(kind: str, values: Mapping[str, Any], *, nested: bool) -> tuple[Family, Keys]:
    family = FAMILIES.get(kind)
    if family is None:
        raise _unknown(kind, FAMILIES)
    return family, Keys(values, defaults=family.defaults, aliases=family.aliases, nested=nested)


def _unknown(kind: str, known: Mapping[str, object]) -> ConfigError:
    if kind in DECLINED:
        return ConfigError("model_type", kind, f"a supported family; this one is declined because {DECLINED[kind]}")
    near = difflib.get_close_matches(kind[:80].lower(), known, n=3)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    return ConfigError("model_type", kind, f"one of the {len(known)} types that can be read{hint}")


def _shared(values: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    """What a part takes from the whole where it says nothing itself."""
    groups = (("tie_word_embeddings",), ("torch_dtype", "dtype"), ("quantization_config", "compression_config"))
    silent = (names for names in groups if not any(name in part for name in names))
    return {name: values[name] for names in silent for name in names if name in values}


def _type_of(values: Mapping[str, Any]) -> str:
    kind = values.get("model_type")
    if not isinstance(kind, str):
        raise ConfigError("model_type", "nothing" if kind is None else kind, "the type of the model, such as llama")
    return kind


def _format(keys: Keys) -> str:
    """Format of the weights that are not quantized; bfloat16 where the config names none."""
    name = keys.text("torch_dtype", "auto").removeprefix("torch.")
    if name not in _FORMATS:
        raise keys.wrong("torch_dtype", name, f"one of {', '.join(_FORMATS)}")
    return _FORMATS[name]


_OTHER_PARTS = {
    "vision_config": "vision tower",
    "audio_config": "audio tower",
    "audio_encoder": "audio tower",
    "speech_config": "speech tower",
    "visual": "vision tower",
    "vision_tower": "vision tower",
}


def left_out(values: Mapping[str, Any]) -> str:
    """What the config holds beside the language model, in words."""
    parts = dict.fromkeys(words for name, words in _OTHER_PARTS.items() if values.get(name) is not None)
    return " and ".join(parts) and f"{' and '.join(parts)} and its projector"


def build(family: Family, keys: Keys, values: Mapping[str, Any]) -> Model:
    """Put the parts together."""
    norms = family.norms_for(keys)
    mixers, mlps = family.mixers(keys), family.mlps(keys)
    hidden = keys.hidden
    outside, more = family.outside, family.outside.more(keys)
    positions = outside.position_params(keys)
    return Model(
        id="",
        name=_name(values, family),
        hidden=hidden,
        vocab=keys.whole("vocab_size"),
        layers=_paired(mixers, mlps, norms.layer * norms.values * hidden),
        tied=keys.flag("tie_word_embeddings", otherwise=outside.tied),
        embed_dim=outside.width(keys),
        extra_matrices=more.matrices,
        other_params=(
            positions + norms.outside * norms.values * hidden + outside.head_bias_params(keys) + more.other_params
        ),
        position_params=positions,
        lookup_width=more.lookup_width,
        dtype=_format(keys),
        max_context=keys.whole_or_none("max_position_embeddings"),
        family=family.types[0],
    )


def _paired(mixers: Sequence[Part], mlps: Sequence[Part], norms: int) -> tuple[tuple[Layer, int], ...]:
    """Pair mixers with MLPs and count equal neighbours."""
    made: dict[tuple[int, int], Layer] = {}
    layers = [made.setdefault((id(a), id(b)), _layer(a, b, norms)) for a, b in zip(mixers, mlps, strict=True)]
    return runs(layers)


def _layer(mixer: Part, mlp: Part, norms: int) -> Layer:
    vectors = norms + mixer.vectors + mlp.vectors
    idle = mixer.idle + mlp.idle
    return Layer(
        mixer=mixer.body,  # type: ignore[arg-type]
        mlp=mlp.body,  # type: ignore[arg-type]
        other_params=vectors,
        other_active_params=vectors - idle if idle else None,
        extra=mixer.extra + mlp.extra,
    )


def _name(values: Mapping[str, Any], family: Family) -> str:
    given = values.get("_name_or_path")
    last = given.rstrip("/").rsplit("/", 1)[-1] if isinstance(given, str) else ""
    return last if re.fullmatch(r"[\w.\-]{1,80}", last) else family.types[0]
