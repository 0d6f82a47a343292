"""Right answers to the exercises of lesson 03, from which the graders' tests make wrong ones."""

IMPORTS = """
import math, torch
from torch import nn
from torch.nn import functional as F
from helpers.model import CausalAttention, NoCache
"""

FEED_FORWARD = (
    IMPORTS
    + """
class FFN(nn.Sequential):
    def __init__(self, config):
        up, down = nn.Linear(config.d_model, config.d_ff), nn.Linear(config.d_ff, config.d_model)
        super().__init__(up, nn.GELU(approximate=config.gelu), down)
"""
)

BLOCK = (
    FEED_FORWARD
    + """
class Block(nn.Module):
    def __init__(self, config, layer):
        super().__init__()
        self.norm1 = nn.LayerNorm(config.d_model, eps=config.norm_eps)
        self.attention = CausalAttention(config, layer)
        self.norm2 = nn.LayerNorm(config.d_model, eps=config.norm_eps)
        self.ffn = FFN(config)

    def forward(self, x, cache, positions):
        x = x + self.attention(self.norm1(x), cache, positions)
        return x + self.ffn(self.norm2(x))
"""
)

SINUSOIDS = """
import torch
def sinusoids_at(positions, d_model):
    rate = 10_000.0 ** (-torch.arange(0, d_model, 2) / d_model)
    angle = positions[..., None] * rate
    out = torch.zeros(*positions.shape, d_model)
    out[..., 0::2], out[..., 1::2] = angle.sin(), angle.cos()
    return out
"""

POSITIONS = """
import torch
def position_ids(mask, n_past=0):
    before = mask.cumsum(-1) - 1
    return before.masked_fill(~mask, 0)[:, n_past:]
"""

MODEL = (
    BLOCK
    + """
class MiniGPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.token = nn.Embedding(config.vocab_size, config.d_model)
        self.position = nn.Embedding(config.block_size, config.d_model)
        self.blocks = nn.ModuleList(Block(config, layer) for layer in range(config.n_layers))
        self.norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)

    def forward(self, tokens, offset=0, cache=None):
        cache = NoCache() if cache is None else cache
        positions = torch.arange(offset, offset + tokens.shape[1])
        x = self.token(tokens) + self.position(positions)
        for block in self.blocks:
            x = block(x, cache, positions)
        return F.linear(self.norm(x), self.token.weight)
"""
)

RIGHT = {"FFN": FEED_FORWARD, "Block": BLOCK, "sinusoids_at": SINUSOIDS, "position_ids": POSITIONS, "MiniGPT": MODEL}
