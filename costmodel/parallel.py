"""Two more ways to share a model among GPUs than tensor parallelism: a pipeline of stages, and experts apart.

Both are put together from ``price`` of the parts. Tensor parallelism is in ``price`` itself.

A pipeline divides the layers: a token passes all stages one after the other, so one step is no faster than on one GPU
that held everything, and only further groups of sequences (microbatches) fill the GPUs. Expert parallelism divides the
experts: each GPU keeps its own sequences and their attention, and sends each token to the GPUs of its experts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from costmodel.dtypes import dtype
from costmodel.errors import ConfigError
from costmodel.hardware import Hardware
from costmodel.model import Experts, Layer, Model
from costmodel.operations import ACTIVATION_BYTES, MOST_GPUS, Count, expected_experts
from costmodel.precision import Precision
from costmodel.price import Cost, price
from costmodel.rates import Rates
from costmodel.step import Step

_MOST_MICROBATCHES = 1e6

# ---- pipeline --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pipeline:
    """One step of each of ``microbatches`` equal groups of sequences, through stages that hold some layers each.

    Attributes
    ----------
    stages: what one group's step costs on each stage.
    hop: seconds in which the activations of one group go from a stage to the next, at the link's full rate.
    microbatches: groups in flight.
    """

    stages: tuple[Cost, ...]
    hop: Any
    microbatches: int

    @property
    def latency(self) -> Any:
        """Seconds of one group alone: every stage, one after the other, and the hops between."""
        return sum(stage.seconds for stage in self.stages) + (len(self.stages) - 1) * self.hop

    @property
    def slowest(self) -> Any:
        """Seconds between two groups in a full pipeline: those of its slowest stage, or of a hop."""
        longest: Any = self.hop if len(self.stages) > 1 else 0.0
        for stage in self.stages:
            longest = np.maximum(longest, stage.seconds)
        return _plain(longest)

    @property
    def seconds(self) -> Any:
        """Seconds until all groups have passed once, from an empty pipeline to an empty one."""
        return self.latency + (self.microbatches - 1) * self.slowest

    @property
    def token_seconds(self) -> Any:
        """Seconds between two tokens of a sequence while decoding goes on: a group waits for its own last token."""
        return _plain(np.maximum(self.latency, self.microbatches * self.slowest))

    @property
    def bubble(self) -> Any:
        """Share of the GPUs' time in which they have nothing to do while ``seconds`` pass.

        (p - 1) / (m + p - 1) for p equal stages and m microbatches without hops (GPipe, arXiv 1811.06965).
        """
        busy = self.microbatches * sum(stage.seconds for stage in self.stages)
        return 1 - busy / (len(self.stages) * self.seconds)


def pipeline(  # noqa: PLR0917  # those of price, in its order
    model: Model,
    hw: Hardware,
    step: Step,
    stages: int,
    microbatches: int = 1,
    precision: Precision | None = None,
    rates: str | Rates = "datasheet",
    count: Count | None = None,
    tensor_parallel: int = 1,
) -> Pipeline:
    """Price ``step`` (of one microbatch) on a pipeline of ``stages``, each on ``tensor_parallel`` GPUs.

    The layers are divided as evenly as whole layers can be; the LM head is on the last stage.

    Raises
    ------
    ConfigError: for more stages than layers, an unknown link, count "weights" (it has the head on every stage), and
        whatever ``price`` refuses.

    >>> import costmodel as cm
    >>> llama, h100, step = cm.model("llama-3.1-8b"), cm.hardware("h100-sxm"), cm.Step.decode(1, 2048)
    >>> alone, four = cm.price(llama, h100, step).seconds, pipeline(llama, h100, step, stages=4)
    >>> round(four.latency / alone, 3), round(four.bubble, 2)
    (1.0, 0.75)
    """
    _whole("stages", stages, model.num_layers)
    _whole("microbatches", microbatches, _MOST_MICROBATCHES)
    if count == "weights":
        raise ConfigError("count", count, "attention or everything: the LM head is on the last stage only")
    parts = _stages(model, stages)
    inner = step.without_logits()
    costs = tuple(
        price(part, hw, step if i == stages - 1 else inner, precision, rates, count, tensor_parallel)
        for i, part in enumerate(parts)
    )
    hop = step.tokens * model.hidden * ACTIVATION_BYTES / _link(hw) if stages > 1 else 0.0
    return Pipeline(costs, _plain(hop), microbatches)


@lru_cache(maxsize=64)
def _stages(model: Model, stages: int) -> tuple[Model, ...]:
    """Models of the stages' layers. What projects a narrow embedding goes with the first stage."""
    parts = split_layers(model.layers, stages)
    return tuple(
        replace(model, layers=part, extra_matrices=model.extra_matrices if i == 0 else ())
        for i, part in enumerate(parts)
    )


def split_layers(layers: Sequence[tuple[Layer, int]], stages: int) -> list[tuple[tuple[Layer, int], ...]]:
    """Divide runs of layers into ``stages`` parts in order; earlier ones have the one layer more that is left over.

    >>> a, b = Layer(other_params=1), Layer(other_params=2)
    >>> [[many for _, many in part] for part in split_layers([(a, 3), (b, 4)], 3)]
    [[3], [2], [2]]
    """
    total = sum(many for _, many in layers)
    ends = [total * (i + 1) // stages + (total * (i + 1) % stages > 0) for i in range(stages)]
    parts = []
    for start, end in zip([0, *ends], ends, strict=False):
        part, first = [], 0
        for layer, many in layers:
            taken = min(end, first + many) - max(start, first)
            first += many
            if taken > 0:
                part.append((layer, taken))
        parts.append(tuple(part))
    return parts


# ---- experts apart ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ExpertParallel:
    """The floor of a step whose experts are divided over GPUs, on one of them: three things that may overlap.

    Attributes
    ----------
    experts_hit: distinct experts of a layer that this GPU is expected to read.
    bytes, memory_seconds, compute_seconds: as those of ``Cost``.
    link_bytes: bytes that this GPU sends in a step: tokens to the experts of others, and results back.
    link_seconds: seconds that they take at the link's full rate.
    """

    experts_hit: Any
    bytes: Any
    memory_seconds: Any
    compute_seconds: Any
    link_bytes: Any
    link_seconds: Any

    @property
    def seconds(self) -> Any:
        """No step can be faster, whatever overlaps."""
        return _plain(np.maximum(np.maximum(self.memory_seconds, self.compute_seconds), self.link_seconds))

    @property
    def bound(self) -> Any:
        """What the step waits for: "memory", "compute" or "link"."""
        sides = np.stack(np.broadcast_arrays(self.memory_seconds, self.compute_seconds, self.link_seconds))
        names = np.array(["memory", "compute", "link"])[np.argmax(sides, axis=0)]
        return names if np.ndim(names) else str(names)


def expert_parallel(
    model: Model,
    hw: Hardware,
    step: Step,
    gpus: int,
    precision: Precision | None = None,
    dispatch: str = "bf16",
) -> ExpertParallel:
    """The floor of ``step`` on each of ``gpus`` GPUs that have sequences like it each, and 1 / gpus of the experts.

    Attention, its caches and all else that is no routed expert are on every GPU (data parallel). Routing is uniform. A
    token goes once to each other GPU that has one of its experts, in the format ``dispatch``, and comes back in 16
    bits: the least that must be sent.

    Raises
    ------
    ConfigError: for a model without experts, GPUs that do not divide them, an unknown link.

    >>> import costmodel as cm
    >>> deepseek, h200, step = cm.model("deepseek-v3"), cm.hardware("h200-sxm"), cm.Step.decode(64, 2048)
    >>> floor = expert_parallel(deepseek, h200, step, gpus=32)
    >>> round(floor.experts_hit, 2), floor.bound
    (8.0, 'memory')
    """
    routed = _routed(model)
    _whole("gpus", gpus, MOST_GPUS)
    if routed.experts % gpus:
        raise ConfigError("gpus", gpus, f"a divisor of the {routed.experts} experts")
    cost = price(model, hw, step, precision)
    alone = expected_experts(step.tokens, routed.experts, routed.top_k)
    hit = expected_experts(gpus * step.tokens, routed.experts, routed.top_k) / gpus
    nbytes = cost.bytes + _expert_bytes(cost) * (hit / alone - 1)
    copies = _other_gpus(routed, gpus) * step.tokens * model.hidden
    layers = sum(many for layer, many in model.distinct_layers if isinstance(layer.mlp, Experts))
    sent = layers * copies * (dtype(dispatch).bytes + ACTIVATION_BYTES)
    return ExpertParallel(
        experts_hit=_plain(hit),
        bytes=_plain(nbytes),
        memory_seconds=_plain(nbytes / hw.bandwidth),
        compute_seconds=cost.compute_seconds,
        link_bytes=_plain(sent),
        link_seconds=_plain(sent / _link(hw) if gpus > 1 else sent),  # one GPU sends nothing: the zeros of its steps
    )


def _routed(model: Model) -> Experts:
    """The one kind of experts that the model has."""
    kinds = {layer.mlp for layer, _ in model.distinct_layers if isinstance(layer.mlp, Experts)}
    if len({(kind.experts, kind.top_k) for kind in kinds}) != 1:
        raise ConfigError("model", model.name, "a model with experts, the same number in each of its layers")
    return next(iter(kinds))


def _expert_bytes(cost: Cost) -> Any:
    """Bytes of routed experts' weights that a step reads, in the shape of the step."""
    table = cost.operations
    table = table[table["name"] == "experts"]
    if np.ndim(cost.bytes) == 0:
        return float(table["weight_bytes"].sum())
    return table.groupby("point")["weight_bytes"].sum().to_numpy().reshape(np.shape(cost.bytes))


def _other_gpus(routed: Experts, gpus: int) -> float:
    """Other GPUs, of ``gpus``, that are expected to have one or more of a token's experts.

    A GPU has none of them with probability C(E - E/n, k) / C(E, k).
    """
    share = routed.experts // gpus
    drawn = np.arange(routed.top_k)
    none = np.prod(np.maximum(routed.experts - share - drawn, 0) / (routed.experts - drawn))
    return float((gpus - 1) * (1 - none))


# ---- inside ----------------------------------------------------------------------------------------------------------


def _link(hw: Hardware) -> float:
    if hw.link is None:
        raise ConfigError("link", None, f"the speed of the link between several {hw.name}")
    return hw.link


def _whole(key: str, value: object, most: float) -> None:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or not 1 <= value <= most:  # type: ignore[operator]  # a whole number compares
        raise ConfigError(key, value, f"a whole number from 1 to {most:,.0f}")


def _plain(value: Any) -> Any:
    """An array, or a plain float for one step."""
    return value if np.ndim(value) else float(value)
