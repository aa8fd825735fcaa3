"""From the values of controls to the scenario that they describe, for the sidebar and for what a text has pinned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import costmodel as cm
import live
from costmodel.precision import sixteen_bit
from pages.parts import codec, live_rates, state
from pages.parts.scenario import Scenario, what_if

FACTORS = ("bandwidth_x", "compute_x", "memory_x")
NOT_MEASURED = "this machine, not measured yet"
_FALLBACK = "h100-sxm"


def scenario_of(values: Mapping[str, Any], profile: live.Profile | None = None) -> tuple[Scenario, list[str]]:
    """The scenario that controls with these values describe, and a sentence for each that could not be used.

    What is missing has its default. ``profile``: the measurement that answers when the source is "live".
    """
    asked = {key: values.get(key, state.CONTROLS[key].default) for key in state.SCENARIO}
    said: list[str] = []
    model = model_of(asked, said)
    missing = unmeasured(profile, model)
    measured = profile if asked["rates"] == "live" and not missing else None
    hw = measured.hardware if measured else hardware_of(asked)
    precision = _precision(asked, model, hw, said)
    gpus = _group(asked, model, said)
    factors = {key: asked[key] for key in FACTORS}
    hw = what_if(hw, **factors)
    source = _source(asked["rates"], model, hw, missing, said)
    found = replace(Scenario(model, hw, precision, gpus, rates=source, source=source), **factors)
    if measured:
        found = replace(
            found,
            rates=measured.rates,
            measured=live_rates.described(measured),
            published=measured.row is not None,
        )
    scenario, reason = settled(found)
    return scenario, [*said, *([reason] if reason else [])]


# ---- one control after the other -----------------------------------------------------------------------------


def model_of(values: Mapping[str, Any], said: list[str]) -> cm.Model:
    """The model that was chosen, or pasted."""
    if values["model"] != state.CUSTOM:
        return cm.model(values["model"])
    if values["model_config"]:
        return codec.own_model(values["model_config"])
    said.append("A model of its own is named but not carried. The default is used instead.")
    return cm.model(state.CONTROLS["model"].default)


def hardware_of(values: Mapping[str, Any]) -> cm.Hardware:
    """The accelerator that was chosen, or given by its figures."""
    if values["hardware"] != state.CUSTOM:
        return cm.hardware(values["hardware"])
    return own_accelerator(values["accelerator"])


def own_accelerator(packed: str) -> cm.Hardware:
    """The user's own accelerator; while it has no figures, a copy to start from."""
    if packed:
        return codec.unpack_hardware(packed)
    return cm.hardware(_FALLBACK).replace(id=state.CUSTOM, name="My accelerator", base=None)


def _precision(values: Mapping[str, Any], model: cm.Model, hw: cm.Hardware, said: list[str]) -> cm.Precision:
    compute = values["compute"]
    if compute not in (state.AUTO, *hw.compute_dtypes):
        said.append(no_unit(hw, compute))
        compute = state.AUTO
    defaults = (
        ("weights", values["weights"], stored_weights(model, hw)),
        ("kv", values["kv"], stored_cache(model, hw)),
        ("compute", compute, wide(hw)),
    )
    return cm.Precision(**{name: None if asked in (state.AUTO, own) else asked for name, asked, own in defaults})


def _group(values: Mapping[str, Any], model: cm.Model, said: list[str]) -> int:
    asked = values["tensor_parallel"]
    if asked in group_sizes(model):
        return int(asked)
    said.append(f"{undivided(model, asked)}, so one is used instead.")
    return 1


def _source(asked: str, model: cm.Model, hw: cm.Hardware, missing: str, said: list[str]) -> str:
    answers = {"datasheet": True, "calibrated": calibrated(model, hw), "live": not missing}
    if answers[asked]:
        return asked
    said.append(unanswered(asked, hw, missing))
    return "datasheet"


# ---- what a model and a machine allow, and what is said where they do not ------------------------------------


def wide(hw: cm.Hardware) -> str:
    """The 16-bit format that the chip computes in; bf16 where it has neither (the price then says what is missing)."""
    return sixteen_bit(hw) or "bf16"


def stored_weights(model: cm.Model, hw: cm.Hardware) -> str:
    """The format of the weights while none is chosen."""
    return model.quantization.dtype if model.quantization else wide(hw)


def stored_cache(model: cm.Model, hw: cm.Hardware) -> str:
    """The format of the caches while none is chosen."""
    return model.kv_dtype or wide(hw)


def default_first(names: Iterable[str], default: str) -> list[str]:
    """What the model or the chip asks for, in the place of its name, then the others."""
    return [state.AUTO, *(name for name in names if name != default)]


def no_unit(hw: cm.Hardware, compute: str) -> str:
    """Why a format of arithmetic cannot be had."""
    return f"{hw.name} has no unit that computes in {compute}, so {wide(hw)} is used instead."


def group_sizes(model: cm.Model) -> list[str]:
    """Numbers of GPUs that the model's heads divide over, as the control writes them."""
    return [str(n) for n in state.GROUPS if _divides(model, n)]


def undivided(model: cm.Model, gpus: str) -> str:
    """Why a number of GPUs cannot be had."""
    return f"The heads of {model.name} do not divide over {gpus} GPUs"


@lru_cache(maxsize=512)
def _divides(model: cm.Model, n: int) -> bool:
    try:
        cm.price(model, cm.hardware(_FALLBACK), cm.Step.decode(batch=1, context=1), tensor_parallel=n)
    except cm.ConfigError:
        return False
    return True


def unmeasured(profile: live.Profile | None, model: cm.Model) -> str:
    """Why no measurement answers for a model; "" when one does."""
    return live_rates.obstacle(profile, model) if profile else NOT_MEASURED


@lru_cache(maxsize=512)
def calibrated(model: cm.Model, hw: cm.Hardware) -> bool:
    """Whether fitted rates can price this model on this machine."""
    try:
        cm.price(model, hw, cm.Step.decode(batch=1, context=1), rates="calibrated")
    except ValueError:
        return False
    return True


def unanswered(asked: str, hw: cm.Hardware, missing: str) -> str:
    """Why a source that was asked for does not answer."""
    if asked == "live":
        return f"There are no live rates ({missing}), so the datasheet answers."
    return f"There are no {asked} rates for {hw.name}, so the datasheet answers."


def settled(asked: Scenario) -> tuple[Scenario, str]:
    """The scenario if it can be priced, else the nearest one that can, and the sentence that says why."""
    reason = ""
    for candidate in _nearest(asked):
        try:
            candidate.price(cm.Step.decode(batch=1, context=1))
        except ValueError as error:
            reason = reason or _why(asked.hardware, error)
            continue
        return candidate, f"{reason}. What you see is {candidate.label}." if reason else ""
    raise AssertionError(reason)


def _why(hw: cm.Hardware, error: ValueError) -> str:
    if isinstance(error, cm.ConfigError) and error.key == "link":
        return f"The link between several {hw.name} is not published, so there is no estimate of them"
    return str(error)


def _nearest(asked: Scenario) -> Sequence[Scenario]:
    return (
        asked,
        replace(asked, precision=cm.Precision()),
        replace(asked, tensor_parallel=1),
        replace(asked, precision=cm.Precision(), tensor_parallel=1),
        Scenario(asked.model, cm.hardware(_FALLBACK), cm.Precision()),
        Scenario(cm.model("qwen3-0.6b"), cm.hardware(_FALLBACK), cm.Precision()),
    )
