"""After the LLaMA reference code: start_pos, buffers [max_batch, max_seq, heads, D], rotary as complex numbers."""

import copy

import torch
from torch.nn.functional import silu

from ..parts import Reference as Frame
from ..parts import draw, pairs, rms_norm

V, MAX_SEQ, MAX_BATCH, C, H, G, L = 37, 44, 5, 32, 4, 2, 3
D, N_REP = C // H, H // G


def weights(seed=13):
    return draw(
        seed,
        embed=(V, C),
        wq=(L, C, H * D),
        wk=(L, C, G * D),
        wv=(L, C, G * D),
        wo=(L, H * D, C),
        w1=(L, C, 38),
        w2=(L, 38, C),
        w3=(L, C, 38),
        output=(C, V),
    )


class Reference(Frame):
    vocab_size, block_size, n_layers, rotary, shared_heads = V, MAX_SEQ, L, True, True
    rotate = staticmethod(pairs)

    def forward(self, tokens, positions, attend):
        w = self.w
        x = w["embed"][tokens]
        for layer in range(L):
            h = rms_norm(x)
            q, k, v = ((h @ w[n][layer]).unflatten(-1, (-1, D)).transpose(1, 2) for n in ("wq", "wk", "wv"))
            y = attend(layer, pairs(q, positions), pairs(k, positions), v, D**-0.5)
            x = x + y.transpose(1, 2).flatten(2) @ w["wo"][layer]
            h = rms_norm(x)
            x = x + (silu(h @ w["w1"][layer]) * (h @ w["w3"][layer])) @ w["w2"][layer]
        return rms_norm(x) @ w["output"]


def precompute_freqs_cis(dim, end, theta=100.0):
    freqs = 1.0 / theta ** (torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    turned = torch.outer(torch.arange(end, dtype=torch.float64), freqs)
    return torch.polar(torch.ones_like(turned), turned)  # complex128 [end, dim / 2]


def rotary(x, freqs_cis):
    """x [B, T, heads, D], freqs_cis complex [T, D / 2]."""
    x = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(x * freqs_cis[None, :, None]).flatten(3)


def repeat_kv(x, n_rep):
    """[B, S, G, D] -> [B, S, G * n_rep, D]."""
    return x[:, :, :, None, :].expand(*x.shape[:3], n_rep, x.shape[3]).reshape(*x.shape[:2], -1, x.shape[3])


class Attention:
    """One layer with its own buffers."""

    dtypes = torch.float64, torch.float64  # of the key and the value buffer

    def __init__(self, w, layer):
        self.w, self.layer = w, layer
        self.cache_k, self.cache_v = (torch.zeros(MAX_BATCH, MAX_SEQ, G, D, dtype=t) for t in self.dtypes)

    def forward(self, x, start_pos, freqs_cis, mask):
        B, T, _ = x.shape
        xq, xk, xv = ((x @ self.w[name][self.layer]).view(B, T, -1, D) for name in ("wq", "wk", "wv"))
        xq, xk = self.turned(xq, xk, freqs_cis)
        self.write(xk, xv, start_pos)
        keys, values = (t.to(x.dtype) for t in self.read(B, start_pos, T))
        keys, values = self.repeated(keys, values)
        xq, keys, values = (t.transpose(1, 2) for t in (xq, keys, values))
        scores = xq @ keys.transpose(2, 3) * D**-0.5
        if mask is not None:
            scores = scores + mask
        output = scores.softmax(dim=-1) @ values
        return output.transpose(1, 2).reshape(B, T, -1) @ self.w["wo"][self.layer]

    def turned(self, xq, xk, freqs_cis):
        return rotary(xq, freqs_cis), rotary(xk, freqs_cis)

    def write(self, xk, xv, start_pos):
        B, T = xk.shape[:2]
        if start_pos + T > MAX_SEQ:
            raise ValueError(f"{start_pos + T} tokens do not fit: the cache holds {MAX_SEQ}")
        self.cache_k[:B, start_pos : start_pos + T] = xk
        self.cache_v[:B, start_pos : start_pos + T] = xv

    def read(self, B, start_pos, T):
        return self.cache_k[:B, : start_pos + T], self.cache_v[:B, : start_pos + T]

    def repeated(self, keys, values):
        return repeat_kv(keys, N_REP), repeat_kv(values, N_REP)

    def live(self, B, length):
        return self.cache_k[:B, :length], self.cache_v[:B, :length]


class Decoder:
    capacity, attention = MAX_SEQ, Attention

    def __init__(self, weights):
        self.w = weights
        self.attentions = [self.attention(weights, layer) for layer in range(L)]
        self.freqs_cis = precompute_freqs_cis(D, 2 * MAX_SEQ)
        self.start_pos, self.batch = 0, 0

    def prefill(self, tokens):
        self.start_pos, self.batch = 0, len(tokens)
        return self.feed(tokens)

    def decode(self, token):
        return self.feed(token[:, None])

    def extend(self, tokens):
        return self.feed(tokens)

    def feed(self, tokens):
        logits = self.forward(tokens, self.start_pos)
        self.start_pos += tokens.shape[1]
        return logits

    def forward(self, tokens, start_pos):
        T = tokens.shape[1]
        freqs_cis, mask = self.freqs(start_pos, T), self.mask(start_pos, T)
        h = self.w["embed"][tokens]
        for layer, attention in enumerate(self.attentions):
            h = h + attention.forward(rms_norm(h), start_pos, freqs_cis, mask)
            x = rms_norm(h)
            h = h + (silu(x @ self.w["w1"][layer]) * (x @ self.w["w3"][layer])) @ self.w["w2"][layer]
        return rms_norm(h[:, -1]) @ self.w["output"]

    def freqs(self, start_pos, T):
        return self.freqs_cis[start_pos : start_pos + T]

    def mask(self, start_pos, T):
        if T == 1:
            return None
        future = torch.full((T, T), float("-inf"), dtype=torch.float64).triu(diagonal=1)
        return torch.hstack([torch.zeros(T, start_pos, dtype=torch.float64), future])

    def layers(self):
        return [attention.live(self.batch, self.start_pos) for attention in self.attentions]

    def crop(self, n):
        self.start_pos = n

    def reorder(self, parents):
        for attention in self.attentions:
            for cache in (attention.cache_k, attention.cache_v):
                cache[: self.batch] = cache[parents]

    def fork(self):
        twin = copy.copy(self)
        twin.attentions = copy.deepcopy(self.attentions)
        return twin
