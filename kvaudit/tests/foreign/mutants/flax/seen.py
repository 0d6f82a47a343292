"""Mistakes in what a token sees of the cache, and where it stands: the decoder after Flax and MLX."""

import torch

from ...decoders.flax import Decoder, rope
from ...mutation import mutation


@mutation(
    "the mask is made with the index after the update: for one token an empty slot is seen",
    "mask, preallocated",
    "none in layer 0; deeper layers follow (decoded rows)",
)
class MaskAfterTheUpdate(Decoder):
    def visible(self, cache, T, slots):
        return super().visible(cache | {"index": cache["index"] + (T == 1)}, T, slots)


@mutation(
    "slots < index: a token that is decoded does not see itself",
    "mask, append",
    "none in layer 0; deeper layers follow (decoded rows)",
)
class StrictlyBefore(Decoder):
    def visible(self, cache, T, slots):
        return super().visible(cache | {"index": cache["index"] - (T == 1)}, T, slots)


@mutation(
    "the mask's bias is -1e-10, not -1e10: what should be hidden is seen",
    "mask, preallocated",
    "none in layer 0; deeper layers follow (all rows)",
)
class TinyBias(Decoder):
    def hidden(self, scores):
        return scores.float() - 1e-10


@mutation(
    "hidden scores become 0 instead of a very negative number",
    "mask, preallocated",
    "none in layer 0; deeper layers follow (all rows)",
)
class HiddenScoresAreZero(Decoder):
    def hidden(self, scores):
        return torch.zeros_like(scores, dtype=torch.float32)


@mutation(
    "in decode queries are turned with the index before the update, keys with the one after it",
    "rotary, position",
    "K: decoded rows are turned by one position too many, all layers; V right in layer 0",
)
class KeysTurnedAfterTheUpdate(Decoder):
    def key_offset(self, cache, T):
        return cache["index"] + (T == 1)


@mutation(
    "offset only for one token: a chunk is turned as if it were a prompt",
    "rotary, position",
    "K: rows of chunks on a filled cache are turned as if they stood at 0 …, all layers; V right in layer 0",
)
class ChunksAtOffsetZero(Decoder):
    def query_offset(self, cache, T):
        return cache["index"] if T == 1 else 0

    key_offset = query_offset


@mutation(
    "values are turned, too, in decode",
    "rotary, K/V",
    "V: decoded rows are turned by their position, all layers; K right in layer 0",
)
class ValuesAreTurned(Decoder):
    def written(self, layer, cache, k, v):
        if v.shape[-1] == 1:
            v = self.slots_last(rope(v.permute(0, 3, 1, 2), cache["index"]))
        return super().written(layer, cache, k, v)
