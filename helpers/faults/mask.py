"""Mask faults: a query sees too little, or its own future. The rows are right."""

import torch

from ..cache import ConcatCache
from .position import is_decode
from .registry import fault


def top_left(T, S, device):
    """The first T rows of the triangle, where the last T are meant: query i sees keys 0 to i, however many are cached."""
    return torch.ones(T, S, dtype=torch.bool, device=device).tril()


@fault(
    "sdpa_top_left",
    title="decode sees key 0",
    report="pytorch/pytorch#103082",
)
class SdpaTopLeft(ConcatCache):
    def mask(self, T, S):
        return top_left(T, S, self.keys[0].device) if is_decode(self, T) else super().mask(T, S)


@fault(
    "chunk_top_left",
    title="chunk mask not shifted",
    report="huggingface/candle#3743",
    scenario="chunked",
)
class ChunkTopLeft(ConcatCache):
    def mask(self, T, S):
        return top_left(T, S, self.keys[0].device) if T > 1 and self.length > 0 else super().mask(T, S)


@fault(
    "mask_only_if_square",
    title="mask only if square",
    report="QwenLM/Qwen#979",
    scenario="chunked",
)
class MaskOnlyIfSquare(ConcatCache):
    def mask(self, T, S):
        return super().mask(T, S) if T == S else None


@fault(
    "no_mask_with_cache",
    title="no causal mask",
    report="Mikyx-1/TinyLLM#17",
)
class NoMaskWithCache(ConcatCache):
    def mask(self, T, S):
        return None
