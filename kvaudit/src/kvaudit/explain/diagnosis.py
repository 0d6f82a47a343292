"""Diagnosis by witness: which bug, replayed by an independent decoder, reproduces these logits.

A hypothesis is accepted when its witness gives the decoder's logits in *every* script that was run, right ones and
wrong ones, to within the measured tolerance. What is equal in all of them is reported together, likeliest first.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ..witness.grammar import points
from ..witness.hypotheses import Hypothesis, catalogue
from .doubles import cover, one_by_one, pairs
from .replay import Case, Match

BUDGET = 4000  # pairs that are tried at most


def diagnose(case: Case, capacities: Sequence[int] = (), budget: int = BUDGET) -> list[Match]:
    """Ranked matches. Empty: nothing known reproduces what was seen.

    First one known bug for everything; then one point of the grammar, the shortest said first; then one bug per failing
    script (several that show in different calls); then pairs (several in one call), at most `budget` of them.
    """
    known = catalogue(case.reference, capacities)
    tried = {h: case.explain(h) for h in known}
    found = [match for match, _ in tried.values() if match] or from_the_grammar(case, capacities)
    if not found:
        found = several(case, known, sorted(known, key=lambda h: -tried[h][1]), budget)
    return sorted(found, key=lambda m: not m.same_rows)


def from_the_grammar(case: Case, capacities: Sequence[int]) -> list[Match]:
    """The shortest points that reproduce everything: of one length, all."""
    possible = [h for h in points(case.reference, capacities) if case.possible(h)]
    for _, alike in groupby(possible, key=lambda h: h.cost):
        found = [match for match, _ in map(case.explain, case.clock.still(alike)) if match]
        if found:
            return found
    return []


def several(case: Case, known: Sequence[Hypothesis], promise: Sequence[Hypothesis], budget: int) -> list[Match]:
    """Bugs that each explain some of the failing scripts, then two at once in those that are left."""
    parts = one_by_one(case, known)
    explained = {name for match in parts for name in match.where}
    rest = [script for script in case.failing if script.name not in explained]
    first = [match.hypothesis for match in parts[:6]]  # one half of a pair, most likely, where they explain a part
    tries = budget // 5 if first else budget
    doubles = pairs(case, first, promise, rest[0], tries) if rest else []
    found = [match for match, _ in (case.explain(h) for h in doubles) if match]
    return found or cover(one_by_one(case, doubles) + parts, case.failing)
