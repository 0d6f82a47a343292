"""Lesson 06: where two traces part, and which replay explains a trace. Traces are logits `[B, n, V]`, step 0 the prefill."""

import math

import torch

from ..compare import inputs_kept, own
from ..registry import Exercise, Wrong, kind

B, N, V = 3, 5, 7
TOLERANCE = 0.125  # exact in binary: a difference of just this size is one in every dtype

first_divergence = Exercise(
    name="first_divergence",
    lesson="06",
    call="first_divergence(a, b, tolerance) -> (step, row) or None",
    minutes=20,
    difficulty="medium",
    hints=(
        "Which axis comes first in 'first': that of the rows, or that of the steps?",
        "Ask what is equal, and negate it: `not (difference <= tolerance)` is True for a NaN, `difference > tolerance` is not.",
        "Compare the steps that both have, step by step, all rows of a step before the next; only then the lengths.",
    ),
)


def trace(dtype=torch.float64):
    """Random logits `[B, n, V]`, multiples of 1/64, so that sums with them are exact."""
    draw = torch.randint(-256, 256, (B, N, V), generator=torch.Generator().manual_seed(6))
    return (draw.double() / 64).to(dtype)


def changed(value, *places, base=None):
    """A trace in which `value` is added at each place (row, step, token)."""
    out = (trace() if base is None else base).clone()
    for place in places:
        out[place] += value
    return out


def parts_at(answer, a, b, right, when, looks=None):
    """Raise `Wrong` unless the answer to (a, b) is `right`. `looks` maps a wrong answer to the mistake that gives it."""
    got = plain(answer(a, b, TOLERANCE))
    if got == right and (right is None) == (got is None):
        return
    shown = got if got is None or isinstance(got, tuple) else kind(got)
    known = (looks or {}).get(got if isinstance(got, (tuple, type(None))) else "other")
    raise Wrong(f"{when}: got {shown}, expected {right if right is None else f'(step, row) = {right}'}", known)


def plain(got):
    """A pair of whole numbers, also if they come as tensors; anything else as it is (True is no step)."""
    if not isinstance(got, (tuple, list)) or len(got) != 2:
        return got
    numbers = [x.item() if isinstance(x, torch.Tensor) and x.numel() == 1 else x for x in got]
    good = all(isinstance(x, int) and not isinstance(x, bool) for x in numbers)
    return tuple(numbers) if good else got if isinstance(got, tuple) else tuple(got)


@first_divergence.check("equal traces do not part")
def _(answer):
    looks = {(0, 0): "no answer of its own for traces that are equal throughout"}
    parts_at(answer, trace(), trace(), None, "a trace with itself", looks)


@first_divergence.check("one place differs: its step, its row")
def _(answer):
    looks = {(1, 3): "row and step exchanged", None: "a sign left in (b is larger here), or a comparison of argmax"}
    looks["other"] = "something else than a pair: asked are the step and the row"
    parts_at(answer, trace(), changed(1.0, (1, 3, 4)), (3, 1), "row 1 differs at step 3", looks)
    parts_at(answer, trace(), changed(-1.0, (2, 0, 0)), (0, 2), "row 2 is lower at step 0", {None: "a sign left in"})


@first_divergence.check("several rows differ: the earliest step of any row, then the lowest row")
def _(answer):
    by_row = {(3, 0): "the first place in the order of memory, where all steps of row 0 stand before those of row 1"}
    two = changed(1.0, (0, 3, 1), (2, 1, 5), (1, 1, 6))
    parts_at(answer, trace(), two, (1, 1), "row 0 parts at step 3, rows 1 and 2 at step 1", by_row)
    growing = changed(9.0, (1, 4, 0), base=changed(0.5, (2, 2, 2)))
    looks = {(4, 1): "the largest difference; asked is the first"}
    parts_at(answer, trace(), growing, (2, 2), "a difference of 0.5 at step 2, one of 9 at step 4", looks)


@first_divergence.check("the tolerance: just as much is equal, more is not")
def _(answer):
    strict = {(2, 1): "`>=` where `>` is meant, or a tolerance of its own"}
    parts_at(answer, trace(), changed(TOLERANCE, (1, 2, 3)), None, f"a difference of exactly {TOLERANCE}", strict)
    own_idea = {None: "a tolerance that is relative, or another than the one given"}
    parts_at(answer, trace(), changed(TOLERANCE + 2**-20, (1, 2, 3)), (2, 1), "a difference just above it", own_idea)


@first_divergence.check("logits are compared, not the tokens that they choose")
def _(answer):
    a = changed(50.0, *((row, step, 0) for row in range(B) for step in range(N)))  # token 0 wins everywhere, in both
    parts_at(answer, a, changed(1.0, (0, 2, 6), base=a), (2, 0), "the same token is best at every step, token 6's logit differs",
             {None: "a comparison of argmax"})  # fmt: skip
    a, b = trace(), trace()
    a[1, 2, :2], b[1, 2, :2] = 9.0, 9.0
    a[1, 2, 0] += TOLERANCE / 2
    b[1, 2, 1] += TOLERANCE / 2
    parts_at(answer, a, b, None, "two tokens nearly tie, and rounding decides which is best",
             {(2, 1): "a comparison of argmax"})  # fmt: skip


@first_divergence.check("NaN differs from everything; equal infinities are equal")
def _(answer):
    silent = {None: "a comparison that a NaN passes: NaN > tolerance is False"}
    one = changed(math.nan, (1, 2, 3))
    parts_at(answer, trace(), one, (2, 1), "b has a NaN at step 2", silent)
    parts_at(answer, one, trace(), (2, 1), "a has a NaN at step 2", silent)
    parts_at(answer, one, one, (2, 1), "both have a NaN at the same place", silent)
    later = changed(1.0, (0, 3, 0), base=one)
    parts_at(answer, trace(), later, (2, 1), "a NaN at step 2, a number that differs at step 3", {(3, 0): silent[None]})
    hidden = trace()
    hidden[0, 1, 2] = -math.inf  # as a sampling filter leaves it
    looks = {(1, 0): "inf - inf is NaN: a token that both hide was taken for a difference"}
    parts_at(answer, hidden, hidden, None, "the same logit is -inf in both", looks)
    parts_at(answer, hidden, trace(), (1, 0), "a logit is -inf in one of them")


@first_divergence.check("a trace that ends early parts where it ends, unless it parted before")
def _(answer):
    short = trace()[:, :3]
    looks = {None: "the steps that only one of them has were left out of the comparison"}
    parts_at(answer, trace(), short, (3, 0), "b has 3 of a's 5 steps", looks)
    parts_at(answer, short, trace(), (3, 0), "a has 3 of b's 5 steps", looks)
    early = changed(1.0, (2, 1, 0))[:, :3]
    parts_at(
        answer, trace(), early, (1, 2), "b differs at step 1 and ends after 3", {(3, 0): "the length looked at first"}
    )


@first_divergence.check("another batch or vocabulary raises ValueError")
def _(answer):
    for b, what in ((trace()[:1], "a batch of 1 against 3"), (trace()[:, :, :1], "a vocabulary of 1 against 7")):
        try:
            got = answer(trace(), b, TOLERANCE)
        except ValueError:
            continue
        except Exception as error:  # noqa: BLE001 (torch's own complaint is not the one asked for)
            raise Wrong(f"{what}: {type(error).__name__}; expected a ValueError") from None
        raise Wrong(f"{what}: no error, got {got}", "tensors that broadcast: one row was compared with all")


@first_divergence.check("float32 against float64, and the traces are unchanged")
def _(answer):
    b = changed(1.0, (1, 3, 4)).float()
    parts_at(answer, trace(), b, (3, 1), "a float64, b float32")
    inputs_kept(lambda a, b: own(answer)(a, b, TOLERANCE), ("a", "b"), trace(), b)
