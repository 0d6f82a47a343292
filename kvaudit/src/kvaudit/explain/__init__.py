"""Stage 5, the explanation: rows, suspects, sensitivity, probes without a tolerance, the shortest case."""

from ..judge import Judged
from ..progress import Tell, silent
from . import probes
from .explained import Explained, Suspect
from .rows import compare_rows, expect_rows, why_silent
from .sensitivity import inject
from .shrink import shorten
from .suspects import name, specification
from .ties import broke

__all__ = ["Explained", "Suspect", "explained"]

SECONDS = 5.0  # for naming: what is not found until then is mostly not found at all

LOOKS = {  # each in its turn -> what it is, for who waits
    expect_rows: "the rows that there should be",
    probes.determinism: "the same calls again",
    compare_rows: "the rows",
    name: "naming the bug",
    broke: "bugs that break off there",
    why_silent: "the rows",
    inject: "injecting known bugs",
    specification: "what is meant to differ",
    probes.other_rows: "other rows' tokens",
    probes.pads: "tokens of the padding",
    probes.free_run: "a free run",
    shorten: "the shortest case",
}


def explained(judged: Judged, deep: bool = True, seconds: float | None = SECONDS, tell: Tell = silent) -> Explained:
    """Everything beyond the verdict, each look in its turn; not `deep`, or where the oracle cannot be trusted: nothing.

    `seconds`: what naming the bug may take, of this process's time. `tell` is called with words before each look.
    """
    found = Explained(judged, judged.settled.verdict, judged.settled.summary, notes=list(judged.notes), seconds=seconds)
    if deep and found.verdict != "the oracles disagree":
        for look, words in LOOKS.items():
            tell(f"explain: {words}")
            look(found)
    return found
