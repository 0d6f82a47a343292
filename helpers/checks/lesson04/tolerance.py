"""Lesson 04: a tolerance between what right computations and wrong ones differ by, or none."""

import math

import torch

from ..registry import Exercise, Wrong, kind

pick_tolerance = Exercise(
    name="pick_tolerance",
    lesson="04",
    call="pick_tolerance(nulls, faults, unit=2**-52) -> float or None",
    minutes=10,
    difficulty="medium",
    hints=(
        "Which of the nulls, and which of the faults, stands next to the gap between the two?",
        "The middle on a log scale is the square root of the product. What becomes of it where a null is exactly 0?",
        "low = the largest null, at least unit; high = the smallest fault. None where a list is empty, where either is "
        "not finite, or where high < 9 · low.",
    ),
)


def mistakes(nulls, faults, unit):
    """Known mistakes -> the tolerance that each of them gives."""
    low, high = max(nulls), min(faults)
    return {
        "no floor at `unit`: a null that happens to be 0 makes the tolerance 0, and any rounding fails it": math.sqrt(low * high),
        "the arithmetic mean: it lies at the faults' end, a factor of 2 from them": (max(low, unit) + high) / 2,
        "the smallest null; the largest must still pass": math.sqrt(max(min(nulls), unit) * high),
        "the largest fault; the smallest must still be caught": math.sqrt(max(low, unit) * max(faults)),
        "the nulls' side alone, with a factor from nowhere": 10 * max(low, unit),
        "the product without its square root": max(low, unit) * high,
        "the largest null itself: the next machine's rounding fails it": low,
        "the smallest fault itself: what is a little smaller passes": high,
    }  # fmt: skip


def picked(answer, cases, looks=None):
    """Raise `Wrong` unless each (nulls, faults, unit or None, right tolerance or None) gets its tolerance."""
    for nulls, faults, unit, right in cases:
        got = answer(list(nulls), list(faults), *([] if unit is None else [unit]))
        got = got.item() if isinstance(got, torch.Tensor) and got.numel() == 1 else got
        if is_right(got, right):
            continue
        where = f"nulls {nulls}, faults {faults}" + (f", unit {unit}" if unit is not None else "")
        number = isinstance(got, (int, float)) and not isinstance(got, bool)
        said = f"{got:.4g}" if number else "None" if got is None else kind(got)
        known = None
        if number and right is not None:
            known = next((w for w, t in mistakes(nulls, faults, unit or 2**-52).items() if is_right(got, t)), None)
        raise Wrong(f"{where}: got {said}, expected {'None' if right is None else f'{right:.4g}'}", known or looks)


def is_right(got, right):
    if right is None or got is None:
        return got is right
    number = isinstance(got, (int, float)) and not isinstance(got, bool)
    return number and math.isclose(got, right, rel_tol=1e-6)  # computed in float32 will do


@pick_tolerance.check("one null, one fault: the middle of the log scale")
def _(answer):
    picked(answer, [([1e-14], [0.01], None, 1e-8), ([1e-5], [10.0], None, 1e-2)])


@pick_tolerance.check("several: the largest null and the smallest fault, in any order")
def _(answer):
    picked(answer, [([4e-14, 1e-15], [9.0, 0.25, 30.0], None, 1e-7), ([1e-15, 4e-14, 2e-15], [0.25, 9.0], None, 1e-7)])


@pick_tolerance.check("a null of exactly 0 is not trusted: unit is the least that counts")
def _(answer):
    cases = [([0.0], [1.0], None, 2.0**-26), ([0.0, 0.0], [0.01, 7.0], 1e-12, 1e-7), ([1e-16], [0.01], 1e-12, 1e-7)]
    picked(answer, cases)
    picked(answer, [([1e-9], [0.1], 1e-12, 1e-5)], "a unit in the place of a null that is larger")


@pick_tolerance.check("faults no larger than the nulls: None")
def _(answer):
    overlap = "a tolerance where the two overlap: either right computations fail it or wrong ones pass"
    picked(answer, [([0.42], [0.125, 7.0], None, None), ([0.5], [0.5], None, None), ([0.0], [1e-17], None, None)], overlap)  # fmt: skip
    picked(answer, [([1e-14], [0.0, 3.0], None, None)], "a fault that moves nothing: no tolerance can see it")


@pick_tolerance.check("too close: a factor of 3 to either side, or None")
def _(answer):
    picked(answer, [([1.0], [9.0], None, 3.0)], "a gap of exactly 9 is enough: `<` and `<=` exchanged")
    picked(answer, [([1.0], [8.9], None, None), ([0.42], [0.48], None, None)], "a gap too narrow to stand in")


@pick_tolerance.check("NaN, infinity or nothing measured: None")
def _(answer):
    nan, inf = math.nan, math.inf
    silent = "a NaN that min and max pass or drop, as the order of the list will have it"
    picked(answer, [([nan, 1e-9], [1.0], None, None), ([1e-9, nan], [1.0], None, None), ([1e-9], [1.0, nan], None, None)], silent)  # fmt: skip
    picked(answer, [([inf], [1.0], None, None)], "right computations that differ by infinity")
    picked(answer, [([1e-9], [inf], None, None)], "an infinite tolerance, which nothing exceeds")
    picked(answer, [([], [1.0], None, None), ([1e-9], [], None, None)], "one side was never measured")
    picked(answer, [([1e-9], [inf, 10.0], None, 1e-4)], "one infinite fault hides the others, which can be caught")
