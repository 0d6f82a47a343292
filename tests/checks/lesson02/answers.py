"""Right answers to the exercises of lesson 02, from which the graders' tests make wrong ones."""

SPLIT = """
import torch
def split_heads(x, n_heads):
    B, T, C = x.shape
    return x.unflatten(-1, (n_heads, C // n_heads)).transpose(1, 2)
"""

MERGE = """
import torch
def merge_heads(y):
    return y.transpose(1, 2).flatten(2)
"""

ATTEND = """
import torch
def attend(q, k, v, mask=None):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ v
"""

MODULE = (
    SPLIT
    + MERGE
    + ATTEND
    + """
from torch import nn
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.W_Q, self.W_K, self.W_V, self.W_O = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x, mask=None):
        q = split_heads(self.W_Q(x), self.n_heads)
        k = split_heads(self.W_K(x), self.n_heads)
        v = split_heads(self.W_V(x), self.n_heads)
        y = merge_heads(attend(q, k, v, mask))
        return self.W_O(y)
"""
)

LEAKS = """
import torch
def leaks(attn, T, d_model=12):
    x = torch.randn(1, T, d_model, dtype=torch.float64)
    before, found = attn(x), set()
    for j in range(T):
        changed = x.clone()
        changed[:, j] = torch.randn(d_model)
        moved = (attn(changed) - before).abs().amax(dim=(0, 2)) > 1e-9
        found |= {(i, j) for i in range(j) if moved[i]}
    return found
"""

FILL = "lets_through = {'line': 7, 0: [1, 2, 3], 1: [2, 3], 2: [3], 3: [0, 1, 2, 3]}"

LAYER = """
import math, torch
from torch import nn
class Attention(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.heads, self.head_dim = heads, d_model // heads
        self.W_Q, self.W_K, self.W_V, self.W_O = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x):
        B, T, C = x.shape
        q = self.W_Q(x).view(B, -1, self.heads, self.head_dim).transpose(1, 2)
        k = self.W_K(x).view(B, -1, self.heads, self.head_dim).transpose(1, 2)
        v = self.W_V(x).view(B, -1, self.heads, self.head_dim).transpose(1, 2)
        scores = q @ k.mT / math.sqrt(self.head_dim)
        mask = torch.ones(T, T, dtype=torch.bool).tril()
        scores = scores.masked_fill(mask == 0, -torch.inf)
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, C)
        return self.W_O(y)

class RepairedLayer(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.attention = Attention(d_model, heads)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.ffn = nn.Sequential(nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.ffn(self.norm2(x))
"""

RIGHT = {"split_heads": SPLIT, "merge_heads": MERGE, "attend": ATTEND, "MultiHeadAttention": MODULE, "leaks": LEAKS}
RIGHT |= {"lets_through": FILL, "RepairedLayer": LAYER}
