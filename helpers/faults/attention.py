"""Faults inside attention: shared heads in the wrong order, rotations by the wrong positions."""

import torch

from ..model import CausalAttention
from .registry import fault


@fault(
    "gqa_tile",
    family="shared heads",
    title="heads tiled",
    does="Shared key/value heads are tiled (0 1 0 1 …) where each must be repeated in place (0 0 1 1 …).",
    look="repeat against repeat_interleave: both give the same shape",
    report="onnx/onnx#7274",
    needs="shared heads",
)
class GqaTile(CausalAttention):
    def expand_kv(self, x):
        return x.repeat(1, self.config.n_heads // self.config.kv_heads, 1, 1)


@fault(
    "rope_again",
    family="rotary",
    title="keys rotated again",
    does="All cached keys are rotated again, by positions 0 to n - 1, at each step.",
    look="whether keys are rotated before they are stored and once more when they are read",
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
    family="rotary",
    title="queries rotate from 0",
    does="Queries are rotated from position 0 in every call, keys from n.",
    look="the positions of both rotations: query and key of one token stand at the same place",
    report="RobertCsordas/moeut#6",
    needs="rope",
)
class RopeQueryRestarts(CausalAttention):
    def rotate_query(self, q, positions):
        return super().rotate_query(q, positions - positions[..., :1])
