"""Keys: a config's values by one standard name each, checked on the way out.

Families spell the same size differently (``n_embd``, ``d_model``), leave keys out that mean a default of their class,
and write ``null`` where a rule decides. ``Keys`` hides the spelling and the defaults, and never lets a value through
that is not what was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from costmodel.errors import ConfigError
from costmodel.model import LARGEST, MOST_LAYERS

ALIASES: Mapping[str, tuple[str, ...]] = {
    "hidden_size": ("n_embd", "n_embed", "d_model", "model_dim", "dim"),
    "num_hidden_layers": ("n_layer", "n_layers", "num_layers", "num_transformer_layers"),
    "num_attention_heads": ("n_head", "n_heads"),
    "num_key_value_heads": ("num_kv_heads", "n_head_kv", "multi_query_group_num"),
    "head_dim": ("kv_channels", "attention_head_dim"),
    "intermediate_size": ("ffn_dim", "n_inner", "ffn_hidden_size"),
    "vocab_size": ("padded_vocab_size",),
    "max_position_embeddings": (
        "n_positions",
        "n_ctx",
        "max_seq_len",
        "seq_length",
        "max_sequence_length",
        "model_max_length",
        "context_length",
    ),
    "num_experts": ("num_local_experts", "n_routed_experts", "moe_num_experts"),
    "num_experts_per_tok": (
        "num_experts_per_token",
        "experts_per_token",
        "moe_topk",
        "moe_k",
        "top_k_experts",
        "moe_top_k",
    ),
    "num_shared_experts": ("n_shared_experts", "moe_num_shared_experts"),
    "hidden_act": ("hidden_activation", "activation_function", "mlp_hidden_act"),
    "torch_dtype": ("dtype",),
}
"""Standard name of each size, and the names that some configs use for it."""

SIZES = frozenset(
    {
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "intermediate_size",
        "vocab_size",
        "num_experts",
        "num_experts_per_tok",
        "moe_intermediate_size",
    }
)
"""Keys that only a nested part may leave to its class: there the default is dropped on saving, at the top it is not."""


class Keys:
    """The values of one config, read by standard names.

    Parameters
    ----------
    values: the object of the config that holds the language model.
    defaults: what a key means that is left out (the defaults of the family's config class).
    aliases: names of this family alone, by standard name; they are tried before the general ones.
    nested: the object is a part of a larger config, which leaves out every size that equals its class's default.
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        *,
        defaults: Mapping[str, Any],
        aliases: Mapping[str, tuple[str, ...]],
        nested: bool = False,
    ) -> None:
        self.values, self.nested = values, nested
        self._defaults, self._aliases = defaults, aliases
        self.filled: dict[str, Any] = {}
        """Sizes that were not in the config and came from the class."""

    def spelling(self, name: str) -> str | None:
        """Return the key under which the config holds ``name``, or None when it is left out or null everywhere."""
        spellings = (name, *self._aliases.get(name, ()), *ALIASES.get(name, ()))
        return next((key for key in spellings if self.values.get(key) is not None), None)

    def raw(self, name: str) -> Any:
        """Return the value as it stands; None for null; the default of the class for a key that is left out."""
        key = self.spelling(name)
        if key is not None:
            return self.values[key]
        if name in self.values or name not in self._defaults or (name in SIZES and not self.nested):
            return None
        default = self._defaults[name]
        if default is not None:
            self.filled[name] = default
        return default

    def says(self, name: str) -> bool:
        """Whether the config itself holds a value for ``name``."""
        return self.spelling(name) is not None

    def wrong(self, name: str, found: object, expected: str) -> ConfigError:
        """Return the error that names the key as the config spells it."""
        return ConfigError(self.spelling(name) or name, found, expected)

    def whole(self, name: str, otherwise: int | None = None, *, low: int = 1, high: int = LARGEST) -> int:
        """Return a whole number from ``low`` to ``high``; ``otherwise`` where the config has none.

        Raises
        ------
        ConfigError: when the value is something else, or missing with nothing in its place.
        """
        value = self.raw(name)
        if value is None:
            value = otherwise
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            found = "nothing" if value is None else value
            raise self.wrong(name, found, f"a whole number from {low:,} to {high:,}")
        return value

    def whole_or_none(self, name: str) -> int | None:
        """Return a whole number of at least 1, or None where there is none."""
        return None if self.raw(name) is None else self.whole(name)

    def flag(self, name: str, *, otherwise: bool = False) -> bool:
        """Return true or false; ``otherwise`` where the config says nothing.

        Raises
        ------
        ConfigError: for anything but true or false.
        """
        value = self.raw(name)
        if value is None:
            return otherwise
        if not isinstance(value, bool):
            raise self.wrong(name, value, "true or false")
        return value

    def number(self, name: str, otherwise: float) -> float:
        """Return a positive number; ``otherwise`` where the config says nothing.

        Raises
        ------
        ConfigError: for anything but a positive number.
        """
        value = self.raw(name)
        if value is None:
            return otherwise
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= LARGEST:
            raise self.wrong(name, value, "a positive number")
        return value

    def text(self, name: str, otherwise: str = "") -> str:
        """Return a text; ``otherwise`` where the config says nothing.

        Raises
        ------
        ConfigError: for anything but a text.
        """
        value = self.raw(name)
        if value is None:
            return otherwise
        if not isinstance(value, str):
            raise self.wrong(name, value, "a text")
        return value

    def each(self, name: str, kind: type, length: int | None = None) -> list[Any] | None:
        """Return a list whose entries are all of ``kind``, one a layer when ``length`` is given; None without any.

        Raises
        ------
        ConfigError: for a list of other things, or of another length.
        """
        value = self.raw(name)
        if value is None:
            return None
        key = self.spelling(name) or name
        if not isinstance(value, (list, tuple)):
            raise ConfigError(key, value, f"a list of {_KINDS[kind]}")
        for entry in value:
            if not isinstance(entry, kind) or (kind is int and isinstance(entry, bool)):
                raise ConfigError(key, entry, f"a list of {_KINDS[kind]}")
        if length is not None and len(value) != length:
            raise ConfigError(key, f"{len(value):,} entries", f"one for each of the {length:,} layers")
        return list(value)

    def part(self, name: str) -> Mapping[str, Any]:
        """Return an object inside the config, empty where there is none.

        Raises
        ------
        ConfigError: for anything but an object.
        """
        value = self.raw(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise ConfigError(name, value, "an object")
        return value

    def inside(self, name: str) -> Keys:
        """Return the keys of an object inside the config."""
        return Keys(self.part(name), defaults={}, aliases={})

    # ---- sizes that every family has ------------------------------------------------------------------------

    @property
    def hidden(self) -> int:
        """Width of the residual stream."""
        return self.whole("hidden_size")

    @property
    def layers(self) -> int:
        """Number of layers."""
        return self.whole("num_hidden_layers", high=MOST_LAYERS)

    @property
    def heads(self) -> int:
        """Number of query heads."""
        return self.whole("num_attention_heads")


_KINDS = {int: "whole numbers", str: "texts", dict: "objects", list: "lists"}
