"""Stage 4, the verdict: logits decide, at a tolerance that is measured. Logic in float64 first, arithmetic second."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from ..play import Played
from ..subject import Side
from .oracle import examine
from .result import Result
from .tolerance import Tolerance, measure
from .verdict import Settled, arithmetic, settle

__all__ = ["Judged", "Result", "Tolerance", "judge", "measure"]

ROUNDS_ALIKE = 3  # cached within 3 times the uncached rounding: correct decoders give 0.5 to 2


@dataclass
class Judged:
    """A verdict before anything is explained. `side` is the one that decided; `arithmetic` the ratio of rounding."""

    played: Played
    side: Side
    settled: Settled
    arithmetic: float | None = None
    independence: str = ""  # how independent the oracle is
    notes: list[str] = field(default_factory=list)

    @property
    def dtype(self) -> str:
        """The dtype as the decoder runs."""
        return short(self.played.plan.subject.native.reference.dtype)

    @property
    def logic(self) -> str:
        """Which run decided."""
        exact = self.side.reference.dtype == torch.float64
        return "float64" if exact else f"{self.dtype} as it is (no float64 run)"


def judge(played: Played) -> Judged:
    """The verdict on what was played: in float64 where that was, else in the dtype as it is. The reference comes first."""
    who = played.plan.subject
    oracle = examine((who.exact or who.native).reference)
    judged = decide(played)
    judged.independence = oracle.independence
    judged.notes += oracle.notes
    if oracle.problem:
        judged.settled.verdict, judged.settled.summary = "the oracles disagree", oracle.problem
    return judged


def decide(played: Played) -> Judged:
    who = played.plan.subject
    dtype = short(who.native.reference.dtype)
    side = who.exact if played.exact is not None and who.exact is not None else who.native
    judged = Judged(played, side, settle(played.exact or played.native, played.native, side, dtype))
    if played.exact is None or judged.settled.verdict != "equal" or side is who.native:
        return judged
    judged.arithmetic = arithmetic(played.native, played.exact)
    if judged.arithmetic is None or judged.arithmetic <= ROUNDS_ALIKE:
        return judged
    own = settle(played.native, played.native, who.native, dtype)
    if own.largest > own.tolerance.fault / 3:  # as large as a fault: a bug that only this dtype shows
        note = "equal in float64: look for what is done in this dtype only"
        return Judged(played, who.native, own, judged.arithmetic, notes=[note])
    times = f"{judged.arithmetic:.1f} times as much as the uncached"
    judged.settled.verdict = "rounding"
    judged.settled.summary = f"Equal in float64; in {dtype} the cached path rounds {times}."
    return judged


def short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
