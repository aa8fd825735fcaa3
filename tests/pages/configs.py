"""Configs that the tests of the Model page paste: the keys that a reading needs, as published."""

import json
from typing import Any

LLAMA_70B: dict[str, Any] = {  # meta-llama/Llama-3.1-70B, config.json on the Hugging Face Hub
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
FP8 = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8", "exclude_modules": ["lm_head"]}}

LLAMA_70B_TEXT, FP8_TEXT = json.dumps(LLAMA_70B, indent=2), json.dumps(FP8)
