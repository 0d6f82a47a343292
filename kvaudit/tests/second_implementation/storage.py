"""Correct changes: other schedules, and caches that keep fewer bits. None of them is a bug."""

import torch


def identity(old):
    return old


def in_pieces(size):
    """Prompts are fed `size` tokens at a time."""
    return {"opening": lambda old: lambda d, ids: list(ids.split(size, dim=1))}


def kept_as(rounded):
    """Keys and values pass through `rounded` before they are stored."""
    return {"keep": lambda old: lambda d, layer, k, v: old(d, layer, rounded(k), rounded(v))}


def through(dtype):
    return lambda x: x.to(dtype).to(x.dtype)


def int8(x):
    """One scale a row: x [B, T, H_kv, D] to 127 steps of its largest element over D."""
    scale = x.abs().amax(-1, keepdim=True).clamp(min=1e-12) / 127
    return (x / scale).round().clamp(-127, 127) * scale


SCHEDULES = {
    "as it comes": {"opening": identity},
    "in pieces of 2": in_pieces(2),
    "in pieces of 5": in_pieces(5),
    "token by token": in_pieces(1),
}
FORMATS = {
    "kept in bfloat16": kept_as(through(torch.bfloat16)),
    "kept in float16": kept_as(through(torch.float16)),
    "kept in int8": kept_as(int8),
}
