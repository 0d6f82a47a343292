"""Suspects that fit equally well, and the call that would tell them apart; bugs that would break off where a decoder did."""

from __future__ import annotations

from torch import Tensor

from ..plan import Script
from ..subject import Uncached
from ..witness.grammar import points
from ..witness.hypotheses import Hypothesis, catalogue
from ..witness.replays import Answered, replays
from .explained import Explained
from .replay import Match

HINTS = 3  # bugs that are told for a decoder that broke off


def tie(found: Explained, matches: list[Match]) -> None:
    """Say that two different bugs give the same logits everywhere, and which script would separate them."""
    first = matches[0]
    other = next(
        (m for m in matches[1:] if m.where == first.where and m.hypothesis.fault != first.hypothesis.fault), None
    )
    if other is None:
        return
    reference, tolerance = found.judged.side.reference, found.tolerance
    apart = next(
        (script for script, result in found.pairs() if result.status == "not exercised"
         and differ(reference, script, first.hypothesis, other.hypothesis, tolerance)),
        None,
    )  # fmt: skip
    would = (
        f"the script *{apart.name}* would tell them apart" if apart else "no script that is known here tells them apart"
    )
    names = f"{first.hypothesis.fault} and {other.hypothesis.fault}"
    found.notes.append(f"{names} give the same logits in every script that was run: {would}")


def differ(reference: Uncached, script: Script, a: Hypothesis, b: Hypothesis, tolerance: float) -> bool:
    """Whether two bugs give different logits in a script."""
    logits: list[list[Tensor]] = [[], []]
    for h, given in zip((a, b), logits):
        replays(reference).run(script, h.rules, lambda step, answer, given=given: given.append(answer))  # type: ignore
    gaps = [float((x - y).abs().max()) for x, y in zip(*logits)]
    return len(logits[0]) != len(logits[1]) or not all(gap <= tolerance for gap in gaps)


def broke(found: Explained) -> None:
    """Bugs that go wrong at the call where the decoder broke off, and nowhere before: out of positions, or of rows."""
    reference = found.judged.side.reference
    if found.verdict != "error in the decoder" or not reference.tapped:
        return
    runs = [r for r in found.judged.played.native if r.left_out is None]
    ends = {r.script.name: len(r.trace.logits) for r in runs if r.trace.problem and not r.refused}
    told: dict[str, str] = {}
    for h in [*catalogue(reference), *points(reference)]:
        if h.family != "rounding" and h.fault not in told and all(fits(found, r.script, ends, h) for r in runs):
            told[h.fault] = h.words
        if len(told) == HINTS:
            break
    for fault, words in told.items():
        found.notes.append(f"a decoder in which {words} would go wrong at this very call, and not before [{fault}]")


def fits(found: Explained, script: Script, ends: dict[str, int], h: Hypothesis) -> bool:
    """Right up to the call that broke off (in a script that did not: everywhere), and there out of positions or of rows."""
    reference = found.judged.side.reference
    mine, right = (answers(reference, script, rules) for rules in (h.rules, {}))
    until = ends.get(script.name, len(right))
    same = len(mine) >= min(until, len(right)) and all(
        float((a.logits - b.logits).abs().max()) <= found.tolerance
        for a, b in zip(mine[:until], right)
        if a.logits is not None and b.logits is not None
    )
    if not same or script.name not in ends:
        return same
    return len(mine) == until < len(right) or (
        until < min(len(mine), len(right)) and mine[until].rows != right[until].rows
    )


def answers(reference: Uncached, script: Script, rules: object) -> list[Answered]:
    return [a for a in replays(reference).answers(script, rules) if a.logits is not None]  # type: ignore[arg-type]
