"""Caches that keep their rows in fewer bits than the model computes with. Not a fault: rounding, of a known size."""

import torch

from ..cache import ConcatCache


class RoundedCache(ConcatCache):
    """Rows are stored in `dtype` (bfloat16 or float16) and read back in the model's own."""

    def __init__(self, n_layers, dtype):
        super().__init__(n_layers)
        self.dtype = dtype

    def update(self, k, v, layer):
        stored = super().update(k.to(self.dtype), v.to(self.dtype), layer)
        return tuple(x.to(k.dtype) for x in stored)


def to_int8(x):
    """Rows `[..., D]` as int8 codes `[..., D]` and one scale `[..., 1]` a row, so that codes · scale is nearly x."""
    scale = x.abs().amax(dim=-1, keepdim=True).clamp(min=1e-12) / 127
    return (x / scale).round().to(torch.int8), scale


class Int8Cache(ConcatCache):
    """Rows are stored as int8 codes, with one scale a row and head in a second cache beside them."""

    def __init__(self, n_layers):
        super().__init__(n_layers)
        self.scales = ConcatCache(n_layers)

    def update(self, k, v, layer):
        (k, k_scale), (v, v_scale) = to_int8(k), to_int8(v)
        codes = super().update(k, v, layer)
        return tuple(x * scale for x, scale in zip(codes, self.scales.update(k_scale, v_scale, layer)))

    def layers(self):
        """The rows as attention reads them. They are computed from the codes: changing them does not change the cache."""
        pairs = zip(super().layers(), self.scales.layers())
        return [tuple(x * scale for x, scale in zip(codes, scales)) for codes, scales in pairs]

    def nbytes(self):
        return super().nbytes() + self.scales.nbytes()

    def map(self, change):
        super().map(change)
        self.scales.map(change)

    def fork(self):
        twin = super().fork()
        twin.scales = self.scales.fork()
        return twin
