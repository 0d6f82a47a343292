"""Append faults: the new row reaches the cache too late, or not at all."""

from ..cache import ConcatCache
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
        return old if k.shape[2] == 1 and old[0] is not None else grown
