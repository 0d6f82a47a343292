"""Diagnosis by witness: which known bug, replayed by an independent decoder, reproduces these logits.

A hypothesis is accepted when its witness gives the decoder's logits in *every* script that was run, right ones and
wrong ones, to within the measured tolerance. What is equal in all of them is reported together, likeliest first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, product

from torch import Tensor

from ..judge import Result
from ..plan import Script
from ..subject import Uncached
from ..witness.hypotheses import Hypothesis, catalogue
from ..witness.replays import replays


@dataclass(frozen=True)
class Match:
    """A hypothesis that reproduces the logits: `residual` is the largest difference left, `where` the scripts it explains."""

    hypothesis: Hypothesis
    residual: float
    where: tuple[str, ...]
    same_rows: bool  # does it also hold as many rows per layer as the decoder does?


def diagnose(
    reference: Uncached,
    scripts: Sequence[Script],
    traces: Mapping[str, Result],
    tolerance: float,
    capacities: Sequence[int] = (),
    budget: int = 4000,
) -> list[Match]:
    """Ranked `Match`es for the traces of `scripts` (results by script name). Empty: nothing known reproduces them.

    First one hypothesis for everything, then one per failing script (several bugs that show in different calls), then
    pairs (several bugs in one call), at most `budget` of them.
    """
    known = catalogue(reference, capacities)
    failing = sorted((s for s in scripts if traces[s.name].differs), key=lambda s: s.cost)
    order = failing + [s for s in scripts if not traces[s.name].differs]
    tried = {h: explain(reference, h, order, traces, tolerance) for h in known}
    found = [match for match, _ in tried.values() if match]
    if not found:
        parts = one_by_one(reference, known, failing, traces, tolerance)
        explained = {name for match in parts for name in match.where}
        rest = [script for script in failing if script.name not in explained]
        first = [match.hypothesis for match in parts[:6]]  # one half of a pair, most likely, where they explain a part
        promise = sorted(known, key=lambda h: -tried[h][1])
        tries = budget // 5 if first else budget
        doubles = pairs(reference, first, promise, rest[0], traces, tolerance, tries) if rest else []
        found = [match for match, _ in (explain(reference, h, order, traces, tolerance) for h in doubles) if match]
        found = found or cover(one_by_one(reference, doubles, failing, traces, tolerance) + parts, failing)
    return sorted(found, key=lambda m: not m.same_rows)


def explain(
    reference: Uncached,
    hypothesis: Hypothesis,
    scripts: Iterable[Script],
    traces: Mapping[str, Result],
    tolerance: float,
) -> tuple[Match | None, int]:
    """(Match or None, number of steps reproduced) of one hypothesis over the scripts, stopping at the first mismatch."""
    residual, steps, same_rows = 0.0, 0, True
    for script in scripts:
        worst, n, rows = replay(script, reference, hypothesis, traces[script.name], tolerance)
        residual, steps = max(residual, worst), steps + n
        if worst > tolerance:
            return None, steps
        same_rows = same_rows and rows
    where = tuple(s.name for s in scripts if traces[s.name].differs)
    return Match(hypothesis, residual, where, same_rows), steps


def replay(
    script: Script, reference: Uncached, hypothesis: Hypothesis, trace: Result, tolerance: float
) -> tuple[float, int, bool]:
    """(largest difference, steps within the tolerance, equal row counts) of a witness against one recorded trace."""
    worst, steps = 0.0, 0

    def watch(step: int, logits: Tensor) -> bool:
        nonlocal worst, steps
        if step >= len(trace.logits):
            return True
        worst = max(worst, float((logits.double() - trace.logits[step].double()).abs().max()))
        steps += worst <= tolerance
        return worst > tolerance

    held = replays(reference).run(script, hypothesis.rules, watch)
    if worst <= tolerance and steps < len(trace.logits):
        worst = math.inf  # the witness could not go on where the decoder did
    return worst, steps, all(a == b for a, b in zip(held, trace.rows) if b is not None)


def one_by_one(
    reference: Uncached,
    hypotheses: Iterable[Hypothesis],
    failing: Iterable[Script],
    traces: Mapping[str, Result],
    tolerance: float,
) -> list[Match]:
    """Matches of hypotheses that explain some of the failing scripts, each script by itself; most scripts first."""
    found: dict[Hypothesis, Match] = {}
    for script in failing:
        for h in hypotheses:
            match, _ = explain(reference, h, [script], traces, tolerance)
            if match:
                found[h] = merge(found[h], match) if h in found else match
    return sorted(found.values(), key=lambda m: -len(m.where))


def cover(matches: Iterable[Match], failing: Sequence[Script]) -> list[Match]:
    """The fewest matches for the failing scripts: those that add a script, or tie; none unless they cover half of them."""
    covered: set[str] = set()
    kept: list[Match] = []
    for match in sorted(matches, key=lambda m: -len(m.where)):
        if not set(match.where) <= covered or any(set(match.where) == set(k.where) for k in kept):
            covered |= set(match.where)
            kept.append(match)
    return kept if 2 * len(covered) >= len(failing) else []


def merge(a: Match, b: Match) -> Match:
    return Match(a.hypothesis, max(a.residual, b.residual), a.where + b.where, a.same_rows and b.same_rows)


def pairs(
    reference: Uncached,
    first: Iterable[Hypothesis],
    promise: Sequence[Hypothesis],
    script: Script,
    traces: Mapping[str, Result],
    tolerance: float,
    tries: int,
    enough: int = 12,
) -> list[Hypothesis]:
    """Double faults: pairs with different rules that reproduce a script which no hypothesis explains alone.

    Tried in this order: those of `first` with each other hypothesis, then all in their order of `promise`.
    """
    bugs = [h for h in promise if h.family != "rounding"]
    two = chain(product(first, bugs), ((a, b) for i, b in enumerate(bugs) for a in bugs[:i]))
    makes = (a + b for a, b in two if not set(a.rules) & set(b.rules))
    found: list[Hypothesis] = []
    for both in islice(makes, tries):
        if explain(reference, both, [script], traces, tolerance)[0]:
            found.append(both)
        if len(found) >= enough:
            break
    return found
