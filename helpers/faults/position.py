"""Position faults: the rows are right, the new token stands at the wrong place. No shape ever changes."""

from ..cache import ConcatCache
from .registry import fault

OFFSET = "the offset passed to the position embedding (or rotation) in decode: it must be the number of cached tokens"


def is_decode(cache, T):
    """One token on a filled cache."""
    return T == 1 and cache.length > 0


@fault(
    "pos_zero",
    family="position",
    title="always at 0",
    does="Every decode step runs at position 0 instead of n.",
    look=OFFSET,
    report="huggingface/transformers#32279",
)
class PosZero(ConcatCache):
    def positions(self, T):
        return super().positions(T) - (self.length if is_decode(self, T) else 0)


@fault(
    "pos_restart",
    family="position",
    title="restarts at 0",
    does="Decode counts positions from 0 again: 0, 1, 2 instead of n, n + 1, n + 2.",
    look=OFFSET,
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
    family="position",
    title="one too far",
    does="Decode runs at position n + 1: one position is never used.",
    look="whether the length is counted up before the new token's position is read from it",
    report="skyzh/tiny-llm#46",
)
class PosPlus1(ConcatCache):
    def positions(self, T):
        return super().positions(T) + int(is_decode(self, T))


@fault(
    "pos_minus1",
    family="position",
    title="one too early",
    does="Decode runs at position n - 1: the prompt's last position is used twice.",
    look="a length - 1 in the offset: the last cached token has that position, the new one stands after it",
    report="OpenNMT/CTranslate2#1572",
)
class PosMinus1(ConcatCache):
    def positions(self, T):
        return super().positions(T) - int(is_decode(self, T))


@fault(
    "pos_uniform_shift",
    family="position",
    title="all shifted by 3",
    does="Every call adds the same constant to its positions: wrong for learned positions, harmless with rotary ones.",
    look="where counting begins: the first token of a sequence stands at position 0, in prefill as in training",
    report="rasbt/LLMs-from-scratch#925",
)
class PosUniformShift(ConcatCache):
    def positions(self, T):
        return super().positions(T) + 3
