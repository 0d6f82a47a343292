"""Several bugs at once: one for each failing script, or two in one call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, product

from ..plan import Script
from ..witness.hypotheses import Hypothesis
from .replay import Case, Match


def one_by_one(case: Case, hypotheses: Iterable[Hypothesis]) -> list[Match]:
    """Matches of hypotheses that explain some of the failing scripts, each script by itself; most scripts first."""
    found: dict[Hypothesis, Match] = {}
    for script in case.failing:
        for h in case.clock.still(hypotheses):
            match, _ = case.explain(h, [script])
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
    case: Case, first: Iterable[Hypothesis], promise: Sequence[Hypothesis], script: Script, tries: int, enough: int = 12
) -> list[Hypothesis]:
    """Double faults: pairs with different rules that reproduce a script which no hypothesis explains alone.

    Tried in this order: those of `first` with each other hypothesis, then all in their order of `promise`.
    """
    found: list[Hypothesis] = []
    for tried, both in enumerate(case.clock.still(together(first, promise))):
        if tried >= tries or len(found) >= enough:
            break
        if case.explain(both, [script])[0]:
            found.append(both)
    return found


def together(first: Iterable[Hypothesis], promise: Sequence[Hypothesis]) -> Iterator[Hypothesis]:
    bugs = [h for h in promise if h.family != "rounding"]
    for a, b in chain(product(first, bugs), ((a, b) for i, b in enumerate(bugs) for a in bugs[:i])):
        if not set(a.rules) & set(b.rules):
            yield a + b
