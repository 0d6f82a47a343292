"""Different but right answers to the exercises of lesson 02: other people's ways, which the graders must let pass."""

from .answers import LAYER, MODULE

CHUNKED = """
import torch
def split_heads(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)
"""
VIEWED = """
def split_heads(x, n_heads):
    B, T, C = x.size()
    return x.contiguous().view(B, T, n_heads, -1).permute(0, 2, 1, 3).contiguous()
"""
PLACED = """
import torch
def split_heads(x, n_heads):
    D = x.shape[2] // n_heads
    out = torch.empty(x.shape[0], n_heads, x.shape[1], D, dtype=x.dtype)
    for h in range(n_heads):
        out[:, h] = x[:, :, h * D : (h + 1) * D]
    return out
"""
FOLDED = """
def split_heads(x, n_heads):
    return x.reshape(x.shape[0], x.shape[1], n_heads, x.shape[2] // n_heads).swapaxes(1, 2)
"""

CONCATENATED = """
import torch
def merge_heads(y):
    return torch.cat([y[:, h] for h in range(y.shape[1])], dim=-1)
"""
CONTIGUOUS = """
def merge_heads(y):
    B, H, T, D = y.shape
    return y.transpose(1, 2).contiguous().view(B, T, H * D)
"""
ROW_BY_ROW = """
import torch
def merge_heads(y):
    return torch.stack([y[:, :, t].reshape(len(y), -1) for t in range(y.shape[2])], dim=1)
"""
EINSUM_MERGE = """
import torch
def merge_heads(y):
    return torch.einsum("bhtd->bthd", y).reshape(y.shape[0], y.shape[2], -1)
"""

EINSUM = """
import torch
def attend(q, k, v, mask=None):
    scores = torch.einsum("bhtd,bhsd->bhts", q, k) / q.size(-1) ** 0.5
    if mask is not None:
        scores = scores + torch.zeros_like(scores).masked_fill(mask.logical_not(), float("-inf"))
    return torch.einsum("bhts,bhsd->bhtd", torch.softmax(scores, dim=-1), v)
"""
FINITE = """
import math, torch
def attend(q, k, v, mask=None):
    s = torch.matmul(q / math.sqrt(k.shape[3]), k.transpose(-1, -2))
    s = s if mask is None else torch.where(mask, s, torch.tensor(-1e30, dtype=s.dtype))
    e = (s - s.amax(-1, keepdim=True)).exp()
    return (e / e.sum(-1, keepdim=True)) @ v
"""
HEAD_BY_HEAD = """
import torch
def attend(q, k, v, mask=None):
    y = torch.empty_like(q)
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            s = q[b, h] @ k[b, h].T * q.shape[-1] ** -0.5
            if mask is not None:
                s[~(mask if mask.dim() == 2 else mask[b, 0])] = float("-inf")
            y[b, h] = s.softmax(1) @ v[b, h]
    return y
"""
IN_FLOAT64 = """
import torch
def attend(q, k, v, mask=None):
    s = (q.double() * q.shape[-1] ** -0.25) @ (k.double() * k.shape[-1] ** -0.25).mT
    s = s if mask is None else s.masked_fill(mask == False, -1e300)
    return (s.softmax(-1) @ v.double()).to(v.dtype)
"""

ONE_LINE = MODULE.replace(
    """        q = split_heads(self.W_Q(x), self.n_heads)
        k = split_heads(self.W_K(x), self.n_heads)
        v = split_heads(self.W_V(x), self.n_heads)
        y = merge_heads(attend(q, k, v, mask))
        return self.W_O(y)
""",
    "        q, k, v = (split_heads(W(x), self.n_heads) for W in (self.W_Q, self.W_K, self.W_V))\n"
    "        return self.W_O(merge_heads(attend(q, k, v, mask)))\n",
)
FUSED = """
import torch
from torch import nn
from torch.nn import functional as F
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.h = n_heads
        self.W_O, self.W_V, self.W_K, self.W_Q = [nn.Linear(d_model, d_model, bias=True) for _ in range(4)]
    def forward(self, x, mask=None):
        B, T, C = x.shape
        q, k, v = (W(x).view(B, T, self.h, C // self.h).transpose(1, 2) for W in (self.W_Q, self.W_K, self.W_V))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.W_O(y.transpose(1, 2).reshape(B, T, C))
"""
SUM_OF_HEADS = """
import torch
from torch import nn
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads, self.D = n_heads, d_model // n_heads
        for name in "QKVO":
            setattr(self, f"W_{name}", nn.Linear(d_model, d_model))
    def forward(self, x, mask=None):
        y = self.W_O.bias
        for h in range(self.n_heads):
            part = slice(h * self.D, (h + 1) * self.D)
            q, k, v = self.W_Q(x)[..., part], self.W_K(x)[..., part], self.W_V(x)[..., part]
            s = q @ k.mT / self.D**0.5
            if mask is not None:
                s = s.masked_fill(~(mask if mask.dim() == 2 else mask[:, 0]), -torch.inf)
            y = y + s.softmax(-1) @ v @ self.W_O.weight[:, part].T
        return y
"""

JACOBIAN = """
import torch
def leaks(attn, T, d_model=12):
    x = torch.randn(1, T, d_model)
    with torch.enable_grad():
        J = torch.autograd.functional.jacobian(lambda x: attn(x)[0], x)[:, :, 0]
    moves = J.abs().amax(dim=(1, 3)) > 0
    return {(i, j) for i in range(T) for j in range(T) if i < j and moves[i, j]}
"""
LOOPS = """
import torch
def leaks(attn, T, d_model=12):
    torch.manual_seed(0)
    x = torch.rand(2, T, d_model)
    y = attn(x.clone())
    out = []
    for j in range(1, T):
        z = x.clone()
        z[:, j, :] = -3 * torch.rand(2, d_model)
        w = attn(z)
        for i in range(j):
            if not torch.equal(w[:, i], y[:, i]):
                out.append((i, j))
    return set(out)
"""
CUT_OFF = """
import torch
def leaks(attn, T, d_model=12):
    x, other = torch.randn(2, 1, T, d_model, dtype=torch.double)
    pairs = set()
    for j in range(T):
        mixed = torch.cat([x[:, :j], other[:, j : j + 1], x[:, j + 1 :]], dim=1)
        rows = ((attn(mixed) - attn(x)) ** 2).sum(-1)[0].nonzero().flatten().tolist()
        pairs.update((row, j) for row in rows if row < j)
    return pairs
"""

TUPLES = "lets_through = {'line': '7', '0': (1, 2, 3), '1': (3, 2), '2': {3}, '3': range(4)}"
WITH_ORDER = "lets_through = dict([('line', 7), (3, [3, 2, 1, 0]), (2, [3]), (1, [2, 3]), (0, [3, 2, 1])])"
NUMBERS = "lets_through = {'line': 7.0, **{i: [k for k in range(4) if k > i or i == 3] for i in range(4)}}"

ADDED = LAYER.replace("scores.masked_fill(mask == 0, -torch.inf)", "scores + torch.full((T, T), -torch.inf).triu(1)")
MASK_PASSED = (
    LAYER.replace("def forward(self, x):\n        B,", "def forward(self, x, mask=None):\n        B,")
    .replace("        mask = torch.ones(T, T, dtype=torch.bool).tril()\n", "")
    .replace("mask == 0, -torch.inf", "mask == 0, -1e9")
    .replace(
        "x = x + self.attention(self.norm1(x))",
        "x = x + self.attention(self.norm1(x), torch.ones(x.shape[1], x.shape[1]).tril())",
    )
)
FUSED_LAYER = LAYER.replace(
    "(scores.softmax(-1) @ v)",
    "torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)",
)

ALTERNATIVES = {
    "split_heads": [CHUNKED, VIEWED, PLACED, FOLDED],
    "merge_heads": [CONCATENATED, CONTIGUOUS, ROW_BY_ROW, EINSUM_MERGE],
    "attend": [EINSUM, FINITE, HEAD_BY_HEAD, IN_FLOAT64],
    "MultiHeadAttention": [ONE_LINE, FUSED, SUM_OF_HEADS],
    "leaks": [JACOBIAN, LOOPS, CUT_OFF],
    "lets_through": [TUPLES, WITH_ORDER, NUMBERS],
    "RepairedLayer": [ADDED, MASK_PASSED, FUSED_LAYER],
}
