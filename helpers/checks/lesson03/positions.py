"""Lesson 03: sinusoids at given positions, and the positions of a padded batch in any call."""

import math

import torch

from ...positions import sinusoids
from ..compare import compare, inputs_kept, own
from ..registry import Exercise, Wrong
from .feed_forward import judged

ROUNDING = 1e-3  # float32 angles at position 5,000 are off by 3e-4

sinusoids_at = Exercise(
    name="sinusoids_at",
    lesson="03",
    call="sinusoids_at(positions [T] or [B, T], d_model) -> [..., d_model]",
    minutes=10,
    difficulty="medium",
    hints=(
        "Which axis does the result have that positions has not? Make positions [..., 1], so that the rates can run along it.",
        "Channels come in pairs: 2i is a sine, 2i + 1 the cosine of the same angle. How many rates are there?",
        "The exponent is 2i / d_model, for i from 0 to d_model / 2 - 1. Write into channels 0::2 and 1::2.",
    ),
)


def waves(positions, C, exponent=None, base=10_000.0, order="sc"):
    """Sines and cosines `[..., C]` with one decision made differently; `exponent` `[C/2]` of the base."""
    i = torch.arange(C // 2, dtype=torch.float64)
    angle = positions[..., None] / base ** (2 * i / C if exponent is None else exponent)  # [..., C/2]
    pair = {"s": angle.sin(), "c": angle.cos()}
    return torch.stack([pair[which] for which in order], dim=-1).flatten(-2)


def sinusoid_mistakes(positions, C):
    i, T = torch.arange(C // 2, dtype=torch.float64), positions.shape[-1]
    right = waves(positions, C)
    return {
        "rows 0 to T - 1, whatever positions were asked for: the offset is lost": waves(
            torch.arange(T).expand(positions.shape), C
        ),
        "one position too far": waves(positions + 1, C),
        "sine and cosine exchanged: the even channels are the sines": waves(positions, C, order="cs"),
        "all sines first, then all cosines: the two alternate": torch.cat([right[..., 0::2], right[..., 1::2]], -1),
        "an exponent of i / d_model; it is 2i / d_model": waves(positions, C, i / C),
        "an exponent of 4i / d_model: arange in steps of 2 counts 2i already": waves(positions, C, 4 * i / C),
        "an exponent that reaches 1 in the last pair; it is 2i / d_model": waves(positions, C, i / (C // 2 - 1)),
        "rates that grow with i: positions are divided by 10,000 to the power, not multiplied": waves(
            positions, C, -2 * i / C
        ),
        "one rate for all channels": waves(positions, C, 0 * i),
        "e in the place of 10,000": waves(positions, C, base=math.e),
    }


def sinusoids_are(got, positions, C):
    right = sinusoids(int(positions.max()) + 1, C)[positions]
    if isinstance(got, torch.Tensor) and got.is_floating_point():
        got = got.double()  # any precision will do
    axes = "T C" if positions.dim() == 1 else "B T C"
    return judged(
        got, right, lambda: sinusoid_mistakes(positions, C), axes, f"sinusoids_at(…, {C})", tolerance=ROUNDING
    )


for when, positions, C in (
    ("positions 0 to 4, 6 channels", torch.arange(5), 6),
    ("positions 7, 8, 9: a chunk after 7 tokens", torch.arange(7, 10), 6),
    ("one position, 5,000: a formula has no end", torch.tensor([5000]), 8),
    ("a batch of rows, each with positions of its own", torch.tensor([[3, 4, 5], [0, 0, 1]]), 8),
):

    @sinusoids_at.check(when)
    def _(answer, positions=positions, C=C):
        return sinusoids_are(answer(positions, C), positions, C)


position_ids = Exercise(
    name="position_ids",
    lesson="03",
    call="position_ids(mask [B, S], n_past=0) -> int64 [B, S - n_past], True in mask = a real token",
    minutes=15,
    difficulty="hard",
    hints=(
        "A token's position is the number of real tokens before it in its row. Which torch function counts as it goes along?",
        "Count over all S columns, the cached ones too, and cut the new ones out afterwards. Does the count include the token itself?",
        "cumsum over the last axis, minus 1; padding is put at 0 by hand; then the columns from n_past on.",
    ),
)


def counted(mask, n_past):
    """The right positions: real tokens before each, padding at 0."""
    before = torch.stack([mask[:, :column].sum(-1) for column in range(n_past, mask.shape[1])], dim=1)
    return before.masked_fill(~mask[:, n_past:], 0)


def position_mistakes(mask, n_past, got):
    """Known mistakes -> the positions that each of them gives; `got` are the learner's."""
    new, S = mask[:, n_past:], mask.shape[1]
    count, right = mask.long().cumsum(-1)[:, n_past:], counted(mask, n_past)
    front = (mask.cumsum(-1) == 0).sum(-1, keepdim=True)  # padded columns before the first real token
    columns = torch.arange(n_past, S).expand(new.shape)
    restarted = (new.long().cumsum(-1) - 1).clamp(min=0)
    return {
        "only the padding is wrong: put it at 0": torch.where(new, right, got),
        "only the padding in front taken off: a gap further on is counted": (columns - front).masked_fill(~new, 0),
        "padding that is counted: columns in the place of positions": columns,
        "padding that is counted, but itself at 0": columns.masked_fill(~new, 0),
        "a restart: the count begins at the first new column, the cached ones are not in it": restarted,
        "a restart at 0 in every call": torch.arange(new.shape[1]).expand(new.shape),
        "one too far: a token's own column is counted": count.masked_fill(~new, 0),
        "one too far: a token's own column is counted; and padding keeps the count": count,
        "the wrong way round: True in the mask is a real token": counted(~mask, n_past),
        "the length of the row: every new token gets the same position": (mask.sum(-1, keepdim=True) - 1).expand(
            new.shape
        ),
        "clamped to the last row of a table: tokens that share a position hide that the block is full": right.clamp(
            max=511
        ),
    }


def positions_are(answer, mask, n_past):
    got, right = answer(mask.clone(), n_past), counted(mask, n_past)
    if isinstance(got, torch.Tensor) and got.shape == mask.shape != right.shape:
        raise Wrong(
            f"positions of all {mask.shape[1]} columns; expected those of the {right.shape[1]} new ones, [B, T] = "
            f"{list(right.shape)}",
            "the columns of the cached tokens are not cut off",
        )
    try:
        compare(got, right, 0, "B T", "the positions")
    except Wrong as wrong:
        fits = isinstance(got, torch.Tensor) and got.shape == right.shape and got.dtype == right.dtype
        known = position_mistakes(mask, n_past, got).items() if fits else ()
        looks = next((words for words, positions in known if torch.equal(got, positions)), wrong.looks_like)
        raise Wrong(wrong.seen + rows(mask, n_past, got, right, fits), looks) from None


def rows(mask, n_past, got, right, fits):
    """The first row that differs, whole, where it is short enough to read."""
    if not fits or mask.shape[1] > 10:
        return ""
    row = int((got != right).any(-1).nonzero()[0])
    return (
        f"; row {row} has the mask {mask[row].int().tolist()}, {n_past} columns cached: got {got[row].tolist()}, "
        f"expected {right[row].tolist()}"
    )


def real(*rows):
    return torch.tensor(rows).bool()


LEFT = real([1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1], [0, 1, 1, 1, 1, 1])
BOTH = torch.cat([LEFT, real([1, 1, 1, 1, 0, 0])])
SCENARIOS = {
    "a prompt without padding": (real([1] * 5, [1] * 5), 0),
    "one new token after 4, no padding": (real([1] * 5, [1] * 5), 4),
    "a padded prompt: on the left, in its last row on the right": (BOTH, 0),
    "one new token after a left-padded prompt: each row has its own position": (LEFT, 5),
    "a chunk of 2 new tokens after a left-padded prompt": (LEFT, 4),
    "a gap: a prompt padded on the right, then 2 new tokens": (real([1, 1, 1, 1, 1, 1], [1, 1, 0, 0, 1, 1]), 4),
    "600 tokens: counting does not stop at some table's end": (torch.ones(2, 600, dtype=torch.bool), 599),
}

for when, (mask, n_past) in SCENARIOS.items():

    @position_ids.check(when)
    def _(answer, mask=mask, n_past=n_past):
        positions_are(answer, mask, n_past)


@position_ids.check("the mask is unchanged")
def _(answer):
    inputs_kept(lambda mask: own(answer)(mask, 4), ("mask",), LEFT)
