"""What the audit compares with: a model's uncached forward, and a tapped forward that lets a witness attend for it.

A *reference* is duck-typed. `logits(tokens [B, T]) -> [B, T, V]` is all that a verdict needs. Naming a bug needs
`forward(tokens [B, T], positions [T] or [B, T], attend) -> logits [B, T, V]`, in which every layer's attention is done
by `attend(layer, q [B, H, T, D], k [B, H_kv, T, D], v, scale) -> [B, H, T, D]`. With rotary positions,
`rotate(x [B, H, T, D], by [T])` turns rows by that many positions more (or, negative, fewer).
"""

import copy

import torch

from kvaudit.witness import attend, band

from .model import CausalAttention
from .modules import with_modules
from .plain import plain_logits


class TappedAttention(CausalAttention):
    """Projects and rotates as the model does, then hands queries, keys and values to the tap instead of a cache."""

    def forward(self, x, cache, positions):
        q, k, v = self.split(self.qkv(x))
        if self.rotary is not None:
            q, k = self.rotate_query(q, positions), self.rotate_key(k, positions)
        return self.project(self.merge(cache.attend(self.layer, q, k, v, self.scale())))


class Tap:
    """Stands where a cache would: the positions are given, attention is somebody else's."""

    def __init__(self, positions, attend):
        self.given, self.attend = positions, attend

    def positions(self, T):
        return self.given

    def advance(self, T):
        pass


class MiniGPTReference:
    """The reference for the course's own model. `window` is the sliding window that the model is meant to have."""

    independence = "independent (plain loops over positions and heads, from the weights alone)"

    def __init__(self, model, window=None):
        self.model, self.window = model, window
        self.tapped = with_modules(model, [TappedAttention], [])
        self.n_layers, self.block_size = model.config.n_layers, model.config.block_size
        self.last_position = self.block_size  # one token more must be refused
        self.vocab_size = model.config.vocab_size
        self.rotary = model.config.positions == "rope"
        self.shared_heads = model.config.kv_heads < model.config.n_heads
        self.dtype, self.device = model.token.weight.dtype, model.token.weight.device

    @torch.inference_mode()
    def logits(self, tokens):
        if self.window is None:
            return self.model(tokens)
        mask = band(tokens.shape[1], self.window).to(self.device)  # [T, T]
        return self.forward(
            tokens, torch.arange(tokens.shape[1]), lambda layer, q, k, v, scale: attend(q, k, v, scale, mask)
        )

    @torch.inference_mode()
    def forward(self, tokens, positions, attend):
        return self.tapped(tokens, Tap(positions, attend))

    def rotate(self, x, by):
        """Turn rows of x `[B, H, T, D]` by `by` `[T]` positions: rotations add up, so this moves them along."""
        c = self.model.config
        turns = c.rope_base ** (-torch.arange(0, c.head_dim, 2, dtype=torch.float64) / c.head_dim)
        angle = by[:, None].double() * turns  # [T, D/2]
        cos, sin = angle.cos().to(x), angle.sin().to(x)
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)

    def double(self):
        return type(self)(copy.deepcopy(self.model).double(), self.window)

    def independent_difference(self, tokens):
        """Largest difference between this reference and the plain oracle on `tokens` `[B, T]` (slow: keep T short)."""
        if self.window is not None:
            return None  # the plain oracle has no window
        return float(
            (self.logits(tokens).double() - plain_logits(self.model.state_dict(), self.model.config, tokens))
            .abs()
            .max()
        )
