"""Different but right answers to the exercises of lesson 01: other people's ways, which the graders must let pass."""

from .answers import MASK

LOOPS = """
import torch
def causal_mask(t_query, t_key, device=None):
    mask = torch.zeros(t_query, t_key, dtype=torch.bool, device=device)
    for i in range(t_query):
        for j in range(t_key):
            if j <= t_key - t_query + i:
                mask[i, j] = True
    return mask
"""
COMPARED = """
import torch
def causal_mask(t_query, t_key, device=None):
    q = torch.arange(t_key - t_query, t_key, device=device)
    return q[:, None] >= torch.arange(t_key, device=device)
"""
SLICED = """
import torch
def causal_mask(t_query, t_key, device=None):
    return torch.tril(torch.ones(t_key, t_key, device=device))[-t_query:] == 1
"""
NUMPY = """
import numpy as np, torch
def causal_mask(t_query, t_key, device=None):
    return torch.from_numpy(np.tri(t_query, t_key, t_key - t_query, dtype=bool)).to(device or "cpu")
"""
NOT_TRIU = """
import torch
def causal_mask(t_query, t_key, device=None):
    return ~torch.triu(torch.ones((t_key, t_key), device=device), diagonal=1).bool()[t_key - t_query : t_key, :]
"""
TRANSPOSED_VIEW = """
import torch
def causal_mask(t_query, t_key, device=None):
    return torch.ones(t_key, t_query, dtype=torch.bool, device=device).triu(t_query - t_key).T
"""

LOG = """
def additive_mask(t_query, t_key, dtype=torch.float32):
    return causal_mask(t_query, t_key).to(dtype).log()
"""
TRIU_FILL = """
import torch
def additive_mask(t_query, t_key, dtype=torch.float32):
    return torch.full((t_key, t_key), float("-inf"), dtype=dtype).triu(1)[-t_query:]
"""
WHERE = """
def additive_mask(t_query, t_key, dtype=torch.float32):
    return torch.where(causal_mask(t_query, t_key), 0.0, float("-inf")).to(dtype)
"""
IN_PLACE = """
def additive_mask(t_query, t_key, dtype=torch.float32):
    out = torch.zeros(t_query, t_key, dtype=dtype)
    out[~causal_mask(t_query, t_key)] = float("-inf")
    return out
"""

ZEROED = """
import torch
def masked_softmax(scores, mask):
    return torch.nan_to_num(torch.softmax(torch.where(mask, scores, float("-inf")), dim=-1))
"""
LOWEST = """
import torch
def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask
"""
BY_HAND = """
import torch
def masked_softmax(scores, mask):
    x = scores.masked_fill(~mask, float("-inf"))
    top = x.amax(-1, keepdim=True).clamp(min=torch.finfo(x.dtype).min)
    e = (x - top).exp()
    return e / e.sum(-1, keepdim=True).clamp(min=1e-4)
"""
IN_FLOAT64 = """
import torch
def masked_softmax(scores, mask):
    return scores.double().masked_fill(mask == 0, -1e300).softmax(-1).mul(mask).to(scores.dtype)
"""
ADDED = """
import torch
def masked_softmax(scores, mask):
    bias = torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(mask.logical_not(), float("-inf"))
    weights = (scores + bias).softmax(dim=scores.dim() - 1)
    return torch.where(weights.isnan(), torch.zeros_like(weights), weights)
"""
ROW_BY_ROW = """
import torch
def masked_softmax(scores, mask):
    mask, out = mask.expand(scores.shape), torch.zeros_like(scores)
    for place in torch.cartesian_prod(*[torch.arange(n) for n in scores.shape[:-1]]).tolist():
        seen = mask[tuple(place)]
        if seen.any():
            out[tuple(place)][seen] = scores[tuple(place)][seen].softmax(0)
    return out
"""

UNSQUEEZED = """
def mask_from(q_pos, k_pos, k_valid, window=None):
    q, k = q_pos.unsqueeze(1).unsqueeze(-1), k_pos.unsqueeze(1).unsqueeze(1)
    mask = torch.logical_and(k <= q, k_valid.unsqueeze(1).unsqueeze(1))
    return mask if window is None else mask.logical_and(k > q - window)
"""
IN_PLACE_AND = """
def mask_from(q_pos, k_pos, k_valid, window=None):
    mask = k_pos[:, None, None, :] <= q_pos[:, None, :, None]
    mask &= k_valid[:, None, None, :]
    if window:
        mask &= q_pos[:, None, :, None] - k_pos[:, None, None, :] <= window - 1
    return mask
"""
INFINITE_WINDOW = """
def mask_from(q_pos, k_pos, k_valid, window=float("inf")):
    far = torch.where(k_valid, k_pos, 10**9)
    age = q_pos[:, None, :, None] - far[:, None, None]
    return (0 <= age) & (age < window)
"""
SLOW = """
def mask_from(q_pos, k_pos, k_valid, window=None):
    B, T, S = *q_pos.shape, k_pos.shape[1]
    return torch.tensor([[[[bool(k_valid[b, s]) and 0 <= q_pos[b, t] - k_pos[b, s] < (window or 10**9)
                            for s in range(S)] for t in range(T)]] for b in range(B)])
"""

ALTERNATIVES = {
    "causal_mask": [LOOPS, COMPARED, SLICED, NUMPY, NOT_TRIU, TRANSPOSED_VIEW],
    "additive_mask": [TRIU_FILL, *(MASK + code for code in (LOG, WHERE, IN_PLACE))],
    "masked_softmax": [ZEROED, LOWEST, BY_HAND, IN_FLOAT64, ADDED, ROW_BY_ROW],
    "mask_from": ["import torch\n" + code for code in (UNSQUEEZED, IN_PLACE_AND, INFINITE_WINDOW, SLOW)],
}
