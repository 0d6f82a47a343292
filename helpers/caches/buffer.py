"""Preallocated caches: room for `capacity` rows from the start, new rows are written in place."""

import torch

from ..cache import ConcatCache, check_same


class CapacityError(ValueError):
    """More rows than a preallocated cache has slots for."""


class BufferCache(ConcatCache):
    """One buffer per layer, `[B, H_kv, capacity, D]`. All of it is attended over; the mask hides what is not written."""

    def __init__(self, n_layers, capacity):
        super().__init__(n_layers)
        self.capacity = capacity

    def room(self, T):
        """The length once T new rows are written. Raises CapacityError where they do not fit."""
        if self.length + T > self.capacity:
            raise CapacityError(
                f"the cache has {self.capacity} slots and {self.length} of them are taken: {T} new rows do not fit; "
                "build it with a larger capacity or generate fewer tokens"
            )
        return self.length + T

    def slots(self, T):
        """Slots `[T]` of the new rows. Raises CapacityError where they do not fit."""
        return torch.arange(self.length, self.room(T))

    def update(self, k, v, layer):
        if self.keys[layer] is None:
            self.allocate(k)
        check_same(self.keys[layer], k)
        slots = self.slots(k.shape[2]).to(k.device)
        self.keys[layer][:, :, slots] = k
        self.values[layer][:, :, slots] = v
        return self.keys[layer], self.values[layer]  # [B, H_kv, capacity, D]

    def allocate(self, k):
        """Zeros, not uninitialised memory: a hidden row must be finite, because 0 times NaN is NaN."""
        B, H_kv, _, D = k.shape
        for rows in (self.keys, self.values):
            rows[:] = [k.new_zeros(B, H_kv, self.capacity, D) for _ in rows]

    def mask(self, T, S):
        slot = torch.arange(self.length, self.length + T)[:, None]  # [T, 1], where each query's own key was written
        return (torch.arange(S) <= slot).to(self.keys[0].device)  # [T, S]

    def layers(self):
        return [(k[:, :, : self.length], v[:, :, : self.length]) for k, v in super().layers()]

    def crop(self, length):
        if not 0 <= length <= self.length:
            raise ValueError(f"cannot crop to {length} tokens: the cache holds {self.length}")
        self.length = length  # the rows stay: the mask hides them until they are overwritten


class PreallocatedCache(BufferCache):
    """Hands out the written part only, a view: no old row is copied or read in vain, and one token needs no mask."""

    mask = ConcatCache.mask

    def update(self, k, v, layer):
        if self.keys[layer] is None:
            self.allocate(k)
        check_same(self.keys[layer], k)
        T = k.shape[2]
        end, keys, values = self.room(T), self.keys[layer], self.values[layer]
        keys.narrow(2, self.length, T).copy_(k)
        values.narrow(2, self.length, T).copy_(v)
        return keys.narrow(2, 0, end), values.narrow(2, 0, end)  # [B, H_kv, S, D]
