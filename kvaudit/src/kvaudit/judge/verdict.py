"""From results to a verdict, in words; and the ratio that tells coarse arithmetic from fine."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ..play import Run
from ..subject import Side
from .result import Result, result_of
from .tolerance import Tolerance, for_scripts, measure

CLEAR = 100  # times the null: a difference where no injected fault gives a measure


@dataclass
class Settled:
    """A verdict on runs against one reference, at the tolerance measured on it."""

    verdict: str
    summary: str
    tolerance: Tolerance
    results: list[Result]

    @property
    def largest(self) -> float:
        return largest(self.results)

    @property
    def first(self) -> tuple[str, int, int] | None:
        """(script, step, row) of the first difference."""
        return next(((r.name, *r.first) for r in self.results if r.first), None)


def settle(runs: list[Run], native: list[Run], side: Side, dtype: str) -> Settled:
    """Judge `runs` on one side; `native` are the same scripts in the dtype as it runs."""
    measured = side.reference.remembered("tolerance", lambda: measure(side.reference))
    tolerance = for_scripts(measured, runs, side)
    results = [result_of(run, tolerance.value) for run in runs]
    broken = [run for run in native if run.trace.problem and not run.refused]
    return Settled(*verdict(results, broken, tolerance, dtype), tolerance, results)


def verdict(results: list[Result], broken: list[Run], tolerance: Tolerance, dtype: str) -> tuple[str, str]:
    """(verdict, summary in words) from the judged results; `broken` are those that broke off in the dtype as it runs."""
    differing, errors = [r for r in results if r.differs], [r for r in results if r.status == "error"]
    for first in differing[:1]:
        sure = tolerance.separates or largest(results) > (tolerance.fault or CLEAR * tolerance.null)
        step, row = first.first or (0, 0)
        words = f"{first.name}: from step {step} on, by {max(first.diffs):.3g} (row {row})."
        return "differs" if sure else "inconclusive", words
    for run in broken:
        if run.hung:
            return "no answer in time", f"{run.script.name}: {run.trace.problem}."
    if broken or errors:
        name, problem = (
            (broken[0].script.name, broken[0].trace.problem) if broken else (errors[0].name, errors[0].problem)
        )
        return "error in the decoder", f"{name}: {problem}."
    if all(r.status == "not exercised" for r in results):
        return "error in the decoder", f"nothing could be run: {results[0].problem}."
    if not tolerance.fault:
        return "inconclusive", "no injected fault moves these logits in one bit, so that equal logits prove nothing."
    if not tolerance.separates:
        hidden = f"rounding ({tolerance.null:.1e}) hides bugs as large as {tolerance.fault:.1e}"
        return "inconclusive", f"in {dtype} {hidden}."
    return "equal", f"All {sum(r.status == 'equal' for r in results)} scripts agree, to {largest(results):.1e}."


def largest(results: list[Result]) -> float:
    return max((d for r in results for d in r.diffs), default=0.0)


def arithmetic(native: list[Run], exact: list[Run]) -> float | None:
    """The paired ratio in the dtype as it runs: how far cached is from float64, in units of how far uncached is."""
    cached, uncached = [], []
    for n, e in zip(native, exact):
        for mine, plain, right in zip(n.trace.logits, n.right, e.right):
            cached.append((mine.double() - right).square().mean())
            uncached.append((plain.double() - right).square().mean())
    noise = float(torch.stack(uncached).mean()) if uncached else 0.0
    return (float(torch.stack(cached).mean()) / noise) ** 0.5 if noise > 0 else None
