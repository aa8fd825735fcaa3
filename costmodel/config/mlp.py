"""MLPs and experts: how wide, gated or not, and which layers have experts.

Source of the rules: the model classes of Hugging Face transformers that read these keys.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from costmodel.config.keys import Keys
from costmodel.config.parts import Part, Switch, switched
from costmodel.errors import ConfigError
from costmodel.model import Experts, Mlp

Width = Callable[[Keys], int]
Places = Callable[[Keys], Sequence[bool]]
"""From the keys to whether each layer has experts."""


# ---- widths -------------------------------------------------------------------------------------------------


def stated(name: str = "intermediate_size") -> Width:
    """A width that the config must state."""
    return lambda keys: keys.whole(name)


def four_times(keys: Keys) -> int:
    """The width of GPT-2's time: four times the hidden size unless it is stated."""
    return keys.whole("intermediate_size", 4 * keys.hidden)


def halved(keys: Keys) -> int:
    """A stated width that counts both branches: each has half (Qwen 1, RecurrentGemma).

    Raises
    ------
    ConfigError: for an odd width.
    """
    width = keys.whole("intermediate_size")
    if width % 2:
        raise keys.wrong("intermediate_size", width, "an even number, because two branches share it")
    return width // 2


def rounded_two_thirds(keys: Keys) -> int:
    """LFM2: two thirds of the stated width, rounded up to a multiple, unless told otherwise."""
    width = keys.whole("intermediate_size")
    if not keys.flag("block_auto_adjust_ff_dim", otherwise=True):
        return width
    width = int(keys.number("block_ffn_dim_multiplier", 1.0) * int(2 * width / 3))
    multiple = keys.whole("block_multiple_of", 256)
    return -(-width // multiple) * multiple


def shared_experts(keys: Keys) -> int:
    """So many shared experts, each as wide as a routed one."""
    return keys.whole("num_shared_experts", 0, low=0) * keys.whole("moe_intermediate_size")


def maybe(name: str) -> Width:
    """A width that may be left out or 0, which means that there is none."""
    return lambda keys: keys.whole(name, 0, low=0)


# ---- dense --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Dense:
    """Rule of a dense MLP.

    Attributes
    ----------
    gated: three matrices instead of two. bias: each output has one. width: its width.
    vectors: further parameters in each (a learned activation).
    """

    gated: bool = True
    bias: Switch = False
    width: Width = field(default_factory=stated)
    vectors: int = 0

    def __call__(self, keys: Keys) -> Sequence[Part]:
        """One part a layer."""
        return [self.part(keys)] * keys.layers

    def part(self, keys: Keys) -> Part:
        """The MLP of one layer."""
        width = self.width(keys)
        biases = (width * (2 if self.gated else 1) + keys.hidden) * switched(keys, self.bias)
        return Part(Mlp(width=width, gated=self.gated), vectors=biases + self.vectors)


# ---- experts ------------------------------------------------------------------------------------------------


def all_layers(keys: Keys) -> list[bool]:
    """Every layer has experts."""
    return [True] * keys.layers


def sparse_steps(keys: Keys) -> list[bool]:
    """Qwen-MoE: every ``decoder_sparse_step``-th layer, without those in ``mlp_only_layers``."""
    step = keys.whole("decoder_sparse_step", 1)
    dense = set(keys.each("mlp_only_layers", int) or ())
    return [layer not in dense and (layer + 1) % step == 0 for layer in range(keys.layers)]


def after_dense(name: str = "first_k_dense_replace", otherwise: int = 0) -> Places:
    """All layers from a number on, or as ``moe_layer_freq`` says: every so many, or a flag for each."""

    def places(keys: Keys) -> list[bool]:
        if isinstance(keys.raw("moe_layer_freq"), list):
            return [flag != 0 for flag in keys.each("moe_layer_freq", int, keys.layers) or ()]
        first, step = keys.whole(name, otherwise, low=0), keys.whole("moe_layer_freq", 1)
        return [layer >= first and layer % step == 0 for layer in range(keys.layers)]

    return places


def listed(otherwise: Places) -> Places:
    """``mlp_layer_types`` names "dense" and "sparse" layers where the config has it; else the rule of the class.

    Raises
    ------
    ConfigError: for a kind of MLP that is not known.
    """

    def places(keys: Keys) -> Sequence[bool]:
        kinds = keys.each("mlp_layer_types", str, keys.layers)
        if kinds is None:
            return otherwise(keys)
        for kind in kinds:
            if kind not in ("dense", "sparse"):
                raise ConfigError("mlp_layer_types", kind, "dense or sparse")
        return [kind == "sparse" for kind in kinds]

    return places


def between(keys: Keys) -> list[bool]:
    """ERNIE 4.5: every ``moe_layer_interval``-th layer between two."""
    first, last = keys.whole("moe_layer_start_index", 0, low=0), keys.whole("moe_layer_end_index", -1, low=-1)
    last = keys.layers - 1 if last < 0 else last
    step = keys.whole("moe_layer_interval", 1)
    return [first <= layer <= last and (layer + 1) % step == 0 for layer in range(keys.layers)]


def interleaved(keys: Keys) -> list[bool]:
    """Llama 4: the last of each ``interleave_moe_layer_step`` layers, or those that ``moe_layers`` lists."""
    numbers = keys.each("moe_layers", int)
    if numbers is not None:
        chosen = set(numbers)
        return [layer in chosen for layer in range(keys.layers)]
    step = keys.whole("interleave_moe_layer_step", 1)
    return [(layer + 1) % step == 0 for layer in range(keys.layers)]


def periodic(period: str, offset: str) -> Places:
    """Jamba: one layer in each period, at an offset."""

    def places(keys: Keys) -> list[bool]:
        step = keys.whole(period)
        position = keys.whole(offset, low=0, high=step - 1)
        return [layer % step == position for layer in range(keys.layers)]

    return places


@dataclass(frozen=True, kw_only=True)
class Routed:
    """Rule of experts in some layers and a dense MLP in the others.

    Attributes
    ----------
    places: which layers have experts. dense: the MLP of the others.
    width: width of one expert. shared: summed width of the shared experts.
    gated: an expert has three matrices instead of two. shared_gate: the shared experts' output is gated.
    router_bias, expert_bias: biases of the router and of every expert. shared_bias: biases of the shared experts.
    correction: the router keeps a trained value an expert as a parameter, not as a buffer.
    fewest: a config with fewer experts than this is a dense model; 0: experts must be stated.
    """

    places: Places = all_layers
    dense: Dense = field(default_factory=Dense)
    width: Width = field(default_factory=lambda: stated("moe_intermediate_size"))
    shared: Width = lambda _: 0
    gated: bool = True
    shared_gate: bool = False
    router_bias: Switch = False
    expert_bias: Switch = False
    shared_bias: Switch = False
    correction: Switch = False
    fewest: int = 0

    def __call__(self, keys: Keys) -> Sequence[Part]:
        """One part a layer."""
        if self.fewest and keys.whole("num_experts", 0, low=0) < self.fewest:
            return self.dense(keys)
        places = self.places(keys)
        sparse = self.part(keys) if any(places) else None
        dense = None if all(places) else self.dense.part(keys)
        return [part for part in (sparse if here else dense for here in places) if part]

    def part(self, keys: Keys) -> Part:
        """The experts of one layer.

        Raises
        ------
        ConfigError: when a token is sent to more experts than there are.
        """
        experts = keys.whole("num_experts")
        top_k = keys.whole("num_experts_per_tok")
        if top_k > experts:
            raise keys.wrong("num_experts_per_tok", top_k, f"at most the {experts:,} experts")
        body = Experts(
            experts=experts,
            top_k=top_k,
            width=self.width(keys),
            gated=self.gated,
            shared_width=self.shared(keys),
            shared_gate=self.shared_gate,
        )
        return self._with_vectors(keys, body)

    def _with_vectors(self, keys: Keys, body: Experts) -> Part:
        matrices = 2 if self.gated else 1
        each = (body.width * matrices + keys.hidden) * switched(keys, self.expert_bias)
        router = body.experts * (switched(keys, self.router_bias) + switched(keys, self.correction))
        biased = body.shared_width > 0 and switched(keys, self.shared_bias)
        shared = (body.shared_width * matrices + keys.hidden) * biased
        return Part(body, vectors=router + shared + body.experts * each, idle=(body.experts - body.top_k) * each)
