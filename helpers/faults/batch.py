"""Batch faults: rows of different length that share what they must not, and beams that leave their cache behind."""

import torch

from ..caches import PaddedCache
from ..decoding import CachedDecoder
from .position import is_decode
from .registry import fault


@fault(
    "leftpad_arange_pos",
    title="padding counted",
    report="ndif-team/nnsight#673",
    needs="left padding",
    scenario="ragged",
)
class LeftpadArangePos(PaddedCache):
    def positions(self, T):
        return torch.arange(self.length, self.length + T)


@fault(
    "leftpad_decode_pos_shared",
    title="one position for all",
    report="unslothai/unsloth#3699",
    needs="left padding",
    scenario="ragged",
)
class LeftpadDecodePosShared(PaddedCache):
    def positions(self, T):
        return torch.arange(self.length, self.length + 1) if is_decode(self, T) else super().positions(T)


@fault(
    "beam_no_reorder",
    title="beams not reordered",
    report="huggingface/transformers#46612",
    needs="beams",
    scenario="beams",
)
class BeamNoReorder(CachedDecoder):
    def reorder(self, parents):
        pass
