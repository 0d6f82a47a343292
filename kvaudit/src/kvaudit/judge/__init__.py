"""Stage 4, the verdict: logits decide, at a tolerance that is measured. Logic in float64 first, arithmetic second."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from ..play import Played
from ..subject import Side
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
    """The verdict on what was played: in float64 where that was, else in the dtype as it is."""
    judged = decide(played)
    who = played.plan.subject
    told_by(judged, who.exact or who.native)
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


def told_by(judged: Judged, side: Side) -> None:
    """How independent the oracle is, and whether a second uncached computation agrees with it; if not, nobody is judged."""
    reference = side.reference
    tokens = torch.arange(6, device=reference.device)[None] % reference.vocab_size  # [1, 6]
    logits, gap = reference.logits(tokens), reference.second_difference(tokens)
    if gap is not None:
        judged.independence = f"{reference.independence}; they agree to {gap:.1e}"
    else:
        gap = float((logits[:, :3] - reference.logits(tokens[:, :3])).abs().max())
        words = "logits of a beginning do not depend on what follows"
        judged.independence = f"self-consistent only ({words}, to {gap:.1e})"
    if gap > reference.unit**0.5 * float(logits.abs().max()):  # half the digits: no rounding does that
        judged.settled.verdict = "the oracles disagree"
        judged.settled.summary = (
            f"Two uncached computations of the same tokens differ by {gap:.2e}; nothing can be judged."
        )


def short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
