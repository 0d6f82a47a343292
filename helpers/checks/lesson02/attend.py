"""Lesson 02: scaled dot product attention, for all heads at once."""

import torch
from torch.nn import functional as F

from ...cache import causal_mask
from ..compare import inputs_kept, own, within
from ..registry import Exercise
from .heads import HEADS, is_equal

ROUNDING = 1e-12  # float64: what a right answer may differ by

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


def some_qkv(B, H, T, S, D, dtype=torch.float64):
    """q `[B, H, T, D]`, k and v `[B, H, S, D]`."""
    g = torch.Generator().manual_seed(100 * T + 10 * S + D)
    return [torch.randn(B, H, n, D, generator=g, dtype=torch.float64).to(dtype) for n in (T, S, S)]


def attend_mistakes(q, k, v, mask):
    """Known mistakes -> the y that each of them gives (NaN in rows in which it hides everything)."""
    D, H = q.shape[-1], q.shape[1]
    dots = q @ k.mT
    mask = torch.ones(dots.shape[-2:], dtype=torch.bool) if mask is None else mask
    hidden = (dots / D**0.5).masked_fill(~mask, -torch.inf)
    return {
        "scores that are not scaled: divide by the square root of the head's size": dots.masked_fill(~mask, -torch.inf).softmax(-1) @ v,
        "scores divided by the square root of d_model; a head has D channels, and q . k is a sum of D terms": (dots / (H * D) ** 0.5).masked_fill(~mask, -torch.inf).softmax(-1) @ v,
        "scores divided by D, not by its square root": (dots / D).masked_fill(~mask, -torch.inf).softmax(-1) @ v,
        "scores multiplied by the square root of D; they must be divided": (dots * D**0.5).masked_fill(~mask, -torch.inf).softmax(-1) @ v,
        "a softmax over the queries; it must run over the keys, the last axis": hidden.softmax(-2).nan_to_num(0) @ v,
        "a softmax over the heads; it must run over the keys, the last axis": hidden.softmax(1).nan_to_num(0) @ v,
        "a mask turned round: what may be seen is filled; True must mean *may attend*": (dots / D**0.5).masked_fill(mask, -torch.inf).softmax(-1) @ v,
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
