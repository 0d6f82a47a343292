"""The model shapes that the benchmark knows, with random weights."""

import torch

from ..config import Config
from ..model import MiniGPT

SHAPES = {
    "gpt2": Config(  # the smallest GPT-2: 124 M weights, 498 MB in float32
        vocab_size=50_257, block_size=1024, n_layers=12, n_heads=12, d_model=768, d_ff=3072, gelu="tanh"
    ),
    "small": Config(  # 23 M weights, 94 MB: still more than most processors' caches hold
        vocab_size=8192, block_size=1024, n_layers=6, n_heads=8, d_model=512, d_ff=2048, gelu="tanh"
    ),
    "tiny": Config(  # for trying out: it fits the cache, so that memory is no limit
        vocab_size=512, block_size=1024, n_layers=2, n_heads=4, d_model=64, d_ff=256, gelu="tanh"
    ),
}


def new_model(config, seed=0, device="cpu"):
    """A MiniGPT with random weights, in evaluation mode."""
    torch.manual_seed(seed)
    return MiniGPT(config).eval().to(device)


def random_tokens(config, length, batch=1, seed=0, device="cpu"):
    """int64 ids `[batch, length]`."""
    draw = torch.Generator().manual_seed(seed)
    return torch.randint(config.vocab_size, (batch, length), generator=draw).to(device)
