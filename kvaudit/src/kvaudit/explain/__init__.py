"""Stage 5, the explanation: rows, suspects, sensitivity, probes without a tolerance, the shortest case."""

from ..judge import Judged
from . import probes
from .explained import Explained, Suspect
from .rows import compare_rows, expect_rows, why_silent
from .sensitivity import inject
from .shrink import shorten
from .suspects import name, specification
from .ties import broke

__all__ = ["Explained", "Suspect", "explained"]

SECONDS = 5.0  # for naming: what is not found until then is mostly not found at all

LOOKS = (
    expect_rows,
    probes.determinism,
    compare_rows,
    name,
    broke,
    why_silent,
    inject,
    specification,
    probes.other_rows,
    probes.pads,
    probes.free_run,
    shorten,
)


def explained(judged: Judged, deep: bool = True, seconds: float | None = SECONDS) -> Explained:
    """Everything beyond the verdict, each look in its turn; not `deep`, or where the oracle cannot be trusted: nothing.

    `seconds`: what naming the bug may take, of this process's time.
    """
    found = Explained(judged, judged.settled.verdict, judged.settled.summary, notes=list(judged.notes), seconds=seconds)
    if deep and found.verdict != "the oracles disagree":
        for look in LOOKS:
            look(found)
    return found
