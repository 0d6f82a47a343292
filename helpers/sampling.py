"""The next token from logits: the likeliest one, or a draw from a distribution that temperature and filters shape."""

import torch


def check_sampling(temperature, top_k, top_p):
    """Raise ValueError for values that no distribution can be made from."""
    if not 0 <= temperature < float("inf"):  # NaN fails this too
        raise ValueError(f"temperature must be 0 (greedy) or a positive number, not {temperature}")
    if top_k is not None and (not isinstance(top_k, int) or top_k < 1):
        raise ValueError(f"top_k must be a whole number of at least 1, not {top_k!r}; leave it out to keep all tokens")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1, not {top_p}; leave it out to keep all tokens")


def choose(logits, temperature=0.0, top_k=None, top_p=None, generator=None):
    """Next token `[B]` from logits `[B, V]`: argmax at temperature 0, else a draw from the filtered distribution."""
    if temperature == 0:
        return logits.argmax(dim=-1)
    scale = max(temperature, torch.finfo(logits.dtype).tiny)
    logits = (logits - logits.amax(dim=-1, keepdim=True)) / scale  # the largest is 0, so that no scale overflows it
    logits = keep_top_p(keep_top_k(logits, top_k), top_p)
    return torch.multinomial(logits.softmax(dim=-1), 1, generator=generator)[:, 0]


def keep_top_k(logits, k):
    """All but the k largest logits of each row become -inf; ties at the border are kept. Raises ValueError for k > V."""
    if k is None:
        return logits
    if k > logits.shape[-1]:
        raise ValueError(f"top_k is {k}, but the vocabulary has only {logits.shape[-1]} tokens")
    border = logits.topk(k, dim=-1).values[..., -1:]  # [B, 1]
    return logits.masked_fill(logits < border, float("-inf"))


def keep_top_p(logits, p):
    """Keep the smallest set of likeliest tokens whose probability reaches p (Holtzman et al. 2020); never empty."""
    if p is None or p == 1:  # at 1 the rounding of the sum must not drop the unlikeliest
        return logits
    ordered, ids = logits.sort(dim=-1, descending=True)
    probs = ordered.softmax(dim=-1)
    before = probs.cumsum(dim=-1) - probs  # mass of the tokens ahead of this one: 0 for the first, which stays
    return logits.masked_fill((before >= p).scatter(-1, ids, before >= p), float("-inf"))
