"""Faults of a preallocated buffer: what was never written is read, what does not fit is written over."""

import torch

from ..caches import BufferCache
from .registry import fault


@fault(
    "tail_unmasked",
    title="unwritten tail visible",
    report="huggingface/transformers#30414",
    needs="buffer",
)
class TailUnmasked(BufferCache):
    def mask(self, T, S):
        mask = super().mask(T, S)
        mask[:, self.length + T :] = True
        return mask


@fault(
    "clamp_overflow",
    title="last slot overwritten",
    report="jax-ml/jax#34257",
    needs="buffer",
    scenario="overflow",
)
class ClampOverflow(BufferCache):
    def slots(self, T):
        return torch.arange(self.length, self.length + T).clamp(max=self.capacity - 1)
