"""Models none of whose parameters is zero or one: a bias or a norm that is left out, or read twice, then shows."""

import torch

from tests.wide import wide


def scramble(model, seed=3):
    """Draw every parameter of a module anew, in place: matrices wide, biases around 0, the norms' weights around 1."""
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = 0.2 * torch.randn(p.shape, generator=draw, dtype=p.dtype)
            p.copy_(noise + 1 if p.dim() == 1 and name.endswith("weight") else noise)
    return model


def scrambled(positions="learned", **sizes):
    """`wide` with every parameter drawn (L = 3, H = 6, H_kv = 2, D = 8, V = 61), float64."""
    return scramble(wide(positions, **sizes))


def tokens(B=4, T=7, seed=1, V=61):
    """Random ids `[B, T]`, of other sizes than the models' own."""
    return torch.randint(V, (B, T), generator=torch.Generator().manual_seed(seed))
