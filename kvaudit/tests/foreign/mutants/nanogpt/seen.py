"""Mistakes in what a token sees of the cache, and where it stands: the decoder after nanoGPT."""

import torch

from ...decoders.nanogpt import Decoder
from ...mutation import mutation


@mutation(
    "pos = arange(0, t), as in the uncached forward: the past is not counted",
    "position",
    "K V: rows of decode and extend, all layers (embedded at position 0 …)",
)
class PositionsFromZero(Decoder):
    def positions(self, idx):
        return torch.arange(idx.shape[1])


@mutation(
    "the offset counts calls after the prompt, one each, also where a chunk was fed",
    "position",
    "K V: rows after the first chunk of more than one token, all layers",
)
class OffsetCountsCalls(Decoder):
    offset = 0

    def forward(self, idx):
        logits = super().forward(idx)
        self.offset += idx.shape[1] if self.offset == 0 else 1
        return logits

    def clear(self):
        super().clear()
        self.offset = 0

    def positions(self, idx):
        return torch.arange(self.offset, self.offset + idx.shape[1])


@mutation(
    "a chunk's positions all are the past length: no arange",
    "position",
    "K V: rows of a chunk but its first, all layers (the prompt's, too)",
)
class OnePositionForAChunk(Decoder):
    def positions(self, idx):
        return torch.full((idx.shape[1],), self.past_length())


@mutation(
    "bias[:T, :S] instead of its last T rows: the mask is aligned at the top left",
    "mask",
    "none in layer 0; deeper layers follow",
)
class MaskFromTheTop(Decoder):
    def visible(self, queries, keys):
        return self.tril[:queries, :keys]


@mutation(
    "the causal mask is left out as soon as there is a past: right for one token, not for a chunk",
    "mask",
    "none in layer 0; deeper layers follow (rows of chunks)",
)
class NoMaskWithAPast(Decoder):
    def visible(self, queries, keys):
        return super().visible(queries, keys) | (queries < keys)
