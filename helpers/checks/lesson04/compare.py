"""Lesson 04: the learner's own comparison of two traces of logits, and a tolerance chosen before there is a cache."""

import math

import torch

from ..compare import inputs_kept, own, parts
from ..registry import Exercise, Wrong, kind

B, N, V = 3, 5, 7
NAMES = ("step", "row", "difference", "certified")

compare = Exercise(
    name="compare",
    lesson="04",
    call="compare(a, b) -> (step, row, difference, certified), traces of logits [B, n, V]",
    minutes=20,
    difficulty="hard",
    hints=(
        "First refuse what cannot be compared. Then one number for each step of each row: which axis goes?",
        "A comparison with a NaN is False both ways, so a maximum or a `>` may lose it: turn NaN into infinity first.",
        "If a moves by at most g, the lead of its best token over the second shrinks by at most 2g. The largest place: "
        "argmax over [n, B], not [B, n], so that steps come first.",
    ),
)


def trace():
    """Random logits `[B, n, V]`, multiples of 1/64: sums with them are exact. Token 2 leads by 8, at row 1 step 3 by 4."""
    draw = torch.randint(-64, 64, (B, N, V), generator=torch.Generator().manual_seed(4)).double() / 64
    draw[..., 5] = 2.0
    draw[..., 2] = 10.0
    draw[1, 3, 5] = 6.0
    return draw


def changed(value, *places, base=None):
    """A trace in which `value` is added at each place (row, step, token)."""
    out = (trace() if base is None else base).clone()
    for place in places:
        out[place] += value
    return out


def plain(got):
    """The four values with tensors of one number unpacked; raises `Wrong` for another form."""
    values = [x.item() if isinstance(x, torch.Tensor) and x.numel() == 1 else x for x in parts(got, NAMES)]
    kinds = (("step", int), ("row", int), ("difference", (int, float)), ("certified", bool))
    for (name, wanted), value in zip(kinds, values):
        if not isinstance(value, wanted) or (name != "certified" and isinstance(value, bool)):
            raise Wrong(f"{name} is {kind(value)}; expected {'a truth value' if name == 'certified' else 'a number'}")
    step, row, difference, certified = values
    return step, row, math.inf if difference > 1e300 else difference, certified  # what nan_to_num makes of infinity


def found(answer, a, b, right, when, looks=None):
    """Raise `Wrong` unless the answer to (a, b) is `right`. `looks` maps the name of a wrong part, or its value, to a mistake."""
    got, looks = plain(answer(a, b)), looks or {}
    wrong = [row for row in zip(NAMES, got, right) if row[1] != row[2]]
    if wrong:
        name, mine, expected = wrong[0]
        known = [looks[name, value] for name, value, _ in wrong if (name, value) in looks]
        raise Wrong(f"{when}: got {name} = {shown(mine)}, expected {shown(expected)}", *known[:1] or [looks.get(name)])


def shown(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@compare.check("a trace with itself: no difference, and certified")
def _(answer):
    looks = {"step": "no answer of its own for equal traces: step 0 and row 0 will do"}
    looks["certified"] = "a lead that must exceed something else than twice the difference: here 0"
    found(answer, trace(), trace(), (0, 0, 0.0, True), "a trace with itself", looks)


@compare.check("one logit differs: its step, its row, by how much")
def _(answer):
    exchanged = {
        ("step", 1): "step and row exchanged: axis 0 is the batch",
        ("difference", 0.0): "a sign left in, or a comparison of argmax",
    }
    exchanged["difference"] = (
        "a mean, a sum, or a comparison of probabilities: asked is the largest difference of a logit"
    )
    exchanged["step"] = exchanged["row"] = "a place in the flattened trace, or the token's axis taken for another"
    for value in (0.5, -0.5):
        found(answer, trace(), changed(value, (1, 3, 4)), (3, 1, 0.5, True), f"row 1 moves by {value} at step 3", exchanged)  # fmt: skip


@compare.check("several places differ: the largest; of equal ones the earliest step, then the lowest row")
def _(answer):
    first = {"step": "the first difference; asked is the largest"}
    growing = changed(1.5, (0, 4, 1), base=changed(0.5, (2, 1, 6)))
    found(answer, trace(), growing, (4, 0, 1.5, True), "0.5 at step 1, 1.5 at step 4", first)
    by_row = {("step", 3): "the order of memory, where all steps of row 0 stand before those of row 1"}
    equal = changed(0.5, (0, 3, 1), (2, 1, 6), (1, 1, 6))
    found(answer, trace(), equal, (1, 1, 0.5, True), "0.5 in row 0 at step 3, in rows 1 and 2 at step 1", by_row)


# The lead is 8 everywhere, 4 in row 1 at step 3: what is added at (row, step, token), (step, row, difference, certified)
CERTIFIED = (
    ({(1, 3, 0): 1.75}, (3, 1, 1.75, True), "a lead of 4, a difference of 1.75", "more than twice is enough"),
    ({(1, 3, 0): 2.5}, (3, 1, 2.5, False), "a lead of 4, a difference of 2.5",
     "the lead compared with the difference once: the best may fall and the second rise, each by that much"),
    ({(1, 3, 0): 2.0}, (3, 1, 2.0, False), "a lead of 4, a difference of 2",
     "`>=` where more is asked: at exactly twice the two may tie"),
    ({(0, 0, 0): 3.0}, (0, 0, 3.0, True), "a difference of 3 at a lead of 8, a lead of 4 elsewhere",
     "one lead and one difference for the whole trace; each step of each row has its own"),
    ({(0, 0, 0): 3.0, (1, 3, 0): 2.5}, (0, 0, 3.0, False), "a difference of 3 at a lead of 8, one of 2.5 at a lead of 4",
     "certified at the place of the largest difference only, or because the best token is the same"),
    ({(1, 3, 2): -1.5, (1, 3, 5): 1.5}, (3, 1, 1.5, True), "a leads by 4 and b by 1, a difference of 1.5",
     "the lead taken from b; asked is a's"),
)  # fmt: skip


@compare.check("certified: the best token leads by more than twice the difference, at each step of each row")
def _(answer):
    for added, right, when, looks in CERTIFIED:
        b = trace()
        for place, value in added.items():
            b[place] += value
        found(answer, trace(), b, right, when, {"certified": looks})


@compare.check("a NaN is an infinite difference, wherever it stands")
def _(answer):
    passes = "a NaN that passes or loses its place: no comparison with it is True, so turn it into infinity first"
    looks = dict.fromkeys(NAMES, passes)
    one, inf = changed(math.nan, (1, 3, 4)), math.inf
    for a, b, who in ((trace(), one, "b has"), (one, trace(), "a has"), (one, one, "both have")):
        found(answer, a, b, (3, 1, inf, False), f"{who} a NaN in row 1 at step 3", looks)
    found(
        answer,
        trace(),
        changed(9.0, (0, 1, 0), base=one),
        (3, 1, inf, False),
        "a NaN at step 3, a difference of 9 at step 1",
        looks,
    )
    found(answer, trace(), changed(-inf, (2, 0, 1)), (0, 2, inf, False), "b has -inf in row 2 at step 0", looks)


@compare.check("traces of another shape, or with nothing in them, raise ValueError")
def _(answer):
    broadcast = "tensors that broadcast: one row or step was compared with all of them"
    cases = [
        (trace()[:1], "a batch of 1 against 3", broadcast),
        (trace()[:, :4], "4 steps against 5", "a trace cut to the shorter one: what is missing was not compared"),
        (trace()[:, :1], "1 step against 5", broadcast),
        (trace()[:, :, :1], "a vocabulary of 1 against 7", broadcast),
        (None, "no step at all", "an empty comparison, which would pass anything"),
    ]
    for b, what, looks in cases:
        a, b = (trace()[:, :0], trace()[:, :0]) if b is None else (trace(), b)
        try:
            got = answer(a, b)
        except ValueError:
            continue
        except Exception as error:  # noqa: BLE001 (torch's own complaint is not the one asked for)
            raise Wrong(f"{what}: {type(error).__name__}; expected a ValueError") from None
        raise Wrong(f"{what}: no error, got {got if isinstance(got, tuple) else kind(got)}", looks)


@compare.check("half precision: neither the difference nor the lead is rounded")
def _(answer):
    a, b = trace().bfloat16(), trace().bfloat16()
    a[1, 2, 4], b[1, 2, 4] = 2**-7, -2.0  # 2.0078125 apart, which has one digit more than bfloat16 can hold
    looks = {
        "difference": "a difference computed in the traces' own dtype: convert to float64 first",
        "certified": "a lead computed in the traces' own dtype: convert to float64 first",
    }
    found(answer, a, b, (2, 1, 2.0078125, True), "bfloat16 traces, row 1 moves at step 2", looks)
    a[1, 2, 2], a[1, 2, 5], a[1, 2, 4] = 256.0, 2.5, 0.125  # a lead of 253.5, in bfloat16 254
    b[1, 2, 2], b[1, 2, 5], b[1, 2, 4] = 256.0, 2.5, 127.0  # twice the difference is 253.75
    found(answer, a, b, (2, 1, 126.875, False), "bfloat16 traces, a lead of 253.5", looks)
    found(answer, trace().float(), changed(0.5, (1, 3, 4)), (3, 1, 0.5, True), "a float32, b float64", looks)


@compare.check("the traces are unchanged")
def _(answer):
    inputs_kept(own(answer), ("a", "b"), changed(-math.inf, (1, 3, 4)), trace())
