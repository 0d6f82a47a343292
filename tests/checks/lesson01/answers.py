"""Right answers to the exercises of lesson 01, from which the graders' tests make wrong ones."""

MASK = """
import torch
def causal_mask(t_query, t_key, device=None):
    square = torch.ones(t_query, t_key, dtype=torch.bool, device=device)
    return square.tril(t_key - t_query)
"""

ADDITIVE = (
    MASK
    + """
def additive_mask(t_query, t_key, dtype=torch.float32):
    hidden = ~causal_mask(t_query, t_key)
    return torch.zeros(t_query, t_key, dtype=dtype).masked_fill(hidden, -torch.inf)
"""
)

SOFTMAX = """
import torch
def masked_softmax(scores, mask):
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    return weights.masked_fill(~mask, 0)
"""

POSITIONS = """
import torch
def mask_from(q_pos, k_pos, k_valid, window=None):
    age = q_pos[:, :, None] - k_pos[:, None, :]
    mask = (age >= 0) & k_valid[:, None, :]
    if window is not None:
        mask = mask & (age < window)
    return mask[:, None]
"""

RIGHT = {"causal_mask": MASK, "additive_mask": ADDITIVE, "masked_softmax": SOFTMAX, "mask_from": POSITIONS}
