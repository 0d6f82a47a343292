"""Whether a prompt can be fed at all, said before anything is run."""

from torch import Tensor, int64

LEAST_ROOM = 6  # tokens in a sequence, for the smallest scripts


def check_prompt(prompt: Tensor | None, tokens: Tensor | None, vocab_size: int, room: int) -> None:
    """Raise ValueError in words unless `prompt` `[B, T0]` and `tokens` `[B, n]` (or None) fit together into `room` tokens."""
    if room < LEAST_ROOM:
        raise ValueError(f"there is room for {room} tokens only; an audit needs {LEAST_ROOM} at least")
    for name, ids in (("prompt", prompt), ("tokens", tokens)):
        if ids is None:
            continue
        if not isinstance(ids, Tensor) or ids.dim() != 2 or ids.dtype != int64 or ids.numel() == 0:
            seen = f"{ids.dtype} {list(ids.shape)}" if isinstance(ids, Tensor) else type(ids).__name__
            raise ValueError(f"{name} must be a tensor of token ids, int64 [B, T] with at least one token, not {seen}")
        if int(ids.min()) < 0 or int(ids.max()) >= vocab_size:
            raise ValueError(f"{name} holds ids outside the vocabulary of {vocab_size} (0 is the first)")
    steps = 1 if tokens is None else tokens.shape[1]
    if prompt is not None and prompt.shape[1] + steps > room:
        raise ValueError(
            f"a prompt of {prompt.shape[1]} tokens and {steps} more do not fit: there is room for {room} positions"
        )
    if prompt is not None and tokens is not None and len(prompt) != len(tokens):
        raise ValueError(f"prompt has {len(prompt)} rows, tokens has {len(tokens)}: each row is one sequence")
