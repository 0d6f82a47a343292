"""A cache for prompts of different length, padded on the left so that all of them end together."""

import torch

from ..cache import ConcatCache, causal_mask


class PaddedCache(ConcatCache):
    """Row b begins with `pads[b]` pads: no token attends to them, and positions count from the first real token."""

    pads = None  # [B] on the CPU, or None where no row is padded

    def positions(self, T):
        if self.pads is None:
            return super().positions(T)
        return (super().positions(T) - self.pads[:, None]).clamp(min=0)  # [B, T]; a pad's own position never matters

    def mask(self, T, S):
        if self.pads is None:
            return super().mask(T, S)
        real = torch.arange(S) >= self.pads[:, None]  # [B, S]
        return (causal_mask(T, S) & real[:, None, None]).to(self.keys[0].device)  # [B, 1, T, S]

    def reorder(self, parents):
        super().reorder(parents)
        if self.pads is not None:
            self.pads = self.pads[parents.cpu()]
