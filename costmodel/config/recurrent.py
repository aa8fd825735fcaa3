"""Recurrent mixers: state-space models and linear attention, with a state of fixed size a sequence.

Arithmetic of a recurrence a token, beyond the projections, in its sequential form; an engine that scans a prompt in
chunks does more of it, as matrix products.

Sources of the recurrences: Mamba-2 (arXiv 2405.21060), gated DeltaNet (arXiv 2412.06464), RG-LRU (arXiv 2402.19427);
of the keys, the model classes of Hugging Face transformers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from costmodel.config.keys import Keys
from costmodel.config.parts import Part, Switch, switched
from costmodel.errors import ConfigError
from costmodel.model import LARGEST, Matrix, Recurrent

_MAMBA_SOURCE = (
    "selective scan, 9 FLOP a channel and state (state-spaces/mamba issue 110), beside the convolution, "
    "the skip and the gate; Mamba, arXiv 2312.00752, section 3.3"
)
_SSD_SOURCE = (
    "h = a h + dt B x, y = C h: 5 FLOP a state value and token, beside the convolution, the skip and the gate; "
    "Mamba-2, arXiv 2405.21060, equation 1"
)
_DELTA_SOURCE = (
    "S = a S - b k (k'S) + b k v', o = q'S: 7 FLOP a state value and token, beside the convolution and the gate; "
    "Gated DeltaNet, arXiv 2412.06464, equation 10"
)
_KDA_SOURCE = (
    "S = diag(a) S - b k (k'S) + b k v', o = q'S: 7 FLOP a state value and token, beside the convolution and the gate; "
    "Kimi Linear, arXiv 2510.26692"
)
_LIGHTNING_SOURCE = (
    "S = a S + k v', o = q'S: 5 FLOP a state value and token, beside the gate; "
    "lightning attention, arXiv 2401.04658; MiniMax-01, arXiv 2501.08313"
)
_LRU_SOURCE = (
    "h = a h + sqrt(1 - a^2) i x: 6 FLOP a channel and token, beside the convolution; Griffin, arXiv 2402.19427"
)
_CONV_SOURCE = "short convolution, 2 FLOP a channel and tap, between two gates; LFM2 technical report, arXiv 2511.23404"


def taps(keys: Keys, name: str) -> int:
    """Width of the short convolution."""
    return keys.whole(name, 4, high=1024)


def expanded(keys: Keys, factor: str) -> int:
    """Inner width: the hidden size times a factor, in whole channels.

    Raises
    ------
    ConfigError: when the factor leaves no width of believable size.
    """
    width = int(keys.number(factor, 2) * keys.hidden)
    if not 0 < width <= LARGEST:
        raise keys.wrong(factor, keys.raw(factor), "a factor that gives an inner width of believable size")
    return width


# ---- Mamba --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Mamba:
    """Rule of a Mamba layer; the attributes are the names of its keys.

    inner: rule of the inner width. norms: dt, B and C are normalised (Jamba).
    """

    state: str = "state_size"
    conv: str = "conv_kernel"
    rank: str = "time_step_rank"
    bias: Switch = "use_bias"
    conv_bias: Switch = "use_conv_bias"
    inner: Callable[[Keys], int] = lambda keys: keys.whole("intermediate_size", expanded(keys, "expand"))
    norms: bool = False

    def __call__(self, keys: Keys) -> Part:
        """The layer."""
        hidden, inner, kernel = keys.hidden, self.inner(keys), taps(keys, self.conv)
        state, rank = keys.whole(self.state, 16), self._rank(keys)
        body = Recurrent(
            kind="mamba",
            projections=(
                Matrix("in", "ssm_in", hidden, 2 * inner),
                Matrix("B, C and dt", "ssm_x", inner, rank + 2 * state, "row"),
                Matrix("dt", "ssm_dt", rank, inner),
                Matrix("out", "ssm_out", inner, hidden, "row"),
            ),
            heads=inner,
            recurrence_values=inner * state,
            conv_values=inner * (kernel - 1),
            flops_per_token=float(inner * (9 * state + 2 * kernel + 4)),
            source=_MAMBA_SOURCE,
        )
        vectors = inner * (state + 1 + kernel + switched(keys, self.conv_bias) + 1)
        biases = (2 * inner + hidden) * switched(keys, self.bias)
        return Part(body, vectors=vectors + biases + (rank + 2 * state) * self.norms)

    def _rank(self, keys: Keys) -> int:
        if keys.raw(self.rank) in (None, "auto"):
            return math.ceil(keys.hidden / 16)
        return keys.whole(self.rank)


@dataclass(frozen=True, kw_only=True)
class Mamba2:
    """Rule of a Mamba-2 layer; the attributes are the names of its keys.

    inner: rule of the inner width that heads times their width must give; None: whatever they give.
    head: key of the width of a head, which may be "auto". norm: the gated output is normalised.
    """

    heads: str
    head: str
    groups: str
    state: str
    conv: str
    bias: Switch
    conv_bias: Switch
    inner: Callable[[Keys], int] | None = None

    def __call__(self, keys: Keys) -> Part:
        """The layer."""
        hidden, heads, inner = keys.hidden, keys.whole(self.heads), self._inner(keys)
        state, kernel = keys.whole(self.state, 128), taps(keys, self.conv)
        mixed = inner + 2 * keys.whole(self.groups, 1) * state
        body = Recurrent(
            kind="mamba2",
            projections=(
                Matrix("in", "ssm_in", hidden, inner + mixed + heads),
                Matrix("out", "ssm_out", inner, hidden, "row"),
            ),
            heads=heads,
            recurrence_values=inner * state,
            conv_values=mixed * (kernel - 1),
            flops_per_token=float(5 * inner * state + 2 * kernel * mixed + 4 * inner),
            source=_SSD_SOURCE,
        )
        vectors = 3 * heads + mixed * (kernel + switched(keys, self.conv_bias)) + inner
        return Part(body, vectors=vectors + (inner + mixed + heads + hidden) * switched(keys, self.bias))

    def _inner(self, keys: Keys) -> int:
        heads = keys.whole(self.heads)
        if keys.raw(self.head) in (None, "auto") and self.inner is not None:
            width, rest = divmod(self.inner(keys), heads)
            if rest or not width:
                raise keys.wrong(self.heads, heads, f"a divisor of the inner width {self.inner(keys):,}")
            return self.inner(keys)
        inner = heads * keys.whole(self.head)
        if self.inner is not None and inner != self.inner(keys):
            found = f"{heads} heads of {keys.whole(self.head)}"
            raise keys.wrong(self.head, found, f"heads that make up the inner width {self.inner(keys):,}")
        return inner


# ---- linear attention ---------------------------------------------------------------------------------------


def gated_deltanet(keys: Keys) -> Part:
    """Gated DeltaNet, as Qwen3-Next, Qwen3.5 and OLMo-Hybrid have it.

    Raises
    ------
    ConfigError: when the heads of values are no multiple of those of keys.
    """
    hidden, kernel = keys.hidden, taps(keys, "linear_conv_kernel_dim")
    k_heads, v_heads = keys.whole("linear_num_key_heads"), keys.whole("linear_num_value_heads")
    k_dim, v_dim = keys.whole("linear_key_head_dim"), keys.whole("linear_value_head_dim")
    if v_heads % k_heads:
        raise ConfigError("linear_num_value_heads", v_heads, f"a multiple of the {k_heads} key heads")
    keys_width, values = k_heads * k_dim, v_heads * v_dim
    mixed = 2 * keys_width + values
    body = Recurrent(
        kind="gated_deltanet",
        projections=(
            Matrix("q, k, v and gate", "linear_in", hidden, mixed + values),
            Matrix("decay and step", "linear_gates", hidden, 2 * v_heads),
            Matrix("o", "linear_out", values, hidden, "row"),
        ),
        heads=k_heads,
        recurrence_values=v_heads * k_dim * v_dim,
        conv_values=mixed * (kernel - 1),
        flops_per_token=float(7 * v_heads * k_dim * v_dim + 2 * kernel * mixed + 2 * values),
        source=_DELTA_SOURCE,
    )
    return Part(body, vectors=2 * v_heads + mixed * kernel + v_dim)


def kimi_delta(keys: Keys) -> Part:
    """Kimi delta attention: as gated DeltaNet, with a decay for each channel of the keys."""
    inner, hidden = keys.inside("linear_attn_config"), keys.hidden
    heads = inner.whole("num_heads", keys.whole("linear_num_heads", 32))
    width = inner.whole("head_dim", keys.whole("linear_head_dim", 128))
    kernel = inner.whole("short_conv_kernel_size", taps(keys, "linear_conv_kernel_dim"), high=1024)
    all_heads = heads * width
    body = Recurrent(
        kind="kimi_delta_attention",
        projections=(
            Matrix("q, k and v", "linear_in", hidden, 3 * all_heads),
            Matrix("decay down", "linear_down", hidden, width, "none"),
            Matrix("decay up", "linear_up", width, all_heads),
            Matrix("gate down", "linear_down", hidden, width, "none"),
            Matrix("gate up", "linear_up", width, all_heads),
            Matrix("step", "linear_gates", hidden, heads),
            Matrix("o", "linear_out", all_heads, hidden, "row"),
        ),
        heads=heads,
        recurrence_values=heads * width * width,
        conv_values=3 * all_heads * (kernel - 1),
        flops_per_token=float(7 * heads * width * width + 6 * kernel * all_heads + 2 * all_heads),
        source=_KDA_SOURCE,
    )
    return Part(body, vectors=heads + all_heads + 3 * all_heads * kernel + width)


def lightning(keys: Keys) -> Part:
    """Lightning attention of MiniMax-01: linear attention with a fixed decay a head, and an output gate."""
    width = keys.whole_or_none("head_dim") or keys.hidden // keys.heads
    all_heads = keys.heads * width
    body = Recurrent(
        kind="lightning_attention",
        projections=(
            Matrix("q, k and v", "linear_in", keys.hidden, 3 * all_heads),
            Matrix("gate", "linear_in", keys.hidden, all_heads),
            Matrix("o", "linear_out", all_heads, keys.hidden, "row"),
        ),
        heads=keys.heads,
        recurrence_values=keys.heads * width * width,
        conv_values=0,
        flops_per_token=float(5 * keys.heads * width * width + 2 * all_heads),
        source=_LIGHTNING_SOURCE,
    )
    return Part(body, vectors=all_heads)


# ---- others -------------------------------------------------------------------------------------------------


def gated_convolution(keys: Keys) -> Part:
    """The short convolution of LFM2: its only state is the convolution's tail."""
    hidden, kernel, bias = keys.hidden, keys.whole("conv_L_cache", 3, high=1024), keys.flag("conv_bias")
    body = Recurrent(
        kind="gated_convolution",
        projections=(
            Matrix("in", "linear_in", hidden, 3 * hidden),
            Matrix("out", "linear_out", hidden, hidden, "row"),
        ),
        heads=hidden,
        recurrence_values=0,
        conv_values=hidden * (kernel - 1),
        flops_per_token=float(hidden * (2 * kernel + 2)),
        source=_CONV_SOURCE,
    )
    return Part(body, vectors=hidden * kernel + 5 * hidden * bias)


def gated_lru(keys: Keys) -> Part:
    """The real-gated linear recurrent unit of RecurrentGemma, whose gates are block-diagonal, a block a head.

    Raises
    ------
    ConfigError: when the heads do not divide the width.
    """
    hidden, width, kernel = keys.hidden, keys.whole("lru_width", keys.hidden), taps(keys, "conv1d_width")
    block, rest = divmod(width, keys.heads)
    if rest or not block:
        raise keys.wrong("num_attention_heads", keys.heads, f"a divisor of the recurrent width {width:,}")
    body = Recurrent(
        kind="rg_lru",
        projections=(
            Matrix("x and y", "linear_in", hidden, 2 * width),
            Matrix("gates", "linear_gates", block, 2 * width),
            Matrix("out", "linear_out", width, hidden, "row"),
        ),
        heads=keys.heads,
        recurrence_values=width,
        conv_values=width * (kernel - 1),
        flops_per_token=float(width * (6 + 2 * kernel)),
        source=_LRU_SOURCE,
    )
    return Part(body, vectors=width * (kernel + 1) + 2 * width + hidden + 3 * width)
