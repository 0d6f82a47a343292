"""MiniGPT: a pre-norm decoder-only Transformer whose attention asks a *cache* for positions, rows and mask.

Axis names used everywhere: B batch, H query heads, H_kv key/value heads, T new tokens (queries), S keys seen,
D head_dim, C d_model, L layers, V vocabulary.

Sources: Vaswani et al. 2017 (attention, sinusoidal positions); Radford et al. 2019 (GPT-2: pre-norm, learned
positions, tied head, tanh GELU); Su et al. 2021 (rotary positions); Ainslie et al. 2023 (shared key/value heads).
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from .config import Config  # noqa: F401 (a model and its sizes are imported together)
from .positions import Rotary, sinusoids
from .tokens import check_tokens

# A cache's mask() may answer CAUSAL instead of a tensor where T == S: "the square lower triangle". It is never built,
# because SDPA has a kernel for exactly this mask (and for this square one only: its triangle starts at the top left).
CAUSAL = "causal"


class OutOfPositions(ValueError):
    """A token would stand at a position that the model has no embedding or rotation for."""


class NoCache:
    """The seam in its smallest form: every call is a whole sequence, nothing is kept. The oracle runs on it."""

    def positions(self, T):
        return torch.arange(T)

    def update(self, k, v, layer):
        return k, v

    def mask(self, T, S):
        return CAUSAL if T > 1 else None

    def advance(self, T):
        pass


def dropout(config):
    return nn.Dropout(config.dropout) if config.dropout else nn.Identity()  # decoding is many small calls: spare some


class CausalAttention(nn.Module):
    """Multi-head attention over whatever rows the cache returns. Each step is a method, so that one can be replaced."""

    def __init__(self, config, layer):
        super().__init__()
        self.config, self.layer = config, layer
        self.qkv = nn.Linear(config.d_model, (config.n_heads + 2 * config.kv_heads) * config.head_dim)
        self.project = nn.Linear(config.d_model, config.d_model)
        self.rotary = None  # MiniGPT hands in the shared table when positions are rotary

    def forward(self, x, cache, positions):  # [B, T, C] -> [B, T, C]
        return self.project(self.mix(x, cache, positions))

    def mix(self, x, cache, positions):  # [B, T, C] -> [B, T, H D], before the output projection
        q, k, v = self.split(self.qkv(x))  # [B, H, T, D], [B, H_kv, T, D], [B, H_kv, T, D]
        if self.rotary is not None:
            q, k = self.rotate_query(q, positions), self.rotate_key(k, positions)
        k, v = cache.update(k, v, self.layer)  # [B, H_kv, S, D]
        mask = cache.mask(q.shape[2], k.shape[2])  # after update: only now is S known
        y = self.attend(q, self.expand_kv(k), self.expand_kv(v), mask)  # [B, H, T, D]
        return self.merge(y)

    def split(self, qkv):  # [B, T, (H + 2 H_kv) D]
        c = self.config
        heads = qkv.unflatten(-1, (-1, c.head_dim)).transpose(1, 2)  # [B, H + 2 H_kv, T, D]
        return heads.split([c.n_heads, c.kv_heads, c.kv_heads], dim=1)

    def rotate_query(self, q, positions):
        return self.rotary(q, positions)

    def rotate_key(self, k, positions):
        return self.rotary(k, positions)

    def expand_kv(self, x):  # [B, H_kv, S, D] -> [B, H, S, D]: query head h reads key/value head h // group
        group = self.config.n_heads // self.config.kv_heads
        return x if group == 1 else x.repeat_interleave(group, dim=1)

    def scale(self):
        return self.config.head_dim**-0.5

    def attend(self, q, k, v, mask):
        causal = mask is CAUSAL
        dropout = self.config.dropout if self.training else 0.0
        return F.scaled_dot_product_attention(
            q, k, v, None if causal else mask, dropout_p=dropout, is_causal=causal, scale=self.scale()
        )

    def merge(self, y):  # [B, H, T, D] -> [B, T, H D]
        return y.transpose(1, 2).flatten(2)


class Block(nn.Module):
    """Pre-norm: each half normalises its input and adds its output to the residual stream."""

    def __init__(self, config, layer):
        super().__init__()
        self.norm1 = nn.LayerNorm(config.d_model, eps=config.norm_eps)
        self.attention = CausalAttention(config, layer)
        self.norm2 = nn.LayerNorm(config.d_model, eps=config.norm_eps)
        self.ffn = nn.Sequential(
            nn.Linear(config.d_model, config.d_ff),
            nn.GELU(approximate=config.gelu),
            nn.Linear(config.d_ff, config.d_model),
        )
        self.drop = dropout(config)

    def forward(self, x, cache, positions):  # [B, T, C] -> [B, T, C]
        x = x + self.drop(self.attention(self.norm1(x), cache, positions))
        return x + self.drop(self.ffn(self.norm2(x)))


class MiniGPT(nn.Module):
    """Token ids in, logits out. Raises ValueError in words for bad ids and OutOfPositions past the block size."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.token = nn.Embedding(config.vocab_size, config.d_model)
        if config.positions == "learned":
            self.position = nn.Embedding(config.block_size, config.d_model)
        elif config.positions == "sinusoidal":
            self.sinusoid = sinusoids(config.block_size, config.d_model)
        self.drop = dropout(config)
        self.blocks = nn.ModuleList(Block(config, layer) for layer in range(config.n_layers))
        self.norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)
        if config.positions == "rope":
            self.rotary = Rotary(config.head_dim, config.block_size, config.rope_base)
            for block in self.blocks:
                block.attention.rotary = self.rotary
        self.reset_parameters()

    def reset_parameters(self, std=0.02):
        """GPT-2's initialisation; `std=0.2` makes a "wide" random model, whose logits are far apart."""
        for name, p in self.named_parameters():
            if p.dim() == 2:
                residual = name.endswith(("project.weight", "ffn.2.weight"))
                nn.init.normal_(p, std=std / math.sqrt(2 * self.config.n_layers) if residual else std)
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    def forward(self, tokens, cache=None, last_only=False):
        """Logits `[B, T, V]` of the T new `tokens` (`[B, T]`, int64) after what `cache` holds; `[B, 1, V]` if last_only."""
        check_tokens(tokens, self.token.weight)
        cache = NoCache() if cache is None else cache
        positions = cache.positions(tokens.shape[1])  # [T] or [B, T], on the CPU
        self.check_positions(positions)
        x = self.drop(self.embed(tokens, positions))  # [B, T, C]
        for block in self.blocks:
            x = block(x, cache, positions)
        cache.advance(tokens.shape[1])
        return self.head(self.norm(x[:, -1:] if last_only else x))

    def head(self, x):  # [B, T, C] -> [B, T, V]
        return F.linear(x, self.token.weight)  # tied to the embedding

    def embed(self, tokens, positions):
        x = self.token(tokens)  # [B, T, C]
        if self.config.positions == "learned":
            return x + self.position(positions.to(x.device))
        return x + self.sinusoid[positions].to(x) if self.config.positions == "sinusoidal" else x

    def check_positions(self, positions):
        low, high, block = int(positions.min()), int(positions.max()), self.config.block_size
        if low < 0 or high >= block:
            raise OutOfPositions(
                f"position {high if high >= block else low} is outside this model's {block} positions (0 to "
                f"{block - 1}); shorten the prompt or generate fewer tokens (prompt + new - 1 may be at most {block})"
            )
