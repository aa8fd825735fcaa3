"""The reader: from a document to a ``Model``, by the rules of its family."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from costmodel.config.families import DECLINED, FAMILIES, WRAPPERS
from costmodel.config.family import Family
from costmodel.config.keys import Keys
from costmodel.config.parts import Part, runs
from costmodel.config.quantization import quantize, scheme
from costmodel.errors import ConfigError
from costmodel.model import Layer, Model

_PARTS = ("text_config", "language_config", "llm_config")
_FORMATS = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "half": "fp16", "float": "fp32"}


def read(values: Mapping[str, Any], separate: Mapping[str, Any] | None = None) -> Model:
    """Read one config as a model; ``separate`` is the content of its ``hf_quant_config.json``."""
    family, keys = find(values)
    family.refused(keys)
    model = build(family, keys, values)
    how = scheme(keys.part("quantization_config"), separate)
    return model if how is None else quantize(model, how)


def find(values: Mapping[str, Any]) -> tuple[Family, Keys]:
    """Return the family of a config, and the keys of its language part."""
    kind = _type_of(values, None)
    part = next((name for name in _PARTS if isinstance(values.get(name), Mapping)), None)
    inner = values if part is None else {**_shared(values), **values[part]}
    if part is not None:
        kind = _type_of(values[part], WRAPPERS.get(kind))
    if kind in DECLINED:
        raise ConfigError("model_type", kind, f"a supported family; this one is declined because {DECLINED[kind]}")
    family = FAMILIES.get(kind)
    if family is None:
        raise ConfigError("model_type", kind, f"one of {', '.join(sorted(FAMILIES))}")
    return family, Keys(inner, defaults=family.defaults, aliases=family.aliases, nested=part is not None)


def _shared(values: Mapping[str, Any]) -> dict[str, Any]:
    """What a part takes from the whole where it says nothing itself."""
    names = ("tie_word_embeddings", "torch_dtype", "dtype", "quantization_config")
    return {name: values[name] for name in names if name in values}


def _type_of(values: Mapping[str, Any], otherwise: str | None) -> str:
    kind = values.get("model_type", otherwise)
    if not isinstance(kind, str):
        raise ConfigError("model_type", "nothing" if kind is None else kind, f"one of {', '.join(sorted(FAMILIES))}")
    return kind


def build(family: Family, keys: Keys, values: Mapping[str, Any]) -> Model:
    """Put the parts together."""
    norms = family.norms_for(keys)
    mixers, mlps = family.mixers(keys), family.mlps(keys)
    hidden = keys.hidden
    position_params = family.outside.position_params(keys)
    return Model(
        id="",
        name=_name(values, family),
        hidden=hidden,
        vocab=keys.whole("vocab_size"),
        layers=_paired(mixers, mlps, norms.layer * norms.values * hidden),
        tied=keys.flag("tie_word_embeddings", otherwise=family.outside.tied),
        embed_dim=family.outside.width(keys),
        extra_matrices=family.outside.projections(keys),
        other_params=position_params + norms.outside * norms.values * hidden + family.outside.head_bias_params(keys),
        position_params=position_params,
        dtype=_FORMATS.get(keys.text("torch_dtype").removeprefix("torch."), "bf16"),
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
    )


def _name(values: Mapping[str, Any], family: Family) -> str:
    given = values.get("_name_or_path")
    last = given.rstrip("/").rsplit("/", 1)[-1] if isinstance(given, str) else ""
    return last if re.fullmatch(r"[\w.\-]{1,80}", last) else family.types[0]
