"""The usual mistakes of multi-head attention: each is the course's attention with one method replaced.

None of them needs a cache, and none raises an error: every result has the right shape.
"""

import torch

from ..config import Config
from ..model import CAUSAL, CausalAttention, NoCache
from ..modules import with_modules


class InSteps(CausalAttention):
    """The same attention written out, so that each step can be replaced."""

    def attend(self, q, k, v, mask):  # q [B, H, T, D], k and v [B, H, S, D]
        scores = q @ k.mT * self.scale()  # [B, H, T, S]
        if mask is None or mask is CAUSAL:
            full = torch.ones(scores.shape[-2:], dtype=torch.bool)
            mask = full if mask is None else full.tril()
        return self.weights(scores, mask) @ v

    def weights(self, scores, mask):  # [B, H, T, S]
        return scores.masked_fill(~mask, -torch.inf).softmax(-1)


class SplitByView(InSteps):
    def split(self, qkv):  # each [B, T, C] is cut into H pieces of T rows, whatever stands in them
        return [x.reshape(len(x), self.config.n_heads, -1, self.config.head_dim) for x in qkv.chunk(3, dim=-1)]


class SplitStrided(InSteps):
    def split(self, qkv):  # head h gets the channels h, h + H, h + 2 H, ...
        heads = (x.unflatten(-1, (self.config.head_dim, self.config.n_heads)) for x in qkv.chunk(3, dim=-1))
        return [x.permute(0, 3, 1, 2) for x in heads]


class ScaleByModel(InSteps):
    def scale(self):
        return self.config.d_model**-0.5


class NoScale(InSteps):
    def scale(self):
        return 1.0


class NoMask(InSteps):
    def weights(self, scores, mask):
        return scores.softmax(-1)


class MaskAfterwards(InSteps):
    def weights(self, scores, mask):
        return scores.softmax(-1) * mask


class OverQueries(InSteps):
    def weights(self, scores, mask):
        return scores.masked_fill(~mask, -torch.inf).softmax(-2).nan_to_num(0)


class FillVisible(InSteps):
    """An additive mask where a boolean one is expected: `== 0` is true of the places that may be seen."""

    def weights(self, scores, mask):
        additive = torch.zeros_like(scores).masked_fill(~mask, -torch.inf)
        return scores.masked_fill(additive == 0, -1e9).softmax(-1)


class MergeByReshape(InSteps):
    def merge(self, y):  # [B, H, T, D] -> [B, T, C] without putting the heads of a token side by side
        return y.reshape(len(y), y.shape[2], -1)


MISTAKES = {  # words on a button -> the attention
    "correct": InSteps,
    "scale by d_model": ScaleByModel,
    "merge without transpose": MergeByReshape,
    "softmax over the queries": OverQueries,
    "mask after the softmax": MaskAfterwards,
    "additive mask, == 0": FillVisible,
}
MORE = {"split without transpose": SplitByView, "no scale": NoScale, "no mask": NoMask, "split strided": SplitStrided}


def small(kind, n_heads=3, head_dim=4):
    """One layer of attention with the mistake `kind`, random weights, float64: a function of x `[B, T, C]`."""
    config = Config(2, n_layers=1, n_heads=n_heads, d_model=n_heads * head_dim, d_ff=1)
    with torch.random.fork_rng():
        torch.manual_seed(5)
        attention = (MISTAKES | MORE)[kind](config, 0).double().requires_grad_(False)
    return lambda x: attention(x, NoCache(), None)


def with_mistake(model, kind):
    """`model` with the mistake in every layer, over the same weights; the model itself stays as it is."""
    return with_modules(model, [(MISTAKES | MORE)[kind]], [])
