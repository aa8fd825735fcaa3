"""The config reader: a Hugging Face ``config.json`` becomes a ``Model``, exactly, or is declined with the reason.

>>> from costmodel.config import read_config
>>> read_config({"model_type": "llama", "hidden_size": 576, "num_hidden_layers": 30, "num_attention_heads": 9,
...              "num_key_value_heads": 3, "intermediate_size": 1536, "vocab_size": 49152,
...              "tie_word_embeddings": True}).total_params
134515008
"""

from __future__ import annotations

from costmodel.config.document import load, parse
from costmodel.config.reader import read
from costmodel.model import Model

__all__ = ["parse", "read_config"]


def read_config(config: object, quantization: object = None) -> Model:
    """Read a ``config.json``, and the ``hf_quant_config.json`` that may stand beside it.

    Parameters
    ----------
    config: a dict, JSON text, or the path of the file or its folder.
    quantization: the same for ``hf_quant_config.json``; None: the file beside a path, where there is one.

    Raises
    ------
    ConfigError: it names the key, what was found there and what is expected.
    """
    values, beside = load(config)
    separate = beside if quantization is None else quantization
    return read(values, None if separate is None else load(separate)[0])
