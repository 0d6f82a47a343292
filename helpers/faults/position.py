"""Position faults: the rows are right, the new token stands at the wrong place. No shape ever changes."""

from ..cache import ConcatCache
from .registry import fault


def is_decode(cache, T):
    """One token on a filled cache."""
    return T == 1 and cache.length > 0


@fault(
    "pos_zero",
    title="always at 0",
    report="huggingface/transformers#32279",
)
class PosZero(ConcatCache):
    def positions(self, T):
        return super().positions(T) - (self.length if is_decode(self, T) else 0)


@fault(
    "pos_restart",
    title="restarts at 0",
    report="huggingface/transformers#15751",
)
class PosRestart(ConcatCache):
    def positions(self, T):
        if not is_decode(self, T):
            self.prompt_length = self.length + T
            return super().positions(T)
        return super().positions(T) - self.prompt_length


@fault(
    "pos_plus1",
    title="one too far",
    report="skyzh/tiny-llm#46",
)
class PosPlus1(ConcatCache):
    def positions(self, T):
        return super().positions(T) + int(is_decode(self, T))


@fault(
    "pos_minus1",
    title="one too early",
    report="OpenNMT/CTranslate2#1572",
)
class PosMinus1(ConcatCache):
    def positions(self, T):
        return super().positions(T) - int(is_decode(self, T))


@fault(
    "pos_uniform_shift",
    title="all shifted by 3",
    report="rasbt/LLMs-from-scratch#925",
)
class PosUniformShift(ConcatCache):
    def positions(self, T):
        return super().positions(T) + 3
