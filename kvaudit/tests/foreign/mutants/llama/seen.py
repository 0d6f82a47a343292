"""Mistakes in what a token sees of the cache, and where it stands: the decoder after the LLaMA reference code."""

import torch

from ...decoders.llama import Attention, Decoder, G, rotary
from ...mutation import mutation


@mutation(
    "start_pos grows by one for each call, also for a chunk",
    "position, append",
    "K V: slots after a chunk's first are overwritten by later tokens, all layers",
)
class StartPosCountsCalls(Decoder):
    def extend(self, tokens):
        before = self.start_pos
        logits = super().extend(tokens)
        self.start_pos = before + 1
        return logits


@mutation(
    "freqs_cis is taken one position ahead where start_pos > 0",
    "rotary, position",
    "K: rows of decode and extend are turned by one position too many, all layers; V right in layer 0",
)
class RotationOneAhead(Decoder):
    def freqs(self, start_pos, T):
        return super().freqs(start_pos + (start_pos > 0), T)


@mutation(
    "a chunk's mask has no columns for the past: the zeros are put behind it",
    "mask",
    "none in layer 0; deeper layers follow (rows of chunks on a filled cache)",
)
class ZerosBehindTheMask(Decoder):
    def mask(self, start_pos, T):
        mask = super().mask(start_pos, T)
        return None if mask is None else torch.hstack([mask[:, start_pos:], mask[:, :start_pos]])


@mutation(
    "triu(diagonal=2): each token sees the next one",
    "mask",
    "none in layer 0; deeper layers follow (rows of prompts and chunks)",
)
class DiagonalTwo(Decoder):
    def mask(self, start_pos, T):
        mask = super().mask(start_pos, T)
        return None if mask is None else mask.triu(diagonal=start_pos + 2)


class TilesKeys(Attention):
    def repeated(self, keys, values):
        return keys.repeat(1, 1, keys.shape[2], 1), super().repeated(keys, values)[1]


@mutation(
    "keys are tiled over the query heads, values are not",
    "shared heads, K/V",
    "none in layer 0; deeper layers follow",
)
class TiledKeys(Decoder):
    attention = TilesKeys


class ReadsHeadZero(Attention):
    def repeated(self, keys, values):
        return super().repeated(keys[:, :, :1].expand(-1, -1, G, -1), values[:, :, :1].expand(-1, -1, G, -1))


@mutation(
    "all query heads take key/value head 0, as if it were multi-query",
    "shared heads",
    "none in layer 0; deeper layers follow",
)
class OneHeadForAll(Decoder):
    attention = ReadsHeadZero


class Conjugated(Attention):
    def turned(self, xq, xk, freqs_cis):
        return (
            (rotary(xq, freqs_cis), rotary(xk, freqs_cis.conj()))
            if xq.shape[1] == 1
            else super().turned(xq, xk, freqs_cis)
        )


@mutation(
    "a decoded key is turned the other way round (conj)",
    "rotary",
    "K: decoded rows are turned by minus their position, all layers; V right in layer 0",
)
class TurnsDecodedKeysBack(Decoder):
    attention = Conjugated
