"""Suspects: hypotheses that reproduce the logits, in the words of the table of bugs; rounding is told from bugs here."""

from ..bugs import BUGS
from ..subject import trait
from .diagnosis import diagnose
from .explained import Explained, Suspect
from .replay import Case, Clock, Match
from .ties import tie

BEYOND_DOUBT = 1e6  # times the null, in float64: no rounding, known or unknown, is that large


def name(found: Explained) -> None:
    """Name the bug, where there is a difference and the reference lets a witness attend for it."""
    side, tolerance = found.judged.side, found.judged.settled.tolerance
    if not side.reference.tapped or found.first is None or found.verdict not in ("differs", "inconclusive"):
        return
    ran = {result.name: result for result in found.results if result.logits}
    scripts = [script for script, result in found.pairs() if result.logits]
    capacities = {trait(side.build(), "capacity"), side.reference.block_size}
    clock = Clock(found.seconds)
    case = Case(side.reference, scripts, ran, tolerance.value, clock)
    matches = diagnose(case, sorted(c for c in capacities if c))
    if clock.over and not matches:
        found.notes.append(f"naming was stopped after {clock.seconds:g} s: not every combination of bugs was tried")
    if matches and all(m.hypothesis.family == "rounding" for m in matches):
        found.verdict = "rounding"
        found.summary = f"{matches[0].hypothesis.words}: this alone reproduces the logits (they differ by at most {found.largest:.1e})."
    elif matches:
        found.verdict, found.suspects = "differs", [suspect(m) for m in matches]
        tie(found, matches)
    elif found.verdict == "differs":
        unknown(found)


def unknown(found: Explained) -> None:
    """Nothing reproduces it: a bug without a name, or a difference too small to be sure of one."""
    tolerance = found.judged.settled.tolerance
    doubtful = found.judged.logic != "float64" or found.largest < BEYOND_DOUBT * tolerance.null
    if doubtful and found.largest < tolerance.fault / 3:
        found.verdict = "inconclusive"
        found.summary += " Smaller than any injected fault, and no known storage format reproduces it."
    else:
        found.verdict = "unknown pattern"


def suspect(match: Match) -> Suspect:
    h = match.hypothesis
    look = "; ".join(BUGS[fault].look for fault in h.fault.split(" + "))
    return Suspect(h.fault, h.family, h.words, look, match.residual, match.where)


def specification(found: Explained) -> None:
    """Where cached and uncached are meant to differ, a difference is no bug."""
    meant = found.native.reference.specification
    if meant and found.verdict in ("differs", "unknown pattern"):
        found.verdict, found.summary = "different by specification", meant
