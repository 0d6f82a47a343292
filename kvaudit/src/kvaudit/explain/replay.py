"""One hypothesis against what was seen: does its witness give the decoder's logits, in right scripts and in wrong ones?"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from torch import Tensor

from ..judge import Result
from ..plan import Script
from ..subject import Uncached
from ..witness.hypotheses import Hypothesis
from ..witness.replays import replays

Item = TypeVar("Item")
SHARE = 3.0  # what is left must be this much smaller than what is explained


@dataclass(frozen=True)
class Match:
    """A hypothesis that reproduces the logits: `residual` is the largest difference left, `where` the scripts it explains."""

    hypothesis: Hypothesis
    residual: float
    where: tuple[str, ...]
    same_rows: bool  # does it also hold as many rows per layer as the decoder does?


class Clock:
    """A limit in seconds of this process's time; None: no limit. `left` counts what was not tried."""

    def __init__(self, seconds: float | None) -> None:
        self.end = math.inf if seconds is None else time.process_time() + seconds
        self.seconds, self.over = seconds, False

    def still(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items, as long as there is time."""
        for item in items:
            if time.process_time() > self.end:
                self.over = True
                return
            yield item


@dataclass(frozen=True)
class Case:
    """What is to be explained: scripts with their results, and the tolerance."""

    reference: Uncached
    scripts: Sequence[Script]
    results: Mapping[str, Result]
    tolerance: float
    clock: Clock = field(default_factory=lambda: Clock(None))

    @cached_property
    def failing(self) -> list[Script]:
        """Those that differ, the cheapest first."""
        return sorted((s for s in self.scripts if self.results[s.name].differs), key=lambda s: s.cost)

    @cached_property
    def order(self) -> list[Script]:
        return self.failing + [s for s in self.scripts if not self.results[s.name].differs]

    def explain(self, hypothesis: Hypothesis, scripts: Iterable[Script] | None = None) -> tuple[Match | None, int]:
        """(Match or None, steps reproduced) over the scripts (default: all), stopping at the first mismatch."""
        residual, steps, same_rows, where = 0.0, 0, True, []
        for script in self.order if scripts is None else scripts:
            result = self.results[script.name]
            worst, n, rows = self.replay(script, hypothesis, result)
            residual, steps = max(residual, worst), steps + n
            if worst > self.tolerance or (result.differs and worst > max(result.diffs) / SHARE):
                return None, steps
            same_rows = same_rows and rows
            where += [script.name] if result.differs else []
        return Match(hypothesis, residual, tuple(where), same_rows), steps

    def replay(self, script: Script, hypothesis: Hypothesis, result: Result) -> tuple[float, int, bool]:
        """(largest difference, steps within the tolerance, equal row counts) of a witness against one recorded script."""
        worst, steps = 0.0, 0

        def watch(step: int, logits: Tensor) -> bool:
            nonlocal worst, steps
            if step >= len(result.logits):
                return True
            gap = float((logits.double() - result.logits[step].double()).abs().max())
            worst = max(worst, gap) if gap == gap else math.inf  # a NaN reproduces nothing
            steps += worst <= self.tolerance
            return worst > self.tolerance

        held = replays(self.reference).run(script, hypothesis.rules, watch)
        if worst <= self.tolerance and steps < len(result.logits):
            worst = math.inf  # the witness could not go on where the decoder did
        return worst, steps, all(a == b for a, b in zip(held, result.rows) if b is not None)

    def possible(self, hypothesis: Hypothesis) -> bool:
        """Whether it acts, in every failing script, before or at the first wrong answer."""
        holds = hypothesis.holds
        return holds is None or all(
            any(holds(events) for events in until(script, (self.results[script.name].first or (0, 0))[0]))
            for script in self.failing
        )


def until(script: Script, step: int) -> Iterator[list[str]]:
    """The kinds of calls so far, at each call that made the decoder what it is at the answer `step`."""
    before: dict[str, list[str]] = {"main": []}
    for call in script.calls[: script.answering[step] + 1]:
        before[call.on] = [*before[call.on], call.kind]
        if call.kind == "fork":
            before[call.value] = list(before[call.on])
    for events in before.values():
        yield from (events[: n + 1] for n in range(len(events)))
