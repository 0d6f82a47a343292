"""Random models for tests: "wide" weights, so that logits are far apart and a fault cannot hide in small numbers."""

import torch

from helpers.model import Config, MiniGPT

torch.set_num_threads(1)  # the models are tiny: a second thread only waits for the first


def wide(positions="learned", dtype=torch.float64, seed=0, std=0.2, **sizes):
    """A MiniGPT whose sizes differ pairwise (L = 3, H = 6, H_kv = 2, D = 8, V = 61)."""
    sizes = {"n_layers": 3, "n_heads": 6, "d_model": 48, "d_ff": 96, "n_kv_heads": 2} | sizes
    torch.manual_seed(seed)
    model = MiniGPT(Config(vocab_size=sizes.pop("vocab_size", 61), block_size=64, positions=positions, **sizes))
    model.reset_parameters(std)
    return model.to(dtype).eval()
