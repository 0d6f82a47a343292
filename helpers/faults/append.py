"""Append faults: the new row reaches the cache too late, or not at all."""

from ..cache import ConcatCache
from .position import is_decode
from .registry import fault


@fault(
    "attend_then_append",
    family="append",
    title="attends, then appends",
    does="Decode attends over the old rows only and stores the new row afterwards: a token cannot see itself.",
    look="the order of the two lines that append the new key and value and that compute attention",
    report="harvard-edge/cs249r_book#1953",
)
class AttendThenAppend(ConcatCache):
    def update(self, k, v, layer):
        old = self.keys[layer], self.values[layer]
        grown = super().update(k, v, layer)
        return old if is_decode(self, k.shape[2]) else grown


@fault(
    "frozen_cache",
    family="append",
    title="not stored back",
    does="Decode attends over old and new rows but does not store the new one: the cache stays as long as the prompt.",
    look="whether the concatenated keys and values are assigned to the cache, or only to a local name",
    report="huggingface/transformers#30108",
)
class FrozenCache(ConcatCache):
    def update(self, k, v, layer):
        old = self.keys[layer], self.values[layer]
        grown = super().update(k, v, layer)
        if is_decode(self, k.shape[2]):
            self.keys[layer], self.values[layer] = old
        return grown
