"""After Mistral's reference code: a sliding window in a ring of slots, written through a flat view, absolute positions.

The ring has a few slots more than the window, so that rejected draft tokens can be taken back.
"""

import copy

import torch
from torch.nn.functional import silu

from ..parts import Reference as Frame
from ..parts import draw, pairs, rms_norm

V, BLOCK, C, H, G, L = 33, 48, 24, 4, 2, 3
D, WINDOW, RING = C // H, 5, 8


def weights(seed=16):
    return draw(
        seed,
        embed=(V, C),
        wq=(L, C, H * D),
        wk=(L, C, G * D),
        wv=(L, C, G * D),
        wo=(L, H * D, C),
        w1=(L, C, 34),
        w2=(L, 34, C),
        output=(C, V),
    )


class Reference(Frame):
    vocab_size, block_size, n_layers, rotary, shared_heads, window = V, BLOCK, L, True, True, WINDOW
    rotate = staticmethod(pairs)

    def forward(self, tokens, positions, attend):
        w = self.w
        x = w["embed"][tokens]
        for layer in range(L):
            h = rms_norm(x)
            q, k, v = ((h @ w[n][layer]).unflatten(-1, (-1, D)).transpose(1, 2) for n in ("wq", "wk", "wv"))
            y = attend(layer, pairs(q, positions), pairs(k, positions), v, D**-0.5)
            x = x + y.transpose(1, 2).flatten(2) @ w["wo"][layer]
            x = x + silu(rms_norm(x) @ w["w1"][layer]) @ w["w2"][layer]
        return rms_norm(x) @ w["output"]


def turn(x, positions):
    """x [B, T, heads, D], positions [T]."""
    freqs = 100.0 ** (-torch.arange(0, D, 2, dtype=torch.float64) / D)
    turned = torch.outer(positions.double(), freqs)
    unit = torch.complex(turned.cos(), turned.sin())[None, :, None]
    return torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous()) * unit).flatten(-2)


class Decoder:
    """`rings[layer]` is (k, v), `[B, RING, G, D]` each; `held[slot]` is the position in a slot, -1 where it is empty."""

    window = WINDOW

    def __init__(self, weights):
        self.w = weights
        self.rings, self.held, self.length = [], torch.full((RING,), -1), 0

    def prefill(self, tokens):
        self.start(len(tokens))
        return self.feed(tokens)

    def decode(self, token):
        return self.feed(token[:, None])

    def extend(self, tokens):
        return self.feed(tokens)

    def start(self, batch):
        self.rings = [self.empty(batch) for _ in range(L)]
        self.held, self.length = torch.full((RING,), -1), 0

    def empty(self, batch):
        return tuple(torch.zeros(batch, RING, G, D, dtype=torch.float64) for _ in range(2))

    def feed(self, tokens):
        T = tokens.shape[1]
        positions = torch.arange(self.length, self.length + T)
        x = self.w["embed"][tokens]
        for layer in range(L):
            x = x + self.attention(layer, rms_norm(x), positions)
            x = x + silu(rms_norm(x) @ self.w["w1"][layer]) @ self.w["w2"][layer]
        self.note(positions)
        self.length += T
        return rms_norm(x[:, -1]) @ self.w["output"]

    def attention(self, layer, x, positions):
        B, T, _ = x.shape
        q, k, v = ((x @ self.w[name][layer]).view(B, T, -1, D) for name in ("wq", "wk", "wv"))
        q, k = turn(q, self.turns(positions)), turn(k, self.turns(positions))
        keys, values, places = self.read(layer, k, v, positions)
        self.write(layer, k, v, positions)
        keys, values = self.repeated(keys, values)
        scores = torch.einsum("bthd,bshd->bhts", q, keys) * D**-0.5
        scores = scores.masked_fill(~self.visible(positions, places), torch.finfo(scores.dtype).min)
        y = torch.einsum("bhts,bshd->bthd", scores.softmax(dim=-1), values)
        return y.flatten(2) @ self.w["wo"][layer]

    def turns(self, positions):
        return positions

    def read(self, layer, k, v, positions):
        """The ring as it was, and what is new: a chunk may overwrite what its own first tokens still see."""
        ring_k, ring_v = self.rings[layer]
        return torch.cat([ring_k, k], dim=1), torch.cat([ring_v, v], dim=1), torch.cat([self.held, positions])

    def write(self, layer, k, v, positions):
        kept = self.kept(len(positions))
        slots = self.slots(positions[kept])
        for ring, new in zip(self.rings[layer], (k, v)):
            self.scatter(ring, self.stored(new[:, kept]), slots)

    def kept(self, T):
        return slice(max(0, T - RING), T)  # of more tokens than slots the last ones

    def slots(self, positions):
        return positions % RING

    def scatter(self, ring, new, slots):
        B = len(ring)
        flat = (torch.arange(B)[:, None] * self.stride() + slots).flatten()
        ring.view(B * RING, G, D).index_copy_(0, flat, new.flatten(0, 1))

    def stride(self):
        return RING

    def stored(self, new):
        return new

    def note(self, positions):
        positions = positions[self.kept(len(positions))]
        self.held = self.held.index_copy(0, self.slots(positions), positions)

    def visible(self, positions, places):
        ago = positions[:, None] - places
        return (places >= 0) & (ago >= 0) & (ago < WINDOW)

    def repeated(self, keys, values):
        return keys.repeat_interleave(H // G, dim=2), values.repeat_interleave(H // G, dim=2)

    def layers(self):
        return list(self.rings)

    def crop(self, n):
        if self.length - n > RING - WINDOW:
            raise NotImplementedError(f"the ring can take back {RING - WINDOW} tokens, not {self.length - n}")
        self.length = n
        self.held = self.held.masked_fill(self.held >= n, -1)

    def reorder(self, parents):
        self.rings = [tuple(t[parents] for t in ring) for ring in self.rings]

    def fork(self):
        return copy.deepcopy(self)
