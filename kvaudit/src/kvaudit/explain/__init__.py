"""Stage 5, the explanation: rows, suspects, sensitivity, probes without a tolerance, the shortest case."""

from ..judge import Judged
from . import probes
from .explained import Explained, Suspect
from .rows import expect_rows
from .sensitivity import inject
from .shrink import shorten
from .suspects import name, specification

__all__ = ["Explained", "Suspect", "explained"]

LOOKS = (
    expect_rows,
    probes.determinism,
    name,
    inject,
    specification,
    probes.other_rows,
    probes.pads,
    probes.free_run,
    shorten,
)


def explained(judged: Judged, deep: bool = True) -> Explained:
    """Everything beyond the verdict, each look in its turn; not `deep`, or where the oracle cannot be trusted: nothing."""
    found = Explained(judged, judged.settled.verdict, judged.settled.summary, notes=list(judged.notes))
    if deep and found.verdict != "the oracles disagree":
        for look in LOOKS:
            look(found)
    return found
