"""Lesson 02: cutting the channels into heads, and putting them together again."""

import torch

from ..compare import compare, inputs_kept, own, tensor_like
from ..registry import Exercise, Wrong

HEADS, AXES = "B H T D", "B T C"

split_heads = Exercise(
    name="split_heads",
    lesson="02",
    call="split_heads(x [B, T, C], n_heads) -> [B, H, T, D]",
    minutes=5,
    difficulty="medium",
    hints=(
        "The channels of ONE token are to be cut into n_heads pieces of equal length. Which axis of x is cut?",
        "Cutting an axis needs no data to move. Moving an axis does. These are two steps, in this order.",
        "First [B, T, C] -> [B, T, H, D] (view or unflatten of the last axis), then exchange axes 1 and 2.",
    ),
)
merge_heads = Exercise(
    name="merge_heads",
    lesson="02",
    call="merge_heads(y [B, H, T, D]) -> [B, T, C]",
    minutes=5,
    difficulty="medium",
    hints=(
        "It undoes split_heads: the same two steps, backwards.",
        "All channels of one token must lie side by side before two axes become one. Where is the token's axis now?",
        "First [B, H, T, D] -> [B, T, H, D], then join the last two axes. After a transpose, reshape or flatten, not view.",
    ),
)


def numbered(*shape, dtype=torch.float64):
    """Numbers that are all different, so that one in a wrong place shows."""
    return torch.arange(torch.Size(shape).numel(), dtype=dtype).view(shape)


def split_right(x, H):
    return torch.stack(x.chunk(H, dim=-1), dim=1)


def split_mistakes(x, H):
    """Known mistakes -> the `[B, H, T, D]` that each of them gives."""
    B, T, C = x.shape
    D = C // H
    return {
        "a view straight to [B, H, T, D]: it cuts the tokens, not the channels; it has the right shape by luck": x.reshape(B, H, T, D),
        "channels dealt out in turn (h, h + H, h + 2H, ...): D and H in the wrong order when the axis is cut": x.reshape(B, T, D, H).permute(0, 3, 1, 2),
        "a view to [B, H, D, T]: it cuts the tokens, not the channels": x.reshape(B, H, D, T).mT,
    }  # fmt: skip


def looks_like(got, mistakes):
    """The words of the known mistake that gives the very same numbers, or None.

    Where a mistake gives NaN (a row in which all is hidden), any number fits: a fill of -1e9 leaves another than -inf.
    """
    for words, wrong in mistakes.items():
        if not isinstance(got, torch.Tensor) or got.shape != wrong.shape:
            continue
        fits = torch.isclose(got.double(), wrong.double()) | wrong.isnan()
        if fits.all() and not wrong.isnan().all():
            return words
    return None


def is_equal(got, right, axes, what, mistakes, tolerance=0.0):
    try:
        return compare(got, right, tolerance, axes, what)
    except Wrong as wrong:
        raise Wrong(wrong.seen, looks_like(got, mistakes) or wrong.looks_like) from None


def split_is(answer, x, H):
    is_equal(answer(x, H), split_right(x, H), HEADS, "the split x", split_mistakes(x, H))


@split_heads.check("x [2, 5, 12] in 3 heads has shape [2, 3, 5, 4]")
def _(answer):
    got = answer(numbered(2, 5, 12), 3)
    if isinstance(got, torch.Tensor) and got.shape == (2, 5, 3, 4):
        raise Wrong(
            f"the split x has shape {list(got.shape)}; expected [B, H, T, D] = [2, 3, 5, 4]",
            "[B, T, H, D]: cut, but the axis of the heads is not moved in front of the tokens",
        )
    tensor_like(got, split_right(numbered(2, 5, 12), 3), HEADS, "the split x")


@split_heads.check("head h holds channels h D to (h + 1) D - 1 of each token")
def _(answer):
    split_is(answer, numbered(2, 5, 12), 3)


for when, shape, H in (
    ("as many tokens as heads: no shape tells them apart", (2, 3, 12), 3),
    ("one token, one head, heads of one channel", (2, 1, 6), 6),
):

    @split_heads.check(when)
    def _(answer, shape=shape, H=H):
        split_is(answer, numbered(*shape), H)
        split_is(answer, numbered(*shape), 1)


@split_heads.check("a third of one wide projection, float32: a view of another tensor")
def _(answer):
    split_is(own(answer), numbered(2, 5, 36, dtype=torch.float32)[:, :, 12:24], 3)


def merge_mistakes(y):
    B, H, T, D = y.shape
    return {
        "a reshape without exchanging the head and the token axis: each row mixes tokens": y.reshape(B, T, H * D),
        "channels interleaved: D and H are joined in the wrong order": y.permute(0, 2, 3, 1).reshape(B, T, H * D),
        "the wrong two axes exchanged": y.mT.reshape(B, T, H * D),
    }


def merge_is(answer, y):
    right = torch.cat(list(y.unbind(1)), dim=-1)  # [B, T, H D]
    is_equal(answer(y), right, AXES, "the merged y", merge_mistakes(y))


@merge_heads.check("y [2, 3, 5, 4] gives [2, 5, 12]")
def _(answer):
    got = answer(numbered(2, 3, 5, 4))
    if isinstance(got, torch.Tensor) and got.shape == (2, 5, 3, 4):
        raise Wrong(
            f"the merged y has shape {list(got.shape)}; expected [B, T, C] = [2, 5, 12]",
            "heads that are moved but not merged: the last two axes must become one before the output projection",
        )
    tensor_like(got, numbered(2, 5, 12), AXES, "the merged y")


@merge_heads.check("row t holds the heads of token t, side by side")
def _(answer):
    merge_is(answer, numbered(2, 3, 5, 4))


@merge_heads.check("it undoes the split of another x")
def _(answer):
    x = torch.randn(3, 4, 10, generator=torch.Generator().manual_seed(2))
    is_equal(answer(split_right(x, 5)), x, AXES, "the merged y", merge_mistakes(split_right(x, 5)))


@merge_heads.check("as many tokens as heads; one token; one head")
def _(answer):
    for shape in ((2, 3, 3, 4), (2, 3, 1, 4), (2, 1, 5, 4)):
        merge_is(answer, numbered(*shape))


@merge_heads.check("y is unchanged")
def _(answer):
    inputs_kept(own(answer), ("y",), numbered(2, 3, 5, 4))
