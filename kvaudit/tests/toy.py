"""A toy for the tests of single stages: a reference and a correct decoder over it, twenty lines in all."""

import torch

from kvaudit.witness import attend, band

V, POSITIONS, L = 11, 24, 2


class Toy:
    """Two layers of attention with one head; float64, learned positions."""

    vocab_size, block_size, n_layers, shared_heads = V, POSITIONS, L, False
    dtype, device = torch.float64, torch.device("cpu")

    def __init__(self, seed=0, size=1.0):
        draw = torch.Generator().manual_seed(seed)
        self.table, self.places, self.qkv = (
            torch.randn(*shape, generator=draw, dtype=torch.float64) for shape in ((V, 8), (POSITIONS, 8), (L, 8, 24))
        )
        self.out = self.table.T * size  # [8, V]

    def forward(self, tokens, positions, attention):
        x = self.table[tokens] + self.places[positions]
        for layer in range(L):
            q, k, v = (t[:, None] for t in (x @ self.qkv[layer] / 3).chunk(3, dim=-1))  # [B, 1, T, 8]
            x = x + attention(layer, q, k, v, 8**-0.5)[:, 0]
        return x @ self.out

    def logits(self, tokens):
        mask = band(tokens.shape[1], tokens.shape[1])
        return self.forward(tokens, torch.arange(tokens.shape[1]), lambda _, *qkvs: attend(*qkvs, mask))


class ToyDecoder:
    """Feeds everything again in each step: slow, and right."""

    def __init__(self, reference):
        self.reference = reference

    def prefill(self, tokens):
        self.tokens = tokens
        return self.reference.logits(self.tokens)[:, -1]

    def decode(self, token):
        return self.prefill(torch.cat([self.tokens, token[:, None]], dim=1))
