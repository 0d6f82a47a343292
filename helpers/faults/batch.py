"""Batch faults: rows of different length that share what they must not, and beams that leave their cache behind."""

import torch

from ..caches import PaddedCache
from ..decoding import CachedDecoder
from .position import is_decode
from .registry import fault


@fault(
    "leftpad_arange_pos",
    family="ragged batch",
    title="padding counted",
    does="Positions of a left-padded batch are counted through the padding (rotary positions hide it).",
    look="position ids of a padded batch: each row counts from its own first real token",
    report="ndif-team/nnsight#673",
    needs="left padding",
    scenario="ragged",
)
class LeftpadArangePos(PaddedCache):
    def positions(self, T):
        return torch.arange(self.length, self.length + T)


@fault(
    "leftpad_decode_pos_shared",
    family="ragged batch",
    title="one position for all",
    does="In decode all rows stand at the padded length, although prefill counted each row by itself.",
    look="the offset in decode: a batch of different lengths needs one position a row, not one number",
    report="unslothai/unsloth#3699",
    needs="left padding",
    scenario="ragged",
)
class LeftpadDecodePosShared(PaddedCache):
    def positions(self, T):
        return torch.arange(self.length, self.length + 1) if is_decode(self, T) else super().positions(T)


@fault(
    "beam_no_reorder",
    family="beams",
    title="beams not reordered",
    does="The beams follow their parents, their caches do not: a beam attends over another beam's tokens.",
    look="after the best beams are chosen: tokens and cache rows must be picked by the same parents",
    report="huggingface/transformers#46612",
    needs="beams",
    scenario="beams",
)
class BeamNoReorder(CachedDecoder):
    def reorder(self, parents):
        pass
