"""Position faults: the rows are right, the new token stands at the wrong place. No shape ever changes."""

from ..cache import ConcatCache
from .registry import fault


@fault(
    "pos_restart",
    family="position",
    title="restarts at 0",
    does="Decode counts positions from 0 again: 0, 1, 2, … instead of n, n + 1, n + 2, …",
    look="the offset passed to the position embedding (or rotation) in decode: it must be the number of cached tokens",
    report="huggingface/transformers#15751",
)
class PosRestart(ConcatCache):
    def positions(self, T):
        if T > 1 or self.length == 0:
            self.prompt_length = self.length + T
            return super().positions(T)
        return super().positions(T) - self.prompt_length
