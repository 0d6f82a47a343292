"""Lesson 01: a softmax that hides keys, also where a row sees none."""

import torch

from ..compare import compare, inputs_kept, own, tensor_like, within
from ..registry import Exercise, Wrong

ROUNDING = 1e-12  # float64: what a right softmax may differ by

masked_softmax = Exercise(
    name="masked_softmax",
    lesson="01",
    call="masked_softmax(scores [..., T, S], mask) -> weights, zeros where the mask is False",
    minutes=10,
    difficulty="medium",
    hints=(
        "Hidden keys must be out before the exponential is summed. What score has an exponential of exactly zero?",
        "A softmax divides by the sum of its row. What is that sum if every key of the row is hidden, and what is 0 / 0?",
        "Fill with -inf, take the softmax over the keys, then put zeros where the mask is False (a NaN times 0 stays NaN).",
    ),
)


def some_scores(dtype=torch.float64):
    """Scores `[2, 3, 4, 6]` and a mask `[4, 6]` whose rows see 1, 3, 6 and 2 keys."""
    scores = torch.randn(2, 3, 4, 6, generator=torch.Generator().manual_seed(3), dtype=torch.float64) * 2
    mask = torch.tensor([[1, 0, 0, 0, 0, 0], [0, 1, 1, 1, 0, 0], [1] * 6, [0, 0, 0, 0, 1, 1]]).bool()
    return scores.to(dtype), mask


def right_weights(scores, mask):
    return scores.double().masked_fill(~mask, -torch.inf).softmax(-1).nan_to_num(0)


def softmax_mistakes(scores, mask):
    """Known mistakes -> the weights that each of them gives."""
    weights, lowest = scores.softmax(-1), scores.amin(-1, keepdim=True)
    hidden = scores.masked_fill(~mask, -torch.inf)
    return {
        "a mask of the other convention: the hidden keys get the weight": scores.masked_fill(mask, -torch.inf).softmax(-1).nan_to_num(0),
        "a softmax over all keys, masked afterwards: the rows no longer sum to 1": weights * mask,
        "hidden scores set to 0: the exponential of 0 is 1, so they still get weight": (scores * mask).softmax(-1),
        "a softmax over the queries; it must run over the keys, the last axis": hidden.softmax(-2).nan_to_num(0),
        "True and False added to the scores: the mask must hide, not add 1": (scores + mask).softmax(-1),
        "hidden scores set to the row's smallest: they still get weight": torch.where(mask, scores, lowest).softmax(-1),
        "no mask": weights,
    }  # fmt: skip


def weights_are(answer, scores, mask, tolerance=ROUNDING):
    """Compares in float64 (nothing is lost: the dtype is compared as it is); returns the detail of a pass."""
    got, right = answer(scores, mask), right_weights(scores, mask)
    try:
        tensor_like(got, right.to(scores.dtype), "B H T S", "the weights")
        return within(compare(got.double(), right, tolerance, "B H T S", "the weights"), tolerance)
    except Wrong as wrong:
        raise Wrong(wrong.seen, softmax_likeness(got, scores, mask) or wrong.looks_like) from None


def softmax_likeness(got, scores, mask):
    """The words of the known mistake that gives the very same weights (a NaN counts as 0), or None."""
    if isinstance(got, torch.Tensor) and got.shape == scores.shape:
        for words, weights in softmax_mistakes(scores.double(), mask).items():
            if torch.allclose(got.double().nan_to_num(0), weights, rtol=0, atol=1e-6):
                return words


@masked_softmax.check("hidden keys get 0, the others the softmax of theirs")
def _(answer):
    return weights_are(answer, *some_scores())


@masked_softmax.check("a mask for each row of the batch, [B, 1, T, S]")
def _(answer):
    scores, mask = some_scores()
    return weights_are(answer, scores, torch.stack([mask, mask.flip(-1)])[:, None])


@masked_softmax.check("scores of 1000, visible and hidden")
def _(answer):
    scores, mask = some_scores()
    scores[..., 0] += 1000
    scores[..., 4:] -= 1000
    try:
        return weights_are(answer, scores, mask)
    except Wrong as wrong:
        looks = "a hidden score that is not low enough: -inf is below every score"
        if "not finite" in wrong.seen:
            looks = (
                "an exponential that overflows, or a hidden 1000 beside which the visible weights round to 0: "
                "subtract the largest *visible* score of the row first, or hide before torch's softmax"
            )
        raise Wrong(wrong.seen, looks) from None


@masked_softmax.check("a row in which everything is hidden gives zeros")
def _(answer):
    scores, mask = some_scores()
    mask[1] = False
    got = answer(scores, mask)
    row = got[:, :, 1] if isinstance(got, torch.Tensor) and got.shape == scores.shape else None
    if row is not None and row.isnan().any():
        raise Wrong("the weights of row 1, which sees no key, are NaN; expected zeros", "0 / 0 in the softmax")
    if row is not None and torch.allclose(row, torch.full_like(row, 1 / 6)):
        seen = f"the weights of row 1, which sees no key, are {float(row[0, 0, 0]):.4g} each; expected zeros"
        raise Wrong(seen, "-1e9 for -inf: equal scores, however low, make a uniform softmax, that is the mean of V")
    return weights_are(answer, scores, mask)


@masked_softmax.check("float32 and float16 keep their dtype")
def _(answer):
    scores, mask = some_scores(torch.float32)
    weights_are(answer, scores, mask, 1e-6)
    return weights_are(answer, scores.half(), mask, 2e-3)


@masked_softmax.check("scores and mask are unchanged")
def _(answer):
    inputs_kept(own(answer), ("scores", "mask"), *some_scores())
