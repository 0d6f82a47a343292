"""After nanoGPT: learned positions, fused c_attn, pre-norm blocks, a cache that grows by torch.cat."""

import copy

import torch
from torch.nn.functional import gelu

from ..parts import Reference as Frame
from ..parts import draw, layer_norm

V, BLOCK, C, H, L = 29, 48, 30, 5, 2
D = C // H


def weights(seed=11):
    return draw(
        seed,
        embed_tokens=(V, C),
        embed_places=(BLOCK, C),
        c_attn=(L, C, 3 * C),
        c_proj=(L, C, C),
        fc=(L, C, 44),
        proj=(L, 44, C),
        head=(C, V),
    )


class Reference(Frame):
    vocab_size, block_size, n_layers = V, BLOCK, L

    def forward(self, tokens, positions, attend):
        w = self.w
        x = w["embed_tokens"][tokens] + w["embed_places"][positions]
        for layer in range(L):
            q, k, v = ((layer_norm(x) @ w["c_attn"][layer]).unflatten(-1, (3, H, D))).permute(2, 0, 3, 1, 4)
            x = x + attend(layer, q, k, v, D**-0.5).transpose(1, 2).flatten(2) @ w["c_proj"][layer]
            x = x + gelu(layer_norm(x) @ w["fc"][layer]) @ w["proj"][layer]
        return layer_norm(x) @ w["head"]


class Decoder:
    """`past[layer]` is None or (k, v), `[B, H, T, D]` each."""

    def __init__(self, weights):
        self.w = weights
        self.past = [None] * L
        self.tril = torch.ones(BLOCK, BLOCK, dtype=torch.bool).tril()

    def prefill(self, tokens):
        self.clear()
        return self.forward(tokens)

    def decode(self, token):
        return self.forward(token[:, None])

    def extend(self, tokens):
        return self.forward(tokens)

    def clear(self):
        self.past = [None] * L

    def forward(self, idx):
        x = self.w["embed_tokens"][idx] + self.w["embed_places"][self.positions(idx)]
        for layer in range(L):
            x = x + self.attention(layer, layer_norm(x))
            x = x + gelu(layer_norm(x) @ self.w["fc"][layer]) @ self.w["proj"][layer]
        return layer_norm(x[:, -1]) @ self.w["head"]

    def past_length(self):
        return 0 if self.past[0] is None else self.past[0][0].shape[2]

    def positions(self, idx):
        return torch.arange(self.past_length(), self.past_length() + idx.shape[1])

    def attention(self, layer, x):
        q, k, v = (self.split_heads(t) for t in (x @ self.w["c_attn"][layer]).split(C, dim=2))
        k, v = self.remember(layer, k, v)
        att = (q @ k.transpose(-2, -1) * D**-0.5).masked_fill(~self.visible(q.shape[2], k.shape[2]), -torch.inf)
        y = att.softmax(dim=-1) @ v
        return y.transpose(1, 2).contiguous().view(x.shape) @ self.w["c_proj"][layer]

    def split_heads(self, t):
        return t.view(*t.shape[:2], H, D).transpose(1, 2)

    def remember(self, layer, k, v):
        if self.past[layer] is not None:
            k, v = self.joined(self.past[layer], (k, v))
        self.past[layer] = self.stored(k, v)
        return self.past[layer]

    def joined(self, past, new):
        return torch.cat((past[0], new[0]), dim=2), torch.cat((past[1], new[1]), dim=2)

    def stored(self, k, v):
        return k, v

    def visible(self, queries, keys):
        return self.tril[keys - queries : keys, :keys]

    def layers(self):
        return list(self.past)

    def crop(self, n):
        self.past = [(k[:, :, :n], v[:, :, :n]) for k, v in self.past]

    def reorder(self, parents):
        self.past = [(k.index_select(0, parents), v.index_select(0, parents)) for k, v in self.past]

    def fork(self):
        twin = copy.copy(self)
        twin.past = list(self.past)
        return twin
