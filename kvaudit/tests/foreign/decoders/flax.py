"""After Flax and MLX: a cache that is a value, not a place. Slots are addressed by a cache index, updates give new buffers.

The buffers `[L, B, H, D, S]` hold all layers, the slots last; they grow by steps. The softmax is taken in float32.
"""

import copy

import torch
from torch.nn.functional import gelu

from ..parts import Reference as Frame
from ..parts import draw, halves, rms_norm

V, BLOCK, C, H, L, STEP = 27, 45, 30, 3, 2, 8
D = C // H
BIG_NEG = torch.finfo(torch.float32).min


def weights(seed=15):
    return draw(
        seed,
        embed=(V, C),
        query=(L, C, C),
        key=(L, C, C),
        value=(L, C, C),
        out=(L, C, C),
        wi=(L, C, 50),
        wo=(L, 50, C),
        logits=(C, V),
    )


class Reference(Frame):
    vocab_size, block_size, n_layers, rotary, softmax_in = V, BLOCK, L, True, torch.float32
    rotate = staticmethod(halves)

    def forward(self, tokens, positions, attend):
        w = self.w
        x = w["embed"][tokens]
        for layer in range(L):
            h = rms_norm(x)
            q, k, v = ((h @ w[n][layer]).unflatten(-1, (H, D)).transpose(1, 2) for n in ("query", "key", "value"))
            y = attend(layer, halves(q, positions), halves(k, positions), v, D**-0.5)
            x = x + y.transpose(1, 2).flatten(2) @ w["out"][layer]
            x = x + gelu(rms_norm(x) @ w["wi"][layer]) @ w["wo"][layer]
        return rms_norm(x) @ w["logits"]


def rope(x, offset, theta=100.0):
    """x [B, T, H, D]; the first row stands at position `offset`."""
    freqs = theta ** (-torch.arange(0, D, 2, dtype=torch.float64) / D)
    turned = (offset + torch.arange(x.shape[1]))[:, None, None] * freqs
    a, b = x.split(D // 2, dim=-1)
    return torch.cat([a * turned.cos() - b * turned.sin(), a * turned.sin() + b * turned.cos()], dim=-1)


def dynamic_update_slice(buffer, update, start):
    """A new buffer with `update` in the last axis from `start` on; as in JAX, a start that does not fit is moved until it does."""
    start = max(0, min(start, buffer.shape[-1] - update.shape[-1]))
    new = buffer.clone()
    new[..., start : start + update.shape[-1]] = update
    return new


class Decoder:
    """`cache` is {"key", "value", "index"}; `apply` takes one and gives the next."""

    def __init__(self, weights):
        self.w, self.cache = weights, None

    def prefill(self, tokens):
        self.cache = self.init_cache(len(tokens))
        return self.run(tokens)

    def decode(self, token):
        return self.run(token[:, None])

    def extend(self, tokens):
        return self.run(tokens)

    def init_cache(self, batch):
        empty = torch.zeros(L, batch, H, D, 0, dtype=torch.float64)
        return {"key": empty, "value": empty, "index": 0}

    def run(self, tokens):
        logits, self.cache = self.apply(tokens, self.cache)
        return logits

    def apply(self, tokens, cache):
        T = tokens.shape[1]
        if cache["index"] + T > BLOCK:
            raise ValueError(f"{cache['index'] + T} tokens: the model was made for {BLOCK}")
        cache = self.grown(cache, T)
        x = self.w["embed"][tokens]
        for layer in range(L):
            y, cache = self.attend(layer, rms_norm(x), cache)
            x = x + y
            x = x + gelu(rms_norm(x) @ self.w["wi"][layer]) @ self.w["wo"][layer]
        return rms_norm(x[:, -1]) @ self.w["logits"], self.advanced(cache, T)

    def grown(self, cache, T):
        """Buffers with a slot for every token, in whole steps."""
        slots = -(-(cache["index"] + T) // STEP) * STEP
        lacking = slots - cache["key"].shape[-1]
        if lacking <= 0:
            return cache
        return cache | {name: self.padded(cache[name], lacking) for name in ("key", "value")}

    def padded(self, buffer, lacking):
        return torch.cat([buffer, buffer.new_zeros(*buffer.shape[:-1], lacking)], dim=-1)

    def advanced(self, cache, T):
        return cache | {"index": cache["index"] + T}

    def attend(self, layer, x, cache):
        B, T, _ = x.shape
        q, k, v = ((x @ self.w[name][layer]).view(B, T, H, D) for name in ("query", "key", "value"))
        q, k = rope(q, self.query_offset(cache, T)), rope(k, self.key_offset(cache, T))
        k, v = self.slots_last(k), self.slots_last(v)
        cache = self.written(layer, cache, k, v)
        keys, values = self.read(layer, cache)
        scores = torch.einsum("bthd,bhds->bhts", q, keys) * D**-0.5
        scores = torch.where(self.visible(cache, T, keys.shape[-1]), scores.float(), self.hidden(scores))
        weights = scores.softmax(dim=-1).to(v.dtype)
        return torch.einsum("bhts,bhds->bthd", weights, values).reshape(B, T, C) @ self.w["out"][layer], cache

    def query_offset(self, cache, T):
        return cache["index"]

    def key_offset(self, cache, T):
        return cache["index"]

    def slots_last(self, x):
        return x.permute(0, 2, 3, 1)  # [B, T, H, D] -> [B, H, D, T]

    def written(self, layer, cache, k, v):
        update, start = {"key": k, "value": v}, cache["index"]
        stacks = {}
        for name, new in update.items():
            stacks[name] = cache[name].clone()
            stacks[name][layer] = self.updated(cache[name][layer], self.stored(name, new), start)
        return cache | stacks

    def updated(self, buffer, new, start):
        return dynamic_update_slice(buffer, new, start)

    def stored(self, name, new):
        return new

    def read(self, layer, cache):
        return cache["key"][layer], cache["value"][layer]

    def visible(self, cache, T, slots):
        return torch.arange(slots) <= cache["index"] + torch.arange(T)[:, None]

    def hidden(self, scores):
        return torch.full_like(scores, BIG_NEG, dtype=torch.float32)

    def layers(self):
        return list(zip(self.cache["key"], self.cache["value"]))  # [B, H, D, S] each

    def crop(self, n):
        self.cache = self.cache | {"index": n}

    def reorder(self, parents):
        self.cache = self.cache | {name: self.cache[name][:, parents] for name in ("key", "value")}

    def fork(self):
        return copy.copy(self)  # a cache is never changed, so it may be shared
