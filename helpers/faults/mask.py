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
    family="mask",
    title="decode sees key 0",
    does="The decode mask is the triangle's first row, so that the new token sees key 0 only.",
    look="is_causal=True in decode: its triangle starts at the top left; one query needs no mask at all",
    report="pytorch/pytorch#103082",
)
class SdpaTopLeft(ConcatCache):
    def mask(self, T, S):
        return top_left(T, S, self.keys[0].device) if is_decode(self, T) else super().mask(T, S)


@fault(
    "chunk_top_left",
    family="mask",
    title="chunk mask not shifted",
    does="A later prefill chunk uses a triangle that is not shifted by the n cached rows: it misses the newest keys.",
    look="the diagonal of the chunk's mask: query i of the chunk may see n + i + 1 keys",
    report="huggingface/candle#3743",
    scenario="chunked",
)
class ChunkTopLeft(ConcatCache):
    def mask(self, T, S):
        return top_left(T, S, self.keys[0].device) if T > 1 and self.length > 0 else super().mask(T, S)


@fault(
    "mask_only_if_square",
    family="mask",
    title="mask only if square",
    does="A mask is made only where queries and keys are equally many: a later chunk sees its own future.",
    look="a condition such as T == S around the mask: only a single new token can do without one",
    report="QwenLM/Qwen#979",
    scenario="chunked",
)
class MaskOnlyIfSquare(ConcatCache):
    def mask(self, T, S):
        return super().mask(T, S) if T == S else None


@fault(
    "no_mask_with_cache",
    family="mask",
    title="no causal mask",
    does="As soon as a cache is passed there is no mask: the prompt's tokens see their own future in prefill.",
    look="is_causal switched off when a cache is given: prefill needs the mask like training does",
    report="Mikyx-1/TinyLLM#17",
)
class NoMaskWithCache(ConcatCache):
    def mask(self, T, S):
        return None
