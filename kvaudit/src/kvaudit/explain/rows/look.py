"""The look at rows: which scripts are compared, and why nothing is said where nothing is."""

from __future__ import annotations

from dataclasses import replace

from ..explained import Explained
from .described import Forensics
from .examine import examine

SPEAKS = ("differs", "inconclusive", "unknown pattern")
ALSO = 3  # further scripts of which something else is told


def compare_rows(found: Explained) -> None:
    """Compare the rows, where logits differ and the decoder shows its rows."""
    try:
        found.forensics = forensics(found)
    except (RuntimeError, ValueError, IndexError, TypeError) as error:  # rows may have any form
        found.notes.append(f"the rows were not compared: {type(error).__name__}: {error}")


def forensics(found: Explained) -> Forensics | None:
    """What the rows of the first script say whose logits differ, and what others say that is not the same.

    None where they say nothing. Needs a decoder with `layers()` and a reference with `forward`.
    """
    side, tolerance = found.judged.side, found.tolerance
    if found.verdict not in SPEAKS or found.first is None or not side.reference.tapped:
        return None
    if not shows_rows(found):
        return None
    shown = [(script, result) for script, result in found.pairs() if result.logits]
    right = sorted(((s, r) for s, r in shown if r.status == "equal"), key=lambda pair: pair[0].cost)
    seen = [examine(script, side, result, tolerance, right[:1]) for script, result in shown if result.differs]
    told: list[Forensics] = []
    for one in seen:
        if one is not None and not any(other.says <= one.says for other in told):
            told.append(one)
    return replace(told[0], also=tuple(told[1 : 1 + ALSO])) if told else None


def why_silent(found: Explained) -> None:
    """Why the rows say nothing, where nobody else says anything."""
    if found.suspects or found.forensics or found.verdict not in ("differs", "unknown pattern"):
        return
    if found.judged.side.reference.tapped and not shows_rows(found):
        found.notes.append("the decoder has no layers(): with it, its rows would be compared with the right ones")


def shows_rows(found: Explained) -> bool:
    return callable(getattr(found.judged.side.build(), "layers", None))
