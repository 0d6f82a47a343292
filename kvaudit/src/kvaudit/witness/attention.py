"""Plain attention over explicit rows and masks: what a witness computes with, and a reference may."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

ZEROS, MEAN = "zeros", "mean"  # what a query gets that may see nothing


def band(T: int, window: int) -> Tensor:
    """Boolean `[T, T]`: query i may see the `window` newest keys up to itself."""
    i = torch.arange(T)
    age = i[:, None] - i[None, :]
    return (age >= 0) & (age < window)


def tiled(H: int, H_kv: int) -> Callable[[Tensor], Tensor]:
    """Key/value heads in the order 0 1 0 1 …, where repeating each in place gives 0 0 1 1 …."""
    return lambda x: x.repeat(1, H // H_kv, 1, 1)


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float,
    visible: Tensor,
    expand: Callable[[Tensor], Tensor] | None = None,
    softcap: float | None = None,
    blind: str = ZEROS,
) -> Tensor:
    """Plain attention: q `[B, H, T, D]` over k, v `[B, H_kv, S, D]`; visible `[T, S]` or `[B, 1, T, S]`, True = may attend.

    A query that may see nothing gets what `blind` says: zeros, or the mean of all values (as masks of large negative
    numbers give it). `expand` maps H_kv to H heads (default: query head h reads h // group).
    `softcap` c bounds the scores to c · tanh(score / c), as Gemma 2 does.
    """
    group = q.shape[1] // k.shape[1]
    if group > 1:
        expand = expand or (lambda x: x.repeat_interleave(group, dim=1))
        k, v = expand(k), expand(v)
    if blind == MEAN:
        q = q * visible.any(-1, keepdim=True)  # scores of 0: every key weighs the same
        visible = visible | ~visible.any(-1, keepdim=True)
    scores = q @ k.transpose(-2, -1) * scale  # [B, H, T, S]
    if softcap is not None:
        scores = (scores / softcap).tanh() * softcap
    return torch.nan_to_num(scores.masked_fill(~visible, float("-inf")).softmax(dim=-1)) @ v
