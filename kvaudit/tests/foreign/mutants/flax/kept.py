"""Mistakes in what is kept, and in what happens to it: the decoder after Flax and MLX."""

import torch

from ...decoders.flax import STEP, D, Decoder, H, L
from ...mutation import mutation


@mutation(
    "the buffers never grow after the prompt: updates that do not fit are moved back onto the last slots",
    "capacity, preallocated, append",
    "K V: the last slots are overwritten once the buffer is full, all layers; the prompt's last rows, too",
)
class NeverGrows(Decoder):
    def grown(self, cache, T):
        if cache["index"] == 0:
            return super().grown(cache, T)
        return cache


@mutation(
    "a grown buffer is made new, and the old rows are not copied",
    "preallocated, append",
    "K V: all rows before the growth are zeros, all layers",
)
class GrowthForgets(Decoder):
    def padded(self, buffer, lacking):
        return torch.zeros_like(super().padded(buffer, lacking))


@mutation(
    "growing puts the new slots in front",
    "preallocated, append",
    "K V: rows before the growth stand a step too late, zeros before them, and are overwritten later, all layers",
)
class GrowsInFront(Decoder):
    def padded(self, buffer, lacking):
        return torch.cat([buffer.new_zeros(*buffer.shape[:-1], lacking), buffer], dim=-1)


@mutation(
    "after the prompt the index is the number of slots, not of tokens",
    "preallocated, position, append",
    "K V: empty slots (zeros) between the prompt and the decoded rows, which stand late, all layers",
)
class IndexIsTheSlots(Decoder):
    def advanced(self, cache, T):
        return cache | {"index": -(-T // STEP) * STEP} if cache["index"] == 0 else super().advanced(cache, T)


@mutation(
    "cache_index grows by one for each call, also for a chunk",
    "append, position",
    "K V: slots after a chunk's first are overwritten by later tokens, all layers",
)
class IndexCountsCalls(Decoder):
    def advanced(self, cache, T):
        return super().advanced(cache, T if cache["index"] == 0 else 1)


@mutation(
    "rows are added with a one-hot vector onto what is in the slot: after a rollback the old row is still there",
    "rollback, stale, preallocated",
    "K V: after a crop, slots hold the sum of the rejected and the new row, all layers",
)
class AddsToTheSlot(Decoder):
    def updated(self, buffer, new, start):
        return buffer + super().updated(torch.zeros_like(buffer), new, start)


@mutation(
    "keys are reshaped to slots-last without exchanging the axes: right for one token only",
    "K/V",
    "K: rows of prompts and chunks, tokens and channels mixed, all layers; V right in layer 0",
)
class ReshapedNotSwapped(Decoder):
    def written(self, layer, cache, k, v):
        B, T = len(k), k.shape[-1]
        return super().written(layer, cache, k.permute(0, 1, 3, 2).reshape(B, H, D, T), v)


@mutation(
    "the stacked buffers are reordered inside the loop over layers: once for each layer",
    "beams, layers",
    "K V: all rows of beams whose parent's parent is another one, all layers",
)
class ReordersForEachLayer(Decoder):
    def reorder(self, parents):
        for _ in range(L):
            super().reorder(parents)


@mutation(
    "beams: only the values' stack is written back",
    "beams, K/V",
    "K: all rows of beams with another parent, all layers; V right",
)
class ReordersValuesOnly(Decoder):
    def reorder(self, parents):
        self.cache = self.cache | {"value": self.cache["value"][:, parents]}


@mutation(
    "the buffers are updated in place, though a fork shares them",
    "aliasing",
    "K V: slots after the fork hold what the other fork wrote, all layers",
)
class UpdatesInPlace(Decoder):
    def written(self, layer, cache, k, v):
        start, T = cache["index"], k.shape[-1]
        for name, new in {"key": k, "value": v}.items():
            cache[name][layer, ..., start : start + T] = new
        return cache


@mutation(
    "the offset of the rotation is a counter of its own, which a rollback forgets",
    "rollback, rotary, position",
    "K: rows after a crop are turned by the number of rejected tokens too far, all layers; V right in layer 0",
)
class OffsetIsNotCropped(Decoder):
    def query_offset(self, cache, T):
        return cache["index"] + cache.get("dropped", 0)

    key_offset = query_offset

    def crop(self, n):
        dropped = self.cache.get("dropped", 0) + self.cache["index"] - n
        super().crop(n)
        self.cache = self.cache | {"dropped": dropped}


@mutation(
    "init_cache only where there is none: a second request is written after the first",
    "stale",
    "K V: the second request's rows stand after the first's, which are seen, all layers",
)
class CacheIsReused(Decoder):
    def init_cache(self, batch):
        return self.cache or super().init_cache(batch)


@mutation(
    "the cache's dtype is bfloat16 for keys",
    "rounding, K/V",
    "K: all rows, rounded to bfloat16, all layers; V right in layer 0",
)
class Bfloat16Keys(Decoder):
    def stored(self, name, new):
        return new.to(torch.bfloat16).to(new.dtype) if name == "key" else new


@mutation(
    "the prompt is taken to be the same in all batch rows: row 0's is stored for all",
    "batch rows",
    "K V: the prompt's rows in all batch rows but the first are those of the first, all layers",
)
class PromptOfRowZero(Decoder):
    def written(self, layer, cache, k, v):
        if cache["index"] == 0:
            k, v = k[:1].expand_as(k), v[:1].expand_as(v)
        return super().written(layer, cache, k, v)


@mutation(
    "values are always read from layer 0 of the stack",
    "layers, K/V",
    "none in layer 0; deeper layers follow",
)
class ValuesOfLayerZero(Decoder):
    def read(self, layer, cache):
        return cache["key"][layer], cache["value"][0]
