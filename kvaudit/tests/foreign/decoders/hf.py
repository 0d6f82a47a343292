"""After transformers: past_key_values as a tuple, position_ids from the attention mask, an additive mask of finfo.min."""

import copy

import torch
from torch.nn.functional import silu

from ..parts import Reference as Frame
from ..parts import draw, halves, rms_norm

V, BLOCK, C, H, G, L = 23, 42, 24, 6, 3, 2
D, GROUPS = C // H, H // G
MIN = torch.finfo(torch.float64).min


def weights(seed=14):
    return draw(
        seed,
        embed_tokens=(V, C),
        q_proj=(L, C, H * D),
        k_proj=(L, C, G * D),
        v_proj=(L, C, G * D),
        o_proj=(L, H * D, C),
        up_proj=(L, C, 40),
        down_proj=(L, 40, C),
        lm_head=(C, V),
    )


class Reference(Frame):
    vocab_size, block_size, n_layers, rotary, shared_heads = V, BLOCK, L, True, True
    rotate = staticmethod(halves)

    def forward(self, tokens, positions, attend):
        w = self.w
        x = w["embed_tokens"][tokens]
        for layer in range(L):
            h = rms_norm(x)
            q, k, v = ((h @ w[n][layer]).unflatten(-1, (-1, D)).transpose(1, 2) for n in ("q_proj", "k_proj", "v_proj"))
            y = attend(layer, halves(q, positions), halves(k, positions), v, D**-0.5)
            x = x + y.transpose(1, 2).flatten(2) @ w["o_proj"][layer]
            x = x + silu(rms_norm(x) @ w["up_proj"][layer]) @ w["down_proj"][layer]
        return rms_norm(x) @ w["lm_head"]


def rotate_half(x):
    return torch.cat((-x[..., D // 2 :], x[..., : D // 2]), dim=-1)


def repeat_kv(x, n_rep):
    """[B, G, S, D] -> [B, G * n_rep, S, D]."""
    B, heads, S, _ = x.shape
    return x[:, :, None].expand(B, heads, n_rep, S, D).reshape(B, heads * n_rep, S, D)


class Decoder:
    """`past_key_values[layer]` is (k, v), `[B, G, S, D]` each, padding included; `attention_mask` is `[B, S]`, 1 where a token is."""

    def __init__(self, weights):
        self.w = weights
        self.inv_freq = 1.0 / 100.0 ** (torch.arange(0, D, 2, dtype=torch.float64) / D)
        self.past_key_values, self.attention_mask = None, None

    def prefill(self, tokens, lengths=None):
        B, T = tokens.shape
        lengths = torch.full((B,), T) if lengths is None else lengths
        self.past_key_values = None
        self.attention_mask = (torch.arange(T) >= T - lengths[:, None]).long()
        return self.step(tokens)

    def decode(self, token):
        return self.extend(token[:, None])

    def extend(self, tokens):
        self.attention_mask = self.longer_mask(torch.ones_like(tokens))
        return self.step(tokens)

    def longer_mask(self, new):
        return torch.cat([self.attention_mask, new], dim=1)

    def step(self, input_ids):
        T = input_ids.shape[1]
        hidden, self.past_key_values = self.forward(input_ids, self.position_ids(T), self.past_key_values)
        return rms_norm(self.last(hidden)) @ self.w["lm_head"]

    def position_ids(self, T):
        """[B, T]: padding is not counted."""
        return (self.attention_mask.cumsum(dim=1) - 1).clamp(min=0)[:, -T:]

    def last(self, hidden):
        return hidden[:, -1]

    def forward(self, input_ids, position_ids, past_key_values):
        past_length = self.past_length(past_key_values)
        mask = self.causal_mask(input_ids.shape[1], past_length)
        cos, sin = self.rotary_emb(position_ids)
        hidden, presents = self.w["embed_tokens"][input_ids], ()
        for layer in range(L):
            past = None if past_key_values is None else past_key_values[layer]
            y, present = self.self_attn(layer, rms_norm(hidden), cos, sin, mask, past)
            hidden, presents = hidden + y, (*presents, present)
            hidden = hidden + silu(rms_norm(hidden) @ self.w["up_proj"][layer]) @ self.w["down_proj"][layer]
        return hidden, presents

    def past_length(self, past_key_values):
        return 0 if past_key_values is None else past_key_values[0][0].shape[-2]

    def causal_mask(self, T, past_length):
        """[B, 1, T, S], to be added to the scores."""
        S = past_length + T
        hidden = torch.arange(S) > torch.arange(past_length, S)[:, None]
        hidden = hidden[None, None] | (self.padding(S) == 0)[:, None, None]
        return torch.zeros(hidden.shape, dtype=torch.float64).masked_fill(hidden, MIN)

    def padding(self, S):
        return self.attention_mask[:, -S:]

    def rotary_emb(self, position_ids):
        turned = position_ids[..., None] * self.inv_freq  # [B, T, D / 2]
        turned = torch.cat((turned, turned), dim=-1)[:, None]
        return turned.cos(), turned.sin()

    def self_attn(self, layer, x, cos, sin, mask, past):
        B, T, _ = x.shape
        q, k, v = (
            (x @ self.w[name][layer]).view(B, T, -1, D).transpose(1, 2) for name in ("q_proj", "k_proj", "v_proj")
        )
        q, k = self.apply_rotary(q, k, cos, sin)
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        present = self.present(layer, k, v, T)
        k, v = self.repeated(*present)
        weights = (q @ k.transpose(2, 3) * D**-0.5 + mask).softmax(dim=-1)
        return (weights @ v).transpose(1, 2).reshape(B, T, -1) @ self.w["o_proj"][layer], present

    def apply_rotary(self, q, k, cos, sin):
        return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin

    def present(self, layer, k, v, T):
        return k, v

    def repeated(self, k, v):
        return repeat_kv(k, GROUPS), repeat_kv(v, GROUPS)

    def layers(self):
        return list(self.past_key_values)

    def crop(self, n):
        self.past_key_values = tuple((k[:, :, :n], v[:, :, :n]) for k, v in self.past_key_values)
        self.attention_mask = self.attention_mask[:, :n]

    def reorder(self, parents):
        self.past_key_values = self.reorder_cache(self.past_key_values, parents)
        self.attention_mask = self.attention_mask.index_select(0, parents)

    def reorder_cache(self, past, beam_idx):
        return tuple(tuple(state.index_select(0, beam_idx) for state in layer) for layer in past)

    def fork(self):
        return copy.deepcopy(self)
