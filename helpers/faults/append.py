"""Append faults: the new row reaches the cache too late, or not at all."""

from ..cache import ConcatCache
from .position import is_decode
from .registry import fault


@fault(
    "attend_then_append",
    title="attends, then appends",
    report="harvard-edge/cs249r_book#1953",
)
class AttendThenAppend(ConcatCache):
    def update(self, k, v, layer):
        old = self.keys[layer], self.values[layer]
        grown = super().update(k, v, layer)
        return old if is_decode(self, k.shape[2]) else grown


@fault(
    "frozen_cache",
    title="not stored back",
    report="huggingface/transformers#30108",
)
class FrozenCache(ConcatCache):
    def update(self, k, v, layer):
        old = self.keys[layer], self.values[layer]
        grown = super().update(k, v, layer)
        if is_decode(self, k.shape[2]):
            self.keys[layer], self.values[layer] = old
        return grown
