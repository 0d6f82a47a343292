"""The KV cache: keeps every layer's keys and values, and owns position and mask, so that they cannot disagree.

The model asks three things and tells one in each forward pass (the seam that every cache here honours):
    positions(T)         absolute positions of the T new tokens, [T] or [B, T], on the CPU
    update(k, v, layer)  stores the new rows [B, H_kv, T, D], returns all rows to attend over [B, H_kv, S, D]
    mask(T, S)           asked after update; boolean, True = may attend; CAUSAL or None where no tensor is needed
    advance(T)           once per forward, after all layers: the one place where the length grows
"""

import torch

from .model import CAUSAL


def causal_mask(t_query, t_key, device=None):
    """Boolean `[t_query, t_key]`, True = may attend: the last `t_query` rows of the full lower triangle.

    Query i of the new tokens stands at absolute position `t_key - t_query + i` and may see keys up to there.
    Raises ValueError where there are more queries than keys.
    """
    if t_query > t_key:
        raise ValueError(f"{t_query} queries cannot follow {t_key} keys: every new token brings a key of its own")
    return torch.ones(t_query, t_key, dtype=torch.bool, device=device).tril(t_key - t_query)


class ConcatCache:
    """One growing pair of tensors per layer, `[B, H_kv, S, D]`; each update concatenates on the sequence axis."""

    def __init__(self, n_layers):
        self.length = 0  # tokens fed so far: the one source of position
        self.keys = [None] * n_layers
        self.values = [None] * n_layers

    def positions(self, T):
        return torch.arange(self.length, self.length + T)

    def update(self, k, v, layer):
        old = self.keys[layer]
        if old is not None:
            check_same(old, k)
            k = torch.cat([old, k], dim=2)  # [B, H_kv, S, D]
            v = torch.cat([self.values[layer], v], dim=2)
        self.keys[layer], self.values[layer] = k, v
        return k, v

    def mask(self, T, S):
        if T == 1:
            return None  # one query, and every key is in its past
        return CAUSAL if T == S else causal_mask(T, S, self.keys[0].device)

    def advance(self, T):
        self.length += T

    def layers(self):
        """The live tensors `[(K, V), …]`, one pair a layer, each `[B, H_kv, S, D]`; empty before the first update."""
        return [(k, v) for k, v in zip(self.keys, self.values) if k is not None]

    def nbytes(self):
        """Bytes of the K/V rows held (2 · L · B · H_kv · S · D · bytes per number)."""
        return sum(x.numel() * x.element_size() for x in (*self.keys, *self.values) if x is not None)

    def crop(self, length):
        """Roll back to the first `length` tokens: the rows after them and their positions are forgotten."""
        if not 0 <= length <= self.length:
            raise ValueError(f"cannot crop to {length} tokens: the cache holds {self.length}")
        self.map(lambda x: x[:, :, :length])
        self.length = length

    def reorder(self, parents):
        """Row b becomes what row `parents[b]` was (beam search): int64 `[B]`."""
        self.map(lambda x: x.index_select(0, parents))

    def fork(self):
        """An independent copy: what one does from here on the other does not see."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.keys, twin.values = list(self.keys), list(self.values)
        twin.map(torch.clone)
        return twin

    def map(self, change):
        self.keys = [None if x is None else change(x) for x in self.keys]
        self.values = [None if x is None else change(x) for x in self.values]


def check_batch(old, new):
    """Raise ValueError unless both have the same number of rows in the batch."""
    if old.shape[0] != new.shape[0]:
        raise ValueError(
            f"the batch changed from {old.shape[0]} to {new.shape[0]} rows between calls; a sequence keeps its batch: "
            "start a new one with prefill, or reorder its rows"
        )


def check_same(old, new):
    """Raise ValueError unless the new rows fit the stored ones in batch, heads, head_dim, dtype and device."""
    check_batch(old, new)
    if (old.shape[1], old.shape[3]) != (new.shape[1], new.shape[3]):
        raise ValueError(
            f"new rows have [H_kv, D] = {[new.shape[1], new.shape[3]]}, the cache {[old.shape[1], old.shape[3]]}"
        )
    if (old.dtype, old.device) != (new.dtype, new.device):
        raise ValueError(f"new rows are {new.dtype} on {new.device}, the cache is {old.dtype} on {old.device}")
