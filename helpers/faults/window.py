"""Window faults: nothing is wrong until the first row is evicted."""

import torch

from ..caches import WindowCache
from .registry import fault


@fault(
    "evict_pos_rows",
    title="position counts rows",
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
    title="one row too many",
    report="huggingface/transformers#26792",
    needs="window",
    scenario="window",
)
class WindowKeepsOneMore(WindowCache):
    def reach(self, T):
        return super().reach(T) + 1
