"""Which outputs of an attention move when one token changes: causality, measured and not read off a mask."""

import torch


@torch.no_grad()
def influence(attention, T, d_model):
    """Boolean `[T, T]`: whether row i of the output moves when token j of the input changes.

    `attention` maps x `[B, T, C]` to y `[B, T, C]`, C being `d_model`. Two texts in float64 are tried. All channels of a
    token change, each by another amount: a normalisation would undo a change that is the same in all of them.
    """
    x = torch.randn(2, T, d_model, generator=torch.Generator().manual_seed(T), dtype=torch.float64)
    other = x.flip(0).roll(1, dims=-1) + 0.1
    before, rows = attention(x), []
    for j in range(T):
        changed = torch.where(torch.arange(T)[:, None] == j, other, x)
        rows.append((attention(changed) != before).any(dim=-1).any(dim=0))  # [T]: the rows that moved
    return torch.stack(rows, dim=1)


def leaks(attention, T, d_model):
    """The set of pairs (i, j) of which row i moves with a later token j; empty where the attention is causal."""
    moved = influence(attention, T, d_model)
    return {(i, j) for i in range(T) for j in range(i + 1, T) if moved[i, j]}
