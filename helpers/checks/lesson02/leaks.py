"""Lesson 02: finding leaks by perturbation. The attentions that are searched leak in known places, some of them hardly."""

import torch

from ...faults.mistakes import small
from ..registry import Exercise, Wrong, kind

C = 12

leaks = Exercise(
    name="leaks",
    lesson="02",
    call="leaks(attn, T, d_model=12) -> set of (i, j), attn being a function of x [B, T, d_model]",
    minutes=20,
    difficulty="hard",
    hints=(
        "Call attn twice: on some x, and on the same x with token j changed. What may differ in the two outputs?",
        "Rows before j may not move. Change every channel of the token, each by another amount, and compare all of row i.",
        "For each j: a copy of x with x[:, j] drawn anew; (i, j) for each i < j whose row of y is not what it was.",
    ),
)


def called_with(attn):
    """`attn` that says in words when it is given something other than x `[B, T, C]`."""

    def call(x):
        if not isinstance(x, torch.Tensor) or x.dim() != 3 or x.shape[-1] != attn.channels:
            got = f"a tensor of shape {list(x.shape)}" if isinstance(x, torch.Tensor) else kind(x)
            raise Wrong(f"attn was called with {got}; expected x of shape [B, T, C] with C = {attn.channels}")
        if not x.isfinite().all():
            seen = f"attn was called with an x that holds {float(x[~x.isfinite()][0])}"
            looks = "a change that is no finite number: 0 times NaN is NaN, so a row seems to move with what it does not read"
            raise Wrong(seen, looks)
        return attn(x)

    return call


class Attn:
    """A function of x `[B, T, C]` with the mistake `which`; `change(x)` is done to its input, `extra(x, y)` to its output."""

    def __init__(self, which="correct", change=lambda x: x, extra=lambda x, y: y, channels=C):
        self.inner = small(which, 3, channels // 3)
        self.change, self.extra, self.channels = change, extra, channels

    def __call__(self, x):
        z = x.double()
        return self.extra(z, self.inner(self.change(z))).to(x.dtype)


def future(x):
    """`[B, T, C]`: for each row the sum of the tokens after it."""
    return x.flip(1).cumsum(1).flip(1) - x


def one_channel(x, y):
    """Channel 7 of the last token is added to channel 2 of the first row: the smallest place to look at."""
    added = torch.zeros_like(y)
    added[:, 0, 2] = x[:, -1, 7]
    return y + added


def faintly(x, y):
    """The future, a millionth of y: far above float32's rounding, far below the tolerance of `allclose`, whatever x is."""
    return y + 10 + 1e-5 * future(x)


normalised = torch.nn.LayerNorm(C, elementwise_affine=False)
ALL = lambda T: {(i, j) for j in range(T) for i in range(j)}
MERGED = {(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)}

CASES = {  # title -> (attn, T, the pairs that leak)
    "a causal attention has no leaks": (Attn(), 5, set()),
    "without a mask every later token leaks": (Attn("no mask"), 4, ALL(4)),
    "heads merged without a transpose: 5 pairs of 6": (Attn("merge without transpose"), 4, MERGED),
    "a leak from one far token, through a single channel": (Attn(extra=one_channel), 5, {(0, 4)}),
    "a leak of one part in a million": (Attn(extra=faintly), 4, ALL(4)),
    "an attention that normalises its input first": (Attn("no mask", change=normalised), 4, ALL(4)),
    "one token: nothing can leak": (Attn("no mask"), 1, set()),
    "another d_model, 6 tokens": (Attn("softmax over the queries", channels=18), 6, ALL(6)),
}


def pairs_of(got):
    if not isinstance(got, set):
        raise Wrong(f"the result is {kind(got)}; expected a set of pairs (i, j)")
    odd = next((p for p in got if not (isinstance(p, tuple) and len(p) == 2)), None)
    if odd is not None:
        raise Wrong(f"the set holds {str(odd)[:60]}; expected pairs (i, j) of two whole numbers")
    if any(isinstance(number, torch.Tensor) for pair in got for number in pair):
        raise Wrong("the pairs hold tensors; expected whole numbers: two tensors of equal value are not equal in a set")
    return got


def likeness(got, right, T):
    """The known mistake that gives these pairs, in words, or None."""
    turned = {(j, i) for i, j in got}
    later = {(i, j) for i, j in got if i < j}
    if turned == right and right:
        return "pairs the wrong way round: (row that moves, token that was changed)"
    if later == right and got != right:
        past = any(i > j for i, j in got)
        return "a row may move with its own token" + (" and with earlier ones: only i < j is a leak" if past else "")
    if got < right:
        return "too small a change, a change in few channels, one that a normalisation undoes, or too wide a tolerance"
    if got == ALL(T) and not right:
        return "changes that pile up: each token is changed in a copy of x of its own"
    return None


for title, (attn, T, right) in CASES.items():

    @leaks.check(title)
    def _(answer, attn=attn, T=T, right=right):
        options = {} if attn.channels == C else {"d_model": attn.channels}
        got = pairs_of(answer(called_with(attn), T, **options))
        if got == right:
            return f"{len(right)} pairs"
        missing, extra = sorted(right - got), sorted(got - right)
        parts = [f"{len(p)} {words}, the first {p[0]}" for p, words in ((missing, "missing"), (extra, "too many")) if p]
        raise Wrong(f"{len(got)} pairs; expected {len(right)}: {'; '.join(parts)}", likeness(got, right, T))
