"""Stage 3, the play: every script is run on the subject, in both dtypes, and laid beside the uncached logits."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from torch import Tensor

from ..plan import Plan
from ..plan.calls import Script
from ..subject import Side
from .history import expected
from .limit import SECONDS, OutOfTime
from .run import Trace, missing, run

__all__ = ["SECONDS", "Played", "Run", "play", "play_script"]


AFTER = "an earlier call gave no answer"


@dataclass
class Run:
    """One script as it was played. `left_out`: in words, why it was not run."""

    script: Script
    trace: Trace = field(default_factory=Trace)
    right: list[Tensor] = field(default_factory=list)  # the uncached logits [B, V]
    left_out: str | None = None

    @cached_property
    def gaps(self) -> list[Tensor]:
        """Per step, the largest difference of each row `[B]`."""
        return [(a.double() - b.double()).abs().amax(dim=1) for a, b in zip(self.trace.logits, self.right)]

    @cached_property
    def diffs(self) -> list[float]:
        """Per step, the largest difference."""
        return [float(gap.max()) for gap in self.gaps]

    @property
    def hung(self) -> bool:
        """Whether a call gave no answer in time."""
        return isinstance(self.trace.raised, OutOfTime)

    @property
    def refused(self) -> bool:
        """Whether the one call that must be refused was, and no other."""
        return self.script.ends and len(self.trace.logits) == len(self.script.calls) - 1


@dataclass
class Played:
    """A plan that was played. `exact`: the float64 runs, None where the subject cannot run in float64 what it runs."""

    plan: Plan
    native: list[Run]
    exact: list[Run] | None = None


def play(plan: Plan, seconds: float | None = SECONDS) -> Played:
    """Run all scripts of a plan; one call may take so many seconds. After a call without an answer nothing more is run."""
    who = plan.subject
    native = play_side(plan, who.native, seconds)
    exact = None
    if who.exact is not None and not any(run.hung for run in native):
        exact = native if who.exact is who.native else play_side(plan, who.exact, seconds)
        if any(e.trace.problem and len(e.trace.logits) < len(n.trace.logits) for e, n in zip(exact, native)):
            exact = None  # it cannot run in float64 what it runs in its own dtype
    return Played(plan, native, exact)


def play_side(plan: Plan, side: Side, seconds: float | None) -> list[Run]:
    runs: list[Run] = []
    for script in plan:
        hung = bool(runs) and (runs[-1].hung or runs[-1].left_out == AFTER)
        runs.append(Run(script, left_out=AFTER) if hung else play_script(script, side, seconds))
    return runs


def play_script(script: Script, side: Side, seconds: float | None = SECONDS) -> Run:
    """Run one script on a fresh decoder, as far as it offers the calls."""
    decoder = side.build()
    lacks = missing(script, decoder)
    if lacks:
        return Run(script, left_out=f"the decoder has no {', '.join(lacks)}")
    trace = run(script, decoder, side.reference.vocab_size, seconds=seconds)
    if isinstance(trace.raised, NotImplementedError) or (trace.problem or "").startswith(("crop", "reorder", "fork")):
        return Run(script, left_out=trace.problem)
    return Run(script, trace, expected(side.reference, script))
