"""Different but right answers to the exercises of lesson 03: other people's ways, which the graders must let pass."""

from .answers import BLOCK, FEED_FORWARD, IMPORTS

FUNCTION = """
def FFN(config):
    return nn.Sequential(
        nn.Linear(config.d_model, config.d_ff), nn.GELU(config.gelu), nn.Linear(config.d_ff, config.d_model)
    )
"""
OWN_FORWARD = """
class FFN(nn.ModuleList):
    def __init__(self, config):
        super().__init__([nn.Linear(config.d_model, config.d_ff), nn.Identity(), nn.Linear(config.d_ff, config.d_model)])
        self.form = config.gelu

    def forward(self, x):
        return self[2](F.gelu(self[0](x), approximate=self.form))
"""
BY_HAND = """
class Gelu(nn.Module):
    def __init__(self, form):
        super().__init__()
        self.form = form

    def forward(self, x):
        if self.form == "tanh":
            return 0.5 * x * (1 + torch.tanh((2 / math.pi) ** 0.5 * (x + 0.044715 * x**3)))
        return x * 0.5 * (1 + torch.erf(x / 2**0.5))


class FFN(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.add_module("0", nn.Linear(config.d_model, config.d_ff))
        self.act = Gelu(config.gelu)
        self.add_module("2", nn.Linear(config.d_ff, config.d_model))

    def forward(self, x):
        first, second = getattr(self, "0"), getattr(self, "2")
        return self.act(x @ first.weight.T + first.bias) @ second.weight.T + second.bias
"""

PARTS = """
class Block(nn.Module):
    def __init__(self, config, layer):
        super().__init__()
        self.attention = CausalAttention(config, layer)
        self.norm1, self.norm2 = (nn.LayerNorm(config.d_model, eps=config.norm_eps) for _ in range(2))
        self.ffn = FFN(config)

    def forward(self, x, cache, positions):
"""
STEPS = """
        y = self.norm1(x)
        y = self.attention(y, cache, positions)
        h = torch.add(x, y)
        z = self.ffn(self.norm2(h))
        return h + z
"""
CLONED = """
        out = x.clone()
        out += self.attention(self.norm1(out), cache, positions)
        out += self.ffn(self.norm2(out))
        return out
"""
BY_TOKEN = """
        x = self.attention(self.norm1(x), cache, positions) + x
        return torch.stack([x[:, t] + self.ffn(self.norm2(x[:, t])) for t in range(x.shape[1])], dim=1)
"""
FUNCTIONAL = """
        n1, n2, c = self.norm1, self.norm2, x.shape[-1:]
        h = x + self.attention(F.layer_norm(x, c, n1.weight, n1.bias, n1.eps), cache, positions)
        return h + self.ffn((h - h.mean(-1, keepdim=True)) / (h.var(-1, keepdim=True, correction=0) + n2.eps).sqrt() * n2.weight + n2.bias)
"""

LOOPS = """
import math, torch
def sinusoids_at(positions, d_model):
    rows = []
    for p in positions.flatten().tolist():
        row = []
        for i in range(d_model // 2):
            angle = p / 10000 ** (2 * i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return torch.tensor(rows, dtype=torch.float64).view(*positions.shape, d_model)
"""
TABLE = """
import math, torch
def sinusoids_at(positions, d_model):
    n = int(positions.max()) + 1
    position = torch.arange(n).unsqueeze(1)
    div = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    pe = torch.zeros(n, d_model)
    pe[:, 0::2] = torch.sin(position * div)
    pe[:, 1::2] = torch.cos(position * div)
    return pe[positions]
"""
PHASES = """
import math, torch
def sinusoids_at(positions, d_model):
    channel = torch.arange(d_model)
    angle = positions.double().unsqueeze(-1) / 10_000 ** ((channel - channel % 2) / d_model)
    return torch.sin(angle + math.pi / 2 * (channel % 2))
"""
STACKED = """
import torch
def sinusoids_at(positions, d_model):
    rate = torch.logspace(0, -4 * (d_model - 2) / d_model, d_model // 2, dtype=torch.float64)
    angle = torch.einsum("...,c->...c", positions.double(), rate)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).reshape(*positions.shape, d_model)
"""

COUNTING = """
import torch
def position_ids(mask, n_past=0):
    out = torch.zeros(mask.shape, dtype=torch.long)
    for b in range(mask.shape[0]):
        count = 0
        for s in range(mask.shape[1]):
            if mask[b, s]:
                out[b, s] = count
                count += 1
    return out[:, n_past:]
"""
TIMES = """
import torch
def position_ids(mask, n_past=0):
    return ((torch.cumsum(mask.long(), dim=1) - 1) * mask)[:, n_past:]
"""
FROM_PAST = """
import torch
def position_ids(mask, n_past=0):
    past, new = mask[:, :n_past].sum(-1, keepdim=True), mask[:, n_past:]
    return torch.where(new, past + new.cumsum(-1) - 1, torch.zeros_like(past))
"""
TRIANGLE = """
import torch
def position_ids(mask, n_past=0):
    S = mask.shape[1]
    earlier = torch.ones(S, S).triu(1)
    return ((mask.float() @ earlier).round().long() * mask)[:, n_past:]
"""

GPT = """
class MiniGPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.token = nn.Embedding(config.vocab_size, config.d_model)
        self.position = nn.Embedding(config.block_size, config.d_model)
        self.blocks = nn.ModuleList([Block(config, i) for i in range(config.n_layers)])
        self.norm = nn.LayerNorm(config.d_model, config.norm_eps)
"""
TIED = """
        self.head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.head.weight = self.token.weight

    def forward(self, tokens, offset=0, cache=None):
        positions = offset + torch.arange(tokens.size(1))
        x = self.token(tokens) + self.position(positions)[None]
        for block in self.blocks:
            x = block(x, cache or NoCache(), positions)
        return self.head(self.norm(x))
"""
SLICED = """
    def forward(self, tokens, offset=0, cache=None):
        T = tokens.shape[1]
        if offset + T > self.config.block_size:
            raise ValueError("out of positions")
        x = self.token(tokens) + self.position.weight[offset : offset + T]
        cache = cache if cache is not None else NoCache()
        for layer in self.blocks:
            x = layer(x, cache=cache, positions=torch.arange(offset, offset + T))
        return self.norm(x) @ self.token.weight.T
"""
EINSUM = """
    def embed(self, tokens, positions):
        return F.embedding(tokens, self.token.weight) + F.embedding(positions.expand_as(tokens), self.position.weight)

    def forward(self, tokens, offset=0, cache=None):
        cache, positions = cache or NoCache(), torch.arange(tokens.shape[1]) + offset
        h = self.embed(tokens, positions)
        for i in range(len(self.blocks)):
            h = self.blocks[i](h, cache, positions)
        cache.advance(tokens.shape[1])
        return torch.einsum("btc,vc->btv", self.norm(h), self.token.weight)
"""

ALTERNATIVES = {
    "FFN": [IMPORTS + code for code in (FUNCTION, OWN_FORWARD, BY_HAND)],
    "Block": [FEED_FORWARD + PARTS + code.lstrip("\n") for code in (STEPS, CLONED, BY_TOKEN, FUNCTIONAL)],
    "sinusoids_at": [LOOPS, TABLE, PHASES, STACKED],
    "position_ids": [COUNTING, TIMES, FROM_PAST, TRIANGLE],
    "MiniGPT": [BLOCK + GPT + code for code in (TIED, SLICED, EINSUM)],
}
