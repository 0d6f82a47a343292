"""`transformers`' GPT-2 as peer: the same sizes and weights, its own caches, called as cheaply as it can be.

No attention mask and no position ids are passed: with one sequence and no padding the library needs neither, and
making them would count against it.
"""

import torch

from kvaudit.hf import check_version
from kvaudit.hf.library import cache_argument

LAYER = {  # MiniGPT's names in a block: (GPT-2's, whether its matrix is [in, out])
    "norm1": ("ln_1", False),
    "attention.qkv": ("attn.c_attn", True),
    "attention.project": ("attn.c_proj", True),
    "norm2": ("ln_2", False),
    "ffn.0": ("mlp.c_fc", True),
    "ffn.2": ("mlp.c_proj", True),
}


def new_gpt2(config, device="cpu"):
    """A GPT2LMHeadModel of these sizes, random weights, evaluation mode. Raises ValueError where GPT-2 is not so built."""
    import transformers

    check_version(transformers.__version__)
    if config.positions != "learned" or config.kv_heads != config.n_heads or config.gelu != "tanh":
        raise ValueError(
            "GPT-2 has learned positions, as many key as query heads, and the tanh GELU; this model differs"
        )
    sizes = transformers.GPT2Config(
        vocab_size=config.vocab_size,
        n_positions=config.block_size,
        n_embd=config.d_model,
        n_layer=config.n_layers,
        n_head=config.n_heads,
        n_inner=config.d_ff,
        layer_norm_epsilon=config.norm_eps,
        bos_token_id=0,
        eos_token_id=None,
    )
    return transformers.GPT2LMHeadModel(sizes).eval().to(device)


def gpt2_names(n_layers):
    """{GPT-2's name: (MiniGPT's name, whether to transpose)} of every weight."""
    whole = {"transformer.wte": "token", "transformer.wpe": "position", "transformer.ln_f": "norm"}
    names = {f"{theirs}.weight": (f"{ours}.weight", False) for theirs, ours in whole.items()}
    names["transformer.ln_f.bias"] = "norm.bias", False
    for layer in range(n_layers):
        for ours, (theirs, transposed) in LAYER.items():
            for part in ("weight", "bias"):
                name = f"transformer.h.{layer}.{theirs}.{part}"
                names[name] = f"blocks.{layer}.{ours}.{part}", transposed and part == "weight"
    return names


@torch.no_grad()
def gpt2_twin(model):
    """A GPT2LMHeadModel with a copy of the MiniGPT's weights, each in the library's own layout."""
    twin, ours = new_gpt2(model.config, model.token.weight.device), model.state_dict()
    theirs = dict(twin.named_parameters())
    for name, (mine, transposed) in gpt2_names(model.config.n_layers).items():
        weight = ours[mine]
        theirs.pop(name).copy_(weight.t() if transposed else weight)
    if theirs:
        raise ValueError(f"GPT-2 has weights that MiniGPT has not: {', '.join(theirs)}")
    return twin.to(model.token.weight.dtype)


class LibraryDecoder:
    """A cached decoder over a GPT2LMHeadModel. `new_cache`: a function that makes its cache; `step`: the forward of a decode step."""

    def __init__(self, model, new_cache, step=None):
        self.model, self.new_cache, self.step = model, new_cache, step or model.forward
        self.argument = cache_argument(model)

    def prefill(self, tokens):
        self.cache = self.new_cache()
        return self.feed(self.model.forward, tokens)

    def decode(self, token):
        return self.feed(self.step, token[:, None])

    def layers(self):
        """The live rows `[(K, V), …]`; those of a static cache with the room that is not written yet."""
        return [(layer.keys, layer.values) for layer in self.cache.layers]

    @torch.inference_mode()
    def feed(self, forward, tokens):  # [B, T] -> [B, V]
        return forward(input_ids=tokens, use_cache=True, logits_to_keep=1, **{self.argument: self.cache}).logits[:, -1]


class LibraryLoop:
    """The library without a cache: the whole sequence again for each token, logits of the last position only."""

    def __init__(self, model):
        self.model = model

    def decode(self, token):
        return self.prefill(torch.cat([self.tokens, token[:, None]], dim=1))

    @torch.inference_mode()
    def prefill(self, tokens):
        self.tokens = tokens
        return self.model(input_ids=tokens, use_cache=False, logits_to_keep=1).logits[:, -1]


def dynamic_cache(model):
    from transformers import DynamicCache

    return DynamicCache(config=model.config)


def static_cache(model, capacity):
    from transformers import StaticCache

    return StaticCache(config=model.config, max_cache_len=capacity)
