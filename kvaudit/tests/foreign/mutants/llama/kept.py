"""Mistakes in what is kept, and in what happens to it: the decoder after the LLaMA reference code."""

import copy

import torch

from ...decoders.llama import MAX_SEQ, Attention, Decoder, L
from ...mutation import mutation


class ReadsBeforeItself(Attention):
    def read(self, B, start_pos, T):
        return super().read(B, start_pos, T if start_pos == 0 or T > 1 else 0)


@mutation(
    "keys end at start_pos: a decoded token does not see itself",
    "append, mask",
    "none in layer 0; deeper layers follow (decoded rows)",
)
class DoesNotSeeItself(Decoder):
    attention = ReadsBeforeItself


class ReadsOneMore(Attention):
    def read(self, B, start_pos, T):
        return super().read(B, start_pos, 2 if T == 1 and start_pos else T)


@mutation(
    "keys end at start_pos + 2: one slot that is still empty is seen",
    "preallocated, mask",
    "none in layer 0; deeper layers follow (decoded rows)",
)
class SeesAnEmptySlot(Decoder):
    attention = ReadsOneMore


class ReadsKeysTwice(Attention):
    def read(self, B, start_pos, T):
        keys, _ = super().read(B, start_pos, T)
        return keys, keys


@mutation(
    "values = self.cache_k[…]: copy and paste where the buffers are read",
    "K/V",
    "none in layer 0; deeper layers follow",
)
class ReadsKeysAsValues(Decoder):
    attention = ReadsKeysTwice


class ReadsRowZero(Attention):
    def read(self, B, start_pos, T):
        keys, values = super().read(1, start_pos, T)
        return keys.expand(B, -1, -1, -1), values.expand(B, -1, -1, -1)


@mutation(
    "the buffers are read as cache[:1] and broadcast: all rows see row 0's past",
    "batch rows",
    "none in layer 0; deeper layers follow (all batch rows but the first)",
)
class AllRowsReadRowZero(Decoder):
    attention = ReadsRowZero


@mutation(
    "beams are copied one after the other in place: a later beam copies what was overwritten",
    "beams, aliasing",
    "K V: all rows of beams whose parent stands before them and was itself replaced, all layers",
)
class ReordersInPlace(Decoder):
    def reorder(self, parents):
        for attention in self.attentions:
            for cache in (attention.cache_k, attention.cache_v):
                for beam, parent in enumerate(parents.tolist()):
                    cache[beam] = cache[parent]


@mutation(
    "beams: only the prompt's slots are reordered, the generated ones stay",
    "beams",
    "K V: generated rows of beams with another parent, all layers; the prompt's rows are right",
)
class ReordersThePrompt(Decoder):
    def prefill(self, tokens):
        self.prompt_length = tokens.shape[1]
        return super().prefill(tokens)

    def reorder(self, parents):
        for attention in self.attentions:
            for cache in (attention.cache_k, attention.cache_v):
                cache[: self.batch, : self.prompt_length] = cache[parents, : self.prompt_length]


@mutation(
    "crop does nothing: the rejected tokens stay",
    "rollback",
    "K V: the rejected rows stay, all layers; later rows stand after them",
)
class CropDoesNothing(Decoder):
    def crop(self, n):
        pass


@mutation(
    "crop goes one token too far back",
    "rollback",
    "K V: the last row that was to be kept is overwritten, all layers; later rows stand one slot early",
)
class CropOneTooMany(Decoder):
    def crop(self, n):
        super().crop(n - 1)


class Advances(Attention):
    def forward(self, x, start_pos, freqs_cis, mask):
        return super().forward(x, start_pos + self.layer * (x.shape[1] == 1), freqs_cis, mask)


@mutation(
    "the layers share a counter that each of them moves on: deeper layers write decoded rows further behind",
    "layers, append, preallocated, position",
    "K V: decoded rows of layer i stand i slots late, empty slots before them; layer 0 right",
)
class EachLayerMovesOn(Decoder):
    attention = Advances


class HalfValues(Attention):
    dtypes = torch.float64, torch.float16


@mutation(
    "cache_v is float16, cache_k is not",
    "rounding, K/V",
    "V: all rows, rounded to float16, all layers; K right in layer 0",
)
class HalfPrecisionValues(Decoder):
    attention = HalfValues


@mutation(
    "start_pos is not reset for a new prompt: the request goes on where the last one ended",
    "stale",
    "K V: the second request's rows stand after the first's, which are seen, all layers",
)
class StartPosNotReset(Decoder):
    def prefill(self, tokens):
        self.batch = len(tokens)
        return self.feed(tokens)


class Wraps(Attention):
    def forward(self, x, start_pos, freqs_cis, mask):
        return super().forward(x, min(start_pos, MAX_SEQ - x.shape[1]), freqs_cis, mask)


@mutation(
    "past the end the last slot is written again, with positions that go on",
    "capacity",
    "K V: the last slot is overwritten past the end, all layers",
)
class WritesPastTheEnd(Decoder):
    attention = Wraps


@mutation(
    "the last layer's buffers are those of the layer before (a weight-sharing loop gone wrong)",
    "layers",
    "K V: the last two layers share one buffer, which holds the last layer's rows",
)
class LastTwoLayersShare(Decoder):
    def __init__(self, weights):
        super().__init__(weights)
        self.attentions[L - 1].cache_k = self.attentions[L - 2].cache_k
        self.attentions[L - 1].cache_v = self.attentions[L - 2].cache_v


@mutation(
    "fork: keys are cloned, values are not",
    "aliasing, K/V",
    "V: slots after the fork hold what the other fork wrote, all layers; K right in layer 0",
)
class ForksShareValues(Decoder):
    def fork(self):
        twin = copy.copy(self)
        twin.attentions = [copy.copy(attention) for attention in self.attentions]
        for attention in twin.attentions:
            attention.cache_k = attention.cache_k.clone()
        return twin
