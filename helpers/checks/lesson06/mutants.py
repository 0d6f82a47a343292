"""Lesson 06: decoders with bugs that no catalogue lists, each of which shows for some prompts only."""

import torch

from ...cache import ConcatCache
from ...decoding import CachedDecoder
from ...faults.position import is_decode
from ..small import L

MUTANTS = {}  # what it does, in words -> function that makes one over a model


def mutant(words):
    """Class decorator: file a cache class or a decoder class under what it does."""

    def file(cls):
        decoder = issubclass(cls, CachedDecoder)
        MUTANTS[words] = cls if decoder else lambda model: CachedDecoder(model, lambda: cls(L))
        return cls

    return file


@mutant("A single token always counts as a decode step, which is never the first token: it stands at 1 or later.")
class SingleIsStep(ConcatCache):
    def positions(self, T):
        return torch.tensor([max(self.length, 1)]) if T == 1 else super().positions(T)


@mutant("Token 0 counts as padding and is read as token 1.")
class ZeroIsPadding(CachedDecoder):
    def extend(self, tokens):
        return super().extend(tokens.masked_fill(tokens == 0, 1))


@mutant("In decode the values of row 0 are used for the whole batch.")
class FirstRowForAll(ConcatCache):
    def update(self, k, v, layer):
        return super().update(k, v[:1].expand_as(v) if is_decode(self, k.shape[2]) else v, layer)


@mutant("Only the newest 12 rows are kept, though the model has no window.")
class KeepsTwelve(ConcatCache):
    def update(self, k, v, layer):
        k, v = super().update(k, v, layer)
        self.keys[layer], self.values[layer] = k[:, :, -12:], v[:, :, -12:]
        return self.keys[layer], self.values[layer]


@mutant("A chunk starts at its number times the size of the first one: right while all chunks are equal.")
class EqualChunks(ConcatCache):
    def __init__(self, n_layers):
        super().__init__(n_layers)
        self.sizes = []

    def positions(self, T):
        start = self.length
        if T > 1:
            start = len(self.sizes) * (self.sizes or [T])[0]
            self.sizes.append(T)
        return torch.arange(start, start + T)


@mutant("The request before is cleared from all layers but the last.")
class LastLayerStale(CachedDecoder):
    def start(self):
        old = self.cache
        super().start()
        if old is not None:
            self.cache.keys[-1], self.cache.values[-1] = old.layers()[-1]


@mutant("A step after a chunk stands where the chunk began.")
class StepAtChunk(ConcatCache):
    begin = None

    def positions(self, T):
        if T > 1 and self.length > 0:
            self.begin = self.length
        begin, self.begin = (self.begin, None) if T == 1 and self.begin is not None else (self.length, self.begin)
        return torch.arange(begin, begin + T)
