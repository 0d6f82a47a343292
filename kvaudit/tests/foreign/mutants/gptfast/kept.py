"""Mistakes in what is kept, and in what happens to it: the decoder after gpt-fast."""

import copy

import torch

from ...decoders.gptfast import MAX_SEQ, Decoder, KVCache, L
from ...mutation import mutation


@mutation(
    "one token sees whatever slot is not zero: what an earlier, longer request left is seen",
    "stale, mask, preallocated, rollback",
    "none in layer 0 (the old rows lie in slots that are still free); deeper layers follow (second request, after a crop)",
)
class SeesWhatIsNotZero(Decoder):
    def mask(self, input_pos):
        if len(input_pos) > 1:
            return super().mask(input_pos)
        filled = self.caches[0].k_cache.abs().sum(dim=(0, 1, 3)) > 0
        filled[input_pos] = True
        return filled[None, None, None]


@mutation(
    "wqkv is split as q, v, k",
    "K/V",
    "K V: exchanged in all rows and layers (the values are turned, the keys are not)",
)
class SplitAsQVK(Decoder):
    def split(self, qkv):
        q, k, v = super().split(qkv)
        return q, v, k


class WritesKeysTwice(KVCache):
    def update(self, input_pos, k_val, v_val):
        return super().update(input_pos, k_val, k_val)


@mutation(
    "v_cache is filled with k_val: copy and paste",
    "K/V",
    "V: all rows hold the keys, all layers; K right in layer 0",
)
class ValuesAreKeys(Decoder):
    def new_cache(self, batch):
        return WritesKeysTwice(batch, MAX_SEQ)


@mutation(
    "one KVCache object for all layers: the last layer's rows are what is found later",
    "layers",
    "K V: all layers but the last hold the last layer's rows",
)
class OneCacheForAllLayers(Decoder):
    def setup_caches(self, batch, prompt_length):
        super().setup_caches(batch, prompt_length)
        self.caches = [self.caches[0]] * L


@mutation(
    "one token's attention takes the cache of layer - 1",
    "layers",
    "K V: decoded rows are written to the layer before (layer 0's to the last)",
)
class CacheOfTheLayerBefore(Decoder):
    def attention(self, layer, x, freqs_cis, mask, input_pos):
        self.back = len(input_pos) == 1
        return super().attention(layer, x, freqs_cis, mask, input_pos)

    def cache_of(self, layer):
        return self.caches[layer - self.back]


class Bfloat16(KVCache):
    def __init__(self, batch, length):
        super().__init__(batch, length, torch.bfloat16)

    def update(self, input_pos, k_val, v_val):
        k, v = super().update(input_pos, k_val.to(torch.bfloat16), v_val.to(torch.bfloat16))
        return k.to(k_val.dtype), v.to(v_val.dtype)


@mutation(
    "setup_caches makes bfloat16 buffers for a float64 model",
    "rounding",
    "K V: all rows, rounded to bfloat16",
)
class Bfloat16Buffers(Decoder):
    def new_cache(self, batch):
        return Bfloat16(batch, MAX_SEQ)


@mutation(
    "input_pos is clamped at the last slot: past the end it is overwritten, and nothing is refused",
    "capacity",
    "K V: the last slot is overwritten by each token past the end, all layers",
)
class ClampedAtTheEnd(Decoder):
    def feed(self, tokens, input_pos):
        return super().feed(tokens, input_pos.clamp(max=MAX_SEQ - 1))


class FirstRowOnly(KVCache):
    def update(self, input_pos, k_val, v_val):
        self.k_cache[0, :, input_pos], self.v_cache[0, :, input_pos] = k_val[0], v_val[0]
        return self.k_cache, self.v_cache


@mutation(
    "the buffers are written for batch row 0 only",
    "batch rows, preallocated",
    "K V: empty (zeros) in all batch rows but the first, all layers",
)
class WritesRowZero(Decoder):
    def new_cache(self, batch):
        return FirstRowOnly(batch, MAX_SEQ)


@mutation(
    "a rollback sets input_pos one slot too far",
    "rollback",
    "K V: the first rejected row stays, later rows stand one slot late, all layers",
)
class RollbackOneShort(Decoder):
    def crop(self, n):
        super().crop(n + 1)


@mutation(
    "a rollback clears the slots and leaves input_pos where it was",
    "rollback, preallocated, position",
    "K V: empty slots (zeros) where the rejected rows were, later rows stand after them, all layers",
)
class RollbackClearsOnly(Decoder):
    def crop(self, n):
        for cache in self.caches:
            cache.k_cache[:, :, n:], cache.v_cache[:, :, n:] = 0, 0


@mutation(
    "fork copies the decoder and not its buffers",
    "aliasing",
    "K V: slots after the fork hold what the other fork wrote, all layers",
)
class ForksShareBuffers(Decoder):
    def fork(self):
        return copy.copy(self)


@mutation(
    "decode goes on from the first request's input_pos",
    "stale, position, preallocated",
    "K V: decoded rows of a second request stand in slots after the first's end; old rows are seen between",
)
class KeepsTheOldInputPos(Decoder):
    def prefill(self, tokens):
        old = self.next
        logits = super().prefill(tokens)
        self.next = old or self.next
        return logits
