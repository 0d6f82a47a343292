"""Faults inside attention: shared heads in the wrong order, rotations by the wrong positions."""

import torch

from ..model import CausalAttention
from .registry import fault


@fault(
    "gqa_tile",
    title="heads tiled",
    report="onnx/onnx#7274",
    needs="shared heads",
)
class GqaTile(CausalAttention):
    def expand_kv(self, x):
        return x.repeat(1, self.config.n_heads // self.config.kv_heads, 1, 1)


@fault(
    "rope_again",
    title="keys rotated again",
    report="google-deepmind/gemma#392",
    needs="rope",
)
class RopeAgain(CausalAttention):
    def forward(self, x, cache, positions):
        keys = getattr(cache, "keys", None)  # without a cache nothing is rotated again
        if keys and keys[self.layer] is not None:
            keys[self.layer] = self.rotary(keys[self.layer], torch.arange(keys[self.layer].shape[2]))
        return super().forward(x, cache, positions)


@fault(
    "rope_query_restarts",
    title="queries rotate from 0",
    report="RobertCsordas/moeut#6",
    needs="rope",
)
class RopeQueryRestarts(CausalAttention):
    def rotate_query(self, q, positions):
        return super().rotate_query(q, positions - positions[..., :1])
