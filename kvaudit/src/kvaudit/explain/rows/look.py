"""The look at rows: which scripts are compared, and why nothing is said where nothing is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from ...judge import Result
from ...plan import Script
from ..explained import Explained
from .described import Forensics
from .examine import examine

SPEAKS = ("differs", "inconclusive", "unknown pattern", "error in the decoder")
ALSO = 3  # further scripts of which something else is told


def compare_rows(found: Explained) -> None:
    """Compare the rows, where logits differ and the decoder shows its rows."""
    try:
        found.forensics = forensics(found)
    except (RuntimeError, ValueError, IndexError, TypeError) as error:  # rows may have any form
        found.notes.append(f"the rows were not compared: {type(error).__name__}: {error}")


def forensics(found: Explained) -> Forensics | None:
    """What the rows of the first script say whose logits differ, or are not finite, and what others say that is not the same.

    None where they say nothing. Needs a decoder with `layers()` and a reference with `forward`.
    """
    side, tolerance = found.judged.side, found.tolerance
    if found.verdict not in SPEAKS or not side.reference.tapped or not shows_rows(found):
        return None
    shown = [(script, result) for script, result in found.pairs() if result.logits or not_finite(result)]
    right = sorted(((s, r) for s, r in shown if r.status == "equal"), key=lambda pair: pair[0].cost)
    told: list[Forensics] = []
    for script, result in unlike(shown):
        one = examine(script, side, result, tolerance, right[:1])
        if one is not None and not any(other.says <= one.says for other in told):
            told.append(one)
    return replace(told[0], also=tuple(told[1 : 1 + ALSO])) if told else None


def unlike(shown: Iterable[tuple[Script, Result]]) -> Iterator[tuple[Script, Result]]:
    """Of the scripts that differ, one for each way to get there: the call that is wrong first, and what was done before."""
    met = set()
    for script, result in shown:
        step = result.first[0] if result.first else len(result.diffs)
        if result.first or not_finite(result):
            calls = script.calls[: script.answering[step] + 1]
            way = (
                tuple(kind for kind, _ in groupby(call.kind for call in calls)),
                any(c.lengths is not None for c in calls),
            )
            if way not in met:
                met.add(way)
                yield script, result


def not_finite(result: Result) -> bool:
    """Whether the script ended with NaN or infinity."""
    return result.status == "error" and "returned" in (problem := result.problem or "") and "in row" in problem


def why_silent(found: Explained) -> None:
    """Why the rows say nothing, where nobody else says anything."""
    if found.suspects or found.forensics or found.verdict not in ("differs", "unknown pattern"):
        return
    if found.judged.side.reference.tapped and not shows_rows(found):
        found.notes.append("the decoder has no layers(): with it, its rows would be compared with the right ones")


def shows_rows(found: Explained) -> bool:
    return callable(getattr(found.judged.side.build(), "layers", None))
