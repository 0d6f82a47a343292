"""Token ids as a model takes them; anything else is refused in words."""

import torch


def check_shape(tokens, axes="[B, T] = [batch, new tokens]"):
    """Raise ValueError unless `tokens` is a tensor with as many axes as the first bracket of `axes` names."""
    if not isinstance(tokens, torch.Tensor) or tokens.dim() != axes.partition("]")[0].count(",") + 1:
        shape = f"shape {list(tokens.shape)}" if isinstance(tokens, torch.Tensor) else type(tokens).__name__
        raise ValueError(f"tokens must be a tensor of shape {axes}, not {shape}")


def check_tokens(tokens, weight):
    """Raise ValueError unless `tokens` is a non-empty int64 `[B, T]` of ids in range, on the device of `weight` [V, C]."""
    check_shape(tokens)
    if tokens.dtype != torch.int64:
        raise ValueError(f"token ids must be torch.int64, not {tokens.dtype}; convert with tokens.long()")
    if tokens.device != weight.device:
        raise ValueError(f"tokens are on {tokens.device}, the model is on {weight.device}; move them with .to()")
    if tokens.numel() == 0:
        raise ValueError(f"the prompt is empty (shape {list(tokens.shape)}); give at least one token per row")
    low, high = int(tokens.min()), int(tokens.max())
    if low < 0 or high >= weight.shape[0]:
        bad = low if low < 0 else high
        raise ValueError(
            f"token id {bad} is out of range: the vocabulary has {weight.shape[0]} ids (0 to {weight.shape[0] - 1})"
        )
