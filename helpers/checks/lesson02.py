"""Lesson 02: cutting the channels into heads, putting them together again, and attention between the two."""

import torch
from torch.nn import functional as F

from ..cache import causal_mask
from .compare import compare, inputs_kept, own, tensor_like, within
from .registry import Exercise, Wrong

ROUNDING = 1e-12  # float64: what a right answer may differ by
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
attend = Exercise(
    name="attend",
    lesson="02",
    call="attend(q [B, H, T, D], k [B, H, S, D], v [B, H, S, D], mask=None) -> y [B, H, T, D]",
    minutes=15,
    difficulty="medium",
    hints=(
        "Scores, scale, hide, softmax, values. What is the shape of each, and which axis does each of them work on?",
        "How many terms does the sum q . k have? That number, not d_model, sets the scale. The softmax is over keys.",
        "q @ k.mT / sqrt(D) is [B, H, T, S]; fill with -inf where the mask is False; softmax over the last axis; times v.",
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
    """The words of the known mistake that gives the very same numbers, or None."""
    for words, wrong in mistakes.items():
        if isinstance(got, torch.Tensor) and got.shape == wrong.shape and torch.allclose(got.double(), wrong.double()):
            return words
    return None


def is_equal(got, right, axes, what, mistakes, tolerance=0.0):
    try:
        return compare(got, right, tolerance, axes, what)
    except Wrong as wrong:
        raise Wrong(wrong.seen, looks_like(got, mistakes) or wrong.looks_like) from None


def split_is(answer, x, H):
    is_equal(answer(x, H), split_right(x, H), HEADS, "the heads", split_mistakes(x, H))


@split_heads.check("x [2, 5, 12] in 3 heads has shape [2, 3, 5, 4]")
def _(answer):
    got = answer(numbered(2, 5, 12), 3)
    if isinstance(got, torch.Tensor) and got.shape == (2, 5, 3, 4):
        raise Wrong(
            f"the heads have shape {list(got.shape)}; expected [B, H, T, D] = [2, 3, 5, 4]",
            "[B, T, H, D]: cut, but the axis of the heads is not moved in front of the tokens",
        )
    tensor_like(got, split_right(numbered(2, 5, 12), 3), HEADS, "the heads")


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
    is_equal(answer(y), right, AXES, "the merged rows", merge_mistakes(y))


@merge_heads.check("y [2, 3, 5, 4] gives [2, 5, 12]")
def _(answer):
    got = answer(numbered(2, 3, 5, 4))
    if isinstance(got, torch.Tensor) and got.shape == (2, 5, 3, 4):
        raise Wrong(
            f"the merged rows have shape {list(got.shape)}; expected [B, T, C] = [2, 5, 12]",
            "heads that are moved but not merged: the last two axes must become one before the output projection",
        )
    tensor_like(got, numbered(2, 5, 12), AXES, "the merged rows")


@merge_heads.check("row t holds the heads of token t, side by side")
def _(answer):
    merge_is(answer, numbered(2, 3, 5, 4))


@merge_heads.check("it undoes the split of another x")
def _(answer):
    x = torch.randn(3, 4, 10, generator=torch.Generator().manual_seed(2))
    is_equal(answer(split_right(x, 5)), x, AXES, "the merged rows", merge_mistakes(split_right(x, 5)))


@merge_heads.check("as many tokens as heads; one token; one head")
def _(answer):
    for shape in ((2, 3, 3, 4), (2, 3, 1, 4), (2, 1, 5, 4)):
        merge_is(answer, numbered(*shape))


@merge_heads.check("y is unchanged")
def _(answer):
    inputs_kept(own(answer), ("y",), numbered(2, 3, 5, 4))


def some_qkv(B, H, T, S, D, dtype=torch.float64):
    """q `[B, H, T, D]`, k and v `[B, H, S, D]`."""
    g = torch.Generator().manual_seed(100 * T + 10 * S + D)
    return [torch.randn(B, H, n, D, generator=g, dtype=torch.float64).to(dtype) for n in (T, S, S)]


def attend_mistakes(q, k, v, mask):
    """Known mistakes -> the y that each of them gives (numbers that are no numbers are left as they are)."""
    D, H = q.shape[-1], q.shape[1]
    dots = q @ k.mT
    mask = torch.ones(dots.shape[-2:], dtype=torch.bool) if mask is None else mask
    hidden = (dots / D**0.5).masked_fill(~mask, -torch.inf)
    additive = torch.zeros_like(dots).masked_fill(~mask, -torch.inf)
    return {
        "scores that are not scaled: divide by the square root of the head's size": dots.masked_fill(~mask, -torch.inf).softmax(-1) @ v,
        "scores divided by the square root of d_model; a head has D channels, and q . k is a sum of D terms": (dots / (H * D) ** 0.5).masked_fill(~mask, -torch.inf).softmax(-1) @ v,
        "scores divided by D, not by its square root": (dots / D).masked_fill(~mask, -torch.inf).softmax(-1) @ v,
        "scores multiplied by the square root of D; they must be divided": (dots * D**0.5).masked_fill(~mask, -torch.inf).softmax(-1) @ v,
        "a softmax over the queries; it must run over the keys, the last axis": hidden.softmax(-2).nan_to_num(0) @ v,
        "a softmax over the heads; it must run over the keys, the last axis": hidden.softmax(1).nan_to_num(0) @ v,
        "a mask of the other convention: True must mean *may attend*": (dots / D**0.5).masked_fill(mask, -torch.inf).softmax(-1).nan_to_num(0) @ v,
        "an additive mask compared with 0: what may be seen is filled": (dots / D**0.5).masked_fill(additive == 0, -1e9).softmax(-1) @ v,
        "a mask applied after the softmax: the rows no longer sum to 1, and hidden keys count in the sum": (dots / D**0.5).softmax(-1) * mask @ v,
        "hidden scores set to 0: the exponential of 0 is 1, so they still get weight": (dots / D**0.5).masked_fill(~mask, 0).softmax(-1) @ v,
        "True and False added to the scores": (dots / D**0.5 + mask).softmax(-1) @ v,
        "the mask is not used": (dots / D**0.5).softmax(-1) @ v,
        "keys in the place of the values": hidden.softmax(-1) @ k,
        "no softmax: the scores themselves weigh the values": (dots / D**0.5).masked_fill(~mask, 0) @ v,
    }  # fmt: skip


def attend_is(answer, q, k, v, mask=None, tolerance=ROUNDING):
    got = answer(q, k, v) if mask is None else answer(q, k, v, mask)
    right = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return within(is_equal(got, right, HEADS, "y", attend_mistakes(q, k, v, mask), tolerance), tolerance)


@attend.check("no mask, 5 queries and 5 keys: equals scaled_dot_product_attention")
def _(answer):
    return attend_is(answer, *some_qkv(2, 3, 5, 5, 4))


@attend.check("a causal mask [5, 5]")
def _(answer):
    return attend_is(answer, *some_qkv(2, 3, 5, 5, 4), causal_mask(5, 5))


@attend.check("3 queries and 7 keys, mask [3, 7], heads of 6 channels")
def _(answer):
    return attend_is(answer, *some_qkv(2, 4, 3, 7, 6), causal_mask(3, 7))


@attend.check("a mask for each row of the batch, [B, 1, T, S]")
def _(answer):
    mask = torch.stack([causal_mask(4, 6), causal_mask(4, 6).flip(-1)])[:, None]
    return attend_is(answer, *some_qkv(2, 3, 4, 6, 5), mask)


@attend.check("float32 stays float32")
def _(answer):
    return attend_is(answer, *some_qkv(2, 3, 5, 5, 4, torch.float32), causal_mask(5, 5), tolerance=1e-5)


@attend.check("q, k, v and the mask are unchanged")
def _(answer):
    inputs_kept(own(answer), ("q", "k", "v", "mask"), *some_qkv(2, 3, 5, 5, 4), causal_mask(5, 5))
