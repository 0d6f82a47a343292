"""Lesson 01: a mask from positions, for batches with padding, windows, and keys in any order."""

import torch

from ...cache import causal_mask as triangle
from ..compare import compare, inputs_kept, own
from ..registry import Exercise, Wrong

mask_from = Exercise(
    name="mask_from",
    lesson="01",
    call="mask_from(q_pos [B, T], k_pos [B, S], k_valid [B, S], window=None) -> bool [B, 1, T, S], True = may attend",
    minutes=15,
    difficulty="hard",
    hints=(
        "Three conditions, each a tensor that broadcasts to [B, T, S]: not the future, not padding, not too old.",
        "q_pos[:, :, None] is [B, T, 1] and k_pos[:, None, :] is [B, 1, S]. Which axis does k_valid lack?",
        "A window of w means w visible keys, the token itself among them: the oldest of them stands w - 1 before the query.",
    ),
)


class Batch:
    """Positions `[B, T]` and `[B, S]`, which keys are real, and the window; `right(...)` is the mask they ask for."""

    def __init__(self, q_pos, k_pos, k_valid=None, window=None):
        self.q, self.k, self.window = torch.tensor(q_pos), torch.tensor(k_pos), window
        self.valid = torch.ones_like(self.k).bool() if k_valid is None else torch.tensor(k_valid).bool()

    def args(self):
        return (self.q, self.k, self.valid, *(() if self.window is None else (self.window,)))

    def right(self, low=0, reach=0, valid=True):
        """The mask with one decision made differently: `low` moves the diagonal, `reach` the window's far end."""
        age = self.q[:, :, None] - self.k[:, None, :]  # [B, T, S]: 0 is the token itself, below 0 is the future
        mask = age >= low
        if self.window is not None:
            mask &= age < self.window + reach
        return ((mask & self.valid[:, None, :]) if valid else mask)[:, None]  # [B, 1, T, S]

    def mistakes(self):
        age, valid = (self.q[:, :, None] - self.k[:, None, :])[:, None], self.valid[:, None, None, :]
        T, S, right = self.q.shape[1], self.k.shape[1], self.right()
        known = {
            "`<` for `<=`: a token does not see itself": self.right(low=1),
            "a diagonal one too high: a token sees its successor": self.right(low=-1),
            "padding that is visible: k_valid is not used": self.right(valid=False),
            "k_valid the wrong way round: it is True for real keys": self.with_valid(~self.valid).right(),
            "the other convention: True must mean *may attend*": ~right,
        }
        if self.window is not None:
            column = torch.arange(S - T, S)[:, None] - torch.arange(S)  # [T, S]: as age, if columns were positions
            recent = (age < self.window) & valid
            newest = (self.k.amax(-1)[:, None] - self.k < self.window)[:, None, None, :]  # [B, 1, 1, S]
            known |= {
                "columns compared in the place of positions": valid & (column >= 0) & (column < self.window),
                "a window one too short: it must show w keys, the token itself among them": self.right(reach=-1),
                "a window one too long: `<=` for `<`": self.right(reach=1),
                "a window that is not used": (age >= 0) & valid,
                "a window counted from the newest key: each query has its own": newest & (age >= 0) & valid,
                "the future told by columns, the window by positions; they decide both": triangle(T, S) & recent,
                "a window to both sides: the future is visible": (age.abs() < self.window) & valid,
                "a window in the place of the causal condition": recent,
            }
        return known | {
            "queries and keys exchanged in the comparison": (age <= 0) & valid,
            "a triangle by index that starts at the top left; the positions decide": valid & triangle(S, S)[:T],
            "a triangle by index; the positions decide, whatever order the keys are in": valid & triangle(T, S),
            "no causal condition: the future is visible": valid.expand_as(right),
        }

    def with_valid(self, valid):
        other = Batch(self.q.tolist(), self.k.tolist(), window=self.window)
        other.valid = valid
        return other


def mask_is(answer, batch):
    got, right = answer(*batch.args()), batch.right()
    if isinstance(got, torch.Tensor) and got.shape == right.shape[:1] + right.shape[2:]:
        seen = f"the mask has shape {list(got.shape)}; expected [B, 1, T, S] = {list(right.shape)}"
        raise Wrong(seen, "the axis for the heads is missing: scores are [B, H, T, S]")
    try:
        compare(got, right, 0, "B 1 T S", "the mask")
    except Wrong as wrong:
        same = isinstance(got, torch.Tensor) and got.dtype == torch.bool and got.shape == right.shape
        looks = (
            next((w for w, m in batch.mistakes().items() if torch.equal(got, m)), None) if same else wrong.looks_like
        )
        raise Wrong(wrong.seen, looks) from None


SCENARIOS = {
    "2 rows, 3 queries after 4 keys: the last rows of the triangle": Batch([[4, 5, 6]] * 2, [list(range(7))] * 2),
    "one decode step, each row at a position of its own": Batch(
        [[6], [4]], [list(range(7)), [0, 0, 0, 1, 2, 3, 4]], [[1] * 7, [0, 0, 1, 1, 1, 1, 1]]
    ),
    "left padding is hidden": Batch(
        [[2, 3, 4], [0, 1, 2]], [[0, 1, 2, 3, 4], [0, 0, 0, 1, 2]], [[1] * 5, [0, 0, 1, 1, 1]]
    ),
    "a window of 3 shows 3 keys": Batch([[3, 4, 5, 6]] * 2, [list(range(7))] * 2, window=3),
    "a window of 1 shows the token itself": Batch([[3, 4]] * 2, [list(range(5))] * 2, window=1),
    "a window counts positions, not columns: padding takes no place in it": Batch(
        [[3, 4], [1, 2]], [[0, 1, 2, 3, 4], [0, 0, 0, 1, 2]], [[1] * 5, [1, 0, 0, 1, 1]], window=2
    ),
    "keys in another order, as in a ring buffer": Batch([[7, 8]], [[8, 5, 6, 7]], window=3),
    "a row that sees no key stays all False": Batch(
        [[0, 0, 1], [0, 1, 2]], [[0, 0, 1], [0, 1, 2]], [[0, 0, 0], [1, 1, 1]]
    ),
}

for when, batch in SCENARIOS.items():

    @mask_from.check(when)
    def _(answer, batch=batch):
        mask_is(answer, batch)


@mask_from.check("the positions and k_valid are unchanged")
def _(answer):
    inputs_kept(own(answer), ("q_pos", "k_pos", "k_valid"), *SCENARIOS["left padding is hidden"].args())
