"""Lesson 05: the cache as an object behind the model's four calls."""

import torch

from ...model import CAUSAL
from ..compare import compare, within
from ..registry import Exercise, Wrong, kind
from ..small import TOLERANCE, B, D, H, L, small_model, some_tokens

cache = Exercise(
    name="Cache",
    lesson="05",
    call="Cache(n_layers), with positions(T), update(k, v, layer), mask(T, S) and advance(T)",
    minutes=20,
    difficulty="hard",
    hints=(
        "One number says how many tokens were fed. Which of the four calls read it, and which one changes it?",
        "update runs once for each layer, advance once for each forward: count in advance, or the layers disagree.",
        "mask is asked after update: S counts the new rows already. Query i of the last T may see keys 0 to S - T + i.",
    ),
)


def some_rows(T, seed):
    return torch.randn(B, H, T, D, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def positions_are(made, T, first, when):
    got = made.positions(T)
    try:
        compare(got, torch.arange(first, first + T), 0, "T", f"positions({T}) {when}")
    except Wrong as wrong:
        start = int(got[0]) if isinstance(got, torch.Tensor) and got.shape == (T,) else None
        raise Wrong(wrong.seen, wrong.looks_like if start in (None, first) else moved(start, first)) from None


def moved(start, first):
    """What it looks like when positions begin at `start` instead of at `first`."""
    if start > first:
        return "tokens counted in update, which runs in every layer; advance counts them once"
    return "an advance that does not add T to what was there" if start else "positions that restart at 0 in each call"


@cache.check("positions go on where the last forward ended")
def _(answer):
    made = answer(L)
    positions_are(made, 6, 0, "of a new cache")
    made.update(some_rows(6, 1), some_rows(6, 2), 0)
    positions_are(made, 6, 0, "before advance (asked again, nothing has moved)")
    made.advance(6)
    positions_are(made, 1, 6, "after advance(6)")
    made.advance(1)
    positions_are(made, 5, 7, "after advance(6) and advance(1)")


@cache.check("two caches share nothing")
def _(answer):
    first, second = answer(L), answer(L)
    first.update(some_rows(6, 1), some_rows(6, 2), 0)
    first.advance(6)
    positions, rows = second.positions(5), second.update(some_rows(5, 3), some_rows(5, 4), 0)
    shared = "a length or rows kept in the class, where all caches share them"
    if isinstance(positions, torch.Tensor) and positions.numel() and int(positions.flatten()[0]) > 0:
        raise Wrong(
            f"a new cache begins at position {int(positions.flatten()[0])} after another one was filled", shared
        )
    if isinstance(rows, tuple) and isinstance(rows[0], torch.Tensor) and rows[0].dim() == 4 and rows[0].shape[2] > 5:
        raise Wrong(f"the first update of a new cache with 5 rows returned {rows[0].shape[2]}", shared)


@cache.check("update returns all rows of its layer")
def _(answer):
    made, kept = answer(L), {}
    for T in (6, 1, 5):
        for layer in range(L):
            k, v = some_rows(T, 10 * layer + T), some_rows(T, 10 * layer + T + 100)
            old = kept.get(layer)
            kept[layer] = (k, v) if old is None else tuple(torch.cat(pair, dim=2) for pair in zip(old, (k, v)))
            rows_are(made.update(k.clone(), v.clone(), layer), kept[layer], layer, T)
        made.advance(T)


def rows_are(got, right, layer, T):
    if not isinstance(got, (tuple, list)) or len(got) != 2:
        raise Wrong(f"update returned {kind(got)}; expected the pair (K, V) of all rows to attend over")
    for name, mine, expected in zip("KV", got, right):
        rows = mine.shape[2] if isinstance(mine, torch.Tensor) and mine.dim() == 4 else None
        looks = {
            expected.shape[2] - T: "the old rows are returned, without the new one",
            T: "only the new rows are returned",
        }
        if rows is not None and rows > expected.shape[2]:
            looks[rows] = "one list of rows for all layers, or an update that appends twice"
        try:
            compare(mine, expected, TOLERANCE, "B H S D", f"{name} of layer {layer} after an update with {T} rows")
        except Wrong as wrong:
            raise Wrong(wrong.seen, looks.get(rows) if rows != expected.shape[2] else None) from None


@cache.check("mask hides the future and nothing else")
def _(answer):
    made = answer(L)
    done = 0
    for T in (6, 1, 5):
        for layer in range(L):
            made.update(some_rows(T, 1), some_rows(T, 2), layer)
        mask_is(made.mask(T, done + T), T, done + T)
        made.advance(T)
        done += T


def mask_is(got, T, S):
    right = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    what = f"mask({T}, {S})"
    if (got is None and right.all()) or (isinstance(got, str) and got == CAUSAL and T == S):
        return
    if got is None or isinstance(got, str):
        raise Wrong(
            f"{what} is {got!r}; expected a boolean tensor [T, S] = [{T}, {S}], or None where nothing is hidden"
        )
    got = got.reshape(T, S) if isinstance(got, torch.Tensor) and got.numel() == T * S else got
    looks = None
    if isinstance(got, torch.Tensor) and got.dtype == torch.bool and got.shape == right.shape:
        known = {"the other convention: True must mean *may attend*": ~right}
        known["a triangle that starts at the top left, not shifted by the rows before"] = torch.ones_like(right).tril()
        looks = next((words for words, mask in known.items() if torch.equal(got, mask)), None)
    try:
        compare(got, right, 0, "T S", what)
    except Wrong as wrong:
        raise Wrong(wrong.seen, looks) from None


@cache.check("in the model: prefill, single steps and a chunk equal the oracle", points=2)
def _(answer):
    model, tokens = small_model(), some_tokens(14)
    right, made, worst = model(tokens), answer(L), 0.0
    for start, end in ((0, 6), (6, 7), (7, 8), (8, 13), (13, 14)):
        what = f"the logits of positions {start} to {end - 1}" if end - start > 1 else f"the logits of position {start}"
        worst = max(worst, compare(model(tokens[:, start:end], made), right[:, start:end], TOLERANCE, "B T V", what))
    return within(worst, TOLERANCE)
