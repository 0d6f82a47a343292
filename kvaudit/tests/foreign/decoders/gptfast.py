"""After gpt-fast: static caches written by input_pos, mask rows gathered from one causal mask, rotary pairs, grouped heads."""

import copy

import torch
from torch.nn.functional import silu

from ..parts import Reference as Frame
from ..parts import draw, pairs, rms_norm

V, MAX_SEQ, C, H, G, L = 31, 40, 24, 6, 2, 3
D = C // H


def weights(seed=12):
    return draw(
        seed,
        embed=(V, C),
        wqkv=(L, C, (H + 2 * G) * D),
        wo=(L, C, C),
        w1=(L, C, 36),
        w3=(L, C, 36),
        w2=(L, 36, C),
        output=(C, V),
    )


class Reference(Frame):
    vocab_size, block_size, n_layers, rotary, shared_heads = V, MAX_SEQ, L, True, True
    rotate = staticmethod(pairs)

    def forward(self, tokens, positions, attend):
        w = self.w
        x = w["embed"][tokens]
        for layer in range(L):
            q, k, v = (rms_norm(x) @ w["wqkv"][layer]).unflatten(-1, (-1, D)).transpose(1, 2).split([H, G, G], dim=1)
            y = attend(layer, pairs(q, positions), pairs(k, positions), v, D**-0.5)
            x = x + y.transpose(1, 2).flatten(2) @ w["wo"][layer]
            h = rms_norm(x)
            x = x + (silu(h @ w["w1"][layer]) * (h @ w["w3"][layer])) @ w["w2"][layer]
        return rms_norm(x) @ w["output"]


def precompute_freqs_cis(length, head_dim, base=100.0):
    """[length, head_dim / 2, 2]: cosine and sine."""
    freqs = 1.0 / base ** (torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)
    turned = torch.outer(torch.arange(length, dtype=torch.float64), freqs)
    return torch.stack([turned.cos(), turned.sin()], dim=-1)


def apply_rotary_emb(x, freqs_cis):
    """x [B, T, heads, D], freqs_cis [T, D / 2, 2]."""
    x = x.unflatten(-1, (-1, 2))
    f = freqs_cis[None, :, None]
    turned = [x[..., 0] * f[..., 0] - x[..., 1] * f[..., 1], x[..., 1] * f[..., 0] + x[..., 0] * f[..., 1]]
    return torch.stack(turned, dim=-1).flatten(3)


class KVCache:
    """Buffers [B, G, MAX_SEQ, D]."""

    def __init__(self, batch, length, dtype=torch.float64):
        self.k_cache, self.v_cache = (torch.zeros(batch, G, length, D, dtype=dtype) for _ in range(2))

    def update(self, input_pos, k_val, v_val):
        self.k_cache[:, :, input_pos] = k_val
        self.v_cache[:, :, input_pos] = v_val
        return self.k_cache, self.v_cache


class Decoder:
    """`next` is the slot of the next token. Buffers are kept from request to request: the mask hides what is left in them."""

    capacity = MAX_SEQ

    def __init__(self, weights):
        self.w = weights
        self.caches, self.batch, self.next = None, 0, 0
        self.causal_mask = torch.ones(MAX_SEQ, MAX_SEQ, dtype=torch.bool).tril()
        self.freqs_cis = precompute_freqs_cis(MAX_SEQ, D)

    def prefill(self, tokens):
        self.setup_caches(*tokens.shape)
        return self.feed(tokens, torch.arange(tokens.shape[1]))

    def decode(self, token):
        return self.feed(token[:, None], torch.tensor([self.next]))

    def extend(self, tokens):
        return self.feed(tokens, torch.arange(self.next, self.next + tokens.shape[1]))

    def setup_caches(self, batch, prompt_length):
        if self.caches is None or self.batch != batch:
            self.caches, self.batch = [self.new_cache(batch) for _ in range(L)], batch

    def new_cache(self, batch):
        return KVCache(batch, MAX_SEQ)

    def feed(self, tokens, input_pos):
        logits = self.forward(tokens, input_pos)
        self.next = int(input_pos[-1]) + 1
        return logits

    def forward(self, idx, input_pos):
        mask = self.mask(input_pos)
        freqs_cis = self.freqs(input_pos)
        x = self.w["embed"][idx]
        for layer in range(L):
            x = x + self.attention(layer, rms_norm(x), freqs_cis, mask, input_pos)
            h = rms_norm(x)
            x = x + (silu(h @ self.w["w1"][layer]) * (h @ self.w["w3"][layer])) @ self.w["w2"][layer]
        return rms_norm(x[:, -1]) @ self.w["output"]

    def mask(self, input_pos):
        return self.causal_mask[None, None, input_pos]  # [1, 1, T, MAX_SEQ]

    def freqs(self, input_pos):
        return self.freqs_cis[input_pos]

    def attention(self, layer, x, freqs_cis, mask, input_pos):
        q, k, v = self.split(x @ self.w["wqkv"][layer])
        q, k = self.turned(q, k, freqs_cis)
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        k, v = self.cache_of(layer).update(input_pos, k, v)
        k, v = self.expanded(k, v)
        scores = (q @ k.transpose(-2, -1) * D**-0.5).masked_fill(~mask, -torch.inf)
        y = scores.softmax(dim=-1) @ v
        return y.transpose(1, 2).flatten(2) @ self.w["wo"][layer]

    def split(self, qkv):
        q, k, v = qkv.split([H * D, G * D, G * D], dim=-1)
        return (t.unflatten(-1, (-1, D)) for t in (q, k, v))  # [B, T, heads, D]

    def turned(self, q, k, freqs_cis):
        return apply_rotary_emb(q, freqs_cis), apply_rotary_emb(k, freqs_cis)

    def cache_of(self, layer):
        return self.caches[layer]

    def expanded(self, k, v):
        return k.repeat_interleave(H // G, dim=1), v.repeat_interleave(H // G, dim=1)

    def layers(self):
        return [(cache.k_cache, cache.v_cache) for cache in self.caches]

    def crop(self, n):
        self.next = n

    def reorder(self, parents):
        for cache in self.caches:
            cache.k_cache, cache.v_cache = cache.k_cache[parents], cache.v_cache[parents]

    def fork(self):
        twin = copy.copy(self)
        twin.caches = copy.deepcopy(self.caches)
        return twin
