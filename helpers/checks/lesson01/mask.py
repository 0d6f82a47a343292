"""Lesson 01, the causal mask: as booleans and as numbers to add."""

import torch
from torch.nn import functional as F

from ...cache import causal_mask as triangle
from ..compare import compare, number, tensor_like, within
from ..registry import Exercise, Wrong

ROUNDING = 1e-12  # float64: what a right attention may differ by

causal_mask = Exercise(
    name="causal_mask",
    lesson="01",
    call="causal_mask(t_query, t_key, device=None) -> bool [T, S], True = may attend",
    minutes=10,
    difficulty="medium",
    hints=(
        "The queries are the newest tokens. Where in the text does query 0 stand, if T of S tokens are new?",
        "Query i stands at position S - T + i, key j at position j. Which of the two may be the larger one?",
        "Either compare a column of query positions with a row of key positions, or shift a triangle's diagonal by S - T.",
    ),
)


def mask_mistakes(T, S):
    """Known mistakes -> the boolean mask `[T, S]` that each of them gives."""
    full, right = torch.ones(T, S, dtype=torch.bool), triangle(T, S)
    return {
        "a triangle that starts at the top left: it is not shifted by the keys before": full.tril(),
        "the other convention: True must mean *may attend*": ~right,
        "a diagonal one too low (`<` for `<=`): a token does not see itself": full.tril(S - T - 1),
        "a diagonal one too high: a token sees its successor": full.tril(S - T + 1),
        "the upper triangle: it shows the future and hides the past": full.triu(S - T),
        "the upper triangle from the top left: triu where tril is meant": full.triu(),
        "the other convention, and a triangle that starts at the top left": ~full.tril(),
        "nothing is hidden: a chunk needs a mask like a prompt": full,
    }


def likeness(got, mistakes):
    """The words of the known mistake that gives the very same mask, or None."""
    if isinstance(got, torch.Tensor):
        return next((words for words, mask in mistakes.items() if torch.equal(got, mask)), None)


def named(T, S):
    return f"the mask for {T} quer{'y' if T == 1 else 'ies'} and {S} key{'' if S == 1 else 's'}"


def mask_is(got, T, S):
    what = named(T, S)
    if isinstance(got, torch.Tensor) and got.shape == (T, S) and got.dtype != torch.bool:
        raise Wrong(
            f"{what} is {got.dtype}; expected torch.bool",
            "a mask that is added to the scores: that is the next exercise" if got.is_floating_point() else None,
        )
    try:
        compare(got, triangle(T, S), 0, "T S", what)
    except Wrong as wrong:
        raise Wrong(wrong.seen, likeness(got, mask_mistakes(T, S)) or wrong.looks_like) from None


for when, T, S in (
    ("a square: 4 queries, 4 keys", 4, 4),
    ("a rectangle: 3 queries, 7 keys", 3, 7),
    ("one row: 1 query, 6 keys", 1, 6),
    ("the first token: 1 query, 1 key", 1, 1),
):

    @causal_mask.check(when)
    def _(answer, T=T, S=S):
        mask_is(answer(T, S), T, S)


@causal_mask.check("it is made on the device that is asked for")
def _(answer):
    device = answer(2, 5, device="meta").device
    if device.type != "meta":
        raise Wrong(
            f"device='meta' (torch's device without data) was asked for, the mask is on {device.type}",
            "an argument that is not handed on",
        )


def some_qkv(T, S, dtype=torch.float64):
    """q `[2, 3, T, 5]` of the last T of S tokens, and k, v `[2, 3, S, 5]`; also the q of all S."""
    g = torch.Generator().manual_seed(10 * S + T)
    q, k, v = (torch.randn(2, 3, S, 5, generator=g, dtype=torch.float64).to(dtype) for _ in range(3))
    return q[:, :, S - T :], k, v, q


@causal_mask.check("torch's attention with it gives the last 3 of all 7 rows")
def _(answer):
    q, k, v, every = some_qkv(3, 7)
    right = F.scaled_dot_product_attention(every, k, v, is_causal=True)[:, :, -3:]
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=answer(3, 7))
    return within(compare(y, right, ROUNDING, "B H T D", "y"), ROUNDING)


additive_mask = Exercise(
    name="additive_mask",
    lesson="01",
    call="additive_mask(t_query, t_key, dtype=torch.float32) -> [T, S] of 0 and -inf",
    minutes=5,
    difficulty="easy",
    hints=(
        "Which number changes no score when it is added, and which makes its exponential exactly zero?",
        "You have the boolean mask already. One call turns it into numbers; take care which half gets which.",
        "Multiplying 0 by infinity gives NaN, so fill instead: begin with zeros of the dtype, fill where hidden.",
    ),
)


def additive_is(got, T, S, dtype=torch.float32):
    """0 where visible, -inf where hidden, in `dtype`; raises `Wrong`. Infinity is meant here, so it is no defect."""
    right, what = triangle(T, S), named(T, S)
    if isinstance(got, torch.Tensor) and got.dtype == torch.bool:
        raise Wrong(f"{what} is torch.bool; expected {dtype}, numbers to add")
    finite = torch.where(got == -torch.inf, -1, got) if isinstance(got, torch.Tensor) else got
    if isinstance(got, torch.Tensor) and got.isnan().any():
        raise Wrong(f"{int(got.isnan().sum())} of {got.numel()} numbers of {what} are NaN", "0 times infinity is NaN")
    tensor_like(finite, torch.zeros(T, S, dtype=dtype), "T S", what)
    other = (got != 0) & (got != -torch.inf)
    if other.any():
        looks = "-1e9 or the like: a fully masked row then sees every key" if float(got[other].min()) < -1e3 else None
        raise Wrong(f"{what} holds {float(got[other][0]):g}; expected 0 where visible and -inf where hidden", looks)
    halves_are(got, right, what)


def halves_are(got, right, what):
    """Raise `Wrong` unless the 0 and -inf of `got` stand where `right`, a boolean mask, is True and False."""
    expected = torch.zeros(right.shape).masked_fill(~right, -torch.inf)
    wrong = got != expected
    if wrong.any():
        t, s = wrong.nonzero()[0].tolist()
        seen = f"{int(wrong.sum())} of {wrong.numel()} numbers of {what} differ; the first at T={t}, S={s}: "
        seen += f"got {number(got[t, s])}, expected {number(expected[t, s])}"
        exchanged = {"0 and -inf exchanged: 0 where the query may attend": ~right}
        raise Wrong(seen, likeness(got == 0, exchanged | mask_mistakes(*right.shape)))


for when, T, S in (("a square: 4 queries, 4 keys", 4, 4), ("a rectangle: 3 queries, 7 keys", 3, 7)):

    @additive_mask.check(when)
    def _(answer, T=T, S=S):
        additive_is(answer(T, S), T, S)


@additive_mask.check("one row: nothing is hidden, all zeros")
def _(answer):
    additive_is(answer(1, 6), 1, 6)


@additive_mask.check("the dtype that is asked for: float64 and float16")
def _(answer):
    for dtype in (torch.float64, torch.float16):
        additive_is(answer(2, 5, dtype=dtype), 2, 5, dtype)


@additive_mask.check("added to scores it does what the boolean mask does")
def _(answer):
    q, k, v, _ = some_qkv(3, 7)
    right = F.scaled_dot_product_attention(q, k, v, attn_mask=triangle(3, 7))
    weights = (q @ k.mT / 5**0.5 + answer(3, 7, dtype=torch.float64)).softmax(-1)
    return within(compare(weights @ v, right, ROUNDING, "B H T D", "y"), ROUNDING)
