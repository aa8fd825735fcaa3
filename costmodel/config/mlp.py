"""MLPs and experts: how wide, gated or not, and which layers have experts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from costmodel.config.keys import Keys
from costmodel.config.parts import Part, Switch, switched
from costmodel.errors import ConfigError
from costmodel.model import Experts, Mlp

Width = Callable[[Keys], int]
Places = Callable[[Keys], Sequence[bool]]
"""From the keys to whether each layer has experts."""


def stated(name: str = "intermediate_size") -> Width:
    """A width that the config must state."""
    return lambda keys: keys.whole(name)


def four_times(keys: Keys) -> int:
    """The width of GPT-2's time: four times the hidden size unless it is stated."""
    return keys.whole("intermediate_size", 4 * keys.hidden)


@dataclass(frozen=True, kw_only=True)
class Dense:
    """Rule of a dense MLP: ``gated`` makes it three matrices, ``bias`` gives each output one."""

    gated: bool = True
    bias: Switch = False
    width: Width = stated()

    def __call__(self, keys: Keys) -> list[Part]:
        """One part a layer."""
        return [self.part(keys)] * keys.layers

    def part(self, keys: Keys) -> Part:
        """The MLP of one layer."""
        width = self.width(keys)
        biases = (width * (2 if self.gated else 1) + keys.hidden) * switched(keys, self.bias)
        return Part(Mlp(width=width, gated=self.gated), vectors=biases)


# ---- experts ------------------------------------------------------------------------------------------------


def all_layers(keys: Keys) -> list[bool]:
    """Every layer has experts."""
    return [True] * keys.layers


def sparse_steps(keys: Keys) -> list[bool]:
    """Qwen-MoE: every ``decoder_sparse_step``-th layer, without those in ``mlp_only_layers``."""
    step = keys.whole("decoder_sparse_step", 1)
    dense = set(keys.each("mlp_only_layers", int) or ())
    return [layer not in dense and (layer + 1) % step == 0 for layer in range(keys.layers)]


@dataclass(frozen=True, kw_only=True)
class Routed:
    """Rule of experts in some layers and a dense MLP in the others.

    Attributes
    ----------
    places: which layers have experts. dense: the MLP of the others.
    width: width of one expert. shared: summed width of the shared experts.
    shared_gate: the shared expert's output is gated.
    router_bias, expert_bias: biases of the router and of every expert.
    correction: the router keeps a trained value an expert as a parameter, not as a buffer.
    """

    places: Places = all_layers
    dense: Dense = Dense()
    width: Width = stated("moe_intermediate_size")
    shared: Width = lambda _: 0
    gated: bool = True
    shared_gate: bool = False
    router_bias: Switch = False
    expert_bias: Switch = False
    correction: bool = False

    def __call__(self, keys: Keys) -> list[Part]:
        """One part a layer."""
        places = self.places(keys)
        sparse = self.part(keys) if any(places) else None
        dense = None if all(places) else self.dense.part(keys)
        return [part for part in (sparse if here else dense for here in places) if part]

    def part(self, keys: Keys) -> Part:
        """The experts of one layer."""
        body = Experts(
            experts=keys.whole("num_experts"),
            top_k=self._top_k(keys),
            width=self.width(keys),
            gated=self.gated,
            shared_width=self.shared(keys),
            shared_gate=self.shared_gate,
        )
        each = (body.width * (2 if self.gated else 1) + keys.hidden) * switched(keys, self.expert_bias)
        router = body.experts * (switched(keys, self.router_bias) + self.correction)
        return Part(body, vectors=router + body.experts * each, idle=(body.experts - body.top_k) * each)

    @staticmethod
    def _top_k(keys: Keys) -> int:
        top_k, experts = keys.whole("num_experts_per_tok"), keys.whole("num_experts")
        if top_k > experts:
            name = keys.spelling("num_experts_per_tok") or "num_experts_per_tok"
            raise ConfigError(name, top_k, f"at most the {experts:,} experts")
        return top_k
