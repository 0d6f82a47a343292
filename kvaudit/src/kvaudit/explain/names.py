"""Diagnosis by witness: which known bug, replayed by an independent decoder, reproduces these logits.

A hypothesis is accepted when its witness gives the decoder's logits in *every* script that was run, right ones and
wrong ones, to within the measured tolerance. What is equal in all of them is reported together, likeliest first.
"""

import math
from dataclasses import dataclass
from itertools import chain, islice, product

from ..plan.scripts import cost
from ..witness.hypotheses import Hypothesis, catalogue
from ..witness.replays import replays


@dataclass(frozen=True)
class Match:
    """A hypothesis that reproduces the logits: `residual` is the largest difference left, `where` the scripts it explains."""

    hypothesis: Hypothesis
    residual: float
    where: tuple
    same_rows: bool  # does it also hold as many rows per layer as the decoder does?


def diagnose(reference, scripts, traces, tolerance, capacities=(), budget=4000):
    """Ranked `Match`es for the traces of `scripts` (dicts by script name). Empty: nothing known reproduces them.

    First one hypothesis for everything, then one per failing script (several bugs that show in different calls), then
    pairs (several bugs in one call), at most `budget` of them.
    """
    known = catalogue(reference, capacities)
    failing = sorted((s for s in scripts if traces[s.name].differs), key=cost)
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


def explain(reference, hypothesis, scripts, traces, tolerance):
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


def replay(script, reference, hypothesis, trace, tolerance):
    """(largest difference, steps within the tolerance, equal row counts) of a witness against one recorded trace."""
    worst, steps = 0.0, 0

    def watch(step, logits):
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


def one_by_one(reference, hypotheses, failing, traces, tolerance):
    """Matches of hypotheses that explain some of the failing scripts, each script by itself; most scripts first."""
    found = {}
    for script in failing:
        for h in hypotheses:
            match, _ = explain(reference, h, [script], traces, tolerance)
            if match:
                found[h] = merge(found[h], match) if h in found else match
    return sorted(found.values(), key=lambda m: -len(m.where))


def cover(matches, failing):
    """The fewest matches for the failing scripts: those that add a script, or tie; none unless they cover half of them."""
    covered, kept = set(), []
    for match in sorted(matches, key=lambda m: -len(m.where)):
        if not set(match.where) <= covered or any(set(match.where) == set(k.where) for k in kept):
            covered |= set(match.where)
            kept.append(match)
    return kept if 2 * len(covered) >= len(failing) else []


def merge(a, b):
    return Match(a.hypothesis, max(a.residual, b.residual), a.where + b.where, a.same_rows and b.same_rows)


def pairs(reference, first, promise, script, traces, tolerance, tries, enough=12):
    """Double faults: pairs with different rules that reproduce a script which no hypothesis explains alone.

    Tried in this order: those of `first` with each other hypothesis, then all in their order of `promise`.
    """
    bugs = [h for h in promise if h.family != "rounding"]
    makes = chain(product(first, bugs), ((a, b) for i, b in enumerate(bugs) for a in bugs[:i]))
    makes = (a + b for a, b in makes if not set(a.rules) & set(b.rules))
    found = []
    for both in islice(makes, tries):
        if explain(reference, both, [script], traces, tolerance)[0]:
            found.append(both)
        if len(found) >= enough:
            break
    return found
