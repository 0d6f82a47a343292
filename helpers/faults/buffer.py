"""Faults of a preallocated buffer: what was never written is read, what does not fit is written over."""

import torch

from ..caches import BufferCache
from .registry import fault


@fault(
    "tail_unmasked",
    family="preallocated",
    title="unwritten tail visible",
    does="The unwritten rows of the buffer take part in the softmax; how much depends on the capacity.",
    look="the mask over the whole buffer: keys past the current length must be hidden, zeros are keys too",
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
    family="capacity",
    title="last slot overwritten",
    does="Past the end of the buffer, the last slot is overwritten without a word.",
    look="what an in-place write does past the end: some libraries clamp the index instead of raising",
    report="jax-ml/jax#34257",
    needs="buffer",
    scenario="overflow",
)
class ClampOverflow(BufferCache):
    def slots(self, T):
        return torch.arange(self.length, self.length + T).clamp(max=self.capacity - 1)
