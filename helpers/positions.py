"""Position tables: sinusoids added to the embedding, or rotations of queries and keys. Both looked up on the CPU."""

import math

import torch
from torch import nn


class Rotary(nn.Module):
    """Rotary positions in the half-split layout: channel i turns with channel i + D/2 (Su et al. 2021, Llama's order)."""

    def __init__(self, head_dim, block_size, base):
        super().__init__()
        turns = base ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)  # [D/2]
        angle = torch.arange(block_size, dtype=torch.float64)[:, None] * turns  # [block, D/2]
        # Plain attributes, not buffers: model.half() must not round the angles, and they are looked up on the CPU.
        self.cos, self.sin = angle.cos(), angle.sin()

    def forward(self, x, positions):  # x [B, H, T, D], positions [T] or [B, T]
        cos, sin = self.cos[positions].to(x), self.sin[positions].to(x)  # [(B,) T, D/2]
        if positions.dim() == 2:
            cos, sin = cos[:, None], sin[:, None]  # [B, 1, T, D/2]
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


def sinusoids(block_size, d_model):
    """Sine and cosine table `[block_size, d_model]`, float64, of Vaswani et al. 2017, section 3.5."""
    position = torch.arange(block_size, dtype=torch.float64)[:, None]  # [block, 1]
    rate = torch.exp(-math.log(10_000.0) * torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)  # [ceil(C/2)]
    table = torch.zeros(block_size, d_model, dtype=torch.float64)
    table[:, 0::2] = torch.sin(position * rate)
    table[:, 1::2] = torch.cos(position * rate)[:, : d_model // 2]
    return table
