"""Tiny random `transformers` models, built from configs: wide weights, sizes that differ pairwise, nothing downloaded."""

from functools import cache

import torch
import transformers

torch.set_num_threads(1)  # the models are tiny: a second thread only waits for the first
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

IDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
SIZES = {
    "vocab_size": 61,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "initializer_range": 0.4,
    **IDS,
}
GPT2 = {"vocab_size": 61, "n_embd": 24, "n_layer": 2, "n_head": 4, "n_positions": 64, "initializer_range": 0.2, **IDS}
WINDOW = 7
SLIDING = {"sliding_window": WINDOW, "head_dim": 8, "query_pre_attn_scalar": 8}
KINDS = ["sliding_attention", "full_attention", "sliding_attention"]

MODELS = {  # name -> (class, config class, config)
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", GPT2),
    "llama": ("LlamaForCausalLM", "LlamaConfig", SIZES),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", SIZES),
    "qwen2 mixed": (
        "Qwen2ForCausalLM",
        "Qwen2Config",
        SIZES | {"use_sliding_window": True, "sliding_window": WINDOW, "max_window_layers": 1},
    ),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", SIZES | {"head_dim": 8}),
    "mistral": ("MistralForCausalLM", "MistralConfig", SIZES | {"sliding_window": WINDOW}),
    "gemma": ("GemmaForCausalLM", "GemmaConfig", SIZES | {"head_dim": 8}),
    "gemma2": (
        "Gemma2ForCausalLM",
        "Gemma2Config",
        SIZES | SLIDING | {"attn_logit_softcapping": 5.0, "final_logit_softcapping": 20.0},
    ),
    "gemma3": (
        "Gemma3ForCausalLM",
        "Gemma3TextConfig",
        SIZES | SLIDING | {"num_hidden_layers": 3, "layer_types": KINDS},
    ),
    "mixtral": (
        "MixtralForCausalLM",
        "MixtralConfig",
        SIZES | {"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": None},
    ),
    "bloom": (
        "BloomForCausalLM",
        "BloomConfig",
        {"vocab_size": 61, "hidden_size": 24, "n_layer": 2, "n_head": 4, "initializer_range": 0.4},
    ),
    "gpt_oss": (
        "GptOssForCausalLM",
        "GptOssConfig",
        SIZES | {"head_dim": 8, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": WINDOW},
    ),
}


def make(name, **changes):
    """A new model of that name, in evaluation mode; `changes` go into its config."""
    model, config, sizes = MODELS[name]
    torch.manual_seed(0)
    return getattr(transformers, model)(getattr(transformers, config)(**sizes | changes)).eval()


model = cache(make)  # shared by tests, which must not change it


@cache
def reference(name):
    """The reference of `model(name)`, shared: what an audit measures on it is measured once."""
    from kvaudit.hf import HFReference

    return HFReference(model(name))
