"""Window faults: nothing is wrong until the first row is evicted."""

import torch

from ..caches import WindowCache
from .registry import fault


@fault(
    "evict_pos_rows",
    family="window",
    title="position counts rows",
    does="After eviction the position of a new token is the number of rows kept, so that it stops growing.",
    look="what the offset is read from: the tokens fed so far, not the rows that the window still holds",
    report="huggingface/transformers#33691",
    needs="window",
    scenario="window",
)
class EvictPosRows(WindowCache):
    def positions(self, T):
        rows = 0 if self.keys[0] is None else self.keys[0].shape[2]
        return torch.arange(rows, rows + T)


@fault(
    "window_keeps_one_more",
    family="window",
    title="one row too many",
    does="The window keeps W + 1 rows, so that decode attends to one token that training never showed it.",
    look="the slice that evicts: window - 1 old rows and the new one make a window",
    report="huggingface/transformers#26792",
    needs="window",
    scenario="window",
)
class WindowKeepsOneMore(WindowCache):
    def reach(self, T):
        return super().reach(T) + 1
